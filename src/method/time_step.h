/*
 * How long a step may be (METHOD section 7), in double for every backend: one number type, so that
 * all take the same steps from the same limits. A GPU that takes many steps at once chooses each by these
 * functions too, with the same bits: whoever includes this is built without fused multiply-adds.
 *
 * Does NOT do: bodies, which may ask for shorter steps (collider/collider.h).
 */
#ifndef FIRN_METHOD_TIME_STEP_H
#define FIRN_METHOD_TIME_STEP_H

#include <math.h>
#include <stdbool.h>

#include "everywhere.h"
#include "transfer.h"

/*
 * dt, or less by up to a 32nd: one of 32 lengths between two powers of two. So steps stay the same while the snow hardly
 * changes, and a GPU that plans ahead is mostly right.
 */
EVERYWHERE double time_step_rounded(double dt)
{
    int exponent;
    double part = frexp(dt, &exponent);
    return isfinite(dt) ? ldexp(floor(64 * part) / 64, exponent) : dt;
}

/*
 * The largest step in which an elastic wave crosses at most `cfl` and a particle at most `travel`
 * of a cell of size h. Infinite when nothing moves and nothing is elastic; 0 or NaN, and so for the
 * caller to refuse, when a speed is infinite or NaN.
 */
EVERYWHERE double time_step_stable(double h, double max_wave_speed, double max_speed, double cfl,
                                   double travel)
{
    double wave = cfl * h / max_wave_speed, particle = travel * h / max_speed;
    return time_step_rounded(wave < particle || isnan(wave) ? wave : particle);
}

/*
 * The largest cfl at which no strain feeds on itself (docs/method.md, "Time step"). The stiffest element
 * there can be is a particle alone on its nodes that dilates evenly, with `modes` times the modulus of
 * pressure waves. Forces change the gradient of velocity that deforms it by k = sum_i |dN_i|^2 / N_i, at
 * most `felt`, and the one that APIC carries to the next step by `kept`, the inverse of D; FLIP carries
 * none, and to MLS the two are one.
 */
EVERYWHERE double time_step_cfl_limit(int dimensions, int cubic, firn_transfer transfer,
                                      double poisson_ratio)
{
    double modes = (dimensions == 3 ? 1 + poisson_ratio : 1) / (1 - poisson_ratio);
    double kept = cubic ? 3 : 4, felt = transfer == FIRN_MLS ? kept : cubic ? 3.13 : 6;
    double most = transfer_is_affine(transfer) ? 4 / (2 * felt - kept) : 2 / felt;
    return sqrt(most / modes);
}

/*
 * The cfl to take where none is asked for: below the limit by what hardening within a step may need, and
 * where such a strain swings instead of fading, by what keeps its swing near its start. With APIC it does
 * so at few places between nodes, with MLS everywhere: its energy comes to 1 / (1 - part^2) of the start.
 */
EVERYWHERE double time_step_cfl(int dimensions, int cubic, firn_transfer transfer,
                                double poisson_ratio)
{
    double part = transfer == FIRN_MLS ? 0.62 : transfer == FIRN_APIC ? 0.75 : 0.9;
    return part * time_step_cfl_limit(dimensions, cubic, transfer, poisson_ratio);
}

/* Of `travel` an implicit step takes this part. In one step snow is strained by about the part of a cell
 * that it crosses, and only then may it yield: icy snow that crosses 0.4 of a cell shatters where it
 * should dent (docs/method.md). */
#define TIME_STEP_IMPLICIT_PART 0.125

/*
 * The largest implicit step: a particle that starts at `max_speed` and is accelerated crosses at most that
 * part of `travel`, in cells: v dt + a dt^2 = travel h / 8. Stiffness does not bound it.
 */
EVERYWHERE double time_step_travel(double h, double max_speed, double acceleration, double travel)
{
    double way = TIME_STEP_IMPLICIT_PART * travel * h;
    return 2 * way / (max_speed + sqrt(max_speed * max_speed + 4 * acceleration * way));
}

