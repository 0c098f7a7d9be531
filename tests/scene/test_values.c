/* What a scene holds after parsing: defaults, presets, shapes, both dimensions. */
#include "scene_test.h"

static const double tiny = 1e-12;

static double distance(const shape *s, double x, double y, double z)
{
    return shape_distance(s, (double[3]){x, y, z}, NULL);
}

/* The shape of a scene's first collider, from its YAML; 2D or 3D. Owned by the caller. */
static shape *shape_of(const char *yaml, int dimensions)
{
    char text[2048];
    snprintf(text, sizeof text,
             "simulation: {cell_size: 0.1, dimensions: %d}\ncolliders:\n  - shape: %s\n",
             dimensions, yaml);
    firn_scene *scene = parse(text, NULL);
    shape *s = shape_copy(scene->colliders[0].body.shape);
    firn_scene_destroy(&scene);
    return s;
}

static void test_defaults(void **state)
{
    (void)state;
    firn_scene *scene = parse(BASE, NULL);
    const firn_settings *s = firn_scene_settings(scene);
    assert_string_equal(firn_scene_name(scene), "t");
    assert_int_equal(s->dimensions, 3);
    assert_int_equal(s->frames, 96);
    assert_near(s->fps, 24, 0);
    assert_near(s->cell_size, 0.1, 0);
    assert_near(s->gravity[0], 0, 0);
    assert_near(s->gravity[1], -9.81, 0);
    assert_near(s->gravity[2], 0, 0);
    assert_int_equal(s->kernel, FIRN_CUBIC);
    assert_int_equal(s->transfer, FIRN_FLIP);
    assert_near(s->blend, 0.95, 0);
    assert_int_equal(s->integrator, FIRN_EXPLICIT);
    assert_near(s->beta, 1, 0);
    assert_near(s->tolerance, 1e-4, 0);
    assert_int_equal(s->max_iterations, 200);
    assert_int_equal(s->preconditioner, FIRN_NO_PRECONDITIONER);
    assert_int_equal(s->hessian, FIRN_PROJECTED);
    assert_int_equal(s->newton_iterations, 1);
    assert_int_equal(s->retries, 10);
    assert_near(s->time_step, 0, 0);
    assert_near(s->cfl, 0, 0); /* auto */
    assert_near(s->travel, 0.4, 0);
    assert_int_equal(s->rest_volume, FIRN_VOLUME_GRID);
    assert_int_equal(s->formats, FIRN_FORMAT_VTKHDF);
    assert_int_equal(s->every, 1);
    assert_int_equal(firn_scene_object_count(scene), 1);
    assert_int_equal(firn_scene_collider_count(scene), 0);
    assert_string_equal(firn_scene_object_name(scene, 0), "snow1");
    const scene_snow *snow = &scene->snow[0];
    assert_int_equal(snow->method, SAMPLE_POISSON);
    assert_near(snow->particles_per_cell, 8, 0);
    assert_int_equal(snow->seed, 1);
    assert_near(snow->velocity[1], 0, 0);
    assert_string_equal(snow->mark.where, "t.yaml:4:5");
    assert_string_equal(scene->materials[snow->material].name, "snow");
    firn_scene_destroy(&scene);
    assert_null(scene);
    firn_scene_destroy(&scene);
}

