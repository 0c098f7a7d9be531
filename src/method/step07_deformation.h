/*
 * Step 7, deformation of a particle (section 4.1), and the return map that makes snow plastic:
 *
 *     F_hat = (I + dt grad v_p) F_E                                                         (11)
 *     F_hat = U S V^T,  S_c = clamp(S, 1 - theta_c, 1 + theta_s)
 *     F_E = U S_c V^T,  J_P *= det S / det S_c                                              (12)
 *
 * F_E is formed as F_hat + U (S_c - S) V^T, which is the same, but leaves a particle that does not
 * yield untouched by the rounding of the SVD: thousands of steps would add it up.
 */
#ifndef FIRN_METHOD_STEP07_DEFORMATION_H
#define FIRN_METHOD_STEP07_DEFORMATION_H

#include "method/svd.h"

typedef struct deformation {
    mat F_E;
    real J_P;
    svd s; /* of F_E: its stress needs no second decomposition */
} deformation;

/* The return map alone: F_hat and J_P before, F_E and J_P after */
FN deformation step07_return(mat F_hat, real J_P, real theta_c, real theta_s)
{
    deformation r;
    r.s = svd_of(F_hat);
    vec pulled_back;
    real before = real_of(1), after = real_of(1);
    for (int i = 0; i < FIRN_DIM; i++) {
        real sigma = r.s.sigma.e[i];
        r.s.sigma.e[i] = real_clamp(sigma, R(1) - theta_c, R(1) + theta_s);
        pulled_back.e[i] = r.s.sigma.e[i] - sigma;
        before *= sigma;
        after *= r.s.sigma.e[i];
    }
    r.F_E = mat_add(F_hat, svd_compose(r.s.U, pulled_back, r.s.V));
    r.J_P = J_P * (before / after);
    return r;
}

FN deformation step07_deform(mat grad_v, real dt, mat F_E, real J_P, real theta_c, real theta_s)
{
    return step07_return(mat_mad(F_E, dt, mat_mul(grad_v, F_E)), J_P, theta_c, theta_s);
}

#endif
