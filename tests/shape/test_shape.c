/* Distances and gradients against closed forms and finite differences, transforms, bounds. */
#include "shape/cmocka_all.h"

#include "shape/make_shape.h"

#include <stdlib.h>

static double distance_at(const shape *s, double x, double y, double z)
{
    return shape_distance(s, (double[3]){x, y, z}, NULL);
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
}

static void assert_gradient(const shape *s, const double x[3], const double expected[3])
{
    double g[3];
    shape_distance(s, x, g);
    for (int i = 0; i < 3; i++)
        assert_near(g[i], expected[i], 1e-14);
}

/* ---- Closed forms ---------------------------------------------------------------------------- */

static void primitives_have_their_closed_forms(void **state)
{
    (void)state;
    shape *s = moved(sphere(2), 1, 0, 0);
    assert_near(distance_at(s, 4, 4, 0), 3, 1e-15);
    assert_near(distance_at(s, 1, 0, 0), -2, 0);
    assert_gradient(s, (double[3]){4, 4, 0}, (double[3]){0.6, 0.8, 0});
    shape_destroy(&s);

    s = box(1, 2, 3);
    assert_near(distance_at(s, 4, 6, 3), 5, 1e-15);
    assert_near(distance_at(s, 0.5, 0, 0), -0.5, 1e-15);
    assert_near(distance_at(s, 0, 0, -5), 2, 1e-15);
    assert_gradient(s, (double[3]){-4, 6, 3}, (double[3]){-0.6, 0.8, 0});
    assert_gradient(s, (double[3]){0, -1.5, 0}, (double[3]){0, -1, 0});
    shape_destroy(&s);

    s = capsule(2, 0.5);
    assert_near(distance_at(s, 1, 1.5, 0), 0.5, 1e-15);
    assert_near(distance_at(s, 0, 5, 4), 4.5, 1e-15);
    assert_gradient(s, (double[3]){0, -5, 4}, (double[3]){0, -0.6, 0.8});
    shape_destroy(&s);

    s = cylinder(2, 1);
    assert_near(distance_at(s, 3, 0, 4), 4, 1e-15);
    assert_near(distance_at(s, 0, -3, 0.2), 1, 1e-15);
    assert_near(distance_at(s, 4, 6, 0), 5, 1e-15);
    assert_near(distance_at(s, 0.75, 1, 0), -0.25, 1e-15);
    assert_gradient(s, (double[3]){0, -6, -4}, (double[3]){0, -0.8, -0.6});
    shape_destroy(&s);

    s = moved(halfspace(), 0, 1, 0);
    assert_near(distance_at(s, 7, 3, -2), 2, 0);
    assert_near(distance_at(s, 7, 1, -2), 0, 0);
    assert_gradient(s, (double[3]){7, -3, 0}, (double[3]){0, 1, 0});
    shape_destroy(&s);
}

static void turning_and_moving_act_in_that_order(void **state)
{
    (void)state;
    shape *s = moved(turned(moved(box(2, 1, 1), 5, 0, 0), 2, M_PI / 2), 0, 10, 0);
    assert_near(distance_at(s, 0, 15, 0), -1, 1e-14);
    assert_near(distance_at(s, 0, 18, 0), 1, 1e-14);
    assert_near(distance_at(s, 2, 15, 0), 1, 1e-14);
    assert_gradient(s, (double[3]){0, 18, 0}, (double[3]){0, 1, 0});
    shape_destroy(&s);
}

static void gradients_are_defined_where_the_distance_has_none(void **state)
{
    (void)state;
    shape *s = tumbled(sphere(1));
    assert_gradient(s, (double[3]){0, 0, 0}, (double[3]){0, 1, 0});
    shape_destroy(&s);
    s = capsule(1, 0.5);
    assert_gradient(s, (double[3]){0, 0.3, 0}, (double[3]){1, 0, 0});
    shape_destroy(&s);
    s = cylinder(2, 0.5);
    assert_gradient(s, (double[3]){0, 0.3, 0}, (double[3]){1, 0, 0});
    shape_destroy(&s);
}

