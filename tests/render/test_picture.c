/* Traced pictures through the public header: the same bits however they came to be, and clear refusals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "firn/render.h"
#include "io/exr.h"
#include "render/ball.h"

static char folder[] = "/tmp/firn-picture-XXXXXX";

static const char *in_folder(const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static firn_scene *make_scene(const char *more)
{
    return ball_scene((const char *const[]){"render.width=40", "render.height=24"}, more);
}

static firn_picture *begin(const firn_frame *frame, const firn_scene *scene, int threads)
{
    const firn_picture_options options = {.threads = threads};
    firn_picture *picture;
    if (firn_picture_create(frame, scene, &options, &picture) != FIRN_OK)
        fail_msg("%s", firn_last_error());
    return picture;
}

static void write_end(firn_picture **picture, const char *path)
{
    if (firn_picture_write(*picture, path) != FIRN_OK)
        fail_msg("%s", firn_last_error());
    firn_picture_destroy(picture);
}

static void assert_same_file(const char *a, const char *b)
{
    FILE *files[2] = {fopen(a, "rb"), fopen(b, "rb")};
    assert_non_null(files[0]);
    assert_non_null(files[1]);
    int x = 0, y = 0;
    while (x != EOF && x == y)
        x = fgetc(files[0]), y = fgetc(files[1]);
    assert_int_equal(x, y);
    fclose(files[0]);
    fclose(files[1]);
}

static bool stop_at_the_third(const firn_picture *picture, void *user)
{
    (void)picture;
    return __atomic_add_fetch((int *)user, 1, __ATOMIC_RELAXED) >= 3;
}

/* In one go; on other threads; stopped, saved, and continued by another picture. */
static void assert_same_bits(const char *more)
{
    firn_scene *scene = make_scene(more);
    firn_frame frame = ball_frame(scene);
    firn_picture *p = begin(&frame, scene, 1);
    assert_int_equal(firn_picture_trace(p, 6, NULL, NULL), FIRN_OK);
    assert_int_equal(firn_picture_samples(p), 6);
    write_end(&p, in_folder("one.exr"));
    p = begin(&frame, scene, 3);
    assert_int_equal(firn_picture_trace(p, 6, NULL, NULL), FIRN_OK);
    write_end(&p, in_folder("threads.exr"));
    assert_same_file(in_folder("one.exr"), in_folder("threads.exr"));
    p = begin(&frame, scene, 2);
    int asked = 0;
    assert_int_equal(firn_picture_trace(p, 6, stop_at_the_third, &asked), FIRN_STOPPED);
    assert_int_equal(firn_picture_save(p, in_folder("film.exr")), FIRN_OK);
    firn_picture_destroy(&p);
    p = begin(&frame, scene, 2);
    assert_int_equal(firn_picture_load(p, in_folder("film.exr")), FIRN_OK);
    assert_int_equal(firn_picture_trace(p, 6, NULL, NULL), FIRN_OK);
    assert_true(firn_picture_is_written(p, in_folder("one.exr"), 6));
    assert_false(firn_picture_is_written(p, in_folder("one.exr"), 7));
    write_end(&p, in_folder("resumed.exr"));
    assert_same_file(in_folder("one.exr"), in_folder("resumed.exr"));
    firn_frame_clear(&frame);
    firn_scene_destroy(&scene);
}

static void test_same_bits(void **state)
{
    (void)state;
    assert_same_bits("");
}

static void test_same_bits_with_a_lens_and_motion(void **state)
{
    (void)state;
    assert_same_bits("camera: {aperture: 0.02, shutter: 1, shutter_steps: 3}\n");
}

static double row_mean(const exr_image *image, const char *channel, int y)
{
    const float *values = exr_find(image, channel);
    assert_non_null(values);
    double sum = 0;
    for (int x = 0; x < image->width; x++)
        sum += values[y * image->width + x] / (double)image->width;
    return sum;
}

