/*
 * Light in snow against what must hold: Henyey-Greenstein moments, transmittance in uneven density, the
 * white furnace, slabs against an independent Monte Carlo and published values.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "render/phase.h"
#include "render/trace.h"
#include "render/volume_track.h"

/* ---- The phase function ------------------------------------------------------------------------- */

static void test_phase_moments(void **state)
{
    (void)state;
    const float means[] = {-0.7f, 0, 0.5f, 0.9f};
    enum { N = 400000, BINS = 10 };
    for (int m = 0; m < 4; m++) {
        float g = means[m];
        double whole = 0, first = 0, mean = 0, square = 0;
        int bins[BINS] = {0};
        for (int i = 0; i < N; i++) { /* by the midpoint rule */
            double c = -1 + (i + 0.5) * 2 / N, value = phase_value(g, (float)c) * 2 * M_PI * 2 / N;
            whole += value;
            first += c * value;
        }
        assert_true(fabs(whole - 1) < 1e-3 && fabs(first - g) < 1e-3);
        trace_random r = random_start(3, (uint64_t)m, 0);
        for (int i = 0; i < N; i++) {
            float c = phase_cosine(g, random_float(&r));
            assert_true(c >= -1 && c <= 1);
            mean += c, square += (double)c * c;
            int bin = (int)((c + 1) / 2 * BINS);
            bins[bin < BINS ? bin : BINS - 1]++;
        }
        assert_true(fabs(mean / N - g) < 4 / sqrt(N)); /* the spread of a cosine is below 1 */
        assert_true(fabs(square / N - (1 + 2 * (double)g * g) / 3) < 4 / sqrt(N));
        for (int b = 0; b < BINS; b++) {
            double expected = 0;
            for (int i = 0; i < 1000; i++)
                expected += phase_value(g, (float)(-1 + (b + (i + 0.5) / 1000) * 2 / BINS)) * 2 *
                            M_PI * 2 / BINS / 1000;
            double bound = 5 * sqrt(expected / N) + 1e-4;
            assert_true(fabs((double)bins[b] / N - expected) < bound);
        }
    }
}

static void test_directions_turn_evenly(void **state)
{
    (void)state;
    trace_random r = random_start(5, 0, 0);
    for (int i = 0; i < 20; i++) {
        float u[2];
        random_pair(&r, u);
        vec3 n = frame_direction((vec3){0, 0, 1}, 2 * u[0] - 1, u[1]), a, b, sum = {0, 0, 0};
        frame_around(n, &a, &b);
        assert_true(fabsf(vec_dot(a, b)) < 1e-6f && fabsf(vec_dot(a, n)) < 1e-6f);
        assert_true(vec_dot(vec_cross(a, b), n) > 1 - 1e-5f);
        for (int k = 0; k < 64; k++) {
            vec3 d = frame_direction(n, 0.3f, (float)k / 64);
            assert_true(fabsf(vec_dot(d, n) - 0.3f) < 1e-5f && fabsf(vec_length(d) - 1) < 1e-5f);
            sum = vec_add(sum, d);
        }
        assert_true(vec_length(vec_sub(vec_scale(sum, 1.0f / 64), vec_scale(n, 0.3f))) < 1e-5f);
    }
}

/* Of the numbers that a random one can be: the ends, and many between. */
static void test_shortcuts(void **state)
{
    (void)state;
    double depth = 0, circle = 0;
    for (uint32_t n = 0; n < 1u << 23; n += n < 1000 || n > (1u << 23) - 1000 ? 1 : 37) {
        float u = random_from_bits(n << 9), x, y;
        circle_point(u, &x, &y);
        depth = fmax(depth, fabs(random_depth(u) / -log((double)u) - 1));
        circle = fmax(circle, hypot(x - cos(2 * M_PI * u), y - sin(2 * M_PI * u)));
    }
    printf("depths off by %.1e of themselves, circles by %.1e\n", depth, circle);
    assert_true(depth < 5e-7 && circle < 3e-7);
}

/* ---- Transmittance ------------------------------------------------------------------------------ */

enum { WIDE = 40, DEEP = 150 };

