/*
 * Study: which snow can be simulated? Each of the six material values is taken over and past the
 * ranges that the thesis (section 4.2) and the paper propose.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze_ball.h"
#include "analyze_column.h"
#include "analyze_report.h"

typedef struct tables {
    table *hardening, *columns, *ball;
} tables;

static tables open_tables(study *s)
{
    return (tables){
        .hardening =
            table_open(s, "limits_hardening", "xi,J_P,factor simulated,factor by formula", ""),
        .columns = table_open(s, "limits_columns",
                              "parameter,value,expected height (m),simulated height (m)", ""),
        .ball = table_open(s, "limits_ball",
                           "parameter,value,rest height (diameters),rebound,loose share,pieces,"
                           "smallest step (s),finished",
                           ""),
    };
}

/* ---- Hardening: figure 4.3 ------------------------------------------------------------------- */

static const double HARDENINGS[] = {1, 5, 10, 15, 20};
enum { HARDENING_COUNT = sizeof HARDENINGS / sizeof *HARDENINGS };

/* sigma J_P of a particle that is compressed by 1 % along y, as the library tells its stress. */
static bool stress_of(study *s, double xi, double J_P, double *stress)
{
    const double F[] = {1, 0, 0, 0, 0.99, 0, 0, 0, 1}, x[3] = {0}, one = 1;
    const firn_particles particles = {.count = 1,
                                      .position = x,
                                      .mass = &one,
                                      .volume = &one,
                                      .F_E = F,
                                      .J_P = &J_P,
                                      .hardening = &xi};
    const firn_sim_options options = {.backend = "ref"};
    firn_scene *scene = study_scene(s, "simulation: {cell_size: 1}\n");
    firn_sim *sim = NULL;
    firn_status status =
        scene ? firn_sim_create_from_particles(scene, &options, &particles, &sim) : FIRN_OK;
    double sigma[6] = {0};
    if (status == FIRN_OK && sim)
        status = firn_sim_read(sim, FIRN_STRESS, 0, 1, sigma);
    if (status != FIRN_OK)
        study_fail(s, status);
    *stress = sigma[1] * J_P;
    firn_sim_destroy(&sim);
    firn_scene_destroy(&scene);
    return !s->code;
}

static void measure_hardening(study *s, table *t)
{
    for (int k = 0; k < HARDENING_COUNT; k++)
        for (int n = 0; n <= 16; n++) {
            double J_P = 0.6 + 0.05 * n, now, rest;
            if (!table_want(t))
                continue;
            if (stress_of(s, HARDENINGS[k], J_P, &now) && stress_of(s, HARDENINGS[k], 1, &rest))
                table_add(t, ROW(J_P, now / rest, exp(HARDENINGS[k] * (1 - J_P))), "%g",
                          HARDENINGS[k]);
        }
}

/* ---- Columns and balls ----------------------------------------------------------------------- */

/* A quick study takes every third value, and the usual one once. */
static bool is_taken(const study *s, int n, size_t k)
{
    return !s->quick || k % 3 == 1 || (n == 0 && parameters[n].sweep[k] == parameters[n].usual);
}

static void measure_columns(study *s, table *t)
{
    for (int n = 0; n < PARAMETERS; n++)
        for (size_t k = 0; k < parameters[n].count; k++) {
            double value = parameters[n].sweep[k], carried;
            snow kind = snow_with(n, value);
            if (!is_taken(s, n, k) || !table_want(t))
                continue;
            if (column_limit(s, &kind, s->quick ? 30 : 40, &carried))
                table_add(t, ROW(value, snow_standing_height(&kind), carried), "%s",
                          parameters[n].label);
        }
}

static void measure_ball(study *s, table *t)
{
    for (int n = 0; n < PARAMETERS; n++)
        for (size_t k = 0; k < parameters[n].count; k++) {
            ball_result r;
            snow kind = snow_with(n, parameters[n].sweep[k]);
            if (!is_taken(s, n, k) || !table_want(t))
                continue;
            if (ball_drop(s, &kind, s->quick ? 0.02 : 0.0125, &r))
                table_add(t,
                          ROW(parameters[n].sweep[k], r.rest_height, r.rebound, r.loose, r.pieces,
                              r.dt, r.finished),
                          "%s", parameters[n].label);
        }
}

