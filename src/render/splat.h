/*
 * Particles to pixels: every particle is a small sphere, every pixel keeps the nearest.
 *
 * A pixel is one number, the depth's bits above the particle's index, lowered by an atomic minimum.
 * So the threads may draw in any order and the picture is the same; at equal depth the lower index
 * wins.
 */
#ifndef FIRN_RENDER_SPLAT_H
#define FIRN_RENDER_SPLAT_H

#include <stdint.h>

#include "render/camera.h"
#include "render/field.h"
#include "render/points.h"

#define SPLAT_EMPTY UINT64_MAX

typedef struct splat_buffer {
    int width, height;
    uint64_t *pixels; /* owned; room for `capacity` */
    size_t capacity;
} splat_buffer;

/* Empty pixels of this size; keeps its memory when it suffices. */
firn_status splat_reset(splat_buffer *b, int width, int height);
void splat_clear(splat_buffer *b);

/* A sphere of `radius` pixels around (x, y), whose middle lies `depth` away and whose front bulges
 * by `bulge` towards the viewer. Smaller than a pixel it still marks the one it is in. */
typedef struct splat_sphere {
    float x, y, radius, depth, bulge;
} splat_sphere;
void splat_draw(splat_buffer *b, const splat_sphere *sphere, uint32_t index);

static inline float splat_reach(const splat_sphere *s)
{
    return greater(s->radius, 0.5f);
}

/* All particles of a frame with this radius in metres, seen by the camera; those that the field hides are
 * left out (NULL: none is). */
void splat_frame(splat_buffer *b, const firn_frame *frame, const camera *c, float radius,
                 const field *f);

static inline float splat_depth(uint64_t pixel)
{
    union {
        uint32_t bits;
        float value;
    } depth = {.bits = (uint32_t)(pixel >> 32)};
    return pixel == SPLAT_EMPTY ? INFINITY : depth.value;
}

static inline uint32_t splat_index(uint64_t pixel)
{
    return (uint32_t)pixel;
}

/* The normal of a sphere's front at a pixel it was drawn to, in picture axes: right, up, towards
 * the viewer. */
static inline vec3 splat_normal(const splat_sphere *s, float x, float y)
{
    float reach = splat_reach(s), u = (x - s->x) / reach, v = (s->y - y) / reach;
    return (vec3){u, v, sqrtf(fmaxf(1 - u * u - v * v, 0))};
}

#endif
