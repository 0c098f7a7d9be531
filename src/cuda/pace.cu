#include "cuda/pace.cuh"

extern "C" {
#include "calm.h"
#include "method/steady_exp.h"
#include "method/time_step.h"
}

/* ---- On both sides ---------------------------------------------------------------------------- */

EVERYWHERE double float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

EVERYWHERE pace_limits limits_of(const particle_most *most)
{
    pace_limits r = {};
    for (int a = 0; a < 3; a++) {
        double high = most->velocity[a] ? of_ordered_bits(most->velocity[a]) : 0;
        double low = most->backward[a] ? -of_ordered_bits(most->backward[a]) : 0;
        r.frame[a] = (float)(0.5 * (low + high));
        r.frame_range = fmax(r.frame_range, fmax(high - r.frame[a], r.frame[a] - low));
    }
    r.max_speed = sqrt(float_of(most->speed2));
    r.max_wave_speed = most->wave2 ? steady_exp(0.5 * (double)of_ordered_bits(most->wave2)) : 0;
    r.max_affine = float_of(most->affine);
    r.max_stress = most->stress ? steady_exp((double)of_ordered_bits(most->stress)) : 0;
    return r;
}

EVERYWHERE int stencil_depth(const firn_settings *settings)
{
    return settings->dimensions == 2 ? 1 : stencil_width(settings);
}

EVERYWHERE sum_ranges ranges_of(const pace_rules *rules, const pace_limits *limits, double dt)
{
    const firn_settings *settings = &rules->settings;
    double kick = 1.8 * limits->max_stress * dt / settings->cell_size; /* m/s: a row of V0 P F^T */
    double heaviest = stencil_most_weight(stencil_width(settings), stencil_depth(settings));
    double most = stencil_most(stencil_width(settings), stencil_depth(settings),
                               settings->transfer == FIRN_MLS);
    bool affine = transfer_is_affine(settings->transfer);
    double speed = limits->frame_range + (affine ? limits->max_affine : 0);
    sum_ranges r = {};
    r.mass = rules->largest_mass;
    r.force = rules->largest_mass * most * kick;
    r.momentum = rules->largest_mass * heaviest * speed + (affine ? r.force : 0);
    for (uint32_t n = 64; n < rules->densest; n *= 2)
        r.shift++;
    return r;
}

/* The largest power of two that keeps contributions up to `value` within their range. */
EVERYWHERE float scale_for(double value)
{
    return (float)ldexp(1.0, ilogb((double)FIXED_LARGEST / fmax(value, 1e-30)));
}

EVERYWHERE step_now now_of(const pace_rules *rules, const pace_limits *limits,
                           const sum_ranges *ranges, double dt, float calm)
{
    const firn_settings *settings = &rules->settings;
    double heaviest = stencil_most_weight(stencil_width(settings), stencil_depth(settings));
    float down = (float)ldexp(1.0, -ranges->shift);
    step_now now = {};
    now.halted = GOES_ON;
    now.dt = (float)dt;
    now.mass_scale = down * scale_for(heaviest * ranges->mass);
    now.momentum_scale = down * scale_for(ranges->momentum);
    now.force_scale = down * scale_for(ranges->force);
    for (int a = 0; a < 3; a++)
        now.frame[a] = (float)limits->frame[a];
    now.calm = calm;
    now.harmless = 1 / (now.mass_scale * (float)rules->least_mass);
    now.cell_speed = (float)(settings->cell_size / dt);
    now.limits.most_wave2 = now.limits.most_stress = UINT32_MAX;
    return now;
}

EVERYWHERE float growth(uint32_t before, uint32_t after)
{
    return before && after ? of_ordered_bits(after) - of_ordered_bits(before) : 0;
}

EVERYWHERE void settle_most(const particle_most *told, particle_most *most, particle_trend *trend)
{
    *trend = {growth(most->wave2, told->wave2), growth(most->stress, told->stress)};
    most->wave2 = told->wave2;
    most->stress = told->stress;
}

pace_limits pace_limits_of(const particle_most *most)
{
    return limits_of(most);
}

void pace_settle(const particle_most *told, particle_most *most, particle_trend *trend)
{
    settle_most(told, most, trend);
}

sum_ranges pace_ranges(const pace_rules *rules, const pace_limits *limits, double dt)
{
    return ranges_of(rules, limits, dt);
}

step_now pace_now(const pace_rules *rules, const pace_limits *limits, const sum_ranges *ranges,
                  double dt, float calm)
{
    return now_of(rules, limits, ranges, dt, calm);
}

particle_most most_of(const outcome *out)
{
    uint32_t most[PARTICLE_LIMITS] = {};
    for (int n = 0; n < TOLD; n++)
        for (int k = 0; k < PARTICLE_LIMITS; k++)
            if (out->told[n].line[k] > most[k])
                most[k] = out->told[n].line[k];
    particle_most r;
    memcpy(&r, most, sizeof r);
    return r;
}

/* ---- On the GPU -------------------------------------------------------------------------------- */

