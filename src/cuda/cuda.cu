/* The backend `cuda`: memory and the order of kernels. See state.cuh. */
#include "cuda/stencil.cuh"

extern "C" {
#include "calm.h"
}

/* Steps between two sorts, at most. It changes speed, never results. */
enum { SORT_EVERY = 48 };

/* ---- The GPU ---------------------------------------------------------------------------------- */

firn_status cuda_check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return FIRN_OK;
    return fail(FIRN_NO_MEMORY, "the GPU failed while %s: %s", what, cudaGetErrorString(error));
}

firn_status device_allocate(void *pointer, size_t bytes, const char *what)
{
    void *memory = NULL;
    cudaError_t error = cudaMalloc(&memory, bytes ? bytes : 1);
    memcpy(pointer, &memory, sizeof memory);
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        return fail(
            FIRN_NO_MEMORY,
            "the GPU has no room for %.3g GB of %s (%.3g GB are free); use fewer particles or "
            "larger cells, or --backend cpu",
            1e-9 * (double)bytes, what, 1e-9 * cuda_free_memory());
    }
    return cuda_check(error, "allocating memory");
}

void device_free(void *pointer)
{
    void *memory, *none = NULL;
    memcpy(&memory, pointer, sizeof memory);
    cudaFree(memory);
    memcpy(pointer, &none, sizeof none);
}

const char *cuda_device(const char **why)
{
    static cudaDeviceProp properties;
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    int driver = 0;
    bool has_driver = cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0;
    const char *problem = !has_driver            ? "no NVIDIA driver is installed"
                          : error != cudaSuccess ? cudaGetErrorString(error)
                          : count == 0           ? "no GPU was found"
                                                 : NULL;
    if (!problem && cudaGetDeviceProperties(&properties, 0) != cudaSuccess)
        problem = "the GPU does not answer";
    if (!problem && properties.major * 10 + properties.minor < 75)
        problem = "the GPU is older than compute capability 7.5";
    cudaGetLastError();
    if (why)
        *why = problem;
    return problem ? NULL : properties.name;
}

double cuda_free_memory(void)
{
    size_t available = 0, total = 0;
    return cudaMemGetInfo(&available, &total) == cudaSuccess ? (double)available : 0;
}

/* ---- Memory ----------------------------------------------------------------------------------- */

void free_particles(backend *s)
{
    for (int a = 0; a < ARRAYS_APIC; a++)
        device_free(&s->p.array[a]);
    device_free(&s->spare);
    device_free(&s->key);
    device_free(&s->order);
    for (int a = 0; a < 3; a++)
        device_free(&s->start[a]);
    s->count = 0;
}

void forget_particles(backend *s)
{
    s->p = (particles_view){};
    s->spare = NULL;
    s->key = s->order = NULL;
    s->start[0] = s->start[1] = s->start[2] = NULL;
    s->grid = s->old = (grid_view){};
    s->hash_keys = NULL;
    s->hash_values = s->cell_count = s->counters = NULL;
    s->home_capacity = s->old_capacity = s->node_capacity = 0;
}

void cuda_destroy(backend **self)
{
    backend *s = *self;
    if (!s)
        return;
    free_particles(s);
    sort_free(s);
    solver_free(&s->solver);
    bodies_free(&s->bodies);
    device_free(&s->out);
    device_free(&s->staging);
    cudaFreeHost(s->seen);
    free(s->host_staging);
    for (int k = 0; k < MARKS; k++)
        if (s->mark[k])
            cudaEventDestroy(s->mark[k]);
    if (s->stream)
        cudaStreamDestroy(s->stream);
    free(s);
    *self = NULL;
}