/* A box of nodes with a gap in the middle, uneven everywhere, over several regions along z. */
static volume *make_uneven(void)
{
    volume *v = NULL;
    float *nodes = calloc(WIDE * WIDE * DEEP, sizeof *nodes);
    trace_random r = random_start(11, 0, 0);
    for (int i = 1; i < WIDE - 1; i++)
        for (int j = 1; j < WIDE - 1; j++)
            for (int k = 1; k < DEEP - 1; k++) {
                bool gap = k > 40 && k < 120 && (i < 30 || j < 25);
                nodes[(i * WIDE + j) * DEEP + k] = gap ? 0 : powf(random_float(&r), 4) * 800;
            }
    const int size[3] = {WIDE, WIDE, DEEP};
    assert_int_equal(volume_create_from_nodes(nodes, size, (vec3){-0.1f, 0.2f, 0}, 0.005f, &v),
                     FIRN_OK);
    free(nodes);
    return v;
}

/* Optical depth by small steps. */
static double depth_of(const volume *v, const volume_ray *ray, double extinction, double to)
{
    const int steps = 200000;
    double sum = 0;
    for (int i = 0; i < steps; i++) {
        float t = (float)((i + 0.5) / steps * to);
        sum += volume_density(v, vec_add(ray->start, vec_scale(ray->direction, t)));
    }
    return sum * to / steps * extinction;
}

typedef float flight_fn(const volume *v, const volume_ray *ray, float extinction, volume_spot *spot,
                        trace_random *random);
typedef float transmittance_fn(const volume *v, const volume_ray *ray, float extinction,
                               volume_spot spot, trace_random *random);

static void check_tracking(flight_fn *flight, transmittance_fn *transmittance)
{
    enum { N = 100000 };
    volume *v = make_uneven();
    vec3 from[3] = {{-0.02f, 0.27f, -0.2f}, {-0.3f, 0.3f, 0.05f}, {-0.05f, 0.25f, 0.7f}};
    vec3 to[3] = {{0.03f, 0.33f, 0.9f}, {0.2f, 0.31f, 0.3f}, {0, 0.36f, 0.1f}};
    const float extinction = 0.02f;
    for (int k = 0; k < 3; k++) {
        volume_ray ray = {from[k], vec_unit(vec_sub(to[k], from[k])), 1.5f};
        if (k == 2)
            ray.limit = 0.45f; /* ends in the snow */
        double expected = exp(-depth_of(v, &ray, extinction, ray.limit));
        double half = ray.limit * 0.6, expected_half = exp(-depth_of(v, &ray, extinction, half));
        assert_true(expected > 0.05 && expected < 0.9);
        trace_random r = random_start(1, (uint64_t)k, 0);
        double passed = 0, ratio = 0, square = 0;
        int beyond_half = 0;
        for (int i = 0; i < N; i++) {
            volume_spot spot = {0};
            float t = flight(v, &ray, extinction, &spot, &r);
            assert_true(t == INFINITY || (t > 0 && t < ray.limit));
            passed += t == INFINITY;
            beyond_half += t > half;
            float estimate = transmittance(v, &ray, extinction, (volume_spot){0}, &r);
            assert_true(estimate >= 0 && estimate <= 1);
            ratio += estimate, square += estimate * estimate;
        }
        double sigma = sqrt(expected * (1 - expected) / N);
        printf("transmittance %.4f: flights %.4f, ratio %.4f +- %.4f\n", expected, passed / N,
               ratio / N, sigma);
        assert_true(fabs(passed / N - expected) < 4 * sigma);
        assert_true(fabs((double)beyond_half / N - expected_half) < 4 * 0.5 / sqrt(N));
        assert_true(fabs(ratio / N - expected) < 4 * sigma);
        assert_true(square / N - pow(ratio / N, 2) < expected * (1 - expected));
    }
    volume_destroy(&v);
}

static void test_tracking_in_uneven_snow(void **state)
{
    (void)state;
    check_tracking(volume_flight, volume_transmittance);
    check_tracking(volume_try_flight, volume_try_transmittance);
}

