/*
 * Ground and bodies as surfaces: what a ray meets, and what they are made of.
 *
 * Planes are infinite. Bodies are triangles, or signed distances, which are meshed where they are bounded
 * and Embree is at hand, and otherwise met by stepping along the ray by their distance.
 */
#ifndef FIRN_RENDER_SURFACE_SET_H
#define FIRN_RENDER_SURFACE_SET_H

#include <stdint.h>

#include "firn/scene.h"
#include "render/vec.h"

typedef enum surface_kind { SURFACE_DIFFUSE, SURFACE_GLOSSY, SURFACE_GLASS } surface_kind;

typedef struct surface_material {
    surface_kind kind;
    vec3 colour;     /* reflectance; of glass the tint of what passes */
    vec3 other;      /* second colour of the checker */
    float square;    /* side of the checker's squares, m; 0: one colour */
    float roughness; /* of glossy, 0.02 (polished) .. 1 */
    float ior;       /* glass, and the coat of glossy [1.5] */
} surface_material;

typedef struct surface_set surface_set;

/* An empty set; points given to it are relative to this origin. */
firn_status surface_set_create(const double origin[3], surface_set **out);
void surface_set_destroy(surface_set **set);

/* `normal`: unit, to the side that is free. */
firn_status surface_add_plane(surface_set *set, vec3 point, vec3 normal,
                              const surface_material *material);

/* Indexed triangles, copied. */
firn_status surface_add_mesh(surface_set *set, const vec3 *vertices, size_t vertex_count,
                             const uint32_t (*triangles)[3], size_t triangle_count,
                             const surface_material *material);

/* A signed distance, negative inside; at least a lower bound of the true distance. Evaluated by several
 * threads at once, now and while rays are traced. Infinite bounds: no box holds the body. */
typedef double surface_distance_fn(const void *user, const double world[3]);
firn_status surface_add_distance(surface_set *set, surface_distance_fn *distance, const void *user,
                                 const double low[3], const double high[3],
                                 const surface_material *material);

/* Every collider of a scene at a time; materials one a collider. The scene is borrowed as long as the
 * set lives. */
firn_status surface_add_scene(surface_set *set, const firn_scene *scene, double time,
                              const surface_material *materials);

/* After the last addition, before any ray. */
firn_status surface_commit(surface_set *set);

#endif