static void test_layers_say_what_was_met(void **state)
{
    (void)state;
    firn_scene *scene = make_scene("");
    firn_frame frame = ball_frame(scene);
    firn_picture *p = begin(&frame, scene, 0);
    assert_int_equal(firn_picture_trace(p, 4, NULL, NULL), FIRN_OK);
    write_end(&p, in_folder("one.exr"));
    exr_image image;
    assert_int_equal(exr_read(in_folder("one.exr"), &image), FIRN_OK);
    assert_string_equal(exr_find_note(&image, "firn.samples"), "4");
    assert_true(row_mean(&image, "A", 0) < 0.3);                /* the sky */
    assert_true(row_mean(&image, "A", image.height - 1) > 0.9); /* the ground */
    assert_true(row_mean(&image, "normal.Y", image.height - 1) > 0.9);
    double depth = row_mean(&image, "Z", image.height / 2);
    assert_true(depth > 0.2 && depth < 5);
    for (size_t c = 0; c < image.channel_count; c++)
        for (int i = 0; i < image.width * image.height; i++)
            assert_true(isfinite(image.channels[c][i]));
    exr_clear(&image);
    firn_frame_clear(&frame);
    firn_scene_destroy(&scene);
}

/* Over all pixels. */
static double mean_light(const firn_frame *frame, const char *more)
{
    firn_scene *scene = make_scene(more);
    firn_picture *p = begin(frame, scene, 0);
    assert_int_equal(firn_picture_trace(p, 4, NULL, NULL), FIRN_OK);
    write_end(&p, in_folder("one.exr"));
    firn_scene_destroy(&scene);
    exr_image image;
    assert_int_equal(exr_read(in_folder("one.exr"), &image), FIRN_OK);
    double sum = 0;
    for (int y = 0; y < image.height; y++)
        sum += row_mean(&image, "G", y) / image.height;
    exr_clear(&image);
    return sum;
}

static void test_lights(void **state)
{
    (void)state;
    firn_scene *scene = make_scene("");
    firn_frame frame = ball_frame(scene);
    firn_scene_destroy(&scene);
    double day = mean_light(&frame, "");
    assert_true(day > 0.02 && day < 5);
    assert_true(mean_light(&frame, "render: {sun: {strength: 0}}\n") < 0.95 * day);
    const char *lamp = "render: {sun: {strength: 0}, sky: {strength: 0}, lights: [{type: sphere, "
                       "position: [0, 1, 1], radius: 0.1, strength: %d}]}\n";
    char text[256];
    snprintf(text, sizeof text, lamp, 10);
    double dim = mean_light(&frame, text);
    snprintf(text, sizeof text, lamp, 30);
    assert_true(dim > 0 && fabs(mean_light(&frame, text) / dim - 3) < 0.02);
    float map[8 * 4 * 3];
    for (int i = 0; i < 8 * 4 * 3; i++)
        map[i] = 0.5f;
    const exr_channel channels[] = {
        {"R", map, 3, false}, {"G", map + 1, 3, true}, {"B", map + 2, 3, false}};
    assert_int_equal(exr_write(in_folder("sky.exr"), 8, 4, channels, 3, NULL, 0), FIRN_OK);
    snprintf(text, sizeof text, "render: {lights: [{type: environment, file: '%s'}]}\n",
             in_folder("sky.exr"));
    double grey = mean_light(&frame, text);
    double same = mean_light(&frame, "render: {lights: [{type: constant, colour: 0.5}]}\n");
    assert_true(fabs(grey / same - 1) < 0.05);
    firn_frame_clear(&frame);
}

/* Pixels twice as bright as the brightest of their eight neighbours. */
static int count_fireflies(const exr_image *image)
{
    const float *light = exr_find(image, "G");
    int found = 0;
    for (int y = 1; y < image->height - 1; y++)
        for (int x = 1; x < image->width - 1; x++) {
            const float *at = light + y * image->width + x;
            float most = 0;
            for (int n = 0; n < 9; n++)
                if (n != 4)
                    most = fmaxf(most, at[(n / 3 - 1) * image->width + n % 3 - 1]);
            found += *at > 2 * most;
        }
    return found;
}

