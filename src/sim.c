/*
 * A simulation: time, frames, ids and the choice of time step around a backend that does the steps.
 *
 * Invariants:
 * 1. Everything that decides the next step (time, frame, particles, dt_limit) is in a checkpoint and
 *    nothing else is, so a resumed run takes the same steps as an uninterrupted one.
 * 2. time == frame / fps exactly when a frame has just been reached.
 * 3. Rows are in id order; ids and objects are kept here, the state in the backend.
 * 4. A step that fails leaves no trace but its cost: the particles are those of the last good step.
 */
#include <math.h>

#include "method/time_step.h"
#include "sim.h"
#include "status.h"

/* Of `dt` as much as the bodies allow near the snow. */
static double body_limit(firn_sim *sim, double snow_speed, double dt)
{
    const firn_settings *s = &sim->scene->settings;
    if (!sim->colliders.limits_steps)
        return dt;
    double low[3], high[3];
    sim->ops->bounds(sim->state, low, high);
    return collider_set_step(&sim->colliders, sim->time, low, high, snow_speed, s->travel,
                             fmin(dt, 1 / s->fps));
}

sim_choice sim_choose(firn_sim *sim)
{
    const firn_settings *s = &sim->scene->settings;
    const double *g = s->gravity;
    step_limits limits;
    sim->ops->limits(sim->state, &limits);
    limits.max_speed = fmax(limits.max_speed, flow_speed(sim));
    double acceleration = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    double implicit_dt =
        body_limit(sim, limits.max_speed,
                   time_step_travel(s->cell_size, limits.max_speed, acceleration, s->travel));
    sim_choice c = {.explicit_dt =
                        body_limit(sim, limits.max_speed,
                                   time_step_stable(s->cell_size, limits.max_wave_speed,
                                                    limits.max_speed, sim->cfl, s->travel))};
    double long_dt = s->time_step > 0 ? s->time_step : implicit_dt;
    c.implicit = s->integrator == FIRN_SEMI_IMPLICIT ||
                 (s->integrator == FIRN_CHEAPER && sim->ops->has_solver &&
                  time_step_implicit_pays(c.explicit_dt, long_dt));
    c.automatic_dt = c.implicit ? implicit_dt : c.explicit_dt;
    c.dt = s->time_step > 0 ? s->time_step : c.automatic_dt;
    return c;
}

/* The first frame time after now. */
static int next_frame(const firn_sim *sim)
{
    int next = sim->frame + 1;
    while (next / sim->scene->settings.fps <= sim->time)
        next++;
    return next;
}

/* ---- One step -------------------------------------------------------------------------------- */

/* A step that failed once is likely to fail again at that size: after a success the limit grows by an
 * eighth, so that it takes six good steps to come back to the size that failed. */
static const double RECOVERY = 1.125;

/* No run can be meant to take such steps, s. */
static const double LEAST_STEP = 1e-12;

static void count_work(firn_sim *sim, const step_report *report)
{
    firn_progress *progress = &sim->progress;
    progress->solver_iterations += report->solver_iterations;
    progress->newton_iterations += report->newton_iterations;
    if (report->converged)
        progress->solver_residual = fmax(progress->solver_residual, report->solver_residual);
    for (int k = 0; k < FIRN_STAGES; k++)
        progress->stage_ms[k] += report->stage_ms[k];
}

static void finish_step(firn_sim *sim, const step_report *report, int next, double dt)
{
    double frame_time = next / sim->scene->settings.fps;
    sim->time = time_step_end(sim->time, frame_time, dt);
    sim->frame = sim->time == frame_time ? next : sim->frame;
    sim->step++;
    sim->active_nodes = report->active_nodes;
    firn_progress *progress = &sim->progress;
    progress->steps++;
    progress->implicit_steps += report->converged;
    progress->dt_min = fmin(progress->dt_min, dt);
    progress->dt_max = fmax(progress->dt_max, dt);
}

/* One step of at most `limit`, halved until it succeeds or would be smaller than the floor. */
static firn_status try_step(firn_sim *sim, sim_choice choice, double limit, double floor)
{
    int next = next_frame(sim);
    double frame_time = next / sim->scene->settings.fps;
    firn_status status = collider_set_move(&sim->colliders, sim->time);
    if (status != FIRN_OK)
        return status;
    for (int halvings = 0;; halvings++) {
        double dt = time_step_to_land(sim->time, frame_time, limit);
        step_plan plan = {.dt = dt, .first = sim->step == 0, .implicit = choice.implicit};
        step_report report;
        status = sim->ops->step(sim->state, &plan, &report);
        count_work(sim, &report);
        if (status == FIRN_OK) {
            double since = sim->time;
            finish_step(sim, &report, next, dt);
            sim->dt_limit = RECOVERY * limit < choice.dt ? RECOVERY * limit : 0;
            status = flow_update(sim, since);
        }
        if (status != FIRN_BLOWUP)
            return status;
        limit = 0.5 * dt;
        if (!(limit >= floor) || sim->scene->settings.retries == 0)
            return sim_report_failure(sim, &report, dt, halvings);
        sim->progress.retries++;
        log_message(FIRN_LOG_DEBUG, "step %llu: %s; trying dt %g s", (unsigned long long)sim->step,
                    firn_last_error(), limit);
    }
}

firn_status firn_sim_step(firn_sim *sim)
{
    if (sim->blown_up)
        return fail(FIRN_BLOWUP, "the simulation blew up at step %llu and cannot go on",
                    (unsigned long long)sim->step);
    sim_choice choice = sim_choose(sim);
    double smallest = ldexp(fmin(choice.dt, choice.explicit_dt), -sim->scene->settings.retries);
    double floor = fmax(smallest, LEAST_STEP);
    if (!(choice.dt >= floor))
        return sim_report_tiny_step(sim, choice.dt, floor);
    double limit = choice.dt;
    if (sim->dt_limit > 0)
        limit = fmin(limit, fmax(sim->dt_limit, floor));
    return try_step(sim, choice, limit, floor);
}

firn_status firn_sim_advance_frame(firn_sim *sim, firn_stop_fn *stop, void *user)
{
    firn_status status = FIRN_OK;
    for (int target = next_frame(sim); sim->frame < target && status == FIRN_OK;) {
        if (stop && stop(sim, user))
            return fail(FIRN_STOPPED, "stopped at step %llu", (unsigned long long)sim->step);
        status = firn_sim_step(sim);
    }
    return status;
}
