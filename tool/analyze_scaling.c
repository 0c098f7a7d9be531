/*
 * Study: does the result depend on the resolution? Density under more particles, heavier ones and
 * other cells; what a falling ball leaves, in finer and finer cells; and how few particles a cell
 * may hold.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze_ball.h"
#include "analyze_report.h"

static const double BLOCK = 0.4, RHO = 400; /* m, kg/m^3 */
enum { BINS = 40 };                         /* stripes that surfaces are told in */

typedef struct tables {
    table *density, *resolution, *filling, *surfaces;
} tables;

/* "particles a cell,y1,y2,..." */
static void surface_head(char head[512], int bins)
{
    size_t length = (size_t)snprintf(head, 512, "particles a cell");
    for (int k = 1; k <= bins; k++)
        length += (size_t)snprintf(head + length, 512 - length, ",y%d (m)", k);
}

static tables open_tables(study *s)
{
    char head[512];
    surface_head(head, BINS);
    return (tables){
        .density = table_open(s, "scaling_density",
                              "case,factor,density (kg/m^3),spread (kg/m^3),mass (kg/m)", ""),
        .resolution = table_open(s, "scaling_resolution",
                                 "seed,cell (m),centre at impact (m),rest height (m),centre "
                                 "at rest (m),front (m)",
                                 ""),
        .filling = table_open(s, "scaling_filling",
                              "seed,particles a cell,height / height at the start", ""),
        .surfaces = table_open(s, "scaling_surfaces", head, ""),
    };
}

/* ---- Density --------------------------------------------------------------------------------- */

typedef struct density_case {
    const char *label;
    bool corrected;        /* masses follow from the density */
    double per_cell, cell; /* of the sampling */
    double heavier;        /* factor on all masses */
    double grid;           /* factor on the cells of the grid, after sampling */
} density_case;

/* Mean and spread of m / V0 well inside of the block, where V0 is what step 2 finds on the grid. */
static void inner_density(study *s, const firn_sim *sim, double margin, double *mean,
                          double *spread, double *mass)
{
    double *x = study_read(s, sim, FIRN_POSITION), *m = study_read(s, sim, FIRN_MASS);
    double *V0 = study_read(s, sim, FIRN_VOLUME), volume = 0, inner = 0, squares = 0, count = 0;
    *mass = 0;
    for (size_t k = 0; k < firn_sim_particle_count(sim); k++) {
        *mass += m[k];
        double side = fmax(fabs(x[2 * k]), fabs(x[2 * k + 1]));
        if (side > BLOCK / 2 - margin)
            continue;
        volume += V0[k], inner += m[k], count++;
        squares += m[k] / V0[k] * (m[k] / V0[k]);
    }
    *mean = inner / volume;
    *spread = sqrt(fmax(squares / count - *mean * *mean, 0));
    free(x);
    free(m);
    free(V0);
}

/* Particles are sampled in one scene and stepped once in another, whose cells may differ. */
static bool measure_density(study *s, const density_case *c, double row[4])
{
    const char *format = "simulation: {dimensions: 2, cell_size: %.17g, fps: 1, gravity: [0, 0]}\n"
                         "snow:\n"
                         "  - shape: {box: {center: [0, 0], size: [%g, %g]}}\n"
                         "    material: snow\n"
                         "    sampling: {particles_per_cell: %g, seed: 2}\n";
    firn_scene *scene = study_scene(s, format, c->cell, BLOCK, BLOCK, c->per_cell);
    firn_scene *coarse = study_scene(s, format, c->cell * c->grid, BLOCK, BLOCK, c->per_cell);
    firn_sim *sampled = study_sim(s, scene, NULL, 1), *sim = NULL;
    if (sampled && coarse) {
        size_t count = firn_sim_particle_count(sampled);
        double *x = study_read(s, sampled, FIRN_POSITION), *m = study_read(s, sampled, FIRN_MASS);
        double *V0 = study_read(s, sampled, FIRN_VOLUME);
        /* Without correction every particle weighs what it does with 8 of them in a cell of 1
         * cm. */
        for (size_t k = 0; k < count; k++)
            m[k] = c->heavier * (c->corrected ? m[k] : RHO * 0.01 * 0.01 / 8);
        const firn_particles particles = {.count = count, .position = x, .mass = m, .volume = V0};
        const firn_sim_options options = {.threads = 1};
        firn_status status = firn_sim_create_from_particles(coarse, &options, &particles, &sim);
        if (status != FIRN_OK)
            study_fail(s, status);
        free(x);
        free(m);
        free(V0);
    }
    bool good = sim && study_steps(s, sim, 1);
    if (good)
        inner_density(s, sim, 3 * c->cell * c->grid, &row[1], &row[2], &row[3]);
    firn_sim_destroy(&sampled);
    firn_sim_destroy(&sim);
    firn_scene_destroy(&scene);
    firn_scene_destroy(&coarse);
    return good && !s->code;
}

