/* firn_frame_measure: pieces, packing and contact of snow whose answers are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "firn/measure.h"

/* Two particles along each axis of a cell of 0.1 m, each of 1 kg. */
static const double cell = 0.1, density = 8 / 1e-3;

static firn_frame new_frame(size_t most)
{
    firn_frame f = {.dimensions = 3, .cell_size = cell, .frame = 7, .time = 0.25};
    f.position = calloc(3 * most, sizeof *f.position);
    f.velocity = calloc(3 * most, sizeof *f.velocity);
    f.mass = calloc(most, sizeof *f.mass);
    f.J_P = calloc(most, sizeof *f.J_P);
    f.density = calloc(most, sizeof *f.density);
    return f;
}

static void add_point(firn_frame *f, double x, double y, double z, double J_P)
{
    size_t i = f->count++;
    f->position[3 * i] = (float)x;
    f->position[3 * i + 1] = (float)y;
    f->position[3 * i + 2] = (float)z;
    f->velocity[3 * i] = 2;
    f->mass[i] = 1;
    f->J_P[i] = (float)J_P;
    f->density[i] = (float)(density / J_P);
}

/* A box of so many cells from a corner in cells. */
static void add_box(firn_frame *f, const int from[3], const int size[3], double J_P)
{
    for (int x = 0; x < 2 * size[0]; x++)
        for (int y = 0; y < 2 * size[1]; y++)
            for (int z = 0; z < 2 * size[2]; z++)
                add_point(f, cell * (from[0] + 0.25 + 0.5 * x), cell * (from[1] + 0.25 + 0.5 * y),
                          cell * (from[2] + 0.25 + 0.5 * z), J_P);
}

static firn_measurement measured(const firn_frame *f, const firn_scene *scene,
                                 const firn_measure_options *options)
{
    firn_measurement m;
    assert_int_equal(firn_frame_measure(f, scene, options, &m), FIRN_OK);
    return m;
}

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-5 * (1 + fabs(b))))
        fail_msg("%.9g is not %.9g", a, b);
}

static void test_pieces(void **state)
{
    (void)state;
    firn_frame f = new_frame(2000);
    add_box(&f, (int[3]){-3, 0, 0}, (int[3]){2, 2, 2}, 1);  /* 64 kg */
    add_box(&f, (int[3]){0, 0, 0}, (int[3]){4, 3, 2}, 0.8); /* 192 kg, one cell away */
    add_point(&f, 2, 2, 2, 1.2);                            /* dust */
    firn_measurement m = measured(&f, NULL, NULL);
    assert_int_equal(m.particles, 257);
    assert_int_equal(m.frame, 7);
    assert_near(m.mass, 257);
    assert_int_equal(m.piece_count, 2);
    assert_near(m.pieces[0], 192);
    assert_near(m.pieces[1], 64);
    assert_near(m.loose, 1);
    assert_near(m.packed, 192);
    assert_near(m.torn, 1);
    assert_near(m.low[0], -0.275);
    assert_near(m.high[1], 2);
    assert_near(m.velocity[0], 2);
    firn_measurement_clear(&m);
    add_box(&f, (int[3]){-1, 1, 1}, (int[3]){1, 1, 1}, 1); /* a bridge */
    m = measured(&f, NULL, NULL);
    assert_int_equal(m.piece_count, 1);
    assert_near(m.pieces[0], 264);
    firn_measurement_clear(&m);
    firn_frame_clear(&f);
}

/* Cells that share only an edge do not hang together; thin snow is loose. */
static void test_what_holds(void **state)
{
    (void)state;
    firn_frame f = new_frame(2000);
    add_box(&f, (int[3]){0, 0, 0}, (int[3]){1, 1, 1}, 1);
    add_box(&f, (int[3]){1, 1, 0}, (int[3]){1, 1, 1}, 1);
    add_point(&f, 0.15, 0.05, 0.05, 1); /* an eighth of the cell between them */
    firn_measurement m = measured(&f, NULL, NULL);
    assert_int_equal(m.piece_count, 2);
    firn_measurement_clear(&m);
    m = measured(&f, NULL, &(firn_measure_options){.fill = 0.1});
    assert_int_equal(m.piece_count, 1);
    assert_near(m.loose, 0);
    firn_measurement_clear(&m);
    m = measured(&f, NULL, &(firn_measure_options){.least = 0.9});
    assert_int_equal(m.piece_count, 0);
    assert_near(m.loose, 17);
    firn_measurement_clear(&m);
    firn_frame_clear(&f);
}

static void test_box_and_contact(void **state)
{
    (void)state;
    firn_scene *scene;
    assert_int_equal(
        firn_scene_parse("simulation: {cell_size: 0.1}\n"
                         "colliders:\n"
                         "  - name: floor\n"
                         "    shape: {plane: {point: [0, 0.05, 0], normal: [0, 1, 0]}}\n"
                         "  - name: rising\n"
                         "    shape: {plane: {point: [0, -1, 0], normal: [0, 1, 0]}}\n"
                         "    velocity: [0, 2, 0]\n",
                         "t.yaml", NULL, 0, &scene),
        FIRN_OK);
    firn_frame f = new_frame(2000);
    add_box(&f, (int[3]){0, 0, 0}, (int[3]){2, 4, 2}, 1);
    firn_measurement m = measured(&f, scene, NULL);
    assert_int_equal(m.contact_count, 2);
    assert_string_equal(m.contacts[0].name, "floor");
    assert_near(m.contacts[0].deepest, 0.025);   /* the lowest row, at 0.025 */
    assert_near(m.contacts[0].touching, 3 * 16); /* rows at 0.025, 0.075 and 0.125 */
    assert_near(m.contacts[1].deepest, 0);       /* at -0.5 by then */
    firn_measurement_clear(&m);
    const double box[6] = {0, 0.2, 0, 0.1, 1, 1};
    m = measured(&f, NULL, &(firn_measure_options){.box = box});
    assert_near(m.mass, 32);
    assert_near(m.low[1], 0.225);
    assert_near(m.center[0], 0.05);
    firn_measurement_clear(&m);
    const double nowhere[6] = {5, 5, 5, 6, 6, 6};
    m = measured(&f, scene, &(firn_measure_options){.box = nowhere});
    assert_int_equal(m.particles, 0);
    assert_int_equal(m.piece_count, 0);
    assert_near(m.high[1], 0);
    firn_measurement_clear(&m);
    firn_frame_clear(&f);
    firn_scene_destroy(&scene);
}

static void test_missing_attribute(void **state)
{
    (void)state;
    firn_frame f = new_frame(10);
    add_point(&f, 0, 0, 0, 1);
    free(f.density);
    f.density = NULL;
    firn_measurement m;
    assert_int_equal(firn_frame_measure(&f, NULL, NULL, &m), FIRN_USAGE);
    assert_non_null(strstr(firn_last_error(), "FIRN_BASIC_ATTRIBUTES"));
    firn_measurement_clear(&m);
    firn_frame_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_what_holds),
        cmocka_unit_test(test_box_and_contact),
        cmocka_unit_test(test_missing_attribute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
