#include "bench_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "firn/advance.h"
#include "machine.h"
#include "progress.h"
#include "run_folder.h"

enum { WARM_UP_STEPS = 20, IMPACT_STEPS_MAX = 2000, BLOCK_PARTICLES_PER_CELL = 8 };

/* ---- The scene ------------------------------------------------------------------------------- */

static firn_status load_block(const bench_request *q, firn_scene **scene)
{
    const double cell_size = 0.01;
    double side = cell_size * cbrt((double)q->particles / BLOCK_PARTICLES_PER_CELL);
    const char *integrator = q->integrator ? q->integrator : "explicit";
    bool is_implicit = strcmp(integrator, "semi_implicit") == 0;
    char *text = new_text(
        "name: block\n"
        "simulation: {dimensions: 3, frames: 1000, fps: 24, cell_size: %g, kernel: %s,\n"
        "             transfer: {type: %s}, integrator: {type: %s}, time_step: %s}\n"
        "materials: {packed: {preset: snow}}\n"
        "snow:\n"
        "  - name: block\n"
        "    shape: {box: {center: [0, %.17g, 0], size: [%.17g, %.17g, %.17g]}}\n"
        "    material: packed\n"
        "    sampling: {particles_per_cell: %d, method: poisson, seed: 1}\n"
        "    velocity: [0, -3, 0]\n"
        "colliders:\n"
        "  - {name: ground, shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}, friction: "
        "0.4}\n",
        cell_size, q->kernel, q->transfer, integrator, is_implicit ? "0.5e-3" : "auto", side / 2,
        side, side, side, BLOCK_PARTICLES_PER_CELL);
    firn_status status = firn_scene_parse(text, "block", q->sets, q->set_count, scene);
    free(text);
    return status;
}

static firn_status load_file(const bench_request *q, firn_scene **scene)
{
    char kernel[64], transfer[64], integrator[64];
    const char **sets = malloc((q->set_count + 3) * sizeof *sets);
    size_t count = q->set_count;
    if (!sets)
        abort();
    for (size_t n = 0; n < count; n++)
        sets[n] = q->sets[n];
    snprintf(kernel, sizeof kernel, "simulation.kernel=%s", q->kernel ? q->kernel : "");
    snprintf(transfer, sizeof transfer, "simulation.transfer.type=%s",
             q->transfer ? q->transfer : "");
    snprintf(integrator, sizeof integrator, "simulation.integrator.type=%s",
             q->integrator ? q->integrator : "");
    if (q->kernel)
        sets[count++] = kernel;
    if (q->transfer)
        sets[count++] = transfer;
    if (q->integrator)
        sets[count++] = integrator;
    firn_status status = firn_scene_load(q->scene, sets, count, scene);
    free(sets);
    return status;
}

static firn_status take_steps(firn_sim *sim, uint64_t count)
{
    const uint64_t end = firn_sim_steps(sim) + count;
    firn_status status = FIRN_OK;
    while (firn_sim_steps(sim) < end && status == FIRN_OK)
        status = firn_sim_advance(sim, end - firn_sim_steps(sim));
    return status;
}

/* Past the impact: some snow has been packed by one per cent for good. */
static firn_status wait_for_impact(firn_sim *sim)
{
    firn_stats stats = {.J_P_min = 1};
    firn_status status = FIRN_OK;
    while (status == FIRN_OK && stats.J_P_min > 0.99 && firn_sim_steps(sim) < IMPACT_STEPS_MAX) {
        status = take_steps(sim, WARM_UP_STEPS);
        if (status == FIRN_OK)
            status = firn_sim_stats(sim, &stats);
    }
    return status;
}

/* ---- The measurement ------------------------------------------------------------------------- */

typedef struct repeat {
    double seconds;
    firn_progress work;
} repeat;

static int by_seconds(const void *a, const void *b)
{
    double x = ((const repeat *)a)->seconds, y = ((const repeat *)b)->seconds;
    return (x > y) - (x < y);
}

static firn_status time_steps(const bench_request *q, firn_sim *sim, repeat *repeats)
{
    firn_status status = FIRN_OK;
    for (int k = 0; k < q->repeats && status == FIRN_OK; k++) {
        firn_sim_reset_progress(sim);
        double begin = clock_seconds();
        status = take_steps(sim, q->steps);
        repeats[k] = (repeat){.seconds = clock_seconds() - begin, .work = firn_sim_progress(sim)};
    }
    return status;
}

static firn_status measure(const bench_request *q, firn_sim *sim, bench_result *r)
{
    firn_status status = take_steps(sim, WARM_UP_STEPS);
    if (status == FIRN_OK && !q->scene)
        status = wait_for_impact(sim);
    repeat *repeats = calloc((size_t)q->repeats, sizeof *repeats);
    if (!repeats)
        abort();
    double time = firn_sim_time(sim);
    if (status == FIRN_OK)
        status = time_steps(q, sim, repeats);
    qsort(repeats, (size_t)q->repeats, sizeof *repeats, by_seconds);
    const repeat median = repeats[(q->repeats - 1) / 2];
    free(repeats);

    double particle_steps = (double)firn_sim_particle_count(sim) * (double)q->steps;
    double iterations = (double)median.work.solver_iterations;
    snprintf(r->backend, sizeof r->backend, "%s", firn_sim_backend(sim));
    r->particles = firn_sim_particle_count(sim);
    r->dt = (firn_sim_time(sim) - time) / (double)q->repeats / (double)q->steps;
    r->ns_per_particle_step = 1e9 * median.seconds / particle_steps;
    for (int s = 0; s < FIRN_STAGES; s++)
        r->stage_ns[s] = 1e6 * median.work.stage_ms[s] / particle_steps;
    double bodies = 1e6 * median.work.bodies_ms / particle_steps;
    r->bodies_ns = bodies > 0 ? bodies : NAN;
    r->solver_iterations = iterations / (double)q->steps;
    double solve_ns = 1e6 * median.work.stage_ms[FIRN_STAGE_SOLVE];
    r->ns_per_particle_iteration =
        iterations > 0 ? solve_ns / iterations / (double)r->particles : NAN;
    return status;
}

firn_status bench_measure(const bench_request *q, bench_result *r)
{
    firn_scene *scene = NULL;
    firn_sim *sim = NULL;
    firn_estimate estimate = {0};
    const firn_sim_options options = {.backend = q->backend, .threads = q->threads};
    firn_status status = q->scene ? load_file(q, &scene) : load_block(q, &scene);
    const bool is_block = !q->scene && q->set_count == 0;
    if (status == FIRN_OK && !is_block)
        status = firn_scene_estimate(scene, &options, &estimate);
    *r = (bench_result){.particles_per_cell =
                            is_block ? BLOCK_PARTICLES_PER_CELL : estimate.particles_per_cell};
    firn_estimate_clear(&estimate);
    if (status == FIRN_OK) {
        r->settings = *firn_scene_settings(scene);
        memory_forget_peak();
        status = firn_sim_create(scene, &options, &sim);
    }
    if (status == FIRN_OK)
        status = measure(q, sim, r);
    r->peak_bytes = memory_peak_bytes();
    firn_sim_destroy(&sim);
    firn_scene_destroy(&scene);
    return status;
}