static firn_status make_tools(backend *s)
{
    firn_status status = cuda_check(cudaStreamCreate(&s->stream), "starting");
    for (int k = 0; k < MARKS && status == FIRN_OK; k++)
        status = cuda_check(cudaEventCreate(&s->mark[k]), "starting");
    if (status == FIRN_OK)
        status = cuda_check(cudaMallocHost((void **)&s->seen, sizeof *s->seen), "starting");
    if (status == FIRN_OK)
        status = device_allocate(&s->out, sizeof *s->out, "results");
    if (status == FIRN_OK)
        status = device_allocate(&s->staging, STAGING_ROWS * 9 * sizeof *s->staging, "values");
    if (status == FIRN_OK && !(s->host_staging = malloc(STAGING_ROWS * 2 * sizeof(int32_t))))
        status = fail(FIRN_NO_MEMORY, "out of memory for particle values");
    return status == FIRN_OK ? bodies_upload(s->colliders, &s->bodies) : status;
}

firn_status cuda_create(const backend_problem *problem, backend **out)
{
    const char *why;
    if (!cuda_device(&why))
        return fail(FIRN_USAGE, "backend cuda: %s; use --backend cpu", why);
    backend *s = (backend *)calloc(1, sizeof *s);
    if (!s)
        return fail(FIRN_NO_MEMORY, "out of memory for the solver");
    s->settings = problem->settings;
    s->colliders = problem->colliders;
    s->apic = s->settings->transfer == FIRN_APIC;
    s->node_bytes = s->apic ? 16 : 32;
    s->array_count = s->apic ? ARRAYS_APIC : ARRAYS_FLIP;
    s->run = kernels_find(s->settings);
    firn_status status = make_tools(s);
    if (status != FIRN_OK) {
        cuda_destroy(&s);
        return status;
    }
    *out = s;
    return FIRN_OK;
}

static __global__ void number_rows(uint32_t *row, float *F_zz, uint32_t count)
{
    uint32_t k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= count)
        return;
    row[k] = k;
    F_zz[k] = 1; /* plane strain in 2D */
}

firn_status cuda_resize(backend *s, size_t count)
{
    if (count >= UINT32_MAX / 2)
        return fail(FIRN_NO_MEMORY, "%zu particles: this backend numbers at most %u", count,
                    UINT32_MAX / 2 - 1);
    cudaStreamSynchronize(s->stream);
    free_particles(s);
    sort_free(s);
    size_t bytes = count * sizeof(float);
    firn_status status = FIRN_OK;
    for (int a = 0; a < s->array_count && status == FIRN_OK; a++) {
        status = device_allocate(&s->p.array[a], bytes, "particles");
        if (status == FIRN_OK)
            status = cuda_check(cudaMemset(s->p.array[a], 0, bytes), "clearing memory");
    }
    if (status == FIRN_OK)
        status = device_allocate(&s->spare, bytes, "particles");
    if (status == FIRN_OK)
        status = device_allocate(&s->key, bytes, "particles");
    if (status == FIRN_OK)
        status = device_allocate(&s->order, bytes, "particles");
    for (int a = 0; a < 3 && status == FIRN_OK; a++) {
        status = device_allocate(&s->start[a], bytes, "particles");
        if (status == FIRN_OK)
            status = cuda_check(cudaMemset(s->start[a], 0, bytes), "clearing memory");
    }
    s->count = count;
    s->sorted = s->limits_known = s->places_known = s->drifted = false;
    s->steps = 0;
    if (status == FIRN_OK && count > 0) {
        number_rows<<<(unsigned)((count + THREADS - 1) / THREADS), THREADS>>>(
            (uint32_t *)s->p.array[ROW], s->p.array[F_FIRST + 8], (uint32_t)count);
        status = cuda_check(cudaDeviceSynchronize(), "numbering particles");
    }
    return status;
}