static void measure_limits(study *s)
{
    tables t = open_tables(s);
    measure_hardening(s, t.hardening);
    measure_columns(s, t.columns);
    measure_ball(s, t.ball);
}

/* ---- The report ------------------------------------------------------------------------------ */

static void report_hardening(report *r)
{
    char lines[2048] = "";
    size_t length = 0;
    for (int k = 0; k < HARDENING_COUNT; k++)
        length += (size_t)snprintf(
            lines + length, sizeof lines - length,
            "%s 'limits_hardening.csv' using (only('%g', 2)):3 with points lt %d title "
            "'ξ = %g%s', exp(%g * (1 - x)) with lines lt %d lw %d notitle",
            k ? ", \\\n" : "", HARDENINGS[k], k + 1, HARDENINGS[k],
            HARDENINGS[k] == 10 ? ", the paper" : "", HARDENINGS[k], k + 1,
            HARDENINGS[k] == 10 ? 2 : 1);
    report_figure(
        r, "limits_hardening", 430, "limits_hardening.csv",
        "How stress changes as snow is packed (J<sub>P</sub> below 1) or torn (above): points "
        "are stresses of the solver at the same strain, lines exp(&xi;(1 &minus; "
        "J<sub>P</sub>)). The thesis&rsquo;s figure 4.3.",
        "set logscale y\nset format y '10^{%%T}'\nset xrange [0.6:1.4]\n"
        "set xlabel 'plastic volume ratio J_P'\nset ylabel 'stiffness / stiffness at J_P = "
        "1'\nplot %s\n",
        lines);
}

static void report_columns(report *r)
{
    char lines[2048] = "";
    size_t length = 0;
    for (int n = 0; n < PARAMETERS; n++)
        length += (size_t)snprintf(lines + length, sizeof lines - length,
                                   ", \\\n 'limits_columns.csv' using (only('%s', 3)):($4/$3) with "
                                   "points lt %d title '%s varied'",
                                   parameters[n].label, n + 1, parameters[n].symbol);
    report_figure(
        r, "limits_columns", 430, "limits_columns.csv",
        "How much snow the base of a column carries when it begins to yield: simulated, by the "
        "expected "
        "&theta;<sub>c</sub>(&lambda; + 2&mu;)/(&rho;g), for columns from a tenth of a millimetre "
        "to a "
        "kilometre. The paper&rsquo;s snow stands about a metre tall. By the thesis, no snow of "
        "more "
        "than 0.0043 kg/m<sup>3</sup> could carry itself at all. Two kinds fall out of the band: "
        "&theta;<sub>c</sub> = 0.4, where elasticity is no longer nearly linear, and "
        "&theta;<sub>s</sub> = 10<sup>&minus;4</sup>, which tears in its own small oscillations.",
        "set logscale x\nset format x '10^{%%T}'\nset xrange [5e-5:2000]\nset yrange [0.4:1.3]\n"
        "set xlabel 'expected height of the column (m)'\nset ylabel 'simulated / expected'\n"
        "set object 1 rectangle from graph 0, first 0.85 to graph 1, first 1.15 fc rgb '#dde8f0' "
        "fs solid "
        "noborder behind\n"
        "set arrow 1 from 0.9911, graph 0 to 0.9911, graph 1 nohead lc rgb '#777777' dt 2\n"
        "set label 1 'the paper: 0.99 m' at 1.2, 0.45 textcolor rgb '#555555'\n"
        "plot 1 with lines lc rgb '#777777' title 'expected; band: 15 %%'%s\n",
        lines);
}

