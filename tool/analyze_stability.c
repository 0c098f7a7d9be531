/*
 * Study: is it stable? Particles alone, and few together, at and near the places where one of the
 * nodes that they touch weighs next to nothing (thesis, section 4.1): the solvers beside the method
 * as one would first write it down (textbook.h), in float and double.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze_flight.h"
#include "analyze_report.h"

static const double H = 0.01, WAVE = 19.72; /* m; m/s: the paper's snow, table 2 */
static const double CFL = 0.587;            /* what `cfl: auto` is for it: docs/method.md */

enum { HISTORY = 60, HISTORY_EVERY = 5, CLOUD = 27 };

typedef struct tables {
    table *kick, *drift, *growth, *history;
} tables;

static tables open_tables(study *s)
{
    char head[1024];
    size_t length = (size_t)snprintf(head, sizeof head, "case");
    for (int k = 1; k <= HISTORY; k++)
        length +=
            (size_t)snprintf(head + length, sizeof head - length, ",strain %d", k * HISTORY_EVERY);
    return (tables){
        .kick = table_open(s, "stability_kick",
                           "method,offset (cells),node (m/s),velocity gradient (1/s)", ""),
        .drift = table_open(s, "stability_drift",
                            "method and cloud,offset (cells),energy error,strain,first velocity "
                            "gradient x h / v",
                            ""),
        .growth = table_open(s, "stability_growth",
                             "method and offset,c dt / h,growth a step,largest strain", ""),
        .history = table_open(s, "stability_history", head, ""),
    };
}

/* ---- The cases ------------------------------------------------------------------------------- */

/* Positions a metre from the origin, `offset` cells past a node along every axis. A cloud's
 * particles lie that far past a node each, one or two cells apart. */
static size_t place(double offset, bool cloud, double speed, double x[3 * CLOUD],
                    double v[3 * CLOUD])
{
    size_t count = cloud ? CLOUD : 1;
    for (size_t k = 0; k < count; k++) {
        size_t at[3] = {k % 3, k / 3 % 3, k / 9};
        for (int a = 0; a < 3; a++) {
            x[3 * k + (size_t)a] =
                H * (100 + 1.5 * (double)at[a] - (at[a] == 1 ? 0.5 : 0) + offset);
            v[3 * k + (size_t)a] = speed / sqrt(3);
        }
    }
    return count;
}

/* What a strain of 1e-7, the rounding of a float, does in one step at rest. */
static void measure_kick(study *s, table *t)
{
    for (method m = 0; m < METHODS; m++)
        for (int e = 1; e <= 12 && has_method(m); e++) {
            double x[3 * CLOUD], v[3 * CLOUD], offset = pow(10, -e);
            textbook_step after;
            if (!table_want(t))
                continue;
            const textbook_setup setup = {.count = place(offset, false, 0, x, v),
                                          .position = x,
                                          .velocity = v,
                                          .strain = -1e-7,
                                          .cell = H,
                                          .dt = CFL * H / WAVE};
            if (fly(s, m, &setup, 1, &after))
                table_add(t, ROW(offset, after.kick, after.gradient), "%s", method_names[m]);
        }
}

/* Flight at 1 m/s from each offset: the energy and shape that should stay. */
static void measure_drift(study *s, table *t)
{
    size_t steps = s->quick ? 300 : 2000;
    textbook_step *history = calloc(steps, sizeof *history);
    if (!history)
        abort();
    for (int cloud = 0; cloud <= 1; cloud++)
        for (method m = 0; m < METHODS; m++)
            for (int e = 1; e <= 12 && has_method(m); e += s->quick ? 3 : 1) {
                double x[3 * CLOUD], v[3 * CLOUD], offset = pow(10, -e), strain = 0;
                if (!table_want(t))
                    continue;
                textbook_setup setup = {.count = place(offset, cloud, 1, x, v),
                                        .position = x,
                                        .velocity = v,
                                        .cell = H,
                                        .dt = CFL * H / WAVE};
                double before = 0.5 * (double)setup.count * 400 * textbook_particle_volume(H);
                if (!fly(s, m, &setup, steps, history))
                    break;
                for (size_t n = 0; n < steps; n++)
                    strain = fmax(strain, history[n].strain);
                table_add(t,
                          ROW(offset, fabs(history[steps - 1].kinetic / before - 1), strain,
                              history[0].gradient * H),
                          "%s; %s", method_names[m], cloud ? "cloud" : "alone");
            }
    free(history);
}

