/*
 * Volumes. After a few bisections most of the volume lies in boxes known to be inside. What the
 * surface boxes add is measured by one random point in each of them: an estimate without bias
 * however thin the shape is, whose standard error v sqrt(n p (1 - p)) falls faster than 1/n because
 * the boxes shrink as their number n grows (v is a box's volume, p the fraction of points inside; a
 * common p is the worst case). Refinement ends when three standard errors fit in the tolerance.
 *
 * Invariant: all surface boxes have the same half extents.
 */
#include "shape/cover.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shape/array.h"
#include "shape/sample.h"
#include "shape/shape_part.h"
#include "status.h"

enum {
    MAX_SURFACE = 2000000, /* boxes; then more points a box instead of more boxes */
    MIN_SURFACE = 500,     /* boxes, before the estimate is asked */
    MAX_LEVEL = 120,       /* bisections: enough to shrink each axis by 2^40 */
    MAX_ROUNDS = 64,       /* points a box */
    EMPTY_ROUNDS = 4,      /* points a box that say nothing is there */
    VOLUME_SEED = 0x666972,
};

double cover_box_volume(int dimensions, const double half[3])
{
    double volume = 4 * half[0] * half[1];
    return dimensions == 3 ? volume * 2 * half[2] : volume;
}

/* ---- Closed forms ---------------------------------------------------------------------------- */

static double sphere_slice(double radius, double height)
{
    return sqrt(fmax(0, radius * radius - height * height));
}

/* The area that the plane z = 0 cuts from a primitive; NAN where no short formula holds. */
static double slice_area(const shape_op *op)
{
    const double aligned = 1 - 1e-12, level = 1e-12, *p = op->params, height = op->origin[2];
    double r = sphere_slice(op->kind == SHAPE_SPHERE ? p[0] : p[1], height);
    double axis = fabs(op->rotation[2][1]);
    switch (op->kind) {
    case SHAPE_SPHERE:
        return M_PI * r * r;
    case SHAPE_BOX:
        for (int j = 0; j < 3; j++)
            if (fabs(op->rotation[2][j]) > aligned)
                return fabs(height) <= p[j] ? 4 * p[(j + 1) % 3] * p[(j + 2) % 3] : 0;
        return NAN;
    case SHAPE_CAPSULE:
        return axis < level ? r * (4 * p[0] + M_PI * r) : NAN;
    case SHAPE_CYLINDER:
        if (axis > aligned)
            return fabs(height) <= p[0] ? M_PI * p[1] * p[1] : 0;
        return axis < level ? 4 * p[0] * r : NAN;
    default:
        return NAN;
    }
}

static double primitive_volume(const shape_op *op)
{
    const double *p = op->params;
    switch (op->kind) {
    case SHAPE_SPHERE:
        return 4 * M_PI / 3 * p[0] * p[0] * p[0];
    case SHAPE_BOX:
        return 8 * p[0] * p[1] * p[2];
    case SHAPE_CAPSULE:
        return M_PI * p[1] * p[1] * (2 * p[0] + 4.0 / 3 * p[1]);
    case SHAPE_CYLINDER:
        return 2 * M_PI * p[1] * p[1] * p[0];
    default:
        return NAN;
    }
}

static double closed_form(const shape *s, int dimensions, double offset)
{
    if (s->count != 1 || offset != 0 || s->ops[0].offset != 0)
        return NAN;
    return dimensions == 2 ? slice_area(s->ops) : primitive_volume(s->ops);
}

/* ---- Refinement ------------------------------------------------------------------------------ */

static bool add_inside(shape_cover *c, const double center[3])
{
    if (!array_grow(&c->inside, &c->inside_capacity, c->inside_count, sizeof *c->inside))
        return false;
    cover_box *box = &c->inside[c->inside_count++];
    memcpy(box->center, center, sizeof box->center);
    memcpy(box->half, c->half, sizeof box->half);
    c->inside_volume += cover_box_volume(c->dimensions, c->half);
    return true;
}

static int longest_axis(int dimensions, const double half[3])
{
    int axis = 0;
    for (int i = 1; i < dimensions; i++)
        if (half[i] > half[axis])
            axis = i;
    return axis;
}

/* Bisect every surface box along the longest axis and decide the halves that can be decided. */
static bool refine(shape_cover *c, const shape *s)
{
    int axis = longest_axis(c->dimensions, c->half);
    c->half[axis] /= 2;
    double radius = (1 + 1e-12) * sqrt(c->half[0] * c->half[0] + c->half[1] * c->half[1] +
                                       c->half[2] * c->half[2]) +
                    shape_slack(s);
    size_t count = 2 * c->surface_count, kept = 0;
    double(*next)[3] = malloc((count + 1) * sizeof *next);
    double *distances = malloc((count + 1) * sizeof *distances);
    for (size_t n = 0; n < count && next; n++) {
        memcpy(next[n], c->surface[n / 2], sizeof *next);
        next[n][axis] += n % 2 ? c->half[axis] : -c->half[axis];
    }
    bool fits = next && distances && shape_distances(s, count, next, distances);
    for (size_t n = 0; n < count && fits; n++) {
        double distance = distances[n] - c->offset;
        if (fabs(distance) <= radius)
            memmove(next[kept++], next[n], sizeof *next);
        else if (distance < 0)
            fits = add_inside(c, next[n]);
    }
    free(distances);
    free(c->surface);
    c->surface = next;
    c->surface_count = kept;
    return fits;
}

