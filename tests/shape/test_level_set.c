/* Level sets of meshes against what the bodies are. */
#include "shape/cmocka_all.h"

#include <stdio.h>

#include "io/vdb.h"
#include "shape/level_set.h"
#include "shape/make_mesh.h"
#include "shape/sample.h"

static const double CELL = 0.005, VOXEL = 0.0025, BAND = 0.0075;

static level_set *make(const triangle_mesh *m, double shell)
{
    level_set *set;
    if (level_set_from_mesh(m, VOXEL, BAND, shell, &set) != FIRN_OK)
        fail_msg("%s", firn_last_error());
    return set;
}

static void direction(uint64_t n, double u[3])
{
    double z = 2 * random_unit(8, 2 * n) - 1, turn = 2 * M_PI * random_unit(8, 2 * n + 1);
    double r = sqrt(1 - z * z);
    u[0] = r * cos(turn);
    u[1] = r * sin(turn);
    u[2] = z;
}

/* 2 % of a cell and 1 degree, for a ball of ten cells' radius; measured, both are several times
 * better. */
static void test_accuracy(void **state)
{
    (void)state;
    const double radius = 10 * CELL;
    triangle_mesh m = ball_mesh(120, radius);
    level_set *set = make(&m, 0);
    double worst = 0, worst_angle = 0;
    for (uint64_t n = 0; n < 100000; n++) {
        double u[3], x[3], g[3], along = 0;
        direction(n, u);
        double distance = BAND * (2 * random_unit(9, n) - 1);
        for (int i = 0; i < 3; i++)
            x[i] = (radius + distance) * u[i];
        double found = level_set_distance(set, x, g);
        for (int i = 0; i < 3; i++)
            along += g[i] * u[i];
        worst = fmax(worst, fabs(found - distance) / CELL);
        worst_angle = fmax(worst_angle, acos(fmin(1, along)) * 180 / M_PI);
    }
    printf("distance within %.4f cells, normal within %.3f degrees\n", worst, worst_angle);
    assert_true(worst < 0.02);
    assert_true(worst_angle < 1);
    level_set_release(&set);
    mesh_clear(&m);
}

/* Anywhere: the right side, and never farther than the surface is. */
static void test_bound(void **state)
{
    (void)state;
    const double radius = 0.1;
    triangle_mesh m = ball_mesh(100, radius);
    level_set *set = make(&m, 0);
    double slackest = 1;
    for (uint64_t n = 0; n < 100000; n++) {
        double x[3], g[3], square = 0;
        for (int i = 0; i < 3; i++) {
            x[i] = 0.6 * random_unit(10, 3 * n + (uint64_t)i) - 0.3;
            square += x[i] * x[i];
        }
        double exact = sqrt(square) - radius, found = level_set_distance(set, x, g);
        assert_true(fabs(found) <= fabs(exact) + 0.02 * CELL);
        if (fabs(exact) > 0.02 * CELL)
            assert_true((found < 0) == (exact < 0));
        if (exact > 0.05)
            slackest = fmin(slackest, found / exact);
        assert_close(g[0] * g[0] + g[1] * g[1] + g[2] * g[2], 1, 1e-9);
        /* Deep inside the way out is roughly along the radius. */
        if (exact < 0 && exact > -0.06)
            assert_true(g[0] * x[0] + g[1] * x[1] + g[2] * x[2] > 0.7 * sqrt(square));
    }
    assert_true(slackest > 0.05); /* far bounds are of use, also beside the corners of the box */
    level_set_release(&set);
    mesh_clear(&m);
}

static void expect_side(const level_set *set, double x, double y, double z, bool inside)
{
    double at[3] = {x, y, z}, d = level_set_distance(set, at, NULL);
    if ((d < 0) != inside)
        fail_msg("%g at %g %g %g", d, x, y, z);
}

static void test_cavity(void **state)
{
    (void)state;
    /* A ball in a hole in a ball; the second time the hole faces outward and counts as solid. */
    for (int turned = 1; turned >= 0; turned--) {
        triangle_mesh m = both_meshes(both_meshes(ball_mesh(30, 0.1), ball_mesh(30, 0.06), turned),
                                      ball_mesh(20, 0.02), false);
        level_set *set = make(&m, 0);
        expect_side(set, 0.08, 0, 0, true);
        expect_side(set, 0.04, 0, 0, !turned);
        expect_side(set, 0.01, 0, 0, true);
        expect_side(set, 0.12, 0, 0, false);
        level_set_release(&set);
        mesh_clear(&m);
    }
}

