/* Cameras: what the scene says holds, what it leaves open is chosen well, what is absurd is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/camera.h"

enum { WIDTH = 320, HEIGHT = 240 };
static const double world[3] = {0, 0, 0};

static float corners[24];
static firn_frame box = {.dimensions = 3, .count = 8, .cell_size = 0.01, .position = corners};

static void make_box(void)
{
    for (int i = 0; i < 8; i++) {
        corners[3 * i] = i & 1 ? 1.5f : -0.5f;
        corners[3 * i + 1] = i & 2 ? 2 : 1;
        corners[3 * i + 2] = i & 4 ? 0.5f : -0.5f;
    }
}

static firn_scene *scene_with(const char *wish)
{
    char text[512];
    snprintf(
        text, sizeof text,
        "simulation: {cell_size: 0.01, frames: 48}\ncamera: {%s}\n"
        "snow:\n  - {shape: {sphere: {center: [0, 1, 0], radius: 0.1}}, velocity: [4, 0, 0]}\n"
        "colliders:\n  - {shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}, friction: 0.5}",
        wish);
    firn_scene *scene;
    if (firn_scene_parse(text, "t.yaml", NULL, 0, &scene) != FIRN_OK)
        fail_msg("%s", firn_last_error());
    return scene;
}

/* The camera that a scene asks for, looking at the box. */
static camera look(const char *wish, firn_camera *public)
{
    firn_scene *scene = scene_with(wish);
    firn_camera from;
    camera c;
    if (firn_camera_frame(&box, 1, scene, WIDTH, HEIGHT, &from) != FIRN_OK ||
        camera_look(&c, &from, world, scene, WIDTH, HEIGHT) != FIRN_OK)
        fail_msg("%s", firn_last_error());
    if (public)
        *public = from;
    firn_scene_destroy(&scene);
    return c;
}

static camera_point seen(const camera *c, float x, float y, float z)
{
    camera_point at;
    assert_true(camera_project(c, (vec3){x, y, z}, &at));
    return at;
}

static bool holds(const camera *c, float x, float y, float z)
{
    camera_point at;
    return camera_project(c, (vec3){x, y, z}, &at) && at.x > 0 && at.y > 0 && at.x < WIDTH &&
           at.y < HEIGHT;
}

static void test_position_and_target(void **state)
{
    (void)state;
    firn_camera from;
    camera c = look("position: [3, 2, 5], target: [0, 1, 0], field_of_view: 40", &from);
    assert_true(fabs(from.position[0] - 3) < 1e-5 && fabs(from.target[1] - 1) < 1e-5);
    assert_true(fabs(from.field_of_view - 40) < 1e-4);
    camera_point middle = seen(&c, 0, 1, 0);
    assert_true(fabsf(middle.x - WIDTH / 2) < 0.01f && fabsf(middle.y - HEIGHT / 2) < 0.01f);
    /* Half of the field of view is half of the shorter side. */
    vec3 edge =
        vec_add(c.eye, vec_combine(c.up, tanf(20 * 3.14159265f / 180), c.back, -1, c.eye, 0));
    assert_true(fabsf(seen(&c, edge.x, edge.y, edge.z).y) < 0.01f);
}

static void test_parts_that_are_left_open(void **state)
{
    (void)state;
    camera c = look("position: [0.5, 1.5, 9]", NULL); /* the middle of the box is straight ahead */
    assert_true(fabsf(seen(&c, 0.5f, 1.5f, 0).x - WIDTH / 2) < 0.5f);
    c = look("target: [-0.5, 1, 0]", NULL); /* in the middle, and everything still fits */
    assert_true(fabsf(seen(&c, -0.5f, 1, 0).x - WIDTH / 2) < 0.5f);
    for (int i = 0; i < 8; i++)
        assert_true(holds(&c, corners[3 * i], corners[3 * i + 1], corners[3 * i + 2]));
    c = look("azimuth: 90, elevation: 0", NULL); /* from +x: z is to the left */
    assert_true(c.back.x > 0.999f && c.right.z < -0.999f);
    camera near = look("azimuth: 90, elevation: 0, zoom: 2", NULL);
    assert_true(fabsf(near.distance / c.distance - 0.5f) < 1e-4f);
    c = look("azimuth: 0, elevation: 0, up: [1, 0, 0]", NULL);
    assert_true(c.up.x > 0.999f);
    c = look("position: [0.5, 9, 0], target: [0.5, 1, 0]", NULL); /* straight down */
    assert_true(c.back.y > 0.999f && fabsf(vec_length(c.right) - 1) < 1e-5f);
}

