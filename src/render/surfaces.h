/*
 * The scene's colliders as a picture sees them: rays against their signed distance, and the squares
 * drawn on them that give the scale.
 *
 * Points are relative to `origin`; the distance is evaluated in double precision in the world.
 */
#ifndef FIRN_RENDER_SURFACES_H
#define FIRN_RENDER_SURFACES_H

#include "firn/scene.h"
#include "render/vec.h"

typedef struct surfaces {
    const firn_scene *scene; /* borrowed; NULL = no colliders */
    double time;
    double origin[3];
    struct collider_pose *poses; /* of the colliders at that time; NULL = found at every look */
} surfaces;

bool surfaces_present(const surfaces *s);

/* Find the poses once, for many looks; and give them back. */
firn_status surfaces_stand(surfaces *s);
void surfaces_leave(surfaces *s);

/* Signed distance to the nearest collider; large when there is none. */
float surfaces_distance(const surfaces *s, vec3 x);

/* Unit vector away from the nearest collider; `step` is the width of the differences taken. */
vec3 surfaces_normal(const surfaces *s, vec3 x, float step);

/* How far a bundle of rays, widening by `spread` per unit of travel, surely meets nothing. */
float surfaces_free(const surfaces *s, vec3 start, vec3 direction, float spread, float limit);

typedef struct surfaces_ray {
    vec3 start, direction;
    float from;  /* known to be free up to here */
    float limit; /* no interest beyond */
    float blur;  /* accepted distance from the surface, per unit of travel */
} surfaces_ray;

/* How far along the ray the first surface lies; at least `limit` when it meets none before. A ray
 * that starts inside a collider first leaves it. */
float surfaces_trace(const surfaces *s, const surfaces_ray *ray);

/* Share of the light from a far source of angular size `softness` that reaches x. */
float surfaces_light(const surfaces *s, vec3 x, vec3 direction, float softness, float limit);

/* 0 or 1 by square of this size in the world, averaged over `width`: 0.5 where they blur away. */
float surfaces_squares(const surfaces *s, vec3 x, vec3 normal, float size, float width);

#endif
