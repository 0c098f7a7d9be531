/* See analyze_runtime.h. */
#include "analyze_runtime.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- One fit --------------------------------------------------------------------------------- */

/* T = a P + b N + c over everything that was measured without bodies. Only a GPU needs the c. */
typedef struct model {
    double a, b, c, error;
} model;

static size_t gather(const table *t, const char *backend, size_t P, size_t N, size_t T, double *x,
                     double *y)
{
    size_t count = 0, length = strlen(backend);
    for (size_t k = 0; k < t->rows; k++) {
        char end = t->labels[k][length < strlen(t->labels[k]) ? length : 0];
        if (strncmp(t->labels[k], backend, length) || (strlen(t->labels[k]) > length && end != ';'))
            continue;
        x[3 * count] = table_value(t, k, P);
        x[3 * count + 1] = table_value(t, k, N);
        x[3 * count + 2] = 1;
        y[count++] = table_value(t, k, T);
    }
    return count;
}

static model fit_model(const runtime_tables *t, const runner *r)
{
    size_t rows = t->particles->rows + t->filling->rows + t->spread->rows;
    double *x = calloc(3 * rows + 1, sizeof *x), *y = calloc(rows + 1, sizeof *y), c[3] = {0};
    if (!x || !y)
        abort();
    size_t n = gather(t->particles, r->label, 1, 2, 3, x, y);
    n += gather(t->filling, r->label, 1, 2, 3, x + 3 * n, y + n);
    n += gather(t->spread, r->label, 2, 1, 3, x + 3 * n, y + n);
    int terms = r->on_gpu ? 3 : 2;
    for (size_t k = 0; k < n && terms == 2; k++)
        x[2 * k] = x[3 * k], x[2 * k + 1] = x[3 * k + 1];
    double error = fit_linear(n, terms, x, y, c);
    free(x);
    free(y);
    return (model){c[0], c[1], c[2], error};
}

/* NAN when too few blocks are large. */
static double particle_slope(const table *t, const runner *r)
{
    series all = table_series(t, r->label, 1, 3), large = {0, all.x, all.y};
    for (size_t k = 0; k < all.count; k++)
        if (all.x[k] >= r->settled) {
            large.x[large.count] = all.x[k];
            large.y[large.count++] = all.y[k];
        }
    double slope = large.count > 2 ? series_slope(&large) : NAN;
    series_free(&all);
    return slope;
}

/* ---- Figures --------------------------------------------------------------------------------- */

/* The curves of a plot, one after the other. */
typedef struct curves {
    char *text; /* up to date after fflush */
    size_t size;
    FILE *out;
} curves;

static void curves_begin(curves *c)
{
    if (!(c->out = open_memstream(&c->text, &c->size)))
        abort();
}

__attribute__((format(printf, 2, 3))) static void curve(curves *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs(ftell(c->out) > 0 ? ", \\\n " : "", c->out);
    vfprintf(c->out, format, args);
    va_end(args);
    fflush(c->out);
}

static void curves_end(curves *c)
{
    fclose(c->out);
    free(c->text);
}

static void report_particles(report *r, const runtime_tables *t, const runner *runners,
                             size_t count)
{
    curves c;
    curves_begin(&c);
    curve(&c, "x * 2e-6 with lines lc rgb '#999999' dt 2 title 'slope 1: O(P), the thesis'");
    for (size_t k = 0; k < count; k++) {
        double slope = particle_slope(t->particles, &runners[k]);
        char told[32] = "";
        if (!isnan(slope))
            snprintf(told, sizeof told, ": slope %.2f", slope);
        curve(&c,
              "'runtime_particles.csv' using (only('%s', 2)):4 with linespoints lt %zu title "
              "'%s%s'",
              runners[k].label, k + 1, runners[k].label, told);
    }
    report_figure(
        r, "runtime_particles", 430, "runtime_particles.csv",
        "Time of one step against particles, in blocks of 8 particles a cell that grow. The dashed "
        "line is exactly linear: the shape that the thesis reports for its single-threaded program "
        "on an i5-3570K (figures 4.5 and 4.6). Its figures have no table, so only the shape can be "
        "compared.",
        "set logscale xy\nset format x '10^{%%T}'\nset format y '10^{%%T}'\n"
        "set xlabel 'particles'\nset ylabel 'time of one step (s)'\nplot %s\n",
        c.text);
    curves_end(&c);
}

