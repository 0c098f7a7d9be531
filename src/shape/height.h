/*
 * Terrain: heights on a regular raster, as a body. Everything under the surface down to a base, or a
 * layer that lies on it. Negative inside.
 *
 * Between samples the surface is a cubic through them (Catmull and Rom), so that its normals do not
 * jump, or bilinear. It ends where the raster does and at samples without a value, in vertical walls:
 * four samples that have values make a cell of it.
 *
 * The distance is to the nearest point of the surface, found by Newton's method from the place
 * straight below, not the difference of heights; on a slope of 45 degrees that would be 40 % too
 * much. Far from the surface, and where walls and surface meet, it is a lower bound.
 *
 * x is east, y up, z south.
 *
 * Does NOT do: files (src/io/raster.h), overhangs.
 */
#ifndef FIRN_SHAPE_HEIGHT_H
#define FIRN_SHAPE_HEIGHT_H

#include "shape/field.h"

typedef struct height_map {
    int32_t columns, rows; /* at least 2 */
    double step[2];        /* m from column to column and from row to row, above 0 */
    double corner[2];      /* x and z of the first sample, the one farthest north-west */
    float *values;         /* rows x columns, m, west to east, then north to south; NAN: none */
} height_map;

typedef struct height_body {
    bool smooth;
    double thickness; /* m: above 0 the body is what lies so high above the surface */
    double base;      /* m: y of the body's underside; without effect on a layer */
    double near;      /* m: from the surface within which distances are wanted */
} height_body;

/* Copies the map. NULL when memory is out. Owned by the caller. */
height_field *height_create(const height_map *map, const height_body *body);
void height_destroy(height_field **h);

/* The box around the body; returns how far |distance| may exceed the true one, in m. */
double height_bounds(const height_field *h, double low[3], double high[3]);

/* Signed distance at x; `gradient` (may be NULL) gets a unit vector away from the inside. A bound is
 * many times cheaper than the distance near the surface, and that than the exact one far from it. */
double height_distance(const height_field *h, field_use use, const double x[3], double gradient[3]);

#endif
