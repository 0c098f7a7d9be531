#include "shape/sample.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shape/array.h"
#include "shape/lattice_walk.h"
#include "shape/sample_methods.h"
#include "status.h"

static const double VOLUME_TOLERANCE = 1e-3;
static const double MOST_POINTS = 4e9;

enum {
    MAX_TRIES =
        100000, /* random places for one point; covers hold far more of the shape than that */
    LATTICE_BLOCK = 8,
};

double sample_root(int dimensions, double x)
{
    if (dimensions == 2)
        return sqrt(x);
    int exponent;
    double m = frexp(x, &exponent), root = 1;
    for (; exponent % 3 != 0; exponent++)
        m /= 2;
    for (int n = 0; n < 8; n++) /* Newton from above; m >= 1/8 */
        root -= (root - m / (root * root)) / 3;
    return ldexp(root, exponent / 3);
}

firn_status sample_append(sample_points *points, size_t *capacity, int dimensions,
                          const double x[3])
{
    size_t row = dimensions * sizeof *x;
    if (!array_grow(&points->position, capacity, points->count, row))
        return fail(FIRN_NO_MEMORY, "not enough memory for %zu particles", points->count + 1);
    memcpy(points->position + dimensions * points->count++, x, row);
    return FIRN_OK;
}

void sample_points_clear(sample_points *points)
{
    free(points->position);
    *points = (sample_points){0};
}

/* ---- At random ------------------------------------------------------------------------------- */

/* Volumes of the inside boxes summed up to and including each; owned by the caller. */
static double *sum_volumes(const shape_cover *cover)
{
    double *sums = malloc((cover->inside_count + 1) * sizeof *sums), sum = 0;
    for (size_t n = 0; n < cover->inside_count && sums; n++)
        sums[n] = sum += cover_box_volume(cover->dimensions, cover->inside[n].half);
    return sums;
}

static size_t first_above(const double *sums, size_t count, double value)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (sums[middle] > value)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* A place uniform in the boxes of the cover. Returns whether it is in the shape. */
static bool throw_point(const shape *s, const shape_cover *c, const double *sums, uint64_t seed,
                        uint64_t *next, double x[3])
{
    double box = cover_box_volume(c->dimensions, c->half);
    double inside = c->inside_count ? sums[c->inside_count - 1] : 0;
    double pick = random_unit(seed, (*next)++) * (inside + box * (double)c->surface_count);
    const double *center, *half = c->half;
    bool certain = pick < inside;
    if (certain) {
        const cover_box *in = &c->inside[first_above(sums, c->inside_count, pick)];
        center = in->center;
        half = in->half;
    } else {
        size_t n = (size_t)((pick - inside) / box);
        center = c->surface[n < c->surface_count ? n : c->surface_count - 1];
    }
    for (int i = 0; i < c->dimensions; i++)
        x[i] = center[i] + half[i] * (2 * random_unit(seed, (*next)++) - 1);
    return certain || shape_distance(s, x, NULL) <= 0;
}

firn_status sample_random(const sample_request *request, const shape_cover *cover, size_t count,
                          sample_points *points)
{
    double *sums = sum_volumes(cover);
    size_t capacity = 0;
    uint64_t next = 0;
    firn_status status = sums ? FIRN_OK : fail(FIRN_NO_MEMORY, "not enough memory for a shape");
    for (size_t n = 0; n < count && status == FIRN_OK; n++) {
        double x[3] = {0};
        int tries = 0;
        while (!throw_point(request->shape, cover, sums, request->seed, &next, x) &&
               tries < MAX_TRIES)
            tries++;
        status = tries < MAX_TRIES
                     ? sample_append(points, &capacity, request->dimensions, x)
                     : fail(FIRN_BAD_SCENE, "the shape is too thin to hold a particle: make it "
                                            "thicker");
    }
    free(sums);
    return status;
}

/* ---- On a lattice ---------------------------------------------------------------------------- */

typedef struct lattice {
    const lattice_walk *walk;
    size_t capacity;
    sample_points *points;
} lattice;

