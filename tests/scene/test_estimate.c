/* `firn check`: the numbers against closed forms, and each warning. */
#include "method/time_step.h"
#include "scene_test.h"

#define TEXT(cell, extra) "simulation: {cell_size: " cell ", fps: 25, frames: 50" extra "}\n"
#define BLOCK                                                                                      \
    "snow:\n  - name: block\n    shape: {box: {center: [1, 1, 1], size: [1.6, 0.8, 1.2]}}\n"

#define BALL "snow:\n  - name: ball\n    shape: {sphere: {center: [0, 0, 0], radius: 0.5}}\n"

static firn_estimate estimate(const char *text, const char *set)
{
    firn_scene *scene = parse(text, set);
    firn_estimate e;
    firn_status status = firn_scene_estimate(scene, NULL, &e);
    if (status != FIRN_OK)
        print_error("%s\n", firn_last_error());
    assert_int_equal(status, FIRN_OK);
    firn_scene_destroy(&scene);
    return e;
}

/* A box of 16 x 8 x 12 whole cells of 0.1 m. The centre lies on a cell corner. */
static void test_box(void **state)
{
    (void)state;
    firn_estimate e = estimate(TEXT("0.1", "") BLOCK, NULL);
    double cells = 16 * 8 * 12, nodes = 19 * 11 * 15;
    assert_near(e.particles, 8 * cells, 0.05 * 8 * cells);
    assert_near(e.mass, 400 * 1.6 * 0.8 * 1.2, 0.01 * 400 * 1.6 * 0.8 * 1.2);
    assert_near(e.occupied_cells, cells, 0);
    assert_near(e.active_nodes, nodes, 0);
    assert_near(e.particles_per_cell, e.particles / cells, 1e-12);
    assert_near(e.wave_speed, 19.7, 0.05); /* METHOD section 7 */
    double stable = 0.9 * sqrt(2 / 3.13 / 1.5) * 0.1 / e.wave_speed;
    assert_near(e.stable_dt, time_step_rounded(stable), 1e-9);
    assert_near(e.steps, 50 * ceil(0.04 / e.stable_dt), 0);
    assert_true(e.memory_bytes > e.frame_bytes + 100.0 * e.particles);
    assert_true(e.seconds > 0);
    for (size_t i = 0; i < e.warning_count; i++)
        print_error("%s\n", e.warnings[i]);
    assert_int_equal(e.warning_count, 0);
    firn_estimate_clear(&e);
    assert_null(e.warnings);
}

static void test_box_in_2d(void **state)
{
    (void)state;
    firn_estimate e =
        estimate(TEXT("0.1", ", dimensions: 2") BLOCK, "snow.0.shape.box.center=[1, 1, 0]");
    assert_near(e.particles, 8 * 16 * 8, 0.05 * 8 * 16 * 8);
    assert_near(e.mass, 400 * 1.6 * 0.8, 4 * 1.6 * 0.8);
    assert_near(e.occupied_cells, 16 * 8, 0);
    assert_near(e.active_nodes, 19 * 11, 0);
    firn_estimate_clear(&e);
}

/* Quadratic stencils of 3 nodes, from half a cell below: one node fewer a side. */
static void test_quadratic(void **state)
{
    (void)state;
    firn_estimate e = estimate(TEXT("0.1", ", kernel: quadratic") BLOCK, NULL);
    assert_near(e.occupied_cells, 16 * 8 * 12, 0);
    assert_near(e.active_nodes, 19 * 11 * 15, 0);
    firn_estimate_clear(&e);
}

/* Too many particles to sample: counted by volume. */
static void test_huge(void **state)
{
    (void)state;
    firn_estimate e = estimate(TEXT("0.001", "") BLOCK, NULL);
    double cells = 1600.0 * 800 * 1200;
    assert_near(e.particles, 8 * cells, 0.01 * 8 * cells);
    assert_near(e.occupied_cells, cells, 0.01 * cells);
    assert_near(e.mass, 400 * 1.6 * 0.8 * 1.2, 6.2);
    assert_true(e.active_nodes > e.occupied_cells && e.active_nodes < 1.05 * cells);
    firn_estimate_clear(&e);
}

/* What comes until the end of the run, of a stream that is 0.8 by 1.2 m across. */
/* A ball that turns fast crosses cells at its rim: its box has a corner 0.87 m from the middle. */
static void test_turn(void **state)
{
    (void)state;
    const char *text = TEXT("0.1", "") BALL;
    firn_estimate still = estimate(text, NULL),
                  turns = estimate(text, "snow.0.angular_velocity=[0, 0, 36000]");
    assert_true(turns.stable_dt < still.stable_dt);
    assert_near(turns.stable_dt, time_step_rounded(0.4 * 0.1 / (200 * acos(-1) * sqrt(0.75))),
                1e-9);
}

static void test_emitter(void **state)
{
    (void)state;
    const char *const ends[] = {"{}", "{start: 0.5, until: 1}", "{count: 12345}"};
    const double length[] = {1.6 + 2 * 3, 1.6 + 0.5 * 3, 0};
    for (int k = 0; k < 3; k++) {
        char set[200];
        snprintf(set, sizeof set, "snow.0={emit: %s, velocity: [3, 0, 0], shape: %s}", ends[k],
                 "{box: {center: [1, 1, 1], size: [1.6, 0.8, 1.2]}}");
        firn_estimate e = estimate(TEXT("0.1", "") BLOCK, set);
        double cells = length[k] * 0.8 * 1.2 / 1e-3;
        assert_near(e.particles, k == 2 ? 12345 : 8 * cells, k == 2 ? 0 : 0.03 * 8 * cells);
        assert_near(e.mass, 0.05 * (double)e.particles, 0.02 * 0.05 * (double)e.particles);
        assert_int_equal(e.warning_count, 0);
        firn_estimate_clear(&e);
    }
}

