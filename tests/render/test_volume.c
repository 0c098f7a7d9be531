/* Particles to density: mass, kernels, blocks, and the same bits for any number of threads. */
#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/scratch.h"
#include "io/vdb.h"
#include "render/trace_random.h"
#include "render/volume_grid.h"

enum { COUNT = 5000 };
static const double no_shift[3] = {0, 0, 0};

typedef struct snow {
    firn_frame frame;
    float position[3 * COUNT], velocity[3 * COUNT], mass[COUNT];
} snow;

/* A ball of snow of radius 0.1 m at (x, 0, 0), moving to the right at 2 m/s. */
static snow *make_ball(float x, int dimensions)
{
    snow *s = calloc(1, sizeof *s);
    trace_random r = random_start(7, 0, 0);
    for (int i = 0; i < COUNT; i++) {
        float p[3], length2;
        do {
            length2 = 0;
            for (int a = 0; a < 3; a++) {
                p[a] = a < dimensions ? 2 * random_float(&r) - 1 : 0;
                length2 += p[a] * p[a];
            }
        } while (length2 > 1);
        for (int a = 0; a < 3; a++)
            s->position[3 * i + a] = 0.1f * p[a] + (a == 0 ? x : 0);
        s->velocity[3 * i] = 2;
        s->mass[i] = 1e-3f * (1 + random_float(&r));
    }
    s->frame = (firn_frame){.dimensions = dimensions,
                            .count = COUNT,
                            .cell_size = 0.01,
                            .position = s->position,
                            .velocity = s->velocity,
                            .mass = s->mass};
    return s;
}

/* Sum over cells: nodes of a block that its upper neighbours own are left to them. */
static double mass_of(const volume *v)
{
    double sum = 0;
    for (size_t n = 0; n < v->block_count; n++)
        for (int m = 0; m < BLOCK_NODES; m++) {
            int i = m / (BLOCK_SIDE * BLOCK_SIDE), j = m / BLOCK_SIDE % BLOCK_SIDE,
                k = m % BLOCK_SIDE;
            if (i < BLOCK_CELLS && j < BLOCK_CELLS && k < BLOCK_CELLS)
                sum += v->blocks[n].nodes[m];
        }
    return sum * pow(v->voxel, 3);
}

static double frame_mass(const snow *s)
{
    double sum = 0;
    for (int i = 0; i < COUNT; i++)
        sum += s->mass[i];
    return sum;
}

static void test_mass_is_kept(void **state)
{
    (void)state;
    const volume_options kinds[] = {{0},
                                    {.voxel_size = 0.01},
                                    {.voxel_size = 0.003, .kernel_width = 3.3},
                                    {.voxel_size = 0.004, .grains = 5}};
    snow *s = make_ball(0.3f, 3);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        volume *v;
        assert_int_equal(volume_create(&s->frame, no_shift, &kinds[k], &v), FIRN_OK);
        assert_true(fabs(mass_of(v) / frame_mass(s) - 1) < 1e-5);
        volume_destroy(&v);
    }
    free(s);
}

/* Independent of the blocks: the density at a node of the world's grid is the simulation's. */
static void test_kernel_is_the_simulations(void **state)
{
    (void)state;
    snow *s = make_ball(-0.2f, 3);
    volume *v;
    const double h = 0.01, origin[3] = {0.123, -0.4, 0.05};
    assert_int_equal(volume_create(&s->frame, origin, &(volume_options){.voxel_size = h}, &v),
                     FIRN_OK);
    for (int n = 0; n < 200; n++) {
        int node[3] = {-30 + n % 21, -10 + n % 19, -10 + n % 17};
        double density = 0;
        for (int i = 0; i < COUNT; i++) {
            double w = 1;
            for (int a = 0; a < 3; a++) {
                double x = fabs(s->position[3 * i + a] / h - node[a]);
                w *= x < 1   ? 0.5 * x * x * x - x * x + 2.0 / 3
                     : x < 2 ? (2 - x) * (2 - x) * (2 - x) / 6
                             : 0;
            }
            density += s->mass[i] * w / (h * h * h);
        }
        vec3 x = {(float)(node[0] * h - origin[0]), (float)(node[1] * h - origin[1]),
                  (float)(node[2] * h - origin[2])};
        assert_true(fabs(volume_density(v, x) - density) < 2e-3 * (density + 100));
    }
    volume_destroy(&v);
    free(s);
}

