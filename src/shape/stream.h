/*
 * A stream of points that flows through a shape at a constant velocity without end: what an emitter
 * lets out.
 *
 * Imagine one long body of snow that moves at the velocity and is filled with a pattern of points. A
 * point is let out when it first enters the shape: those inside at the start at once, the others one by
 * one, at the surface that faces the flow. So the stream is as dense as the pattern, however long the
 * steps are; and the n-th point, with its place at any time, is a pure function of n: nothing has
 * to be remembered.
 *
 * The pattern repeats along the flow every `period` seconds.
 */
#ifndef FIRN_SHAPE_STREAM_H
#define FIRN_SHAPE_STREAM_H

#include "shape/sample.h"

typedef struct stream_point {
    double time;    /* s after the start at which it enters; 0 for those that are inside already */
    double x[3];    /* where */
    double deep[3]; /* the place on its way through the shape that is farthest under the surface */
} stream_point;

typedef struct stream {
    double velocity[3];
    double volume; /* of space to a point, m^d */
    double period; /* s; INFINITY when the velocity is 0 */
    size_t start_count, count;
    stream_point *points; /* start_count that are inside at the start, then one period by time */
} stream;

firn_status stream_create(const sample_request *request, const double velocity[3], stream *out);
void stream_clear(stream *s);

/* How many points have been let out `time` seconds after the start; 0 before it. */
uint64_t stream_count(const stream *s, double time);

/* The n-th point. */
stream_point stream_at(const stream *s, uint64_t n);

#endif
