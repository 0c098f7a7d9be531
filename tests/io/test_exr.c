/* OpenEXR: what is written is read, what is not finite never is, what is broken is told. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/exr.h"
#include "scratch.h"

enum { WIDTH = 37, HEIGHT = 21, PIXELS = WIDTH * HEIGHT };

static float value_at(size_t i, int channel)
{
    return ldexpf((float)((i * 2654435761u + (unsigned)channel * 40503u) % 4096) - 2048, -6);
}

static void test_round_trip(void **state)
{
    (void)state;
    static float light[3 * PIXELS], depth[PIXELS];
    for (size_t i = 0; i < PIXELS; i++) {
        for (int c = 0; c < 3; c++)
            light[3 * i + (size_t)c] = value_at(i, c); /* 11 bits: exact in half */
        depth[i] = 1 + (float)i / 3;
    }
    const exr_channel channels[] = {{"Z", depth, 1, false},
                                    {"R", light, 3, true},
                                    {"albedo.G", light + 1, 3, false},
                                    {"B", light + 2, 3, true}};
    const exr_note notes[] = {{"firn.job", "12ab"}, {"comments", "a b\nc"}};
    const char *path = scratch("round.exr");
    assert_int_equal(exr_write(path, WIDTH, HEIGHT, channels, 4, notes, 2), FIRN_OK);
    exr_image image;
    assert_int_equal(exr_read(path, &image), FIRN_OK);
    assert_int_equal(image.width, WIDTH);
    assert_int_equal(image.height, HEIGHT);
    assert_int_equal(image.channel_count, 4);
    assert_memory_equal(exr_find(&image, "Z"), depth, sizeof depth);
    const float *r = exr_find(&image, "R"), *g = exr_find(&image, "albedo.G");
    for (size_t i = 0; i < PIXELS; i++)
        assert_true(r[i] == light[3 * i] && g[i] == light[3 * i + 1]);
    assert_string_equal(exr_find_note(&image, "firn.job"), "12ab");
    assert_string_equal(exr_find_note(&image, "comments"), "a b\nc");
    assert_null(exr_find(&image, "G"));
    assert_null(exr_find_note(&image, "firn.jo"));
    exr_clear(&image);
}

static void test_only_finite_values_are_written(void **state)
{
    (void)state;
    static const float odd[8] = {NAN, INFINITY, -INFINITY, 1e30f, -1e6f, 3, -NAN, 1e-30f};
    const exr_channel channels[] = {{"half", odd, 1, true}, {"whole", odd, 1, false}};
    const char *path = scratch("odd.exr");
    assert_int_equal(exr_write(path, 4, 2, channels, 2, NULL, 0), FIRN_OK);
    exr_image image;
    assert_int_equal(exr_read(path, &image), FIRN_OK);
    const float *half = exr_find(&image, "half"), *whole = exr_find(&image, "whole");
    static const float in_half[8] = {0, 0, 0, 65504, -65504, 3, 0, 0};
    static const float in_whole[8] = {0, 0, 0, 1e30f, -1e6f, 3, 0, 1e-30f};
    for (int i = 0; i < 8; i++)
        if (half[i] != in_half[i] || whole[i] != in_whole[i])
            fail_msg("value %d is %g as half, %g as float", i, half[i], whole[i]);
    exr_clear(&image);
}

static void test_broken_files(void **state)
{
    (void)state;
    exr_image image;
    const char *path = scratch("none.exr");
    assert_int_equal(exr_read(path, &image), FIRN_NO_INPUT);
    assert_non_null(strstr(firn_last_error(), path));
    path = scratch("text.exr");
    scratch_put(path, "not a picture", 13);
    assert_int_equal(exr_read(path, &image), FIRN_BAD_SCENE);
    assert_non_null(strstr(firn_last_error(), "is not an OpenEXR file"));
    static float light[PIXELS];
    for (size_t i = 0; i < PIXELS; i++)
        light[i] = value_at(i, 0);
    const exr_channel channel = {"Y", light, 1, false};
    path = scratch("cut.exr");
    assert_int_equal(exr_write(path, WIDTH, HEIGHT, &channel, 1, NULL, 0), FIRN_OK);
    size_t size;
    char *bytes = scratch_get(path, &size);
    for (size_t cut = 1; cut < size; cut += 7) {
        scratch_put(path, bytes, cut);
        assert_int_not_equal(exr_read(path, &image), FIRN_OK);
        assert_null(image.channels);
    }
    for (size_t at = 0; at < size; at += 3) { /* damage: any answer but a crash */
        char kept = bytes[at];
        bytes[at] = (char)~kept;
        scratch_put(path, bytes, size);
        if (exr_read(path, &image) == FIRN_OK)
            exr_clear(&image);
        bytes[at] = kept;
    }
    free(bytes);
}

static void test_cannot_write(void **state)
{
    (void)state;
    static const float light[4];
    const exr_channel channel = {"Y", light, 1, false};
    assert_int_equal(exr_write("/proc/firn/x.exr", 2, 2, &channel, 1, NULL, 0), FIRN_NO_OUTPUT);
    assert_int_equal(exr_write("/dev/full", 2, 2, &channel, 1, NULL, 0), FIRN_NO_OUTPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_only_finite_values_are_written),
        cmocka_unit_test(test_broken_files),
        cmocka_unit_test(test_cannot_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
