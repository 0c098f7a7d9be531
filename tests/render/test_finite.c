/*
 * Light, snow and films that hold what is not finite, or nearly not: refused by name, or drawn so that neither
 * the film nor a file has a value that is not.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "firn/render.h"
#include "io/exr.h"
#include "io/scratch.h"
#include "render/ball.h"
#include "render/picture.h"

static firn_scene *make_scene(const char *more)
{
    return ball_scene((const char *const[]){"render.width=24", "render.height=16"}, more);
}

static firn_frame make_frame(void)
{
    firn_scene *scene = make_scene("");
    firn_frame frame = ball_frame(scene);
    firn_scene_destroy(&scene);
    return frame;
}

static void assert_finite(const float *values, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            fail_msg("%s: number %zu is %g", what, i, (double)values[i]);
}

/* The sums themselves: files would hide what is wrong with them. */
static void assert_finite_film(const firn_picture *p, const char *what)
{
    const size_t numbers = offsetof(trace_pixel, count) / sizeof(float);
    for (int i = 0; i < p->film.sums.width * p->film.sums.height; i++)
        assert_finite(&p->film.sums.pixels[i].light.x, numbers, what);
}

static void assert_finite_file(const char *path)
{
    exr_image image;
    assert_int_equal(exr_read(path, &image), FIRN_OK);
    for (size_t c = 0; c < image.channel_count; c++)
        assert_finite(image.channels[c], (size_t)image.width * (size_t)image.height,
                      image.names[c]);
    exr_clear(&image);
}

static float brightest(const firn_picture *p)
{
    float most = 0;
    for (int i = 0; i < p->film.sums.width * p->film.sums.height; i++)
        most = fmaxf(most, p->film.sums.pixels[i].light.y);
    return most;
}

/* Drawn with and without the denoiser, in whole and half numbers; the brightest sum. */
static float draw(const firn_frame *frame, const char *more)
{
    firn_scene *scene = make_scene(more);
    float most = 0;
    for (int kind = 0; kind < 2; kind++) {
        scene->render.denoise = kind ? SCENE_DENOISE_ON : SCENE_DENOISE_OFF;
        scene->render.precision = kind ? SCENE_FLOAT : SCENE_HALF;
        firn_picture *p;
        if (firn_picture_create(frame, scene, NULL, &p) != FIRN_OK)
            fail_msg("%s: %s", more, firn_last_error());
        assert_int_equal(firn_picture_trace(p, 4, NULL, NULL), FIRN_OK);
        assert_finite_film(p, more);
        assert_int_equal(firn_picture_write(p, scratch("finite.exr")), FIRN_OK);
        assert_finite_file(scratch("finite.exr"));
        assert_int_equal(firn_picture_write(p, scratch("finite.png")), FIRN_OK);
        assert_int_equal(firn_picture_save(p, scratch("film.exr")), FIRN_OK);
        assert_finite_file(scratch("film.exr"));
        most = brightest(p);
        firn_picture_destroy(&p);
    }
    firn_scene_destroy(&scene);
    return most;
}

static void refuse(const firn_frame *frame, const char *more, const char *words)
{
    firn_scene *scene = make_scene(more);
    firn_picture *p;
    assert_int_equal(firn_picture_create(frame, scene, NULL, &p), FIRN_BAD_SCENE);
    assert_null(p);
    if (!strstr(firn_last_error(), words))
        fail_msg("'%s' is not in: %s", words, firn_last_error());
    firn_scene_destroy(&scene);
}

/* ---- Light --------------------------------------------------------------------------------------- */

enum { WIDE = 8, HIGH = 4 };

typedef struct bytes {
    unsigned char data[1024];
    size_t size;
} bytes;

