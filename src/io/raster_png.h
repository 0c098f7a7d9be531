/* Grey pictures as rasters. */
#ifndef FIRN_IO_RASTER_PNG_H
#define FIRN_IO_RASTER_PNG_H

#include "io/raster.h"

bool is_png(const void *data, size_t size);

/* Values from 0 to 1; transparent pixels have none. */
firn_status read_png(const char *name, const void *data, size_t size, raster *r);

/* raster.c: room for the values, and the size. */
firn_status raster_allocate(const char *name, double columns, double rows, raster *r);

#endif
