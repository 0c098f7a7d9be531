/* Materials that differ from place to place: the values of single particles, and bad variations. */
#include "scene_test.h"

#include "shape/cells.h"
#include "shape/noise.h"

#define VARIED(text)                                                                               \
    "simulation: {cell_size: 0.05}\nmaterials:\n  m:\n    density: 100\n    vary:\n" text          \
    "snow:\n  - {shape: {sphere: {center: [0, 1, 0], radius: 0.5}}, material: m}\n"

/* The material of the scene's snow at a height above the middle of the ball. */
static scene_material at_height(const firn_scene *scene, double x, double y)
{
    const scene_material *m = &scene->materials[scene->snow[0].material];
    scene_place place = scene_place_of(m, scene->snow[0].shape, (double[3]){x, 1 + y, 0});
    return scene_material_at(m, &place);
}

static void test_depth(void **state)
{
    (void)state;
    firn_scene *scene =
        parse(VARIED("      - {by: depth, values: [density, hardening],\n"
                     "         ramp: [{at: 0.1, scale: 3}, {at: 0.3, scale: 1}]}\n"),
              NULL);
    const scene_material plain = scene_default_material();
    assert_near(at_height(scene, 0, 0.45).density, 300, 1e-9); /* before the ramp */
    assert_near(at_height(scene, 0, -0.3).density, 200, 1e-9); /* halfway */
    assert_near(at_height(scene, 0.3, 0).density, 200, 1e-9);
    assert_near(at_height(scene, 0, 0).density, 100, 1e-9); /* after it */
    assert_near(at_height(scene, 0, 0.45).hardening, 3 * plain.hardening, 1e-9);
    assert_near(at_height(scene, 0, 0.45).young_modulus, plain.young_modulus, 0);
    firn_scene_destroy(&scene);
}

static void test_cover_and_height(void **state)
{
    (void)state;
    firn_scene *scene =
        parse(VARIED("      - {by: cover, ramp: [{at: 0, scale: 2}, {at: 1, scale: "
                     "1}]}\n      - {by: height, blend: steps, values: [density],\n"
                     "         ramp: [{at: 0.8, scale: 5}, {at: 1.2, scale: 7}]}\n"),
              NULL);
    double E = scene_default_material().young_modulus;
    assert_near(at_height(scene, 0, 0.49).young_modulus / E, 1.99, 1e-3);
    assert_near(at_height(scene, 0, -0.5).young_modulus / E, 1, 1e-3);
    assert_near(at_height(scene, 0.3, 0).young_modulus / E, 1.6, 1e-3); /* 0.4 m above */
    assert_near(at_height(scene, 0, -0.4).density, 500, 1e-9);
    assert_near(at_height(scene, 0, 0.19).density, 500, 1e-9);
    assert_near(at_height(scene, 0, 0.2 + 1e-9).density, 700, 1e-9);
    firn_scene_destroy(&scene);
}

/* Factors multiply, and values stay where they are allowed. */
static void test_product_and_range(void **state)
{
    (void)state;
    firn_scene *scene =
        parse(VARIED("      - {by: height, values: [density, poisson_ratio], ramp: [{at: 0, scale: "
                     "2}]}\n      - {by: height, values: [density, poisson_ratio], ramp: [{at: 0, "
                     "scale: 4}]}\n"),
              NULL);
    assert_near(at_height(scene, 0, 0).density, 800, 1e-9);
    assert_near(at_height(scene, 0, 0).poisson_ratio, 0.49, 0);
    firn_scene_destroy(&scene);
}

/* A shell of twice the density: particles, and what `firn check` says, weigh what they should. */
static void test_mass(void **state)
{
    (void)state;
    firn_scene *scene = parse(VARIED("      - {by: depth, blend: steps, values: [density],\n"
                                     "         ramp: [{at: 0, scale: 2}, {at: 0.1, scale: 1}]}\n"),
                              NULL);
    double ball = 4.0 / 3 * acos(-1), expected = 100 * ball * (2 * 0.125 - 0.064);
    firn_sim *sim;
    firn_stats stats;
    firn_estimate estimate;
    assert_int_equal(firn_sim_create(scene, NULL, &sim), FIRN_OK);
    assert_int_equal(firn_sim_stats(sim, &stats), FIRN_OK);
    assert_int_equal(firn_scene_estimate(scene, NULL, &estimate), FIRN_OK);
    assert_near(stats.mass / expected, 1, 0.02);
    assert_near(stats.mass / estimate.mass, 1, 1e-6);
    firn_estimate_clear(&estimate);
    firn_sim_destroy(&sim);
    firn_scene_destroy(&scene);
}