static const double OFFSETS[] = {1e-9, 1e-3, 0.1, 0.5};
enum { OFFSET_COUNT = sizeof OFFSETS / sizeof *OFFSETS };

/* A particle at rest with a tiny strain, at time steps up to far beyond what is allowed. */
static void measure_growth(study *s, table *t)
{
    enum { STEPS = 400 };
    textbook_step *history = calloc(STEPS, sizeof *history);
    if (!history)
        abort();
    for (method m = TEXTBOOK_DOUBLE; m < METHODS; m++)
        for (int k = 0; k < OFFSET_COUNT && has_method(m); k++)
            for (int n = 2; n <= 14; n += s->quick ? 2 : 1) {
                double x[3 * CLOUD], v[3 * CLOUD], cfl = 0.1 * n, strain = 0;
                if (!table_want(t))
                    continue;
                textbook_setup setup = {.count = place(OFFSETS[k], false, 0, x, v),
                                        .position = x,
                                        .velocity = v,
                                        .strain = m == SOLVER_FLOAT ? -1e-4 : -1e-10,
                                        .cell = H,
                                        .dt = cfl * H / WAVE};
                if (!fly(s, m, &setup, STEPS, history))
                    break;
                for (int i = 0; i < STEPS; i++)
                    strain = fmax(strain, history[i].strain);
                table_add(t, ROW(cfl, history[1].strain / history[0].strain, strain), "%s; %g",
                          method_names[m], OFFSETS[k]);
            }
    free(history);
}

/* Strain of a particle that flies at 1 m/s, from rounding alone, step by step. */
static void measure_history(study *s, table *t)
{
    const double cfls[] = {CFL, 0.75};
    textbook_step history[HISTORY * HISTORY_EVERY];
    for (method m = 0; m < METHODS; m++)
        for (int k = 0; k < 2 && has_method(m); k++) {
            double x[3 * CLOUD], v[3 * CLOUD], row[HISTORY];
            if (!table_want(t))
                continue;
            textbook_setup setup = {.count = place(1e-3, false, 1, x, v),
                                    .position = x,
                                    .velocity = v,
                                    .cell = H,
                                    .dt = cfls[k] * H / WAVE};
            if (!fly(s, m, &setup, HISTORY * HISTORY_EVERY, history))
                break;
            for (int n = 0; n < HISTORY; n++) {
                row[n] = 0;
                for (int i = 0; i < HISTORY_EVERY; i++)
                    row[n] = fmax(row[n], history[n * HISTORY_EVERY + i].strain);
            }
            table_add(t, row, "%s; %g", method_names[m], cfls[k]);
        }
}

static void measure_stability(study *s)
{
    tables t = open_tables(s);
    measure_kick(s, t.kick);
    measure_drift(s, t.drift);
    measure_growth(s, t.growth);
    measure_history(s, t.history);
}

/* ---- The report ------------------------------------------------------------------------------ */

static void report_kick(report *r)
{
    report_figure(
        r, "stability_kick", 430, "stability_kick.csv",
        "A particle at rest, strained by 10<sup>&minus;7</sup>, the rounding of a float: what one "
        "step of forces "
        "does to the node that is moved most, and to the velocity gradient (times h) that the "
        "particle feels. "
        "The nearer to the degenerate place, the farther the lightest node is thrown, as the "
        "thesis says; but the "
        "particle does not feel it. (At the far left the printed spline has rounded the light "
        "nodes away.)",
        "set logscale xy\nset format x '10^{%%T}'\nset format y '10^{%%T}'\nset yrange [1e-7:1]\n"
        "set xlabel 'offset from the node (cells)'\nset ylabel 'm/s, after one step'\n"
        "plot 'stability_kick.csv' using (only('textbook double', 2)):3 with linespoints lt 2 "
        "title "
        "'node; textbook, double', "
        "'' using (only('textbook float', 2)):3 with linespoints lt 5 title 'node; textbook, "
        "float', "
        "'' using (only('textbook double', 2)):($4*%g) with linespoints lt 4 title 'felt; "
        "textbook, double', "
        "'' using (only('ref (double)', 2)):($4*%g) with linespoints lt 1 title 'felt; ref', "
        "3.55e-6/x with lines lc rgb '#777777' dt 3 title '1 / offset'\n",
        H, H);
}

