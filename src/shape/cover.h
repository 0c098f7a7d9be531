/*
 * A shape cut into boxes: those wholly inside, and those that its surface may cross.
 *
 * Conservative: whatever |distance| says is far from the surface is decided, the rest is bisected.
 * Between them the boxes hold the whole shape. This gives volumes, and places to throw random
 * points.
 */
#ifndef FIRN_SHAPE_COVER_H
#define FIRN_SHAPE_COVER_H

#include "shape/shape.h"

typedef struct cover_box {
    double center[3], half[3];
} cover_box;

typedef struct shape_cover {
    int dimensions;
    double offset;
    size_t inside_count, inside_capacity;
    cover_box *inside;
    double inside_volume;
    size_t surface_count;
    double (*surface)[3]; /* centres; all of one size */
    double half[3];       /* of the surface boxes */
    double volume;        /* of the shape, within the tolerance */
} shape_cover;

/* Refine until the volume is known within `tolerance` relative. The shape is taken to end where
 * its distance is `offset`, and at the finite bounds `low` and `high` widened by it.
 * FIRN_NO_MEMORY is the only failure. */
firn_status cover_create(const shape *s, int dimensions, double offset, const double low[3],
                         const double high[3], double tolerance, shape_cover *cover);
void cover_clear(shape_cover *cover);

/* Volume of a box (area in 2D) from its half extents. */
double cover_box_volume(int dimensions, const double half[3]);

#endif
