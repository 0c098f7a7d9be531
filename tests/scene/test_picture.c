/* The camera, light and surface blocks: defaults, what is chosen later, and what is refused. */
#include "scene_test.h"

static void test_nothing_said(void **state)
{
    (void)state;
    firn_scene *s = parse(BASE, NULL);
    assert_false(s->camera.has_position || s->camera.has_target || s->camera.has_azimuth);
    assert_near(s->camera.field_of_view, 30, 0);
    assert_near(s->camera.shutter, 0, 0);
    assert_int_equal(s->render.width, 1280);
    assert_int_equal(s->render.samples, 64);
    assert_near(s->render.extinction, 724, 0);
    assert_near(s->render.albedo[0], 0.996, 0);
    assert_near(s->render.sun_strength, 1, 0);
    assert_near(s->render.sky_strength, 1, 0);
    assert_int_equal(s->render.light_count, 0);
    firn_scene_destroy(&s);
}

static const char full[] =
    BASE "colliders:\n"
         "  - shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}\n"
         "    surface: {type: glossy, colour: 0.5, checker: [0.1, 0.2, 0.3], square: 0.25}\n"
         "  - shape: {sphere: {center: [0, 0, 0], radius: 1}}\n"
         "    surface: glass\n"
         "camera: {position: [1, 2, 3], target: [0, 1, 0], field_of_view: 45, aperture: 0.02,\n"
         "         focus: 2.5, shutter: 0.5}\n"
         "render:\n"
         "  width: 64\n"
         "  sun: {elevation: 12, azimuth: 0}\n"
         "  lights:\n"
         "    - {type: environment, file: sky.exr, azimuth: 30}\n"
         "    - {name: lamp, type: sphere, position: [0, 3, 0], radius: 0.1, colour: [9, 8, 7]}\n";

static void assert_full(const firn_scene *s)
{
    assert_true(s->camera.has_position && s->camera.has_target && !s->camera.has_up);
    assert_near(s->camera.position[2], 3, 0);
    assert_near(s->camera.focus, 2.5, 0);
    assert_true(s->render.has_sun_azimuth);
    assert_near(s->render.sun_strength, 0, 0); /* an environment takes its place */
    assert_int_equal(s->render.light_count, 2);
    assert_string_equal(s->render.lights[0].file, "some/place/sky.exr");
    assert_string_equal(s->render.lights[1].name, "lamp");
    assert_near(s->render.lights[1].colour[2], 7, 0);
    assert_int_equal(s->colliders[0].surface.kind, SCENE_GLOSSY);
    assert_near(s->colliders[0].surface.colour[2], 0.5, 0);
    assert_true(s->colliders[0].surface.has_checker && s->colliders[0].surface.visible);
    assert_int_equal(s->colliders[1].surface.kind, SCENE_GLASS);
    assert_false(s->colliders[1].surface.has_colour);
}

static void test_everything_said(void **state)
{
    (void)state;
    firn_scene *s;
    assert_int_equal(firn_scene_parse(full, "some/place/s.yaml", NULL, 0, &s), FIRN_OK);
    assert_full(s);
    firn_scene *copy = scene_copy(s);
    firn_scene_destroy(&s);
    assert_full(copy);
    firn_scene_destroy(&copy);
}

static void test_overrides(void **state)
{
    (void)state;
    const char *const sets[] = {"camera.position=[0, 1, 4]", "render.lights.lamp.strength=3",
                                "render.sky.strength=0.5", "colliders.0.surface.checker.1=0.25"};
    firn_scene *s;
    assert_int_equal(firn_scene_parse(full, "s.yaml", sets, 4, &s), FIRN_OK);
    assert_near(s->camera.position[2], 4, 0);
    assert_near(s->render.lights[1].strength, 3, 0);
    assert_near(s->render.sky_strength, 0.5, 0);
    assert_near(s->colliders[0].surface.checker[1], 0.25, 0);
    firn_scene_destroy(&s);
    s = parse(BASE, "camera.zoom=2"); /* in a block that the file does not have */
    assert_near(s->camera.zoom, 2, 0);
    firn_scene_destroy(&s);
}

static void test_pictures_are_no_physics(void **state)
{
    (void)state;
    firn_scene *plain = parse(BASE, NULL), *turned = parse(BASE, "camera.azimuth=40");
    firn_scene *brighter = parse(BASE, "render.sun.strength=4");
    assert_true(firn_scene_fingerprint(plain) == firn_scene_fingerprint(turned));
    assert_true(firn_scene_fingerprint(plain) == firn_scene_fingerprint(brighter));
    firn_scene_destroy(&plain);
    firn_scene_destroy(&turned);
    firn_scene_destroy(&brighter);
}

static void test_absurd(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"camera: {position: [1, 2, 3], target: [1, 2, 3]}", "are the same point"},
        {"camera: {field_of_view: 0}", "field_of_view is 0 degrees; it must be above 0"},
        {"camera: {field_of_view: 180}", "field_of_view is 180 degrees"},
        {"camera: {position: [0, .nan, 0]}", "position must be a finite number"},
        {"camera: {position: [0, 1]}", "position has 2 entries"},
        {"camera: {up: [0, 0, 0]}", "up is zero"},
        {"camera: {position: [1, 2, 3], azimuth: 10}", "azimuth has no meaning with a position"},
        {"camera: {lens: 50}", "unknown key 'lens'"},
        {"render: {width: 0}", "width is 0 pixels; it must be at least 16"},
        {"render: {samples: 0}", "samples is 0; it must be at least 1"},
        {"render: {snow: {albedo: [1, 1]}}", "albedo must be three numbers"},
        {"render: {snow: {albedo: 1.5}}", "albedo is 1.5; it must be"},
        {"render: {lights: [{type: sphere, radius: 1}]}", "position is missing in light 'light1'"},
        {"render: {lights: [{type: environment}]}", "file is missing in light 'light1'"},
        {"render: {lights: [{type: constant, radius: 1}]}", "a constant light has no radius"},
        {"render: {lights: [{type: rectangle, position: [0, 0, 0], normal: [0, 0, 0]}]}",
         "normal is zero"},
        {"render: {lights: [{type: torch}]}", "unknown type 'torch'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s\n", BASE, cases[i].text);
        firn_scene *s;
        if (firn_scene_parse(text, "t.yaml", NULL, 0, &s) == FIRN_OK)
            fail_msg("accepted: %s", cases[i].text);
        assert_null(s);
        assert_has(firn_last_error(), cases[i].message);
        assert_has(firn_last_error(), "t.yaml:5:");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_said), cmocka_unit_test(test_everything_said),
        cmocka_unit_test(test_overrides),    cmocka_unit_test(test_pictures_are_no_physics),
        cmocka_unit_test(test_absurd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