/* One panel of curves: a column of the drift table for each method. */
static void drift_curves(FILE *out, const char *cloud, int column)
{
    bool first = true;
    for (method m = 0; m < METHODS; m++)
        if (has_method(m)) {
            fprintf(out,
                    "%s'stability_drift.csv' using (only('%s; %s', 2)):(least($%d)) with "
                    "linespoints lt %d "
                    "title '%s'",
                    first ? "plot " : ", ", method_names[m], cloud, column, (int)m + 1,
                    method_names[m]);
            first = false;
        }
    fprintf(out, "\n");
}

static void report_drift(report *r)
{
    char *script = NULL;
    size_t size;
    FILE *out = open_memstream(&script, &size);
    if (!out)
        abort();
    fprintf(
        out,
        "least(e) = e > 1e-17 ? e : 1e-17\n"
        "set multiplot layout 1,3 margins 0.09,0.985,0.16,0.76 spacing 0.045\n"
        "set logscale xy\nset xtics 1e-12,1e3\nset format x '10^{%%T}'\nset format y '10^{%%T}'\n"
        "set yrange [1e-17:1e-2]\nset xlabel 'offset at the start (cells)'\n"
        "set ylabel 'relative error'\n"
        "set key at screen 0.5,0.995 center top maxrows 2 samplen 2\n"
        "set title 'energy, alone' offset 0,-0.6\n");
    drift_curves(out, "alone", 3);
    fprintf(out, "unset key\nset ylabel ''\nset format y ''\nset title 'energy, cloud of 27'\n");
    drift_curves(out, "cloud", 3);
    fprintf(out, "set title 'velocity gradient × h/v, alone'\n");
    drift_curves(out, "alone", 5);
    fprintf(out, "unset multiplot\n");
    fclose(out);
    report_figure(
        r, "stability_drift", 430, "stability_drift.csv",
        "Flight at 1 m/s through the grid at the automatic step, from each offset: the error of "
        "the kinetic energy "
        "at the end, and of the velocity gradient in the first step. Rounding of a float or a "
        "double, and nothing "
        "that grows; no offset is worse than another. (What is 0 is drawn at the bottom.)",
        "%s", script);
    free(script);
}

/* (3 lambda + 2 mu)/(lambda + 2 mu) sum_i N'^2/N, which makes (omega h / c)^2 of a lone
 * particle: 1.5 k for the paper's snow, with k between 2.9 and 3.13. */
static void report_growth(report *r)
{
    const method shown[] = {TEXTBOOK_DOUBLE, SOLVER_FLOAT, SOLVER_DOUBLE};
    char lines[4096] = "";
    size_t length = 0;
    for (int n = 0; n < 3; n++)
        for (int k = 0; k < OFFSET_COUNT && has_method(shown[n]); k++)
            length += (size_t)snprintf(
                lines + length, sizeof lines - length,
                ", 'stability_growth.csv' using (only('%s; %g', 2)):3 with points "
                "lt %d ps %g %s%s%s",
                method_names[shown[n]], OFFSETS[k], (int)shown[n] + 1, n == 0 ? 1.2 : 0.8,
                k ? "notitle" : "title '", k ? "" : method_names[shown[n]], k ? "" : "'");
    report_figure(
        r, "stability_growth", 430, "stability_growth.csv",
        "By which factor a small strain changes in a step, for a particle at rest, against the "
        "step, at offsets of "
        "10<sup>&minus;9</sup>, 10<sup>&minus;3</sup>, 0.1 and 0.5 cells, which lie on top of each "
        "other. Curve: "
        "|1 &minus; &omega;<sup>2</sup>dt<sup>2</sup>|, the whole story of a lone particle with "
        "FLIP. Above 1 the "
        "strain feeds on itself, wherever the particle is; the automatic step stays below.",
        "set xlabel 'step: c dt / h (cells that a wave crosses)'\nset ylabel 'growth of the strain "
        "in a step'\n"
        "set yrange [0:6]\nset xrange [0.1:1.5]\n"
        "set object 1 rectangle from graph 0, first 1 to graph 1, graph 1 fc rgb '#f8e6e0' fs "
        "solid noborder "
        "behind\n"
        "set arrow 1 from 0.587, graph 0 to 0.587, graph 1 nohead lc rgb '#009e73' dt 2\n"
        "set label 1 'automatic step' at 0.6, 5.6 textcolor rgb '#007a55'\n"
        "set label 2 'grows' at 1.35, 1.4 textcolor rgb '#a03000'\n"
        "plot abs(1 - 1.5 * 3 * x**2) with lines lc rgb '#777777' title 'theory, k = 3'%s\n",
        lines);
}

