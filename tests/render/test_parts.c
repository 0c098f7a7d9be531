/* The small parts of a picture, each against what it promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/camera_fit.h"
#include "render/colour.h"
#include "render/image.h"
#include "render/label.h"
#include "render/legend.h"
#include "render/splat.h"

static void test_scale_rises_evenly(void **state)
{
    (void)state;
    float last = 0, least = INFINITY, most = 0;
    for (int i = 0; i <= 64; i++) {
        vec3 c = colour_scale((float)i / 64);
        /* CIE lightness, a measure that the scale was not built from */
        float y = 0.2126f * c.x + 0.7152f * c.y + 0.0722f * c.z;
        float lightness = 116 * cbrtf(y) - 16;
        if (i > 0) {
            least = fminf(least, lightness - last);
            most = fmaxf(most, lightness - last);
        }
        last = lightness;
    }
    assert_true(least > 0);
    assert_true(most < 3 * least);
}

static void test_tone_is_monotone_and_ends_below_one(void **state)
{
    (void)state;
    float last = -1;
    for (float light = 0; light < 8; light += 0.01f) {
        float out = image_tone((vec3){light, light, light}).x;
        assert_true(out >= last && out <= 1);
        last = out;
    }
    assert_true(last > 0.99f);
}

static void test_camera_holds_all_corners(void **state)
{
    (void)state;
    float corners[24];
    for (int i = 0; i < 8; i++) {
        corners[3 * i] = i & 1 ? 0.5f : -2;
        corners[3 * i + 1] = i & 2 ? 1 : 0;
        corners[3 * i + 2] = i & 4 ? 3 : 2;
    }
    points_sample *sample = malloc(sizeof *sample);
    for (int dimensions = 2; dimensions <= 3; dimensions++) {
        firn_frame f = {.dimensions = dimensions, .count = 8, .position = corners};
        camera c;
        bool flat = dimensions == 2;
        assert_int_equal(camera_fit(&c, &f, 1, NULL, flat, 320, 240, 0.01f, sample), FIRN_OK);
        float left = 320, right = 0;
        for (size_t i = 0; i < 8; i++) {
            vec3 p;
            camera_point at;
            assert_true(points_local(&f, i, c.origin, &p));
            assert_true(camera_project(&c, p, &at));
            assert_true(at.x > 10 && at.x < 310 && at.y > 8 && at.y < 232);
            left = fminf(left, at.x);
            right = fmaxf(right, at.x);
        }
        assert_true(right - left > 240); /* and no farther away than needed */
    }
    free(sample);
}

static void test_ray_and_projection_are_inverse(void **state)
{
    (void)state;
    float position[6] = {0, 0, 0, 1, 2, 3};
    firn_frame f = {.dimensions = 3, .count = 2, .position = position};
    points_sample *sample = malloc(sizeof *sample);
    camera c;
    assert_int_equal(camera_fit(&c, &f, 1, NULL, false, 320, 240, 0.1f, sample), FIRN_OK);
    camera_point at;
    vec3 ray = camera_ray(&c, 71.5f, 200.25f);
    assert_true(camera_project(&c, vec_add(c.eye, vec_scale(ray, 2.5f)), &at));
    assert_true(fabsf(at.x - 71.5f) < 0.01f && fabsf(at.y - 200.25f) < 0.01f);
    free(sample);
}

static void test_nearest_sphere_wins_whatever_the_order(void **state)
{
    (void)state;
    const splat_sphere near = {8, 8, 3, 1, 0.1f}, far = {8, 8, 5, 2, 0.1f}, twin = near;
    splat_buffer b = {0};
    for (int order = 0; order < 2; order++) {
        assert_int_equal(splat_reset(&b, 16, 16), FIRN_OK);
        splat_draw(&b, order ? &far : &near, order ? 3 : 7);
        splat_draw(&b, order ? &near : &far, order ? 7 : 3);
        splat_draw(&b, &twin, order ? 4 : 9);
        uint64_t middle = b.pixels[8 * 16 + 8];
        assert_int_equal(splat_index(middle), order ? 4 : 7);
        assert_true(splat_depth(middle) < 0.91f && splat_depth(middle) > 0.89f);
        assert_int_equal(splat_index(b.pixels[8 * 16 + 12]), 3);
        assert_true(b.pixels[0] == SPLAT_EMPTY);
    }
    /* A sphere far below a pixel's size still shows; one outside draws and harms nothing. */
    assert_int_equal(splat_reset(&b, 16, 16), FIRN_OK);
    splat_draw(&b, &(splat_sphere){4.6f, 2.3f, 1e-4f, 1, 0}, 5);
    splat_draw(&b, &(splat_sphere){1e30f, -1e30f, 2, 1, 0}, 6);
    splat_draw(&b, &(splat_sphere){NAN, 4, 2, 1, 0}, 6);
    int drawn = 0;
    for (int i = 0; i < 256; i++)
        drawn += b.pixels[i] != SPLAT_EMPTY;
    assert_int_equal(drawn, 1);
    assert_int_equal(splat_index(b.pixels[2 * 16 + 4]), 5);
    splat_clear(&b);
}

enum { STRIP = 3 * 60 * 40 };

/* Draws on a black strip; returns how many bytes are bright. */
static int draw_sign(const char *text, uint8_t strip[STRIP])
{
    image im;
    assert_int_equal(image_create(&im, 60, 40, (vec3){0, 0, 0}), FIRN_OK);
    image_view view = {&im, 0, 0, 60, 40};
    label_draw(&view, 5, 30, 18, text, (vec3){1, 1, 1});
    memcpy(strip, im.pixels, STRIP);
    image_clear(&im);
    int ink = 0;
    for (size_t i = 0; i < STRIP; i++)
        ink += strip[i] > 128;
    return ink;
}

static void test_every_sign_leaves_ink(void **state)
{
    (void)state;
    static const char signs[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-+/_=()";
    static uint8_t unknown[STRIP], strip[STRIP];
    assert_true(draw_sign("\x7f", unknown) > 0);
    for (size_t i = 0; signs[i]; i++) {
        char text[2] = {signs[i], 0};
        assert_true(draw_sign(text, strip) > 0);
        assert_memory_not_equal(strip, unknown, STRIP);
    }
    assert_int_equal(draw_sign(" ", strip), 0);
    assert_true(label_width(18, "0.25 s") > label_width(18, "0.2 s"));
    assert_true(label_width(18, "m^3") < label_width(18, "m3"));
}

static void test_round_numbers_and_decimals(void **state)
{
    (void)state;
    assert_true(fabsf(legend_round(0.17f) - 0.2f) < 1e-6f);
    assert_true(fabsf(legend_round(0.009f) - 0.01f) < 1e-6f);
    assert_true(fabsf(legend_round(430) - 500) < 1e-3f);
    firn_frame frames[3] = {{.time = 0}, {.time = 0.25}, {.time = 0.251}};
    assert_int_equal(legend_decimals(frames, 1), 2);
    assert_int_equal(legend_decimals(frames, 2), 2);
    assert_int_equal(legend_decimals(frames, 3), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scale_rises_evenly),
        cmocka_unit_test(test_tone_is_monotone_and_ends_below_one),
        cmocka_unit_test(test_camera_holds_all_corners),
        cmocka_unit_test(test_ray_and_projection_are_inverse),
        cmocka_unit_test(test_nearest_sphere_wins_whatever_the_order),
        cmocka_unit_test(test_every_sign_leaves_ink),
        cmocka_unit_test(test_round_numbers_and_decimals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
