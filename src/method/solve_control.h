/*
 * When an iteration of step 6 has done enough, in double for every backend.
 *
 * Norms are of the mass inner product: |r|^2 = sum_i m_i r_i . r_i. While H is positive semi-definite,
 * A = I + beta dt^2 M^-1 H shortens no vector, so the error of the velocities is at most the residual:
 * |r| / sqrt(total mass) bounds their root mean square error, in m/s.
 */
#ifndef FIRN_METHOD_SOLVE_CONTROL_H
#define FIRN_METHOD_SOLVE_CONTROL_H

#include <math.h>

/* A velocity error that moves the snow by this part of a cell in a step is no error. */
#define SOLVE_NEGLIGIBLE 1e-4

/* The residual to reach: `tolerance` times that of the explicit step v*, but where snow flies freely that
 * is rounding error, and no residual is asked for below that of a negligible velocity. */
static inline double solve_target(double first_residual, double mass, double h, double dt,
                                  double tolerance)
{
    double negligible = SOLVE_NEGLIGIBLE * h / dt * sqrt(mass);
    return tolerance * fmax(first_residual, negligible);
}

/* Newton's line search takes half the step until energy falls by this part of what the slope promises
 * (Armijo), or gives up. */
#define SOLVE_ENOUGH_DESCENT 1e-4
enum { SOLVE_MOST_HALVINGS = 30 };

/* Early Newton directions need not be exact: this part of the residual is left to the next one. */
#define SOLVE_NEWTON_PART 0.1

#endif