static void test_everything_said(void **state)
{
    (void)state;
    firn_scene *scene = parse(
        "name: 2024\n"
        "simulation: {frames: 0, fps: 12.5, cell_size: 5e-1, gravity: [1, 2, 3], kernel: "
        "quadratic,\n"
        "  transfer: apic, time_step: 1.5e-4, cfl: 1, travel: .25, retries: 3,\n"
        "  integrator: {type: auto, beta: 0.5, tolerance: 1e-6, max_iterations: 7,\n"
        "    preconditioner: block, hessian: exact},\n"
        "  rest_volume: sampled}\n"
        "snow:\n  - {shape: {box: {center: [0, 0, 0], size: [4, 4, 4]}}, velocity: [-1, +2, 1.],\n"
        "     sampling: {particles_per_cell: 4.5, method: random, seed: 9007199254740992}}\n"
        "colliders:\n"
        "  - {name: 'a b', shape: {sphere: {center: [9, 0, 0], radius: 1}}, friction: 0.5}\n"
        "  - {shape: {sphere: {center: [9, 0, 0], radius: 1}}, sticky: True, velocity: [1, 0, 0]}\n"
        "output: {formats: [ply, vtkhdf], every: 3}\n",
        NULL);
    const firn_settings *s = firn_scene_settings(scene);
    assert_string_equal(firn_scene_name(scene), "2024");
    assert_int_equal(s->integrator, FIRN_CHEAPER);
    assert_near(s->beta, 0.5, 0);
    assert_near(s->tolerance, 1e-6, 0);
    assert_int_equal(s->max_iterations, 7);
    assert_int_equal(s->preconditioner, FIRN_BLOCK);
    assert_int_equal(s->hessian, FIRN_EXACT);
    assert_int_equal(s->retries, 3);
    assert_int_equal(s->frames, 0);
    assert_near(s->fps, 12.5, 0);
    assert_near(s->cell_size, 0.5, 0);
    assert_near(s->gravity[2], 3, 0);
    assert_int_equal(s->kernel, FIRN_QUADRATIC);
    assert_int_equal(s->transfer, FIRN_APIC);
    assert_near(s->time_step, 1.5e-4, 0);
    assert_near(s->travel, 0.25, 0);
    assert_int_equal(s->rest_volume, FIRN_VOLUME_SAMPLED);
    assert_int_equal(s->formats, FIRN_FORMAT_VTKHDF | FIRN_FORMAT_PLY);
    assert_int_equal(s->every, 3);
    assert_int_equal(scene->snow[0].method, SAMPLE_RANDOM);
    assert_near(scene->snow[0].particles_per_cell, 4.5, 0);
    assert_true(scene->snow[0].seed == UINT64_C(9007199254740992));
    assert_near(scene->snow[0].velocity[1], 2, 0);
    assert_string_equal(firn_scene_collider_name(scene, 0), "a b");
    assert_string_equal(firn_scene_collider_name(scene, 1), "collider2");
    assert_near(scene->colliders[0].body.friction, 0.5, 0);
    assert_false(scene->colliders[0].body.sticky);
    assert_true(scene->colliders[1].body.sticky);
    const double x[3] = {9, 0, 0};
    assert_near(firn_scene_collider_distance(scene, 1, 0, x), -1, tiny);
    assert_near(firn_scene_collider_distance(scene, 1, 3, x), 2, tiny);
    firn_scene_destroy(&scene);
}

static void test_presets(void **state)
{
    (void)state;
    firn_scene *scene = parse(BASE "    material: plain\n"
                                   "  - shape: {sphere: {center: [9, 1, 0], radius: 1}}\n"
                                   "    material: icy\n"
                                   "materials:\n"
                                   "  plain: {}\n"
                                   "  powder: {density: 77}\n"
                                   "  slush: muddy\n"
                                   "  mine: {preset: wet, hardening: 6}\n",
                              NULL);
    const scene_material *m = scene->materials;
    assert_int_equal(scene->material_count, 5);
    scene_material table2 = scene_default_material();
    assert_near(table2.young_modulus, 1.4e5, 0);
    assert_near(table2.poisson_ratio, 0.2, 0);
    assert_near(table2.density, 400, 0);
    assert_near(table2.hardening, 10, 0);
    assert_near(table2.critical_compression, 2.5e-2, 0);
    assert_near(table2.critical_stretch, 7.5e-3, 0);
    assert_near(m[0].density, table2.density, 0);
    assert_near(m[1].density, 77, 0);
    assert_true(m[1].critical_compression < table2.critical_compression); /* dry */
    assert_true(m[2].hardening < table2.hardening);                       /* muddy */
    assert_near(m[3].hardening, 6, 0);
    assert_true(m[3].critical_stretch > table2.critical_stretch); /* wet */
    assert_string_equal(m[4].name, "icy");
    assert_true(m[4].hardening > table2.hardening);
    assert_int_equal(scene->snow[0].material, 0);
    assert_int_equal(scene->snow[1].material, 4);
    double mu0, lambda0;
    scene_lame(&table2, &mu0, &lambda0);
    assert_near(mu0, 1.4e5 / 2.4, 1e-6);
    assert_near(lambda0, 1.4e5 * 0.2 / (1.2 * 0.6), 1e-6);
    firn_scene_destroy(&scene);
}