/* Six panels, one a parameter: the proposed range shaded, the usual value as a line. */
static char *panels(const char *ylabel, const char *range, const char *legend, const char *curves)
{
    char *script = NULL;
    size_t size;
    FILE *out = open_memstream(&script, &size);
    if (!out)
        abort();
    fprintf(out,
            "set multiplot layout 2,3 margins 0.075,0.985,0.07,0.86 spacing 0.05,0.16\n"
            "unset key\n%s\n%s\n",
            range, legend);
    for (int n = 0; n < PARAMETERS; n++) {
        const parameter *p = &parameters[n];
        bool linear = n == XI || n == POISSON;
        fprintf(
            out,
            "%sset title '%s' offset 0,-0.6\nset ylabel '%s' offset 1,0\n"
            "%s logscale x\nset xtics %s\nset format x '%s'\n"
            "set object 1 rectangle from first %g, graph 0 to first %g, graph 1 fc rgb '#dde8f0' "
            "fs solid noborder behind\n"
            "set arrow 1 from first %g, graph 0 to first %g, graph 1 nohead lc rgb '#777777' dt 2\n"
            "set xrange [%g:%g]\nname = '%s'\nplot %s\n",
            n == 1 ? "unset label\n" : "", p->title, n % 3 ? "" : ylabel, linear ? "unset" : "set",
            n == POISSON ? "0.1" : "auto", linear ? "%g" : "10^{%T}", p->low, p->high, p->usual,
            p->usual, linear ? p->sweep[0] : p->sweep[0] / 1.5,
            p->sweep[p->count - 1] * (linear ? 1 : 1.5), p->label, curves);
    }
    fprintf(out, "unset multiplot\n");
    fclose(out);
    return script;
}

/* Legends in one line above all panels: gnuplot's key belongs to one panel. */
static const char BALL_LEGEND[] =
    "set label 11 '●  rest height (diameters)' at screen 0.08,0.965 textcolor lt 1\n"
    "set label 12 '■  rebound (share of the speed)' at screen 0.38,0.965 textcolor lt 2\n"
    "set label 13 '▲  broken off (share)' at screen 0.73,0.965 textcolor lt 3\n";
static const char BALL_CURVES[] =
    "'limits_ball.csv' using ($8 > 0 ? only(name, 2) : NaN):3 with linespoints lt 1, "
    "'' using ($8 > 0 ? only(name, 2) : NaN):4 with linespoints lt 2, "
    "'' using ($8 > 0 ? only(name, 2) : NaN):5 with linespoints lt 3";

static const char STEP_LEGEND[] =
    "set label 11 '●  smallest step' at screen 0.08,0.965 textcolor lt 1\n"
    "set label 12 '×  given up' at screen 0.38,0.965 textcolor rgb '#c00000'\n"
    "set label 13 '┄  the paper: often 10^{-5} s' at screen 0.62,0.965 textcolor rgb '#555555'\n";
static const char STEP_CURVES[] =
    "'limits_ball.csv' using ($8 > 0 ? only(name, 2) : NaN):7 with linespoints lt 1, "
    "'' using ($8 > 0 ? NaN : only(name, 2)):(1e-5) with points pt 2 ps 1.4 lw 2 lc rgb '#c00000', "
    "1e-5 with lines lc rgb '#777777' dt 3";

static void report_ball(report *r)
{
    char *script = panels("", "set yrange [0:1.05]", BALL_LEGEND, BALL_CURVES);
    report_figure(
        r, "limits_ball", 560, "limits_ball.csv",
        "A snowball of 0.2 m falls on flat ground at 4 m/s (rest height, rebound) and on a ridge "
        "at "
        "8 m/s (share broken off), with one value of its snow changed. Shaded: the range that the "
        "thesis or the paper propose; dashed: the paper&rsquo;s value.",
        "%s", script);
    free(script);
    script = panels("step (s)", "set logscale y\nset format y '10^{%T}'\nset yrange [1e-6:1e-3]",
                    STEP_LEGEND, STEP_CURVES);
    report_figure(
        r, "limits_step", 560, "limits_ball.csv",
        "The smallest time step that these drops need, in cells of 12.5 mm. A cross: the run would "
        "have taken more than 40,000 explicit steps for 0.35 s.",
        "%s", script);
    free(script);
}

/* A measurement of the ball with one value changed; NAN where this study has none. */
static double ball_at(const tables *t, int n, double value, size_t column)
{
    for (size_t k = 0; k < t->ball->rows; k++)
        if (!strcmp(t->ball->labels[k], parameters[n].label) && table_value(t->ball, k, 1) == value)
            return table_value(t->ball, k, column);
    return NAN;
}

enum { HEIGHT = 2, REBOUND = 3, LOOSE = 4, PIECES = 5, STEP = 6 };

