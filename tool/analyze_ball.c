#include "analyze_ball.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double RADIUS = 0.1, DURATION = 0.35;
static const double SPEED = 4, RIDGE_SPEED = 8; /* m/s */

/* Steps of 1e-5 s, which the paper calls often necessary; a run that needs smaller ones is given
 * up. */
enum { STEPS_MAX = 40000 };

static firn_scene *ball_scene(study *s, const snow *kind, double cell, double gap, bool ridge,
                              int seed)
{
    const double *v = kind->value;
    return study_scene(
        s,
        "simulation: {dimensions: 2, cell_size: %.17g, fps: 100}\n"
        "materials:\n"
        "  kind: {critical_compression: %.17g, critical_stretch: %.17g, "
        "hardening: %.17g,\n"
        "         young_modulus: %.17g, poisson_ratio: %.17g, density: %.17g}\n"
        "snow:\n"
        "  - shape: {sphere: {center: [0.01, %.17g], radius: %.17g}}\n"
        "    material: kind\n"
        "    velocity: [0, %.17g]\n"
        "    sampling: {particles_per_cell: 6, seed: %d}\n"
        "colliders:\n"
        "  - {shape: {plane: {point: [0, 0], normal: [0, 1]}}, friction: 0.5}\n%s",
        cell, v[THETA_C], v[THETA_S], v[XI], v[YOUNG], v[POISSON], v[DENSITY],
        RADIUS + gap + (ridge ? 0.11 : 0), RADIUS, ridge ? -RIDGE_SPEED : -SPEED, seed,
        ridge ? "  - {shape: {box: {center: [0, 0], size: [0.15, 0.15]}, rotate: {angle: 45}}, "
                "friction: 0.2}\n"
              : "");
}

/* ---- Pieces: particles whose cells touch ----------------------------------------------------- */

typedef struct cell_of {
    int64_t at[2];
    size_t group;
} cell_of;

static size_t find_group(cell_of *cells, size_t k)
{
    while (cells[k].group != k)
        k = cells[k].group = cells[cells[k].group].group;
    return k;
}

static int by_place(const void *a, const void *b)
{
    const cell_of *x = a, *y = b;
    if (x->at[0] != y->at[0])
        return x->at[0] < y->at[0] ? -1 : 1;
    return (x->at[1] > y->at[1]) - (x->at[1] < y->at[1]);
}

