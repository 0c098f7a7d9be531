/* Whole sheets: drawn to a file, decoded again, and looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <omp.h>
#include <png.h>

#include "firn/render.h"
#include "render/colour.h"
#include "render/image.h"

enum { WIDTH = 160, HEIGHT = 120, GAP = 6 };
static const float ball_radius = 0.15f;

/* ---- Frames made up for looking at ---- */

static firn_frame make_frame(int dimensions, size_t count, double time)
{
    firn_frame f = {.dimensions = dimensions, .count = count, .time = time, .cell_size = 0.02};
    f.id = calloc(count + 1, sizeof *f.id);
    f.object = calloc(count + 1, sizeof *f.object);
    f.position = calloc(3 * count + 1, sizeof *f.position);
    f.velocity = calloc(3 * count + 1, sizeof *f.velocity);
    f.mass = calloc(count + 1, sizeof *f.mass);
    f.density = calloc(count + 1, sizeof *f.density);
    f.J_P = calloc(count + 1, sizeof *f.J_P);
    for (size_t i = 0; i < count; i++) {
        float share = (float)i / (float)count;
        f.velocity[3 * i] = 3 * share;
        f.density[i] = 300 + 200 * share;
        f.J_P[i] = 0.8f + 0.3f * share;
        f.object[i] = i % 2;
        f.id[i] = i;
    }
    return f;
}

static void free_frame(firn_frame *f)
{
    free(f->id);
    free(f->object);
    free(f->position);
    free(f->velocity);
    free(f->mass);
    free(f->density);
    free(f->J_P);
}

static float unit_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 16777216.0f;
}

static firn_frame make_ball(int dimensions, size_t count, double x, double y, double z)
{
    firn_frame f = make_frame(dimensions, count, 0.25);
    uint32_t state = 7;
    float size = dimensions == 2 ? 3.14159f * ball_radius * ball_radius
                                 : 4.18879f * ball_radius * ball_radius * ball_radius;
    for (size_t i = 0; i < count;) {
        float u = 2 * unit_random(&state) - 1, v = 2 * unit_random(&state) - 1;
        float w = dimensions == 2 ? 0 : 2 * unit_random(&state) - 1;
        if (u * u + v * v + w * w > 1)
            continue;
        f.position[3 * i] = (float)(x + ball_radius * u);
        f.position[3 * i + 1] = (float)(y + ball_radius * v);
        f.position[3 * i + 2] = (float)(z + ball_radius * w);
        f.mass[i] = f.density[i] * size / (float)count;
        i++;
    }
    return f;
}

static firn_scene *ground_scene(int dimensions)
{
    char text[512];
    snprintf(text, sizeof text,
             "simulation: {dimensions: %d, cell_size: 0.02, gravity: %s}\n"
             "snow:\n"
             "  - name: ball\n"
             "    shape: {sphere: {center: %s, radius: 0.15}}\n"
             "colliders:\n"
             "  - name: ground\n"
             "    shape: {plane: {point: %s, normal: %s}}\n",
             dimensions, dimensions == 2 ? "[0, -9.81]" : "[0, -9.81, 0]",
             dimensions == 2 ? "[0, 1]" : "[0, 1, 0]", dimensions == 2 ? "[0, 0]" : "[0, 0, 0]",
             dimensions == 2 ? "[0, 1]" : "[0, 1, 0]");
    firn_scene *scene = NULL;
    if (firn_scene_parse(text, "ground", NULL, 0, &scene) != FIRN_OK)
        fail_msg("%s", firn_last_error());
    return scene;
}

/* ---- Pictures read back ---- */

typedef struct picture {
    int width, height;
    uint8_t *rgb;
} picture;

static char folder[] = "/tmp/firn-preview-XXXXXX";

static char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static picture decode(const char *path)
{
    png_image png = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&png, path));
    png.format = PNG_FORMAT_RGB;
    picture p = {(int)png.width, (int)png.height, malloc(PNG_IMAGE_SIZE(png))};
    assert_true(png_image_finish_read(&png, NULL, p.rgb, 0, NULL));
    return p;
}