static void test_blocks_hold_snow_and_agree(void **state)
{
    (void)state;
    snow *s = make_ball(0, 3);
    volume *v;
    assert_int_equal(volume_create(&s->frame, no_shift, NULL, &v), FIRN_OK);
    trace_random r = random_start(1, 2, 3);
    float most = 0;
    for (int i = 0; i < 100000; i++) {
        vec3 p = {random_float(&r), random_float(&r), random_float(&r)};
        float density = volume_density(v, vec_scale(vec_sub(p, (vec3){0.5f, 0.5f, 0.5f}), 0.24f));
        assert_true(density >= 0 && density <= v->densest);
        most = fmaxf(most, density);
    }
    assert_true(most > 0.5f * v->densest);
    for (size_t n = 0; n < v->block_count; n++) {
        const int *c = v->corners[n];
        const int at[3] = {c[0] / BLOCK_CELLS, c[1] / BLOCK_CELLS, c[2] / BLOCK_CELLS};
        float own = 0;
        for (int m = 0; m < BLOCK_NODES; m++)
            own = fmaxf(own, v->blocks[n].nodes[m]);
        assert_ptr_equal(volume_block_at(v, at), own > 0 ? &v->blocks[n] : NULL);
    }
    /* Walking across block faces the density has no steps. */
    float last = volume_density(v, (vec3){-0.12f, 0.011f, 0.007f}), change = 0;
    for (int i = 0; i < 24000; i++) {
        float now = volume_density(v, (vec3){-0.12f + 1e-5f * (float)i, 0.011f, 0.007f});
        change = fmaxf(change, fabsf(now - last));
        last = now;
    }
    assert_true(change < 0.01f * v->densest);
    volume_destroy(&v);
    free(s);
}

static void test_threads_do_not_matter(void **state)
{
    (void)state;
    snow *s = make_ball(0, 3);
    volume *one, *many;
    int threads = omp_get_max_threads();
    const volume_options o = {.grains = 3};
    omp_set_num_threads(1);
    assert_int_equal(volume_create(&s->frame, no_shift, &o, &one), FIRN_OK);
    omp_set_num_threads(5);
    assert_int_equal(volume_create(&s->frame, no_shift, &o, &many), FIRN_OK);
    omp_set_num_threads(threads);
    assert_int_equal(one->block_count, many->block_count);
    assert_memory_equal(one->blocks, many->blocks, one->block_count * sizeof *one->blocks);
    assert_memory_equal(one->regions, many->regions, one->region_count * sizeof *one->regions);
    volume_destroy(&one);
    volume_destroy(&many);
    free(s);
}

/* A node that is no density, alone among others. */
static void test_no_densities_are_refused(void **state)
{
    (void)state;
    static const float strange[] = {NAN, INFINITY, 1e31f};
    const int size[3] = {20, 20, 20};
    static float nodes[20 * 20 * 20];
    for (int k = 0; k < 3; k++) {
        volume *v;
        for (int i = 0; i < 20 * 20 * 20; i++)
            nodes[i] = i == 3210 ? strange[k] : 400;
        assert_int_equal(volume_create_from_nodes(nodes, size, (vec3){0, 0, 0}, 0.1f, &v),
                         FIRN_BAD_SCENE);
        assert_null(v);
    }
}

static vec3 middle_of(const volume *v)
{
    vec3 sum = {0, 0, 0};
    float weight = 0;
    volume_info info = volume_describe(v);
    for (int i = 0; i < 64 * 64 * 64; i++) {
        vec3 u = {(float)(i % 64) + 0.5f, (float)(i / 64 % 64) + 0.5f, (float)(i / 4096) + 0.5f};
        vec3 x = vec_add(info.low, vec_scale(vec_mul(u, vec_sub(info.high, info.low)), 1.0f / 64));
        float density = volume_density(v, x);
        sum = vec_add(sum, vec_scale(x, density));
        weight += density;
    }
    return vec_scale(sum, 1 / weight);
}

static void test_shift_moves_along_velocity(void **state)
{
    (void)state;
    snow *s = make_ball(0, 3);
    volume *v, *w;
    assert_int_equal(volume_create(&s->frame, no_shift, NULL, &v), FIRN_OK);
    assert_int_equal(volume_create(&s->frame, no_shift, &(volume_options){.shift = 0.05}, &w),
                     FIRN_OK);
    vec3 way = vec_sub(middle_of(w), middle_of(v));
    assert_true(fabsf(way.x - 0.1f) < 2e-3f && fabsf(way.y) < 2e-3f && fabsf(way.z) < 2e-3f);
    volume_destroy(&v);
    volume_destroy(&w);
    free(s);
}

static void test_flat_frames_become_slabs(void **state)
{
    (void)state;
    snow *s = make_ball(0, 2);
    volume *v;
    assert_int_equal(volume_create(&s->frame, no_shift, &(volume_options){.thickness = 0.04}, &v),
                     FIRN_OK);
    float middle = volume_density(v, (vec3){0, 0, 0});
    assert_true(middle > 50);
    assert_true(fabsf(volume_density(v, (vec3){0, 0, 0.019f}) - middle) < 1e-3f * middle);
    assert_true(volume_density(v, (vec3){0, 0, 0.026f}) == 0);
    assert_true(volume_density(v, (vec3){0, 0, -0.026f}) == 0);
    volume_destroy(&v);
    assert_int_equal(volume_create(&s->frame, no_shift, &(volume_options){.thickness = 1}, &v),
                     FIRN_USAGE);
    free(s);
}