/* The same, by a warp. */
static __device__ particle_most gather_most(const outcome *out)
{
    const uint32_t lane = threadIdx.x & 31;
    told_most r;
    for (int k = 0; k < PARTICLE_LIMITS; k++)
        r.line[k] = lane < TOLD ? out->told[lane].line[k] : 0;
    for (int k = 0; k < PARTICLE_LIMITS; k++)
        r.line[k] = warp_most(r.line[k]);
    return r.most;
}

enum { CLEAR_BLOCKS = 4 }; /* a processor */

/* The other blocks of turn_kernel look at it meanwhile: whether they empty nodes that nobody will use does not
 * matter. */
static __device__ void halt(pace_state *p, uint32_t why)
{
    *(volatile uint32_t *)&p->now.halted = why;
}

static __device__ void account(pace_state *p, const outcome *out, const particle_most &most)
{
    p->begun = false;
    if (p->now.owed > 0) { /* P2G has done it */
        settle_most(&most, &p->most, &p->trend);
        p->now.owed = 0;
    }
    if (out->misjudged) {
        if (p->planned && p->bodies_move) /* which have gone on */
            halt(p, HALT_ASKED);
        return;
    }
    p->met_wild = p->met_wild || out->wild;
    if (out->sums_overflow || out->momentum_needed || out->force_needed || out->bad_row_mark ||
        (out->wild && !p->tries)) {
        halt(p, HALT_FAILED);
        return;
    }
    p->most = most;
    if (p->owes)
        p->now.owed = p->now.dt;
    p->active_nodes = out->active_nodes;
    p->time = time_step_end(p->time, p->frame_time, p->dt);
    p->dt_limit = time_step_recovered(p->choice, p->limit);
    p->dt_min = fmin(p->dt_min, p->dt);
    p->dt_max = fmax(p->dt_max, p->dt);
    p->steps++;
    if (out->drifted)
        halt(p, HALT_DRIFTED);
    else if (p->steps == p->wanted || p->time == p->frame_time || p->time >= p->pause_time)
        halt(p, HALT_DONE);
}

/* Whether a step is as it was planned: the snow is in the same box and, among bodies that move, allows the same. */
static __device__ bool is_as_planned(const pace_state *p, const body_step &step, double stable)
{
    bool same = !p->bodies_move || (step.time == p->time && step.stable == stable);
    for (int k = 0; k < BOX_VALUES; k++)
        same = same && p->box[k] == p->planned_box[k];
    return same;
}

/*
 * The lanes of a warp choose for particles that differ in a bound: the middle one for what is expected, those beside
 * it for a little more and less, each for twice as much as the one before, up to factors of two. The logarithm of most
 * bounds is foreseen to 1e-3 or better; 0.03 to 0.06 of a wave2 and 0.7 of a stress lie between two choices.
 */
enum { MIDDLE_LANE = 16 };
static const float LEAST_SHIFT = 2e-5f;

/* For this lane, or for a part of the way to it. */
static __device__ uint32_t shifted(uint32_t expected, float part)
{
    const int lane = (int)threadIdx.x - MIDDLE_LANE;
    if (expected == 0 || lane == 0)
        return expected;
    const float by = part * LEAST_SHIFT * (float)(1 << (abs(lane) - 1));
    return ordered_bits(of_ordered_bits(expected) + (lane < 0 ? -by : by));
}

/* If it goes on as before. */
static __device__ uint32_t expected(uint32_t known, float trend)
{
    return known ? ordered_bits(of_ordered_bits(known) + trend) : 0;
}

/* What the middle lane has. By all. */
template <class T> static __device__ T middle(T x)
{
    return __shfl_sync(0xffffffffu, x, MIDDLE_LANE);
}

/* From which bound to which the middle lane would have chosen the same, as others have; not all the way to them, as
 * functions that grow may do so to within rounding only. */
static __device__ void foresee(uint32_t expected, bool is_same, uint32_t *least, uint32_t *most)
{
    const uint32_t within = shifted(expected, 0.75f);
    *least = ~warp_most(~(is_same && threadIdx.x < MIDDLE_LANE ? within : expected));
    *most = warp_most(is_same && threadIdx.x > MIDDLE_LANE ? within : expected);
}

/* How long a step is to be, if the GPU may take it. */
struct chosen_length {
    bool is_ours;
    double choice, limit, dt, body_speed;
};