static void assert_warns(const char *set, const char *a, const char *b)
{
    static const char text[] =
        TEXT("0.1", "") BLOCK "    sampling: {method: lattice}\ncolliders:\n  - name: floor\n"
                              "    shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}\n";
    firn_estimate e = estimate(text, set);
    if (e.warning_count != (a ? 1 : 0))
        print_error("%zu warnings for %s\n", e.warning_count, set ? set : "the plain scene");
    assert_int_equal(e.warning_count, a ? 1 : 0);
    if (a) {
        assert_has(e.warnings[0], a);
        assert_has(e.warnings[0], b);
    }
    firn_estimate_clear(&e);
}

static void test_warnings(void **state)
{
    (void)state;
    const char *block = "t.yaml:3:5: snow 'block'";
    assert_warns(NULL, NULL, NULL);
    assert_warns("snow.0.sampling.particles_per_cell=3", block, "particles_per_cell is 3");
    assert_warns("snow.0.sampling.particles_per_cell=21", block, "outside the usual 4 to 20");
    assert_warns("materials.snow.density=900", "material 'snow'", "density is 900 kg/m^3");
    assert_warns("materials.snow.hardening=30", "material 'snow'", "usual 5 to 15");
    assert_warns("materials.other.hardening=30", NULL, NULL); /* not used */
    assert_warns("colliders.floor.shape.translate=[0, 1, 0]", block,
                 "start inside collider 'floor' (t.yaml:7:5)");
    assert_warns("snow.0.shape.box.size=[1.6, 0.2, 1.2]", block, "cells thick");
    assert_warns("simulation.time_step=0.01", "t.yaml:1:1: ", "above the stable 0.002");
    assert_warns("simulation.gravity=[0, 0, 0]", "t.yaml:1:1: ", "nothing will move");
    for (const char *const *name =
             (const char *const[]){"powder", "wet", "icy", "muddy", "crust", NULL};
         *name; name++) {
        char set[64];
        snprintf(set, sizeof set, "snow.0.material=%s", *name);
        assert_warns(set, NULL, NULL);
    }
}

static void test_colliders(void **state)
{
    (void)state;
    const char *floor = "t.yaml:7:5: collider 'floor'";
    assert_warns("colliders.floor.shape={box: {center: [0, -3, 0], size: [9, 0.05, 9]}}", floor,
                 "0.5 cells thick");
    assert_warns("colliders.floor.velocity=[50, 0, 0]", floor, "steps will be 0.0008 s");
    assert_warns("colliders.floor.velocity=[5, 0, 0]", NULL, NULL);
    firn_estimate e = estimate(TEXT("0.1", ", time_step: 1e-3") BLOCK
                               "    sampling: {method: lattice}\ncolliders:\n"
                               "  - shape: {box: {center: [0, -9, 0], size: [2, 1, 1]}}\n"
                               "    path: {interpolation: linear, keys: [{time: 0.5}, {time: 0.75, "
                               "translate: [50, 0, 0]}]}\n",
                               NULL);
    assert_int_equal(e.warning_count, 1);
    assert_has(e.warnings[0], "up to 200 m/s, 2 cells in a step of simulation.time_step");
    assert_has(e.warnings[0], "lower the step to 0.0002 s");
    firn_estimate_clear(&e);
}

static void test_overlap(void **state)
{
    (void)state;
    firn_estimate e = estimate(TEXT("0.1", "") BLOCK
                               "  - name: other\n"
                               "    shape: {box: {center: [2, 1, 1], size: [1.6, 0.8, 1.2]}}\n",
                               NULL);
    assert_int_equal(e.warning_count, 1);
    assert_has(e.warnings[0], "snow 'block': ");
    assert_has(e.warnings[0], "lie inside snow 'other' (t.yaml:5:5)");
    size_t inside = 0, all = 0;
    sscanf(strstr(e.warnings[0], "'block': ") + 9, "%zu of %zu", &inside, &all);
    assert_near((double)inside / (double)all, 6.0 / 16, 0.03);
    assert_near(e.occupied_cells, (26 * 8 * 12), 0);
    firn_estimate_clear(&e);
}

static void test_refusals(void **state)
{
    (void)state;
    firn_estimate e;
    firn_scene *scene = parse("simulation: {cell_size: 0.1}\n", NULL);
    assert_int_equal(firn_scene_estimate(scene, NULL, &e), FIRN_BAD_SCENE);
    assert_has(firn_last_error(), "no snow");
    firn_scene_destroy(&scene);
    scene = parse(BASE, NULL);
    firn_sim_options options = {.backend = "abacus"};
    assert_int_equal(firn_scene_estimate(scene, &options, &e), FIRN_USAGE);
    assert_has(firn_last_error(), "abacus");
    firn_scene_destroy(&scene);
    scene = parse("simulation: {cell_size: 0.1}\nsnow: [{shape: {intersect: [{sphere: {center: "
                  "[0, 0, 0], radius: 1}}, {sphere: {center: [5, 0, 0], radius: 1}}]}}]\n",
                  NULL);
    assert_int_equal(firn_scene_estimate(scene, NULL, &e), FIRN_BAD_SCENE);
    assert_has(firn_last_error(), "t.yaml:2:8: snow 'snow1': ");
    firn_scene_destroy(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_box),       cmocka_unit_test(test_box_in_2d),
        cmocka_unit_test(test_quadratic), cmocka_unit_test(test_huge),
        cmocka_unit_test(test_turn),      cmocka_unit_test(test_emitter),
        cmocka_unit_test(test_warnings),  cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_colliders), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
