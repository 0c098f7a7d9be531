/*
 * Functions of a symmetric matrix: f(A) = sum_i f(e_i) u_i u_i^T, from its eigenvalues e_i and one eigenvector at most.
 *
 * In 3D one eigenvalue lies apart from the other two, and its u is well known. What is left of A across u is like a
 * matrix of 2D, mean I + D, with eigenvalues mean + h/2 and mean - h/2 where D:D = h^2/2, so that a function of it is
 *
 *     (f_0 + f_1)/2 I + (f_0 - f_1)/h D.
 *
 * No digits are lost where the two are close, as D is no larger than h.
 */
#ifndef FIRN_METHOD_SPECTRUM_H
#define FIRN_METHOD_SPECTRUM_H

#include "method/svd.h"

typedef struct spectrum {
    real e[FIRN_DIM]; /* the one apart is the last */
    real inv_h;
    mat D;
#if FIRN_DIM == 3
    mat P; /* u u^T */
#endif
} spectrum;

FN spectrum spectrum_of(mat A)
{
    spectrum s;
    real mean = R(0.5) * mat_trace(A);
#if FIRN_DIM == 3
    vec u = svd_apart(svd_deviator(A));
    real apart = vec_dot(u, mat_vec(A, u));
    mean -= R(0.5) * apart;
    s.e[2] = apart;
    s.P = mat_outer(u, u);
    s.D = mat_mad(A, mean - apart, s.P);
#else
    s.D = A;
#endif
    s.D = mat_mad(s.D, -mean, mat_identity());
    real h2 = R(2) * mat_dot(s.D, s.D);
    s.inv_h = real_rsqrt(real_max(h2, real_of(REAL_TINY)));
    real half = (R(0.5) * h2) * s.inv_h;
    s.e[0] = mean + half;
    s.e[1] = mean - half;
    return s;
}

/* The matrix with the same eigenvectors and these eigenvalues. */
FN mat spectrum_map(const spectrum *s, const real f[FIRN_DIM])
{
    real middle = R(0.5) * (f[0] + f[1]);
    mat r = mat_scale(s->D, (f[0] - f[1]) * s->inv_h);
#if FIRN_DIM == 3
    r = mat_mad(r, f[2] - middle, s->P);
#endif
    return mat_mad(r, middle, mat_identity());
}

#endif