/* The first of the sorted entries at or after a place. */
static size_t lower_bound(const cell_of *cells, size_t count, int64_t x, int64_t y)
{
    const cell_of wanted = {{x, y}, 0};
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (by_place(&cells[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void join_neighbours(cell_of *cells, size_t count)
{
    for (size_t k = 0; k < count; k++)
        for (int64_t dx = -1; dx <= 1; dx++)
            for (int64_t dy = -1; dy <= 1; dy++) {
                int64_t x = cells[k].at[0] + dx, y = cells[k].at[1] + dy;
                size_t n = lower_bound(cells, count, x, y);
                if (n < count && cells[n].at[0] == x && cells[n].at[1] == y)
                    cells[find_group(cells, k)].group = find_group(cells, n);
            }
}

static void count_pieces(const double *position, size_t count, double cell, ball_result *r)
{
    cell_of *cells = calloc(count, sizeof *cells);
    size_t *sizes = calloc(count, sizeof *sizes), largest = 0;
    if (!cells || !sizes)
        abort();
    for (size_t k = 0; k < count; k++)
        for (int a = 0; a < 2; a++)
            cells[k].at[a] = (int64_t)floor(position[2 * k + (size_t)a] / cell);
    qsort(cells, count, sizeof *cells, by_place);
    for (size_t k = 0; k < count; k++)
        cells[k].group = k;
    join_neighbours(cells, count);
    for (size_t k = 0; k < count; k++)
        sizes[find_group(cells, k)]++;
    r->pieces = 0;
    for (size_t k = 0; k < count; k++) {
        largest = sizes[k] > largest ? sizes[k] : largest;
        r->pieces += sizes[k] * 500 >= count;
    }
    r->loose = 1 - (double)largest / (double)count;
    free(cells);
    free(sizes);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value of component `axis` below which a share of the particles lies; of its size if
 * `absolute`. */
static double quantile(const double *position, size_t count, int axis, bool absolute, double share)
{
    double *x = calloc(count, sizeof *x);
    if (!x)
        abort();
    for (size_t k = 0; k < count; k++) {
        double value = position[2 * k + (size_t)axis];
        x[k] = absolute ? fabs(value) : value;
    }
    qsort(x, count, sizeof *x, by_value);
    double found = x[(size_t)(share * (double)(count - 1))];
    free(x);
    return found;
}

double pile_height(const double *position, size_t count)
{
    return quantile(position, count, 1, false, 0.95);
}

/* ---- The drops ------------------------------------------------------------------------------- */

/* Steps to the end, noting how fast the centre of mass rises. */
static bool drop(study *s, firn_sim *sim, double *rebound, ball_result *r)
{
    double fastest = 0;
    for (int frame = 1; frame <= lround(100 * DURATION) && r->finished > 0; frame++) {
        bool gave_up;
        firn_stats stats;
        if (!study_advance(s, sim, frame / 100.0 - 1e-9, STEPS_MAX, &gave_up))
            return false;
        if (gave_up)
            r->finished = 0;
        else if (study_stats(s, sim, &stats))
            fastest = fmax(fastest, stats.momentum[1] / stats.mass);
    }
    *rebound = fastest / SPEED;
    r->dt = fmin(r->dt, firn_sim_progress(sim).dt_min);
    return !s->code;
}

static bool drop_on(study *s, const snow *kind, double cell, bool ridge, ball_result *r)
{
    firn_scene *scene = ball_scene(s, kind, cell, cell, ridge, 1);
    firn_sim *sim = study_sim(s, scene, NULL, 1);
    double rebound = NAN;
    bool good = sim && drop(s, sim, &rebound, r);
    if (good && r->finished > 0) {
        double *position = study_read(s, sim, FIRN_POSITION);
        size_t count = firn_sim_particle_count(sim);
        if (ridge) {
            count_pieces(position, count, cell, r);
        } else {
            r->rest_height = pile_height(position, count) / (2 * RADIUS);
            r->rebound = rebound;
        }
        free(position);
    }
    firn_sim_destroy(&sim);
    firn_scene_destroy(&scene);
    return good && !s->code;
}

bool ball_drop(study *s, const snow *kind, double cell, ball_result *r)
{
    *r = (ball_result){NAN, NAN, NAN, NAN, .dt = INFINITY, .finished = 1};
    return drop_on(s, kind, cell, false, r) && (!r->finished || drop_on(s, kind, cell, true, r));
}

bool ball_settle(study *s, double cell, int seed, ball_outline *o)
{
    snow kind = snow_usual();
    firn_scene *scene = ball_scene(s, &kind, cell, 0.04, false, seed);
    firn_sim *sim = study_sim(s, scene, NULL, 1);
    bool good = sim != NULL;
    o->lowest = INFINITY;
    for (int frame = 1; frame <= lround(100 * DURATION) && good; frame++) {
        good = study_advance(s, sim, frame / 100.0 - 1e-9, 0, NULL);
        double *x = study_read(s, sim, FIRN_POSITION), sum = 0;
        size_t count = firn_sim_particle_count(sim);
        for (size_t k = 0; k < count; k++)
            sum += x[2 * k + 1];
        if (frame <= 10)
            o->lowest = fmin(o->lowest, sum / (double)count);
        o->height = pile_height(x, count);
        o->centre = sum / (double)count;
        o->front = quantile(x, count, 0, true, 0.95);
        free(x);
    }
    firn_sim_destroy(&sim);
    firn_scene_destroy(&scene);
    return good && !s->code;
}
