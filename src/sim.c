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

#include "batch.h"
#include "firn/advance.h"
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

static time_step_solver solver_of(const firn_sim *sim)
{
    switch (sim->scene->settings.integrator) {
    case FIRN_SEMI_IMPLICIT:
        return TIME_STEP_ALWAYS_SOLVES;
    case FIRN_CHEAPER:
        return sim->ops->has_solver ? TIME_STEP_SOLVES_WHEN_CHEAPER : TIME_STEP_NEVER_SOLVES;
    default:
        return TIME_STEP_NEVER_SOLVES;
    }
}

/* The longest explicit step that the snow allows. */
static double stable_step(const firn_sim *sim, const step_limits *limits)
{
    const firn_settings *s = &sim->scene->settings;
    return time_step_stable(s->cell_size, limits->max_wave_speed, limits->max_speed, sim->cfl,
                            s->travel);
}

/* Of the snow that is there and that is about to come. */
static step_limits snow_limits(const firn_sim *sim)
{
    step_limits limits;
    sim->ops->limits(sim->state, &limits);
    limits.max_speed = fmax(limits.max_speed, flow_speed(sim));
    return limits;
}

time_step_choice sim_choose(firn_sim *sim)
{
    const firn_settings *s = &sim->scene->settings;
    const step_limits limits = snow_limits(sim);
    double explicit_dt = body_limit(sim, limits.max_speed, stable_step(sim, &limits));
    double implicit_dt =
        time_step_travel(s->cell_size, limits.max_speed, time_step_pull(s->gravity), s->travel);
    if (solver_of(sim) != TIME_STEP_NEVER_SOLVES)
        implicit_dt = body_limit(sim, limits.max_speed, implicit_dt);
    return time_step_choose(explicit_dt, implicit_dt, s->time_step, solver_of(sim));
}

/* The first frame time after now. */
static int next_frame(const firn_sim *sim)
{
    int next = sim->frame + 1;
    while (next / sim->scene->settings.fps <= sim->time)
        next++;
    return next;
}

static double next_frame_time(const firn_sim *sim)
{
    return next_frame(sim) / sim->scene->settings.fps;
}

/* ---- One step -------------------------------------------------------------------------------- */

static void count_work(firn_sim *sim, const step_report *report)
{
    firn_progress *progress = &sim->progress;
    progress->solver_iterations += report->solver_iterations;
    progress->newton_iterations += report->newton_iterations;
    if (report->converged)
        progress->solver_residual = fmax(progress->solver_residual, report->solver_residual);
    for (int k = 0; k < FIRN_STAGES; k++)
        progress->stage_ms[k] += report->stage_ms[k];
    progress->bodies_ms += report->bodies_ms;
}

/* Steps that are done, the last of them at the batch's time. */
static firn_status finish_steps(firn_sim *sim, const step_batch *batch, const step_report *report)
{
    double since = sim->time;
    sim->frame = batch->time == batch->frame_time ? next_frame(sim) : sim->frame;
    sim->time = batch->time;
    sim->dt_limit = batch->dt_limit;
    sim->step += batch->steps;
    sim->active_nodes = report->active_nodes;
    firn_progress *progress = &sim->progress;
    progress->steps += batch->steps;
    progress->implicit_steps += report->converged;
    progress->dt_min = fmin(progress->dt_min, batch->dt_min);
    progress->dt_max = fmax(progress->dt_max, batch->dt_max);
    return flow_update(sim, since);
}

/* One step of at most `limit`, halved until it succeeds or would be smaller than the floor. */
static firn_status try_step(firn_sim *sim, time_step_choice choice, double limit, double floor)
{
    double frame_time = next_frame_time(sim);
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
            step_batch done = {.frame_time = frame_time,
                               .time = time_step_end(sim->time, frame_time, dt),
                               .dt_limit = time_step_recovered(choice.dt, limit),
                               .steps = 1,
                               .dt_min = dt,
                               .dt_max = dt};
            status = finish_steps(sim, &done, &report);
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
    if (sim->is_still)
        return fail(FIRN_USAGE, "this copy of a simulation stands still and cannot step");
    if (sim->blown_up)
        return fail(FIRN_BLOWUP, "the simulation blew up at step %llu and cannot go on",
                    (unsigned long long)sim->step);
    time_step_choice choice = sim_choose(sim);
    double floor = time_step_floor(choice.dt, choice.explicit_dt, sim->scene->settings.retries);
    if (!(choice.dt >= floor))
        return sim_report_tiny_step(sim, choice.dt, floor);
    double limit = time_step_held_back(choice.dt, sim->dt_limit, floor);
    return try_step(sim, choice, limit, floor);
}

