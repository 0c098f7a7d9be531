/* The order of kernels: one step as the host chooses it, and many as the GPU does (pace.cuh). */
#include "cuda/pace.cuh"

extern "C" {
#include "calm.h"
}

/* Steps between two sorts, at most. It changes speed, never results. */
enum { SORT_EVERY = 48 };

/* ---- Limits ----------------------------------------------------------------------------------- */

static double float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void reset_outcome(backend *s)
{
    cudaMemsetAsync(s->out, 0, sizeof *s->out, s->stream);
}

static firn_status see_outcome(backend *s)
{
    cudaMemcpyAsync(s->seen, s->out, sizeof *s->out, cudaMemcpyDeviceToHost, s->stream);
    return cuda_check(cudaStreamSynchronize(s->stream), "taking a step");
}

/* What the next pass goes by. */
static void show_now(backend *s, const step_now *now)
{
    s->shown->now = *now;
    cudaMemcpyAsync(&s->pace->now, &s->shown->now, sizeof *now, cudaMemcpyHostToDevice, s->stream);
}

static pace_rules rules_of(const backend *s)
{
    pace_rules rules = {};
    rules.settings = *s->settings;
    rules.largest_mass = s->largest_mass;
    rules.least_mass = s->least_mass;
    rules.densest = s->densest;
    return rules;
}

static pass_view pass_of(backend *s)
{
    pass_view pass = {};
    pass.now = &s->pace->now;
    pass.p = s->p;
    pass.grid = s->grid;
    pass.bodies = s->bodies.set;
    pass.only_planes = s->bodies.only_planes;
    pass.out = s->out;
    pass.home = s->home;
    pass.touching = s->key;
    pass.inv_h = 1 / (float)s->settings->cell_size;
    pass.blend = s->affine ? 0 : (float)s->settings->blend;
    pass.cell_size = s->settings->cell_size;
    pass.origin = place_origin(s->settings);
    for (int a = 0; a < 3; a++)
        pass.gravity[a] = (float)s->settings->gravity[a];
    pass.series = stress_series_plan_for(s->largest_strain);
    pass.reach = s->settings->kernel == FIRN_CUBIC ? 2.0f : 1.5f;
    pass.planar = s->settings->dimensions == 2;
    pass.fits = s->settings->transfer == FIRN_MLS;
    pass.overlaps = s->overlaps;
    pass.processors = s->processors;
    return pass;
}

static void find_limits(backend *s)
{
    reset_outcome(s);
    waves_launch(&s->p, s->count, s->stream);
    pass_view pass = pass_of(s);
    float inv_D = s->settings->kernel == FIRN_CUBIC ? 3 : 4;
    limits_launch(&pass, s->count, s->affine ? inv_D * pass.reach : 0, s->stream);
    if (see_outcome(s) != FIRN_OK)
        return;
    s->most = most_of(s->seen);
    s->limits_known = true;
    s->largest_mass = float_of(s->seen->max_mass);
    s->least_mass = 1 / fmax(float_of(s->seen->max_lightness), FLT_MIN);
    s->largest_strain = float_of(s->seen->max_strain);
}

/* Nothing is spoiled by it: calm nodes or a trial have shown so before G2P went on. */
firn_status settle(backend *s)
{
    if (!(s->owed > 0))
        return FIRN_OK;
    pass_view pass = pass_of(s);
    pass.settles = true;
    const step_now now = {.owed = s->owed};
    show_now(s, &now);
    reset_outcome(s);
    s->run.p2g(&pass, s->stream);
    const firn_status status = see_outcome(s);
    if (status != FIRN_OK)
        return status;
    const particle_most told = most_of(s->seen);
    pace_settle(&told, &s->most, &s->trend);
    s->owed = 0;
    return FIRN_OK;
}

void cuda_limits(backend *s, step_limits *limits)
{
    if (!s->limits_known)
        find_limits(s);
    else
        settle(s);
    pace_limits found = pace_limits_of(&s->most);
    *limits = (step_limits){found.max_speed, found.max_wave_speed};
}

/* ---- One step --------------------------------------------------------------------------------- */

/* Bring particles together when it is time, and find the bodies near them when either has moved. */
static firn_status prepare(backend *s, bool moves)
{
    firn_status status = FIRN_OK;
    if (!s->limits_known)
        find_limits(s);
    cudaEventRecord(s->mark[MARK_BEGIN], s->stream);
    if (!s->sorted || s->drifted || s->steps_since_sort >= SORT_EVERY)
        status = sort_particles(s);
    if (status == FIRN_OK && moves)
        status = bodies_move(s->colliders, &s->bodies, s->stream);
    if (status == FIRN_OK && s->count > 0 && s->bodies.set && (moves || s->steps_since_sort == 0)) {
        pass_view pass = pass_of(s);
        s->run.bodies(&pass, s->stream);
    }
    cudaEventRecord(s->mark[MARK_SORTED], s->stream);
    return status;
}