static void put(bytes *b, const void *data, size_t size)
{
    assert_true(b->size + size <= sizeof b->data);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void put_attribute(bytes *b, const char *name, const char *type, const void *data, int size)
{
    put(b, name, strlen(name) + 1);
    put(b, type, strlen(type) + 1);
    put(b, &size, sizeof size);
    put(b, data, (size_t)size);
}

/* A plain OpenEXR file of one channel of floats, byte by byte: the library's own writer is not asked, and
 * ours writes no such values. */
static const char *write_map(const float map[WIDE * HIGH])
{
    const int window[4] = {0, 0, WIDE - 1, HIGH - 1}, magic[2] = {20000630, 2};
    const unsigned char channels[] = {'Y', 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0};
    const unsigned char zero = 0;
    const float one = 1, middle[2] = {0, 0};
    bytes b = {.size = 0};
    put(&b, magic, sizeof magic);
    put_attribute(&b, "channels", "chlist", channels, sizeof channels);
    put_attribute(&b, "compression", "compression", &zero, 1);
    put_attribute(&b, "dataWindow", "box2i", window, sizeof window);
    put_attribute(&b, "displayWindow", "box2i", window, sizeof window);
    put_attribute(&b, "lineOrder", "lineOrder", &zero, 1);
    put_attribute(&b, "pixelAspectRatio", "float", &one, sizeof one);
    put_attribute(&b, "screenWindowCenter", "v2f", middle, sizeof middle);
    put_attribute(&b, "screenWindowWidth", "float", &one, sizeof one);
    put(&b, &zero, 1);
    const int row = WIDE * sizeof(float), start = (int)b.size + HIGH * 8;
    for (int y = 0; y < HIGH; y++)
        put(&b, &(uint64_t){(uint64_t)(start + y * (row + 8))}, 8);
    for (int y = 0; y < HIGH; y++) {
        put(&b, (const int[2]){y, row}, 8);
        put(&b, map + WIDE * y, (size_t)row);
    }
    const char *path = scratch("sky.exr");
    scratch_put(path, b.data, b.size);
    return path;
}

/* Grey light from all around, but for the pixel (3, 1). */
static const char *environment(float strange)
{
    static char text[256];
    float map[WIDE * HIGH];
    for (int i = 0; i < WIDE * HIGH; i++)
        map[i] = i == WIDE + 3 ? strange : 0.5f;
    snprintf(text, sizeof text, "render: {lights: [{type: environment, file: '%s'}]}\n",
             write_map(map));
    return text;
}

static void test_environments(void **state)
{
    (void)state;
    firn_frame frame = make_frame();
    assert_true(draw(&frame, environment(0.5f)) > 0.1f); /* the file is read as it was meant */
    refuse(&frame, environment(NAN), "sky.exr: the light of pixel 3, 1 is nan");
    refuse(&frame, environment(INFINITY), "the light of pixel 3, 1 is inf");
    refuse(&frame, environment(-INFINITY), "the light of pixel 3, 1 is -inf");
    refuse(&frame, environment(-1), "the light of pixel 3, 1 is -1");
    draw(&frame, environment(FLT_MAX));
    draw(&frame, environment(1e20f));
    draw(&frame, environment(FLT_TRUE_MIN));
    firn_frame_clear(&frame);
}

static void test_lamps(void **state)
{
    (void)state;
    static const char *const lamps[] = {
        "{type: sphere, position: [0, 1, 1], radius: 1e-6, colour: 1e9, strength: 1e9}",
        "{type: sphere, position: [0, 0.1, 0], radius: 1e5, colour: 1e9, strength: 1e9}",
        "{type: rectangle, position: [0, 1, 0], width: 1e6, height: 1e6, strength: 1e9}",
        "{type: constant, colour: 1e9, strength: 1e9}",
        "{type: constant, colour: [1e9, 0, 1e-9]}",
    };
    firn_frame frame = make_frame();
    for (size_t i = 0; i < sizeof lamps / sizeof *lamps; i++) {
        char text[256];
        snprintf(text, sizeof text, "render: {lights: [%s]}\n", lamps[i]);
        draw(&frame, text);
    }
    draw(&frame,
         "render: {sun: {strength: 1e6, angle: 0.01}, sky: {strength: 1e6}, exposure: 30}\n");
    firn_scene *scene;
    static const char *const absurd[] = {
        "render: {lights: [{type: constant, strength: .inf}]}\n",
        "render: {lights: [{type: constant, strength: .nan}]}\n",
        "render: {lights: [{type: constant, colour: [1, .inf, 1]}]}\n",
        "render: {sun: {strength: 1e300}}\n",
        "render: {exposure: .inf}\n",
    };
    for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++)
        assert_int_equal(firn_scene_parse(absurd[i], "t.yaml", NULL, 0, &scene), FIRN_BAD_SCENE);
    firn_frame_clear(&frame);
}

