/* Bodies from meshes as shapes: filled, measured, grown, turned and combined. */
#include "shape/cmocka_all.h"

#include <stdio.h>

#include "io/vdb.h"
#include "shape/make_mesh.h"
#include "shape/make_shape.h"

static const double CELL = 0.02;

/* The shape of a mesh, which is cleared. */
static shape *body(triangle_mesh m, double shell)
{
    shape_field *field;
    if (field_from_mesh(&m, CELL / 2, 1.5 * CELL, shell, &field) != FIRN_OK)
        fail_msg("%s", firn_last_error());
    mesh_clear(&m);
    return shape_from_field(field);
}

static double mesh_volume(const triangle_mesh *m)
{
    mesh_report r;
    assert_true(mesh_check(m, &r));
    return r.volume;
}

static double signed_distance(const mesh_tree *tree, const double x[3])
{
    mesh_point p = mesh_tree_nearest(tree, x, INFINITY);
    double normal[3], along = 0;
    mesh_tree_normal(tree, &p, normal);
    for (int i = 0; i < 3; i++)
        along += normal[i] * (x[i] - p.x[i]);
    return along > 0 ? p.distance : -p.distance;
}

/* Every method in a torus, whose hole is where samples alone would let particles stick out. */
static void test_filling(void **state)
{
    (void)state;
    triangle_mesh m = torus_mesh(40, 0.2, 0.08);
    double volume = mesh_volume(&m);
    mesh_tree *tree = mesh_tree_create(&m);
    shape *s = body(m, 0);
    for (sample_method method = SAMPLE_POISSON; method <= SAMPLE_LATTICE; method++) {
        sample_request request = {.shape = s,
                                  .dimensions = 3,
                                  .method = method,
                                  .points_per_volume = 8 / (CELL * CELL * CELL),
                                  .seed = 3};
        sample_points points;
        assert_int_equal(sample_shape(&request, &points), FIRN_OK);
        assert_close(points.volume / volume, 1, 0.002);
        assert_close((double)points.count / (request.points_per_volume * volume), 1, 0.02);
        double out = 0, nearest = 1;
        for (size_t n = 0; n < points.count; n++) {
            double d = signed_distance(tree, points.position + 3 * n);
            out = fmax(out, d);
            nearest = fmin(nearest, fabs(d));
        }
        printf("method %d: %zu particles, at most %.1e m outside, volume off by %.4f %%\n", method,
               points.count, out, 100 * fabs(points.volume / volume - 1));
        assert_true(out <= 1e-12);
        assert_true(nearest < 0.1 * CELL); /* and the surface is reached */
        sample_points_clear(&points);
    }
    shape_destroy(&s);
    mesh_tree_destroy(&tree);
}

/* A box of triangles, turned and scaled, against the box itself. */
static void test_exact(void **state)
{
    (void)state;
    shape *boxes[2] = {body(box_mesh(0.1, 0.15, 0.2), 0), box(0.15, 0.225, 0.3)};
    shape_scale(boxes[0], 1.5);
    for (int k = 0; k < 2; k++)
        moved(tumbled(boxes[k]), 0.3, -0.2, 0.1);
    double low[2][3], high[2][3];
    for (int k = 0; k < 2; k++)
        assert_true(shape_bounds(boxes[k], 3, low[k], high[k]));
    for (int i = 0; i < 3; i++) {
        assert_close(low[0][i], low[1][i], 4 * CELL);
        assert_true(low[0][i] <= low[1][i] && high[0][i] >= high[1][i]);
    }
    for (uint64_t n = 0; n < 20000; n++) {
        double x[3], g[2][3];
        random_place(4, n, 3, 0.8, x);
        double exact = shape_distance(boxes[1], x, g[1]), found = shape_distance(boxes[0], x, g[0]);
        assert_true(fabs(found) <= fabs(exact) + shape_slack(boxes[0]));
        assert_true((found < 0) == (exact < 0));
        assert_close(shape_depth(boxes[0], x), -exact, 1e-12);
        if (fabs(exact) < CELL / 2)
            assert_close(found, exact, 1e-12);
    }
    assert_close(shape_volume(boxes[0], 3, 1e-3) / shape_volume(boxes[1], 3, 1e-3), 1, 1e-3);
    shape_destroy(&boxes[0]);
    shape_destroy(&boxes[1]);
}

