/* The tracer as a whole: the same picture for any threads, tiles and calls; always finite; stops. */
#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/trace.h"

enum { WIDTH = 48, HEIGHT = 32 };
static const double origin[3] = {0, 0, 0};

typedef struct stage {
    volume *snow;
    light_set *lights;
    surface_set *surfaces;
    trace_scene scene;
    trace_film film;
} stage;

static volume *make_snow(void)
{
    enum { SIDE = 40 };
    static float nodes[SIDE * SIDE * SIDE];
    volume *v = NULL;
    for (int n = 0; n < SIDE * SIDE * SIDE; n++) {
        float x = (float)(n / SIDE / SIDE) - 20, y = (float)(n / SIDE % SIDE) - 20,
              z = (float)(n % SIDE) - 20;
        float bumps = 2 * sinf(x) * sinf(y) * sinf(z);
        nodes[n] = 400 * clamp01(15 + bumps - sqrtf(x * x + y * y + z * z));
    }
    const int size[3] = {SIDE, SIDE, SIDE};
    assert_int_equal(volume_create_from_nodes(nodes, size, (vec3){-0.2f, 0, -0.2f}, 0.01f, &v),
                     FIRN_OK);
    return v;
}

static double glass_distance(const void *user, const double x[3])
{
    (void)user;
    return sqrt(pow(x[0] - 0.35, 2) + pow(x[1] - 0.12, 2) + pow(x[2], 2)) - 0.12;
}

/* A ball of snow and one of glass on a shining floor, with sun, sky and a lamp. */
static stage make_stage(void)
{
    stage s = {.snow = make_snow()};
    light_source lights[4];
    light_daylight(vec_unit((vec3){-1, 1, 0.5f}), (vec3){0, 1, 0}, 3, lights);
    lights[2] = (light_source){.kind = LIGHT_SPHERE,
                               .colour = {9, 6, 3},
                               .position = {-0.4f, 0.3f, 0.3f},
                               .radius = 0.05f};
    lights[3] = (light_source){.kind = LIGHT_RECTANGLE,
                               .colour = {2, 2, 4},
                               .position = {0, 0.8f, 0},
                               .edge = {{0.3f, 0, 0}, {0, 0, 0.3f}}};
    const surface_material floor = {.kind = SURFACE_GLOSSY,
                                    .colour = {0.5f, 0.4f, 0.3f},
                                    .other = {0.2f, 0.2f, 0.2f},
                                    .square = 0.2f},
                           glass = {.kind = SURFACE_GLASS, .colour = {0.9f, 1, 1}};
    const double low[3] = {0.23, 0, -0.12}, high[3] = {0.47, 0.24, 0.12};
    assert_int_equal(light_set_create(lights, 4, &s.lights), FIRN_OK);
    assert_int_equal(surface_set_create(origin, &s.surfaces), FIRN_OK);
    assert_int_equal(surface_add_plane(s.surfaces, (vec3){0, 0, 0}, (vec3){0, 1, 0}, &floor),
                     FIRN_OK);
    assert_int_equal(surface_add_distance(s.surfaces, glass_distance, NULL, low, high, &glass),
                     FIRN_OK);
    assert_int_equal(surface_commit(s.surfaces), FIRN_OK);
    s.scene = (trace_scene){
        .snow = s.snow, .lights = s.lights, .surfaces = s.surfaces, .options = {.seed = 12}};
    s.film = (trace_film){WIDTH, HEIGHT, calloc(WIDTH * HEIGHT, sizeof(trace_pixel))};
    return s;
}

static void clear_stage(stage *s)
{
    volume_destroy(&s->snow);
    light_set_destroy(&s->lights);
    surface_set_destroy(&s->surfaces);
    free(s->film.pixels);
}

static trace_ray look(const void *camera, int x, int y, const float u[4])
{
    (void)camera;
    vec3 d = {((float)x + u[0] - WIDTH / 2.0f) / WIDTH, (HEIGHT / 2.0f - (float)y - u[1]) / WIDTH,
              -1};
    return (trace_ray){{0.05f, 0.3f, 1}, vec_unit(d)};
}

static const trace_tile whole = {0, 0, WIDTH, HEIGHT};

static void render(stage *s, trace_tile tile, uint32_t first, uint32_t count)
{
    assert_int_equal(trace_render(&s->scene, look, NULL, tile, first, count, &s->film, NULL, NULL),
                     FIRN_OK);
}