/* A ray from inside snow needs no search for its block, and means the same. */
static void check_spots(flight_fn *flight, transmittance_fn *transmittance)
{
    enum { N = 60000 };
    volume *v = make_uneven();
    volume_ray ray = {{-0.2f, 0.3f, 0.05f}, vec_unit((vec3){1, 0.02f, 0.4f}), 1};
    trace_random r = random_start(4, 0, 0);
    volume_spot spot = {0};
    float t = flight(v, &ray, 0.5f, &spot, &r);
    assert_true(t < INFINITY && spot.block);
    volume_ray on = {vec_add(ray.start, vec_scale(ray.direction, t)),
                     vec_unit((vec3){0.3f, 1, 0.6f}), 1};
    double known = 0, searched = 0, mean_known = 0, mean_searched = 0;
    for (int i = 0; i < N; i++) {
        volume_spot same = spot, none = {0};
        known += transmittance(v, &on, 0.02f, same, &r);
        searched += transmittance(v, &on, 0.02f, none, &r);
        mean_known += fminf(flight(v, &on, 0.1f, &same, &r), 1);
        mean_searched += fminf(flight(v, &on, 0.1f, &none, &r), 1);
    }
    assert_true(fabs(known - searched) / N < 6 * 0.5 / sqrt(N));
    assert_true(fabs(mean_known - mean_searched) / N < 6 * 0.5 / sqrt(N));
    volume_destroy(&v);
}

static void test_spots_change_nothing(void **state)
{
    (void)state;
    check_spots(volume_flight, volume_transmittance);
    check_spots(volume_try_flight, volume_try_transmittance);
}

/* ---- The white furnace -------------------------------------------------------------------------- */

/* A ball of even density, soft at the rim, of this optical diameter. */
static volume *make_ball(double diameter, float extinction)
{
    enum { SIDE = 50 };
    volume *v = NULL;
    static float nodes[SIDE * SIDE * SIDE];
    const float voxel = 0.01f, radius = 0.2f;
    float density = (float)(diameter / (2 * radius) / extinction);
    for (int n = 0; n < SIDE * SIDE * SIDE; n++) {
        vec3 x = {(float)(n / SIDE / SIDE), (float)(n / SIDE % SIDE), (float)(n % SIDE)};
        float away = vec_length(vec_scale(vec_sub(x, (vec3){24.5f, 24.5f, 24.5f}), voxel));
        nodes[n] = density * clamp01((radius - away) / voxel + 0.5f);
    }
    const int size[3] = {SIDE, SIDE, SIDE};
    const float low = -24.5f * voxel;
    assert_int_equal(volume_create_from_nodes(nodes, size, (vec3){low, low, low}, voxel, &v),
                     FIRN_OK);
    return v;
}

/* The same radiance from everywhere, in four ways that are sampled differently. */
static light_set *make_surround(int kind)
{
    enum { W = 64, H = 512 };
    static float upper[3 * W * H], lower[3 * W * H];
    light_source s[6] = {{.kind = LIGHT_CONSTANT, .colour = {1, 1, 1}}};
    size_t count = 1;
    if (kind == 1) { /* two skies, each half dark */
        for (int i = 0; i < W * H; i++) {
            for (int c = 0; c < 3; c++) {
                upper[3 * i + c] = i / W < 128 ? 1 : 0;
                lower[3 * i + c] = i / W < 128 ? 0 : 1;
            }
        }
        for (int k = 0; k < 2; k++)
            s[k] = (light_source){.kind = LIGHT_ENVIRONMENT,
                                  .colour = {1, 1, 1},
                                  .direction = {0, 0, 1},
                                  .pixels = k ? upper : lower,
                                  .width = W,
                                  .height = H};
        count = 2;
    } else if (kind == 2) { /* inside a lamp */
        s[0] = (light_source){.kind = LIGHT_SPHERE, .colour = {1, 1, 1}, .radius = 3};
    } else if (kind == 3) { /* in a room whose walls shine */
        for (int k = 0; k < 6; k++) {
            vec3 n = {k / 2 == 0, k / 2 == 1, k / 2 == 2}, a, b;
            n = vec_scale(n, k % 2 ? 1 : -1);
            frame_around(n, &a, &b);
            s[k] = (light_source){.kind = LIGHT_RECTANGLE,
                                  .colour = {1, 1, 1},
                                  .position = vec_scale(n, -1),
                                  .edge = {vec_scale(a, 2), vec_scale(b, 2)}};
        }
        count = 6;
    }
    light_set *set = NULL;
    assert_int_equal(light_set_create(s, count, &set), FIRN_OK);
    return set;
}

typedef struct estimate {
    double mean[3], error[3];
} estimate;

