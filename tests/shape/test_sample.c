/* What all three ways of sampling promise: inside, in number, in mass, reproducible; and their
 * errors. */
#include "shape/cmocka_all.h"

#include "shape/make_shape.h"

#include <string.h>

static const sample_method METHODS[] = {SAMPLE_POISSON, SAMPLE_RANDOM, SAMPLE_LATTICE};

static sample_points sampled(const shape *s, int dimensions, sample_method method, double n,
                             uint64_t seed)
{
    sample_points points;
    sample_request request = {s, dimensions, method, n, seed};
    if (sample_shape(&request, &points) != FIRN_OK)
        fail_msg("%s", firn_last_error());
    return points;
}

static void position(const sample_points *points, int dimensions, size_t n, double x[3])
{
    x[2] = 0;
    memcpy(x, points->position + n * dimensions, dimensions * sizeof *x);
}

static shape *snowball_with_a_hole(void)
{
    return without(moved(sphere(0.15), 0.3, 1.1, 0.02),
                   moved(tumbled(cylinder(1, 0.04)), 0.3, 1, 0));
}

static void points_are_inside(void **state)
{
    (void)state;
    shape *shapes[] = {snowball_with_a_hole(), tumbled(box(0.2, 0.1, 0.05)),
                       without(sphere(0.2), sphere(0.19))};
    for (int which = 0; which < 3; which++)
        for (int d = 2; d <= 3; d++)
            for (int m = 0; m < 3; m++) {
                double n = d == 3 ? 1e6 : 1e5;
                sample_points points = sampled(shapes[which], d, METHODS[m], n, 4);
                for (size_t p = 0; p < points.count; p++) {
                    double x[3];
                    position(&points, d, p, x);
                    assert_true(shape_distance(shapes[which], x, NULL) <= 0);
                }
                sample_points_clear(&points);
                assert_null(points.position);
            }
    for (int which = 0; which < 3; which++)
        shape_destroy(&shapes[which]);
}

/* The mean number of points of a snowball of radius 0.15 m, and the mass they make up. */
static void check_number(int d, sample_method method, double h, double per_cell, int repeats)
{
    const double density = 400, volume = d == 3 ? 4 * M_PI / 3 * 0.003375 : M_PI * 0.0225;
    const double n = per_cell / (d == 3 ? h * h * h : h * h), expected = n * volume;
    shape *s = moved(sphere(0.15), per_cell * 0.0117, h, 0);
    double count = 0;
    for (int seed = 0; seed < repeats; seed++) {
        moved(s, 0.0033, 0.0021, 0);
        sample_points points = sampled(s, d, method, n, seed);
        double mass = density * points.volume / (double)points.count;
        assert_true(fabs(mass * (double)points.count / (density * volume) - 1) < 1e-3);
        count += (double)points.count / repeats;
        sample_points_clear(&points);
    }
    /* 1 %, and twice the spread that disks and lattices have. */
    double spread = 0.33 * sqrt(expected / repeats);
    if (fabs(count - expected) > 0.01 * expected + 2 * spread)
        fail_msg("%dD method %d, %g a cell: %g points, not %g", d, method, per_cell, count,
                 expected);
    shape_destroy(&s);
}

static void number_and_mass_are_right(void **state)
{
    (void)state;
    const double cells[] = {0.02, 0.0137, 0.01}, per_cell[] = {1, 2, 4, 8, 10, 27};
    for (int m = 0; m < 3; m++)
        for (int k = 0; k < 6; k++)
            for (int c = 0; c < 3; c++) {
                check_number(2, METHODS[m], cells[c], per_cell[k], 4);
                if (METHODS[m] != SAMPLE_POISSON && (c < 2 || k < 3))
                    check_number(3, METHODS[m], cells[c], per_cell[k], 3);
            }
    check_number(3, SAMPLE_POISSON, 0.02, 1, 8);
    check_number(3, SAMPLE_POISSON, 0.0137, 4, 2);
    check_number(3, SAMPLE_POISSON, 0.02, 8, 2);
    check_number(3, SAMPLE_POISSON, 0.02, 27, 1);
}

static void random_points_are_uniform(void **state)
{
    (void)state;
    enum { BINS = 64 };
    shape *s = joined(moved(box(1, 1, 1), 1, 1, 1), moved(box(1, 1, 1), 3, 1, 1));
    sample_points points = sampled(s, 3, SAMPLE_RANDOM, 5000, 8);
    assert_int_equal(points.count, 80000);
    int counts[BINS] = {0};
    for (size_t p = 0; p < points.count; p++) {
        double x[3];
        position(&points, 3, p, x);
        counts[(int)(x[0] * 4) * 4 + (int)x[1] * 2 + (int)x[2]]++;
    }
    double chi = 0, expected = 80000.0 / BINS;
    for (int b = 0; b < BINS; b++)
        chi += (counts[b] - expected) * (counts[b] - expected) / expected;
    assert_true(chi < 120 && chi > 25); /* 63 degrees of freedom: beyond 1 in 10^5 either way */
    sample_points_clear(&points);
    shape_destroy(&s);
}

static void lattice_repeats_in_every_cell(void **state)
{
    (void)state;
    const double h = 0.125;
    shape *s = moved(box(0.5, 0.25, 0.25), 0.5, 0.25, 0.25);
    sample_points points = sampled(s, 3, SAMPLE_LATTICE, 8 / (h * h * h), 0);
    assert_int_equal(points.count, 8 * 8 * 4 * 4);
    for (size_t p = 0; p < points.count; p++)
        for (int i = 0; i < 3; i++) {
            double place = fmod(points.position[3 * p + i] / h, 0.5);
            assert_true(fabs(place - 0.25) < 1e-9);
        }
    sample_points_clear(&points);
    shape_destroy(&s);
}