/* Grown by more than its band, and hollow: far distances must be right for that. */
static void test_grown(void **state)
{
    (void)state;
    shape *grown = body(ball_mesh(60, 0.2), 0), *hollow = shape_copy(grown);
    shape_grow(grown, 0.1);
    assert_close(shape_volume(grown, 3, 1e-3), 4 * M_PI / 3 * 0.027, 4 * M_PI / 3 * 0.027 * 4e-3);
    hollow = shape_hollow(hollow, 0.1);
    double wall = 4 * M_PI / 3 * (0.25 * 0.25 * 0.25 - 0.15 * 0.15 * 0.15);
    assert_close(shape_volume(hollow, 3, 1e-3), wall, wall * 4e-3);
    assert_true(shape_distance(hollow, (double[3]){0.1, 0, 0}, NULL) > 0);
    assert_true(shape_distance(hollow, (double[3]){0.2, 0, 0}, NULL) < 0);
    shape_destroy(&grown);
    shape_destroy(&hollow);
}

/* Growing and hollowing primitives and combinations. */
static void test_grown_primitives(void **state)
{
    (void)state;
    shape *s = without(sphere(0.5), moved(sphere(0.3), 0.5, 0, 0));
    shape_grow(s, 0.1);
    assert_close(shape_distance(s, (double[3]){-1, 0, 0}, NULL), 0.4, 1e-12);
    assert_close(shape_distance(s, (double[3]){0.45, 0, 0}, NULL), 0.15, 1e-12);
    shape_scale(s, 2);
    assert_close(shape_distance(s, (double[3]){-2, 0, 0}, NULL), 0.8, 1e-12);
    double low[3], high[3];
    assert_true(shape_bounds(s, 3, low, high));
    assert_close(low[0], -1.2, 1e-12);
    shape_destroy(&s);
    s = shape_hollow(box(0.5, 0.5, 0.5), 0.2);
    double outer = 1.2 * 1.2 * 1.2 - 0.02; /* its edges are round; the inner one's are sharp */
    assert_true(shape_volume(s, 3, 1e-3) < outer - 0.512 && shape_volume(s, 3, 1e-3) > 1.1 - 0.512);
    shape_destroy(&s);
}

static void test_combined(void **state)
{
    (void)state;
    shape *s = without(box(0.3, 0.3, 0.3), body(ball_mesh(40, 0.2), 0));
    double expected = 0.216 - 4 * M_PI / 3 * 0.008;
    assert_close(shape_volume(s, 3, 1e-3) / expected, 1, 5e-3);
    shape *copy = shape_copy(s);
    shape_destroy(&s);
    assert_true(shape_distance(copy, (double[3]){0.1, 0, 0}, NULL) > 0);
    shape_use_samples(copy);
    assert_close(shape_distance(copy, (double[3]){0.19, 0, 0}, NULL), 0.01, 0.02 * CELL);
    shape_destroy(&copy);
}

/* Two balls that overlap are one body without a film of emptiness inside. */
static void test_overlap(void **state)
{
    (void)state;
    triangle_mesh other = ball_mesh(40, 0.2);
    move_mesh(&other, 0.25, 0, 0);
    shape *s = body(both_meshes(ball_mesh(40, 0.2), other, false), 0);
    for (double x = -0.19; x < 0.44; x += 0.0007)
        assert_true(shape_distance(s, (double[3]){x, 0, 0.01}, NULL) < 0);
    shape_destroy(&s);
}

static void test_wall(void **state)
{
    (void)state;
    triangle_mesh m = ball_mesh(40, 0.2);
    m.triangle_count = m.triangle_count * 3 / 4; /* open */
    shape *s = body(m, 0.06);
    assert_true(shape_distance(s, (double[3]){0, 0, 0.2}, NULL) < 0);
    assert_close(shape_distance(s, (double[3]){0, 0, 0.25}, NULL), 0.02, 1e-3);
    assert_true(shape_distance(s, (double[3]){0, 0, 0.1}, NULL) > 0);
    shape_destroy(&s);
}

/* The slice z = 0 of a body fills a plane. */
static void test_slice(void **state)
{
    (void)state;
    shape *s = body(ball_mesh(60, 0.2), 0);
    sample_request request = {.shape = s,
                              .dimensions = 2,
                              .method = SAMPLE_POISSON,
                              .points_per_volume = 4 / (CELL * CELL),
                              .seed = 3};
    sample_points points;
    assert_int_equal(sample_shape(&request, &points), FIRN_OK);
    assert_close(points.volume / (M_PI * 0.04), 1, 4e-3);
    shape_destroy(&s);
    sample_points_clear(&points);
}

int main(void)
{
    if (strcmp(vdb_version(), "none") == 0)
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filling),  cmocka_unit_test(test_exact),
        cmocka_unit_test(test_grown),    cmocka_unit_test(test_grown_primitives),
        cmocka_unit_test(test_combined), cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_wall),     cmocka_unit_test(test_slice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