static void test_no_fireflies(void **state)
{
    (void)state;
    static const char *const looks[] = {
        "", "camera: {aperture: 0.02}\nrender: {sun: {elevation: 8}}\n",
        "render: {sun: {strength: 0}, sky: {strength: 0.01}, lights: [{type: sphere, position: "
        "[0.3, 0.3, 0.3], radius: 0.005, strength: 2000}]}\n"};
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        firn_scene *scene = make_scene(looks[i]);
        firn_frame frame = ball_frame(scene);
        firn_picture *p = begin(&frame, scene, 0);
        assert_int_equal(firn_picture_trace(p, 256, NULL, NULL), FIRN_OK);
        write_end(&p, in_folder("one.exr"));
        exr_image image;
        assert_int_equal(exr_read(in_folder("one.exr"), &image), FIRN_OK);
        assert_int_equal(count_fireflies(&image), 0);
        exr_clear(&image);
        firn_frame_clear(&frame);
        firn_scene_destroy(&scene);
    }
}

/* ---- No trace of the grid --------------------------------------------------------------------- */

enum { SLAB = 72, SLAB_DEPTH = 12, PHASES = 8, SEEN = 64 };

/* Even snow on a grid, its upper face tilted so that it passes between nodes at all heights. */
static firn_frame make_slope(void)
{
    size_t count = (size_t)SLAB * SLAB * SLAB_DEPTH, n = 0;
    firn_frame f = {.dimensions = 3, .cell_size = 0.01, .is_grid = true};
    f.position = malloc(count * 3 * sizeof *f.position);
    f.mass = malloc(count * sizeof *f.mass);
    for (int i = 0; i < SLAB; i++)
        for (int j = 0; j < SLAB_DEPTH; j++)
            for (int k = 0; k < SLAB; k++) {
                double top = 8 + 0.11 * (i - SLAB / 2) + 0.07 * (k - SLAB / 2);
                double density = 40 * fmin(fmax(top - j + 0.5, 0), 1);
                f.position[3 * n] = (float)(0.01 * i);
                f.position[3 * n + 1] = (float)(0.01 * j);
                f.position[3 * n + 2] = (float)(0.01 * k);
                f.mass[n++] = (float)(density * 1e-6);
            }
    f.count = n;
    return f;
}

/*
 * Seen straight from above from far away, a pixel a voxel wide. What is left of the light when the mean of
 * a pixel's eight neighbours along a line is taken off is noise; its mean over all pixels at the same place in
 * their block must be noise as well. Returns the largest such mean in units of its standard deviation.
 */
static double worst_phase(const exr_image *image, int step)
{
    const float *light = exr_find(image, "G");
    double sum[PHASES] = {0}, square = 0, worst = 0;
    int count = 0;
    for (int a = PHASES / 2; a < SEEN - PHASES / 2; a++)
        for (int b = PHASES / 2; b < SEEN - PHASES / 2; b++, count++) {
            int along = step == 1 ? b : a;
            const float *at = light + a * image->width + b;
            double around = 0;
            for (int n = -PHASES / 2; n < PHASES / 2; n++)
                around += 0.5 * (at[n * step] + at[(n + 1) * step]) / PHASES;
            double rest = *at - around;
            sum[along % PHASES] += rest;
            square += rest * rest;
        }
    double deviation = sqrt(square / count), each = (double)count / PHASES;
    for (int p = 0; p < PHASES; p++)
        worst = fmax(worst, fabs(sum[p] / each) / (deviation / sqrt(each)));
    return worst;
}

