#include "body_plan.h"

#include <stdlib.h>

#include "calm.h"
#include "method/time_step.h"
#include "status.h"

static void leave(const collider *items, collider_pose *poses, size_t count)
{
    for (size_t n = 0; n < count; n++)
        collider_leave(&items[n], &poses[n]);
}

/* Hold the poses of one more step. */
static firn_status stand(body_plan *plan, double time)
{
    collider_pose *poses = plan->poses + plan->steps * plan->bodies;
    firn_status status = FIRN_OK;
    for (size_t n = 0; n < plan->bodies && status == FIRN_OK; n++) {
        status = collider_stand(&plan->items[n], time, &poses[n]);
        if (status != FIRN_OK)
            leave(plan->items, poses, n);
    }
    return status;
}

/* Whether every body is between the same keys as at the first step. */
static bool has_same_keys(const body_plan *plan)
{
    const collider_pose *poses = plan->poses + plan->steps * plan->bodies;
    for (size_t n = 0; n < plan->bodies; n++)
        if (poses[n].deform.from != plan->poses[n].deform.from ||
            poses[n].deform.to != plan->poses[n].deform.to)
            return false;
    return true;
}

/* The step that begins at a time, with the bodies where the last poses say. */
static body_step plan_step(const collider_set *set, const body_plan_start *start, double time,
                           const collider_pose *poses, collider_wall *walls)
{
    const firn_settings *s = start->settings;
    body_step step = {.time = time, .stable = start->stable};
    step.allowed = collider_set_step_but_walls(set, time, start->low, start->high, s->travel,
                                               fmin(start->stable, 1 / s->fps), walls, &step.walls);
    for (size_t n = 0; n < set->count; n++)
        step.speed = fmax(step.speed, collider_speed(&poses[n], start->low, start->high));
    return step;
}

/* From one step to the next, as sim.c goes: whether there is one. */
static bool pass(const body_plan_start *start, const body_step *step, const collider_wall *walls,
                 double *time, double *dt_limit)
{
    const firn_settings *s = start->settings;
    const double allowed =
        collider_walls_step(walls, step->walls, start->snow_speed, step->allowed);
    time_step_choice choice =
        time_step_choose(allowed, allowed, s->time_step, TIME_STEP_NEVER_SOLVES);
    double floor = time_step_floor(choice.dt, choice.explicit_dt, s->retries);
    double limit = time_step_held_back(choice.dt, *dt_limit, floor);
    double dt = time_step_to_land(*time, start->frame_time, limit);
    *time = time_step_end(*time, start->frame_time, dt);
    *dt_limit = time_step_recovered(choice.dt, limit);
    return choice.dt >= floor && *time < start->frame_time;
}

firn_status body_plan_make(const collider_set *set, const body_plan_start *start, size_t most,
                           body_plan *out)
{
    *out = (body_plan){.bodies = set->count, .items = set->items, .moves = set->moves};
    out->step = malloc(most * sizeof *out->step);
    out->poses = calloc(most * set->count, sizeof *out->poses);
    out->walls = calloc(most * set->count, sizeof *out->walls);
    firn_status status = out->step && out->poses && out->walls
                             ? FIRN_OK
                             : fail(FIRN_NO_MEMORY, "out of memory for steps among bodies");
    double time = start->time, dt_limit = start->dt_limit;
    for (bool more = true; more && status == FIRN_OK && out->steps < most;) {
        collider_pose *poses = out->poses + out->steps * out->bodies;
        status = stand(out, time);
        if (status != FIRN_OK)
            break;
        if (!has_same_keys(out)) {
            leave(out->items, poses, out->bodies);
            break;
        }
        collider_wall *walls = out->walls + out->steps * out->bodies;
        out->step[out->steps] = plan_step(set, start, time, poses, walls);
        more = pass(start, &out->step[out->steps++], walls, &time, &dt_limit) && out->moves;
    }
    if (status != FIRN_OK)
        body_plan_clear(out);
    return status;
}

void body_plan_clear(body_plan *plan)
{
    for (size_t k = 0; k < plan->steps; k++)
        leave(plan->items, plan->poses + k * plan->bodies, plan->bodies);
    free(plan->step);
    free(plan->poses);
    free(plan->walls);
    *plan = (body_plan){0};
}
