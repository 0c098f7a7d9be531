/* Square matrices of FIRN_DIM rows; m[row][column]. */
#ifndef FIRN_METHOD_MAT_H
#define FIRN_METHOD_MAT_H

#include "method/vec.h"

typedef struct mat {
    real m[FIRN_DIM][FIRN_DIM];
} mat;

FN mat mat_diagonal(vec d)
{
    mat r;
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j < FIRN_DIM; j++)
            r.m[i][j] = i == j ? d.e[i] : real_of(0);
    return r;
}

FN mat mat_zero(void)
{
    return mat_diagonal(vec_zero());
}

FN mat mat_identity(void)
{
    vec ones;
    for (int i = 0; i < FIRN_DIM; i++)
        ones.e[i] = real_of(1);
    return mat_diagonal(ones);
}

FN mat mat_add(mat a, mat b)
{
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j < FIRN_DIM; j++)
            a.m[i][j] += b.m[i][j];
    return a;
}

FN mat mat_sub(mat a, mat b)
{
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j < FIRN_DIM; j++)
            a.m[i][j] -= b.m[i][j];
    return a;
}

FN mat mat_scale(mat a, real s)
{
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j < FIRN_DIM; j++)
            a.m[i][j] *= s;
    return a;
}

/* A + s B */
FN mat mat_mad(mat a, real s, mat b)
{
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j < FIRN_DIM; j++)
            a.m[i][j] += s * b.m[i][j];
    return a;
}

FN mat mat_select(lane_mask mask, mat a, mat b)
{
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j < FIRN_DIM; j++)
            a.m[i][j] = lane_select(mask, a.m[i][j], b.m[i][j]);
    return a;
}

FN mat mat_transpose(mat a)
{
    mat r;
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j < FIRN_DIM; j++)
            r.m[i][j] = a.m[j][i];
    return r;
}

/* A B */
FN mat mat_mul(mat a, mat b)
{
    mat r;
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j < FIRN_DIM; j++) {
            r.m[i][j] = a.m[i][0] * b.m[0][j];
            for (int k = 1; k < FIRN_DIM; k++)
                r.m[i][j] += a.m[i][k] * b.m[k][j];
        }
    return r;
}

/* A B^T */
FN mat mat_mul_t(mat a, mat b)
{
    return mat_mul(a, mat_transpose(b));
}

/* A^T B */
FN mat mat_t_mul(mat a, mat b)
{
    return mat_mul(mat_transpose(a), b);
}

/* A diag(d) */
FN mat mat_mul_diagonal(mat a, vec d)
{
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j < FIRN_DIM; j++)
            a.m[i][j] *= d.e[j];
    return a;
}

/* A v */
FN vec mat_vec(mat a, vec v)
{
    vec r;
    for (int i = 0; i < FIRN_DIM; i++) {
        r.e[i] = a.m[i][0] * v.e[0];
        for (int j = 1; j < FIRN_DIM; j++)
            r.e[i] += a.m[i][j] * v.e[j];
    }
    return r;
}

/* A^T v */
FN vec mat_t_vec(mat a, vec v)
{
    return mat_vec(mat_transpose(a), v);
}

/* a b^T */
FN mat mat_outer(vec a, vec b)
{
    mat r;
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j < FIRN_DIM; j++)
            r.m[i][j] = a.e[i] * b.e[j];
    return r;
}

FN real mat_trace(mat a)
{
    real sum = a.m[0][0];
    for (int i = 1; i < FIRN_DIM; i++)
        sum += a.m[i][i];
    return sum;
}

/* A : B, the sum of the products of their entries */
FN real mat_dot(mat a, mat b)
{
    real sum = real_of(0);
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j < FIRN_DIM; j++)
            sum += a.m[i][j] * b.m[i][j];
    return sum;
}

FN vec mat_column(mat a, int j)
{
    vec r;
    for (int i = 0; i < FIRN_DIM; i++)
        r.e[i] = a.m[i][j];
    return r;
}

#if FIRN_DIM == 3

FN mat mat_of_columns(vec a, vec b, vec c)
{
    mat r;
    for (int i = 0; i < 3; i++) {
        r.m[i][0] = a.e[i];
        r.m[i][1] = b.e[i];
        r.m[i][2] = c.e[i];
    }
    return r;
}

/* The cofactor matrix, J F^-T: its columns are f1 x f2, f2 x f0, f0 x f1. */
FN mat mat_cof(mat F)
{
    vec f0 = mat_column(F, 0), f1 = mat_column(F, 1), f2 = mat_column(F, 2);
    return mat_of_columns(vec_cross(f1, f2), vec_cross(f2, f0), vec_cross(f0, f1));
}

/* The change of mat_cof(F) as F changes by dF: the product rule on each column. */
FN mat mat_dcof(mat F, mat dF)
{
    vec f0 = mat_column(F, 0), f1 = mat_column(F, 1), f2 = mat_column(F, 2);
    vec d0 = mat_column(dF, 0), d1 = mat_column(dF, 1), d2 = mat_column(dF, 2);
    return mat_of_columns(vec_add(vec_cross(d1, f2), vec_cross(f1, d2)),
                          vec_add(vec_cross(d2, f0), vec_cross(f2, d0)),
                          vec_add(vec_cross(d0, f1), vec_cross(f0, d1)));
}

FN real mat_det(mat F)
{
    return vec_dot(mat_column(F, 0), vec_cross(mat_column(F, 1), mat_column(F, 2)));
}

#else

FN mat mat_of_columns(vec a, vec b)
{
    mat r;
    for (int i = 0; i < 2; i++) {
        r.m[i][0] = a.e[i];
        r.m[i][1] = b.e[i];
    }
    return r;
}

/* The cofactor matrix, J F^-T. */
FN mat mat_cof(mat F)
{
    mat r;
    r.m[0][0] = F.m[1][1];
    r.m[0][1] = -F.m[1][0];
    r.m[1][0] = -F.m[0][1];
    r.m[1][1] = F.m[0][0];
    return r;
}

/* The change of mat_cof(F) as F changes by dF; in 2D the cofactors are linear. */
FN mat mat_dcof(mat F, mat dF)
{
    (void)F;
    return mat_cof(dF);
}

FN real mat_det(mat F)
{
    return F.m[0][0] * F.m[1][1] - F.m[0][1] * F.m[1][0];
}

#endif

#endif
