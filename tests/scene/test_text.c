/* Text as shapes, from scenes: sizes, places, lines, errors. */
#include "scene_test.h"

#include <unistd.h>

#include "io/font.h"

#define FONT "font: 'DejaVu Sans:bold'"

static const char *scene_of(const char *written)
{
    static char text[1000];
    snprintf(text, sizeof text, "simulation: {cell_size: 0.02}\nsnow:\n  - shape: %s\n", written);
    return text;
}

static void bounds_of(const char *written, double low[3], double high[3])
{
    firn_scene *scene = parse(scene_of(written), NULL);
    assert_true(shape_bounds(scene->snow[0].shape, 3, low, high));
    firn_scene_destroy(&scene);
}

static void assert_fails(const char *written, firn_status expected, const char *words)
{
    firn_scene *scene;
    assert_int_equal(firn_scene_parse(scene_of(written), "t.yaml", NULL, 0, &scene), expected);
    assert_null(scene);
    assert_has(firn_last_error(), words);
    assert_has(firn_last_error(), "t.yaml:3");
}

/* An I of this font is a bar as high as a capital; its box is the text's. */
static void test_size(void **state)
{
    (void)state;
    double low[3], high[3];
    bounds_of("{text: {text: I, size: 0.3, depth: 0.1, " FONT "}}", low, high);
    assert_near(low[1], 0, 1e-12);
    assert_near(high[1], 0.3, 1e-12);
    assert_near(low[2], -0.05, 1e-12);
    assert_near(high[2], 0.05, 1e-12);
    bounds_of("{text: {text: I, size: 0.3, " FONT ", center: [1, 2, 3]}}", low, high);
    for (int i = 0; i < 3; i++)
        assert_near((low[i] + high[i]) / 2, 1 + i, 1e-12);
    assert_near(high[2] - low[2], 0.1, 1e-12);
}

static void test_lines(void **state)
{
    (void)state;
    double low[3], high[3], more[3], least[3];
    bounds_of("{text: {text: \"III\\nI\", size: 0.3, align: center, " FONT "}}", low, high);
    assert_near(low[0], -high[0], 1e-3);
    assert_true(low[1] < -0.1);
    bounds_of("{text: {text: \"III\\nI\", size: 0.3, align: right, line_height: 2, " FONT "}}",
              least, more);
    assert_true(more[0] <= 0.01 && least[0] < -0.1);
    assert_near(least[1], 2 * low[1], 1e-9);
}

/* The volume of an O: a ring, so the hole is one; and the bevel takes some off. */
static void test_volume(void **state)
{
    (void)state;
    const double middle[3] = {0.15, 0.15, 0};
    double volume[2];
    for (int bevel = 0; bevel < 2; bevel++) {
        char written[200];
        snprintf(written, sizeof written,
                 "{text: {text: O, size: 0.3, depth: 0.1, bevel: %g, center: [0.15, 0.15, 0], %s}}",
                 0.02 * bevel, FONT);
        firn_scene *scene = parse(scene_of(written), NULL);
        volume[bevel] = shape_volume(scene->snow[0].shape, 3, 1e-3);
        assert_true(shape_distance(scene->snow[0].shape, middle, NULL) > 0.05);
        firn_scene_destroy(&scene);
    }
    print_message("volume of an O: %.5f, beveled %.5f m^3\n", volume[0], volume[1]);
    assert_true(volume[0] > 0.1 * 0.03 && volume[0] < 0.1 * 0.09);
    assert_true(volume[1] < 0.97 * volume[0] && volume[1] > 0.7 * volume[0]);
}

static void test_errors(void **state)
{
    (void)state;
    assert_fails("{text: {text: A, size: 0.3, font: No Such Font}}", FIRN_NO_INPUT,
                 "font 'No Such Font' is not installed; the most similar is");
    assert_fails("{text: {text: A, size: 0.3, file: none.ttf}}", FIRN_NO_INPUT, "none.ttf");
    assert_fails("{text: {text: A, size: 0.3, file: /dev/null}}", FIRN_NO_INPUT, "/dev/null");
    assert_fails("{text: {text: \"\\uE0F7\", size: 0.3, " FONT "}}", FIRN_BAD_SCENE, "U+E0F7");
    assert_fails("{text: {text: ' ', size: 0.3, " FONT "}}", FIRN_BAD_SCENE, "leave a mark");
    assert_fails("{text: {text: A, size: 0.3, depth: 0.1, bevel: 0.06, " FONT "}}", FIRN_BAD_SCENE,
                 "at most 0.05 m");
    assert_fails("{text: {text: \"a\\tb\", size: 0.3}}", FIRN_BAD_SCENE, "control characters");
}

static void test_not_a_font(void **state)
{
    (void)state;
    char path[] = "/tmp/firn_font_XXXXXX", written[200];
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "not a font at all", 17) == 17);
    close(fd);
    snprintf(written, sizeof written, "{text: {text: A, size: 0.3, file: %s}}", path);
    assert_fails(written, FIRN_BAD_SCENE, "not a font that FreeType reads");
    unlink(path);
}

/* In 2D letters have no end across the plane, so nothing but their outline is near. */
static void test_flat(void **state)
{
    (void)state;
    firn_scene *scene =
        parse("simulation: {cell_size: 0.02, dimensions: 2}\nsnow:\n"
              "  - shape: {text: {text: I, size: 0.3, depth: 0.001, " FONT ", center: [0, 0]}}\n",
              NULL);
    const double x[3] = {0}, up[3] = {0, 0.4, 0};
    assert_true(shape_distance(scene->snow[0].shape, x, NULL) < -0.01);
    assert_near(shape_distance(scene->snow[0].shape, up, NULL), 0.25, 0.02);
    firn_scene_destroy(&scene);
}

int main(void)
{
    if (strcmp(font_version(), "none") == 0)
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_size),       cmocka_unit_test(test_lines),
        cmocka_unit_test(test_volume),     cmocka_unit_test(test_errors),
        cmocka_unit_test(test_not_a_font), cmocka_unit_test(test_flat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
