/*
 * Where light comes from, and how to choose a direction towards it.
 *
 * Every source answers three questions: how much light arrives from a direction, which direction to try,
 * and how likely that direction was. Sources at infinity (sun, sky, constant, environment) are seen by
 * rays that leave the scene; spheres and rectangles stand in it.
 *
 * Light is linear RGB of the sRGB primaries. Radiance has one unit throughout; light_daylight chooses it
 * so that a white diffuse surface in full sunshine has a radiance near 1.
 */
#ifndef FIRN_RENDER_LIGHT_SET_H
#define FIRN_RENDER_LIGHT_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "firn/firn.h"
#include "render/trace_random.h"
#include "render/vec.h"

typedef enum light_kind {
    LIGHT_SUN,      /* colour: irradiance on a surface that faces it; direction, angle */
    LIGHT_SKY,      /* colour: multiplies the daylight model; direction (of the sun), turbidity */
    LIGHT_CONSTANT, /* colour: radiance from everywhere */
    LIGHT_ENVIRONMENT, /* colour: multiplies the pixels; direction: seen at the middle of the map */
    LIGHT_SPHERE,      /* colour: radiance; position, radius */
    LIGHT_RECTANGLE, /* colour: radiance, to the side of cross(edge[0], edge[1]); position: middle */
} light_kind;

typedef struct light_source {
    light_kind kind;
    vec3 colour;
    vec3 direction;  /* unit, towards the light */
    vec3 up;         /* unit; sky and environment. Zero: +y */
    float angle;     /* of the sun's disc, from edge to edge, radians */
    float turbidity; /* of the air, 2 (clear) .. 10 (haze) */
    vec3 position;   /* relative to the picture's origin */
    float radius;
    vec3 edge[2]; /* whole edges, at right angles */
    /* Latitude-longitude map, rows from the zenith down, three floats a pixel; borrowed until
     * light_set_create returns. */
    const float *pixels;
    int width, height;
} light_source;

typedef struct light_set light_set;

/* Copies what it needs. FIRN_USAGE when a source makes no sense (no radius, a pixel that is not finite),
 * with its number in the message. Owned by the caller. */
firn_status light_set_create(const light_source *sources, size_t count, light_set **out);
void light_set_destroy(light_set **set);

/* A direction in which light may come to x. */
typedef struct light_sample {
    vec3 direction;
    float distance; /* INFINITY: from beyond the scene */
    float pdf;      /* per steradian, the choice of the source included */
    size_t source;
} light_sample;

/* False when there is no light, or none from the place that was chosen. */
bool light_choose(const light_set *set, vec3 x, trace_random *random, light_sample *out);

/* The light of a sample, if nothing is in the way. */
vec3 light_sampled(const light_set *set, const light_sample *sample);

/* What a ray from x meets beyond the scene. `pdf` is that of its direction, for the share that is left by
 * light_choose (the balance of multiple importance sampling); INFINITY: all of it; 0: nothing. */
vec3 light_beyond(const light_set *set, vec3 x, vec3 direction, float pdf);

/* The nearest source in the scene that a ray from x meets before `limit`: its distance (INFINITY: none)
 * and its light, weighted likewise. */
float light_meet(const light_set *set, vec3 x, vec3 direction, float limit, float pdf, vec3 *light);

/* Sun and sky of one clear day, in proportion to each other. `toward`: unit, at the sun. */
void light_daylight(vec3 toward, vec3 up, float turbidity, light_source out[2]);

#endif
