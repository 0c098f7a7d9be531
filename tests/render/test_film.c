/* The film and the denoiser: sums that survive a file, layers without a NaN, noise that goes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <omp.h>

#include "io/exr.h"
#include "render/denoise.h"
#include "render/film.h"

enum { WIDTH = 96, HEIGHT = 64, PIXELS = WIDTH * HEIGHT };
static char folder[] = "/tmp/firn-film-XXXXXX";

static char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static float even(uint32_t *state)
{
    uint32_t h = *state += 0x9e3779b9u;
    h = (h ^ h >> 16) * 0x21f0aaadu;
    h = (h ^ h >> 15) * 0x735a2d97u;
    return (float)((h ^ h >> 15) >> 8) / 16777216.0f;
}

static film make_film(void)
{
    film f;
    assert_int_equal(film_create(&f, WIDTH, HEIGHT), FIRN_OK);
    return f;
}

/* Add a sample of made-up light to the pixels of a band. */
static void expose(film *f, const film_band *band)
{
    for (int i = band->y0 * WIDTH; i < band->y1 * WIDTH; i++) {
        for (uint32_t s = band->first; s < band->first + band->count; s++) {
            uint32_t state = (uint32_t)i * 977u + s * 12345677u;
            trace_pixel *p = &f->sums.pixels[i];
            float light = even(&state) * 3;
            p->light = vec_add(p->light, (vec3){light, light, light});
            p->squares += light * light;
            p->depth += 1 + even(&state);
            p->cover += 1;
            p->count++;
        }
    }
}

static void finish(film *f, uint32_t samples, int rows, uint32_t at_once, int stop_after)
{
    film_band band;
    for (int k = 0; k != stop_after && film_next(f, samples, rows, at_once, &band); k++) {
        film_begin(f, &band);
        expose(f, &band);
        film_end(f, &band, true);
    }
}

static void test_any_order_gives_the_same(void **state)
{
    (void)state;
    film whole = make_film(), parts = make_film();
    finish(&whole, 9, HEIGHT, 9, -1);
    finish(&parts, 4, 7, 3, 5);
    film_band band;
    assert_true(film_next(&parts, 9, 5, 2, &band));
    film_begin(&parts, &band);
    expose(&parts, &band);
    film_end(&parts, &band, false); /* interrupted: as if it had not been */
    finish(&parts, 9, 5, 2, -1);
    assert_int_equal(film_samples(&parts), 9);
    assert_memory_equal(whole.sums.pixels, parts.sums.pixels, PIXELS * sizeof(trace_pixel));
    assert_false(film_next(&parts, 9, 5, 2, &band));
    film_clear(&whole);
    film_clear(&parts);
}

static void test_file(void **state)
{
    (void)state;
    film f = make_film(), g = make_film();
    const char *path = in_folder("film.exr");
    finish(&f, 5, 11, 2, 9);
    assert_int_equal(film_save(&f, 0x1234abcd5678u, path), FIRN_OK);
    assert_int_equal(film_load(&g, 0x1234abcd5679u, path), FIRN_BAD_SCENE);
    assert_non_null(strstr(firn_last_error(), "another picture"));
    assert_int_equal(film_samples(&g), 0);
    assert_int_equal(film_load(&g, 0x1234abcd5678u, path), FIRN_OK);
    assert_memory_equal(f.sums.pixels, g.sums.pixels, PIXELS * sizeof(trace_pixel));
    assert_memory_equal(f.done, g.done, HEIGHT * sizeof *f.done);
    film small;
    assert_int_equal(film_create(&small, WIDTH, HEIGHT - 1), FIRN_OK);
    assert_int_equal(film_load(&small, 0x1234abcd5678u, path), FIRN_BAD_SCENE);
    assert_int_equal(film_load(&g, 1, in_folder("none.exr")), FIRN_NO_INPUT);
    path = in_folder("other.exr");
    const float black[4] = {0};
    const exr_channel channel = {"R", black, 1, true};
    assert_int_equal(exr_write(path, 2, 2, &channel, 1, NULL, 0), FIRN_OK);
    assert_int_equal(film_load(&g, 1, path), FIRN_BAD_SCENE);
    assert_non_null(strstr(firn_last_error(), "is not an unfinished picture"));
    film_clear(&f);
    film_clear(&g);
    film_clear(&small);
}