static const char *const DENSITY_LABELS[] = {
    "more particles; corrected",    "more particles; not corrected", "smaller cells; corrected",
    "smaller cells; not corrected", "same particles in other cells", "heavier particles"};
enum { DENSITY_KINDS = 6 };

static void measure_densities(study *s, table *t)
{
    const double factors[] = {0.25, 0.5, 1, 2, 3};
    for (int kind = 0; kind < DENSITY_KINDS; kind++)
        for (int n = s->quick ? 1 : 0; n < (s->quick ? 4 : 5); n++) {
            double f = factors[n], row[4] = {f};
            density_case c = {DENSITY_LABELS[kind], kind % 2 == 0 || kind >= 4, 8, 0.01, 1, 1};
            if (kind < 2)
                c.per_cell *= f;
            else if (kind < 4)
                c.cell *= f;
            else if (kind == 4)
                c.grid = f;
            else
                c.heavier = f;
            if (!table_want(t))
                continue;
            if (measure_density(s, &c, row))
                table_add(t, row, "%s", c.label);
        }
}

/* ---- Resolution ------------------------------------------------------------------------------ */

static void measure_resolution(study *s, table *t)
{
    const double cells[] = {0.04, 0.028, 0.02, 0.014, 0.01, 0.007, 0.005};
    for (size_t k = 0; k < (s->quick ? 4u : 7u); k++)
        for (int seed = 1; seed <= (s->quick ? 1 : 3); seed++) {
            ball_outline o;
            if ((cells[k] < 0.007 && seed > 1) || !table_want(t))
                continue;
            if (ball_settle(s, cells[k], seed, &o))
                table_add(t, ROW(cells[k], o.lowest, o.height, o.centre, o.front), "%d", seed);
        }
}

/* ---- Particles in a cell --------------------------------------------------------------------- */

enum { SHOWN_COUNT = 4 };
static const double SHOWN[SHOWN_COUNT] = {8, 1, 0.25, 0.1};
static const double BIN = 0.01; /* m */

/* The highest particle of each of BINS stripes about the middle. */
static void surface_of(const double *x, size_t count, double top[BINS])
{
    memset(top, 0, BINS * sizeof *top);
    for (size_t k = 0; k < count; k++) {
        int bin = (int)floor(x[2 * k] / BIN) + BINS / 2;
        if (bin >= 0 && bin < BINS)
            top[bin] = fmax(top[bin], x[2 * k + 1]);
    }
}

/* A block of about 40 x 20 particles at rest on the ground, in cells that hold so many of them:
 * how high it is after a while, relative to the start, and its surface. */
static bool settle_block(study *s, double per_cell, int seed, double *height, double top[BINS])
{
    const double cell = 0.005 * sqrt(per_cell);
    firn_scene *scene =
        study_scene(s,
                    "simulation: {dimensions: 2, cell_size: %.17g, fps: 10, rest_volume: sampled}\n"
                    "snow:\n"
                    "  - shape: {box: {center: [0, 0.05], size: [0.2, 0.1]}}\n"
                    "    material: snow\n"
                    "    sampling: {particles_per_cell: %.17g, seed: %d}\n"
                    "colliders:\n"
                    "  - {shape: {plane: {point: [0, 0], normal: [0, 1]}}, friction: 0.5}\n",
                    cell, per_cell, seed);
    firn_sim *sim = study_sim(s, scene, NULL, 1);
    double before = 1;
    if (sim) {
        double *x = study_read(s, sim, FIRN_POSITION);
        before = pile_height(x, firn_sim_particle_count(sim));
        free(x);
    }
    bool good = sim && study_advance(s, sim, 0.4, 0, NULL);
    if (good) {
        double *x = study_read(s, sim, FIRN_POSITION);
        *height = pile_height(x, firn_sim_particle_count(sim)) / before;
        surface_of(x, firn_sim_particle_count(sim), top);
        free(x);
    }
    firn_sim_destroy(&sim);
    firn_scene_destroy(&scene);
    return good && !s->code;
}

