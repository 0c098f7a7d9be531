/* Builds without Embree: nothing is meshed, every body is met by stepping. */
#include "render/surface_body.h"
#include "status.h"

const char *surface_embree_version(void)
{
    return "none";
}

bool rays_available(void)
{
    return false;
}

firn_status rays_create(surface_rays **out)
{
    *out = NULL;
    return fail(FIRN_USAGE, "this build has no Embree");
}

void rays_destroy(surface_rays **rays)
{
    *rays = NULL;
}

firn_status rays_add(surface_rays *rays, const surface_mesh *mesh, size_t body)
{
    (void)rays, (void)mesh, (void)body;
    return fail(FIRN_USAGE, "this build has no Embree");
}

firn_status rays_commit(surface_rays *rays)
{
    (void)rays;
    return FIRN_OK;
}

float rays_meet(const surface_rays *rays, vec3 start, vec3 direction, float limit, size_t *body)
{
    (void)rays, (void)start, (void)direction, (void)limit, (void)body;
    return INFINITY;
}

bool rays_blocked(const surface_rays *rays, vec3 start, vec3 direction, float limit)
{
    (void)rays, (void)start, (void)direction, (void)limit;
    return false;
}
