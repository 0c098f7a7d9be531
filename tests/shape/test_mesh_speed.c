/* Large meshes in seconds: a text OBJ of ten million lines, and a level set of 200,000 triangles. */
#include "shape/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "shape/level_set.h"
#include "shape/mesh.h"

/* Processor time of all threads, so that a busy machine does not fail the test. */
static double seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* A torus of `side` x `side` squares, as text. Owned by the caller. */
static char *torus_text(int side, double R, double r, size_t *size)
{
    size_t squares = (size_t)side * (size_t)side, most = squares * (36 + 2 * 32);
    char *text = malloc(most);
    assert_non_null(text);
    size_t at = 0;
    for (int u = 0; u < side; u++)
        for (int v = 0; v < side; v++) {
            double a = 2 * M_PI * u / side, b = 2 * M_PI * v / side;
            at +=
                (size_t)snprintf(text + at, most - at, "v %.6f %.6f %.6f\n",
                                 (R + r * cos(b)) * cos(a), r * sin(b), (R + r * cos(b)) * sin(a));
        }
    for (int u = 0; u < side; u++)
        for (int v = 0; v < side; v++) {
            int p = u * side + v + 1, q = u * side + (v + 1) % side + 1;
            int s = (u + 1) % side * side + v + 1, t = (u + 1) % side * side + (v + 1) % side + 1;
            at += (size_t)snprintf(text + at, most - at, "f %d %d %d\nf %d %d %d\n", p, q, t, p, t,
                                   s);
        }
    assert_true(at < most);
    *size = at;
    return text;
}

static void test_ten_million_lines(void **state)
{
    (void)state;
    enum { SIDE = 1826 };
    size_t size;
    char *text = torus_text(SIDE, 1, 0.4, &size);
    triangle_mesh mesh;
    double start = seconds();
    assert_int_equal(mesh_parse("torus.obj", text, size, &mesh), FIRN_OK);
    double took = seconds() - start;
    print_message("%d lines, %zu MB: %.2f s\n", 3 * SIDE * SIDE, size >> 20, took);
    assert_int_equal(mesh.triangle_count, 2 * SIDE * SIDE);
    assert_true(took < 10);
    mesh_clear(&mesh);
    free(text);
}

/* 1 m across, cells of 5 mm, the band that a collider has. */
static void test_level_set(void **state)
{
    (void)state;
    enum { SIDE = 317 };
    size_t size;
    char *text = torus_text(SIDE, 0.35, 0.15, &size);
    triangle_mesh mesh;
    level_set *set;
    assert_int_equal(mesh_parse("torus.obj", text, size, &mesh), FIRN_OK);
    free(text);
    double start = seconds();
    assert_int_equal(level_set_from_mesh(&mesh, 0.005, 0.015, 0, &set), FIRN_OK);
    double took = seconds() - start;
    print_message("%zu triangles, voxels of 5 mm: %.2f s\n", mesh.triangle_count, took);
    assert_true(took < 20);
    level_set_release(&set);
    mesh_clear(&mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ten_million_lines),
        cmocka_unit_test(test_level_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
