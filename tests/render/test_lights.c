/* Lights: what is drawn is what is there, and the two ways to it share it without loss or excess. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "render/light_set.h"
#include "render/light_sky.h"
#include "render/phase.h"

enum { MAP_WIDTH = 24, MAP_HEIGHT = 12 };
static float map[3 * MAP_WIDTH * MAP_HEIGHT];

static light_set *make(const light_source *s, size_t count)
{
    light_set *set = NULL;
    assert_int_equal(light_set_create(s, count, &set), FIRN_OK);
    return set;
}

/* All light that falls on x from a half space, weighted by the cosine to n, in one of three ways: by
 * directions alone, by drawn samples alone, by both with shared weights. */
typedef enum way { BY_DIRECTIONS, BY_SAMPLES, BY_BOTH } way;

static double irradiance(const light_set *set, vec3 x, vec3 n, way how, int count, double *error)
{
    double sum = 0, square = 0;
    trace_random r = random_start(9, (uint64_t)how, 0);
    for (int i = 0; i < count; i++) {
        float u[2];
        double value = 0;
        random_pair(&r, u);
        vec3 d = frame_direction(n, sqrtf(u[0]), u[1]), lamp = {0, 0, 0};
        float cosine = vec_dot(d, n), pdf = how == BY_BOTH ? cosine / PI_F : INFINITY;
        if (how != BY_SAMPLES) {
            float t = light_meet(set, x, d, INFINITY, pdf, &lamp);
            vec3 light = t < INFINITY ? lamp : light_beyond(set, x, d, pdf);
            value += PI_F * vec_luminance(light);
        }
        light_sample s;
        if (how != BY_DIRECTIONS && light_choose(set, x, &r, &s)) {
            float c = vec_dot(s.direction, n), own = how == BY_BOTH ? c / PI_F : 0;
            assert_true(fabsf(vec_length(s.direction) - 1) < 1e-4f);
            float limit = s.distance * 0.999f;
            bool hidden = light_meet(set, x, s.direction, limit, 0, &lamp) < INFINITY;
            if (c > 0 && !hidden)
                value += vec_luminance(light_sampled(set, &s)) * c / (s.pdf + own);
        }
        sum += value, square += value * value;
    }
    double mean = sum / count;
    *error = sqrt(fmax(square / count - mean * mean, 0) / count);
    return mean;
}

static void check_ways(const char *name, const light_source *s, size_t count, vec3 x, vec3 n,
                       bool by_samples, double expected)
{
    light_set *set = make(s, count);
    double error[3], value[3];
    for (int how = 0; how < 3; how++)
        value[how] = irradiance(set, x, n, (way)how, 400000, &error[how]);
    printf("%s: %.4f +- %.4f, %.4f +- %.4f, %.4f +- %.4f\n", name, value[0], error[0], value[1],
           error[1], value[2], error[2]);
    double reference = expected > 0 ? expected : value[BY_DIRECTIONS];
    double slack = expected > 0 ? 2e-4 * expected : 4 * error[BY_DIRECTIONS];
    if (by_samples)
        assert_true(fabs(value[BY_SAMPLES] - reference) < 4 * error[BY_SAMPLES] + slack);
    assert_true(fabs(value[BY_BOTH] - reference) < 4 * error[BY_BOTH] + slack);
    light_set_destroy(&set);
}

static void test_every_kind_by_every_way(void **state)
{
    (void)state;
    const vec3 up = {0, 1, 0}, n = vec_unit((vec3){0.2f, 1, -0.1f}), x = {0.1f, 0.2f, 0.3f};
    vec3 toward = vec_unit((vec3){0.5f, 0.7f, 0.2f});
    trace_random r = random_start(2, 0, 0);
    for (int i = 0; i < 3 * MAP_WIDTH * MAP_HEIGHT; i++)
        map[i] = powf(random_float(&r), 3);
    map[3 * (3 * MAP_WIDTH + 5) + 1] = 50; /* a lamp in the map */
    light_source day[2];
    light_daylight(toward, up, 3, day);
    const light_source sun = {
        .kind = LIGHT_SUN, .colour = {2, 2, 2}, .direction = toward, .angle = 0.5f};
    const light_source environment = {.kind = LIGHT_ENVIRONMENT,
                                      .colour = {1, 1, 1},
                                      .direction = vec_unit((vec3){1, 0.2f, 1}),
                                      .up = vec_unit((vec3){0.1f, 1, 0.3f}),
                                      .pixels = map,
                                      .width = MAP_WIDTH,
                                      .height = MAP_HEIGHT};
    const light_source ball = {
        .kind = LIGHT_SPHERE, .colour = {3, 3, 3}, .position = {0.5f, 1, 0.2f}, .radius = 0.4f};
    const light_source panel = {.kind = LIGHT_RECTANGLE,
                                .colour = {3, 3, 3},
                                .position = {0.2f, 1.2f, 0.5f},
                                .edge = {{0.8f, 0, 0}, {0, 0.1f, 0.4f}}};
    const light_source constant = {.kind = LIGHT_CONSTANT, .colour = {1, 1, 1}};
    check_ways("sun", &sun, 1, x, n, true, 2 * vec_dot(toward, n));
    check_ways("narrow sun", day, 1, x, n, true, vec_luminance(day[0].colour) * vec_dot(toward, n));
    check_ways("sky", &day[1], 1, x, n, true, 0);
    check_ways("environment", &environment, 1, x, n, true, 0);
    check_ways("constant", &constant, 1, x, n, false, M_PI);
    check_ways("ball", &ball, 1, x, n, true, 0);
    check_ways("panel", &panel, 1, x, n, true, 0);
    const light_source all[] = {sun, day[1], environment, ball, panel, constant};
    check_ways("all", all, 6, x, n, false, 0);
}