static void report_history(report *r, const table *t)
{
    char *script = NULL;
    size_t size;
    FILE *out = open_memstream(&script, &size);
    if (!out)
        abort();
    for (size_t row = 0; row < t->rows; row++) {
        fprintf(out, "$h%zu << EOD\n", row);
        for (size_t n = 0; n < HISTORY; n++)
            fprintf(out, "%zu,%g\n", (n + 1) * HISTORY_EVERY,
                    fmax(table_value(t, row, n + 1), 1e-17));
        fprintf(out, "EOD\n");
    }
    fprintf(
        out,
        "set logscale y\nset format y '10^{%%T}'\nset yrange [1e-17:1]\nset xlabel 'step'\n"
        "set ylabel 'strain of a particle in free flight'\nplot 0.0151 with lines lc rgb '#777777' "
        "dt 3 title 'yields'");
    for (size_t row = 0; row < t->rows; row++)
        fprintf(out, ", $h%zu using 1:2 with lines lt %zu dt %d lw 1.5 title '%s h/c'", row,
                row / 2 + 1, row % 2 ? 1 : 2, t->labels[row]);
    fprintf(out, "\n");
    fclose(out);
    report_figure(r, "stability_history", 430, "stability_history.csv",
                  "The loop, shown and cured: the strain of a particle that flies at 1 m/s and "
                  "should have none. At "
                  "0.75 h/c (full lines) it grows from rounding until the snow yields, in the "
                  "textbook and in "
                  "<code>ref</code>; <code>cpu</code> rounds too well to begin (strains below the "
                  "last digit of its "
                  "F<sub>E</sub> vanish), though a larger strain grows there too (figure before). "
                  "At the automatic "
                  "0.587 h/c (dashed) strain stays what rounding makes of it, in all four.",
                  "%s", script);
    free(script);
}

/* The largest of a column over rows whose label begins with one text and ends with another. */
static double largest(const table *t, const char *begin, const char *end, size_t column)
{
    double found = 0;
    for (size_t k = 0; k < t->rows; k++) {
        size_t length = strlen(t->labels[k]), tail = strlen(end);
        double value = table_value(t, k, column);
        if (!strncmp(t->labels[k], begin, strlen(begin)) && length >= tail &&
            !strcmp(t->labels[k] + length - tail, end))
            found = isnan(value) ? INFINITY : fmax(found, value);
    }
    return found;
}

static double slope_of(const table *t, const char *label, size_t column, double low, double high)
{
    series all = table_series(t, label, 1, column), part = {0, all.x, all.y};
    for (size_t k = 0; k < all.count; k++)
        if (all.x[k] > low && all.x[k] < high) {
            part.x[part.count] = all.x[k];
            part.y[part.count++] = all.y[k];
        }
    double slope = series_slope(&part);
    series_free(&all);
    return slope;
}

/* The largest growth a step over all offsets, for steps of at most, or at least, so many h/c. */
static double extreme_growth(const table *t, double cfl, bool beyond)
{
    double found = beyond ? INFINITY : 0;
    for (size_t k = 0; k < t->rows; k++) {
        double x = table_value(t, k, 1), growth = table_value(t, k, 2);
        if (beyond ? x > cfl - 1e-9 : x < cfl + 1e-9)
            found = beyond ? fmin(found, growth) : fmax(found, growth);
    }
    return found;
}