static picture draw(const firn_frame *frames, size_t count, int columns,
                    const firn_preview_options *options)
{
    char *path = in_folder("sheet.png");
    if (firn_preview_sheet(frames, count, columns, options, path) != FIRN_OK)
        fail_msg("%s", firn_last_error());
    return decode(path);
}

static picture draw_one(const firn_frame *frame, const firn_scene *scene, firn_colour colour)
{
    firn_preview_options options = {
        .width = WIDTH, .height = HEIGHT, .colour = colour, .scene = scene};
    return draw(frame, 1, 0, &options);
}

static int luma(const picture *p, int x, int y)
{
    const uint8_t *c = p->rgb + 3 * ((size_t)y * (size_t)p->width + (size_t)x);
    return (2 * c[0] + 5 * c[1] + c[2]) / 8;
}

static double mean_luma(const picture *p, int x, int y, int width, int height)
{
    double sum = 0;
    for (int j = y; j < y + height; j++)
        for (int i = x; i < x + width; i++)
            sum += luma(p, i, j);
    return sum / (width * height);
}

typedef struct extent {
    int left, right, top, bottom, count;
} extent;

/* Where the bright pixels are, the labels in the two upper corners aside. */
static extent bright_part(const picture *p)
{
    extent e = {p->width, -1, p->height, -1, 0};
    for (int y = 0; y < p->height; y++) {
        for (int x = 0; x < p->width; x++) {
            bool label = y < 20 && (x < 50 || x > p->width - 76);
            if (label || luma(p, x, y) < 190)
                continue;
            e.count++;
            e.left = x < e.left ? x : e.left;
            e.right = x > e.right ? x : e.right;
            e.top = y < e.top ? y : e.top;
            e.bottom = y > e.bottom ? y : e.bottom;
        }
    }
    return e;
}

static double difference(const picture *a, const picture *b)
{
    size_t count = 3 * (size_t)a->width * (size_t)a->height;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += abs(a->rgb[i] - b->rgb[i]);
    return sum / (double)count;
}

/* ---- Tests ---- */

static void test_sheet_has_the_size_asked_for(void **state)
{
    (void)state;
    firn_frame frames[5];
    for (int i = 0; i < 5; i++) {
        frames[i] = make_ball(3, 300, 0, 0.2, 0);
        frames[i].time = 0.1 * i;
    }
    firn_preview_options options = {.width = 40, .height = 30};
    static const int cases[][4] = {{5, 5, 5, 1}, {5, 2, 2, 3}, {1, 0, 1, 1}, {2, 7, 2, 1}};
    for (int i = 0; i < 4; i++) {
        picture p = draw(frames, (size_t)cases[i][0], cases[i][1], &options);
        assert_int_equal(p.width, cases[i][2] * 40 + (cases[i][2] - 1) * GAP);
        assert_int_equal(p.height, cases[i][3] * 30 + (cases[i][3] - 1) * GAP);
        free(p.rgb);
    }
    picture p = draw(frames, 1, 0, NULL);
    assert_int_equal(p.width, 640);
    assert_int_equal(p.height, 480);
    free(p.rgb);
    for (int i = 0; i < 5; i++)
        free_frame(&frames[i]);
}

static void test_ball_is_bright_and_casts_a_shadow(void **state)
{
    (void)state;
    firn_scene *scene = ground_scene(3);
    firn_frame ball = make_ball(3, 8000, 0, ball_radius, 0);
    picture p = draw_one(&ball, scene, FIRN_COLOUR_SNOW);
    extent e = bright_part(&p);
    assert_in_range(e.left, WIDTH / 8, WIDTH / 2);
    assert_in_range(e.right, WIDTH / 2, WIDTH * 7 / 8);
    assert_true(e.bottom - e.top > HEIGHT / 3);
    assert_true(luma(&p, WIDTH / 2 - 8, HEIGHT / 2 - 8) > 170);
    /* The sun stands to the left: to the right of the foot the ground is dark. */
    double lit = mean_luma(&p, e.left - 16, e.bottom + 2, 6, 4);
    double shaded = mean_luma(&p, e.right + 10, e.bottom + 2, 6, 4);
    assert_true(shaded < 0.7 * lit);
    free(p.rgb);
    free_frame(&ball);
    firn_scene_destroy(&scene);
}