/* A ball that is wholly above the horizon lights as pi L sin^2(a) cos. */
static void test_ball_gives_its_closed_form(void **state)
{
    (void)state;
    const light_source ball = {
        .kind = LIGHT_SPHERE, .colour = {3, 3, 3}, .position = {0.5f, 1, 0.2f}, .radius = 0.4f};
    light_set *set = make(&ball, 1);
    vec3 n = {0, 1, 0}, x = {0, 0, 0};
    double error, far2 = 0.25 + 1 + 0.04;
    double expected = M_PI * 3 * 0.16 / far2 * (1 / sqrt(far2));
    double value = irradiance(set, x, n, BY_BOTH, 400000, &error);
    assert_true(fabs(value - expected) < 4 * error && error < 0.005 * expected);
    light_set_destroy(&set);
}

/* The pdf integrates to one: its inverse, averaged over what it draws, is the whole sphere. */
static void test_pdf_is_a_density(void **state)
{
    (void)state;
    light_source day[2];
    light_daylight(vec_unit((vec3){1, 0.5f, 0}), (vec3){0, 1, 0}, 4, day);
    light_set *set = make(&day[1], 1);
    trace_random r = random_start(6, 0, 0);
    enum { N = 200000 };
    double sphere = 0;
    for (int i = 0; i < N; i++) {
        light_sample s;
        assert_true(light_choose(set, (vec3){0, 0, 0}, &r, &s));
        sphere += 1 / s.pdf;
    }
    assert_true(fabs(sphere / N / (4 * M_PI) - 1) < 0.02);
    light_set_destroy(&set);
}

/* A clear sky is blue above, brightest around the sun; the sun reddens as it sinks; the two are in the
 * proportion that photometers find (the sky gives a tenth to a third of the light at noon). */
static void test_daylight_is_plausible(void **state)
{
    (void)state;
    vec3 up = {0, 1, 0}, noon = vec_unit((vec3){0.5f, 1, 0}),
         evening = vec_unit((vec3){1, 0.1f, 0});
    sky_model sky = sky_create(noon, up, 2.5f);
    vec3 zenith = sky_radiance(&sky, up), near_sun = sky_radiance(&sky, noon);
    vec3 opposite = sky_radiance(&sky, vec_unit((vec3){-0.5f, 1, 0}));
    assert_true(zenith.z > 1.5f * zenith.x);
    assert_true(vec_luminance(near_sun) > 3 * vec_luminance(opposite));
    vec3 high = sky_sunlight(noon, up, 2.5f), low = sky_sunlight(evening, up, 2.5f);
    assert_true(low.x / low.z > 2 * high.x / high.z && vec_luminance(low) < vec_luminance(high));
    light_source day[2];
    light_daylight(noon, up, 2.5f, day);
    light_set *set = make(&day[1], 1);
    double error, diffuse = irradiance(set, up, up, BY_BOTH, 100000, &error);
    double direct = vec_luminance(high) * noon.y;
    printf("sun %.2f, sky %.2f\n", direct, diffuse);
    assert_true(diffuse > 0.08 * direct && diffuse < 0.35 * direct);
    assert_true(direct > 2 && direct < 4); /* a white surface in full sun: near 1 */
    light_set_destroy(&set);
}

static void test_nonsense_is_refused(void **state)
{
    (void)state;
    const vec3 up = {0, 1, 0};
    map[5] = NAN;
    const light_source bad[] = {
        {.kind = LIGHT_SUN, .colour = {1, 1, 1}, .direction = up},
        {.kind = LIGHT_SUN, .colour = {1, 1, 1}, .direction = {0, 2, 0}, .angle = 0.1f},
        {.kind = LIGHT_CONSTANT, .colour = {1, -1, 1}},
        {.kind = LIGHT_CONSTANT, .colour = {1, INFINITY, 1}},
        {.kind = LIGHT_SKY, .colour = {1, 1, 1}, .direction = up, .turbidity = 40},
        {.kind = LIGHT_SPHERE, .colour = {1, 1, 1}},
        {.kind = LIGHT_RECTANGLE, .colour = {1, 1, 1}, .edge = {{1, 0, 0}, {2, 0, 0}}},
        {.kind = LIGHT_ENVIRONMENT, .colour = {1, 1, 1}, .direction = up},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        light_set *set = NULL;
        assert_int_equal(light_set_create(&bad[i], 1, &set), FIRN_USAGE);
        assert_null(set);
    }
    const light_source spoilt = {.kind = LIGHT_ENVIRONMENT,
                                 .colour = {1, 1, 1},
                                 .direction = up,
                                 .pixels = map,
                                 .width = MAP_WIDTH,
                                 .height = MAP_HEIGHT};
    light_set *set = NULL;
    assert_int_equal(light_set_create(&spoilt, 1, &set), FIRN_BAD_SCENE);
    map[5] = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_by_every_way),
        cmocka_unit_test(test_ball_gives_its_closed_form),
        cmocka_unit_test(test_pdf_is_a_density),
        cmocka_unit_test(test_daylight_is_plausible),
        cmocka_unit_test(test_nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