static void report_ranges(report *r, const tables *t)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        abort();
#define HEAD(name, proposed, advised) "<tr><td>" name "<td>" proposed "<td><b>" advised "</b><td>"
    fprintf(out,
            "<table><tr><th>value<th>proposed<th>recommended<th>because\n" HEAD(
                "&theta;<sub>c</sub>", "0.019 to 0.05 (paper)",
                "0.01 to 0.05") "below, steps shrink (%.1e s at 0.004, %.1e at 0.001); above, "
                                "snow no longer "
                                "piles: %.2f diameters at 0.05, %.2f at 0.1\n",
            ball_at(t, THETA_C, 4e-3, STEP), ball_at(t, THETA_C, 1e-3, STEP),
            ball_at(t, THETA_C, 5e-2, HEIGHT), ball_at(t, THETA_C, 0.1, HEIGHT));
    fprintf(
        out,
        HEAD("&theta;<sub>s</sub>", "0.005 to 0.01 (paper)",
             "0.0025 to 0.01") "below, it runs like sand (%.2f diameters at 0.001, and a column of "
                               "1e-4 tears in its own "
                               "vibration); above, it bounces: rebound %.2f at 0.02 against %.2f\n",
        ball_at(t, THETA_S, 1e-3, HEIGHT), ball_at(t, THETA_S, 2e-2, REBOUND),
        ball_at(t, THETA_S, 7.5e-3, REBOUND));
    fprintf(out,
            HEAD("&xi;", "above 0, to 15 (thesis); 5 to 15 (paper)",
                 "5 to 20") "below, packing does not hold: half of the ball breaks off at 0 to 5; "
                            "above, steps shrink (%.1e s at 25)\n",
            ball_at(t, XI, 25, STEP));
    fprintf(out,
            HEAD("E", "1.4e3 to 1.4e5 Pa (thesis)",
                 "1e4 to 1.4e6 Pa") "below, mud: %.2f diameters at 1.4e3; above, a ball "
                                    "that bounces (%.2f of its speed at 1.4e7) in ever shorter "
                                    "steps (%.1e s; %.1e at 1.4e6)\n",
            ball_at(t, YOUNG, 1.4e3, HEIGHT), ball_at(t, YOUNG, 1.4e7, REBOUND),
            ball_at(t, YOUNG, 1.4e7, STEP), ball_at(t, YOUNG, 1.4e6, STEP));
    fprintf(out,
            HEAD("&nu;", "0.2 to 0.35 (thesis)",
                 "0 to 0.3") "0.35 is over the edge: %.2f diameters against %.2f at 0.2, and at "
                             "0.4 it splashes: %.2f, "
                             "%.0f pieces\n",
            ball_at(t, POISSON, 0.35, HEIGHT), ball_at(t, POISSON, 0.2, HEIGHT),
            ball_at(t, POISSON, 0.4, HEIGHT), ball_at(t, POISSON, 0.4, PIECES));
    fprintf(out,
            HEAD("density", "50 to 500 kg/m<sup>3</sup>",
                 "50 to 1000 kg/m<sup>3</sup>") "all alike (%.2f to %.2f diameters from 50 to "
                                                "917); below 20 steps get short and the ball "
                                                "bounces (%.2f at 20)\n</table>",
            ball_at(t, DENSITY, 50, HEIGHT), ball_at(t, DENSITY, 917, HEIGHT),
            ball_at(t, DENSITY, 20, REBOUND));
#undef HEAD
    fclose(out);
    report_say(r, "Answer", "%s", text);
    free(text);
}