static void report_filling(report *r, const runner *runners, size_t count)
{
    curves c;
    curves_begin(&c);
    for (size_t k = 0; k < count; k++)
        for (int n = 0; n < 2 && !runners[k].brief; n++) {
            int cells = cube(FILLING_SIDES[n] * runners[k].scale);
            curve(&c,
                  "'runtime_filling.csv' using (only('%s; %d cells', 2)):4 with linespoints lt %zu "
                  "dt %d title '%s, %d cells'",
                  runners[k].label, cells, k + 1, n + 1, runners[k].label, cells);
        }
    report_figure(
        r, "runtime_filling", 430, "runtime_filling.csv",
        "The same block of cells filled with more and more particles, from 1 a cell on (the "
        "thesis&rsquo;s figure 4.6). Lines begin flat where nodes cost as much as "
        "particles, and end with slope 1.",
        "set logscale xy\nset format x '10^{%%T}'\nset format y '10^{%%T}'\n"
        "set xlabel 'particles in the block'\nset ylabel 'time of one step (s)'\nplot %s\n",
        c.text);
    curves_end(&c);
}

static void report_spread(report *r, const runtime_tables *t, const runner *runners, size_t count)
{
    curves c;
    curves_begin(&c);
    for (size_t k = 0; k < count; k++)
        for (int n = 0; n < 2 && !runners[k].brief; n++) {
            model m = fit_model(t, &runners[k]);
            int P = cube(SPREAD_SIDES[n] * runners[k].scale);
            curve(&c,
                  "'runtime_nodes.csv' using (only('%s; %d particles', 2)):4 with points lt %zu pt "
                  "%d title '%s, %d particles', [%d:%d] %.6g + %.6g * x with lines lt %zu lw 0.7 "
                  "notitle",
                  runners[k].label, P, k + 1, n ? 7 : 6, runners[k].label, P, P / 3, 70 * P,
                  m.a * P + m.c, m.b, k + 1);
        }
    report_figure(
        r, "runtime_nodes", 430, "runtime_nodes.csv",
        "The same particles spread over more and more grid nodes, from 64 particles a cell to "
        "particles alone (the thesis&rsquo;s figure 4.5). Thin lines: the one fit "
        "<i>a P + b N</i> for all measurements of a backend (and a constant on a GPU). Only nodes "
        "that snow touches exist in Firn; the thesis stores a whole box of them.",
        "set logscale xy\nset format x '10^{%%T}'\nset format y '10^{%%T}'\n"
        "set xlabel 'active nodes'\nset ylabel 'time of one step (s)'\nplot %s\n",
        c.text);
    curves_end(&c);
}

static void report_bodies(report *r, const runtime_tables *t, const runner *runners, size_t count)
{
    curves c;
    curves_begin(&c);
    for (size_t k = 0; k < count; k++)
        for (int far = 0; far < 2 && !runners[k].brief; far++) {
            char label[64];
            snprintf(label, sizeof label, "%s; %s", runners[k].label, far ? "far" : "near");
            series s = table_series(t->bodies, label, 1, 2);
            curve(&c,
                  "'runtime_colliders.csv' using (only('%s', 2)):($3/%.6g) with linespoints lt %zu "
                  "dt %d title '%s, %s'",
                  label, s.count ? s.y[0] : NAN, k + 1, far + 1, runners[k].label,
                  far ? "far from it" : "under the snow");
            series_free(&s);
        }
    report_figure(
        r, "runtime_colliders", 430, "runtime_colliders.csv",
        "Time of one step against the number of bodies, relative to one body. "
        "<code>ref</code> asks every body at every node and particle, as the thesis does: "
        "linear in C, wherever they are. The others ask, block by block, only those "
        "within reach, and bodies far away cost nothing.",
        "set xlabel 'colliders'\nset ylabel 'time of one step / with one collider'\n"
        "set yrange [0.8:]\nplot %s\n",
        c.text);
    curves_end(&c);
}

/* From so many particles on, that what the process holds besides does not show. */
static double weighty(const runner *r)
{
    return r->on_gpu ? 1e5 : 4000;
}

