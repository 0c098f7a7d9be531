/* Vectors of FIRN_DIM reals (2 or 3; the translation unit says which before including). */
#ifndef FIRN_METHOD_VEC_H
#define FIRN_METHOD_VEC_H

#include "method/lane.h"

#if !defined(FIRN_DIM) || (FIRN_DIM != 2 && FIRN_DIM != 3)
#error "define FIRN_DIM as 2 or 3 before including the method"
#endif

typedef struct vec {
    real e[FIRN_DIM];
} vec;

FN vec vec_zero(void)
{
    vec r;
    for (int i = 0; i < FIRN_DIM; i++)
        r.e[i] = real_of(0);
    return r;
}

FN vec vec_add(vec a, vec b)
{
    for (int i = 0; i < FIRN_DIM; i++)
        a.e[i] += b.e[i];
    return a;
}

FN vec vec_sub(vec a, vec b)
{
    for (int i = 0; i < FIRN_DIM; i++)
        a.e[i] -= b.e[i];
    return a;
}

FN vec vec_scale(vec a, real s)
{
    for (int i = 0; i < FIRN_DIM; i++)
        a.e[i] *= s;
    return a;
}

/* a + s b */
FN vec vec_mad(vec a, real s, vec b)
{
    for (int i = 0; i < FIRN_DIM; i++)
        a.e[i] += s * b.e[i];
    return a;
}

FN real vec_dot(vec a, vec b)
{
    real sum = a.e[0] * b.e[0];
    for (int i = 1; i < FIRN_DIM; i++)
        sum += a.e[i] * b.e[i];
    return sum;
}

FN real vec_norm2(vec a)
{
    return vec_dot(a, a);
}

FN real vec_norm(vec a)
{
    return real_sqrt(vec_norm2(a));
}

/* a / |a|, for |a|^2 within the range of normal numbers. */
FN vec vec_normalize(vec a)
{
    return vec_scale(a, real_rsqrt(vec_norm2(a)));
}

FN vec vec_select(lane_mask mask, vec a, vec b)
{
    for (int i = 0; i < FIRN_DIM; i++)
        a.e[i] = lane_select(mask, a.e[i], b.e[i]);
    return a;
}

#if FIRN_DIM == 3
FN vec vec_cross(vec a, vec b)
{
    vec r;
    r.e[0] = a.e[1] * b.e[2] - a.e[2] * b.e[1];
    r.e[1] = a.e[2] * b.e[0] - a.e[0] * b.e[2];
    r.e[2] = a.e[0] * b.e[1] - a.e[1] * b.e[0];
    return r;
}
#endif

#endif
