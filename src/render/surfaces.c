#include "render/surfaces.h"

#include <stdlib.h>

#include "scene/model.h"
#include "status.h"

enum { TRACE_STEPS = 160, LIGHT_STEPS = 32 };

bool surfaces_present(const surfaces *s)
{
    return s->scene && firn_scene_collider_count(s->scene) > 0;
}

firn_status surfaces_stand(surfaces *s)
{
    size_t count = surfaces_present(s) ? s->scene->collider_count : 0;
    s->poses = calloc(count + 1, sizeof *s->poses);
    if (!s->poses)
        return fail(FIRN_NO_MEMORY, "no memory for the colliders of a picture");
    firn_status status = FIRN_OK;
    for (size_t i = 0; i < count && status == FIRN_OK; i++)
        status = collider_stand(&s->scene->colliders[i].body, s->time, &s->poses[i]);
    if (status != FIRN_OK)
        surfaces_leave(s);
    return status;
}

void surfaces_leave(surfaces *s)
{
    size_t count = s->poses && surfaces_present(s) ? s->scene->collider_count : 0;
    for (size_t i = 0; i < count; i++)
        collider_leave(&s->scene->colliders[i].body, &s->poses[i]);
    free(s->poses);
    s->poses = NULL;
}

static double distance_to(const surfaces *s, size_t index, const double x[3])
{
    if (!s->poses)
        return firn_scene_collider_distance(s->scene, index, s->time, x);
    return collider_distance(&s->scene->colliders[index].body, &s->poses[index], x, NULL, NULL);
}

float surfaces_distance(const surfaces *s, vec3 x)
{
    double world[3] = {s->origin[0] + x.x, s->origin[1] + x.y, s->origin[2] + x.z};
    double nearest = 1e30;
    size_t count = s->scene ? firn_scene_collider_count(s->scene) : 0;
    for (size_t i = 0; i < count; i++) {
        if (!s->scene->colliders[i].surface.visible)
            continue;
        double phi = distance_to(s, i, world);
        nearest = phi < nearest ? phi : nearest;
    }
    return (float)nearest;
}

vec3 surfaces_normal(const surfaces *s, vec3 x, float step)
{
    /* Four corners of a tetrahedron are the fewest points that give a gradient. */
    static const vec3 corner[4] = {{1, -1, -1}, {-1, -1, 1}, {-1, 1, -1}, {1, 1, 1}};
    vec3 gradient = {0, 0, 0};
    for (int i = 0; i < 4; i++) {
        float phi = surfaces_distance(s, vec_add(x, vec_scale(corner[i], step)));
        gradient = vec_add(gradient, vec_scale(corner[i], phi));
    }
    float length = vec_length(gradient);
    return length > 0 ? vec_scale(gradient, 1 / length) : (vec3){0, 1, 0};
}

float surfaces_free(const surfaces *s, vec3 start, vec3 direction, float spread, float limit)
{
    float t = 0, last = 0;
    for (int i = 0; i < TRACE_STEPS && t < limit; i++) {
        float phi = surfaces_distance(s, vec_add(start, vec_scale(direction, t)));
        if (phi <= spread * t)
            return last;
        last = t;
        t += phi;
    }
    return last;
}

float surfaces_trace(const surfaces *s, const surfaces_ray *ray)
{
    float t = ray->from, last_t = t - 1, last_phi = 0;
    bool outside = false;
    for (int i = 0; i < TRACE_STEPS && t < ray->limit; i++) {
        float phi = surfaces_distance(s, vec_add(ray->start, vec_scale(ray->direction, t)));
        float near = ray->blur * (t + 1e-3f * ray->limit);
        if (outside && phi < near)
            return t + phi;
        float slope = (last_phi - phi) / (t - last_t); /* that of a plane, when it is one */
        bool finish = outside && phi < 12 * near && slope > 0.02f;
        outside = outside || phi > near;
        last_t = t, last_phi = phi;
        t += finish ? phi / slope : phi > near ? phi : phi < -near ? -phi : near;
    }
    return outside ? greater(t, ray->limit) : ray->limit;
}

float surfaces_light(const surfaces *s, vec3 x, vec3 direction, float softness, float limit)
{
    float light = 1, t = 0;
    for (int i = 0; i < LIGHT_STEPS && t < limit && light > 0.01f; i++) {
        float phi = surfaces_distance(s, vec_add(x, vec_scale(direction, t)));
        if (t > 0)
            light = lesser(light, 0.5f + 0.5f * phi / (softness * t));
        t += greater(fabsf(phi), 0.005f * limit);
    }
    return clamp01(light);
}

/* Integral of the wave that is +1 on even and -1 on odd squares. */
static float wave_integral(float x)
{
    float phase = x - 2 * floorf(x / 2);
    return 1 - fabsf(phase - 1);
}

static float wave_mean(float x, float width)
{
    return (wave_integral(x + width / 2) - wave_integral(x - width / 2)) / width;
}

float surfaces_squares(const surfaces *s, vec3 x, vec3 normal, float size, float width)
{
    /* Two squares, in double: far from the origin the pattern must not shimmer. */
    double period = 2 * (double)size;
    float u[3] = {(float)(fmod(s->origin[0] + x.x, period) / size),
                  (float)(fmod(s->origin[1] + x.y, period) / size),
                  (float)(fmod(s->origin[2] + x.z, period) / size)};
    float nx = fabsf(normal.x), ny = fabsf(normal.y), nz = fabsf(normal.z);
    int a = nx > ny && nx > nz ? 1 : 0, b = ny >= nx && ny >= nz ? 2 : nx > nz ? 2 : 1;
    float w = greater(width / size, 1e-3f);
    return 0.5f + 0.5f * wave_mean(u[a], w) * wave_mean(u[b], w);
}