static void measure_filling(study *s, table *t, table *surfaces)
{
    const double filling[] = {27, 16, 8, 4, 2, 1, 0.5, 0.25, 0.1};
    double height, top[BINS];
    for (size_t k = 0; k < sizeof filling / sizeof *filling; k++)
        for (int seed = 1; seed <= (s->quick ? 1 : 3); seed++) {
            if ((s->quick && k % 3 != 2) || !table_want(t))
                continue;
            if (settle_block(s, filling[k], seed, &height, top))
                table_add(t, ROW(filling[k], height), "%d", seed);
        }
    for (int k = 0; k < SHOWN_COUNT; k++)
        if ((!s->quick || k % 3 == 0) && table_want(surfaces) &&
            settle_block(s, SHOWN[k], 1, &height, top))
            table_add(surfaces, top, "%g", SHOWN[k]);
}

static void measure_scaling(study *s)
{
    tables t = open_tables(s);
    measure_densities(s, t.density);
    measure_resolution(s, t.resolution);
    measure_filling(s, t.filling, t.surfaces);
}

/* ---- The report ------------------------------------------------------------------------------ */

static void report_density(report *r)
{
    char lines[4096] = "";
    size_t length = 0;
    for (int k = 0; k < DENSITY_KINDS; k++)
        length +=
            (size_t)snprintf(lines + length, sizeof lines - length,
                             "%s 'scaling_density.csv' using (only('%s', 2)):3 with linespoints lt "
                             "%d title '%s'",
                             k ? ", \\\n" : "", DENSITY_LABELS[k], k + 1, DENSITY_LABELS[k]);
    report_figure(r, "scaling_density", 430, "scaling_density.csv",
                  "The density that step 2 of the method finds inside of a block, when particles, "
                  "cells or masses "
                  "change by a factor. Masses that follow from the density and the sampled volume "
                  "(&ldquo;corrected&rdquo;) keep it. Without that, it follows the number of "
                  "particles, and the "
                  "square of the cell if each cell keeps 8 particles of the same mass.",
                  "set logscale xy\nset xrange [0.22:3.4]\nset xtics (0.25, 0.5, 1, 2, 3)\n"
                  "set ytics (25, 50, 100, 200, 400, 800, 1600, 3200, 6400)\n"
                  "set xlabel 'factor'\nset ylabel 'density inside (kg/m³)'\n"
                  "plot %s, 400 with lines lc rgb '#777777' dt 3 title 'asked for'\n",
                  lines);
}

static void report_resolution(report *r)
{
    report_figure(
        r, "scaling_resolution", 430, "scaling_resolution.csv",
        "A snowball of 0.2 m hits the ground at 4 m/s, in smaller and smaller cells; three seeds "
        "of the "
        "sampling each (one for the smallest cells). The centre of mass at its lowest, in the "
        "first tenth of a "
        "second, settles down. Where the pile ends does not: in cells below 1 cm its flanks break "
        "off.",
        "set logscale x\nset xrange [0.05:0.004]\n"
        "set xtics ('40' 0.04, '28' 0.028, '20' 0.02, '14' 0.014, '10' 0.01, '7' 0.007, '5' "
        "0.005)\n"
        "set xlabel 'cell size (mm), finer to the right'\nset ylabel 'metres'\n"
        "set yrange [0:0.22]\n"
        "plot 'scaling_resolution.csv' using 2:3 with points lt 1 title 'centre, lowest', "
        "'' using 2:4 with points lt 2 title 'height after 0.35 s', "
        "'' using 2:6 with points lt 4 title 'front after 0.35 s', "
        "'' using 2:5 with points lt 3 title 'centre after 0.35 s', "
        "'' using 2:3 smooth unique with lines lt 1 notitle, "
        "'' using 2:4 smooth unique with lines lt 2 notitle, "
        "'' using 2:6 smooth unique with lines lt 4 notitle, "
        "'' using 2:5 smooth unique with lines lt 3 notitle\n");
}