static void test_lens(void **state)
{
    (void)state;
    camera c = look("position: [0, 1, 6], target: [0, 1, 0], aperture: 0.2, focus: 4", NULL);
    camera pinhole = c;
    pinhole.lens = 0;
    vec3 first = {0, 0, 0};
    float spread = 0;
    for (int i = 0; i < 16; i++) {
        const float u[4] = {0.5f, 0.5f, ((float)i + 0.5f) / 16, (float)(i * 7 % 16) / 16};
        trace_ray ray = camera_sample(&c, 200, 60, u),
                  straight = camera_sample(&pinhole, 200, 60, u);
        assert_true(vec_length(vec_sub(straight.start, c.eye)) == 0);
        spread = fmaxf(spread, vec_length(vec_sub(ray.start, c.eye)));
        /* All rays of a pixel meet in the plane that is sharp. */
        float way =
            (4 + vec_dot(vec_sub(ray.start, c.eye), c.back)) / -vec_dot(ray.direction, c.back);
        vec3 sharp = vec_add(ray.start, vec_scale(ray.direction, way));
        if (i == 0)
            first = sharp;
        assert_true(vec_length(vec_sub(sharp, first)) < 1e-4f);
        camera_point at = seen(&c, sharp.x, sharp.y, sharp.z);
        assert_true(fabsf(at.x - 200.5f) < 0.05f && fabsf(at.y - 60.5f) < 0.05f);
    }
    assert_true(spread > 0.08f && spread <= 0.1f);
}

static void test_filter(void **state)
{
    (void)state;
    camera c = look("", NULL);
    double mean = 0, square = 0;
    enum { COUNT = 1000 };
    for (int i = 0; i < COUNT; i++) {
        const float u[4] = {((float)i + 0.5f) / COUNT, 0.5f, 0, 0};
        vec3 at = vec_add(c.eye, vec_scale(camera_sample(&c, 100, 100, u).direction, c.distance));
        double x = (double)seen(&c, at.x, at.y, at.z).x - 100.5;
        assert_true(fabs(x) <= 1.01);
        mean += x / COUNT;
        square += x * x / COUNT;
    }
    assert_true(fabs(mean) < 1e-3 && fabs(square - 1.0 / 6) < 1e-3); /* of a tent of radius 1 */
}

static void test_foresight(void **state)
{
    (void)state;
    firn_scene *scene = scene_with("");
    firn_camera from;
    camera c;
    assert_int_equal(firn_camera_foresee(scene, WIDTH, HEIGHT, &from), FIRN_OK);
    assert_int_equal(camera_look(&c, &from, world, scene, WIDTH, HEIGHT), FIRN_OK);
    assert_true(holds(&c, 0, 1.1f, 0));
    assert_true(holds(&c, 1.8f, 0, 0)); /* lands after 0.45 s at 4 m/s */
    assert_true(c.distance < 12);       /* and is stopped by friction */
    firn_scene_destroy(&scene);
}

static void test_absurd(void **state)
{
    (void)state;
    const firn_camera good = {.position = {0, 0, 5}, .field_of_view = 30};
    camera c;
    assert_int_equal(camera_look(&c, &good, world, NULL, WIDTH, HEIGHT), FIRN_OK);
    firn_camera bad[] = {good, good, good, good, good, good, good, good};
    bad[0].position[2] = 0;
    bad[1].field_of_view = 0;
    bad[2].field_of_view = 180;
    bad[3].position[1] = NAN;
    bad[4].target[0] = INFINITY;
    bad[5].aperture = -1;
    bad[6].focus = NAN;
    bad[7].shutter = NAN;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(camera_look(&c, &bad[i], world, NULL, WIDTH, HEIGHT), FIRN_USAGE);
    assert_int_equal(camera_look(&c, &good, world, NULL, 0, HEIGHT), FIRN_USAGE);
    firn_camera from;
    assert_int_equal(firn_camera_frame(&box, 1, NULL, 0, 0, &from), FIRN_USAGE);
    firn_scene *scene = scene_with("position: [0.5, 1.5, 0]"); /* in the middle of the snow */
    assert_int_equal(firn_camera_frame(&box, 1, scene, WIDTH, HEIGHT, &from), FIRN_BAD_SCENE);
    firn_scene_destroy(&scene);
}

static void test_thinning(void **state)
{
    (void)state;
    float position[30], mass[10];
    for (int i = 0; i < 30; i++)
        position[i] = (float)i, mass[i / 3] = (float)(i / 3);
    firn_frame f = {.dimensions = 3, .count = 10, .position = position, .mass = mass};
    firn_frame_thin(&f, 20);
    assert_int_equal(f.count, 10);
    firn_frame_thin(&f, 4);
    assert_int_equal(f.count, 4);
    assert_true(position[9] == 27 && position[11] == 29 && mass[2] == 6);
}

int main(void)
{
    make_box();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_position_and_target),
        cmocka_unit_test(test_parts_that_are_left_open),
        cmocka_unit_test(test_lens),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_foresight),
        cmocka_unit_test(test_absurd),
        cmocka_unit_test(test_thinning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