/* Appendix A with the paper's snow, as printed and as it comes out. */
static void report_appendix(report *r)
{
    const double theta = 2.5e-2, mu = 1.4e5 / 2.4, lambda = 1.4e5 * 0.2 / (1.2 * 0.6);
    double J = 1 - theta, tau = 2 * mu * theta * J + lambda * theta * J;
    double force = tau / 2, carried = force / (9.81 * 5 / 6);
    report_say(
        r, "The thesis",
        "concludes (section 4.2.1, appendix A) that the largest elastic stress balances gravity "
        "only below a density of 0.004285 kg/m<sup>3</sup>, and so that snow cannot support itself "
        "and only violent scenes make sense. Three slips add up to that. The sum of the "
        "forces has f<sub>a</sub> = 55.66 where %.2f/72 = %.2f, so that the total is %.1f "
        "V<sub>p</sub>, not 1907.83 V<sub>p</sub>. The weight gradient lost its factor 1/h. And "
        "the "
        "result was turned over: m = 233.37 V<sub>p</sub> is a density of 233 kg/m<sup>3</sup>, "
        "not of 1/233. Corrected, a lone particle on the ground is carried up to %.1f/h "
        "kg/m<sup>3</sup> (h in metres): %.0f kg/m<sup>3</sup> in cells of 5 mm. A "
        "stress of %.2f kPa (Cauchy; Kirchhoff&rsquo;s, which the appendix computes, is %.2f kPa) "
        "carries a column of <b>%.2f m</b> of 400 kg/m<sup>3</sup> snow, and simulated columns "
        "stand to just that height.",
        tau, tau / 72, force, carried, carried / 0.005, tau / J / 1000, tau / 1000,
        tau / J / (400 * 9.81));
}

static void conclude(report *r, const tables *t)
{
    double worst = 0, usual = NAN, low = INFINITY, high = 0;
    for (size_t k = 0; k < t->hardening->rows; k++)
        worst = fmax(worst,
                     fabs(table_value(t->hardening, k, 2) / table_value(t->hardening, k, 3) - 1));
    for (size_t k = 0; k < t->columns->rows; k++)
        for (int n = 0; n < PARAMETERS; n++) {
            double value = table_value(t->columns, k, 1);
            double ratio = table_value(t->columns, k, 3) / table_value(t->columns, k, 2);
            if (strcmp(t->columns->labels[k], parameters[n].label))
                continue;
            if (value == parameters[n].usual)
                usual = ratio;
            if (value >= parameters[n].low && value <= parameters[n].high)
                low = fmin(low, ratio), high = fmax(high, ratio);
        }
    report_conclusion(
        r, "hardening by its formula", worst, 0, 1e-9, "",
        "Largest relative difference of the solver&rsquo;s hardening from its formula");
    report_conclusion(
        r, "column height: the paper's snow", usual, 0.85, 1.15, "",
        "Height at which a column yields, simulated by expected, the paper&rsquo;s snow");
    report_conclusion(r, "column height: lowest", low, 0.85, 1.15, "",
                      "The lowest such ratio within the proposed ranges");
    report_conclusion(r, "column height: highest", high, 0.85, 1.15, "",
                      "The highest such ratio within the proposed ranges");
    report_conclusion(
        r, "landing: nu of 0.35 by 0.2",
        ball_at(t, POISSON, 0.35, HEIGHT) / ball_at(t, THETA_C, 2.5e-2, HEIGHT), 0, 0.9, "",
        "Height of what is left of a ball with &nu; = 0.35, relative to 0.2: it flows");
}

static void report_limits(study *s, report *r)
{
    tables t = open_tables(s);
    report_say(r, "Asked",
               "Snow is six numbers here: the critical compression &theta;<sub>c</sub> and stretch "
               "&theta;<sub>s</sub> at which it yields, the hardening &xi;, Young&rsquo;s modulus "
               "E, Poisson&rsquo;s ratio &nu; and the density. Which values give snow, and what "
               "ends the range: another behaviour, or steps too short to take?");
    report_say(
        r, "Done",
        "Stresses are read from the solver. Columns between frictionless walls begin in elastic "
        "equilibrium; the tallest that does not yield at its base is searched by bisection. "
        "And a snowball is dropped again and again, each time with one value changed.");
    report_hardening(r);
    report_columns(r);
    report_ball(r);
    if (s->quick)
        report_say(r, "Answer",
                   "Recommended ranges need the values that the quick study leaves out.");
    else
        report_ranges(r, &t);
    report_say(
        r, "Answer",
        "The load that snow carries is the formula&rsquo;s, for every value of every parameter up "
        "to "
        "&theta;<sub>c</sub> = 0.2: neither hardening nor the critical stretch matter before it "
        "yields. Simulated heights are some 7 %% lower, less in finer cells: within a few cells of "
        "the ground the stress is not quite that of the continuum.");
    conclude(r, &t);
    report_appendix(r);
}

const study_kind limits_study = {"limits", "Limits: which snow can be simulated?", measure_limits,
                                 report_limits};
