/*
 * What a picture needs to know of particles before it is drawn: where they are, how far apart, and
 * which values are usual.
 *
 * Everything here is taken from a sample and trimmed, so that a few stray particles do not matter.
 */
#ifndef FIRN_RENDER_POINTS_H
#define FIRN_RENDER_POINTS_H

#include "firn/io.h"
#include "render/vec.h"

enum { POINTS_SAMPLE = 8000 }; /* at most so many particles of a frame are looked at */

/* Room for a sample of one frame. */
typedef struct points_sample {
    size_t count;
    vec3 points[POINTS_SAMPLE];
    float values[POINTS_SAMPLE]; /* scratch */
} points_sample;

/* Whether it is finite, and not so far that squares of lengths leave the range of floats. */
static inline bool points_within(vec3 x)
{
    const float farthest = 1e12f; /* m */
    return fabsf(x.x) < farthest && fabsf(x.y) < farthest && fabsf(x.z) < farthest;
}

/* The particle relative to `origin`; false when it is not within reach. */
static inline bool points_local(const firn_frame *frame, size_t index, const double origin[3],
                                vec3 *local)
{
    const float *x = frame->position + 3 * index;
    vec3 p = {(float)(x[0] - origin[0]), (float)(x[1] - origin[1]), (float)(x[2] - origin[2])};
    if (frame->place) {
        const double *y = frame->place + 3 * index;
        p = (vec3){(float)(y[0] - origin[0]), (float)(y[1] - origin[1]), (float)(y[2] - origin[2])};
    }
    *local = p;
    return points_within(p);
}

/* Evenly chosen particles of a frame: every points_stride-th that can be drawn. */
void points_choose(const firn_frame *frame, const double origin[3], points_sample *sample);
size_t points_stride(size_t count);

/* Sorts `values` and returns the one at fraction q of them. */
float points_quantile(float *values, size_t count, float q);

/* How far a sample reaches along a direction, one particle in 800 left out at each end. */
typedef struct points_span {
    float low, middle, high; /* middle: the median */
} points_span;
points_span points_measure(points_sample *sample, vec3 direction);

/* The same along the three axes; all zero for an empty sample. */
typedef struct points_box {
    vec3 low, middle, high;
} points_box;
points_box points_bounds(points_sample *sample);

/* A point amid the first frame that has particles; the world's origin when none has. */
void points_origin(const firn_frame *frames, size_t count, double origin[3]);

/* The usual distance between neighbours, from the volume m / density of a particle. Always > 0. */
float points_spacing(const firn_frame *frames, size_t count, points_sample *scratch);

#endif
