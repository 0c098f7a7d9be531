/*
 * Rasters of heights from files: ESRI ASCII grids (.asc) and grey PNG pictures of 8 or 16 bits.
 *
 * An .asc says where it lies; a picture's first pixel is put at the origin, a unit from pixel to
 * pixel, with values from 0 (black) to 1 (white).
 *
 * Does NOT do: colour, projections; heights in metres and their place are the caller's.
 */
#ifndef FIRN_IO_RASTER_H
#define FIRN_IO_RASTER_H

#include "shape/height.h"

typedef struct raster {
    int32_t columns, rows;
    double step[2]; /* east and north, in units of the file */
    double corner
        [2]; /* east and north of the middle of the first sample, which is the north-west one */
    bool is_picture;
    float *values; /* north to south; NAN where there is none; owned */
} raster;

/* FIRN_BAD_SCENE with file and line, or what is wrong with the picture. */
firn_status raster_parse(const char *name, const void *data, size_t size, raster *out);
void raster_clear(raster *r);

#endif
