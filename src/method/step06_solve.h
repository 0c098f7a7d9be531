/*
 * Step 6, the semi-implicit solve (section 4.1):
 *
 *     (I + beta dt^2 M^-1 H) v^{n+1} = v*                                                    (9)
 *
 * With the explicit integrator there is nothing to do: v_i^{n+1} = v*_i. Otherwise H acts on du as
 *
 *     dF_p = (sum_j du_j grad w_jp^T) F_E,  (H du)_i = sum_p V0 dP(dF_p) F_E^T grad w_ip  (7, 8)
 *
 * What is here is the part of one particle; the iteration belongs to the solver.
 */
#ifndef FIRN_METHOD_STEP06_SOLVE_H
#define FIRN_METHOD_STEP06_SOLVE_H

#include "method/snow_law.h"

/* V0 dP F_E^T for grad_du = sum_j du_j grad w_jp^T, with F_E = R_E S */
FN mat step06_hessian(mat grad_du, mat F_E, mat R_E, mat S, lame l, real V0)
{
    mat dP = snow_stress_derivative(F_E, R_E, S, l, mat_mul(grad_du, F_E));
    return mat_scale(mat_mul_t(dP, F_E), V0);
}

#endif
