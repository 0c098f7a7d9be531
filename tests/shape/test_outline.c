/* Closed curves in a plane, and bodies with such a section. */
#include "shape/cmocka_all.h"

#include <math.h>

#include "shape/extrusion.h"
#include "shape/field.h"
#include "shape/make_shape.h"
#include "shape/outline.h"

static size_t square(outline_segment *to, double x, double y, double half, bool clockwise)
{
    const double corner[4][2] = {
        {x - half, y - half}, {x + half, y - half}, {x + half, y + half}, {x - half, y + half}};
    for (int n = 0; n < 4; n++) {
        int a = clockwise ? 3 - n : n, b = clockwise ? (6 - n) % 4 : (n + 1) % 4;
        to[n] = (outline_segment){{corner[a][0], corner[a][1]}, {corner[b][0], corner[b][1]}};
    }
    return 4;
}

static double box_distance(double x, double y, double half)
{
    double q[2] = {fabs(x) - half, fabs(y) - half};
    return hypot(fmax(q[0], 0), fmax(q[1], 0)) + fmin(fmax(q[0], q[1]), 0);
}

/* A ring of two squares that turn in opposite senses: distances to both, and unit gradients. */
static void test_ring(void **state)
{
    (void)state;
    outline_segment s[8];
    size_t n = square(s, 0, 0, 1, false);
    n += square(s + n, 0, 0, 0.5, true);
    outline *o = outline_create(s, n);
    assert_non_null(o);
    assert_int_equal(outline_size(o), 8);
    for (uint64_t k = 0; k < 2000; k++) {
        double x[2] = {3 * random_unit(1, 2 * k) - 1.5, 3 * random_unit(1, 2 * k + 1) - 1.5};
        double expected = fmax(box_distance(x[0], x[1], 1), -box_distance(x[0], x[1], 0.5));
        double g[2], d = outline_distance(o, x, g), there[2], along = 1e-6;
        assert_true(fabs(d - expected) < 1e-12);
        assert_true(fabs(hypot(g[0], g[1]) - 1) < 1e-12);
        there[0] = x[0] + along * g[0];
        there[1] = x[1] + along * g[1];
        assert_true(fabs(outline_distance(o, there, NULL) - d - along) < 1e-9 || fabs(d) < 1e-5);
    }
    outline_destroy(&o);
}

/* Two squares that overlap, in either sense, are their union: the edges within it are gone. */
static void test_overlap(void **state)
{
    (void)state;
    for (int sense = 0; sense < 2; sense++) {
        outline_segment s[8];
        size_t n = square(s, 0, 0, 1, sense);
        n += square(s + n, 1, 1, 1, sense);
        outline *o = outline_create(s, n);
        const double inside[2] = {0.5, 0.5}, edge[2] = {1, 0.2}, corner[2] = {1.3, -0.4};
        assert_true(fabs(outline_distance(o, inside, NULL) + hypot(0.5, 0.5)) < 1e-9);
        assert_true(fabs(outline_distance(o, edge, NULL) + 0.2) < 1e-9);
        assert_true(fabs(outline_distance(o, corner, NULL) - 0.3) < 1e-12);
        outline_destroy(&o);
    }
}

/* Squares that share an edge exactly are one box; one given twice is one. */
static void test_coincident(void **state)
{
    (void)state;
    outline_segment s[12];
    size_t n = square(s, 0, 0, 1, false);
    n += square(s + n, 2, 0, 1, false);
    n += square(s + n, 2, 0, 1, false);
    outline *o = outline_create(s, n);
    const double shared[2] = {1, 0}, out[2] = {3.5, 0};
    assert_true(fabs(outline_distance(o, shared, NULL) + 1) < 1e-9);
    assert_true(fabs(outline_distance(o, out, NULL) - 0.5) < 1e-9);
    outline_destroy(&o);
}

/* An extruded square is a box: exactly everywhere, and from samples to a part of a voxel. */
static void test_extruded_box(void **state)
{
    (void)state;
    outline_segment s[4];
    square(s, 0, 0, 0.2, false);
    const extrusion e = {0.1, 0};
    shape_field *f;
    const double voxel = 0.01;
    assert_int_equal(field_from_outline(outline_create(s, 4), &e, voxel, 0.03, &f), FIRN_OK);
    shape *b = box(0.2, 0.2, 0.1);
    for (uint64_t k = 0; k < 3000; k++) {
        double x[3], g[3], h[3];
        for (int i = 0; i < 3; i++)
            x[i] = 0.6 * random_unit(2, 3 * k + (uint64_t)i) - 0.3;
        double expected = shape_distance(b, x, h);
        assert_true(fabs(field_distance(f, FIELD_EXACT, x, g) - expected) < 1e-12);
        assert_true(fabs(g[0] * g[0] + g[1] * g[1] + g[2] * g[2] - 1) < 1e-9);
        double sampled = field_distance(f, FIELD_SAMPLED, x, NULL);
        if (fabs(expected) < 0.03)
            assert_true(fabs(sampled - expected) < voxel / 2);
        else
            assert_true(sampled * expected > 0 && fabs(sampled) <= fabs(expected) + voxel);
    }
    shape_destroy(&b);
    field_release(&f);
}

/* The bevel against the nearest of many points on the beveled edge. */
static void test_bevel(void **state)
{
    (void)state;
    const extrusion e = {0.1, 0.04};
    for (uint64_t k = 0; k < 500; k++) {
        double side = 0.2 * random_unit(3, 2 * k) - 0.1, z = 0.4 * random_unit(3, 2 * k + 1) - 0.2;
        double face = fabs(z) - 0.1, nearest = INFINITY, weight[2];
        bool inside = side <= 0 && face <= 0 && side + face + 0.04 <= 0;
        for (int n = 0; n <= 4000; n++) {
            double t = n / 4000.0;
            nearest = fmin(nearest, hypot(side + 0.04 * (1 - t), face + 0.04 * t));
            nearest = fmin(nearest, hypot(side + 0.04 + t * 0.5, face));
            nearest = fmin(nearest, hypot(side, face + 0.04 + t * 0.5));
        }
        double d = extrusion_distance(&e, side, z, weight);
        assert_true(fabs(d - (inside ? -nearest : nearest)) < 1e-4);
        assert_true(fabs(hypot(weight[0], weight[1]) - 1) < 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring),       cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_coincident), cmocka_unit_test(test_extruded_box),
        cmocka_unit_test(test_bevel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
