#include "render/camera.h"

#include "render/vec.h"
#include "scene/model.h"
#include "status.h"

#define PI 3.14159265f

vec3 camera_sky(const firn_scene *scene)
{
    vec3 y = {0, 1, 0};
    if (!scene)
        return y;
    const double *g = firn_scene_settings(scene)->gravity;
    vec3 up = {(float)-g[0], (float)-g[1], (float)-g[2]};
    return vec_length(up) > 0 ? vec_unit(up) : y;
}

/* ---- where it stands --------------------------------------------------------------------------- */

void camera_turn(camera *c, vec3 back, vec3 up)
{
    vec3 right = vec_cross(up, back);
    if (!(vec_length(right) > 1e-4f)) /* straight up or down: any side will do */
        right = vec_cross(fabsf(back.x) < 0.8f ? (vec3){1, 0, 0} : (vec3){0, 0, 1}, back);
    c->back = back;
    c->right = vec_unit(right);
    c->up = vec_cross(back, c->right);
}

static bool all_finite(const double *values, int count)
{
    for (int i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

static firn_status check(const firn_camera *c, int width, int height)
{
    if (width < 1 || height < 1)
        return fail(FIRN_USAGE, "a picture of %d x %d pixels", width, height);
    if (!all_finite(c->position, 3) || !all_finite(c->target, 3) || !all_finite(c->up, 3))
        return fail(FIRN_USAGE, "position, target and up of a camera must be finite numbers");
    if (c->position[0] == c->target[0] && c->position[1] == c->target[1] &&
        c->position[2] == c->target[2])
        return fail(FIRN_USAGE, "position and target of the camera are the same point");
    if (!(c->field_of_view > 0 && c->field_of_view <= 170))
        return fail(FIRN_USAGE, "a field of view of %g degrees; it must be above 0 and at most 170",
                    c->field_of_view);
    if (!(c->aperture >= 0 && isfinite(c->aperture)) || !(c->focus >= 0 && isfinite(c->focus)))
        return fail(FIRN_USAGE, "aperture and focus of a camera must be lengths");
    if (!(c->shutter >= 0 && c->shutter <= 2))
        return fail(FIRN_USAGE, "a shutter that is open for %g of a frame; it must be 0 to 2",
                    c->shutter);
    return FIRN_OK;
}

static vec3 relative(const double world[3], const double origin[3])
{
    return (vec3){(float)(world[0] - origin[0]), (float)(world[1] - origin[1]),
                  (float)(world[2] - origin[2])};
}

firn_status camera_look(camera *c, const firn_camera *from, const double origin[3],
                        const firn_scene *scene, int width, int height)
{
    firn_status status = check(from, width, height);
    if (status != FIRN_OK)
        return status;
    *c = (camera){.width = (float)width, .height = (float)height, .sky = camera_sky(scene)};
    for (int a = 0; a < 3; a++)
        c->origin[a] = origin[a];
    c->eye = relative(from->position, origin);
    vec3 sight = relative(from->position, from->target), up = relative(from->up, (double[3]){0});
    c->distance = vec_length(sight);
    if (!(c->distance > 0 && isfinite(c->distance)))
        return fail(FIRN_USAGE, "the camera is too near its target, or too far from it");
    camera_turn(c, vec_scale(sight, 1 / c->distance), vec_length(up) > 0 ? vec_unit(up) : c->sky);
    c->focal = fminf(c->width, c->height) / (2 * tanf((float)from->field_of_view * PI / 360));
    c->lens = (float)from->aperture / 2;
    c->focus = from->focus > 0 ? (float)from->focus : c->distance;
    return FIRN_OK;
}

void camera_publish(const camera *c, const firn_scene *scene, firn_camera *out)
{
    const float eye[3] = {c->eye.x, c->eye.y, c->eye.z}, up[3] = {c->up.x, c->up.y, c->up.z};
    const float back[3] = {c->back.x, c->back.y, c->back.z};
    *out = (firn_camera){.field_of_view =
                             360 / PI * atanf(fminf(c->width, c->height) / (2 * c->focal))};
    for (int a = 0; a < 3; a++) {
        out->position[a] = c->origin[a] + eye[a];
        out->target[a] = out->position[a] - (double)c->distance * back[a];
        out->up[a] = up[a];
    }
    if (scene) {
        out->aperture = scene->camera.aperture;
        out->focus = scene->camera.focus;
        out->shutter = scene->camera.shutter;
    }
}

/* ---- points and pixels ----------------------------------------------------------------------- */

bool camera_project(const camera *c, vec3 p, camera_point *out)
{
    vec3 q = vec_sub(p, c->eye);
    float depth = -vec_dot(q, c->back);
    if (c->flat)
        depth = c->distance; /* one plane */
    if (!(depth > 0.02f * c->distance) || !(depth < 1e9f * c->distance))
        return false;
    out->depth = depth;
    out->scale = c->flat ? c->focal : c->focal / depth;
    out->x = c->width / 2 + out->scale * vec_dot(q, c->right);
    out->y = c->height / 2 - out->scale * vec_dot(q, c->up);
    return true;
}

vec3 camera_ray(const camera *c, float x, float y)
{
    float u = (x - c->width / 2) / c->focal, v = (c->height / 2 - y) / c->focal;
    return vec_unit(vec_combine(c->right, u, c->up, v, c->back, -1));
}

/* From an even number to one between -1 and 1 that is denser in the middle, in a straight line. */
static float tent(float u)
{
    return u < 0.5f ? sqrtf(2 * u) - 1 : 1 - sqrtf(2 - 2 * u);
}

trace_ray camera_sample(const void *data, int x, int y, const float u[4])
{
    const camera *c = data;
    float px = (float)x + 0.5f + tent(u[0]), py = (float)y + 0.5f + tent(u[1]);
    trace_ray ray = {c->eye, camera_ray(c, px, py)};
    if (!(c->lens > 0))
        return ray;
    vec3 sharp =
        vec_add(c->eye, vec_scale(ray.direction, c->focus / -vec_dot(ray.direction, c->back)));
    float radius = c->lens * sqrtf(u[2]), angle = 2 * PI * u[3];
    ray.start = vec_combine(c->right, radius * cosf(angle), c->up, radius * sinf(angle), c->eye, 1);
    ray.direction = vec_unit(vec_sub(sharp, ray.start));
    return ray;
}