/* A step as the host has chosen it, with sums of these ranges. */
typedef struct chosen_step {
    const step_plan *plan;
    pace_rules rules;
    pace_limits limits;
    sum_ranges ranges;
    float calm;
    pass_view pass;
} chosen_step;

/* Whether the sums of a pass held; if not, ranges in which they will. */
static bool widen(const outcome *seen, sum_ranges *r)
{
    double momentum = float_of(seen->momentum_needed), force = float_of(seen->force_needed);
    if (momentum > 0)
        r->momentum = fmax(1.01 * momentum, 2 * r->momentum);
    if (force > 0)
        r->force = fmax(1.01 * force, 2 * r->force);
    if (seen->sums_overflow && !(momentum > 0) && !(force > 0))
        r->shift += 3;
    return momentum > 0 || force > 0 || seen->sums_overflow;
}

/* Steps 1 and 3. */
static void rasterize(backend *s, const pass_view *pass)
{
    cudaMemsetAsync(s->grid.nodes, 0, (size_t)s->grid.block_count * BLOCK_CELLS * s->node_bytes,
                    s->stream);
    s->run.p2g(pass, s->stream);
}

static void begin_pass(backend *s, const chosen_step *step)
{
    step_now now = pace_now(&step->rules, &step->limits, &step->ranges, step->plan->dt, step->calm);
    show_now(s, &now);
    reset_outcome(s);
    rasterize(s, &step->pass);
}

/* Step 2, with ranges that hold. */
static firn_status find_volumes(backend *s, chosen_step *step)
{
    do {
        begin_pass(s, step);
        s->run.grid(&step->pass, s->stream);
        firn_status status = see_outcome(s);
        if (status != FIRN_OK)
            return status;
    } while (widen(s->seen, &step->ranges));
    rasterize(s, &step->pass);
    s->run.volumes(&step->pass, s->stream);
    waves_launch(&s->p, s->count, s->stream);
    return FIRN_OK;
}

/* Step 6, unless the sums do not hold. */
static firn_status solve(backend *s, const step_plan *plan, step_report *report)
{
    firn_status status = see_outcome(s);
    sum_ranges same = {};
    return status == FIRN_OK && !widen(s->seen, &same) ? cuda_solve(s, plan, report) : status;
}

/* Steps 7 to 10. Where nodes are wild they wait until a trial has shown that nothing goes wrong. */
static void move_particles(backend *s, const pass_view *pass)
{
    if (pass->tries)
        s->run.try_g2p(pass, s->stream);
    s->run.g2p(pass, s->stream);
}

/* Steps 1 to 10, whose sums may turn out not to hold: then nothing has changed. */
static firn_status try_pass(backend *s, const chosen_step *step, step_report *report)
{
    firn_status status = FIRN_OK;
    begin_pass(s, step);
    cudaEventRecord(s->mark[MARK_P2G], s->stream);
    if (step->plan->implicit)
        status = solver_note(s, &step->pass);
    s->run.grid(&step->pass, s->stream);
    cudaEventRecord(s->mark[MARK_GRID], s->stream);
    if (step->plan->implicit && status == FIRN_OK)
        status = solve(s, step->plan, report);
    if (status != FIRN_OK)
        return status;
    cudaEventRecord(s->mark[MARK_SOLVED], s->stream);
    move_particles(s, &step->pass);
    cudaEventRecord(s->mark[MARK_END], s->stream);
    status = cuda_check(cudaGetLastError(), "taking a step");
    return status == FIRN_OK ? see_outcome(s) : status;
}

/* Of the marks of one step, `scale` times. */
static void charge_stages(backend *s, int from, double scale, step_report *report)
{
    const firn_stage stage[STEP_MARKS] = {FIRN_STAGE_SORT, FIRN_STAGE_SORT,  FIRN_STAGE_P2G,
                                          FIRN_STAGE_GRID, FIRN_STAGE_SOLVE, FIRN_STAGE_G2P};
    for (int k = from; k < STEP_MARKS; k++) {
        float ms = 0;
        if (cudaEventElapsedTime(&ms, s->mark[k - 1], s->mark[k]) == cudaSuccess)
            report->stage_ms[stage[k]] += scale * ms;
    }
}

