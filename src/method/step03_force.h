/*
 * Step 3, grid forces (section 4.1):
 *
 *     f_i = - sum_p V0 P(F_E) F_E^T grad w_ip                                                (6)
 *
 * with the stress of eq 2 hardened by J_P.
 */
#ifndef FIRN_METHOD_STEP03_FORCE_H
#define FIRN_METHOD_STEP03_FORCE_H

#include "method/snow_law.h"
#include "method/svd.h"

/* V0 P F_E^T from the SVD of F_E that step 7 left */
FN mat step03_stress_of_svd(svd s, real J_P, real V0, real mu0, real lambda0, real xi)
{
    lame l = snow_harden(mu0 * V0, lambda0 * V0, xi, J_P);
    return snow_kirchhoff(s.U, s.sigma, l);
}

/* V0 P F_E^T from F_E alone */
FN mat step03_stress(mat F_E, real J_P, real V0, real mu0, real lambda0, real xi)
{
    return step03_stress_of_svd(svd_of(F_E), J_P, V0, mu0, lambda0, xi);
}

/* What one particle adds to f_i */
FN vec step03_force(mat stress, vec grad_w)
{
    return vec_scale(mat_vec(stress, grad_w), real_of(-1));
}

#endif