static estimate estimate_ray(const trace_scene *scene, trace_ray ray, int samples)
{
    double sum[3] = {0}, square[3] = {0};
#pragma omp parallel for reduction(+ : sum, square) schedule(dynamic, 64)
    for (int i = 0; i < samples; i++) {
        vec3 light = trace_radiance(scene, ray, 0, (uint32_t)i);
        const float c[3] = {light.x, light.y, light.z};
        for (int k = 0; k < 3; k++)
            sum[k] += c[k], square[k] += (double)c[k] * c[k];
    }
    estimate e;
    for (int k = 0; k < 3; k++) {
        e.mean[k] = sum[k] / samples;
        e.error[k] = sqrt(fmax(square[k] / samples - e.mean[k] * e.mean[k], 0) / samples);
    }
    return e;
}

static void test_white_furnace(void **state)
{
    (void)state;
    const float extinction = 1.81f;
    for (int thick = 0; thick < 2; thick++) {
        volume *ball = make_ball(thick ? 150 : 0.5, extinction);
        for (int kind = 0; kind < 4; kind++) {
            light_set *lights = make_surround(kind);
            for (int g = 0; g < 2; g++) {
                const trace_scene scene = {.snow = ball,
                                           .lights = lights,
                                           .medium = {.extinction = extinction,
                                                      .reference = 1,
                                                      .custom = true,
                                                      .albedo = {1, 1, 1},
                                                      .mean_cosine = g ? 0.5f : 0}};
                trace_ray ray = {{0.05f, -0.06f, 0.5f}, vec_unit((vec3){0.02f, 0.1f, -1})};
                estimate e = estimate_ray(&scene, ray, thick ? 6000 : 60000);
                printf("furnace: thick %d, surround %d, g %g: %.4f +- %.4f\n", thick, kind,
                       g ? 0.5 : 0, e.mean[0], e.error[0]);
                assert_true(fabs(e.mean[0] - 1) < 4 * e.error[0] + 1e-5);
                assert_true(e.error[0] < 0.01);
                if (kind == 0)
                    assert_true(e.error[0] < 5e-3); /* no path can miss the light */
            }
            light_set_destroy(&lights);
        }
        volume_destroy(&ball);
    }
}

/* ---- Slabs -------------------------------------------------------------------------------------- */

typedef struct slab {
    double depth, albedo, g, cosine;
} slab;

/* Plainest Monte Carlo of a layer, sharing nothing with the tracer: photons enter at the angle, fly,
 * scatter and lose weight. */
static void plain_slab(const slab *s, int photons, double *reflected, double *transmitted)
{
    double up = 0, down = 0;
#pragma omp parallel for reduction(+ : up, down)
    for (int i = 0; i < photons; i++) {
        unsigned short seed[3] = {(unsigned short)i, (unsigned short)(i >> 16), 77};
        double z = 0, c = s->cosine, weight = 1;
        while (weight > 1e-4) {
            z += -log(1 - erand48(seed)) * c;
            if (z < 0 || z > s->depth)
                break;
            weight *= s->albedo;
            double g = s->g, u = erand48(seed), turn = 2 * M_PI * erand48(seed);
            double k = (1 - g * g) / (1 - g + 2 * g * u);
            double t = g == 0 ? 2 * u - 1 : (1 + g * g - k * k) / (2 * g);
            c = c * t + sqrt((1 - c * c) * (1 - t * t)) * cos(turn);
            c = fmin(fmax(c, -1), 1);
        }
        if (weight <= 1e-4)
            continue;
        if (z < 0)
            up += weight;
        else
            down += weight;
    }
    *reflected = up / photons;
    *transmitted = down / photons;
}

/* Three voxels deep, so wide that nothing leaves by the sides. Along z density only stretches the scale
 * of depth. */
static volume *make_slab(double depth, float extinction)
{
    enum { SIDE = 400, LAYERS = 6 };
    volume *v = NULL;
    float *nodes = calloc(SIDE * SIDE * LAYERS, sizeof *nodes);
    for (int n = 0; n < SIDE * SIDE * LAYERS; n++)
        if (n % LAYERS > 0 && n % LAYERS < 4)
            nodes[n] = (float)(depth / 3 / extinction);
    const int size[3] = {SIDE, SIDE, LAYERS};
    assert_int_equal(volume_create_from_nodes(nodes, size, (vec3){-200, -200, -2}, 1, &v), FIRN_OK);
    free(nodes);
    return v;
}