/* Even about 0, within 1, as wide as asked, and the same on every machine. */
static void test_noise(void **state)
{
    (void)state;
    enum { SAMPLES = 20000 };
    for (int octaves = 1; octaves < 6; octaves += 2) {
        double sum = 0, square = 0, largest = 0, steepest = 0;
        for (uint64_t n = 0; n < SAMPLES; n++) {
            double x[3], y[3];
            for (int i = 0; i < 3; i++)
                x[i] = y[i] = 100 * random_unit(9, 3 * n + (uint64_t)i);
            y[0] += 1e-4;
            double a = noise_at(7, 2, octaves, x), b = noise_at(7, 2, octaves, y);
            sum += a;
            square += a * a;
            largest = fmax(largest, fabs(a));
            steepest = fmax(steepest, fabs(a - b) / 1e-4);
        }
        assert_near(sum / SAMPLES, 0, 0.02);
        assert_near(sqrt(square / SAMPLES), 0.4, 0.08);
        assert_true(largest <= 1 && largest > 0.8);
        assert_true(steepest < 3 * octaves); /* smooth: no jumps at the lattice */
    }
    const double x[3] = {0.3, -1.7, 0.25}, y[3] = {0.3, -1.7, 5.25};
    assert_true(noise_at(1, 0.5, 2, x) != noise_at(2, 0.5, 2, x));
    assert_true(noise_at(1, 0.5, 2, x) != noise_at(1, 0.5, 2, y));
    assert_near(noise_at(3, 0.06, 2, x), -0.19616800893407565, 1e-12);
}

/* A distance: it is 0 somewhere and at most about half a cell, changes no faster than one moves, and at
 * that rate nearly everywhere. Cells are as wide as asked. */
static void test_cells(void **state)
{
    (void)state;
    enum { SAMPLES = 20000 };
    double deepest = 0, steepest = 0, mean = 0;
    size_t near = 0;
    for (uint64_t n = 0; n < SAMPLES; n++) {
        double x[3], square = 0;
        for (int i = 0; i < 3; i++)
            x[i] = 100 * random_unit(9, 3 * n + (uint64_t)i) - 50;
        double here = cell_wall_distance(7, 2, x);
        for (int i = 0; i < 3; i++) {
            double y[3] = {x[0], x[1], x[2]};
            y[i] += 1e-5;
            double slope = (cell_wall_distance(7, 2, y) - here) / 1e-5;
            square += slope * slope;
        }
        assert_true(here >= 0);
        deepest = fmax(deepest, here);
        steepest = fmax(steepest, sqrt(square));
        mean += sqrt(square) / SAMPLES;
        near += here < 0.05;
    }
    assert_true(deepest > 0.6 && deepest < 1.5);
    assert_true(steepest < 1.001);
    assert_near(mean, 1, 0.01);
    /* 5.8 of area a unit of volume for points at random; walls 2 apart on a cubic lattice have 3. */
    double area = (double)near / SAMPLES / (2 * 0.05) * 2;
    assert_true(area > 2.5 && area < 3.3);
    const double x[3] = {0.3, -1.7, 0.25};
    assert_true(cell_wall_distance(1, 0.5, x) != cell_wall_distance(2, 0.5, x));
    assert_near(2 * cell_wall_distance(3, 0.5, x),
                cell_wall_distance(3, 1, (double[3]){0.6, -3.4, 0.5}), 1e-12);
}

static void test_fingerprint(void **state)
{
    (void)state;
    const char *text = VARIED("      - {by: noise, size: 0.1, ramp: [{at: -1, scale: 0.5}, {at: 1, "
                              "scale: 2}]}\n");
    const char *const sets[] = {NULL, "materials.m.vary.0.seed=2",
                                "materials.m.vary.0.ramp.1.scale=3",
                                "materials.m.vary.0.octaves=3"};
    uint64_t fingerprint[4];
    for (int k = 0; k < 4; k++) {
        firn_scene *scene = parse(text, sets[k]), *copy = scene_copy(scene);
        fingerprint[k] = firn_scene_fingerprint(scene);
        firn_scene_destroy(&scene);
        assert_near(at_height(copy, 0.1, 0.1).density, 100, 0);
        firn_scene_destroy(&copy);
        assert_true(k == 0 || fingerprint[k] != fingerprint[0]);
    }
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place, *words;
    } cases[] = {
        {VARIED("      - {by: colour}\n"), "6:14", "unknown by 'colour'"},
        {VARIED("      - {by: depth}\n"), "6:9", "ramp is missing in vary"},
        {VARIED("      - {by: depth, ramp: []}\n"), "6:27", "ramp is empty"},
        {VARIED("      - {by: depth, ramp: [{at: 0}]}\n"), "6:28", "scale is missing in ramp"},
        {VARIED("      - {by: depth, ramp: [{at: 0, scale: 0}]}\n"), "6:43", "must be above 0"},
        {VARIED("      - {by: depth, ramp: [{at: 1, scale: 1}, {at: 1, scale: 2}]}\n"), "6:52",
         "at 1 is not after 1"},
        {VARIED("      - {by: noise, ramp: [{at: 1, scale: 1}]}\n"), "6:9", "size is missing"},
        {VARIED("      - {by: cells, ramp: [{at: 1, scale: 1}]}\n"), "6:9",
         "size is missing: how wide the features of the cells"},
        {VARIED("      - {by: depth, size: 2, ramp: [{at: 1, scale: 1}]}\n"), "6:21",
         "size belongs to noise and cells"},
        {VARIED("      - {by: depth, values: [mass], ramp: [{at: 1, scale: 1}]}\n"), "6:30",
         "unknown values 'mass'"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        firn_scene *scene;
        char place[32];
        snprintf(place, sizeof place, "t.yaml:%s:", cases[k].place);
        assert_int_equal(firn_scene_parse(cases[k].text, "t.yaml", NULL, 0, &scene),
                         FIRN_BAD_SCENE);
        assert_has(firn_last_error(), place);
        assert_has(firn_last_error(), cases[k].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_cover_and_height),
        cmocka_unit_test(test_product_and_range),
        cmocka_unit_test(test_mass),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_fingerprint),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
