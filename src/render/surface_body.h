/* The inside of a set of surfaces. */
#ifndef FIRN_RENDER_SURFACE_BODY_H
#define FIRN_RENDER_SURFACE_BODY_H

#include <stdint.h>

#include "collider/collider.h"
#include "render/surface_set.h"

/* Triangles around a signed distance, relative to the picture's origin. */
typedef struct surface_mesh {
    size_t vertex_count, triangle_count;
    vec3 *vertices; /* owned; one more float of room behind the last, which Embree may read */
    uint32_t (*triangles)[3];
    float cell; /* of the grid it was made on */
} surface_mesh;

typedef struct surface_body {
    surface_distance_fn *distance;
    const void *user;
    double low[3], high[3];
    surface_material material;
    bool meshed;
    float detail; /* length over which a normal is taken, m */
} surface_body;

typedef struct surface_plane {
    vec3 point, normal;
    surface_material material;
} surface_plane;

typedef struct surface_rays surface_rays; /* Embree's part */

/* What surface_add_scene lends to the distances it adds: a collider as it stands at the time. */
typedef struct surface_loan {
    const collider *body;
    collider_pose pose;
    struct surface_loan *next;
} surface_loan;

struct surface_set {
    double origin[3];
    size_t plane_count, body_count;
    surface_plane *planes;
    surface_body *bodies;
    surface_loan *loans;
    surface_rays *rays; /* NULL when nothing is meshed */
    bool has_glass;
};

double body_distance(const surface_set *set, const surface_body *body, vec3 x);
void surface_return_loans(surface_set *set);

/* ---- surface_mesh.c ----------------------------------------------------------------------------- */

/* Dual contouring on a grid that the body's box decides. */
firn_status surface_mesh_create(const surface_set *set, const surface_body *body,
                                surface_mesh *mesh);
void surface_mesh_clear(surface_mesh *mesh);

/* ---- surface_march.c ---------------------------------------------------------------------------- */

/* Distance along the ray to a body that is not meshed; INFINITY when not before `limit`. */
float march_body(const surface_set *set, const surface_body *body, vec3 start, vec3 direction,
                 float limit);

/* ---- surface_embree.c, or surface_none.c -------------------------------------------------------- */

bool rays_available(void);
firn_status rays_create(surface_rays **out);
void rays_destroy(surface_rays **rays);
firn_status rays_add(surface_rays *rays, const surface_mesh *mesh, size_t body); /* copies */
firn_status rays_commit(surface_rays *rays);
float rays_meet(const surface_rays *rays, vec3 start, vec3 direction, float limit, size_t *body);
bool rays_blocked(const surface_rays *rays, vec3 start, vec3 direction, float limit);

#endif