static void test_layers_are_finite(void **state)
{
    (void)state;
    film f = make_film();
    finish(&f, 4, HEIGHT, 4, -1);
    f.sums.pixels[3].light.y = NAN; /* as if a rule had been broken */
    f.sums.pixels[4].depth = INFINITY;
    f.sums.pixels[5] = (trace_pixel){0};
    film_layers l;
    assert_int_equal(film_resolve(&f, &l), FIRN_OK);
    for (int i = 0; i < PIXELS; i++)
        assert_true(isfinite(l.light[i].x + l.light[i].y + l.light[i].z) && isfinite(l.depth[i]) &&
                    isfinite(l.variance[i]));
    assert_true(l.light[5].x == 0 && l.depth[5] == 0);
    double mean = 0, variance = 0;
    for (int i = 6; i < PIXELS; i++)
        mean += l.light[i].x / (PIXELS - 6.0), variance += l.variance[i] / (PIXELS - 6.0);
    assert_true(fabs(mean - 1.5) < 0.05);
    assert_true(fabs(variance - 9.0 / 12 / 4) < 0.02); /* of the mean of four */
    film_layers_clear(&l);
    film_clear(&f);
}

/* ---- The denoiser ---- */

/* A soft ramp, an edge of what was met, and fine stripes of albedo. */
static vec3 truth(int x, int y)
{
    float ramp = 0.3f + 0.5f * (float)x / WIDTH;
    if (y > HEIGHT / 2)
        ramp = x / 4 % 2 ? 0.2f : 0.5f;
    return (vec3){ramp, ramp * 0.95f, ramp * 0.9f};
}

static film_layers noisy(float sigma)
{
    film_layers l;
    film f = make_film();
    assert_int_equal(film_resolve(&f, &l), FIRN_OK);
    film_clear(&f);
    uint32_t state = 5;
    for (int i = 0; i < PIXELS; i++) {
        int x = i % WIDTH, y = i / WIDTH;
        float noise = 0;
        for (int k = 0; k < 12; k++)
            noise += even(&state) - 0.5f;
        l.light[i] = vec_scale(truth(x, y), 1 + sigma * noise);
        float own = 0.95f * truth(x, y).x * sigma;
        l.variance[i] = own * own;
        l.albedo[i] = y > HEIGHT / 2 ? truth(x, y) : (vec3){0.9f, 0.95f, 1};
        l.normal[i] = y > HEIGHT / 2 ? (vec3){0, 1, 0} : (vec3){0, 0.8f, 0.6f};
        l.depth[i] = y > HEIGHT / 2 ? 3 : 2;
        l.cover[i] = 1;
    }
    return l;
}

static double error_of(const film_layers *l)
{
    double sum = 0;
    for (int i = 0; i < PIXELS; i++) {
        vec3 d = vec_sub(l->light[i], truth(i % WIDTH, i / WIDTH));
        sum += (double)vec_dot(d, d) / 3;
    }
    return sqrt(sum / PIXELS);
}

static void test_noise_goes_and_edges_stay(void **state)
{
    (void)state;
    film_layers l = noisy(0.25f);
    double before = error_of(&l);
    assert_int_equal(denoise(&l), FIRN_OK);
    assert_true(error_of(&l) < before / 4);
    for (int x = 2; x < WIDTH; x += 4) /* every stripe is still there */
        assert_true(fabsf(l.light[(HEIGHT * 3 / 4) * WIDTH + x].x - truth(x, HEIGHT * 3 / 4).x) <
                    0.08f);
    film_layers_clear(&l);
    l = noisy(0);
    assert_int_equal(denoise(&l), FIRN_OK);
    assert_true(error_of(&l) < 0.01); /* what has no noise is left alone */
    film_layers_clear(&l);
}

static void test_fireflies(void **state)
{
    (void)state;
    film_layers l = noisy(0.1f);
    for (int i = 500; i < PIXELS / 2; i += 777)
        l.light[i] = (vec3){300, 300, 300}, l.variance[i] = 9e4f;
    assert_int_equal(denoise(&l), FIRN_OK);
    for (int i = 0; i < PIXELS; i++)
        assert_true(l.light[i].x < 1.5f);
    film_layers_clear(&l);
}

static void test_threads_do_not_matter(void **state)
{
    (void)state;
    film_layers one = noisy(0.3f), many = noisy(0.3f);
    int usual = omp_get_max_threads();
    omp_set_num_threads(1);
    assert_int_equal(denoise(&one), FIRN_OK);
    omp_set_num_threads(5);
    assert_int_equal(denoise(&many), FIRN_OK);
    omp_set_num_threads(usual);
    assert_memory_equal(one.light, many.light, PIXELS * sizeof(vec3));
    film_layers_clear(&one);
    film_layers_clear(&many);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(in_folder("film.exr"));
    unlink(in_folder("other.exr"));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order_gives_the_same),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_layers_are_finite),
        cmocka_unit_test(test_noise_goes_and_edges_stay),
        cmocka_unit_test(test_fireflies),
        cmocka_unit_test(test_threads_do_not_matter),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
