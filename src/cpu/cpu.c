/* The backend `cpu`: memory and the order of passes. See cpu.h. */
#include "cpu/state.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "calm.h"
#include "cpu/blocks.h"
#include "cpu/kernels.h"
#include "cpu/reach.h"
#include "cpu/sleep.h"
#include "status.h"

/* Steps between two sorts of the particles' memory. It changes speed, never results. */
enum { MEMORY_SORT_EVERY = 64 };

/* ---- Memory ------------------------------------------------------------------------------------- */

/* Large arrays ask for large pages: records are visited almost in order, over more small pages than the
 * processor remembers addresses of. */
void *cpu_allocate(size_t count, size_t size)
{
    const size_t line = 64, page = (size_t)2 << 20;
    size_t alignment = count * size >= 2 * page ? page : line;
    size_t bytes = (count * size + alignment) / alignment * alignment;
    void *memory = aligned_alloc(alignment, bytes);
    if (memory && alignment == page)
        madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

void cpu_free_store(cpu_store *store)
{
    free(store->hot);
    free(store->cold);
    free(store->affine);
    free(store->row);
    free(store->spare);
    free(store->index);
    *store = (cpu_store){0};
}

static void cpu_destroy(backend **self)
{
    backend *s = *self;
    if (!s)
        return;
    cpu_free_store(&s->store);
    blocks_free(&s->grid);
    cpu_solver_free(&s->solver);
    for (int t = 0; s->scratch && t < team_threads(s->threads); t++)
        free(s->scratch[t]);
    free(s->scratch);
    free(s->outcome);
    team_destroy(&s->threads);
    free(s->base);
    free(s->rest);
    free(s);
    *self = NULL;
}

static bool make_scratch(backend *s)
{
    int threads = team_threads(s->threads);
    s->scratch = calloc((size_t)threads, sizeof *s->scratch);
    s->outcome = calloc((size_t)threads, sizeof *s->outcome);
    bool complete = s->scratch && s->outcome;
    for (int t = 0; complete && t < threads; t++)
        complete = (s->scratch[t] = cpu_allocate(1, s->kernels->scratch_bytes)) != NULL;
    return complete;
}

static firn_status cpu_create(const backend_problem *problem, backend **out)
{
    backend *s = calloc(1, sizeof *s);
    if (!s)
        return fail(FIRN_NO_MEMORY, "out of memory for the solver");
    s->settings = problem->settings;
    s->colliders = problem->colliders;
    s->grid.dimensions = s->settings->dimensions;
    s->grid.field_count = transfer_is_affine(s->settings->transfer) ? 1 : 2;
    firn_status status = FIRN_OK;
    if (!(s->kernels = cpu_kernels_find(s->settings)))
        status = FIRN_USAGE;
    else if (!(s->threads = team_create(problem->threads)) || !make_scratch(s))
        status = fail(FIRN_NO_MEMORY, "the system has no room for %d threads", problem->threads);
    if (status != FIRN_OK) {
        cpu_destroy(&s);
        return status;
    }
    *out = s;
    return FIRN_OK;
}

firn_status cpu_resize(backend *s, size_t count)
{
    enum { SPARE_END = CPU_ORDER_END * sizeof(uint32_t) / sizeof(cpu_hot) };
    if (count >= CPU_NONE)
        return fail(FIRN_NO_MEMORY, "%zu particles: this backend numbers at most %u", count,
                    CPU_NONE - 1);
    cpu_free_store(&s->store);
    free(s->base);
    free(s->rest);
    s->rest = NULL;
    cpu_store *store = &s->store;
    store->count = count;
    store->hot = cpu_allocate(count + SPARE_END, sizeof *store->hot);
    store->cold = cpu_allocate(count, sizeof *store->cold);
    store->row = cpu_allocate(count, sizeof *store->row);
    store->index = cpu_allocate(count + CPU_ORDER_END, sizeof *store->index);
    store->spare = cpu_allocate(count + SPARE_END, sizeof *store->spare);
    bool affine = transfer_is_affine(s->settings->transfer);
    if (affine)
        store->affine = cpu_allocate(count + 1, sizeof *store->affine); /* see affine_load */
    s->base = cpu_allocate(count, sizeof *s->base);
    s->sorted = s->limits_known = false;
    if (!store->hot || !store->cold || !store->row || !store->spare || !store->index ||
        (affine && !store->affine) || !s->base)
        return fail(FIRN_NO_MEMORY, "out of memory for %zu particles", count);
    sort_share_spare(store);
    memset(store->hot, 0, count * sizeof *store->hot);
    memset(store->index, 0, (count + CPU_ORDER_END) * sizeof *store->index);
    if (affine)
        memset(store->affine, 0, (count + 1) * sizeof *store->affine);
    for (size_t r = 0; r < count; r++) {
        store->hot[r].F[8] = 1; /* plane strain in 2D */
        store->row[r] = (uint32_t)r;
    }
    return FIRN_OK;
}

/* ---- Stepping ----------------------------------------------------------------------------------- */

/* As many terms of the stress series as the largest elastic strain of any particle needs. */
static void choose_series(backend *s)
{
    double strain = 0;
    for (size_t k = 0; k < s->store.count; k++)
        strain = fmax(
            strain, stress_series_strain_most(s->store.cold[k].theta_c, s->store.cold[k].theta_s));
    s->pass.series = stress_series_plan_for(strain);
}

static void know_waves(backend *s)
{
    for (size_t k = 0; k < s->store.count; k++)
        cpu_know_wave(&s->store.cold[k]);
}

static bool sleeps(const backend *s)
{
    return s->settings->sleep_speed > 0;
}

static void fill_pass(backend *s, double dt)
{
    cpu_pass *pass = &s->pass;
    pass->hot = s->store.hot;
    pass->cold = s->store.cold;
    pass->affine = s->store.affine;
    pass->order = s->store.order;
    pass->mover = s->store.mover;
    pass->mover_slot = s->store.mover_slot;
    pass->destination = s->store.destination;
    pass->grid = &s->grid;
    pass->colliders = s->colliders;
    pass->nodes = NULL;
    pass->cell_size = s->settings->cell_size;
    pass->origin = pass_origin(s->settings);
    pass->dt = (float)dt;
    pass->blend = (float)s->settings->blend;
    for (int a = 0; a < 3; a++)
        pass->gravity[a] = (float)s->settings->gravity[a];
}

static firn_status prepare(backend *s)
{
    if (s->sorted)
        return FIRN_OK;
    choose_series(s);
    know_waves(s);
    firn_status status = sort_start(&s->store, &s->grid, s->base, s->threads);
    if (status != FIRN_OK)
        return status;
    free(s->base);
    s->base = NULL;
    s->sorted = true;
    if (sleeps(s)) {
        fill_pass(s, 0);
        sleep_start(s);
    }
    return FIRN_OK;
}

/* Empty the nodes, and find the bodies that they and the particles may touch. */
static void clear_block(backend *s, uint32_t index, cpu_outcome *outcome)
{
    for (int f = 0; f < s->grid.field_count; f++)
        memset(s->grid.field[f] + (size_t)index * CPU_BLOCK_FLOATS, 0,
               sizeof(float[CPU_BLOCK_FLOATS]));
    uint64_t since = body_clock();
    reach_block(s, &s->grid.blocks[index]);
    outcome->body_ticks += body_clock() - since;
}

static void clear_blocks(void *context, int thread, size_t begin, size_t end)
{
    backend *s = context;
    for (size_t b = begin; b < end; b++)
        if (!sleeps(s) || s->grid.blocks[b].touched)
            clear_block(s, (uint32_t)b, &s->outcome[thread]);
}

static void p2g_blocks(void *context, int thread, size_t begin, size_t end)
{
    backend *s = context;
    for (size_t k = begin; k < end; k++) {
        uint32_t next = s->colour[k + 1 < end ? k + 1 : k];
        s->kernels->p2g(&s->pass, s->colour[k], next, s->scratch[thread]);
    }
}

/* Blocks that a thread takes at a time: more where there are many, since the first of them is not asked for
 * in advance. */
static size_t grain_for(const backend *s, size_t blocks)
{
    enum { LEAST = 4, MOST = 32, PIECES = 16 };
    size_t grain = blocks / (PIECES * (size_t)team_threads(s->threads));
    return grain < LEAST ? LEAST : grain > MOST ? MOST : grain;
}

/* Steps 1 3 for all blocks: colour by colour, so that no two blocks at work share a node. */
static void pass_p2g(backend *s)
{
    team_for(s->threads, s->grid.count, 64, clear_blocks, s);
    for (int c = 0; c < 8; c++) {
        s->colour = s->grid.colour[c];
        team_for(s->threads, s->grid.colour_count[c], grain_for(s, s->grid.colour_count[c]),
                 p2g_blocks, s);
    }
}

/* Step 2 for the blocks of a range. */
static void volumes_blocks(void *context, int thread, size_t begin, size_t end)
{
    backend *s = context;
    for (size_t b = begin; b < end; b++)
        if (s->grid.blocks[b].count)
            s->kernels->volumes(&s->pass, (uint32_t)b, s->scratch[thread], s->store.cold);
}

/* Nodes that no awake particle reaches stand still. */
static void hold_block(backend *s, size_t b)
{
    if (s->grid.blocks[b].touched)
        memset(s->grid.field[0] + b * CPU_BLOCK_FLOATS, 0, sizeof(float[CPU_BLOCK_FLOATS]));
    if (s->pass.nodes)
        s->pass.nodes->active[b] = false;
}

/* Steps 4 5 for the blocks of a range. */
static void grid_blocks(void *context, int thread, size_t begin, size_t end)
{
    backend *s = context;
    for (size_t b = begin; b < end; b++)
        if (!sleeps(s) || s->grid.blocks[b].live)
            s->kernels->grid(&s->pass, (uint32_t)b, &s->outcome[thread]);
        else
            hold_block(s, b);
}

static const cpu_outcome no_outcome = {
    .bad_position = CPU_NONE,
    .max_log_wave2 = {[0 ... 15] = -FLT_MAX},
};

static void merge_outcome(cpu_outcome *total, const cpu_outcome *part)
{
    if (part->bad_position < total->bad_position) {
        total->bad_position = part->bad_position;
        total->bad_speed = part->bad_speed;
        total->bad_stretch = part->bad_stretch;
        total->bad_J_P = part->bad_J_P;
    }
    for (int k = 0; k < 16; k++) {
        total->max_speed2[k] = fmaxf(total->max_speed2[k], part->max_speed2[k]);
        total->max_log_wave2[k] = fmaxf(total->max_log_wave2[k], part->max_log_wave2[k]);
    }
    total->active_nodes += part->active_nodes;
    total->body_ticks += part->body_ticks;
    total->wild |= part->wild;
    total->unplaced |= part->unplaced;
}

/* All threads' outcomes in one. */
static cpu_outcome merged(const backend *s)
{
    cpu_outcome total = no_outcome;
    for (int t = 0; t < team_threads(s->threads); t++)
        merge_outcome(&total, &s->outcome[t]);
    return total;
}

/* Steps 7 8 9 10 for the blocks of a range. */
static void g2p_blocks(void *context, int thread, size_t begin, size_t end)
{
    backend *s = context;
    for (size_t b = begin; b < end; b++) {
        cpu_block *block = &s->grid.blocks[b];
        if (block->count == 0 || (sleeps(s) && !block->awake))
            continue;
        cpu_outcome outcome = no_outcome;
        s->kernels->g2p(&s->pass, (uint32_t)b, s->scratch[thread], &outcome);
        if (sleeps(s))
            sleep_note(s, block, &outcome);
        merge_outcome(&s->outcome[thread], &outcome);
    }
}

static void keep_limits(backend *s, const cpu_outcome *outcome)
{
    double speed2 = 0, log_wave2 = -FLT_MAX;
    for (int k = 0; k < 16; k++) {
        speed2 = fmax(speed2, outcome->max_speed2[k]);
        log_wave2 = fmax(log_wave2, outcome->max_log_wave2[k]);
    }
    s->limits = (step_limits){.max_speed = sqrt(speed2), .max_wave_speed = exp(0.5 * log_wave2)};
    s->limits_known = true;
}

static void cpu_limits(backend *s, step_limits *limits)
{
    if (!s->limits_known) {
        know_waves(s);
        fill_pass(s, 0);
        cpu_outcome total = no_outcome;
        s->kernels->limits(&s->pass, 0, s->store.count, &total);
        keep_limits(s, &total);
    }
    *limits = s->limits;
}

/* By whole blocks: the cells of block b have their corners in 4 b .. 4 b + 5. */
static void cpu_bounds(const backend *s, double low[3], double high[3])
{
    size_t count = s->sorted ? s->grid.count : s->store.count;
    for (int a = 0; a < 3; a++) {
        bool flat = a >= s->settings->dimensions;
        int32_t least = INT32_MAX, most = INT32_MIN;
        for (size_t k = 0; k < count && !flat; k++) {
            if (s->sorted && s->grid.blocks[k].count == 0)
                continue;
            int32_t at = s->sorted ? s->grid.blocks[k].at[a] : s->base[k][a] >> 2;
            least = at < least ? at : least;
            most = at > most ? at : most;
        }
        bool none = least > most;
        low[a] = flat ? 0 : none ? INFINITY : 4.0 * least * s->settings->cell_size;
        high[a] = flat ? 0 : none ? -INFINITY : (4.0 * most + 5) * s->settings->cell_size;
    }
}

/* Names the first particle that went wrong, and what did. */
static firn_status report_bad(backend *s, const cpu_outcome *outcome, step_report *report)
{
    report->bad_row = s->store.row[s->store.order[outcome->bad_position]];
    report_spoiled(report, outcome->bad_speed, outcome->bad_stretch, outcome->bad_J_P);
    firn_status status = cpu_get(s, FIRN_POSITION, report->bad_row, 1, report->bad_position);
    return status != FIRN_OK ? status
                             : fail(FIRN_BLOWUP, "particle row %zu: %s %g", report->bad_row,
                                    report->bad_what, report->bad_value);
}

/* The first step meets values from outside: there nothing is calm. */
static float calm_of(backend *s, double dt)
{
    if (s->steps == 0)
        return -1;
    step_limits limits;
    cpu_limits(s, &limits);
    double low[3], high[3], bodies = 0;
    if (s->colliders->moves) {
        cpu_bounds(s, low, high);
        bodies = calm_body_speed(s->colliders, low, high);
    }
    return calm_speed(s->settings, dt, limits.max_speed, bodies);
}

/* Steps 7 to 9 on trial, for the blocks of a range whose stencils reach a wild node: light nodes at the
 * surface of the snow often are, the many inside hardly ever. */
static void try_blocks(void *context, int thread, size_t begin, size_t end)
{
    backend *s = context;
    for (size_t b = begin; b < end; b++) {
        const cpu_block *block = &s->grid.blocks[b];
        bool wild = false;
        bool moves = block->count > 0 && (!sleeps(s) || block->awake);
        for (int corner = 0; moves && corner < 8 && !wild; corner++) {
            int direction = CPU_STAY + (corner & 1) + 3 * (corner >> 1 & 1) + 9 * (corner >> 2);
            uint32_t near = block->near[direction];
            wild = near != CPU_NONE && s->grid.blocks[near].wild;
        }
        if (wild)
            s->kernels->g2p(&s->pass, (uint32_t)b, s->scratch[thread], &s->outcome[thread]);
    }
}

/* Whether G2P would leave all particles fit to go on. Asked when nodes are faster than calm. */
static bool trial_succeeds(backend *s)
{
    s->pass.trial = true;
    team_for(s->threads, s->grid.count, 4, try_blocks, s);
    s->pass.trial = false;
    return merged(s).bad_position == CPU_NONE;
}

static void solved_blocks(void *context, int thread, size_t begin, size_t end)
{
    backend *s = context;
    for (size_t b = begin; b < end; b++)
        if (!sleeps(s) || s->grid.blocks[b].live)
            s->kernels->solved(&s->pass, (uint32_t)b, &s->outcome[thread]);
}

/* Step 6: from v* on the grid to v^{n+1}. */
static firn_status pass_solve(backend *s, const step_plan *plan, step_report *report)
{
    firn_status status = cpu_solve(s, plan, report);
    if (status != FIRN_OK)
        return status;
    for (int t = 0; t < team_threads(s->threads); t++)
        s->outcome[t].wild = false;
    team_for(s->threads, s->grid.count, 16, solved_blocks, s);
    return FIRN_OK;
}

/* What all threads spent on bodies, shared out among them, from ticks to time. */
static double bodies_ms(const backend *s, uint64_t body_ticks, uint64_t step_ticks, double step_ms)
{
    double each = (double)body_ticks / team_threads(s->threads);
    return step_ticks > 0 ? each / (double)step_ticks * step_ms : 0;
}

static firn_status cpu_step(backend *s, const step_plan *plan, step_report *report)
{
    *report = (step_report){0};
    double clock = stage_clock(), begin = clock;
    uint64_t ticks = body_clock();
    firn_status status = prepare(s);
    if (status != FIRN_OK)
        return status;
    s->places_known = false;
    s->pass.calm = calm_of(s, plan->dt);
    if (s->steps++ % MEMORY_SORT_EVERY == MEMORY_SORT_EVERY - 1)
        status = sort_memory(&s->store, &s->grid, s->threads);
    if (status != FIRN_OK)
        return status;
    fill_pass(s, plan->dt);
    if (sleeps(s))
        sleep_choose(s);
    stage_charge(report, FIRN_STAGE_SORT, &clock);

    for (int t = 0; t < team_threads(s->threads); t++)
        s->outcome[t] = no_outcome;
    pass_p2g(s);
    if (plan->first && s->settings->rest_volume == FIRN_VOLUME_GRID) {
        team_for(s->threads, s->grid.count, 4, volumes_blocks, s);
        pass_p2g(s); /* again: forces follow from the volumes */
    }
    stage_charge(report, FIRN_STAGE_P2G, &clock);
    if (plan->implicit)
        status = cpu_solver_prepare(s);
    if (status != FIRN_OK)
        return status;
    team_for(s->threads, s->grid.count, 16, grid_blocks, s);
    stage_charge(report, FIRN_STAGE_GRID, &clock);
    if (plan->implicit)
        status = pass_solve(s, plan, report);
    stage_charge(report, FIRN_STAGE_SOLVE, &clock);
    if (status != FIRN_OK) {
        s->steps--;
        return status;
    }
    cpu_outcome outcome = merged(s);
    if (outcome.wild && !trial_succeeds(s)) {
        outcome = merged(s);
        s->steps--;
        return report_bad(s, &outcome, report);
    }
    team_for(s->threads, s->grid.count, grain_for(s, s->grid.count), g2p_blocks, s);
    stage_charge(report, FIRN_STAGE_G2P, &clock);
    outcome = merged(s);
    report->active_nodes = outcome.active_nodes;
    if (outcome.bad_position != CPU_NONE)
        return report_bad(s, &outcome, report);
    if (sleeps(s))
        sleep_add_limits(s, &outcome);
    status = sort_step(&s->store, &s->grid, s->threads, outcome.unplaced);
    stage_charge(report, FIRN_STAGE_SORT, &clock);
    report->bodies_ms = bodies_ms(s, outcome.body_ticks, body_clock() - ticks, clock - begin);
    keep_limits(s, &outcome);
    return status;
}

static double cpu_memory(const firn_settings *settings, size_t particles, size_t active_blocks)
{
    bool affine = transfer_is_affine(settings->transfer);
    double particle = sizeof(cpu_hot) * 2 + sizeof(cpu_cold) + (affine ? sizeof(cpu_affine) : 0) +
                      2 * sizeof(uint32_t);
    double block = sizeof(cpu_block) + (affine ? 1 : 2) * sizeof(float[CPU_BLOCK_FLOATS]) +
                   4 * sizeof(uint32_t);
    double solver = settings->integrator == FIRN_EXPLICIT
                        ? 0
                        : cpu_solver_memory(settings, particles, active_blocks);
    return particle * (double)particles + 1.25 * block * (double)active_blocks + solver;
}

const backend_ops cpu_backend = {
    .name = "cpu",
    .is_double = false,
    .has_solver = true,
    .create = cpu_create,
    .destroy = cpu_destroy,
    .resize = cpu_resize,
    .reshape = cpu_reshape,
    .set = cpu_set,
    .get = cpu_get,
    .step = cpu_step,
    .limits = cpu_limits,
    .bounds = cpu_bounds,
    .get_rest = cpu_get_rest,
    .set_rest = cpu_set_rest,
    .memory = cpu_memory,
};