static void small_and_thin_shapes_get_points(void **state)
{
    (void)state;
    shape *hollow = without(sphere(1e-3), sphere(5e-4));
    shape *speck = moved(sphere(1e-3), 0.31, 0.77, 0), *sheet = moved(box(1, 1e-3, 1), 0, 0.033, 0);
    for (int d = 2; d <= 3; d++)
        for (int m = 0; m < 3; m++) {
            sample_points points = sampled(speck, d, METHODS[m], 100, 1);
            assert_int_equal(points.count, 1);
            sample_points_clear(&points);
            points = sampled(hollow, d, METHODS[m], 100, 1);
            assert_int_equal(points.count, 1);
            sample_points_clear(&points);
            points = sampled(sheet, d, METHODS[m], d == 3 ? 8000 : 400, 1);
            assert_true(points.count >= (d == 3 ? 60 : 1));
            sample_points_clear(&points);
        }
    shape_destroy(&hollow);
    shape_destroy(&speck);
    shape_destroy(&sheet);
}

static void far_parts_cost_nothing(void **state)
{
    (void)state;
    shape *s = joined(sphere(0.1), moved(sphere(0.1), 1000, 1000, 0));
    for (int d = 2; d <= 3; d++)
        for (int m = 0; m < 3; m++) {
            double n = d == 3 ? 1e6 : 1e5, volume = d == 3 ? 8 * M_PI / 3 * 1e-3 : 2 * M_PI * 0.01;
            sample_points points = sampled(s, d, METHODS[m], n, 1);
            assert_true(fabs((double)points.count / (n * volume) - 1) < 0.015);
            sample_points_clear(&points);
        }
    shape_destroy(&s);
}

/* ---- Seeds ----------------------------------------------------------------------------------- */

static uint64_t hash(const sample_points *points, int dimensions)
{
    uint64_t h = points->count;
    for (size_t n = 0; n < points->count * dimensions; n++) {
        uint64_t bits;
        memcpy(&bits, &points->position[n], sizeof bits);
        h = random_bits(h, bits);
    }
    return h;
}

static uint64_t hash_of(int dimensions, sample_method method, uint64_t seed)
{
    shape *s = snowball_with_a_hole();
    for (size_t n = 0; n < s->count; n++) /* keep libm's sine out of the numbers */
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                s->ops[n].rotation[i][j] = i == j;
    sample_points points = sampled(s, dimensions, method, dimensions == 3 ? 2e4 : 2e3, seed);
    uint64_t h = hash(&points, dimensions);
    sample_points_clear(&points);
    shape_destroy(&s);
    return h;
}

static void seeds_reproduce_and_differ(void **state)
{
    (void)state;
    for (int d = 2; d <= 3; d++)
        for (int m = 0; m < 2; m++) {
            assert_true(hash_of(d, METHODS[m], 1) == hash_of(d, METHODS[m], 1));
            assert_true(hash_of(d, METHODS[m], 1) != hash_of(d, METHODS[m], 2));
        }
}

static void golden_points(void **state)
{
    (void)state;
    const uint64_t golden[4][3] = {
        [2] = {0x7889535290989b83, 0x04d149ba52b62e23, 0x9677994e2aebe384},
        [3] = {0xd2d37b377485ab1a, 0x7abe0c51e90a4c13, 0xcff8a9570d2b25ca}};
    for (int d = 2; d <= 3; d++)
        for (int m = 0; m < 3; m++)
            if (hash_of(d, METHODS[m], 1) != golden[d][m])
                fail_msg("%dD method %d: 0x%016lx", d, m, (unsigned long)hash_of(d, METHODS[m], 1));
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static void check_refused(shape *s, int dimensions, double n, const char *words)
{
    assert_non_null(s);
    for (int m = 0; m < 3; m++) {
        sample_points points;
        sample_request request = {s, dimensions, METHODS[m], n, 0};
        assert_int_equal(sample_shape(&request, &points), FIRN_BAD_SCENE);
        assert_null(points.position);
        if (!strstr(firn_last_error(), words))
            fail_msg("\"%s\" does not say \"%s\"", firn_last_error(), words);
    }
    shape_destroy(&s);
}

static void errors_say_what_to_do(void **state)
{
    (void)state;
    check_refused(halfspace(), 3, 1000, "intersect it");
    check_refused(without(halfspace(), sphere(1)), 2, 1000, "intersect it");
    check_refused(common(sphere(1), moved(sphere(1), 3, 0, 0)), 3, 1000, "no volume");
    check_refused(moved(sphere(1), 0, 0, 2), 2, 1000, "in the plane z = 0");
    check_refused(without(sphere(1), sphere(2)), 3, 1000, "no volume");
    check_refused(box(1, 0, 1), 3, 1000, "thicker");
    check_refused(sphere(1), 3, 1e12, "cell_size");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_inside),
        cmocka_unit_test(number_and_mass_are_right),
        cmocka_unit_test(random_points_are_uniform),
        cmocka_unit_test(lattice_repeats_in_every_cell),
        cmocka_unit_test(small_and_thin_shapes_get_points),
        cmocka_unit_test(far_parts_cost_nothing),
        cmocka_unit_test(seeds_reproduce_and_differ),
        cmocka_unit_test(golden_points),
        cmocka_unit_test(errors_say_what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