static void test_no_trace_of_blocks(void **state)
{
    (void)state;
    firn_frame frame = make_slope();
    firn_scene *scene;
    static const char *const sets[] = {
        "render.width=64", "render.height=64", "render.precision=float", "render.sun.elevation=20",
        "camera.position=[0.36, 32, 0.3601]", "camera.target=[0.36, 0, 0.36]",
        /* A voxel at the upper face, 31.92 m away, is a pixel wide. */
        "camera.field_of_view=1.14875"};
    if (firn_scene_parse("simulation: {cell_size: 0.01}", "t.yaml", sets, 7, &scene) != FIRN_OK)
        fail_msg("%s", firn_last_error());
    firn_picture *p = begin(&frame, scene, 0);
    assert_int_equal(firn_picture_trace(p, 64, NULL, NULL), FIRN_OK);
    write_end(&p, in_folder("one.exr"));
    exr_image image;
    assert_int_equal(exr_read(in_folder("one.exr"), &image), FIRN_OK);
    double across = worst_phase(&image, 1), down = worst_phase(&image, image.width);
    printf("light by the place in a block, standard deviations: %.2f across, %.2f down\n", across,
           down);
    assert_true(across < 4 && down < 4);
    exr_clear(&image);
    firn_frame_clear(&frame);
    firn_scene_destroy(&scene);
}

static void refuse(const firn_frame *frame, const char *more, firn_status status, const char *words)
{
    firn_scene *scene = make_scene(more);
    firn_picture *p;
    assert_int_equal(firn_picture_create(frame, scene, NULL, &p), status);
    assert_null(p);
    if (!strstr(firn_last_error(), words))
        fail_msg("'%s' is not in: %s", words, firn_last_error());
    firn_scene_destroy(&scene);
}

static void test_refusals(void **state)
{
    (void)state;
    firn_scene *scene = make_scene("");
    firn_frame frame = ball_frame(scene), empty = {.dimensions = 3, .cell_size = 0.03, .frame = 7};
    refuse(&empty, "", FIRN_BAD_SCENE, "frame 7 has no particles");
    firn_frame lost = ball_frame(scene);
    for (size_t i = 0; i < 3 * lost.count; i++)
        lost.position[i] = lost.place ? (float)(lost.place[i] = NAN) : NAN;
    refuse(&lost, "", FIRN_BAD_SCENE, "no snow to show");
    firn_frame_clear(&lost);
    refuse(&frame, "render: {lights: [{type: environment, file: none.exr}]}\n", FIRN_NO_INPUT,
           "light 'light1': ");
    refuse(&frame, "render: {sun: {strength: 0}, sky: {strength: 0}}\n", FIRN_BAD_SCENE,
           "no light");
    const float black[4] = {0, NAN, 0, 0};
    const exr_channel channel = {"Z", black, 1, false};
    assert_int_equal(exr_write(in_folder("sky.exr"), 2, 2, &channel, 1, NULL, 0), FIRN_OK);
    char text[256];
    snprintf(text, sizeof text, "render: {lights: [{type: environment, file: '%s'}]}\n",
             in_folder("sky.exr"));
    refuse(&frame, text, FIRN_BAD_SCENE, "needs the channels R, G and B");
    const firn_camera still = {.field_of_view = 30};
    const firn_picture_options options = {.camera = &still};
    firn_picture *p;
    assert_int_equal(firn_picture_create(&frame, scene, &options, &p), FIRN_USAGE);
    assert_non_null(strstr(firn_last_error(), "the same point"));
    p = begin(&frame, scene, 0);
    assert_int_equal(firn_picture_write(p, in_folder("early.png")), FIRN_USAGE);
    assert_int_equal(firn_picture_trace(p, 0, NULL, NULL), FIRN_USAGE);
    assert_int_equal(firn_picture_trace(p, 1, NULL, NULL), FIRN_OK);
    assert_int_equal(firn_picture_write(p, in_folder("x.jpg")), FIRN_USAGE);
    assert_int_equal(firn_picture_write(p, in_folder("no/x.png")), FIRN_NO_OUTPUT);
    firn_picture_destroy(&p);
    firn_frame_clear(&frame);
    firn_scene_destroy(&scene);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"one.exr", "threads.exr", "resumed.exr", "film.exr",
                                        "sky.exr"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(in_folder(names[i]));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_same_bits_with_a_lens_and_motion),
        cmocka_unit_test(test_layers_say_what_was_met),
        cmocka_unit_test(test_lights),
        cmocka_unit_test(test_no_fireflies),
        cmocka_unit_test(test_no_trace_of_blocks),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
