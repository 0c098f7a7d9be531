/*
 * One thread is timed by the processor's clock of this process, so that other programs do not
 * count; several threads and the GPU by the wall's. The fastest of several repeats counts:
 * everything else is disturbance.
 */
#include "analyze_runtime.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "machine.h"

static const double H = 0.01, DENSITY = 400;

/* ---- One measurement ------------------------------------------------------------------------- */

typedef struct cost {
    double seconds; /* a step */
    double nodes;
    double bytes; /* that the simulation holds */
} cost;

static double clock_of(const runner *r)
{
    struct timespec now;
    clock_gettime(r->by_wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* In use now, of the memory in which the backend keeps its particles. */
static double bytes_of(const runner *r)
{
    if (r->on_gpu)
        return -firn_gpu_free_bytes();
    malloc_trim(0);
    return memory_now_bytes();
}

/* side^3 particles, `spacing` cells apart and a little out of order, moving apart slowly. Owned. */
static firn_sim *make_lattice(study *s, const firn_scene *scene, const runner *r, int side,
                              double spacing)
{
    size_t count = (size_t)side * (size_t)side * (size_t)side;
    double *x = malloc(3 * count * sizeof *x), *v = malloc(3 * count * sizeof *v);
    double *m = malloc(count * sizeof *m), *volume = malloc(count * sizeof *volume);
    if (!x || !v || !m || !volume)
        abort();
    unsigned state = 1;
    for (size_t k = 0; k < count; k++) {
        size_t at[3] = {k % (size_t)side, k / (size_t)side % (size_t)side,
                        k / (size_t)(side * side)};
        for (int a = 0; a < 3; a++) {
            state = state * 1664525 + 1013904223;
            double noise = (double)(state >> 8) * 0x1p-24 - 0.5;
            x[3 * k + (size_t)a] = H * spacing * ((double)at[a] + 0.5 + 0.4 * noise);
            v[3 * k + (size_t)a] = 0.02 * noise;
        }
        volume[k] = pow(H * spacing, 3);
        m[k] = DENSITY * volume[k];
    }
    const firn_particles particles = {
        .count = count, .position = x, .velocity = v, .mass = m, .volume = volume};
    const firn_sim_options options = {.backend = r->backend, .threads = r->threads};
    firn_sim *sim = NULL;
    firn_status status = firn_sim_create_from_particles(scene, &options, &particles, &sim);
    if (status != FIRN_OK)
        study_fail(s, status);
    free(x);
    free(v);
    free(m);
    free(volume);
    return sim;
}

/* The fastest of `repeats` runs of at least `least` seconds each. */
static bool time_steps(study *s, firn_sim *sim, const runner *r, cost *c)
{
    const int repeats = s->quick ? 4 : 7;
    const double least = s->quick ? 0.01 : 0.03;
    size_t steps = 1;
    c->seconds = INFINITY;
    for (int k = 0; k < repeats; k++) {
        double begin = clock_of(r);
        if (!study_steps(s, sim, steps))
            return false;
        double took = clock_of(r) - begin;
        if (took < least && k == 0) {
            steps *= 2;
            k = -1;
            continue;
        }
        c->seconds = fmin(c->seconds, took / (double)steps);
    }
    return true;
}

/* `colliders`: lines of the scene, or "". */
static bool measure(study *s, const runner *r, int side, double spacing, const char *colliders,
                    cost *c)
{
    *c = (cost){NAN, NAN, NAN};
    firn_scene *scene = study_scene(s,
                                    "simulation: {dimensions: 3, cell_size: %g, fps: 0.01, "
                                    "rest_volume: sampled}\n%s",
                                    H, colliders);
    if (!scene)
        return false;
    double before = bytes_of(r);
    firn_sim *sim = make_lattice(s, scene, r, side, spacing);
    firn_stats stats = {0};
    bool good = sim && study_steps(s, sim, 3) && study_stats(s, sim, &stats);
    c->bytes = bytes_of(r) - before;
    c->nodes = (double)stats.active_nodes;
    good = good && time_steps(s, sim, r, c);
    firn_sim_destroy(&sim);
    firn_scene_destroy(&scene);
    return good;
}

/* ---- The cases ------------------------------------------------------------------------------- */

size_t list_runners(const study *s, runner runners[RUNNERS])
{
    const bool quick = s->quick;
    size_t count = 0;
    if (has_backend("ref"))
        runners[count++] = (runner){.label = "ref",
                                    .backend = "ref",
                                    .threads = 1,
                                    .scale = 1,
                                    .largest = quick ? 25 : 40,
                                    .settled = 1000};
    if (has_backend("cpu"))
        runners[count++] = (runner){.label = "cpu",
                                    .backend = "cpu",
                                    .threads = 1,
                                    .scale = 1,
                                    .largest = quick ? 40 : 81,
                                    .settled = 4000};
    if (has_backend("cpu") && processor_count() > 1)
        runners[count++] = (runner){.label = "cpu all threads",
                                    .backend = "cpu",
                                    .brief = true,
                                    .threads = processor_count(),
                                    .by_wall = true,
                                    .scale = 1,
                                    .largest = quick ? 40 : 81,
                                    .settled = 4000};
    if (has_backend("cuda"))
        runners[count++] = (runner){.label = "cuda",
                                    .backend = "cuda",
                                    .on_gpu = true,
                                    .by_wall = true,
                                    .scale = 4,
                                    .largest = quick ? 81 : 256,
                                    .settled = 4e6};
    return count;
}

runtime_tables open_runtime_tables(study *s)
{
    char machine[256];
    machine_text(machine);
    for (char *at = machine; *at; at++)
        *at = *at == ',' ? ';' : *at;
    return (runtime_tables){
        .particles = table_open(s, "runtime_particles",
                                "backend,particles,nodes,seconds a step,bytes", machine),
        .filling = table_open(s, "runtime_filling",
                              "backend and cells,particles,nodes,seconds a step", machine),
        .spread = table_open(s, "runtime_nodes",
                             "backend and particles,nodes,particles,seconds a step", machine),
        .bodies = table_open(s, "runtime_colliders",
                             "backend and place,colliders,seconds a step,particles,nodes", machine),
    };
}

/* Blocks of 8 particles a cell that grow. */
static void measure_particles(study *s, table *t, const runner *r)
{
    const int sides[] = {10, 13, 16, 20, 25, 32, 40, 51, 64, 81, 102, 128, 161, 203, 256};
    for (size_t k = 0; k < sizeof sides / sizeof *sides; k++) {
        cost c;
        if (sides[k] > r->largest || !table_want(t))
            continue;
        if (measure(s, r, sides[k], 0.5, "", &c))
            table_add(t, ROW(pow(sides[k], 3), c.nodes, c.seconds, c.bytes), "%s", r->label);
    }
}

/* A block of given size, filled with more and more particles: figure 4.6. */
static void measure_filling(study *s, table *t, const runner *r)
{
    for (int n = 0; n < 2; n++)
        for (int a_side = 1; a_side <= (s->quick ? 3 : 5); a_side++) {
            cost c;
            int side = FILLING_SIDES[n] * a_side * r->scale;
            if ((s->quick && FILLING_SIDES[n] * a_side > 24) || !table_want(t))
                continue;
            if (measure(s, r, side, 1.0 / a_side, "", &c))
                table_add(t, ROW(pow(side, 3), c.nodes, c.seconds), "%s; %d cells", r->label,
                          cube(FILLING_SIDES[n] * r->scale));
        }
}

/* The same particles over more and more nodes: figure 4.5. */
static void measure_spread(study *s, table *t, const runner *r)
{
    const double spacings[] = {0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4};
    for (int n = 0; n < 2; n++)
        for (size_t k = 0; k < sizeof spacings / sizeof *spacings; k += s->quick ? 2 : 1) {
            cost c;
            int side = SPREAD_SIDES[n] * r->scale;
            if (!table_want(t))
                continue;
            if (measure(s, r, side, spacings[k], "", &c))
                table_add(t, ROW(c.nodes, cube(side), c.seconds), "%s; %d particles", r->label,
                          cube(side));
        }
}

/* Bodies that reach into the grid of the snow, and bodies that do not. */
static void measure_bodies(study *s, table *t, const runner *r)
{
    const int side = (s->quick ? 10 : 16) * r->scale;
    for (int far = 0; far <= 1; far++)
        for (int count = 1; count <= 64; count *= s->quick ? 4 : 2) {
            cost c;
            if (!table_want(t))
                continue;
            char lines[8192] = "colliders:\n";
            size_t length = strlen(lines);
            for (int k = 0; k < count; k++)
                length += (size_t)snprintf(lines + length, sizeof lines - length,
                                           "  - shape: {sphere: {center: [0.04, %g, 0.04], "
                                           "radius: %g}}\n",
                                           (far ? -500 : -10) - 1e-5 * k, 9.999);
            if (measure(s, r, side, 0.5, lines, &c))
                table_add(t, ROW(count, c.seconds, pow(side, 3), c.nodes), "%s; %s", r->label,
                          far ? "far" : "near");
        }
}

void measure_runtime(study *s)
{
    runtime_tables t = open_runtime_tables(s);
    runner runners[RUNNERS];
    size_t count = list_runners(s, runners);
    for (size_t k = 0; k < count; k++) {
        measure_particles(s, t.particles, &runners[k]);
        if (runners[k].brief)
            continue;
        measure_filling(s, t.filling, &runners[k]);
        measure_spread(s, t.spread, &runners[k]);
        measure_bodies(s, t.bodies, &runners[k]);
    }
}