static void test_primitives(void **state)
{
    (void)state;
    shape *s = shape_of("{box: {center: [1, 2, 3], size: [2, 4, 6]}}", 3);
    assert_near(distance(s, 2, 2, 3), 0, tiny);
    assert_near(distance(s, 1, 4.5, 3), 0.5, tiny);
    assert_near(distance(s, 1, 2, 7), 1, tiny);
    shape_destroy(&s);
    s = shape_of("{capsule: {from: [1, 0, 0], to: [3, 0, 0], radius: 0.5}}", 3);
    assert_near(distance(s, 4, 0, 0), 0.5, tiny);
    assert_near(distance(s, 2, 0, 1), 0.5, tiny);
    assert_near(distance(s, 2, 0, 0), -0.5, tiny);
    shape_destroy(&s);
    s = shape_of("{cylinder: {from: [0, 0, 1], to: [0, 0, 3], radius: 2}}", 3);
    assert_near(distance(s, 0, 0, 4), 1, tiny);
    assert_near(distance(s, 0, 3, 2), 1, tiny);
    shape_destroy(&s);
    s = shape_of("{plane: {point: [0, 1, 0], normal: [3, 4, 0]}}", 3);
    assert_near(distance(s, 0, 1, 7), 0, tiny);
    assert_near(distance(s, 0.6, 1.8, 0), 1, tiny);
    assert_near(distance(s, -0.6, 0.2, 0), -1, tiny);
    shape_destroy(&s);
}

static void test_combinations(void **state)
{
    (void)state;
    shape *s = shape_of("{subtract: [{box: {center: [0, 0, 0], size: [4, 4, 4]}},"
                        " {sphere: {center: [0, 0, 0], radius: 1}},"
                        " {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}]}",
                        3);
    assert_true(distance(s, 0, 0, 0) > 0);
    assert_true(distance(s, 0, 1.5, 0) < 0);
    assert_true(distance(s, 0, -1.5, 0) > 0);
    shape_destroy(&s);
    s = shape_of("{intersect: [{sphere: {center: [0, 0, 0], radius: 1}},"
                 " {sphere: {center: [1, 0, 0], radius: 1}}]}",
                 3);
    assert_true(distance(s, 0.5, 0, 0) < 0 && distance(s, -0.5, 0, 0) > 0);
    shape_destroy(&s);
    s = shape_of("{union: [{sphere: {center: [0, 0, 0], radius: 1}},"
                 " {sphere: {center: [3, 0, 0], radius: 1}}]}",
                 3);
    assert_true(distance(s, 0, 0, 0) < 0 && distance(s, 3, 0, 0) < 0 && distance(s, 1.5, 0, 0) > 0);
    shape_destroy(&s);
}

/* Turned about its own middle, then moved; `about` chooses another point. */
static void test_rotate_and_translate(void **state)
{
    (void)state;
    shape *s = shape_of("{box: {center: [5, 0, 0], size: [4, 2, 2]},"
                        " rotate: {axis: [0, 0, 2], angle: 90}, translate: [0, 1, 0]}",
                        3);
    assert_near(distance(s, 5, 3, 0), 0, tiny);
    assert_near(distance(s, 6, 1, 0), 0, tiny);
    shape_destroy(&s);
    s = shape_of("{sphere: {center: [5, 0, 0], radius: 1},"
                 " rotate: {axis: [0, 0, 1], angle: 90, about: [0, 0, 0]}}",
                 3);
    assert_near(distance(s, 0, 5, 0), -1, tiny);
    shape_destroy(&s);
    /* A combination turns about the middle of its first part, which has itself been moved. */
    s = shape_of("{union: [{sphere: {center: [4, 0, 0], radius: 1}, translate: [1, 0, 0]},"
                 " {sphere: {center: [7, 0, 0], radius: 0.5}}],"
                 " rotate: {axis: [0, 1, 0], angle: -90}}",
                 3);
    assert_near(distance(s, 5, 0, 0), -1, tiny);
    assert_near(distance(s, 5, 0, 2), -0.5, tiny);
    shape_destroy(&s);
}

