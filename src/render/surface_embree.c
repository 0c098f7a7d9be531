/* Meshed bodies through Embree. Its numbers do not depend on threads: the tree is built by one. */
#include <embree3/rtcore.h>
#include <stdlib.h>
#include <string.h>

#include "render/surface_body.h"
#include "status.h"

struct surface_rays {
    RTCDevice device;
    RTCScene scene;
};

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
const char *surface_embree_version(void)
{
    return TEXT(RTC_VERSION_MAJOR) "." TEXT(RTC_VERSION_MINOR) "." TEXT(RTC_VERSION_PATCH);
}

bool rays_available(void)
{
    return true;
}

static firn_status device_status(RTCDevice device)
{
    enum RTCError error = rtcGetDeviceError(device);
    if (error == RTC_ERROR_NONE)
        return FIRN_OK;
    if (error == RTC_ERROR_OUT_OF_MEMORY)
        return fail(FIRN_NO_MEMORY, "no memory for the surfaces of a picture");
    return fail(FIRN_USAGE, "Embree refuses the surfaces of a picture (error %d)", (int)error);
}

firn_status rays_create(surface_rays **out)
{
    surface_rays *r = calloc(1, sizeof *r);
    *out = NULL;
    if (!r)
        return fail(FIRN_NO_MEMORY, "no memory for the surfaces of a picture");
    r->device = rtcNewDevice("threads=1,verbose=0");
    firn_status status = device_status(r->device);
    if (status != FIRN_OK) {
        free(r);
        return status;
    }
    r->scene = rtcNewScene(r->device);
    rtcSetSceneFlags(r->scene, RTC_SCENE_FLAG_ROBUST);
    *out = r;
    return FIRN_OK;
}

void rays_destroy(surface_rays **rays)
{
    if (!*rays)
        return;
    rtcReleaseScene((*rays)->scene);
    rtcReleaseDevice((*rays)->device);
    free(*rays);
    *rays = NULL;
}

firn_status rays_add(surface_rays *rays, const surface_mesh *mesh, size_t body)
{
    RTCGeometry geometry = rtcNewGeometry(rays->device, RTC_GEOMETRY_TYPE_TRIANGLE);
    void *vertices = rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3,
                                             sizeof(vec3), mesh->vertex_count);
    void *triangles = rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3,
                                              sizeof *mesh->triangles, mesh->triangle_count);
    if (vertices && triangles) {
        memcpy(vertices, mesh->vertices, mesh->vertex_count * sizeof(vec3));
        memcpy(triangles, mesh->triangles, mesh->triangle_count * sizeof *mesh->triangles);
        rtcCommitGeometry(geometry);
        rtcAttachGeometryByID(rays->scene, geometry, (unsigned)body);
    }
    rtcReleaseGeometry(geometry);
    return device_status(rays->device);
}

firn_status rays_commit(surface_rays *rays)
{
    rtcCommitScene(rays->scene);
    return device_status(rays->device);
}

static struct RTCRay make_ray(vec3 start, vec3 direction, float limit)
{
    return (struct RTCRay){.org_x = start.x,
                           .org_y = start.y,
                           .org_z = start.z,
                           .dir_x = direction.x,
                           .dir_y = direction.y,
                           .dir_z = direction.z,
                           .tfar = limit,
                           .mask = 0xffffffffu};
}

float rays_meet(const surface_rays *rays, vec3 start, vec3 direction, float limit, size_t *body)
{
    struct RTCIntersectContext context;
    struct RTCRayHit hit = {.ray = make_ray(start, direction, limit)};
    hit.hit.geomID = RTC_INVALID_GEOMETRY_ID;
    hit.hit.instID[0] = RTC_INVALID_GEOMETRY_ID;
    rtcInitIntersectContext(&context);
    rtcIntersect1(rays->scene, &context, &hit);
    if (hit.hit.geomID == RTC_INVALID_GEOMETRY_ID)
        return INFINITY;
    *body = hit.hit.geomID;
    return hit.ray.tfar;
}

bool rays_blocked(const surface_rays *rays, vec3 start, vec3 direction, float limit)
{
    struct RTCIntersectContext context;
    struct RTCRay ray = make_ray(start, direction, limit);
    rtcInitIntersectContext(&context);
    rtcOccluded1(rays->scene, &context, &ray);
    return ray.tfar < 0; /* Embree's sign for "blocked" */
}