/* The size of an acceleration. */
EVERYWHERE double time_step_pull(const double g[3])
{
    return sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
}

/*
 * What one implicit step costs, in explicit ones. Conjugate residuals need iterations in proportion to
 * the number of cells that waves cross in a step, and so to the number of explicit steps in an implicit
 * one (docs/method.md has what was measured); an iteration costs a part of an explicit step, the
 * preparation of a solve a little more than one.
 */
EVERYWHERE double time_step_implicit_cost(double explicit_dt, double implicit_dt)
{
    const double fixed = 2.5, iteration = 0.65, iterations_per_step = 1;
    return fixed + iteration * iterations_per_step * implicit_dt / explicit_dt;
}

/* Whether one implicit step costs less than the explicit ones in its place. */
EVERYWHERE int time_step_implicit_pays(double explicit_dt, double implicit_dt)
{
    return time_step_implicit_cost(explicit_dt, implicit_dt) < implicit_dt / explicit_dt;
}

/* When steps solve equation (9). */
typedef enum time_step_solver {
    TIME_STEP_NEVER_SOLVES,
    TIME_STEP_ALWAYS_SOLVES,
    TIME_STEP_SOLVES_WHEN_CHEAPER
} time_step_solver;

/* The step to take, before any failure, and by which integrator. */
typedef struct time_step_choice {
    double dt;
    double automatic_dt; /* the same if the scene did not fix it */
    double explicit_dt;  /* the largest that is stable without a solve */
    bool implicit;
} time_step_choice;

/* From what is allowed of either kind; `fixed` above 0 is what the scene asks for instead. */
EVERYWHERE time_step_choice time_step_choose(double explicit_dt, double implicit_dt, double fixed,
                                             time_step_solver solver)
{
    double long_dt = fixed > 0 ? fixed : implicit_dt;
    time_step_choice c;
    c.explicit_dt = explicit_dt;
    c.implicit =
        solver == TIME_STEP_ALWAYS_SOLVES ||
        (solver == TIME_STEP_SOLVES_WHEN_CHEAPER && time_step_implicit_pays(explicit_dt, long_dt));
    c.automatic_dt = c.implicit ? implicit_dt : explicit_dt;
    c.dt = fixed > 0 ? fixed : c.automatic_dt;
    return c;
}

/* No run can be meant to take shorter steps, s. */
#define TIME_STEP_LEAST 1e-12

/* The shortest step to try when steps of `dt` fail: halved so many times. */
EVERYWHERE double time_step_floor(double dt, double explicit_dt, int halvings)
{
    return fmax(ldexp(fmin(dt, explicit_dt), -halvings), TIME_STEP_LEAST);
}

/* `dt` bounded by what the last failure has left; 0: nothing. */
EVERYWHERE double time_step_held_back(double dt, double limit, double floor)
{
    return limit > 0 ? fmin(dt, fmax(limit, floor)) : dt;
}

/*
 * The limit after a step that was allowed `limit` of `dt` and succeeded. A step that failed once is likely
 * to fail again at that size: the limit grows by an eighth, so that it takes six good steps to come back to
 * the size that failed.
 */
EVERYWHERE double time_step_recovered(double dt, double limit)
{
    const double growth = 1.125;
    return growth * limit < dt ? growth * limit : 0;
}

/*
 * The step to take from `time` so that equal steps of at most `stable` land on `frame_time`: what
 * remains, divided by the number of steps that it needs. Rounding may leave a hair more than a
 * whole number of steps; a hair is given to the steps instead of becoming one of its own.
 */
EVERYWHERE double time_step_to_land(double time, double frame_time, double stable)
{
    const double hair = 1e-6;
    double remaining = frame_time - time, steps = ceil(remaining / stable - hair);
    return remaining / (steps < 1 ? 1 : steps);
}

/* The time after a step of dt: exactly `frame_time` when that step was the last to it. */
EVERYWHERE double time_step_end(double time, double frame_time, double dt)
{
    return dt >= frame_time - time ? frame_time : time + dt;
}

#endif