double cuda_memory(const firn_settings *settings, size_t particles, size_t active_blocks)
{
    bool apic = settings->transfer == FIRN_APIC;
    double arrays =
        (apic ? ARRAYS_APIC : ARRAYS_FLIP) + 3 + 3; /* sorting; cells before the first sort */
    double homes = (double)particles / 128 + 1024, blocks = 4 * homes + 4096;
    double per_home = DIRECTIONS * 4 + BLOCK_CELLS * 4 + EIGHTHS * 4 + 2 * 8,
           per_block = 2 * 16 + 8 + 1 + 3 * 12;
    double nodes = 1.125 * (double)active_blocks * BLOCK_CELLS;
    double solving = settings->integrator == FIRN_EXPLICIT
                         ? 0
                         : solver_memory(settings, (double)particles, nodes);
    return 4 * arrays * (double)particles + homes * per_home + blocks * per_block +
           nodes * (apic ? 16 : 32) + solving;
}

static double float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- Scales of the sums ----------------------------------------------------------------------- */

/* The largest power of two that keeps contributions up to `value` within their range. */
static float scale_for(double value)
{
    return (float)exp2(floor(log2((double)FIXED_LARGEST / fmax(value, 1e-30))));
}

/* What one particle may add to a sum, in SI; its whole mass. */
typedef struct sum_ranges {
    double mass, momentum, force;
    int shift; /* bits given up so that more particles fit into a node */
} sum_ranges;

/*
 * Values are of one particle, as much as may go to a node. Where they turn out
 * larger (F turned inside out), P2G says so and the ranges are widened. A cell of up to 64 particles
 * cannot fill a sum's nine bits of room twice over, so that the grid pass sees every overflow; more than
 * that give up bits beforehand.
 */
static sum_ranges ranges_of(const backend *s, double dt)
{
    double kick = 1.8 * s->max_stress * dt / s->settings->cell_size; /* m/s: a row of V0 P F^T */
    int width = s->settings->kernel == FIRN_CUBIC ? 4 : 3;
    int depth = s->settings->dimensions == 2 ? 1 : width;
    double heaviest = stencil_most_weight(width, depth), most = stencil_most(width, depth);
    sum_ranges r = {.mass = s->largest_mass};
    r.momentum = s->largest_mass * heaviest * (s->frame_range + (s->apic ? s->max_affine : 0));
    if (s->apic)
        r.momentum += s->largest_mass * most * kick;
    r.force = s->largest_mass * most * kick;
    for (uint32_t n = 64; n < s->densest; n *= 2)
        r.shift++;
    return r;
}

static void set_scales(const backend *s, pass_view *pass, const sum_ranges *r)
{
    int width = s->settings->kernel == FIRN_CUBIC ? 4 : 3;
    int depth = pass->planar ? 1 : width;
    float down = (float)ldexp(1, -r->shift);
    pass->mass_scale = down * scale_for(stencil_most_weight(width, depth) * r->mass);
    pass->momentum_scale = down * scale_for(r->momentum);
    pass->force_scale = down * scale_for(r->force);
    pass->harmless = 1 / (pass->mass_scale * (float)s->least_mass);
}

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

/* ---- Limits ----------------------------------------------------------------------------------- */

static void reset_outcome(backend *s)
{
    cudaMemsetAsync(s->out, 0, sizeof *s->out, s->stream);
}

static firn_status see_outcome(backend *s)
{
    cudaMemcpyAsync(s->seen, s->out, sizeof *s->out, cudaMemcpyDeviceToHost, s->stream);
    return cuda_check(cudaStreamSynchronize(s->stream), "taking a step");
}

static void keep_limits(backend *s)
{
    const particle_most *most = &s->seen->most;
    double log_wave2 = most->wave2 ? of_ordered_bits(most->wave2) : -HUGE_VAL;
    s->frame_range = 0;
    for (int a = 0; a < 3; a++) {
        double high = most->velocity[a] ? of_ordered_bits(most->velocity[a]) : 0;
        double low = most->backward[a] ? -of_ordered_bits(most->backward[a]) : 0;
        s->frame[a] = (float)(0.5 * (low + high));
        s->frame_range = fmax(s->frame_range, fmax(high - s->frame[a], s->frame[a] - low));
    }
    s->limits.max_speed = sqrt(float_of(most->speed2));
    s->limits.max_wave_speed = exp(0.5 * log_wave2);
    s->max_affine = float_of(most->affine);
    s->max_stress = most->stress ? exp((double)of_ordered_bits(most->stress)) : 0;
    s->limits_known = true;
}

