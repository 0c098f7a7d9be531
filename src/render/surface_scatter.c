#include "render/surface_scatter.h"

#include "render/phase.h"

float surface_mirror(float cosine, float ratio)
{
    float c = lesser(fabsf(cosine), 1), g2 = ratio * ratio - 1 + c * c;
    if (g2 <= 0)
        return 1;
    float g = sqrtf(g2), a = (g - c) / (g + c), b = (c * (g + c) - 1) / (c * (g - c) + 1);
    return 0.5f * a * a * (1 + b * b);
}

/* The normal on the side that the light comes from. */
static vec3 facing_normal(const surface_hit *hit, vec3 ray)
{
    return vec_dot(ray, hit->normal) > 0 ? vec_scale(hit->normal, -1) : hit->normal;
}

static vec3 mirror_direction(vec3 ray, vec3 n)
{
    return vec_sub(ray, vec_scale(n, 2 * vec_dot(ray, n)));
}

/* ---- The coat: microfacets after Trowbridge and Reitz (GGX), visible normals (Heitz 2018) -------- */

static float coat_alpha(const surface_material *m)
{
    return m->roughness * m->roughness;
}

static float facets(float alpha, float cosine)
{
    float a2 = alpha * alpha, d = cosine * cosine * (a2 - 1) + 1;
    return a2 / (PI_F * d * d);
}

/* Smith's masking of one direction. */
static float masking(float alpha, float cosine)
{
    float tan2 = (1 - cosine * cosine) / (cosine * cosine);
    return 2 / (1 + sqrtf(1 + alpha * alpha * greater(tan2, 0)));
}

/* A facet as seen from `out` (away from the surface). */
static vec3 draw_facet(vec3 n, vec3 out, float alpha, const float u[2])
{
    vec3 a, b;
    frame_around(n, &a, &b);
    vec3 v = {alpha * vec_dot(out, a), alpha * vec_dot(out, b), vec_dot(out, n)};
    v = vec_unit(v);
    float flat = v.x * v.x + v.y * v.y;
    vec3 t1 = flat > 1e-12f ? vec_scale((vec3){-v.y, v.x, 0}, 1 / sqrtf(flat)) : (vec3){1, 0, 0};
    vec3 t2 = vec_cross(v, t1);
    float r = sqrtf(u[0]), x = r * cosf(2 * PI_F * u[1]), y = r * sinf(2 * PI_F * u[1]);
    float s = 0.5f * (1 + v.z);
    y = (1 - s) * sqrtf(greater(1 - x * x, 0)) + s * y;
    vec3 h = vec_combine(t1, x, t2, y, v, sqrtf(greater(1 - x * x - y * y, 0)));
    return vec_unit(vec_combine(a, alpha * h.x, b, alpha * h.y, n, greater(h.z, 1e-6f)));
}

/* How often the coat is tried, rather than the colour below. */
static float coat_share(const surface_material *m, float cosine)
{
    float f = surface_mirror(cosine, m->ior);
    return lesser(greater(f / (f + 0.5f), 0.1f), 0.9f);
}

static vec3 glossy_value(const surface_hit *hit, vec3 n, vec3 ray, vec3 direction, float *pdf)
{
    const surface_material *m = hit->material;
    vec3 out = vec_scale(ray, -1);
    float co = greater(vec_dot(out, n), 1e-4f), ci = vec_dot(direction, n);
    float alpha = coat_alpha(m), share = coat_share(m, co);
    vec3 h = vec_unit(vec_add(out, direction));
    float d = facets(alpha, lesser(vec_dot(h, n), 1)), g = masking(alpha, co);
    float mirrored = surface_mirror(vec_dot(h, out), m->ior);
    float coat = mirrored * d * g * masking(alpha, ci) / (4 * co);
    float below = ci / PI_F * (1 - surface_mirror(co, m->ior)) * (1 - surface_mirror(ci, m->ior));
    *pdf = share * d * g / (4 * co) + (1 - share) * ci / PI_F;
    return vec_add(vec_scale(hit->colour, below), (vec3){coat, coat, coat});
}

vec3 surface_value(const surface_hit *hit, vec3 ray, vec3 direction, float *pdf)
{
    vec3 n = facing_normal(hit, ray);
    float cosine = vec_dot(direction, n);
    *pdf = 0;
    if (hit->material->kind == SURFACE_GLASS || !(cosine > 1e-5f))
        return (vec3){0, 0, 0};
    if (hit->material->kind == SURFACE_GLOSSY)
        return glossy_value(hit, n, ray, direction, pdf);
    *pdf = cosine / PI_F;
    return vec_scale(hit->colour, cosine / PI_F);
}

/* ---- Choosing ----------------------------------------------------------------------------------- */

static vec3 draw_cosine(vec3 n, const float u[2])
{
    return frame_direction(n, sqrtf(u[0]), u[1]);
}

static bool scatter_glass(const surface_hit *hit, vec3 ray, trace_random *random, surface_way *way)
{
    vec3 n = facing_normal(hit, ray);
    bool entering = vec_dot(ray, hit->normal) < 0;
    float ior = hit->material->ior, ratio = entering ? ior : 1 / ior;
    float cosine = -vec_dot(ray, n);
    way->pdf = INFINITY;
    way->weight = (vec3){1, 1, 1};
    if (random_float(random) < surface_mirror(cosine, ratio)) {
        way->direction = mirror_direction(ray, n);
        return true;
    }
    float sine2 = (1 - cosine * cosine) / (ratio * ratio);
    float beyond = sqrtf(greater(1 - sine2, 0));
    vec3 along = vec_scale(vec_add(ray, vec_scale(n, cosine)), 1 / ratio);
    way->direction = vec_unit(vec_sub(along, vec_scale(n, beyond)));
    way->weight = hit->colour;
    return true;
}

bool surface_scatter(const surface_hit *hit, vec3 ray, trace_random *random, surface_way *way)
{
    const surface_material *m = hit->material;
    if (m->kind == SURFACE_GLASS)
        return scatter_glass(hit, ray, random, way);
    vec3 n = facing_normal(hit, ray);
    float u[2];
    bool coat = m->kind == SURFACE_GLOSSY &&
                random_float(random) < coat_share(m, greater(-vec_dot(ray, n), 1e-4f));
    random_pair(random, u);
    if (coat)
        way->direction = mirror_direction(ray, draw_facet(n, vec_scale(ray, -1), coat_alpha(m), u));
    else
        way->direction = draw_cosine(n, u);
    vec3 value = surface_value(hit, ray, way->direction, &way->pdf);
    if (!(way->pdf > 0))
        return false;
    way->weight = vec_scale(value, 1 / way->pdf);
    return true;
}