static void test_two_dimensions(void **state)
{
    (void)state;
    shape *s = shape_of("{box: {center: [1, 2], size: [2, 4]}}", 2);
    assert_near(distance(s, 1, 2, 0), -1, tiny);
    assert_near(distance(s, 3, 2, 0), 1, tiny);
    shape_destroy(&s);
    s = shape_of("{box: {center: [0, 0], size: [2, 2]}, rotate: 45}", 2);
    assert_near(distance(s, sqrt(2), 0, 0), 0, tiny);
    shape_destroy(&s);
    s = shape_of("{box: {center: [3, 0], size: [4, 2]}, rotate: {axis: [0, 0, -1], angle: -90}}",
                 2);
    assert_near(distance(s, 3, 2, 0), 0, tiny);
    shape_destroy(&s);
    firn_scene *scene = parse("simulation: {cell_size: 0.1, dimensions: 2, gravity: [1, -2]}\n"
                              "snow: [{shape: {sphere: {center: [0, 1, 0], radius: 1}},\n"
                              "        velocity: [3, 4, 0]}]\n",
                              NULL);
    assert_near(scene->settings.gravity[1], -2, 0);
    assert_near(scene->settings.gravity[2], 0, 0);
    assert_near(scene->snow[0].velocity[1], 4, 0);
    firn_scene_destroy(&scene);
}

static void test_yaml_forms(void **state)
{
    (void)state;
    firn_scene *scene = parse("{\"simulation\": {\"cell_size\": 1E-1}, \"snow\": [{\"shape\": "
                              "{\"sphere\": {\"center\": [0, 1, 0], \"radius\": 0.5}}}]}",
                              NULL);
    firn_scene_destroy(&scene);
    scene = parse("simulation: {cell_size: 0.1}\n"
                  "snow:\n"
                  "  - &one {shape: &ball {sphere: {center: [0, 1, 0], radius: 0.5}}}\n"
                  "  - {name: two, shape: *ball, velocity: [0, 1, 0]}\n",
                  NULL);
    assert_int_equal(firn_scene_object_count(scene), 2);
    assert_near(distance(scene->snow[1].shape, 0, 1, 0), -0.5, tiny);
    firn_scene_destroy(&scene);
}

static void test_resolution(void **state)
{
    (void)state;
    firn_scene *scene = parse(BASE, "simulation.resolution=0.25");
    assert_near(scene->settings.cell_size, 0.4, tiny);
    assert_near(scene->settings.resolution, 0.25, 0);
    assert_near(distance(scene->snow[0].shape, 0, 1, 0), -0.5, tiny);
    assert_near(scene->snow[0].particles_per_cell, 8, 0);
    firn_scene_destroy(&scene);
}

static void test_copy(void **state)
{
    (void)state;
    firn_scene *scene = parse(BASE "colliders:\n  - shape: {plane: {point: [0, 0, 0], "
                                   "normal: [0, 1, 0]}}\n",
                              NULL);
    firn_scene *copy = scene_copy(scene);
    uint64_t fingerprint = firn_scene_fingerprint(scene);
    firn_scene_destroy(&scene);
    assert_true(firn_scene_fingerprint(copy) == fingerprint);
    assert_string_equal(firn_scene_object_name(copy, 0), "snow1");
    assert_string_equal(copy->materials[0].name, "snow");
    assert_near(distance(copy->snow[0].shape, 0, 1, 0), -0.5, tiny);
    assert_near(distance(copy->colliders[0].body.shape, 0, 1, 0), 1, tiny);
    firn_scene_destroy(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),       cmocka_unit_test(test_everything_said),
        cmocka_unit_test(test_presets),        cmocka_unit_test(test_primitives),
        cmocka_unit_test(test_combinations),   cmocka_unit_test(test_rotate_and_translate),
        cmocka_unit_test(test_two_dimensions), cmocka_unit_test(test_yaml_forms),
        cmocka_unit_test(test_resolution),     cmocka_unit_test(test_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
