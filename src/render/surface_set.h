/*
 * Ground and bodies as surfaces: what a ray meets, and what they are made of.
 *
 * Planes are infinite. Bodies are signed distances; those that a box holds are meshed for Embree when it
 * is at hand, all others are met by stepping along the ray by their distance.
 *
 * Points are relative to an origin, in single precision; distances are asked for in the world, in double.
 */
#ifndef FIRN_RENDER_SURFACE_SET_H
#define FIRN_RENDER_SURFACE_SET_H

#include <stdbool.h>

#include "firn/scene.h"
#include "render/vec.h"

typedef enum surface_kind { SURFACE_DIFFUSE, SURFACE_GLOSSY, SURFACE_GLASS } surface_kind;

/* Diffuse: a matt colour. Glossy: the same under a coat that mirrors. Glass: clear, refracting. */
typedef struct surface_material {
    surface_kind kind;
    vec3 colour;     /* reflectance; of glass the tint of what passes a face */
    vec3 other;      /* second colour of the checker */
    float square;    /* side of the checker's squares, m; 0: one colour */
    float roughness; /* of the coat, 0.02 (polished) .. 1 [0.2] */
    float ior;       /* of coat and glass [1.5] */
} surface_material;

typedef struct surface_set surface_set;

/* An empty set; points given to it are relative to this origin. */
firn_status surface_set_create(const double origin[3], surface_set **out);
void surface_set_destroy(surface_set **set);

/* `normal`: unit, to the side that is free. */
firn_status surface_add_plane(surface_set *set, vec3 point, vec3 normal,
                              const surface_material *material);

/* A signed distance in the world, negative inside; in magnitude at most the true distance. Asked by
 * several threads at once, as long as the set lives. low and high: a box around the body, in the world;
 * infinite when there is none. */
typedef double surface_distance_fn(const void *user, const double world[3]);
firn_status surface_add_distance(surface_set *set, surface_distance_fn *distance, const void *user,
                                 const double low[3], const double high[3],
                                 const surface_material *material);

/* Every collider of a scene at a time, one material each; half-spaces become planes. The scene is
 * borrowed as long as the set lives. */
firn_status surface_add_scene(surface_set *set, const firn_scene *scene, double time,
                              const surface_material *materials);

/* After the last addition, before any ray. */
firn_status surface_commit(surface_set *set);

/* Where a ray meets a surface. */
typedef struct surface_hit {
    float t;
    vec3 normal; /* unit, out of the body */
    const surface_material *material;
    vec3 colour; /* of the material there, the checker's */
} surface_hit;

/* The nearest surface before `limit`; false: none. Rays that start on a surface must start a little off
 * it (surface_leave). */
bool surface_meet(const surface_set *set, vec3 start, vec3 direction, float limit,
                  surface_hit *hit);

/* What passes of light on a straight way: 1 in the open, 0 behind a body, a tint behind glass. Glass does
 * not bend it, and what a face mirrors away is taken to be replaced by what it mirrors in. */
vec3 surface_passes(const surface_set *set, vec3 start, vec3 direction, float limit);

/* A distance within which there is surely no surface. */
float surface_clearance(const surface_set *set, vec3 x);

/* The point where a hit lies, moved off the surface to the side of `direction`. */
vec3 surface_leave(const surface_hit *hit, vec3 start, vec3 ray, vec3 direction);

/* "3.13.5", or "none" when built without it. */
const char *surface_embree_version(void);

#endif