static void test_strays_and_nonsense_are_left_out(void **state)
{
    (void)state;
    snow *s = make_ball(0, 3);
    s->position[0] = NAN;
    s->position[3] = 1e9f;
    s->mass[2] = -1;
    s->mass[3] = INFINITY;
    volume *v;
    assert_int_equal(volume_create(&s->frame, no_shift, NULL, &v), FIRN_OK);
    volume_info info = volume_describe(v);
    assert_int_equal(info.left_out, 4);
    assert_true(info.low.x > -0.3f && info.high.x < 0.3f && isfinite(info.densest));
    volume_destroy(&v);
    s->frame.count = 0;
    assert_int_equal(volume_create(&s->frame, no_shift, NULL, &v), FIRN_OK);
    assert_true(volume_describe(v).empty);
    assert_true(volume_density(v, (vec3){0, 0, 0}) == 0);
    volume_destroy(&v);
    free(s);
}

static void test_options_are_checked(void **state)
{
    (void)state;
    snow *s = make_ball(0, 3);
    const volume_options bad[] = {
        {.voxel_size = -1},  {.voxel_size = NAN}, {.kernel_width = 0.5},
        {.kernel_width = 9}, {.grains = -2},      {.voxel_size = 1e-6},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        volume *v = NULL;
        assert_int_equal(volume_create(&s->frame, no_shift, &bad[i], &v), FIRN_USAGE);
        assert_null(v);
    }
    volume *v = NULL;
    s->frame.mass = NULL;
    assert_int_equal(volume_create(&s->frame, no_shift, NULL, &v), FIRN_BAD_SCENE);
    free(s);
}

/* Through a file and back: the density that particles make on the simulation's grid, everywhere. */
static void test_a_file_is_the_grid_it_came_from(void **state)
{
    (void)state;
    if (!strcmp(vdb_version(), "none"))
        skip();
    const float places[] = {0, -0.2f, 40};
    for (int k = 0; k < 3; k++) {
        snow *s = make_ball(places[k], 3);
        uint64_t id[COUNT] = {0};
        const double origin[3] = {places[k] + 0.003, -0.01, 0.02};
        const firn_export how = {.grids = FIRN_GRID_DENSITY};
        firn_frame read;
        volume *direct, *through;
        s->frame.id = id;
        assert_int_equal(
            firn_frame_export(&s->frame, scratch("ball_0017.vdb"), FIRN_FORMAT_VDB, &how), FIRN_OK);
        assert_int_equal(firn_frame_read_volume(scratch("ball_0017.vdb"), NULL, &read), FIRN_OK);
        assert_true(read.is_grid && read.cell_size == 0.01);
        assert_int_equal(
            volume_create(&s->frame, origin, &(volume_options){.voxel_size = 0.01}, &direct),
            FIRN_OK);
        /* Values that shape particles do not apply to a grid. */
        const volume_options ignored = {.voxel_size = 0.003, .kernel_width = 3, .grains = 8};
        assert_int_equal(volume_create(&read, origin, &ignored, &through), FIRN_OK);
        assert_int_equal(volume_describe(through).left_out, 0);
        trace_random r = random_start(3, 0, 0);
        for (int n = 0; n < 20000; n++) {
            vec3 x = {0.3f * (random_float(&r) - 0.5f), 0.3f * (random_float(&r) - 0.5f),
                      0.3f * (random_float(&r) - 0.5f)};
            float a = volume_density(direct, x), b = volume_density(through, x);
            /* Positions as floats, 40 m away, are 4e-6 m apart: 4e-4 of a cell. */
            assert_true(fabsf(a - b) <= (k == 2 ? 2e-3f : 1e-4f) * volume_describe(direct).densest);
        }
        volume *blurred;
        assert_int_equal(volume_create(&read, origin, &(volume_options){.shift = 0.01}, &blurred),
                         FIRN_BAD_SCENE);
        volume_destroy(&direct);
        volume_destroy(&through);
        firn_frame_clear(&read);
        free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mass_is_kept),
        cmocka_unit_test(test_kernel_is_the_simulations),
        cmocka_unit_test(test_blocks_hold_snow_and_agree),
        cmocka_unit_test(test_no_densities_are_refused),
        cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_shift_moves_along_velocity),
        cmocka_unit_test(test_flat_frames_become_slabs),
        cmocka_unit_test(test_strays_and_nonsense_are_left_out),
        cmocka_unit_test(test_options_are_checked),
        cmocka_unit_test(test_a_file_is_the_grid_it_came_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