/* Whether the backend may go on by itself: it knows neither the first step nor solves. */
static bool may_run_ahead(firn_sim *sim)
{
    return batch_of(sim->ops) && sim->step > 0 && !sim->blown_up && !sim->is_still &&
           flow_steps(sim) > 1 &&
           (solver_of(sim) == TIME_STEP_NEVER_SOLVES ||
            (!sim->colliders.limits_steps && !sim_choose(sim).implicit));
}

/* What is planned beyond the first step that turns out otherwise is lost: after few that came true, few. */
enum { PLANNED_STEPS = 24 };

static size_t steps_to_plan(const firn_sim *sim, uint64_t wanted)
{
    const uint64_t hoped = 2 * sim->in_a_row + 1;
    const uint64_t most = hoped < PLANNED_STEPS ? hoped : PLANNED_STEPS;
    return (size_t)(wanted < most ? wanted : most);
}

static firn_status plan_bodies(firn_sim *sim, const step_batch *batch, body_plan *plan)
{
    const step_limits limits = snow_limits(sim);
    body_plan_start start = {.settings = &sim->scene->settings,
                             .time = batch->time,
                             .frame_time = batch->frame_time,
                             .dt_limit = batch->dt_limit,
                             .stable = stable_step(sim, &limits),
                             .snow_speed = limits.max_speed};
    sim->ops->bounds(sim->state, start.low, start.high);
    firn_status status = collider_set_move(&sim->colliders, sim->time);
    const size_t most = steps_to_plan(sim, batch->wanted);
    return status == FIRN_OK ? body_plan_make(&sim->colliders, &start, most, plan) : status;
}

/* As many steps as the backend takes at a time, perhaps none. */
static firn_status run_ahead(firn_sim *sim, uint64_t most)
{
    uint64_t undisturbed = flow_steps(sim);
    step_batch batch = {.wanted = most < undisturbed ? most : undisturbed,
                        .frame_time = next_frame_time(sim),
                        .pause_time = flow_pause(sim),
                        .flow_speed = flow_speed(sim),
                        .time = sim->time,
                        .cfl = sim->cfl,
                        .dt_limit = sim->dt_limit};
    body_plan plan = {0};
    step_report report = {0};
    firn_status status = FIRN_OK;
    if (sim->colliders.limits_steps) {
        status = plan_bodies(sim, &batch, &plan);
        batch.plan = &plan;
        batch.wanted = plan.moves ? plan.steps : batch.wanted;
    }
    if (status == FIRN_OK)
        status = batch_of(sim->ops)(sim->state, &batch, &report);
    body_plan_clear(&plan);
    sim->in_a_row = batch.steps;
    count_work(sim, &report);
    return status == FIRN_OK && batch.steps > 0 ? finish_steps(sim, &batch, &report) : status;
}

firn_status firn_sim_advance(firn_sim *sim, uint64_t most)
{
    const uint64_t before = sim->step;
    firn_status status = most > 1 && may_run_ahead(sim) ? run_ahead(sim, most) : FIRN_OK;
    return status == FIRN_OK && sim->step == before && most > 0 ? firn_sim_step(sim) : status;
}

firn_status firn_sim_advance_frame(firn_sim *sim, firn_stop_fn *stop, void *user)
{
    firn_status status = FIRN_OK;
    for (int target = next_frame(sim); sim->frame < target && status == FIRN_OK;) {
        if (stop && stop(sim, user))
            return fail(FIRN_STOPPED, "stopped at step %llu", (unsigned long long)sim->step);
        status = firn_sim_advance(sim, stop ? 1 : UINT64_MAX);
    }
    return status;
}
