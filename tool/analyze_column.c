/*
 * How tall a column of snow stands before it yields at its base, by simulation.
 *
 * A column between walls without friction, so that it cannot bulge, begins in the equilibrium of
 * elasticity: with no room sideways the nominal stress is linear, (lambda + 2 mu)(F - 1), and
 * carries the snow above, rho g (H - Y). If nothing yields it stays there; if the base yields, it
 * packs. The last two cells above the ground are within reach of the ground's nodes and do not have
 * the stress of the continuum, so what is watched is the layer of two cells above them, and what it
 * carries is the snow above that layer.
 */
#include "analyze_column.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 3, PER_CELL = 2 }; /* cells across; particles of a cell, each way */
static const double GRAVITY = 9.81, YIELDED = 1e-3;

typedef struct column {
    const snow *kind;
    double cell, height; /* m, undeformed */
    size_t count;
    double *Y; /* height of each particle in the undeformed column */
} column;

static firn_scene *column_scene(study *s, const column *c)
{
    return study_scene(s,
                       "simulation: {dimensions: 2, cell_size: %.17g, fps: 0.001, "
                       "rest_volume: sampled}\n"
                       "colliders:\n"
                       "  - {shape: {plane: {point: [0, 0], normal: [0, 1]}}, friction: 0}\n"
                       "  - {shape: {plane: {point: [0, 0], normal: [1, 0]}}, friction: 0}\n"
                       "  - {shape: {plane: {point: [%.17g, 0], normal: [-1, 0]}}, friction: 0}\n",
                       c->cell, WIDTH * c->cell);
}

/* One array of `count` x `width` doubles out of a block that the caller frees. */
static double *take(double **block, size_t count, size_t width)
{
    double *array = *block;
    *block += count * width;
    return array;
}

static firn_sim *column_sim(study *s, const column *c, const firn_scene *scene)
{
    size_t n = c->count;
    double *block = calloc(14 * n + 1, sizeof *block), *rest = block;
    if (!block)
        abort();
    const double *v = c->kind->value;
    double spacing = c->cell / PER_CELL, k = v[DENSITY] * GRAVITY / snow_modulus(c->kind);
    double *x = take(&rest, n, 2), *m = take(&rest, n, 1), *V0 = take(&rest, n, 1);
    double *F = take(&rest, n, 4), *mu = take(&rest, n, 1), *lambda = take(&rest, n, 1);
    double *xi = take(&rest, n, 1), *theta_c = take(&rest, n, 1), *theta_s = take(&rest, n, 1);
    for (size_t p = 0; p < n; p++) {
        double Y = c->Y[p], above = c->height - Y;
        x[2 * p] = ((double)(p % (WIDTH * PER_CELL)) + 0.5) * spacing;
        x[2 * p + 1] = Y - k * (c->height * Y - Y * Y / 2);
        F[4 * p] = 1;
        F[4 * p + 3] = fmax(1 - k * above, 1 - v[THETA_C]);
        V0[p] = spacing * spacing;
        m[p] = v[DENSITY] * V0[p];
        mu[p] = v[YOUNG] / (2 * (1 + v[POISSON]));
        lambda[p] = snow_modulus(c->kind) - 2 * mu[p];
        xi[p] = v[XI];
        theta_c[p] = v[THETA_C];
        theta_s[p] = v[THETA_S];
    }
    const firn_particles particles = {.count = n,
                                      .position = x,
                                      .mass = m,
                                      .volume = V0,
                                      .F_E = F,
                                      .mu0 = mu,
                                      .lambda0 = lambda,
                                      .hardening = xi,
                                      .theta_c = theta_c,
                                      .theta_s = theta_s};
    const firn_sim_options options = {.threads = 1};
    firn_sim *sim = NULL;
    firn_status status = firn_sim_create_from_particles(scene, &options, &particles, &sim);
    if (status != FIRN_OK)
        study_fail(s, status);
    free(block);
    return sim;
}

/* How much the watched layer has been packed for good, after waves have crossed the column ten
 * times. */
static bool layer_packing(study *s, const column *c, double *packing)
{
    firn_scene *scene = column_scene(s, c);
    firn_sim *sim = scene ? column_sim(s, c, scene) : NULL;
    double crossing = c->height / sqrt(snow_modulus(c->kind) / c->kind->value[DENSITY]);
    bool good = sim && study_advance(s, sim, 10 * crossing, 0, NULL);
    if (good) {
        double *J_P = study_read(s, sim, FIRN_J_P), sum = 0, particles = 0;
        for (size_t p = 0; p < c->count; p++)
            if (c->Y[p] > 2 * c->cell && c->Y[p] < 4 * c->cell)
                sum += fabs(1 - J_P[p]), particles++;
        *packing = sum / particles;
        free(J_P);
    }
    firn_sim_destroy(&sim);
    firn_scene_destroy(&scene);
    return good && !s->code;
}

bool column_stands(study *s, const snow *kind, double cell, double height, bool *stands,
                   double *carried)
{
    size_t across = WIDTH * PER_CELL, rows = (size_t)lround(height / cell * PER_CELL);
    column c = {.kind = kind,
                .cell = cell,
                .height = (double)rows * cell / PER_CELL,
                .count = rows * across};
    c.Y = calloc(c.count + 1, sizeof *c.Y);
    if (!c.Y)
        abort();
    for (size_t p = 0; p < c.count; p++)
        c.Y[p] = ((double)(p / across) + 0.5) * cell / PER_CELL;
    double packing = 0;
    bool good = layer_packing(s, &c, &packing);
    free(c.Y);
    *stands = packing < YIELDED;
    *carried = c.height - 3 * cell;
    return good;
}

bool column_limit(study *s, const snow *kind, int cells, double *carried)
{
    double expected = snow_standing_height(kind), cell = expected / cells;
    double low = 0.5 * expected, high = 1.7 * expected, at_low = NAN, at_high = NAN;
    while (high - low > 0.6 * cell) {
        double middle = 0.5 * (low + high), load;
        bool stands;
        if (!column_stands(s, kind, cell, middle, &stands, &load))
            return false;
        if (stands)
            low = middle, at_low = load;
        else
            high = middle, at_high = load;
    }
    *carried = 0.5 * (at_low + at_high);
    return true;
}