static float stencil_reach(const backend *s)
{
    return s->settings->kernel == FIRN_CUBIC ? 2.0f : 1.5f;
}

static pass_view pass_of(backend *s, double dt)
{
    pass_view pass = {};
    pass.p = s->p;
    pass.grid = s->grid;
    pass.bodies = s->bodies.set;
    pass.out = s->out;
    pass.home = s->key;
    pass.touching = (uint32_t *)s->spare;
    pass.dt = (float)dt;
    pass.inv_h = 1 / (float)s->settings->cell_size;
    pass.blend = s->apic ? 0 : (float)s->settings->blend;
    pass.cell_size = s->settings->cell_size;
    pass.origin = place_origin(s->settings);
    for (int a = 0; a < 3; a++) {
        pass.gravity[a] = (float)s->settings->gravity[a];
        pass.frame[a] = (float)s->frame[a];
    }
    pass.series = stress_series_plan_for(s->largest_strain);
    pass.reach = stencil_reach(s);
    pass.cell_speed = dt > 0 ? (float)(s->settings->cell_size / dt) : 0;
    pass.planar = s->settings->dimensions == 2;
    return pass;
}

static void find_limits(backend *s)
{
    reset_outcome(s);
    waves_launch(&s->p, s->count, s->stream);
    pass_view pass = pass_of(s, 0);
    float inv_D = s->settings->kernel == FIRN_CUBIC ? 3 : 4;
    limits_launch(&pass, s->count, s->apic ? inv_D * pass.reach : 0, s->stream);
    if (see_outcome(s) != FIRN_OK)
        return;
    keep_limits(s);
    s->largest_mass = float_of(s->seen->max_mass);
    s->least_mass = 1 / fmax(float_of(s->seen->max_lightness), FLT_MIN);
    s->largest_strain = float_of(s->seen->max_strain);
}

void cuda_limits(backend *s, step_limits *limits)
{
    if (!s->limits_known)
        find_limits(s);
    *limits = s->limits;
}

/* ---- Stepping --------------------------------------------------------------------------------- */

static firn_status prepare(backend *s)
{
    if (!s->limits_known)
        find_limits(s);
    if (s->sorted && !s->drifted && s->steps_since_sort < SORT_EVERY)
        return FIRN_OK;
    bool first = !s->sorted;
    firn_status status = sort_particles(s);
    if (status == FIRN_OK && first)
        for (int a = 0; a < 3; a++)
            device_free(&s->start[a]);
    s->drifted = false;
    return status;
}

/* Steps 1 and 3. */
static void rasterize(backend *s, const pass_view *pass)
{
    cudaMemsetAsync(s->grid.nodes, 0, (size_t)s->grid.block_count * BLOCK_CELLS * s->node_bytes,
                    s->stream);
    s->run.p2g(pass, s->stream);
}