static void conclude(report *r, const tables *t)
{
    report_conclusion(r, "node kick: exponent in the offset",
                      slope_of(t->kick, "textbook double", 2, 5e-5, 0.2), -1.05, -0.95, "",
                      "Exponent of the lightest node&rsquo;s velocity in the offset");
    report_conclusion(r, "felt gradient: exponent in the offset",
                      slope_of(t->kick, "textbook double", 3, 0, 1), -0.02, 0.02, "",
                      "Exponent of the velocity gradient that the particle feels");
    for (int m = 0; m < METHODS; m++) {
        bool is_float = m == TEXTBOOK_FLOAT || m == SOLVER_FLOAT;
        char name[64], meaning[160];
        if (!has_method(m))
            continue;
        snprintf(name, sizeof name, "energy error in flight: %s", method_names[m]);
        snprintf(meaning, sizeof meaning,
                 "Largest error of the energy in flight over all offsets, alone or in a cloud, %s",
                 method_names[m]);
        report_conclusion(r, name, largest(t->drift, method_names[m], "", 2), 0,
                          is_float ? 1e-4 : 1e-12, "", meaning);
        snprintf(name, sizeof name, "strain in flight: %s", method_names[m]);
        snprintf(meaning, sizeof meaning, "Largest strain on the way, %s", method_names[m]);
        report_conclusion(r, name, largest(t->drift, method_names[m], "", 3), 0,
                          is_float ? 1e-4 : 1e-12, "", meaning);
    }
    report_conclusion(
        r, "growth up to 0.6 h/c", extreme_growth(t->growth, 0.6, false), 0, 1, "",
        "Largest growth of a strain in a step, for steps up to 0.6 h/c, at any offset");
    report_conclusion(r, "growth from 0.8 h/c on", extreme_growth(t->growth, 0.8, true), 1,
                      INFINITY, "",
                      "Least growth for steps of 0.8 h/c and more: the loop exists there");
}

static void report_stability(study *s, report *r)
{
    tables t = open_tables(s);
    report_say(
        r, "Asked",
        "A particle hands its mass to 64 nodes around it. Near the place where only 27 of them are "
        "in "
        "reach, some get next to nothing. Forces do not shrink as fast, so these nodes are thrown "
        "far. If the particle took that for a deformation, rounding alone would start a loop: "
        "strain, "
        "force, speed, more strain. Does it?");
    report_say(r, "Done",
               "Particles alone and in a sparse cloud, 10<sup>&minus;1</sup> to "
               "10<sup>&minus;12</sup> of a cell "
               "beside the degenerate place, a metre from the origin: at rest with a strain as "
               "small as rounding, "
               "and in flight at 1 m/s for %d steps. Four programs: the solvers <code>cpu</code> "
               "(float) and "
               "<code>ref</code> (double) with their guards, and the method as one would first "
               "write it down, in "
               "float and double, without any. The guards are: a time step bounded by the hardened "
               "wave speed; "
               "nodes below a least mass are left out (<code>cpu</code>); F<sub>E</sub> is "
               "corrected, not put "
               "together anew, in every step; and weights that sum to 1 in float.",
               s->quick ? 300 : 2000);
    report_kick(r);
    report_drift(r);
    report_growth(r);
    report_history(r, t.history);
    report_say(
        r, "Answer",
        "<b>Light nodes are harmless.</b> A node at distance 2 &minus; b has weight "
        "b<sup>3</sup>/6 and a "
        "gradient of b<sup>2</sup>/2: it is thrown as 3/b, but its part in the velocity gradient "
        "goes "
        "with 3b/2. There is a loop, and it has nothing to do with the degenerate place: every "
        "explicit method has it when the step is too long. A lone particle with FLIP multiplies "
        "its strain "
        "by 1 &minus; &omega;<sup>2</sup>dt<sup>2</sup> in each step (FLIP does not carry the "
        "velocity "
        "gradient from step to step), so it is stable for &omega; dt &lt; &radic;2, which is 0.65 "
        "h/c for "
        "the paper&rsquo;s snow. The time step is the guard that matters; the others keep the "
        "noise of a "
        "float from adding up over long runs.");
    conclude(r, &t);
    report_say(
        r, "The thesis",
        "(section 4.1) describes the light nodes correctly and expects a feedback loop from them "
        "that "
        "adds energy. It followed one frame on paper, and did not weigh what comes back by the "
        "gradient "
        "once more. Its remedy, to clamp small velocity gradients to zero, is not needed, and "
        "would stop "
        "slow snow from deforming. It also calls the velocity of such nodes extremely small; "
        "divided by their mass, it is the particle&rsquo;s.");
}

const study_kind stability_study = {"stability", "Stability: does rounding feed on itself?",
                                    measure_stability, report_stability};