static void test_threads_do_not_change_a_byte(void **state)
{
    (void)state;
    firn_scene *scene = ground_scene(3);
    firn_frame frames[2] = {make_ball(3, 20000, 0, 0.4, 0), make_ball(3, 20000, 0, 0.15, 0)};
    firn_preview_options options = {
        .width = WIDTH, .height = HEIGHT, .colour = FIRN_COLOUR_SPEED, .scene = scene};
    static const int threads[] = {1, 2, 5};
    int usual = omp_get_max_threads();
    picture first = {0};
    for (int i = 0; i < 3; i++) {
        omp_set_num_threads(threads[i]);
        picture p = draw(frames, 2, 0, &options);
        if (i == 0)
            first = p;
        else {
            assert_memory_equal(p.rgb, first.rgb, 3 * (size_t)p.width * (size_t)p.height);
            free(p.rgb);
        }
    }
    omp_set_num_threads(usual);
    free(first.rgb);
    free_frame(&frames[0]);
    free_frame(&frames[1]);
    firn_scene_destroy(&scene);
}

static bool holds_colour(const picture *p, vec3 linear)
{
    vec3 c = image_encode(linear);
    for (int y = p->height * 2 / 3; y < p->height; y++) {
        for (int x = 0; x < p->width / 2; x++) {
            const uint8_t *q = p->rgb + 3 * ((size_t)y * (size_t)p->width + (size_t)x);
            if (fabsf(q[0] - 255 * c.x) < 1 && fabsf(q[1] - 255 * c.y) < 1 &&
                fabsf(q[2] - 255 * c.z) < 1)
                return true;
        }
    }
    return false;
}

static void test_colours_differ_and_have_a_legend(void **state)
{
    (void)state;
    enum { MODES = FIRN_COLOUR_ID + 1 };
    firn_scene *scene;
    const char *text = "simulation: {cell_size: 0.02}\n"
                       "snow:\n"
                       "  - {shape: {sphere: {center: [0, 0, 0], radius: 1}}, material: wet}\n"
                       "  - {shape: {sphere: {center: [0, 0, 0], radius: 1}}, material: icy}\n"
                       "  - {shape: {sphere: {center: [0, 0, 0], radius: 1}}, material: powder}\n";
    assert_int_equal(firn_scene_parse(text, "kinds", NULL, 0, &scene), FIRN_OK);
    firn_frame ball = make_ball(3, 4000, 0, 0, 0);
    for (size_t i = 0; i < ball.count; i++) { /* each in another order */
        const float *x = ball.position + 3 * i;
        ball.J_P[i] = 1 + x[1];
        ball.density[i] = 400 + x[0];
        ball.id[i] = (uint64_t)(1e6 + 1e6 * x[2]);
        ball.object[i] = x[0] > 0 ? 2 : 1;
    }
    picture drawn[MODES];
    for (int i = 0; i < MODES; i++) {
        drawn[i] = draw_one(&ball, i == FIRN_COLOUR_MATERIAL ? scene : NULL, (firn_colour)i);
        for (int j = 0; j < i; j++)
            if (i != FIRN_COLOUR_MATERIAL || j != FIRN_COLOUR_OBJECT)
                assert_true(difference(&drawn[i], &drawn[j]) > 2);
        bool kinds = i == FIRN_COLOUR_OBJECT || i == FIRN_COLOUR_MATERIAL;
        bool scale = i != FIRN_COLOUR_SNOW && !kinds;
        assert_int_equal(holds_colour(&drawn[i], colour_scale(0)), scale);
        assert_int_equal(holds_colour(&drawn[i], colour_scale(1)), scale);
        assert_int_equal(holds_colour(&drawn[i], colour_kind(1)), kinds);
    }
    for (int i = 0; i < MODES; i++)
        free(drawn[i].rgb);
    firn_preview_options options = {
        .width = WIDTH, .height = HEIGHT, .colour = FIRN_COLOUR_MATERIAL, .scene = NULL};
    assert_int_equal(firn_preview_sheet(&ball, 1, 0, &options, in_folder("x.png")), FIRN_USAGE);
    assert_non_null(strstr(firn_last_error(), "material"));
    free_frame(&ball);
    firn_scene_destroy(&scene);
}