static void endless_boxes_are_their_slice(void **state)
{
    (void)state;
    shape *s = turned(box(2, 1, INFINITY), 2, 0.5), *thick = turned(box(2, 1, 100), 2, 0.5);
    double low[3], high[3];
    for (uint64_t n = 0; n < 1000; n++) {
        double x[3], g[3], h[3];
        random_place(5, n, 2, 3, x);
        assert_near(shape_distance(s, x, g), shape_distance(thick, x, h), 1e-14);
        for (int i = 0; i < 3; i++)
            assert_near(g[i], h[i], 1e-14);
    }
    assert_true(shape_bounds(s, 2, low, high));
    assert_false(shape_bounds(s, 3, low, high));
    shape_destroy(&s);
    shape_destroy(&thick);
}

/* ---- Properties of many shapes --------------------------------------------------------------- */

enum { SHAPES = 11 };

static shape *example(int n)
{
    switch (n) {
    case 0:
        return moved(sphere(0.8), 0.3, -0.2, 0.1);
    case 1:
        return box(0.5, 0.9, 0.3);
    case 2:
        return moved(tumbled(box(0.5, 0.9, 0.3)), 0.2, 0.1, -0.3);
    case 3:
        return moved(tumbled(capsule(0.6, 0.3)), -0.2, 0.3, 0);
    case 4:
        return moved(tumbled(cylinder(0.6, 0.4)), 0.1, 0.1, 0.1);
    case 5:
        return moved(tumbled(halfspace()), 0.1, 0.1, 0.1);
    case 6:
        return joined(moved(sphere(0.6), 0.4, 0, 0), tumbled(box(0.8, 0.2, 0.4)));
    case 7:
        return common(moved(sphere(0.9), 0.4, 0, 0), moved(sphere(0.9), -0.4, 0, 0));
    case 8:
        return without(sphere(0.9), sphere(0.7));
    case 9:
        return without(tumbled(box(0.8, 0.8, 0.8)), moved(tumbled(cylinder(2, 0.4)), 0.1, 0, 0));
    default:
        return common(joined(sphere(0.5), moved(tumbled(capsule(0.5, 0.2)), 0.5, 0.4, 0)),
                      without(tumbled(halfspace()), moved(box(0.2, 0.2, 0.2), -0.3, -0.3, 0)));
    }
}

/* Central differences agree with the gradient wherever the gradient is steady. */
static void gradients_are_finite_differences(void **state)
{
    (void)state;
    const double e = 1e-6;
    for (int which = 0; which < SHAPES; which++) {
        shape *s = example(which);
        int compared = 0;
        for (uint64_t n = 0; n < 2000; n++) {
            double x[3], g[3], difference[3];
            random_place(which, n, 3, 1.5, x);
            shape_distance(s, x, g);
            assert_near(g[0] * g[0] + g[1] * g[1] + g[2] * g[2], 1, 1e-12);
            bool steady = true;
            for (int i = 0; i < 3; i++) {
                double before[3] = {x[0], x[1], x[2]}, after[3] = {x[0], x[1], x[2]}, h[3];
                before[i] -= e;
                after[i] += e;
                difference[i] =
                    (shape_distance(s, after, h) - shape_distance(s, before, NULL)) / (2 * e);
                steady = steady && h[0] * g[0] + h[1] * g[1] + h[2] * g[2] > 1 - 1e-4;
            }
            for (int i = 0; i < 3 && steady; i++)
                assert_near(difference[i], g[i], 1e-4);
            compared += steady;
        }
        assert_true(compared > 1900);
        shape_destroy(&s);
    }
}

