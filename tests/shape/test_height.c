/* Terrain: distances on slopes, walls where it ends, layers, and the files it comes from. */
#include "shape/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/raster.h"
#include "shape/height.h"
#include "shape/make_shape.h"

enum { SIDE = 41 };
static const double STEP = 0.5;

typedef double height_function(double x, double z);

static double slope45(double x, double z)
{
    (void)z;
    return x;
}

static double waves(double x, double z)
{
    return 1.5 * sin(0.5 * x) * cos(0.4 * z);
}

/* A map of SIDE x SIDE samples about the origin. */
static height_map map_of(height_function *f)
{
    height_map m = {.columns = SIDE, .rows = SIDE, .step = {STEP, STEP}};
    m.corner[0] = m.corner[1] = -STEP * (SIDE - 1) / 2;
    m.values = malloc(sizeof(float[SIDE][SIDE]));
    for (int r = 0; r < SIDE; r++)
        for (int c = 0; c < SIDE; c++)
            m.values[r * SIDE + c] = (float)f(m.corner[0] + STEP * c, m.corner[1] + STEP * r);
    return m;
}

static height_field *field_of(height_function *f, bool smooth, double thickness)
{
    height_map m = map_of(f);
    const height_body body = {smooth, thickness, -30, 1};
    height_field *h = height_create(&m, &body);
    assert_non_null(h);
    free(m.values);
    return h;
}

static void place(uint64_t k, double x[3])
{
    for (int i = 0; i < 3; i++)
        x[i] = 12 * random_unit(5, 3 * k + (uint64_t)i) - 6;
}

/* On a slope of 45 degrees the height difference over sqrt(2), and the normal of the plane. */
static void test_slope(void **state)
{
    (void)state;
    for (int smooth = 0; smooth < 2; smooth++) {
        height_field *h = field_of(slope45, smooth, 0);
        for (uint64_t k = 0; k < 500; k++) {
            double x[3], g[3];
            place(k, x);
            double expected = (x[1] - x[0]) / sqrt(2);
            if (fabs(expected) > 2.5)
                continue; /* walls are nearer */
            assert_close(height_distance(h, FIELD_EXACT, x, g), expected, 1e-5);
            assert_close(g[0], -sqrt(0.5), 1e-5);
            assert_close(g[1], sqrt(0.5), 1e-5);
        }
        height_destroy(&h);
    }
}

/* The nearest of many points of the true surface. */
static double brute(height_function *f, const double x[3])
{
    double best = INFINITY;
    for (double u = x[0] - 3; u <= x[0] + 3; u += 0.01)
        for (double w = x[2] - 3; w <= x[2] + 3; w += 0.01)
            best = fmin(best, pow(u - x[0], 2) + pow(f(u, w) - x[1], 2) + pow(w - x[2], 2));
    return copysign(sqrt(best), x[1] - f(x[0], x[2]));
}

static void test_waves(void **state)
{
    (void)state;
    height_field *h = field_of(waves, true, 0);
    double worst = 0, worst_far = 0;
    for (uint64_t k = 0; k < 60; k++) {
        double x[3], g[3], there[3];
        place(k, x);
        x[1] = waves(x[0], x[2]) + 3 * random_unit(6, k) - 1.5;
        double expected = brute(waves, x), d = height_distance(h, FIELD_EXACT, x, g);
        double bound = height_distance(h, FIELD_SURFACE, x, NULL);
        worst = fmax(worst, fabs(d - expected));
        worst_far = fmax(worst_far, fabs(bound) - fabs(expected));
        assert_true(bound * expected > 0);
        double loose = height_distance(h, FIELD_BOUND, x, NULL);
        assert_true(loose * expected > 0);
        assert_true(fabs(loose) < fabs(expected) + 0.02); /* nothing near is called far */
        assert_true(fabs(loose) > 0.3 * fabs(expected));  /* nor much of what is far near */
        for (int i = 0; i < 3; i++)
            there[i] = x[i] + 1e-4 * g[i];
        assert_close(height_distance(h, FIELD_EXACT, there, NULL) - d, 1e-4, 2e-6);
    }
    print_message("waves: distance off by at most %.4f m at samples 0.5 m apart\n", worst);
    assert_true(worst < 0.02);
    assert_true(worst_far < 0.02); /* a lower bound but for interpolation */
    height_destroy(&h);
}