static void test_little_or_no_snow(void **state)
{
    (void)state;
    firn_scene *scene = ground_scene(3);
    firn_frame empty = make_frame(3, 0, 0), flat = make_frame(2, 0, 0), one = make_frame(3, 1, 0);
    picture p = draw_one(&empty, scene, FIRN_COLOUR_DENSITY);
    free(p.rgb);
    p = draw_one(&empty, scene, FIRN_COLOUR_SNOW);
    assert_int_equal(bright_part(&p).count, 0);
    free(p.rgb);
    p = draw_one(&flat, NULL, FIRN_COLOUR_SNOW);
    assert_int_equal(bright_part(&p).count, 0);
    free(p.rgb);
    one.position[1] = 3;
    p = draw_one(&one, NULL, FIRN_COLOUR_SNOW);
    extent e = bright_part(&p);
    assert_in_range((e.left + e.right) / 2, WIDTH / 2 - 6, WIDTH / 2 + 6);
    assert_in_range((e.top + e.bottom) / 2, HEIGHT / 2 - 6, HEIGHT / 2 + 6);
    assert_true(e.count > 30);
    free(p.rgb);
    firn_frame both[2] = {empty, one};
    firn_preview_options options = {
        .width = WIDTH, .height = HEIGHT, .colour = FIRN_COLOUR_SNOW, .scene = NULL};
    p = draw(both, 2, 1, &options);
    assert_true(luma(&p, WIDTH / 2, HEIGHT / 2) < 160);
    assert_true(luma(&p, WIDTH / 2, HEIGHT + GAP + HEIGHT / 2) > 190);
    free(p.rgb);
    free_frame(&empty);
    free_frame(&flat);
    free_frame(&one);
    firn_scene_destroy(&scene);
}

static void test_strays_and_broken_numbers_do_not_matter(void **state)
{
    (void)state;
    firn_frame ball = make_ball(3, 8000, 0, 0, 0);
    picture clean = draw_one(&ball, NULL, FIRN_COLOUR_SNOW);
    static const float strays[] = {NAN, INFINITY, -INFINITY, 1e30f, 3e38f, 1e4f, -2e6f, 1e-40f};
    for (size_t i = 0; i < 8; i++) {
        ball.position[3 * (1000 * i) + i % 3] = strays[i];
        ball.velocity[3 * (1000 * i)] = ball.density[1000 * i] = strays[i];
    }
    for (int colour = 0; colour < 5; colour++) {
        picture p = draw_one(&ball, NULL, (firn_colour)colour);
        if (colour == 0)
            assert_true(difference(&p, &clean) < 4);
        free(p.rgb);
    }
    for (size_t i = 0; i < 3 * ball.count; i++)
        ball.position[i] = NAN;
    picture p = draw_one(&ball, NULL, FIRN_COLOUR_SNOW);
    assert_int_equal(bright_part(&p).count, 0);
    free(p.rgb);
    free(clean.rgb);
    free_frame(&ball);
}