/* ---- Snow ---------------------------------------------------------------------------------------- */

/* Every third particle spoilt; those that remain are drawn. */
static void test_particles(void **state)
{
    (void)state;
    static const float strange[] = {NAN, INFINITY, -INFINITY, FLT_MAX};
    for (size_t k = 0; k < sizeof strange / sizeof *strange; k++) {
        firn_frame frame = make_frame();
        for (size_t i = 0; i < frame.count; i += 3)
            switch (i / 3 % 3) {
            case 0:
                frame.position[3 * i + i / 9 % 3] = strange[k];
                if (frame.place)
                    frame.place[3 * i + i / 9 % 3] = (double)strange[k];
                break;
            case 1:
                frame.velocity[3 * i] = strange[k];
                break;
            default:
                frame.mass[i] = strange[k] < FLT_MAX ? strange[k] : NAN;
            }
        assert_true(draw(&frame, "camera: {shutter: 1, shutter_steps: 2}\n") > 0.1f);
        firn_frame_clear(&frame);
    }
}

/* Masses that make light stop at once are drawn; those that leave no numbers are refused. */
static void test_masses(void **state)
{
    (void)state;
    firn_frame frame = make_frame();
    float mass = frame.mass[7];
    const char *by_trial = "render: {snow: {tracking: delta}}\n"; /* must come to an end too */
    frame.mass[7] = mass * 1e12f;
    assert_true(draw(&frame, "") > 0.1f && draw(&frame, by_trial) > 0.1f);
    for (size_t i = 0; i < frame.count; i++)
        frame.mass[i] = 1e20f;
    assert_true(draw(&frame, "") > 0.1f && draw(&frame, by_trial) > 0.1f);
    frame.mass[7] = FLT_MAX;
    refuse(&frame, "", "kg/m^3");
    for (size_t i = 0; i < frame.count; i++)
        frame.mass[i] = i % 2 ? mass : FLT_TRUE_MIN;
    assert_true(draw(&frame, "") > 0.1f);
    firn_frame_clear(&frame);
}

/* ---- Films --------------------------------------------------------------------------------------- */

/* A film that was spoilt on the disk is told from a whole one. */
static void test_films(void **state)
{
    (void)state;
    firn_frame frame = make_frame();
    firn_scene *scene = make_scene("");
    firn_picture *p;
    assert_int_equal(firn_picture_create(&frame, scene, NULL, &p), FIRN_OK);
    assert_int_equal(firn_picture_trace(p, 2, NULL, NULL), FIRN_OK);
    static const uint32_t counts[] = {3, 1u << 30};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        p->film.sums.pixels[5].count = counts[i];
        assert_int_equal(firn_picture_save(p, scratch("film.exr")), FIRN_OK);
        assert_int_equal(firn_picture_load(p, scratch("film.exr")), FIRN_BAD_SCENE);
        assert_non_null(strstr(firn_last_error(), "film.exr: pixel 5, 0 has"));
    }
    firn_picture_destroy(&p);
    firn_scene_destroy(&scene);
    firn_frame_clear(&frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environments), cmocka_unit_test(test_lamps),
        cmocka_unit_test(test_particles),    cmocka_unit_test(test_masses),
        cmocka_unit_test(test_films),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