static void report_filling(report *r)
{
    report_figure(
        r, "scaling_filling", 430, "scaling_filling.csv",
        "A block that lies on the ground, after 0.4 s: always the same 800 particles, in cells of "
        "such a size "
        "that each holds so many of them. Shaded: the 4 to 10 of the paper. Below one a cell, "
        "neighbours no "
        "longer reach each other&rsquo;s nodes, and the block falls through itself.",
        "set logscale x\nset xrange [0.08:35]\nset yrange [0:1.1]\n"
        "set xtics (0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 27)\n"
        "set object 1 rectangle from first 4, graph 0 to first 10, graph 1 fc rgb '#dde8f0' fs "
        "solid "
        "noborder behind\n"
        "set xlabel 'particles a cell'\nset ylabel 'height / height at the start'\nunset key\n"
        "plot 'scaling_filling.csv' using 2:3 with points lt 1, "
        "'' using 2:3 smooth unique with lines lt 1\n");
}

/* Surfaces are rows of the table; gnuplot wants them as columns. */
static void report_surfaces(report *r, const table *t)
{
    char *script = NULL;
    size_t size;
    FILE *out = open_memstream(&script, &size);
    if (!out)
        abort();
    for (size_t row = 0; row < t->rows; row++) {
        fprintf(out, "$s%zu << EOD\n", row);
        for (size_t bin = 0; bin < BINS; bin++)
            fprintf(out, "%g,%g\n", ((double)bin + 0.5 - BINS / 2) * BIN,
                    table_value(t, row, bin + 1));
        fprintf(out, "EOD\n");
    }
    fprintf(out, "set xlabel 'x (m)'\nset ylabel 'surface (m)'\nset yrange [0:0.13]\n"
                 "set arrow 1 from -0.1,0.1 to 0.1,0.1 nohead dt 3 lc rgb '#777777'\n"
                 "set label 1 'at the start' at 0,0.106 center textcolor rgb '#555555'\nplot ");
    for (size_t row = 0; row < t->rows; row++)
        fprintf(out, "%s$s%zu using 1:2 with steps lt %zu lw 1.6 title '%s a cell'",
                row ? ", " : "", row, row + 1, t->labels[row]);
    fprintf(out, "\n");
    fclose(out);
    report_figure(
        r, "scaling_surfaces", 380, "scaling_surfaces.csv",
        "The surface of such blocks after 0.4 s. With a tenth of a particle a cell it is near the "
        "&ldquo;solid line&rdquo; on the ground into which, by a report on another program, "
        "snow &ldquo;would frequently just deflate&rdquo; in small cells.",
        "%s", script);
    free(script);
}

/* The largest relative difference from the density at factor 1, for factors of a half to two. */
static double density_error(const table *t, const char *label)
{
    series s = table_series(t, label, 1, 2);
    double base = NAN, error = 0;
    for (size_t k = 0; k < s.count; k++)
        base = s.x[k] == 1 ? s.y[k] : base;
    for (size_t k = 0; k < s.count; k++)
        if (s.x[k] >= 0.5 && s.x[k] <= 2)
            error = fmax(error, fabs(s.y[k] / base - 1));
    series_free(&s);
    return error;
}

static double density_slope(const table *t, const char *label)
{
    series s = table_series(t, label, 1, 2);
    double slope = series_slope(&s);
    series_free(&s);
    return slope;
}

/* Mean over seeds of a column, at one x. */
static double mean_at(const table *t, double x, size_t column)
{
    double sum = 0, count = 0;
    for (size_t k = 0; k < t->rows; k++)
        if (table_value(t, k, 1) == x)
            sum += table_value(t, k, column), count++;
    return sum / count;
}

/* From the last refinement. */
static double change_of(const study *s, const table *t, size_t column)
{
    double fine = s->quick ? 0.014 : 0.005, coarse = s->quick ? 0.02 : 0.007;
    return fabs(mean_at(t, coarse, column) / mean_at(t, fine, column) - 1);
}