/* Names the first particle that went wrong, and what did. */
static firn_status report_bad(backend *s, const pass_view *pass, step_report *report)
{
    s->run.try_g2p(pass, s->stream); /* once more: now that the row is known, it tells the rest */
    firn_status status = see_outcome(s);
    if (status != FIRN_OK)
        return status;
    const outcome *o = s->seen;
    report->bad_row = ~o->bad_row_mark;
    report_spoiled(report, o->bad_speed, o->bad_stretch, o->bad_J_P);
    status = cuda_get(s, FIRN_POSITION, report->bad_row, 1, report->bad_position);
    return status != FIRN_OK ? status
                             : fail(FIRN_BLOWUP, "particle row %zu: %s %g", report->bad_row,
                                    report->bad_what, report->bad_value);
}

/* The first step meets values from outside: there nothing is calm. */
static float calm_of(backend *s, double max_speed, double dt)
{
    if (s->steps == 0)
        return -1;
    double low[3], high[3], bodies = 0;
    if (s->colliders->moves) {
        cuda_bounds(s, low, high);
        bodies = calm_body_speed(s->colliders, low, high);
    }
    return calm_speed(s->settings, dt, max_speed, bodies);
}

firn_status cuda_step(backend *s, const step_plan *plan, step_report *report)
{
    *report = (step_report){};
    firn_status status = settle(s);
    if (status == FIRN_OK)
        status = prepare(s, s->colliders->moves);
    if (status != FIRN_OK || s->count == 0)
        return status;
    chosen_step step = {.plan = plan, .rules = rules_of(s), .limits = pace_limits_of(&s->most)};
    step.ranges = pace_ranges(&step.rules, &step.limits, plan->dt);
    step.calm = calm_of(s, step.limits.max_speed, plan->dt);
    step.pass = pass_of(s);
    step.pass.tries = true;
    if (plan->first && s->settings->rest_volume == FIRN_VOLUME_GRID)
        status = find_volumes(s, &step);
    do {
        if (status == FIRN_OK)
            status = try_pass(s, &step, report);
    } while (status == FIRN_OK && widen(s->seen, &step.ranges));
    if (status != FIRN_OK)
        return status;
    charge_stages(s, 1, 1, report);
    report->active_nodes = s->seen->active_nodes;
    if (s->seen->bad_row_mark)
        return report_bad(s, &step.pass, report);
    s->most = most_of(s->seen);
    s->owed = s->settings->transfer == FIRN_MLS ? (float)plan->dt : 0;
    s->drifted = s->seen->drifted != 0;
    s->steps_since_sort++;
    s->steps++;
    return FIRN_OK;
}

/* ---- Many steps ------------------------------------------------------------------------------- */

/* Where nodes have been wild they soon are again: for so many rows of steps G2P is tried. Elsewhere a row ends when
 * it meets some, for the host to take that step, and the others are spared a kernel that finds nothing to do. */
enum { TRIED_ROWS = 8 };

/* How many steps to launch at once. What is launched beyond a halt does nothing but take a little time, so
 * not many more than can be taken before the next sort: no particle leaves its margin until the fastest has
 * crossed a cell; after that, the last sort is the best guess, and one more: a step too many costs less than to
 * come back for one. */
static uint32_t steps_ahead(const backend *s, const step_batch *batch)
{
    pace_limits limits = pace_limits_of(&s->most);
    double stable = batch->cfl * s->settings->cell_size / limits.max_wave_speed;
    double dt = s->settings->time_step > 0 ? s->settings->time_step : stable;
    double sure = fmin(s->settings->cell_size / (limits.max_speed * dt), SORT_EVERY);
    uint32_t since = s->steps_since_sort;
    uint32_t expected = (uint32_t)fmax(sure, s->steps_between_sorts + 1.0);
    uint32_t ahead = expected > since ? expected - since : 1 + since / 4;
    if (ahead > SORT_EVERY - since)
        ahead = SORT_EVERY - since;
    const double before_pause = ceil(fmax(batch->pause_time - batch->time, 0) / dt) + 1;
    if (before_pause < ahead)
        ahead = (uint32_t)before_pause;
    return batch->wanted < ahead ? (uint32_t)batch->wanted : ahead;
}

/* Bodies go where they are planned to be at a step. */
static void follow_plan(backend *s, const pass_view *pass, uint32_t step)
{
    if (s->colliders->moves) {
        bodies_follow(&s->bodies, step, s->stream);
        s->run.bodies(pass, s->stream);
    }
    box_launch(s, pass);
}