static void report_memory(report *r, const runner *runners, size_t count)
{
    curves c;
    curves_begin(&c);
    for (size_t k = 0; k < count; k++)
        if (!runners[k].brief)
            curve(&c,
                  "'runtime_particles.csv' using ($2 < %g ? NaN : only('%s', 2)):($5/1e6) with "
                  "linespoints lt %zu title '%s%s'",
                  weighty(&runners[k]), runners[k].label, k + 1, runners[k].label,
                  runners[k].on_gpu ? " (of the GPU)" : "");
    report_figure(r, "runtime_memory", 430, "runtime_particles.csv",
                  "Memory that a simulation holds between two steps, for the blocks of the first "
                  "figure: particles, grid and lists.",
                  "set logscale xy\nset format x '10^{%%T}'\nset xlabel 'particles'\n"
                  "set ylabel 'memory (MB)'\nplot %s\n",
                  c.text);
    curves_end(&c);
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* Bytes a particle of the largest block. */
static double bytes_a_particle(const table *t, const runner *r)
{
    series s = table_series(t, r->label, 1, 4);
    double bytes = s.count ? s.y[s.count - 1] / s.x[s.count - 1] : NAN;
    series_free(&s);
    return bytes;
}

static void answer(report *r, const runtime_tables *t, const runner *who)
{
    model m = fit_model(t, who);
    char fixed[64] = "";
    if (who->on_gpu)
        snprintf(fixed, sizeof fixed, "%.2g ms, and ", 1e3 * m.c);
    report_say(r, "Answer",
               "<code>%s</code>: a step takes <b>%s%.*f ns a particle and %.2g ns a node</b> "
               "(one fit to all measurements without bodies, with a relative error of %.0f %%), "
               "and a particle of the largest block, with its nodes, %.0f bytes%s.",
               who->label, fixed, m.a > 1e-8 ? 0 : 2, 1e9 * m.a, 1e9 * m.b, 100 * m.error,
               bytes_a_particle(t->particles, who),
               who->on_gpu ? " of the GPU&rsquo;s memory" : "");
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

static void conclude(report *r, const runtime_tables *t, const runner *runners, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        char name[64], meaning[160];
        double slope = particle_slope(t->particles, &runners[k]);
        if (runners[k].brief || isnan(slope)) /* what else the machine does would count */
            continue;
        snprintf(name, sizeof name, "slope in particles: %s", runners[k].label);
        snprintf(meaning, sizeof meaning, "Exponent of the time in particles, <code>%s</code>",
                 runners[k].label);
        report_conclusion(r, name, slope, 0.9, 1.1, "", meaning);
    }
    if (has_backend("ref"))
        report_conclusion(r, "linear in colliders: ref", bodies_error(t->bodies), 0, 0.1, "",
                          "Relative error of a straight line through the time against bodies, "
                          "<code>ref</code>");
    for (size_t k = 0; k < count; k++) {
        char label[64], name[64], meaning[160];
        if (runners[k].brief || !strcmp(runners[k].backend, "ref"))
            continue;
        snprintf(label, sizeof label, "%s; far", runners[k].label);
        snprintf(name, sizeof name, "far colliders are free: %s", runners[k].label);
        snprintf(meaning, sizeof meaning,
                 "Time with the most bodies far away, relative to one, <code>%s</code>",
                 runners[k].label);
        series far = table_series(t->bodies, label, 1, 2);
        report_conclusion(r, name, series_max(&far) / far.y[0], 0, 1.5, "", meaning);
        series_free(&far);
    }
}

static void report_runtime(study *s, report *r)
{
    runtime_tables t = open_runtime_tables(s);
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
               "the processor&rsquo;s clock, several and a GPU by the clock on the wall; the "
               "fastest of several repeats counts.%s",
               has_backend("cuda") ? "" : " This machine has no GPU that could join.");
    report_particles(r, &t, runners, count);
    report_filling(r, runners, count);
    report_spread(r, &t, runners, count);
    report_bodies(r, &t, runners, count);
    report_memory(r, runners, count);
    for (size_t k = 0; k < count; k++)
        if (!runners[k].brief)
            answer(r, &t, &runners[k]);
    conclude(r, &t, runners, count);
    report_say(
        r, "The thesis",
        "is right that a step is linear in particles and in nodes. It kept the number of bodies "
        "the same throughout, so its factor C was never measured; measured here, it is true of a "
        "solver that asks all bodies everywhere, and it is avoidable. Its N is the whole "
        "box of nodes, filled or not; with a sparse grid N is at most 64 P, so that the cost is "
        "linear in P alone whatever the size of the scene.");
}

const study_kind runtime_study = {"runtime", "Run time: what does a step cost?", measure_runtime,
                                  report_runtime};
