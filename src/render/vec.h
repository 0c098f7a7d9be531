/* Points and directions of a picture, in single precision relative to the camera's origin. */
#ifndef FIRN_RENDER_VEC_H
#define FIRN_RENDER_VEC_H

#include <math.h>

typedef struct vec3 {
    float x, y, z;
} vec3;

static inline vec3 vec_add(vec3 a, vec3 b)
{
    return (vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}

static inline vec3 vec_sub(vec3 a, vec3 b)
{
    return (vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline vec3 vec_scale(vec3 a, float s)
{
    return (vec3){a.x * s, a.y * s, a.z * s};
}

static inline vec3 vec_mul(vec3 a, vec3 b)
{
    return (vec3){a.x * b.x, a.y * b.y, a.z * b.z};
}

static inline vec3 vec_mix(vec3 a, vec3 b, float t)
{
    return vec_add(vec_scale(a, 1 - t), vec_scale(b, t));
}

static inline float vec_dot(vec3 a, vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline vec3 vec_cross(vec3 a, vec3 b)
{
    return (vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline float vec_length(vec3 a)
{
    return sqrtf(vec_dot(a, a));
}

static inline vec3 vec_unit(vec3 a)
{
    return vec_scale(a, 1 / vec_length(a));
}

/* a x + b y + c z */
static inline vec3 vec_combine(vec3 x, float a, vec3 y, float b, vec3 z, float c)
{
    return vec_add(vec_add(vec_scale(x, a), vec_scale(y, b)), vec_scale(z, c));
}

/* Of linear RGB with the sRGB primaries. */
static inline float vec_luminance(vec3 rgb)
{
    return 0.2126f * rgb.x + 0.7152f * rgb.y + 0.0722f * rgb.z;
}

/* One instruction each, unlike fminf and fmaxf; b when either is NaN. */
static inline float lesser(float a, float b)
{
    return a < b ? a : b;
}

static inline float greater(float a, float b)
{
    return a > b ? a : b;
}

static inline float clamp01(float x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static inline float smoothstep(float low, float high, float x)
{
    float t = clamp01((x - low) / (high - low));
    return t * t * (3 - 2 * t);
}

#endif