static void test_overlap(void **state)
{
    (void)state;
    triangle_mesh other = ball_mesh(40, 0.05);
    move_mesh(&other, 0.06, 0, 0);
    triangle_mesh m = both_meshes(ball_mesh(40, 0.05), other, false);
    level_set *set = make(&m, 0);
    for (double x = -0.045; x < 0.106; x += 0.001)
        expect_side(set, x, 0, 0, true);
    level_set_release(&set);
    mesh_clear(&m);
}

/* A single triangle has no inside, but a wall around it has. */
static void test_shell(void **state)
{
    (void)state;
    triangle_mesh m = mesh_room(3, 1);
    add_point(&m, 0, 0, 0);
    add_point(&m, 0.2, 0, 0);
    add_point(&m, 0, 0, 0.2);
    add_face(&m, 0, 1, 2);
    level_set *set = make(&m, 0.02);
    expect_side(set, 0.05, 0.009, 0.05, true);
    expect_side(set, 0.05, -0.009, 0.05, true);
    expect_side(set, 0.05, 0.011, 0.05, false);
    double x[3] = {0.05, 0.013, 0.05}, g[3];
    assert_close(level_set_distance(set, x, g), 0.003, 1e-5);
    assert_close(g[1], 1, 1e-3);
    level_set_release(&set);
    mesh_clear(&m);
}

/* The same bits however many threads there are: colliders must not change on resume. */
static void test_repeatable(void **state)
{
    (void)state;
    triangle_mesh m = torus_mesh(60, 0.1, 0.04);
    level_set *a = make(&m, 0), *b = make(&m, 0);
    assert_int_equal(a->block_count, b->block_count);
    assert_memory_equal(a->samples, b->samples,
                        a->block_count * LEVEL_SET_BLOCK * sizeof *a->samples);
    level_set *shared = level_set_share(a);
    level_set_release(&a);
    assert_true(level_set_distance(shared, (double[3]){0.1, 0, 0}, NULL) < 0);
    level_set_release(&shared);
    level_set_release(&b);
    mesh_clear(&m);
}

static void test_locate(void **state)
{
    (void)state;
    triangle_mesh m = ball_mesh(40, 0.05);
    level_set *set = make(&m, 0);
    for (uint64_t n = 0; n < 1000; n++) {
        double u[3], sum = 0;
        direction(n, u);
        const double x[3] = {0.05 * u[0], 0.05 * u[1], 0.05 * u[2]};
        level_set_cell cell = level_set_locate(set, x);
        assert_true(cell.block >= 0);
        for (int c = 0; c < 8; c++) {
            double weight = 1;
            for (int i = 0; i < 3; i++)
                weight *= c >> i & 1 ? cell.weight[i] : 1 - cell.weight[i];
            sum +=
                weight *
                set->samples[(size_t)cell.block * LEVEL_SET_BLOCK +
                             (size_t)(cell.sample + (c & 1) + 11 * (c >> 1 & 1) + 121 * (c >> 2))];
        }
        assert_close(sum, level_set_distance(set, x, NULL), 1e-9);
    }
    assert_int_equal(level_set_locate(set, (double[3]){0, 0, 0}).block, -1);
    level_set_release(&set);
    mesh_clear(&m);
}

static void test_too_fine(void **state)
{
    (void)state;
    triangle_mesh m = box_mesh(500, 500, 500);
    level_set *set;
    assert_int_equal(level_set_from_mesh(&m, 1e-3, 3e-3, 0, &set), FIRN_BAD_SCENE);
    assert_null(set);
    assert_non_null(strstr(firn_last_error(), "voxel"));
    mesh_clear(&m);
}

int main(void)
{
    if (strcmp(vdb_version(), "none") == 0)
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracy),   cmocka_unit_test(test_bound),
        cmocka_unit_test(test_cavity),     cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_shell),      cmocka_unit_test(test_locate),
        cmocka_unit_test(test_repeatable), cmocka_unit_test(test_too_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
