/* Matrices at random, and the size of a matrix. Include after choosing FIRN_DIM and the number
 * type. */
#ifndef FIRN_TESTS_METHOD_MATS_H
#define FIRN_TESTS_METHOD_MATS_H

#include "method/mat.h"
#include "numbers.h"

static inline vec random_vec(void)
{
    vec r;
    for (int i = 0; i < FIRN_DIM; i++)
        r.e[i] = R(random_in(-1, 1));
    return r;
}

static inline mat random_mat(void)
{
    mat r;
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j < FIRN_DIM; j++)
            r.m[i][j] = R(random_in(-1, 1));
    return r;
}

static inline mat random_rotation(void)
{
#if FIRN_DIM == 3
    vec a, b;
    do {
        a = random_vec();
        b = random_vec();
    } while (vec_norm2(vec_cross(a, b)) < R(0.01));
    a = vec_normalize(a);
    vec c = vec_normalize(vec_cross(a, b));
    return mat_of_columns(a, vec_cross(c, a), c);
#else
    double angle = random_in(-M_PI, M_PI);
    mat r;
    r.m[0][0] = r.m[1][1] = R(cos(angle));
    r.m[1][0] = R(sin(angle));
    r.m[0][1] = -r.m[1][0];
    return r;
#endif
}

/* sqrt(A:A), with no overflow or underflow on the way. */
static inline double mat_size(mat a)
{
    double size = 0;
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j < FIRN_DIM; j++)
            size = hypot(size, (double)a.m[i][j]);
    return size;
}

#define assert_mat_near(a, b, tolerance, scale)                                                    \
    assert_near(mat_size(mat_sub(a, b)), 0, tolerance, scale)

#endif
