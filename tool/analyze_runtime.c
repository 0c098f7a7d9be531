/*
 * Study: what does a step cost? Time and memory against particles, nodes and colliders, on each
 * backend of this build. The claim is O(P C + N C) (thesis, section 4.4).
 *
 * One thread is timed by the processor's clock of this process, so that other programs do not
 * count; several threads by the wall's. The fastest of several repeats counts: everything else is
 * disturbance.
 */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze_report.h"
#include "machine.h"
#include "progress.h"

static const double H = 0.01, DENSITY = 400;

/* ---- One measurement ------------------------------------------------------------------------- */

typedef struct cost {
    double seconds; /* a step */
    double nodes;
    double bytes; /* that the simulation holds */
} cost;

static double clock_of(int threads)
{
    struct timespec now;
    clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* side^3 particles, `spacing` cells apart and a little out of order, moving apart slowly. Owned. */
static firn_sim *make_lattice(study *s, const firn_scene *scene, const char *backend, int threads,
                              int side, double spacing)
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
    const firn_sim_options options = {.backend = backend, .threads = threads};
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
static bool time_steps(study *s, firn_sim *sim, int threads, cost *c)
{
    const int repeats = s->quick ? 4 : 7;
    const double least = s->quick ? 0.01 : 0.03;
    size_t steps = 1;
    c->seconds = INFINITY;
    for (int k = 0; k < repeats; k++) {
        double begin = clock_of(threads);
        if (!study_steps(s, sim, steps))
            return false;
        double took = clock_of(threads) - begin;
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
static bool measure(study *s, const char *backend, int threads, int side, double spacing,
                    const char *colliders, cost *c)
{
    *c = (cost){NAN, NAN, NAN};
    firn_scene *scene = study_scene(s,
                                    "simulation: {dimensions: 3, cell_size: %g, fps: 0.01, "
                                    "rest_volume: sampled}\n%s",
                                    H, colliders);
    if (!scene)
        return false;
    malloc_trim(0);
    double before = memory_now_bytes();
    firn_sim *sim = make_lattice(s, scene, backend, threads, side, spacing);
    firn_stats stats = {0};
    bool good = sim && study_steps(s, sim, 3) && study_stats(s, sim, &stats);
    malloc_trim(0);
    c->bytes = memory_now_bytes() - before;
    c->nodes = (double)stats.active_nodes;
    good = good && time_steps(s, sim, threads, c);
    firn_sim_destroy(&sim);
    firn_scene_destroy(&scene);
    return good;
}

/* ---- The cases ------------------------------------------------------------------------------- */

typedef struct runner {
    const char *label, *backend;
    int threads;
    int largest;    /* side of the largest block */
    double settled; /* particles from which fixed costs no longer show */
} runner;

enum { RUNNERS = 4 };
static size_t list_runners(const study *s, runner runners[RUNNERS])
{
    size_t count = 0;
    if (has_backend("ref"))
        runners[count++] = (runner){"ref", "ref", 1, s->quick ? 25 : 40, 1000};
    if (has_backend("cpu"))
        runners[count++] = (runner){"cpu", "cpu", 1, s->quick ? 40 : 81, 4000};
    if (has_backend("cpu") && processor_count() > 1)
        runners[count++] =
            (runner){"cpu all threads", "cpu", processor_count(), s->quick ? 40 : 81, 4000};
    if (has_backend("cuda")) /* more than one thread: by the wall's clock */
        runners[count++] = (runner){"cuda", "cuda", 2, s->quick ? 81 : 161, 1e6};
    return count;
}

typedef struct tables {
    table *particles, *filling, *spread, *bodies;
} tables;

static tables open_tables(study *s)
{
    char machine[256];
    machine_text(machine);
    for (char *at = machine; *at; at++)
        *at = *at == ',' ? ';' : *at;
    return (tables){
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

static void close_tables(tables *t)
{
    table_close(&t->particles);
    table_close(&t->filling);
    table_close(&t->spread);
    table_close(&t->bodies);
}

/* Blocks of 8 particles a cell that grow. */
static void measure_particles(study *s, table *t, const runner *r)
{
    const int sides[] = {10, 13, 16, 20, 25, 32, 40, 51, 64, 81};
    for (size_t k = 0; k < sizeof sides / sizeof *sides; k++) {
        cost c;
        if (sides[k] > r->largest || !table_want(t))
            continue;
        if (measure(s, r->backend, r->threads, sides[k], 0.5, "", &c))
            table_add(t, ROW(pow(sides[k], 3), c.nodes, c.seconds, c.bytes), "%s", r->label);
    }
}

/* A block of given size, filled with more and more particles: figure 4.6. */
static void measure_filling(study *s, table *t, const runner *r)
{
    const int cells[] = {6, 12};
    for (size_t n = 0; n < 2; n++)
        for (int a_side = 1; a_side <= (s->quick ? 3 : 5); a_side++) {
            cost c;
            if (cells[n] * a_side > (s->quick ? 24 : 60) || !table_want(t))
                continue;
            int side = cells[n] * a_side;
            if (measure(s, r->backend, r->threads, side, 1.0 / a_side, "", &c))
                table_add(t, ROW(pow(side, 3), c.nodes, c.seconds), "%s; %d cells", r->label,
                          cells[n] * cells[n] * cells[n]);
        }
}

/* The same particles over more and more nodes: figure 4.5. */
static void measure_spread(study *s, table *t, const runner *r)
{
    const int sides[] = {8, 16};
    const double spacings[] = {0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4};
    for (size_t n = 0; n < 2; n++)
        for (size_t k = 0; k < sizeof spacings / sizeof *spacings; k += s->quick ? 2 : 1) {
            cost c;
            if (!table_want(t))
                continue;
            if (measure(s, r->backend, r->threads, sides[n], spacings[k], "", &c))
                table_add(t, ROW(c.nodes, pow(sides[n], 3), c.seconds), "%s; %d particles",
                          r->label, sides[n] * sides[n] * sides[n]);
        }
}

/* Bodies that reach into the grid of the snow, and bodies that do not. */
static void measure_bodies(study *s, table *t, const runner *r)
{
    const int side = s->quick ? 10 : 16;
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
            if (measure(s, r->backend, r->threads, side, 0.5, lines, &c))
                table_add(t, ROW(count, c.seconds, pow(side, 3), c.nodes), "%s; %s", r->label,
                          far ? "far" : "near");
        }
}

static void measure_runtime(study *s)
{
    tables t = open_tables(s);
    runner runners[RUNNERS];
    size_t count = list_runners(s, runners);
    for (size_t k = 0; k < count; k++) {
        measure_particles(s, t.particles, &runners[k]);
        if (runners[k].threads > 1)
            continue;
        measure_filling(s, t.filling, &runners[k]);
        measure_spread(s, t.spread, &runners[k]);
        measure_bodies(s, t.bodies, &runners[k]);
    }
    close_tables(&t);
}

/* ---- The report ------------------------------------------------------------------------------ */

/* T = a P + b N over everything that was measured without bodies. */
typedef struct model {
    double a, b, error;
} model;

static size_t gather(const table *t, const char *backend, size_t P, size_t N, size_t T, double *x,
                     double *y)
{
    size_t count = 0, length = strlen(backend);
    for (size_t k = 0; k < t->rows; k++) {
        char end = t->labels[k][length < strlen(t->labels[k]) ? length : 0];
        if (strncmp(t->labels[k], backend, length) || (strlen(t->labels[k]) > length && end != ';'))
            continue;
        x[2 * count] = table_value(t, k, P);
        x[2 * count + 1] = table_value(t, k, N);
        y[count++] = table_value(t, k, T);
    }
    return count;
}

static model fit_model(const tables *t, const char *backend)
{
    size_t rows = t->particles->rows + t->filling->rows + t->spread->rows;
    double *x = calloc(2 * rows + 1, sizeof *x), *y = calloc(rows + 1, sizeof *y), c[2] = {0};
    if (!x || !y)
        abort();
    size_t n = gather(t->particles, backend, 1, 2, 3, x, y);
    n += gather(t->filling, backend, 1, 2, 3, x + 2 * n, y + n);
    n += gather(t->spread, backend, 2, 1, 3, x + 2 * n, y + n);
    double error = fit_linear(n, 2, x, y, c);
    free(x);
    free(y);
    return (model){c[0], c[1], error};
}

static double particle_slope(const table *t, const runner *r)
{
    series all = table_series(t, r->label, 1, 3), large = {0, all.x, all.y};
    for (size_t k = 0; k < all.count; k++)
        if (all.x[k] >= r->settled) {
            large.x[large.count] = all.x[k];
            large.y[large.count++] = all.y[k];
        }
    double slope = series_slope(&large);
    series_free(&all);
    return slope;
}

static void report_particles(report *r, const tables *t, const runner *runners, size_t count)
{
    char lines[2048] = "";
    size_t length = 0;
    for (size_t k = 0; k < count; k++)
        length += (size_t)snprintf(
            lines + length, sizeof lines - length,
            ", \\\n 'runtime_particles.csv' using (only('%s', 2)):4 with linespoints lt %zu title "
            "'%s: slope %.2f'",
            runners[k].label, k + 1, runners[k].label, particle_slope(t->particles, &runners[k]));
    report_figure(
        r, "runtime_particles", 430, "runtime_particles.csv",
        "Time of one step against particles, in blocks of 8 particles a cell that grow. The dashed "
        "line "
        "is exactly linear: the shape that the thesis reports for its single-threaded program on "
        "an "
        "i5-3570K (figures 4.5 and 4.6). Its figures have no table, so only the shape can be "
        "compared.",
        "set logscale xy\nset format x '10^{%%T}'\nset format y '10^{%%T}'\n"
        "set xlabel 'particles'\nset ylabel 'time of one step (s)'\n"
        "plot x * 2e-6 with lines lc rgb '#999999' dt 2 title 'slope 1: O(P), the thesis'%s\n",
        lines);
}

static void report_filling(report *r, const tables *t, const runner *runners, size_t count)
{
    (void)t;
    char lines[4096] = "";
    size_t length = 0;
    for (size_t k = 0; k < count; k++)
        for (int n = 0; n < 2 && runners[k].threads == 1; n++)
            length += (size_t)snprintf(lines + length, sizeof lines - length,
                                       "%s 'runtime_filling.csv' using (only('%s; %d cells', 2)):4 "
                                       "with linespoints lt %zu dt %d title '%s, %d cells'",
                                       length ? ", \\\n" : "", runners[k].label, n ? 1728 : 216,
                                       k + 1, n + 1, runners[k].label, n ? 1728 : 216);
    report_figure(
        r, "runtime_filling", 430, "runtime_filling.csv",
        "The same block of cells filled with more and more particles, from 1 a cell on (the "
        "thesis&rsquo;s figure 4.6). Lines begin flat where nodes cost as much as "
        "particles, and end with slope 1.",
        "set logscale xy\nset format y '10^{%%T}'\nset xlabel 'particles in the block'\n"
        "set ylabel 'time of one step (s)'\nplot %s\n",
        lines);
}

static void report_spread(report *r, const tables *t, const runner *runners, size_t count)
{
    char lines[4096] = "";
    size_t length = 0;
    for (size_t k = 0; k < count; k++)
        for (int n = 0; n < 2 && runners[k].threads == 1; n++) {
            model m = fit_model(t, runners[k].label);
            int P = n ? 4096 : 512;
            length += (size_t)snprintf(lines + length, sizeof lines - length,
                                       "%s 'runtime_nodes.csv' using (only('%s; %d particles', "
                                       "2)):4 with points lt %zu pt %d "
                                       "title '%s, %d particles', [%d:%d] %.6g + %.6g * x with "
                                       "lines lt %zu lw 0.7 notitle",
                                       length ? ", \\\n" : "", runners[k].label, P, k + 1,
                                       n ? 7 : 6, runners[k].label, P, n ? 1300 : 250,
                                       n ? 300000 : 40000, m.a * P, m.b, k + 1);
        }
    report_figure(
        r, "runtime_nodes", 430, "runtime_nodes.csv",
        "The same particles spread over more and more grid nodes, from 64 particles a cell to "
        "particles alone (the thesis&rsquo;s figure 4.5). Thin lines: the one fit "
        "<i>a P + b N</i> for all measurements of a backend. Only nodes that snow touches "
        "exist in Firn; the thesis stores a whole box of them.",
        "set logscale xy\nset format x '10^{%%T}'\nset format y '10^{%%T}'\n"
        "set xlabel 'active nodes'\nset ylabel 'time of one step (s)'\nplot %s\n",
        lines);
}

static void report_bodies(report *r, const tables *t, const runner *runners, size_t count)
{
    char lines[4096] = "";
    size_t length = 0;
    for (size_t k = 0; k < count; k++)
        for (int far = 0; far < 2 && runners[k].threads == 1; far++) {
            char label[64];
            snprintf(label, sizeof label, "%s; %s", runners[k].label, far ? "far" : "near");
            series s = table_series(t->bodies, label, 1, 2);
            length +=
                (size_t)snprintf(lines + length, sizeof lines - length,
                                 "%s 'runtime_colliders.csv' using (only('%s', 2)):($3/%.6g) with "
                                 "linespoints lt %zu "
                                 "dt %d title '%s, %s'",
                                 length ? ", \\\n" : "", label, s.count ? s.y[0] : NAN, k + 1,
                                 far + 1, runners[k].label, far ? "far from it" : "under the snow");
            series_free(&s);
        }
    report_figure(
        r, "runtime_colliders", 430, "runtime_colliders.csv",
        "Time of one step against the number of bodies, relative to one body. "
        "<code>ref</code> asks every body at every node and particle, as the thesis does: "
        "linear in C, wherever they are. <code>cpu</code> asks, block by block, only those "
        "within reach, and bodies far away cost nothing.",
        "set xlabel 'colliders'\nset ylabel 'time of one step / with one collider'\n"
        "set yrange [0.8:]\nplot %s\n",
        lines);
}

static void report_memory(report *r, const runner *runners, size_t count)
{
    char lines[2048] = "";
    size_t length = 0;
    for (size_t k = 0; k < count; k++)
        if (runners[k].threads == 1)
            length +=
                (size_t)snprintf(lines + length, sizeof lines - length,
                                 "%s 'runtime_particles.csv' using ($2 < 4000 ? NaN : "
                                 "only('%s', 2)):($5/1e6) with "
                                 "linespoints lt %zu title '%s'",
                                 length ? ", \\\n" : "", runners[k].label, k + 1, runners[k].label);
    report_figure(r, "runtime_memory", 430, "runtime_particles.csv",
                  "Memory that a simulation holds between two steps, for the blocks of the first "
                  "figure: particles, grid and lists.",
                  "set logscale xy\nset format x '10^{%%T}'\nset xlabel 'particles'\n"
                  "set ylabel 'memory (MB)'\nplot %s\n",
                  lines);
}

/* Relative error of a straight line through the time against bodies under the snow. */
static double bodies_error(const table *t)
{
    series s = table_series(t, "ref; near", 1, 2);
    double *x = calloc(2 * s.count + 1, sizeof *x), c[2];
    if (!x)
        abort();
    for (size_t n = 0; n < s.count; n++)
        x[2 * n] = 1, x[2 * n + 1] = s.x[n];
    double error = fit_linear(s.count, 2, x, s.y, c);
    free(x);
    series_free(&s);
    return error;
}

static void conclude(report *r, const tables *t, const runner *runners, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        char name[64], meaning[160];
        if (runners[k].threads > 1) /* what else the machine does would count */
            continue;
        snprintf(name, sizeof name, "slope in particles: %s", runners[k].label);
        snprintf(meaning, sizeof meaning, "Exponent of the time in particles, <code>%s</code>",
                 runners[k].label);
        report_conclusion(r, name, particle_slope(t->particles, &runners[k]), 0.9, 1.1, "",
                          meaning);
    }
    if (has_backend("ref"))
        report_conclusion(r, "linear in colliders: ref", bodies_error(t->bodies), 0, 0.1, "",
                          "Relative error of a straight line through the time against bodies, "
                          "<code>ref</code>");
    if (has_backend("cpu")) {
        series far = table_series(t->bodies, "cpu; far", 1, 2);
        report_conclusion(r, "far colliders are free: cpu", series_max(&far) / far.y[0], 0, 1.5, "",
                          "Time with the most bodies far away, relative to one, <code>cpu</code>");
        series_free(&far);
    }
}

static void report_runtime(study *s, report *r)
{
    tables t = open_tables(s);
    runner runners[RUNNERS];
    size_t count = list_runners(s, runners);
    report_say(r, "Asked",
               "How does the time of a step grow with the number of particles P, of grid "
               "nodes N and of colliders C? The thesis derives O(P C + N C) and finds "
               "straight lines in its measurements.");
    report_say(r, "Done",
               "Blocks of snow are stepped on each solver of this build: growing with 8 "
               "particles a cell; of fixed size with ever more particles; of a fixed number of "
               "particles over ever more nodes; above ever more bodies. One thread is timed by "
               "the processor&rsquo;s clock; the fastest of several repeats counts.");
    report_particles(r, &t, runners, count);
    report_filling(r, &t, runners, count);
    report_spread(r, &t, runners, count);
    report_bodies(r, &t, runners, count);
    report_memory(r, runners, count);
    for (size_t k = 0; k < count; k++) {
        model m = fit_model(&t, runners[k].label);
        if (runners[k].threads == 1)
            report_say(
                r, "Answer",
                "<code>%s</code>: a step takes <b>%.0f ns a particle and %.0f ns a node</b> "
                "(one fit to all measurements without bodies, with a relative error of %.0f %%).",
                runners[k].label, 1e9 * m.a, 1e9 * m.b, 100 * m.error);
    }
    conclude(r, &t, runners, count);
    report_say(
        r, "The thesis",
        "is right that a step is linear in particles and in nodes. It kept the number of bodies "
        "the same throughout, so its factor C was never measured; measured here, it is true of a "
        "solver that asks all bodies everywhere, and it is avoidable. Its N is the whole "
        "box of nodes, filled or not; with a sparse grid N is at most 64 P, so that the cost is "
        "linear in P alone whatever the size of the scene.");
    close_tables(&t);
}

const study_kind runtime_study = {"runtime", "Run time: what does a step cost?", measure_runtime,
                                  report_runtime};
