/* Poisson disks: none too close, no room left, and the measured constants measured again. */
#include "shape/cmocka_all.h"

#include "shape/make_shape.h"

#include <stdlib.h>
#include <string.h>

/* ---- Points by cell, by other means than the sampler's --------------------------------------- */

typedef struct point {
    int64_t cell[3];
    double x[3];
} point;

typedef struct cloud {
    size_t count;
    double radius;
    point *points; /* sorted by cell; owned */
} cloud;

static int compare_cells(const void *a, const void *b)
{
    const point *p = a, *q = b;
    for (int i = 0; i < 3; i++)
        if (p->cell[i] != q->cell[i])
            return p->cell[i] < q->cell[i] ? -1 : 1;
    return 0;
}

static cloud cloud_create(const sample_points *samples, int dimensions)
{
    cloud c = {samples->count, samples->radius, calloc(samples->count + 1, sizeof(point))};
    for (size_t n = 0; n < c.count; n++)
        for (int i = 0; i < dimensions; i++) {
            c.points[n].x[i] = samples->position[n * dimensions + i];
            c.points[n].cell[i] = (int64_t)floor(c.points[n].x[i] / c.radius);
        }
    qsort(c.points, c.count, sizeof *c.points, compare_cells);
    return c;
}

static size_t first_at(const cloud *c, const point *key)
{
    size_t low = 0, high = c->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare_cells(&c->points[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The nearest point other than `self` among those within a radius (and some beyond), or NULL. */
static const point *nearest(const cloud *c, const double x[3], const point *self, double *square)
{
    const point *best = NULL;
    *square = INFINITY;
    for (int n = 0; n < 27; n++) {
        point key = {.cell = {(int64_t)floor(x[0] / c->radius) + n % 3 - 1,
                              (int64_t)floor(x[1] / c->radius) + n / 3 % 3 - 1,
                              (int64_t)floor(x[2] / c->radius) + n / 9 - 1}};
        for (size_t k = first_at(c, &key); k < c->count; k++) {
            const point *p = &c->points[k];
            if (compare_cells(p, &key) != 0)
                break;
            double sum = 0;
            for (int i = 0; i < 3; i++)
                sum += (p->x[i] - x[i]) * (p->x[i] - x[i]);
            if (p != self && sum < *square) {
                *square = sum;
                best = p;
            }
        }
    }
    return best;
}

/* ---- The two promises ------------------------------------------------------------------------ */

static void check_apart(const cloud *c)
{
    for (size_t p = 0; p < c->count; p++) {
        double square;
        nearest(c, c->points[p].x, &c->points[p], &square);
        if (square < c->radius * c->radius)
            fail_msg("two points are %.17g radii apart", sqrt(square) / c->radius);
    }
}

/* Climb from x away from the nearest points, in the shape, looking for a place with room. */
static void check_no_room(const cloud *c, const shape *s, double x[3])
{
    double stride = 0.2 * c->radius;
    for (int step = 0; step < 24; step++, stride *= 0.8) {
        double square, y[3];
        const point *p = nearest(c, x, NULL, &square);
        if (square > c->radius * c->radius * (1 + 1e-8))
            fail_msg("room is left at %g %g %g: %g radii", x[0], x[1], x[2],
                     sqrt(square) / c->radius);
        for (int i = 0; i < 3; i++)
            y[i] = x[i] + stride * (x[i] - p->x[i]) / (sqrt(square) + 1e-9 * c->radius);
        if (shape_distance(s, y, NULL) < -1e-7 * c->radius) /* not on a sheet without thickness */
            memcpy(x, y, sizeof y);
    }
}

static void check_disks(shape *s, int dimensions, double n, int probes)
{
    sample_points samples;
    sample_request request = {s, dimensions, SAMPLE_POISSON, n, 3};
    assert_int_equal(sample_shape(&request, &samples), FIRN_OK);
    assert_true(samples.radius >= sample_poisson_radius(dimensions, n));
    cloud c = cloud_create(&samples, dimensions);
    check_apart(&c);
    /* Probes anywhere in the shape, close under its surface, and down to a radius below it. */
    double low[3], high[3];
    assert_true(shape_bounds(s, dimensions, low, high));
    int inside = 0;
    for (int k = 0; inside < probes && k < 100 * probes; k++) {
        double x[3] = {0}, g[3];
        for (int i = 0; i < dimensions; i++)
            x[i] = low[i] + (high[i] - low[i]) * random_unit(77, 3 * k + i);
        double distance = shape_distance(s, x, g);
        double u = random_unit(78, k), depth = c.radius * (k % 3 == 1 ? 0.1 * u * u * u * u : u);
        for (int i = 0; i < dimensions && k % 3; i++)
            x[i] -= g[i] * (distance + depth);
        if (shape_distance(s, x, NULL) > -1e-7 * c.radius)
            continue;
        inside++;
        check_no_room(&c, s, x);
    }
    assert_int_equal(inside, probes);
    free(c.points);
    sample_points_clear(&samples);
    shape_destroy(&s);
}

static void disks_in_the_plane(void **state)
{
    (void)state;
    check_disks(moved(sphere(1), 0.3, 0.2, 0), 2, 20000, 20000);
    check_disks(turned(box(1, 0.7, INFINITY), 2, 0.3), 2, 2000, 20000);
    check_disks(without(sphere(1), moved(sphere(0.7), 0.2, 0, 0)), 2, 3000, 20000);
    check_disks(without(sphere(1), sphere(0.999)), 2, 2000, 20000);
}

static void disks_in_space(void **state)
{
    (void)state;
    check_disks(moved(sphere(1), 300, -200, 0.1), 3, 4000, 20000);
    check_disks(tumbled(box(1, 0.5, 0.2)), 3, 4000, 20000);
    check_disks(
        joined(tumbled(capsule(0.5, 0.2)), without(sphere(0.5), moved(sphere(0.4), 0.3, 0, 0))), 3,
        8000, 20000);
    check_disks(box(1, 0.01, 1), 3, 8000, 20000);
}

/* Faces of a difference that coincide leave a sheet of no thickness, which must not be followed. */
static void flush_faces(void **state)
{
    (void)state;
    check_disks(without(box(1, 1, 1), moved(box(0.5, 0.5, 2), 0, 0.5, 0)), 3, 2000, 20000);
    check_disks(without(box(1, 1, 1), moved(box(0.5, 0.5, 2), 0, 0.5, 0)), 2, 2000, 20000);
}

/* Number of points over number asked, summed over spheres and boxes. */
static double excess(int dimensions, double n, double size, int seeds)
{
    double count = 0, expected = 0;
    for (int seed = 0; seed < seeds; seed++) {
        shape *s = seed % 2 ? sphere(size) : box(size, 0.8 * size, 0.6 * size);
        sample_points samples;
        sample_request request = {s, dimensions, SAMPLE_POISSON, n, seed};
        assert_int_equal(sample_shape(&request, &samples), FIRN_OK);
        count += (double)samples.count;
        expected += n * samples.volume;
        sample_points_clear(&samples);
        shape_destroy(&s);
    }
    return count / expected - 1;
}

/* DENSITY shows in shapes of many radii, EDGE in those of a few. */
static void constants_are_as_measured(void **state)
{
    (void)state;
    assert_true(fabs(excess(2, 4000, 1, 10)) < 0.005);
    assert_true(fabs(excess(2, 4000, 0.1, 40)) < 0.013);
    assert_true(fabs(excess(3, 2000, 1, 8)) < 0.005);
    assert_true(fabs(excess(3, 2000, 0.4, 12)) < 0.012);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disks_in_the_plane),
        cmocka_unit_test(disks_in_space),
        cmocka_unit_test(flush_faces),
        cmocka_unit_test(constants_are_as_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
