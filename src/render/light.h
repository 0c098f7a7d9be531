/*
 * Light on the snow: a sun with soft shadows, and a sky of many directions, each with a shadow map
 * of its own, so that hollows darken and things stand on the ground.
 *
 * Shadow depths fade over a few grains instead of cutting off, as light does inside snow.
 *
 * Does NOT do: shadows of colliders (surfaces.h).
 */
#ifndef FIRN_RENDER_LIGHT_H
#define FIRN_RENDER_LIGHT_H

#include "render/splat.h"

enum { SKY_DIRECTIONS = 64, SKY_SETS = 4 }; /* a pixel's four parts share the directions out */

/* Depths below the plane of a far light, over the box of a frame's snow. */
typedef struct light_map {
    vec3 right, up, toward; /* toward: unit, at the light */
    float left, bottom, top_plane;
    float middle; /* depth of the middle of the snow */
    float texel;  /* m */
    float per_texel;
    vec3 colour; /* of the light from there */
    int width, height;
    float *depth; /* owned; INFINITY where there is no snow */
} light_map;

typedef struct lights {
    vec3 sky_up;
    float grain; /* radius of a particle, m */
    light_map sun;
    light_map sky[SKY_DIRECTIONS];
} lights;

/* Make the maps of one frame; again for the next, keeping memory. lights must start zeroed. */
firn_status lights_build(lights *l, const firn_frame *frame, const camera *c, const points_box *box,
                         float radius, const field *f);
void lights_clear(lights *l);

/* Share of the sun that reaches x: 0 .. 1. `fade` is the depth of snow that dims it by e; `noise`
 * in 0 .. 1 turns the pattern of samples. */
float lights_sun(const lights *l, vec3 x, float fade, float noise);

/* Sky light on a surface at x with this normal, from the directions of one set: its colour, and the
 * share of the sky that is free. */
vec3 lights_sky(const lights *l, vec3 x, vec3 normal, float fade, int set, float *freedom);

#endif
