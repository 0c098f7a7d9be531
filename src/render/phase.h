/* Directions: the Henyey-Greenstein phase function, and frames to turn them in. */
#ifndef FIRN_RENDER_PHASE_H
#define FIRN_RENDER_PHASE_H

#include "render/vec.h"

#define PI_F 3.14159265358979f

/* Two unit vectors that make a right-handed frame with n (Duff et al. 2017, without branches). */
static inline void frame_around(vec3 n, vec3 *a, vec3 *b)
{
    float sign = copysignf(1, n.z), s = -1 / (sign + n.z), t = n.x * n.y * s;
    *a = (vec3){1 + sign * n.x * n.x * s, sign * t, -sign * n.x};
    *b = (vec3){t, sign + n.y * n.y * s, -n.y};
}

/* cos and sin of `turn` of a full circle, 0 .. 1, to 1e-7: of the nearest quarter and what is left of it. */
static inline void circle_point(float turn, float *x, float *y)
{
    int quarter = (int)(4 * turn + 0.5f);
    float a = 4 * turn - (float)quarter, q = a * a;
    float c = 1 + q * (-1.23369706f + q * (0.25359863f - 0.02040835f * q));
    float s = a * (1.57079637f + q * (-0.64596349f + q * (0.07968023f - 0.00460218f * q)));
    float sign = quarter & 2 ? -1 : 1;
    *x = sign * (quarter & 1 ? -s : c);
    *y = sign * (quarter & 1 ? c : s);
}

/* Unit vector at angle acos(cosine) to n, turned by `turn` of a full circle. */
static inline vec3 frame_direction(vec3 n, float cosine, float turn)
{
    vec3 a, b;
    float sine = sqrtf(greater(1 - cosine * cosine, 0)), x, y;
    frame_around(n, &a, &b);
    circle_point(turn, &x, &y);
    return vec_combine(a, sine * x, b, sine * y, n, cosine);
}

/* Density over solid angle; cosine: between the directions of travel before and after. The mean of the
 * cosine is g. It is both the value and the likelihood of phase_sample. */
static inline float phase_value(float g, float cosine)
{
    float d = greater(1 + g * g - 2 * g * cosine, 1e-12f);
    return (1 - g * g) / (4 * PI_F * d * sqrtf(d));
}

static inline float phase_cosine(float g, float u)
{
    if (fabsf(g) < 1e-3f)
        return 1 - 2 * u;
    float s = (1 - g * g) / (1 - g + 2 * g * u), cosine = (1 + g * g - s * s) / (2 * g);
    return lesser(greater(cosine, -1), 1);
}

#endif
