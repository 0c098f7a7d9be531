/* Volumes against closed forms: whole primitives, slices, combinations, and shapes thin as
 * paper. */
#include "shape/cmocka_all.h"

#include "shape/make_shape.h"

static const double TOLERANCE = 1e-3;

static void check_volume(shape *s, int dimensions, double expected)
{
    double volume = shape_volume(s, dimensions, TOLERANCE);
    if (!(fabs(volume - expected) <= TOLERANCE * expected))
        fail_msg("volume %.6g is not %.6g (%.2g off)", volume, expected, volume / expected - 1);
    shape_destroy(&s);
}

/* Joined with nothing a primitive loses its closed form and has to be measured. */
static shape *measured(shape *s)
{
    return without(s, moved(sphere(1e-9), 1000, 0, 0));
}

static shape *as_it_is(shape *s)
{
    return s;
}

static void primitives(void **state)
{
    (void)state;
    for (int measure = 0; measure < 2; measure++) {
        shape *(*as)(shape *) = measure ? measured : as_it_is;
        check_volume(as(sphere(0.3)), 3, 4 * M_PI / 3 * 0.027);
        check_volume(as(tumbled(box(1, 2, 0.3))), 3, 8 * 0.6);
        check_volume(as(tumbled(capsule(0.5, 0.2))), 3, M_PI * 0.04 * (1 + 0.8 / 3));
        check_volume(as(tumbled(cylinder(0.5, 0.2))), 3, M_PI * 0.04);
    }
}

static void slices(void **state)
{
    (void)state;
    for (int measure = 0; measure < 2; measure++) {
        shape *(*as)(shape *) = measure ? measured : as_it_is;
        check_volume(as(moved(sphere(0.5), 1, 2, 0.3)), 2, M_PI * 0.16);
        check_volume(as(turned(box(1, 0.5, INFINITY), 2, 0.7)), 2, 2);
        check_volume(as(moved(turned(capsule(0.5, 0.5), 2, 1), 0, 0, 0.3)), 2, 0.8 + M_PI * 0.16);
        check_volume(as(turned(cylinder(0.5, 0.2), 2, 1)), 2, 0.4);
        check_volume(as(turned(cylinder(0.5, 0.2), 0, M_PI / 2)), 2, M_PI * 0.04);
    }
    /* A plane through a cube across a space diagonal cuts out a regular hexagon. */
    shape *cube = turned(turned(box(1, 1, 1), 2, M_PI / 4), 0, atan(M_SQRT2));
    check_volume(cube, 2, 3 * sqrt(3));
}

static void combinations(void **state)
{
    (void)state;
    check_volume(without(sphere(1), sphere(0.9)), 3, 4 * M_PI / 3 * (1 - 0.729));
    /* Two unit spheres a distance d apart share pi (4 + d) (2 - d)^2 / 12. */
    check_volume(common(moved(sphere(1), 0.4, 0, 0), moved(sphere(1), -0.4, 0, 0)), 3,
                 M_PI * 4.8 * 1.2 * 1.2 / 12);
    check_volume(joined(moved(sphere(1), 0.4, 0, 0), moved(sphere(1), -0.4, 0, 0)), 3,
                 8 * M_PI / 3 - M_PI * 4.8 * 1.2 * 1.2 / 12);
    check_volume(common(sphere(1), tumbled(halfspace())), 3, 2 * M_PI / 3);
    check_volume(joined(sphere(0.1), moved(sphere(0.2), 300, 200, 100)), 3, 4 * M_PI / 3 * 0.009);
    /* Flush faces leave a sheet of no thickness behind. */
    check_volume(without(box(1, 1, 1), moved(box(0.5, 0.5, 2), 0, 0.5, 0)), 3, 6);
    check_volume(without(sphere(1), sphere(0.5)), 2, M_PI * 0.75);
}

static void thin_shapes(void **state)
{
    (void)state;
    check_volume(measured(tumbled(box(1, 3e-3, 1))), 3, 24e-3);
    check_volume(measured(tumbled(cylinder(1, 3e-3))), 3, 2 * M_PI * 9e-6);
    check_volume(without(sphere(1), sphere(0.99)), 3, 4 * M_PI / 3 * (1 - 0.970299));
    check_volume(without(sphere(1), sphere(0.9999)), 2, M_PI * (1 - 0.99980001));
}

static void nothing_and_everything(void **state)
{
    (void)state;
    shape *s = common(sphere(1), moved(sphere(1), 3, 0, 0));
    assert_true(shape_volume(s, 3, TOLERANCE) == 0);
    shape_destroy(&s);
    s = common(tumbled(box(1, 1, 1)), moved(tumbled(box(1, 1, 1)), 1.5, 1.5, 1.5));
    assert_true(shape_volume(s, 3, TOLERANCE) == 0);
    shape_destroy(&s);
    s = moved(sphere(1), 0, 0, 2);
    assert_true(shape_volume(s, 2, TOLERANCE) == 0);
    shape_destroy(&s);
    s = halfspace();
    assert_true(isinf(shape_volume(s, 3, TOLERANCE)));
    shape_destroy(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(primitives),
        cmocka_unit_test(slices),
        cmocka_unit_test(combinations),
        cmocka_unit_test(thin_shapes),
        cmocka_unit_test(nothing_and_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