/* As sim_choose and firn_sim_step do for explicit steps. */
static __device__ chosen_length choose_length(const pace_state *p, const firn_settings *settings,
                                              const pace_limits &limits)
{
    const double speed = fmax(limits.max_speed, p->flow_speed);
    chosen_length r = {.is_ours = true};
    double stable = time_step_stable(settings->cell_size, limits.max_wave_speed, speed, p->cfl,
                                     settings->travel);
    if (p->planned) {
        const uint32_t n = p->bodies_move ? p->steps : 0;
        const body_step step = p->planned[n];
        r.is_ours = is_as_planned(p, step, stable);
        const double allowed = p->bodies_move ? step.allowed : fmin(stable, 1 / settings->fps);
        stable = collider_walls_step(p->walls + n * p->bodies, step.walls, speed, allowed);
        r.body_speed = step.speed;
    }
    const double far = time_step_travel(settings->cell_size, speed,
                                        time_step_pull(settings->gravity), settings->travel);
    const time_step_choice choice =
        time_step_choose(stable, far, settings->time_step,
                         settings->integrator == FIRN_CHEAPER ? TIME_STEP_SOLVES_WHEN_CHEAPER
                                                              : TIME_STEP_NEVER_SOLVES);
    const double floor = time_step_floor(choice.dt, stable, settings->retries);
    r.is_ours = r.is_ours && !choice.implicit && choice.dt >= floor;
    r.choice = choice.dt;
    r.limit = time_step_held_back(r.choice, p->dt_limit, floor);
    r.dt = time_step_to_land(p->time, p->frame_time, r.limit);
    return r;
}

/* By a warp, whose middle lane keeps what it has chosen. */
static __device__ void choose(pace_state *p, const pace_rules &rules)
{
    const firn_settings *settings = &rules.settings;
    particle_most most = p->most;
    const bool guesses = p->now.owed > 0;
    const uint32_t wave2 = expected(most.wave2, p->trend.wave2),
                   stress = expected(most.stress, p->trend.stress);
    if (guesses) {
        most.wave2 = shifted(wave2, 1);
        most.stress = shifted(stress, 1);
    }
    const pace_limits limits = limits_of(&most);
    const chosen_length own = choose_length(p, settings, limits);
    const double choice = middle(own.choice), limit = middle(own.limit), dt = middle(own.dt);
    const sum_ranges ranges = ranges_of(&rules, &limits, dt);
    step_now now = now_of(&rules, &limits, &ranges, dt,
                          calm_speed(settings, dt, limits.max_speed, own.body_speed));
    now.owed = p->now.owed;
    if (guesses) {
        const float scale = middle(now.momentum_scale); /* the only one that MLS goes by */
        foreseen *f = &now.limits;
        foresee(wave2, own.is_ours && own.choice == choice && own.limit == limit && own.dt == dt,
                &f->least_wave2, &f->most_wave2);
        foresee(stress, now.momentum_scale == scale, &f->least_stress, &f->most_stress);
    }
    __syncwarp();
    if (threadIdx.x != MIDDLE_LANE)
        return;
    if (!own.is_ours) {
        halt(p, HALT_ASKED);
        return;
    }
    p->choice = choice;
    p->limit = limit;
    p->dt = dt;
    p->begun = true;
    p->now = now;
}

/* From one step to the next, by a warp. */
static __device__ void turn(outcome *out, const pace_rules &rules, pace_state *p)
{
    const particle_most most = gather_most(out);
    if (threadIdx.x == 0 && p->begun)
        account(p, out, most);
    __syncwarp();
    if (*(volatile uint32_t *)&p->now.halted == GOES_ON)
        choose(p, rules);
    __syncwarp();
    if (*(volatile uint32_t *)&p->now.halted != GOES_ON)
        return;
    for (size_t n = threadIdx.x; n < sizeof *out / sizeof(uint32_t); n += 32)
        ((uint32_t *)out)[n] = 0;
}

/* The kernel before this one is G2P, which reads the nodes, or one behind that, for bodies, which does not. */
static __global__ void turn_kernel(outcome *out, const pace_rules rules, pace_state *p,
                                   uint4 *nodes, size_t count, bool nodes_are_free)
{
    const size_t first = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (!nodes_are_free)
        await_previous();
    const bool halted = *(volatile uint32_t *)&p->now.halted != GOES_ON;
    for (size_t n = first; n < count && !halted; n += (size_t)gridDim.x * THREADS)
        nodes[n] = make_uint4(0, 0, 0, 0);
    if (nodes_are_free)
        await_previous();
    if (first < 32 && !halted)
        turn(out, rules, p);
}

static __global__ void end_kernel(const outcome *out, pace_state *p)
{
    const particle_most most = gather_most(out);
    if (threadIdx.x == 0 && p->now.halted == GOES_ON && p->begun)
        account(p, out, most);
}

void pace_turn_launch(const pass_view *pass, const pace_rules *rules, pace_state *p,
                      cudaStream_t stream)
{
    size_t bytes = transfer_is_affine(rules->settings.transfer) ? 16 : 32;
    size_t words = (size_t)pass->grid.block_count * BLOCK_CELLS * bytes / sizeof(uint4);
    size_t blocks = (words + THREADS - 1) / THREADS;
    launch_behind(pass->overlaps, turn_kernel,
                  enough_blocks(blocks, pass->processors, CLEAR_BLOCKS), THREADS, stream, pass->out,
                  *rules, p, (uint4 *)pass->grid.nodes, words,
                  pass->bodies != NULL && !pass->only_planes);
}

void pace_end_launch(const pass_view *pass, pace_state *p, cudaStream_t stream)
{
    end_kernel<<<1, 32, 0, stream>>>(pass->out, p);
}
