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

#include "method/spectrum.h"
#include "method/strain.h"

typedef struct deformation {
    mat F_E;
    real J_P;
    svd s; /* of F_E: its stress needs no second decomposition */
} deformation;

/* J_P is held within this factor either way, so that no history carries a float out of its range; what
 * is turned inside out keeps its sign. */
#define STEP07_J_P_LIMIT 1e9

FN real step07_J_P_in_range(real J_P)
{
    real least = real_of(R(1 / STEP07_J_P_LIMIT)), most = real_of(R(STEP07_J_P_LIMIT));
    return lane_select(J_P > R(0), real_clamp(J_P, least, most), J_P);
}

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
    r.J_P = step07_J_P_in_range(J_P * (before / after));
    return r;
}

/*
 * The same without an SVD, for small strains E = F_hat F_hat^T - I and det F_hat > 0: U are the eigenvectors of E, which
 * has digits that F_hat F_hat^T has not, and
 *
 *     F_hat + U (S_c - S) V^T = F_hat + U (S_c / S - 1) U^T F_hat
 *
 * where U (S_c / S - 1) U^T is a function of E. Leaves r.s alone.
 */
FN lane_mask step07_is_near(mat E, real det)
{
    return (mat_dot(E, E) <= R(0.25)) & (det > R(0));
}

FN deformation step07_return_near(mat F_hat, mat E, real J_P, real theta_c, real theta_s)
{
    deformation r;
    spectrum s = spectrum_of(E);
    real pulled_back[FIRN_DIM]; /* S_c / S - 1: exactly 0 where nothing is beyond the bounds */
    real change = real_of(1);
    for (int i = 0; i < FIRN_DIM; i++) {
        real sigma2 = real_max(R(1) + s.e[i], real_of(R(0.25)));
        real inv_sigma = real_rsqrt(sigma2), sigma = sigma2 * inv_sigma;
        real clamped = real_clamp(sigma, R(1) - theta_c, R(1) + theta_s);
        pulled_back[i] = (clamped - sigma) * inv_sigma;
        change *= R(1) + pulled_back[i];
    }
    r.F_E = mat_add(F_hat, mat_mul(spectrum_map(&s, pulled_back), F_hat));
    r.J_P = step07_J_P_in_range(J_P / change);
    return r;
}

/* Whether a symmetric matrix is positive definite, by its leading minors. */
FN lane_mask step07_positive(mat A)
{
    real minor = A.m[0][0] * A.m[1][1] - A.m[0][1] * A.m[0][1];
    lane_mask positive = (A.m[0][0] > R(0)) & (minor > R(0));
#if FIRN_DIM == 3
    positive = positive & (mat_det(A) > R(0));
#endif
    return positive;
}

/*
 * Whether the return map would change F_hat: not so while both C - (1 - theta_c)^2 I and
 * (1 + theta_s)^2 I - C are positive definite, C = F_hat F_hat^T, and F_hat is not turned inside out,
 * which C cannot tell. A particle within rounding of the yield surface may be told either way. Far
 * cheaper than an SVD, so that lanes of which none yields can do without; NaN yields. E = C - I.
 */
FN lane_mask step07_beyond(mat E, real det, real theta_c, real theta_s)
{
    real low = theta_c * (R(2) - theta_c), high = theta_s * (R(2) + theta_s);
    mat above = E, below = mat_scale(E, real_of(-1));
    for (int i = 0; i < FIRN_DIM; i++) {
        above.m[i][i] += low;
        below.m[i][i] += high;
    }
    return lane_not(step07_positive(above) & step07_positive(below) & (det > R(0)));
}

FN deformation step07_deform(mat grad_v, real dt, mat F_E, real J_P, real theta_c, real theta_s)
{
    return step07_return(mat_mad(F_E, dt, mat_mul(grad_v, F_E)), J_P, theta_c, theta_s);
}

#endif
