/* Step 6 of the reference: equation (9) by conjugate residuals, and Newton's method beyond it. */
#ifndef FIRN_REF_SOLVE_H
#define FIRN_REF_SOLVE_H

#include "ref/state.h"

#define ref_solve REF_NAME(FIRN_DIM, solve)
#define ref_solver_free REF_NAME(FIRN_DIM, solver_free)

/* From v* in v_new to v^{n+1}; bodies have bound the nodes. FIRN_BLOWUP when it does not converge. */
firn_status ref_solve(backend *s, double dt, step_report *report);

void ref_solver_free(solver **s);

#endif