/* Lattice visit: the middles of the cells that are in the shape. */
static firn_status add_middles(void *user, const int64_t low[3], const int64_t high[3], bool deep)
{
    lattice *l = user;
    const lattice_walk *w = l->walk;
    for (int64_t k = low[2]; k < high[2]; k++)
        for (int64_t j = low[1]; j < high[1]; j++)
            for (int64_t i = low[0]; i < high[0]; i++) {
                const int64_t cell[3] = {i, j, k};
                double x[3] = {0};
                for (int a = 0; a < w->dimensions; a++)
                    x[a] = w->origin[a] + w->cell * ((double)cell[a] + 0.5);
                if (!deep && shape_distance(w->shape, x, NULL) > 0)
                    continue;
                firn_status status = sample_append(l->points, &l->capacity, w->dimensions, x);
                if (status != FIRN_OK)
                    return status;
            }
    return FIRN_OK;
}

/* See the header for where the lattice lies. */
firn_status sample_lattice(const sample_request *request, const double low[3], const double high[3],
                           sample_points *points)
{
    double spacing = sample_root(request->dimensions, 1 / request->points_per_volume);
    lattice_walk walk = {.shape = request->shape,
                         .dimensions = request->dimensions,
                         .cell = spacing,
                         .block = LATTICE_BLOCK,
                         .visit = add_middles};
    lattice l = {&walk, 0, points};
    walk.user = &l;
    int64_t first[3] = {0}, last[3] = {1, 1, 1};
    for (int i = 0; i < request->dimensions; i++) {
        if (high[i] - low[i] < spacing) {
            walk.origin[i] = (low[i] + high[i]) / 2 - spacing / 2;
            continue;
        }
        if (fmax(fabs(low[i]), fabs(high[i])) / spacing > 0x1p52)
            return fail(FIRN_BAD_SCENE, "the shape is too far from the origin for particles this "
                                        "small: move it nearer");
        first[i] = (int64_t)floor(low[i] / spacing) - 1;
        last[i] = (int64_t)ceil(high[i] / spacing) + 1;
    }
    return lattice_walk_range(&walk, first, last);
}

/* ---- All methods ----------------------------------------------------------------------------- */

static firn_status check_volume(const sample_request *request, const shape_cover *cover)
{
    double expected = request->points_per_volume * cover->volume;
    if (!(cover->volume > 0) && cover->surface_count == 0)
        return fail(FIRN_BAD_SCENE, "the shape has no volume: nothing is left of it%s",
                    request->dimensions == 2 ? " in the plane z = 0" : "");
    if (!(cover->volume > 0))
        return fail(FIRN_BAD_SCENE, "the shape has no volume, or is too thin to hold a particle: "
                                    "make it thicker");
    if (expected > MOST_POINTS)
        return fail(FIRN_BAD_SCENE,
                    "the shape would take %.3g particles, more than %.0g: use a "
                    "larger cell_size or fewer particles_per_cell",
                    expected, MOST_POINTS);
    return FIRN_OK;
}

static firn_status fill(const sample_request *request, const shape_cover *cover,
                        const double low[3], const double high[3], sample_points *points)
{
    firn_status status = FIRN_OK;
    double expected = request->points_per_volume * cover->volume;
    size_t count = (size_t)fmax(1, floor(expected + 0.5));
    if (request->method == SAMPLE_RANDOM)
        return sample_random(request, cover, count, points);
    status = request->method == SAMPLE_LATTICE ? sample_lattice(request, low, high, points)
                                               : sample_poisson(request, low, high, points);
    if (status == FIRN_OK && points->count == 0)
        status = sample_random(request, cover, 1, points);
    return status;
}

firn_status sample_shape(const sample_request *request, sample_points *points)
{
    assert(request->points_per_volume > 0);
    *points = (sample_points){0};
    double low[3], high[3];
    if (!shape_bounds(request->shape, request->dimensions, low, high))
        return fail(FIRN_BAD_SCENE, "the shape has no end, so it cannot be filled: intersect it "
                                    "with a box or a sphere");
    shape_cover cover;
    firn_status status =
        cover_create(request->shape, request->dimensions, 0, low, high, VOLUME_TOLERANCE, &cover);
    if (status != FIRN_OK)
        return status;
    points->volume = cover.volume;
    status = check_volume(request, &cover);
    if (status == FIRN_OK)
        status = fill(request, &cover, low, high, points);
    cover_clear(&cover);
    if (status != FIRN_OK)
        sample_points_clear(points);
    return status;
}