static void test_threads_tiles_and_calls_do_not_matter(void **state)
{
    (void)state;
    stage a = make_stage(), b = make_stage();
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    render(&a, whole, 0, 6);
    omp_set_num_threads(4);
    render(&b, (trace_tile){0, 0, 31, HEIGHT}, 0, 2);
    render(&b, (trace_tile){31, 0, WIDTH, 11}, 0, 6);
    render(&b, (trace_tile){31, 11, WIDTH, HEIGHT}, 0, 6);
    render(&b, whole, 2, 1); /* done already, on the right */
    render(&b, whole, 0, 6);
    omp_set_num_threads(threads);
    assert_memory_equal(a.film.pixels, b.film.pixels, WIDTH * HEIGHT * sizeof(trace_pixel));
    /* Another seed gives another picture, and no two samples of a pixel are the same. */
    memset(b.film.pixels, 0, WIDTH * HEIGHT * sizeof(trace_pixel));
    b.scene.options.seed++;
    render(&b, whole, 0, 6);
    assert_memory_not_equal(a.film.pixels, b.film.pixels, WIDTH * HEIGHT * sizeof(trace_pixel));
    int same = 0;
    for (uint32_t n = 0; n < 64; n++) {
        trace_ray ray = look(NULL, 24, 18, (float[4]){0.5f, 0.5f, 0.5f, 0.5f});
        vec3 x = trace_radiance(&a.scene, ray, 5, n), y = trace_radiance(&a.scene, ray, 5, n + 1);
        same += x.x == y.x && x.z == y.z;
    }
    assert_true(same < 3);
    clear_stage(&a);
    clear_stage(&b);
}

static void test_film_holds_what_was_met(void **state)
{
    (void)state;
    stage s = make_stage();
    render(&s, whole, 0, 8);
    int sky = 0, snow = 0;
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        trace_pixel p = s.film.pixels[i];
        assert_int_equal(p.count, 8);
        assert_true(p.light.x >= 0 && p.light.y >= 0 && p.light.z >= 0);
        assert_true(p.squares >= 0 && p.cover >= 0 && p.cover <= 8);
        assert_true(vec_length(p.normal) <= p.cover * 1.0001f);
        if (p.cover == 0) {
            sky++;
            assert_true(p.depth == 0 && p.albedo.x == 8);
        }
    }
    const trace_pixel *middle = &s.film.pixels[14 * WIDTH + 21];
    snow = middle->cover == 8 && middle->depth / middle->cover > 0.8f &&
           middle->depth / middle->cover < 1.1f && middle->normal.z > 4;
    assert_true(sky > 50 && snow);
    clear_stage(&s);
}

static bool is_finite_pixel(const trace_pixel *p)
{
    const float *value = &p->light.x;
    for (size_t i = 0; i < offsetof(trace_pixel, count) / sizeof(float); i++)
        if (!isfinite(value[i]))
            return false;
    return true;
}

/* Rays that are not numbers, point nowhere, or start very far away. */
static trace_ray look_badly(const void *camera, int x, int y, const float u[4])
{
    trace_ray ray = look(camera, x, y, u);
    if (x % 5 == 0)
        ray.direction.y = NAN;
    if (x % 5 == 1)
        ray.start.x = INFINITY;
    if (x % 5 == 2)
        ray.direction = (vec3){0, 0, 0};
    if (x % 5 == 3)
        ray.start = vec_scale(ray.direction, -1e15f);
    return ray;
}

static void test_film_is_always_finite(void **state)
{
    (void)state;
    stage s = make_stage();
    assert_int_equal(trace_render(&s.scene, look_badly, NULL, whole, 0, 4, &s.film, NULL, NULL),
                     FIRN_OK);
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        assert_true(is_finite_pixel(&s.film.pixels[i]));
        assert_int_equal(s.film.pixels[i].count, 4);
    }
    clear_stage(&s);
}

/* Light too bright for the film's numbers. */
static void test_film_survives_overflow(void **state)
{
    (void)state;
    const light_source glaring[2] = {{.kind = LIGHT_CONSTANT, .colour = {3e38f, 1, 1}},
                                     {.kind = LIGHT_CONSTANT, .colour = {3e38f, 1e30f, 1}}};
    for (size_t count = 1; count <= 2; count++) {
        stage s = make_stage();
        light_set *lights = NULL;
        assert_int_equal(light_set_create(glaring, count, &lights), FIRN_OK);
        s.scene.lights = lights;
        render(&s, whole, 0, 2);
        for (int i = 0; i < WIDTH * HEIGHT; i++)
            assert_true(is_finite_pixel(&s.film.pixels[i]));
        light_set_destroy(&lights);
        clear_stage(&s);
    }
}

/* Rays along the axes and through corners of blocks, which divide by zero in careless hands. */
static void test_straight_rays_are_finite(void **state)
{
    (void)state;
    stage s = make_stage();
    for (int axis = 0; axis < 6; axis++)
        for (int i = 0; i < 41; i++) {
            float away = -0.2f + 0.01f * (float)i, sign = axis % 2 ? 1 : -1;
            vec3 d = {axis / 2 == 0, axis / 2 == 1, axis / 2 == 2};
            vec3 start = vec_add(vec_scale(d, -sign * 2), (vec3){away, away + 0.2f, away});
            trace_ray ray = {start, vec_scale(d, sign)};
            vec3 light = trace_radiance(&s.scene, ray, (uint64_t)i, (uint32_t)axis);
            assert_true(isfinite(light.x) && isfinite(light.y) && isfinite(light.z));
        }
    clear_stage(&s);
}