/* From one step to the next and through the next; one step's stages stand for those of all. */
static void launch_steps(backend *s, const pass_view *pass, uint32_t count, bool planned)
{
    const pace_rules rules = rules_of(s);
    for (uint32_t n = 0; n < count; n++) {
        if (planned)
            follow_plan(s, pass, n);
        pace_turn_launch(pass, &rules, s->pace, s->stream);
        s->run.p2g(pass, s->stream);
        if (n == 0)
            cudaEventRecord(s->mark[MARK_P2G], s->stream);
        s->run.grid(pass, s->stream);
        if (n == 0)
            cudaEventRecord(s->mark[MARK_GRID], s->stream);
        if (n == 0)
            cudaEventRecord(s->mark[MARK_SOLVED], s->stream);
        move_particles(s, pass);
        if (n == 0)
            cudaEventRecord(s->mark[MARK_END], s->stream);
    }
    pace_end_launch(pass, s->pace, s->stream);
    cudaEventRecord(s->mark[MARK_LAST], s->stream);
}

static void charge_steps(backend *s, step_report *report)
{
    float one = 0, all = 0, sort = 0;
    cudaEventElapsedTime(&sort, s->mark[MARK_BEGIN], s->mark[MARK_SORTED]);
    cudaEventElapsedTime(&one, s->mark[MARK_SORTED], s->mark[MARK_END]);
    cudaEventElapsedTime(&all, s->mark[MARK_SORTED], s->mark[MARK_LAST]);
    report->stage_ms[FIRN_STAGE_SORT] += sort;
    charge_stages(s, MARK_P2G, one > 0 ? all / one : 0, report);
}

static firn_status see_pace(backend *s)
{
    cudaMemcpyAsync(s->shown, s->pace, sizeof *s->pace, cudaMemcpyDeviceToHost, s->stream);
    return cuda_check(cudaStreamSynchronize(s->stream), "taking steps");
}

firn_status cuda_steps(backend *s, step_batch *batch, step_report *report)
{
    *report = (step_report){};
    batch->steps = 0;
    if (s->steps == 0 || s->count == 0)
        return FIRN_OK;
    firn_status status = prepare(s, false);
    if (status == FIRN_OK && batch->plan)
        status = bodies_move(s->colliders, &s->bodies, s->stream);
    if (status == FIRN_OK && batch->plan)
        status = bodies_plan(batch->plan, &s->bodies, s->stream);
    int box[BOX_VALUES] = {};
    if (status == FIRN_OK && batch->plan)
        status = box_read(s, box);
    if (status != FIRN_OK)
        return status;
    const uint32_t ahead = steps_ahead(s, batch);
    *s->shown = (pace_state){.now = {.owed = s->owed},
                             .tries = s->tries > 0,
                             .owes = s->settings->transfer == FIRN_MLS,
                             .most = s->most,
                             .trend = s->trend,
                             .cfl = batch->cfl,
                             .frame_time = batch->frame_time,
                             .pause_time = batch->pause_time,
                             .flow_speed = batch->flow_speed,
                             .time = batch->time,
                             .dt_limit = batch->dt_limit,
                             .wanted = ahead,
                             .dt_min = INFINITY,
                             .planned = batch->plan ? s->bodies.plan.step : NULL,
                             .walls = s->bodies.plan.walls,
                             .bodies = s->bodies.count,
                             .bodies_move = s->colliders->moves,
                             .box = box_of(s)};
    memcpy(s->shown->planned_box, box, sizeof box);
    cudaMemcpyAsync(s->pace, s->shown, sizeof *s->pace, cudaMemcpyHostToDevice, s->stream);
    pass_view pass = pass_of(s);
    pass.in_row = true;
    pass.tries = s->tries > 0;
    launch_steps(s, &pass, ahead, batch->plan != NULL);
    status = cuda_check(cudaGetLastError(), "taking steps");
    if (status == FIRN_OK)
        status = see_pace(s);
    if (status != FIRN_OK)
        return status;
    charge_steps(s, report);
    const pace_state *p = s->shown;
    batch->time = p->time;
    batch->dt_limit = p->dt_limit;
    batch->steps = p->steps;
    batch->dt_min = p->dt_min;
    batch->dt_max = p->dt_max;
    report->active_nodes = p->active_nodes;
    s->most = p->most;
    s->tries = p->met_wild ? TRIED_ROWS : s->tries > 0 ? s->tries - 1 : 0;
    s->trend = p->trend;
    s->owed = p->now.owed;
    s->drifted = p->now.halted == HALT_DRIFTED;
    s->steps_since_sort += p->steps;
    s->steps += p->steps;
    return FIRN_OK;
}