/* The layer is as thick as asked, straight up; its box holds it. */
static void test_layer(void **state)
{
    (void)state;
    height_field *h = field_of(waves, true, 0.4);
    for (uint64_t k = 0; k < 200; k++) {
        double x[3];
        place(k, x);
        double ground = waves(x[0], x[2]), part = random_unit(7, k);
        x[1] = ground + 0.02 + 0.36 * part;
        assert_true(height_distance(h, FIELD_SURFACE, x, NULL) < 0);
        x[1] = ground - 0.02;
        assert_true(height_distance(h, FIELD_SURFACE, x, NULL) > 0);
        x[1] = ground + 0.42;
        assert_true(height_distance(h, FIELD_SURFACE, x, NULL) > 0);
    }
    double low[3], high[3];
    height_bounds(h, low, high);
    assert_close(low[1], -1.5, 0.01);
    assert_close(high[1], 1.9, 0.01);
    assert_close(low[0], -10, 1e-12);
    assert_close(high[2], 10, 1e-12);
    height_destroy(&h);
}

/* A hole of samples without data, with walls around it, and the edge of the map. */
static void test_walls(void **state)
{
    (void)state;
    height_map m = map_of(slope45);
    for (int n = 0; n < SIDE * SIDE; n++)
        m.values[n] = 0;
    for (int r = 18; r <= 22; r++)
        for (int c = 18; c <= 22; c++)
            m.values[r * SIDE + c] = NAN; /* cells within 1.5 m of the middle */
    const height_body body = {true, 0, -30, 1};
    height_field *h = height_create(&m, &body);
    const double hole[3] = {0.2, -5, 0}, ground[3] = {2.1, -5, 0}, deep[3] = {5, -0.5, 5};
    const double out[3] = {11, -3, 2}, above[3] = {-6, 0.7, 3};
    double g[3];
    assert_close(height_distance(h, FIELD_SURFACE, hole, g), 1.3, 1e-9);
    assert_close(g[0], -1, 1e-9);
    assert_close(height_distance(h, FIELD_SURFACE, ground, NULL), -0.6, 1e-9);
    assert_close(height_distance(h, FIELD_SURFACE, deep, NULL), -0.5, 1e-6);
    assert_close(height_distance(h, FIELD_SURFACE, out, g), 1, 1e-9);
    assert_close(g[0], 1, 1e-9);
    assert_close(height_distance(h, FIELD_SURFACE, above, NULL), 0.7, 1e-6);
    height_destroy(&h);
    free(m.values);
}

/* ---- files ----------------------------------------------------------------------------------- */

static firn_status parse(const char *text, raster *r)
{
    return raster_parse("map.asc", text, strlen(text), r);
}

static void test_asc(void **state)
{
    (void)state;
    raster r;
    assert_int_equal(parse("ncols 3\nnrows 2\nxllcorner 100\nyllcorner 200\ncellsize 10\n"
                           "NODATA_value -9999\n1 2 3\n4 5 -9999\n",
                           &r),
                     FIRN_OK);
    assert_int_equal(r.columns, 3);
    assert_int_equal(r.rows, 2);
    assert_close(r.corner[0], 105, 0);
    assert_close(r.corner[1], 215, 0);
    assert_close(r.values[3], 4, 0);
    assert_true(isnan(r.values[5]));
    raster_clear(&r);
}

static void test_bad_asc(void **state)
{
    (void)state;
#define HEAD "ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n"
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "the header does not say ncols"},
        {"P5 2 2 255\n", "not an ESRI grid"},
        {"ncols 2\nncols 3\n", "map.asc:2: ncols is there twice"},
        {"ncols 2\nnrows 2\n1 2\n3 4\n", "does not say cellsize"},
        {"ncols 2.5\nnrows 2\ncellsize 1\n1 2\n3 4\n", "not a whole number"},
        {"ncols 1\nnrows 4\ncellsize 1\n1 2\n3 4\n", "needs 2 or more"},
        {"ncols 99999\nnrows 99999\ncellsize 1\n1 2\n", "do not fit into"},
        {"ncols 2\nnrows 2\ncellsize -1\n1 2\n3 4\n", "must be above 0"},
        {HEAD "1 2\n3\n", "ends after 3 of 4 heights"},
        {HEAD "1 2\n3 x\n", "map.asc:7:"},
        {HEAD "1 2\n3 1e99\n", "beyond 1e6 m"},
        {HEAD "1 2\n3 4\n5\n", "more after the last of 4 heights"},
        {HEAD "NODATA_value 4\n1 2\n3 4\n", "there is no surface"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        raster r;
        assert_int_equal(parse(cases[k].text, &r), FIRN_BAD_SCENE);
        if (!strstr(firn_last_error(), cases[k].words))
            fail_msg("'%s' is not in '%s'", cases[k].words, firn_last_error());
        assert_null(r.values);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slope), cmocka_unit_test(test_waves), cmocka_unit_test(test_layer),
        cmocka_unit_test(test_walls), cmocka_unit_test(test_asc),   cmocka_unit_test(test_bad_asc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