/* ---- Estimation ------------------------------------------------------------------------------ */

/* One point in each surface box: adds how many of them are inside. */
static bool count_hits(const shape_cover *c, const shape *s, uint64_t round, double *hits)
{
    enum { CHUNK = 4096 };
    double x[CHUNK][3] = {0}, distances[CHUNK];
    uint64_t stream = random_bits(VOLUME_SEED, round);
    for (size_t first = 0; first < c->surface_count; first += CHUNK) {
        size_t rows = c->surface_count - first < CHUNK ? c->surface_count - first : CHUNK;
        for (size_t r = 0; r < rows; r++)
            for (int i = 0; i < c->dimensions; i++)
                x[r][i] = c->surface[first + r][i] +
                          c->half[i] * (2 * random_unit(stream, 3 * (first + r) + i) - 1);
        if (!shape_distances(s, rows, x, distances))
            return false;
        for (size_t r = 0; r < rows; r++)
            *hits += distances[r] <= c->offset;
    }
    return true;
}

/* Returns whether three standard errors are within the tolerance. */
static bool estimate(shape_cover *c, double tolerance, double hits, double points)
{
    double p = points > 0 ? hits / points : 0;
    double box = cover_box_volume(c->dimensions, c->half);
    double boxes = (double)c->surface_count;
    c->volume = c->inside_volume + box * boxes * p;
    double error = points > 0 ? box * boxes * sqrt(p * (1 - p) / points) : 0;
    return 3 * error <= tolerance * c->volume && (c->volume > 0 || points == 0);
}

static bool measure(shape_cover *c, const shape *s, double tolerance)
{
    for (uint64_t level = 0;; level++) {
        bool last = level == MAX_LEVEL || c->surface_count > MAX_SURFACE / 2;
        if (last || c->surface_count == 0 || c->surface_count >= MIN_SURFACE) {
            double hits = 0, points = (double)c->surface_count;
            if (!count_hits(c, s, level, &hits))
                return false;
            bool settled = estimate(c, tolerance, hits, points);
            for (int round = 1; last && !settled && round < MAX_ROUNDS; round++) {
                if (c->volume == 0 && round == EMPTY_ROUNDS)
                    break;
                if (!count_hits(c, s, MAX_LEVEL + round, &hits))
                    return false;
                points += (double)c->surface_count;
                settled = estimate(c, tolerance, hits, points);
            }
            if (settled || last)
                return true;
        }
        if (!refine(c, s))
            return false;
    }
}

firn_status cover_create(const shape *s, int dimensions, double offset, const double low[3],
                         const double high[3], double tolerance, shape_cover *cover)
{
    *cover = (shape_cover){.dimensions = dimensions, .offset = offset};
    double center[3] = {0};
    for (int i = 0; i < dimensions; i++) {
        if (low[i] > high[i])
            return FIRN_OK;
        center[i] = low[i] + (high[i] - low[i]) / 2;
        cover->half[i] = (high[i] - low[i]) / 2 + offset;
    }
    cover->surface = malloc(sizeof *cover->surface);
    if (cover->surface) {
        memcpy(cover->surface[0], center, sizeof center);
        cover->surface_count = 1;
    }
    double exact = closed_form(s, dimensions, offset);
    const double coarse = 0.02; /* good enough to throw points into */
    if (!cover->surface || !measure(cover, s, isnan(exact) ? tolerance : coarse)) {
        cover_clear(cover);
        return fail(FIRN_NO_MEMORY, "not enough memory to measure a shape");
    }
    if (!isnan(exact))
        cover->volume = exact;
    return FIRN_OK;
}

void cover_clear(shape_cover *cover)
{
    free(cover->inside);
    free(cover->surface);
    *cover = (shape_cover){0};
}

double shape_volume(const shape *s, int dimensions, double tolerance)
{
    double low[3], high[3];
    if (!shape_bounds(s, dimensions, low, high))
        return INFINITY;
    double exact = closed_form(s, dimensions, 0);
    if (!isnan(exact))
        return exact;
    shape_cover cover;
    if (cover_create(s, dimensions, 0, low, high, tolerance, &cover) != FIRN_OK)
        return NAN;
    double volume = cover.volume;
    cover_clear(&cover);
    return volume;
}
