/*
 * Step 6, the semi-implicit solve (section 4.1):
 *
 *     (I + beta dt^2 M^-1 H) v^{n+1} = v*                                                    (9)
 *
 * With the explicit integrator there is nothing to do: v_i^{n+1} = v*_i. Otherwise H acts on du as
 *
 *     dF_p = (sum_j du_j grad w_jp^T) F_E,  (H du)_i = sum_p V0 dP(dF_p) F_E^T grad w_ip  (7, 8)
 *
 * where dP is taken at F_E itself in (9), and at F(v) = (I + dt grad v) F_E by Newton's method, which
 * goes on from (9) to a minimum of the incremental potential
 *
 *     E(v) = sum_i m_i |v_i - u_i|^2 / 2 + beta sum_p V0 Psi(F(v)),
 *     u = v^n + dt g + (1 - beta) dt M^-1 f(v^n).
 *
 * Where its gradient is 0, v = u + beta dt M^-1 f(F(v)): backward Euler for beta = 1, without the
 * linearization of (9).
 *
 * What is here is the part of one particle, prepared once a step (or Newton iteration) and applied
 * once an iteration, and that of one node; the iteration belongs to the backends, and
 * docs/method.md has it.
 */
#ifndef FIRN_METHOD_STEP06_SOLVE_H
#define FIRN_METHOD_STEP06_SOLVE_H

#include "method/snow_curvature.h"

/* V0 d2Psi of one particle, and how grad du becomes dF^ = U^T grad_du B, B = F_E V. */
typedef struct step06_particle {
    mat U, B;
    snow_curvature c;
} step06_particle;

/* For the derivative at F = U diag(sigma) V^T (s); V0_hard are its Lame values times V0. `positive` is
 * a choice for the whole run: clamp to positive semi-definite. */
FN step06_particle step06_prepare(svd s, mat F_E, lame V0_hard, int positive)
{
    step06_particle p;
    p.U = s.U;
    p.B = mat_mul(F_E, s.V);
    p.c = snow_curvature_of(s.sigma, V0_hard);
    if (positive)
        p.c = snow_curvature_positive(p.c);
    return p;
}

/* V0 dP F_E^T for grad_du = sum_j du_j grad w_jp^T: a node gets this times grad w_ip. */
FN mat step06_apply(const step06_particle *p, mat grad_du)
{
    mat dP = snow_curvature_apply(&p->c, mat_mul(mat_t_mul(p->U, grad_du), p->B));
    return mat_mul_t(mat_mul(p->U, dP), p->B);
}

/* What this particle adds to the block H_ii, for preconditioners. */
FN mat step06_block(const step06_particle *p, vec grad_w)
{
    mat N = snow_curvature_block(&p->c, mat_t_vec(p->B, grad_w));
    return mat_mul_t(mat_mul(p->U, N), p->U);
}

/* du + beta dt^2 H du / m, the row of (9) of a node; scale = beta dt^2 */
FN vec step06_row(vec du, vec H_du, real m, real scale)
{
    return vec_mad(du, scale / m, H_du);
}

/* The part of r that the solve may change: all of it (keep = 1, n = 0), what lies across n where the node
 * slides on a body (keep = 1, n a unit vector), or nothing where a body holds it (keep = 0). */
FN vec step06_free_part(vec r, vec n, real keep)
{
    return vec_scale(vec_mad(r, -vec_dot(r, n), n), keep);
}

#endif