/* Red from above, green from below: one picture tells what is reflected and what passes. */
static light_set *make_two_skies(void)
{
    enum { W = 8, H = 2048 };
    static float pixels[3 * W * H];
    for (int i = 0; i < W * H; i++)
        pixels[3 * i + (i / W >= H / 2)] = 1;
    const light_source s = {.kind = LIGHT_ENVIRONMENT,
                            .colour = {1, 1, 1},
                            .direction = {1, 0, 0},
                            .up = {0, 0, 1},
                            .pixels = pixels,
                            .width = W,
                            .height = H};
    light_set *set = NULL;
    assert_int_equal(light_set_create(&s, 1, &set), FIRN_OK);
    return set;
}

static estimate trace_slab(const slab *s, const light_set *lights, int samples, int similarity)
{
    const float extinction = 1.81f;
    volume *v = make_slab(s->depth, extinction);
    float a = (float)s->albedo, c = (float)s->cosine;
    const trace_scene scene = {.snow = v,
                               .lights = lights,
                               .medium = {.extinction = extinction,
                                          .reference = 1,
                                          .custom = true,
                                          .albedo = {a, a, a},
                                          .mean_cosine = (float)s->g},
                               .options = {.similarity = similarity}};
    trace_ray ray = {{0.3f, -0.2f, 4}, {sqrtf(1 - c * c), 0, -c}};
    estimate e = estimate_ray(&scene, ray, samples);
    volume_destroy(&v);
    return e;
}

static bool within(double value, double expected, double error)
{
    return fabs(value - expected) < 0.01 * expected && fabs(value - expected) < 4 * error;
}

static void test_slabs_against_plain_monte_carlo(void **state)
{
    (void)state;
    const slab slabs[] = {{2, 0.9, 0.5, 1}, {4, 1, 0.5, 0.5}, {1, 0.95, 0, 0.3}, {8, 1, 0, 1}};
    light_set *lights = make_two_skies();
    for (size_t i = 0; i < sizeof slabs / sizeof *slabs; i++) {
        double reflected, transmitted;
        plain_slab(&slabs[i], 1000000, &reflected, &transmitted);
        estimate e = trace_slab(&slabs[i], lights, 300000, 0);
        printf("slab %g, albedo %g, g %g, cosine %g: %.4f +- %.4f (%.4f), %.4f +- %.4f (%.4f)\n",
               slabs[i].depth, slabs[i].albedo, slabs[i].g, slabs[i].cosine, e.mean[0], e.error[0],
               reflected, e.mean[1], e.error[1], transmitted);
        assert_true(within(e.mean[0], reflected, e.error[0] + 5e-4));
        assert_true(within(e.mean[1], transmitted, e.error[1] + 5e-4));
    }
    light_set_destroy(&lights);
}

/* van de Hulst 1980, table 35: normal incidence, g 0.75. */
static void test_slab_against_published_values(void **state)
{
    (void)state;
    light_set *lights = make_two_skies();
    estimate e = trace_slab(&(slab){2, 0.9, 0.75, 1}, lights, 600000, 0);
    printf("van de Hulst: %.5f (0.09739), %.5f (0.66096)\n", e.mean[0], e.mean[1]);
    assert_true(within(e.mean[0], 0.09739, e.error[0]));
    assert_true(within(e.mean[1], 0.66096, e.error[1]));
    light_set_destroy(&lights);
}

/* The named speed-up is close where it is meant to be used, and not the same. */
static void test_similarity_is_close(void **state)
{
    (void)state;
    const slab deep = {20, 0.99, 0.5, 1};
    light_set *lights = make_two_skies();
    estimate exact = trace_slab(&deep, lights, 60000, 0),
             fast = trace_slab(&deep, lights, 60000, 8);
    printf("similarity: %.4f for %.4f, %.4f for %.4f\n", fast.mean[0], exact.mean[0], fast.mean[1],
           exact.mean[1]);
    assert_true(fabs(fast.mean[0] / exact.mean[0] - 1) < 0.02);
    assert_true(fabs(fast.mean[1] / exact.mean[1] - 1) < 0.08);
    light_set_destroy(&lights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phase_moments),
        cmocka_unit_test(test_directions_turn_evenly),
        cmocka_unit_test(test_shortcuts),
        cmocka_unit_test(test_tracking_in_uneven_snow),
        cmocka_unit_test(test_spots_change_nothing),
        cmocka_unit_test(test_white_furnace),
        cmocka_unit_test(test_slabs_against_plain_monte_carlo),
        cmocka_unit_test(test_slab_against_published_values),
        cmocka_unit_test(test_similarity_is_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
