#include "render/surface_body.h"

/* Part of the way to a box that is infinitely far on some sides; false when the ray misses it. */
static bool clip_box(const surface_set *set, const surface_body *body, vec3 start, vec3 direction,
                     float *from, float *to)
{
    const float x[3] = {start.x, start.y, start.z}, d[3] = {direction.x, direction.y, direction.z};
    for (int a = 0; a < 3; a++) {
        float low = (float)(body->low[a] - set->origin[a]) - x[a];
        float high = (float)(body->high[a] - set->origin[a]) - x[a];
        if (fabsf(d[a]) < 1e-12f) {
            if (low > 0 || high < 0)
                return false;
            continue;
        }
        float t0 = low / d[a], t1 = high / d[a];
        *from = greater(*from, lesser(t0, t1));
        *to = lesser(*to, greater(t0, t1));
    }
    return *from <= *to;
}

float march_body(const surface_set *set, const surface_body *body, vec3 start, vec3 direction,
                 float limit)
{
    enum { STEPS = 512 };
    const float farthest = 1e5f; /* m: beyond, single precision has no grip */
    float t = 0, end = lesser(limit, farthest);
    if (!clip_box(set, body, start, direction, &t, &end))
        return INFINITY;
    double side = 0; /* sign of the side the ray starts on: it may start inside, in glass */
    for (int i = 0; i < STEPS && t <= end; i++) {
        double phi = body_distance(set, body, vec_add(start, vec_scale(direction, t)));
        float near = 1e-5f + 2e-6f * t;
        if (side == 0)
            side = phi < 0 ? -1 : 1;
        phi *= side;
        if (phi < near)
            return t;
        t += (float)phi;
    }
    return INFINITY;
}