/* Step 2, with ranges that hold. */
static firn_status find_volumes(backend *s, pass_view *pass, sum_ranges *ranges)
{
    for (;;) {
        set_scales(s, pass, ranges);
        reset_outcome(s);
        rasterize(s, pass);
        s->run.grid(pass, s->stream);
        firn_status status = see_outcome(s);
        if (status != FIRN_OK)
            return status;
        if (!widen(s->seen, ranges))
            break;
    }
    rasterize(s, pass);
    s->run.volumes(pass, s->stream);
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

/* Steps 1 to 10, whose sums may turn out not to hold: then nothing has changed. G2P waits where nodes
 * are wild, until a trial has shown that nothing goes wrong. */
static firn_status try_pass(backend *s, pass_view *pass, const sum_ranges *ranges,
                            const step_plan *plan, step_report *report)
{
    firn_status status = FIRN_OK;
    set_scales(s, pass, ranges);
    reset_outcome(s);
    rasterize(s, pass);
    cudaEventRecord(s->mark[MARK_P2G], s->stream);
    if (plan->implicit)
        status = solver_note(s, pass);
    s->run.grid(pass, s->stream);
    cudaEventRecord(s->mark[MARK_GRID], s->stream);
    if (plan->implicit && status == FIRN_OK)
        status = solve(s, plan, report);
    if (status != FIRN_OK)
        return status;
    cudaEventRecord(s->mark[MARK_SOLVED], s->stream);
    s->run.g2p(pass, s->stream);
    cudaEventRecord(s->mark[MARK_END], s->stream);
    status = cuda_check(cudaGetLastError(), "taking a step");
    return status == FIRN_OK ? see_outcome(s) : status;
}

static firn_status try_particles(backend *s, pass_view *pass)
{
    s->run.try_g2p(pass, s->stream);
    firn_status status = see_outcome(s);
    if (status != FIRN_OK || s->seen->bad_row_mark)
        return status;
    pass->tried = true;
    s->run.g2p(pass, s->stream);
    cudaEventRecord(s->mark[MARK_END], s->stream);
    return see_outcome(s);
}

static void charge_stages(backend *s, step_report *report)
{
    const firn_stage stage[MARKS] = {FIRN_STAGE_SORT, FIRN_STAGE_SORT,  FIRN_STAGE_P2G,
                                     FIRN_STAGE_GRID, FIRN_STAGE_SOLVE, FIRN_STAGE_G2P};
    for (int k = 1; k < MARKS; k++) {
        float ms = 0;
        if (cudaEventElapsedTime(&ms, s->mark[k - 1], s->mark[k]) == cudaSuccess)
            report->stage_ms[stage[k]] += ms;
    }
}

/* Names the first particle that went wrong, and what did. */
static firn_status report_bad(backend *s, pass_view *pass, step_report *report)
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
static float calm_of(backend *s, double dt)
{
    if (s->steps == 0)
        return -1;
    double low[3], high[3], bodies = 0;
    if (s->colliders->limits_steps) {
        cuda_bounds(s, low, high);
        bodies = calm_body_speed(s->colliders, low, high);
    }
    return calm_speed(s->settings, dt, s->limits.max_speed, bodies);
}

firn_status cuda_step(backend *s, const step_plan *plan, step_report *report)
{
    *report = (step_report){};
    cudaEventRecord(s->mark[MARK_BEGIN], s->stream);
    firn_status status = prepare(s);
    if (status == FIRN_OK && s->colliders->limits_steps)
        status = bodies_move(s->colliders, &s->bodies, s->stream);
    if (status != FIRN_OK || s->count == 0)
        return status;
    pass_view pass = pass_of(s, plan->dt);
    if (s->bodies.set && (s->colliders->limits_steps || s->steps_since_sort == 0))
        s->run.bodies(&pass, s->stream);
    cudaEventRecord(s->mark[MARK_SORTED], s->stream);
    pass.calm = calm_of(s, plan->dt);
    sum_ranges ranges = ranges_of(s, plan->dt);
    if (plan->first && s->settings->rest_volume == FIRN_VOLUME_GRID)
        status = find_volumes(s, &pass, &ranges);
    do {
        if (status == FIRN_OK)
            status = try_pass(s, &pass, &ranges, plan, report);
    } while (status == FIRN_OK && widen(s->seen, &ranges));
    if (status == FIRN_OK && s->seen->wild)
        status = try_particles(s, &pass);
    if (status != FIRN_OK)
        return status;
    charge_stages(s, report);
    report->active_nodes = s->seen->active_nodes;
    if (s->seen->bad_row_mark)
        return report_bad(s, &pass, report);
    keep_limits(s);
    s->drifted = s->seen->drifted != 0;
    s->steps_since_sort++;
    s->steps++;
    return FIRN_OK;
}
