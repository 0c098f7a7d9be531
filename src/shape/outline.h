/*
 * Closed curves in a plane, as polygons: the exact signed distance to what they enclose. Negative
 * inside.
 *
 * Inside is where the curves wind around a place, in either sense and however often (the nonzero
 * rule of fonts). Curves may cross and overlap: only the parts between inside and outside stay.
 *
 * Does NOT do: curves (flatten them), depth (extrusion.h).
 */
#ifndef FIRN_SHAPE_OUTLINE_H
#define FIRN_SHAPE_OUTLINE_H

#include <stddef.h>

typedef struct outline_segment {
    double from[2], to[2];
} outline_segment;

typedef struct outline outline;

/* From the segments of closed polygons in any order; copied. NULL when memory is out. Owned by the
 * caller. */
outline *outline_create(const outline_segment *segments, size_t count);
void outline_destroy(outline **o);

/* How many segments the boundary has; 0 when nothing is inside. */
size_t outline_size(const outline *o);

/* The box around the inside. */
void outline_bounds(const outline *o, double low[2], double high[2]);

/* Signed distance at x; `gradient` (may be NULL) gets a unit vector away from the inside. */
double outline_distance(const outline *o, const double x[2], double gradient[2]);

#endif
