/*
 * A simulation: time, frames, ids and the choice of time step around a backend that does the steps.
 *
 * Invariants:
 * 1. Everything that decides the next step (time, frame, particles) is in a checkpoint and nothing
 *    else is, so a resumed run takes the same steps as an uninterrupted one.
 * 2. time == frame / fps exactly when a frame has just been reached.
 * 3. Rows are in id order; ids and objects are kept here, the state in the backend.
 */
#include <math.h>

#include "method/time_step.h"
#include "sim.h"
#include "status.h"

double sim_stable_dt(firn_sim *sim)
{
    const firn_settings *s = &sim->scene->settings;
    step_limits limits;
    sim->ops->limits(sim->state, &limits);
    double dt =
        time_step_stable(s->cell_size, limits.max_wave_speed, limits.max_speed, s->cfl, s->travel);
    if (!sim->colliders.limits_steps)
        return dt;
    double low[3], high[3];
    sim->ops->bounds(sim->state, low, high);
    return collider_set_step(&sim->colliders, sim->time, low, high, limits.max_speed, s->travel,
                             fmin(dt, 1 / s->fps));
}

/* The first frame time after now. */
static int next_frame(const firn_sim *sim)
{
    int next = sim->frame + 1;
    while (next / sim->scene->settings.fps <= sim->time)
        next++;
    return next;
}

static firn_status report_blowup(firn_sim *sim, const step_report *report, double dt)
{
    sim->blown_up = true;
    const double *x = report->bad_position;
    bool automatic = sim->scene->settings.time_step == 0;
    return fail(
        FIRN_BLOWUP, "step %llu (time %g s, dt %g s): particle %llu at (%g, %g, %g): %s %g; %s",
        (unsigned long long)sim->step, sim->time, dt, (unsigned long long)sim->ids[report->bad_row],
        x[0], x[1], x[2], report->bad_what, report->bad_value,
        automatic ? "lower simulation.cfl and simulation.travel"
                  : "lower simulation.time_step, or set it to auto");
}

firn_status firn_sim_step(firn_sim *sim)
{
    const firn_settings *settings = &sim->scene->settings;
    if (sim->blown_up)
        return fail(FIRN_BLOWUP, "the simulation blew up at step %llu and cannot go on",
                    (unsigned long long)sim->step);
    int next = next_frame(sim);
    double frame_time = next / settings->fps;
    double step = settings->time_step == 0 ? sim_stable_dt(sim) : settings->time_step;
    double dt = time_step_to_land(sim->time, frame_time, step);

    firn_status status = collider_set_move(&sim->colliders, sim->time);
    if (status != FIRN_OK)
        return status;
    step_report report;
    status = sim->ops->step(sim->state, dt, sim->step == 0, &report);
    if (status == FIRN_BLOWUP)
        return report_blowup(sim, &report, dt);
    if (status != FIRN_OK)
        return status;

    sim->time = time_step_end(sim->time, frame_time, dt);
    sim->frame = sim->time == frame_time ? next : sim->frame;
    sim->step++;
    sim->active_nodes = report.active_nodes;
    firn_progress *progress = &sim->progress;
    progress->steps++;
    progress->dt_min = fmin(progress->dt_min, dt);
    progress->dt_max = fmax(progress->dt_max, dt);
    progress->solver_iterations += report.solver_iterations;
    for (int k = 0; k < FIRN_STAGES; k++)
        progress->stage_ms[k] += report.stage_ms[k];
    return FIRN_OK;
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