static bool stop_at_third(void *user)
{
    int *asked = user, now;
#pragma omp atomic capture
    now = ++*asked;
    return now == 3;
}

static void test_stops_and_goes_on(void **state)
{
    (void)state;
    stage a = make_stage(), b = make_stage();
    int asked = 0, lacking = 0;
    render(&a, whole, 0, 3);
    assert_int_equal(
        trace_render(&b.scene, look, NULL, whole, 0, 3, &b.film, stop_at_third, &asked),
        FIRN_STOPPED);
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        lacking += b.film.pixels[i].count < 3;
    assert_true(lacking > WIDTH * HEIGHT / 2);
    render(&b, whole, 0, 3);
    assert_memory_equal(a.film.pixels, b.film.pixels, WIDTH * HEIGHT * sizeof(trace_pixel));
    clear_stage(&a);
    clear_stage(&b);
}

static vec3 mean_light(const trace_scene *scene, double error[3])
{
    enum { N = 40000 };
    double sum[3] = {0}, square[3] = {0};
#pragma omp parallel for reduction(+ : sum, square)
    for (int i = 0; i < N; i++) {
        float u[4] = {(float)(i % 211) / 211, (float)(i % 199) / 199, 0, 0};
        trace_ray ray = look(NULL, 21, 14, u);
        vec3 light = trace_radiance(scene, ray, (uint64_t)i, 0);
        const float c[3] = {light.x, light.y, light.z};
        for (int k = 0; k < 3; k++)
            sum[k] += c[k], square[k] += (double)c[k] * c[k];
    }
    for (int k = 0; k < 3; k++)
        error[k] = sqrt((square[k] / N - sum[k] / N * sum[k] / N) / N);
    return (vec3){(float)(sum[0] / N), (float)(sum[1] / N), (float)(sum[2] / N)};
}

/* A wide sun and a ball of the same size and brightness very far away light snow alike. */
static void test_sun_and_far_ball_agree(void **state)
{
    (void)state;
    stage s = make_stage();
    const float half = 0.2f, far = 2000;
    vec3 toward = vec_unit((vec3){-1, 1, 0.7f});
    float radiance = 1 / (3.14159265f * sinf(half) * sinf(half));
    const light_source lamps[2] = {
        {.kind = LIGHT_SUN, .colour = {1, 1, 1}, .direction = toward, .angle = 2 * half},
        {.kind = LIGHT_SPHERE,
         .colour = {radiance, radiance, radiance},
         .position = vec_scale(toward, far),
         .radius = far * sinf(half)}};
    vec3 mean[2];
    double error[2][3];
    for (int k = 0; k < 2; k++) {
        light_set *lights = NULL;
        assert_int_equal(light_set_create(&lamps[k], 1, &lights), FIRN_OK);
        const trace_scene scene = {.snow = s.snow, .lights = lights};
        mean[k] = mean_light(&scene, error[k]);
        light_set_destroy(&lights);
    }
    printf("sun %.4f %.4f %.4f +- %.4f, ball %.4f %.4f %.4f\n", (double)mean[0].x,
           (double)mean[0].y, (double)mean[0].z, error[0][2], (double)mean[1].x, (double)mean[1].y,
           (double)mean[1].z);
    assert_true(fabs(mean[0].x - mean[1].x) < 5 * hypot(error[0][0], error[1][0]));
    assert_true(fabs(mean[0].z - mean[1].z) < 5 * hypot(error[0][2], error[1][2]));
    assert_true(mean[0].x > 0.03f && mean[0].z > 1.3f * mean[0].x); /* blue: the paper's albedo */
    clear_stage(&s);
}

static void test_nonsense_is_refused(void **state)
{
    (void)state;
    stage s = make_stage();
    const trace_medium bad[] = {{.custom = true, .mean_cosine = 1},
                                {.custom = true, .albedo = {1.1f, 1, 1}},
                                {.custom = true, .albedo = {NAN, 1, 1}},
                                {.extinction = INFINITY}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        s.scene.medium = bad[i];
        assert_int_equal(trace_render(&s.scene, look, NULL, whole, 0, 1, &s.film, NULL, NULL),
                         FIRN_USAGE);
    }
    clear_stage(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_tiles_and_calls_do_not_matter),
        cmocka_unit_test(test_film_holds_what_was_met),
        cmocka_unit_test(test_film_is_always_finite),
        cmocka_unit_test(test_film_survives_overflow),
        cmocka_unit_test(test_straight_rays_are_finite),
        cmocka_unit_test(test_stops_and_goes_on),
        cmocka_unit_test(test_sun_and_far_ball_agree),
        cmocka_unit_test(test_nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