static void test_far_from_the_origin_is_the_same(void **state)
{
    (void)state;
    static const float offset[3] = {16384, -32768, 8192};
    firn_frame far = make_ball(3, 8000, offset[0], offset[1], offset[2]);
    firn_frame near = make_ball(3, 8000, 0, 0, 0);
    for (size_t i = 0; i < 3 * near.count; i++) /* exact: the same shape to the last bit */
        near.position[i] = far.position[i] - offset[i % 3];
    picture a = draw_one(&near, NULL, FIRN_COLOUR_SNOW), b = draw_one(&far, NULL, FIRN_COLOUR_SNOW);
    assert_memory_equal(a.rgb, b.rgb, 3 * WIDTH * HEIGHT);
    free(a.rgb);
    free(b.rgb);
    free_frame(&near);
    free_frame(&far);
}

static void test_two_dimensions(void **state)
{
    (void)state;
    firn_scene *scene = ground_scene(2);
    firn_frame disc = make_ball(2, 3000, 0, 0.3, 0);
    picture p = draw_one(&disc, scene, FIRN_COLOUR_SNOW);
    extent e = bright_part(&p);
    assert_in_range((e.left + e.right) / 2, WIDTH / 2 - 3, WIDTH / 2 + 3);
    assert_true(abs((e.right - e.left) - (e.bottom - e.top)) < 8);
    /* Below lie the air and then the filled ground, which is darker than the air. */
    double air = mean_luma(&p, 10, e.bottom, 20, 4), solid = mean_luma(&p, 10, HEIGHT - 4, 20, 3);
    assert_true(solid < 0.7 * air);
    free(p.rgb);
    free_frame(&disc);
    firn_scene_destroy(&scene);
}

static void test_failures_name_their_cause(void **state)
{
    (void)state;
    firn_frame ball = make_ball(3, 50, 0, 0, 0), flat = make_ball(2, 50, 0, 0, 0);
    firn_preview_options options = {.width = 40, .height = 30};
    char *path = in_folder("no/such/place.png");
    assert_int_equal(firn_preview_sheet(&ball, 1, 0, &options, path), FIRN_NO_OUTPUT);
    assert_non_null(strstr(firn_last_error(), path));
    assert_non_null(strstr(firn_last_error(), "No such file"));
    path = in_folder("bad.png");
    firn_frame mixed[2] = {ball, flat};
    assert_int_equal(firn_preview_sheet(mixed, 2, 0, &options, path), FIRN_USAGE);
    assert_int_equal(firn_preview_sheet(&ball, 0, 0, &options, path), FIRN_USAGE);
    assert_int_equal(firn_preview_sheet(&ball, 1, -1, &options, path), FIRN_USAGE);
    assert_int_equal(firn_preview_sheet(&ball, 1, 0, &options, NULL), FIRN_USAGE);
    options.width = -5;
    assert_int_equal(firn_preview_sheet(&ball, 1, 0, &options, path), FIRN_USAGE);
    options = (firn_preview_options){.width = 40, .height = 30, .colour = FIRN_COLOUR_J_P};
    firn_frame without = ball;
    without.J_P = NULL;
    assert_int_equal(firn_preview_sheet(&without, 1, 0, &options, path), FIRN_USAGE);
    assert_non_null(strstr(firn_last_error(), "J_P"));
    assert_int_equal(access(path, F_OK), -1);
    free_frame(&ball);
    free_frame(&flat);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(in_folder("sheet.png"));
    return rmdir(folder); /* fails when a temporary file was left behind */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sheet_has_the_size_asked_for),
        cmocka_unit_test(test_ball_is_bright_and_casts_a_shadow),
        cmocka_unit_test(test_threads_do_not_change_a_byte),
        cmocka_unit_test(test_colours_differ_and_have_a_legend),
        cmocka_unit_test(test_little_or_no_snow),
        cmocka_unit_test(test_strays_and_broken_numbers_do_not_matter),
        cmocka_unit_test(test_far_from_the_origin_is_the_same),
        cmocka_unit_test(test_two_dimensions),
        cmocka_unit_test(test_failures_name_their_cause),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