/* No place within |distance| of x is on the other side, and primitives reach the surface there. */
static void distances_are_lower_bounds(void **state)
{
    (void)state;
    for (int which = 0; which < SHAPES; which++) {
        shape *s = example(which);
        for (uint64_t n = 0; n < 20000; n++) {
            double x[3], y[3], g[3], step[3];
            random_place(which, 2 * n, 3, 1.5, x);
            random_place(which, 2 * n + 1, 3, 1, step);
            double distance = shape_distance(s, x, g);
            double length = sqrt(step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
            for (int i = 0; i < 3; i++)
                y[i] = x[i] + step[i] / length * fabs(distance) * (1 - 1e-9);
            double there = shape_distance(s, y, NULL);
            assert_true(distance > 0 ? there >= 0 : there <= 0);
            for (int i = 0; i < 3; i++)
                y[i] = x[i] - distance * g[i];
            if (s->count == 1)
                assert_near(shape_distance(s, y, NULL), 0, 1e-12);
        }
        shape_destroy(&s);
    }
}

static void bounds_hold_the_shape(void **state)
{
    (void)state;
    for (int which = 0; which < SHAPES; which++) {
        if (which == 5)
            continue;
        shape *s = example(which);
        double low[3], high[3];
        assert_true(shape_bounds(s, 3, low, high));
        for (uint64_t n = 0; n < 100000; n++) {
            double x[3];
            random_place(99, n, 3, 2.5, x);
            if (shape_distance(s, x, NULL) <= 0)
                for (int i = 0; i < 3; i++)
                    assert_true(x[i] >= low[i] && x[i] <= high[i]);
        }
        shape_destroy(&s);
    }
}

static void bounds_are_tight_for_primitives(void **state)
{
    (void)state;
    double low[3], high[3];
    shape *s = turned(box(1, 1, 2), 2, M_PI / 4);
    assert_true(shape_bounds(s, 3, low, high));
    assert_near(high[0], M_SQRT2, 1e-12);
    assert_near(low[1], -M_SQRT2, 1e-12);
    assert_near(high[2], 2, 1e-12);
    shape_destroy(&s);
    s = turned(cylinder(2, 1), 2, M_PI / 6);
    assert_true(shape_bounds(s, 3, low, high));
    assert_near(high[0], 2 * 0.5 + cos(M_PI / 6), 1e-12);
    assert_near(high[1], 2 * cos(M_PI / 6) + 0.5, 1e-12);
    assert_near(high[2], 1, 1e-12);
    shape_destroy(&s);
}

static void half_spaces_have_no_end_until_they_are_cut(void **state)
{
    (void)state;
    double low[3], high[3];
    shape *s = moved(halfspace(), 0, 1, 0);
    assert_false(shape_bounds(s, 3, low, high));
    assert_true(isinf(low[0]) && isinf(high[0]) && isinf(low[1]));
    assert_near(high[1], 1, 0);
    /* Below y = 1 but not below y = -1, between x = -2 and 2: bounded in the plane, not in
     * space. */
    s = without(s, moved(halfspace(), 0, -1, 0));
    s = without(s, moved(turned(halfspace(), 2, -M_PI / 2), -2, 0, 0));
    s = without(s, moved(turned(halfspace(), 2, M_PI / 2), 2, 0, 0));
    assert_false(shape_bounds(s, 3, low, high));
    assert_true(shape_bounds(s, 2, low, high));
    assert_near(low[0], -2, 0);
    assert_near(high[0], 2, 0);
    assert_near(low[1], -1, 0);
    shape_destroy(&s);
    s = common(tumbled(halfspace()), sphere(1));
    assert_true(shape_bounds(s, 3, low, high));
    shape_destroy(&s);
}

/* ---- Programs -------------------------------------------------------------------------------- */

static void depth_is_limited(void **state)
{
    (void)state;
    shape *left = sphere(1), *right = sphere(1);
    for (int n = 0; n < 100; n++)
        left = joined(left, moved(sphere(1), n, 0, 0));
    assert_non_null(left);
    assert_int_equal(left->depth, 2);
    assert_near(distance_at(left, 99, 0, 0), -1, 0);
    for (int n = 1; n < SHAPE_MAX_DEPTH; n++)
        right = joined(sphere(1), right);
    assert_non_null(right);
    assert_near(distance_at(right, 3, 0, 0), 2, 0);
    assert_null(joined(sphere(1), right));
    shape_destroy(&left);
}

static void copies_are_independent(void **state)
{
    (void)state;
    shape *s = without(sphere(2), sphere(1)), *copy = shape_copy(s);
    moved(s, 10, 0, 0);
    assert_near(distance_at(copy, 1.5, 0, 0), -0.5, 0);
    assert_near(distance_at(copy, 0, 0, 0), 1, 0);
    shape_destroy(&s);
    assert_null(s);
    assert_near(distance_at(copy, 4, 0, 0), 2, 0);
    shape_destroy(&copy);
    shape_destroy(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(primitives_have_their_closed_forms),
        cmocka_unit_test(turning_and_moving_act_in_that_order),
        cmocka_unit_test(gradients_are_defined_where_the_distance_has_none),
        cmocka_unit_test(endless_boxes_are_their_slice),
        cmocka_unit_test(gradients_are_finite_differences),
        cmocka_unit_test(distances_are_lower_bounds),
        cmocka_unit_test(bounds_hold_the_shape),
        cmocka_unit_test(bounds_are_tight_for_primitives),
        cmocka_unit_test(half_spaces_have_no_end_until_they_are_cut),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(copies_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