static void conclude(study *s, report *r, const tables *t)
{
    report_conclusion(r, "density: more particles", density_error(t->density, DENSITY_LABELS[0]), 0,
                      0.01, "",
                      "Change of density when particles are halved or doubled, masses corrected");
    report_conclusion(r, "density: smaller cells", density_error(t->density, DENSITY_LABELS[2]), 0,
                      0.01, "", "The same for halved and doubled cells, with 8 particles in each");
    report_conclusion(r, "density: same particles in other cells",
                      density_error(t->density, DENSITY_LABELS[4]), 0, 0.01, "",
                      "The same for the same particles over a finer or coarser grid");
    report_conclusion(r, "density: more particles without correction",
                      density_slope(t->density, DENSITY_LABELS[1]), 0.98, 1.02, "",
                      "Exponent of the density in the number of particles, masses not corrected");
    report_conclusion(r, "density: smaller cells without correction",
                      density_slope(t->density, DENSITY_LABELS[3]), -2.05, -1.95, "",
                      "Exponent of the density in the cell size, masses not corrected, in 2D");
    report_conclusion(r, "resolution: centre at impact", change_of(s, t->resolution, 2), 0, 0.08,
                      "", "Change of the lowest centre of mass from the last refinement");
    report_conclusion(r, "resolution: rest height", change_of(s, t->resolution, 3), 0, 0.08, "",
                      "Change of the height of the pile from the last refinement");
    report_conclusion(r, "filling: 8 a cell", mean_at(t->filling, 8, 2), 0.95, 1.05, "",
                      "Height that a block keeps with 8 particles a cell");
    report_conclusion(r, "filling: 0.1 a cell", mean_at(t->filling, 0.1, 2), 0, 0.5, "",
                      "Height that it keeps with 0.1 particles a cell");
}

static void report_scaling(study *s, report *r)
{
    tables t = open_tables(s);
    report_say(
        r, "Asked",
        "If one adds particles, makes them heavier or changes the cell size, is it still the "
        "same snow? Does the outcome settle down in finer grids? And how many particles "
        "does a cell need?");
    report_say(
        r, "Done",
        "A block is sampled and stepped once, so that the method finds its rest volumes; its "
        "density inside is mass by volume. A snowball is dropped at resolutions from 5 cells "
        "across "
        "to 40. And one set of particles lies on the ground in ever smaller cells. All in two "
        "dimensions.");
    report_density(r);
    report_resolution(r);
    report_filling(r);
    report_surfaces(r, t.surfaces);
    report_say(
        r, "Answer",
        "Density is kept to a per cent as long as masses follow from it, whatever the sampling. "
        "The "
        "impact converges: the last refinement moves the lowest centre of mass by %.1f %%. The "
        "pile "
        "does so slowly (%.1f %% in height), and <b>how far pieces fly does not converge</b>: snow "
        "that "
        "softens as it tears has no length of its own, so cracks are a cell wide, and finer cells "
        "crack more easily. Choose the cell size first, then the material. One particle a cell (in "
        "two "
        "dimensions) holds a body together at rest; the paper&rsquo;s 4 to 10 are on the safe "
        "side, and "
        "less is numerical fracture.",
        100 * change_of(s, t.resolution, 2), 100 * change_of(s, t.resolution, 3));
    conclude(s, r, &t);
    report_say(
        r, "The thesis",
        "(section 4.3) is right that masses must be corrected when particles are added or made "
        "heavier, and "
        "calls setting the density &ldquo;near impossible&rdquo; beforehand. It is a "
        "division: mass = density &times; sampled volume / particles. It is wrong that a change of "
        "the cell size alone changes the density: the same particles over other cells keep it, "
        "because step 2 divides mass by the volume that the mass lies in. (A particle alone is the "
        "exception: it fills the cells that it touches.) What changes the density is a "
        "new sampling with the old particle mass.");
    report_say(r, "Report 002",
               "suspects that snow deflates in small cells because particles &ldquo;interact "
               "less&rdquo;. So it "
               "is, and the remedy is more particles, not larger cells.");
}

const study_kind scaling_study = {"scaling", "Scaling: does the result depend on the resolution?",
                                  measure_scaling, report_scaling};
