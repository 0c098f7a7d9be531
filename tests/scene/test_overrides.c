/* `--set key.path=value`: what it changes, and what it says when it cannot. */
#include "scene_test.h"

static const char text[] = "simulation:\n  cell_size: 0.1\n  transfer: apic\n"
                           "snow:\n"
                           "  - name: ball\n"
                           "    shape: {sphere: {center: [0, 1, 0], radius: 0.5}}\n"
                           "  - shape: {union: [{box: {center: [3, 1, 0], size: [1, 1, 1]}}]}\n"
                           "colliders:\n"
                           "  - name: ground\n"
                           "    shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}\n"
                           "    friction: 0.4\n";

static void test_values(void **state)
{
    (void)state;
    firn_scene *s = parse(text, "simulation.cell_size=0.02");
    assert_near(s->settings.cell_size, 0.02, 0);
    firn_scene_destroy(&s);
    s = parse(text, "name=other one");
    assert_string_equal(firn_scene_name(s), "other one");
    firn_scene_destroy(&s);
    s = parse(text, "snow.ball.velocity=[0,-1,0]");
    assert_near(s->snow[0].velocity[1], -1, 0);
    firn_scene_destroy(&s);
    s = parse(text, "snow.1.velocity=[0, 0, 5]");
    assert_near(s->snow[1].velocity[2], 5, 0);
    firn_scene_destroy(&s);
    s = parse(text, "snow.snow2.material=powder");
    assert_string_equal(s->materials[s->snow[1].material].name, "powder");
    firn_scene_destroy(&s);
    s = parse(text, "snow.ball.shape.sphere.center.1=4");
    assert_near(shape_distance(s->snow[0].shape, (double[3]){0, 4, 0}, NULL), -0.5, 0);
    firn_scene_destroy(&s);
    s = parse(text, "snow.1.shape.union.0.box.size=[2, 2, 2]");
    assert_near(shape_distance(s->snow[1].shape, (double[3]){3, 1, 0}, NULL), -1, 0);
    firn_scene_destroy(&s);
}

static void test_missing_mappings(void **state)
{
    (void)state;
    firn_scene *s = parse(text, "output.formats=[ply]");
    assert_int_equal(s->settings.formats, FIRN_FORMAT_PLY);
    firn_scene_destroy(&s);
    s = parse(text, "snow.ball.sampling.seed=7");
    assert_int_equal(s->snow[0].seed, 7);
    firn_scene_destroy(&s);
    s = parse(text, "materials.snow.density=300");
    assert_near(s->materials[s->snow[0].material].density, 300, 0);
    assert_near(s->materials[s->snow[0].material].hardening, 10, 0);
    firn_scene_destroy(&s);
    s = parse(text, "simulation.transfer.blend=0.5"); /* transfer: apic, written out */
    assert_int_equal(s->settings.transfer, FIRN_APIC);
    firn_scene_destroy(&s);
    s = parse(text, "simulation.transfer.type=flip");
    assert_int_equal(s->settings.transfer, FIRN_FLIP);
    firn_scene_destroy(&s);
    s = parse(text, "simulation.transfer=mls");
    assert_int_equal(s->settings.transfer, FIRN_MLS);
    firn_scene_destroy(&s);
}

static void test_order_and_removal(void **state)
{
    (void)state;
    const char *const sets[] = {"simulation.frames=3", "simulation.frames=4",
                                "colliders.ground.friction=null", "colliders.ground.sticky=true"};
    firn_scene *s;
    assert_int_equal(firn_scene_parse(text, "t.yaml", sets, 4, &s), FIRN_OK);
    assert_int_equal(s->settings.frames, 4);
    assert_true(s->colliders[0].body.sticky);
    firn_scene_destroy(&s);
    s = parse(text, "snow.0=null");
    assert_int_equal(firn_scene_object_count(s), 1);
    firn_scene_destroy(&s);
    s = parse(text, "snow=null");
    assert_int_equal(firn_scene_object_count(s), 0);
    firn_scene_destroy(&s);
}

static const struct {
    const char *set;
    firn_status status;
    const char *words[2];
} wrong[] = {
    {"simulation.cell_size=-1", FIRN_BAD_SCENE, {"cell_size is -1 m; it must be above 0"}},
    {"simulation.cell_size=1 m", FIRN_BAD_SCENE, {"metres (m), without the unit"}},
    {"simulation.cellsize=1", FIRN_BAD_SCENE, {"unknown key 'cellsize'", "mean 'cell_size'?"}},
    {"simulatoin.frames=1", FIRN_BAD_SCENE, {"unknown key 'simulatoin'", "mean 'simulation'?"}},
    {"snow.bal.velocity=[0, 0, 0]",
     FIRN_BAD_SCENE,
     {"unknown entry 'bal' in snow", "did you mean 'ball'? (known: ball, snow2)"}},
    {"snow.2.velocity=[0, 0, 0]", FIRN_BAD_SCENE, {"unknown entry '2'", "known: ball, snow2"}},
    {"snow.ball.colour=red", FIRN_BAD_SCENE, {"unknown key 'colour' in snow", "known: name, "}},
    {"snow.ball.shape.sphere.center.3=1", FIRN_BAD_SCENE, {"center has 3 entries"}},
    {"simulation.cell_size.x=1", FIRN_BAD_SCENE, {"cell_size is a single value"}},
    {"snow.ball.velocity.1=1", FIRN_BAD_SCENE, {"no velocity yet; set the whole of it"}},
    {"snow.ball.shape.sphere.radius=[1", FIRN_BAD_SCENE, {"YAML syntax"}},
    {"snow.ball.shape.box.size=[1, 1, 1]", FIRN_BAD_SCENE, {"has both sphere and box"}},
    {"simulation.cell_size=", FIRN_BAD_SCENE, {"no value after the ="}},
    {"simulation.cell_size=\x01", FIRN_BAD_SCENE, {"byte 0x01"}},
    {"simulation..frames=1", FIRN_BAD_SCENE, {"empty part"}},
    {"=1", FIRN_BAD_SCENE, {"empty part"}},
    {"simulation.frames", FIRN_USAGE, {"write key.path=value"}},
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        firn_scene *scene;
        firn_status status = firn_scene_parse(text, "t.yaml", &wrong[i].set, 1, &scene);
        if (status != wrong[i].status)
            print_error("%s: status %d\n", wrong[i].set, status);
        assert_int_equal(status, wrong[i].status);
        assert_null(scene);
        assert_has(firn_last_error(), "--set ");
        for (int w = 0; w < 2 && wrong[i].words[w]; w++)
            assert_has(firn_last_error(), wrong[i].words[w]);
    }
    firn_scene *scene;
    firn_scene_parse(text, "t.yaml", &wrong[0].set, 1, &scene);
    assert_has(firn_last_error(), "--set simulation.cell_size=-1: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_missing_mappings),
        cmocka_unit_test(test_order_and_removal),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
