/* Particles given as arrays: defaults for those left out, and refusal of what cannot be
 * simulated, with the row and the name of the value. */
#include "firn/still.h"
#include "physics.h"

enum { COUNT = 5 };

static firn_scene *scene_of(int d)
{
    return make_scene((method){d, "cubic", APIC}, "  cell_size: 0.1\n  gravity: [0, 0, 0]\n");
}

/* Particles that are fine; `id` and the bare minimum of arrays. */
static firn_particles bare(const cloud *c, const uint64_t *ids)
{
    return (firn_particles){.count = c->count,
                            .id = ids,
                            .position = c->values[FIRN_POSITION],
                            .mass = c->values[FIRN_MASS],
                            .volume = c->values[FIRN_VOLUME]};
}

static void refused(int d, const firn_particles *particles, firn_status status, const char *words,
                    const char *value)
{
    firn_scene *scene = scene_of(d);
    firn_sim *sim = (firn_sim *)scene; /* must be overwritten */
    firn_sim_options options = backend_options();
    assert_int_equal(firn_sim_create_from_particles(scene, &options, particles, &sim), status);
    assert_null(sim);
    print_message("    %s\n", firn_last_error());
    if (!strstr(firn_last_error(), words) || !strstr(firn_last_error(), value))
        fail_msg("'%s' and '%s' are not in: %s", words, value, firn_last_error());
    firn_scene_destroy(&scene);
}

static void test_bad_values(void **state)
{
    (void)state;
    const struct {
        firn_attribute attribute;
        double value;
        const char *words;
    } cases[] = {
        {FIRN_POSITION, NAN, "finite"},
        {FIRN_POSITION, INFINITY, "finite"},
        {FIRN_VELOCITY, NAN, "finite"},
        {FIRN_MASS, 0, "positive"},
        {FIRN_MASS, -1, "positive"},
        {FIRN_MASS, NAN, "positive"},
        {FIRN_VOLUME, 0, "positive"},
        {FIRN_F_E, -INFINITY, "finite"},
        {FIRN_J_P, 0, "positive"},
        {FIRN_J_P, -0.5, "positive"},
        {FIRN_B, NAN, "finite"},
        {FIRN_MU0, NAN, "positive"},
        {FIRN_MU0, -1, "positive"},
        {FIRN_LAMBDA0, NAN, "finite"},
        {FIRN_HARDENING, INFINITY, "0 or more"},
        {FIRN_HARDENING, -1, "0 or more"},
        {FIRN_THETA_C, NAN, "below 1"},
        {FIRN_THETA_C, 1, "below 1"},
        {FIRN_THETA_S, NAN, "0 or more"},
        {FIRN_THETA_S, -0.1, "0 or more"},
    };
    for (int d = 2; d <= 3; d++)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            cloud c = cloud_make(d, COUNT);
            firn_attribute a = cases[k].attribute;
            cloud_row(&c, a, 3)[firn_attribute_components(a, d) - 1] = cases[k].value;
            firn_particles p = bare(&c, NULL);
            p.velocity = c.values[FIRN_VELOCITY];
            p.F_E = c.values[FIRN_F_E];
            p.J_P = c.values[FIRN_J_P];
            p.B = c.values[FIRN_B];
            p.mu0 = c.values[FIRN_MU0];
            p.lambda0 = c.values[FIRN_LAMBDA0];
            p.hardening = c.values[FIRN_HARDENING];
            p.theta_c = c.values[FIRN_THETA_C];
            p.theta_s = c.values[FIRN_THETA_S];
            char row[64];
            snprintf(row, sizeof row, "particle row 3: %s is", firn_attribute_name(a));
            refused(d, &p, FIRN_BAD_SCENE, row, cases[k].words);
            cloud_free(&c);
        }
}

static void test_bad_ids(void **state)
{
    (void)state;
    cloud c = cloud_make(3, COUNT);
    const uint64_t repeated[COUNT] = {1, 2, 2, 3, 4}, falling[COUNT] = {1, 2, 3, 9, 4};
    firn_particles p = bare(&c, repeated);
    refused(3, &p, FIRN_BAD_SCENE, "particle row 2", "ids");
    p = bare(&c, falling);
    refused(3, &p, FIRN_BAD_SCENE, "particle row 4", "ids");
    cloud_free(&c);
}

static void test_missing_arrays(void **state)
{
    (void)state;
    cloud c = cloud_make(2, COUNT);
    firn_particles p = bare(&c, NULL);
    p.position = NULL;
    refused(2, &p, FIRN_USAGE, "position", "mass");
    p = bare(&c, NULL);
    p.mass = NULL;
    refused(2, &p, FIRN_USAGE, "mass", "volume");
    p = bare(&c, NULL);
    p.volume = NULL;
    refused(2, &p, FIRN_USAGE, "mass", "volume");
    cloud_free(&c);
}

/* Ids may have gaps; what is left out is at rest, undeformed and of the snow preset. */
static void test_defaults(void **state)
{
    (void)state;
    for (int d = 2; d <= 3; d++) {
        cloud c = cloud_make(d, COUNT);
        for (size_t k = 0; k < COUNT * (size_t)d; k++)
            c.values[FIRN_POSITION][k] = 0.25 * (double)k;
        const uint64_t ids[COUNT] = {3, 5, 8, 1000, UINT64_MAX};
        const uint32_t objects[COUNT] = {0, 0, 1, 1, 2};
        firn_particles p = bare(&c, ids);
        p.object = objects;
        firn_scene *scene = scene_of(d);
        firn_sim *sim;
        firn_sim_options options = backend_options();
        assert_int_equal(firn_sim_create_from_particles(scene, &options, &p, &sim), FIRN_OK);
        cloud back = cloud_of(sim);
        double E = 1.4e5, nu = 0.2;
        const double scalars[][2] = {{FIRN_J_P, 1},
                                     {FIRN_MU0, E / (2 * (1 + nu))},
                                     {FIRN_LAMBDA0, E * nu / ((1 + nu) * (1 - 2 * nu))},
                                     {FIRN_HARDENING, 10},
                                     {FIRN_THETA_C, 2.5e-2},
                                     {FIRN_THETA_S, 7.5e-3}};
        for (size_t r = 0; r < COUNT; r++) {
            for (size_t k = 0; k < sizeof scalars / sizeof *scalars; k++)
                assert_true(
                    fabs(*cloud_row(&back, (firn_attribute)scalars[k][0], r) / scalars[k][1] - 1) <
                    precision_of(sim).formula);
            for (int k = 0; k < d * d; k++) {
                assert_true(cloud_row(&back, FIRN_F_E, r)[k] == (k % (d + 1) == 0));
                assert_true(cloud_row(&back, FIRN_B, r)[k] == 0);
            }
            for (int k = 0; k < d; k++) {
                assert_true(cloud_row(&back, FIRN_VELOCITY, r)[k] == 0);
                assert_true(cloud_row(&back, FIRN_POSITION, r)[k] ==
                            cloud_row(&c, FIRN_POSITION, r)[k]);
            }
        }
        step(sim);
        assert_memory_equal(firn_sim_ids(sim), ids, sizeof ids);
        assert_memory_equal(firn_sim_objects(sim), objects, sizeof objects);
        cloud_free(&back);
        cloud_free(&c);
        firn_sim_destroy(&sim);
        firn_scene_destroy(&scene);
    }
}

/* No particles at all: time still passes. */
static void test_none(void **state)
{
    (void)state;
    cloud c = cloud_make(3, 1);
    c.count = 0;
    firn_sim *sim = make_sim_of(scene_of(3), &c);
    assert_int_equal(firn_sim_advance_frame(sim, NULL, NULL), FIRN_OK);
    assert_true(firn_sim_time(sim) == 1 / 24.0);
    assert_true(stats_of(sim).mass == 0);
    firn_sim_destroy(&sim);
    cloud_free(&c);
}

/* Reading past the end is refused. */
static void test_reading(void **state)
{
    (void)state;
    cloud c = cloud_make(3, COUNT);
    firn_sim *sim = make_sim_of(scene_of(3), &c);
    double out[3 * COUNT];
    assert_int_equal(firn_sim_read(sim, FIRN_POSITION, 0, COUNT, out), FIRN_OK);
    assert_int_equal(firn_sim_read(sim, FIRN_POSITION, 1, COUNT, out), FIRN_USAGE);
    assert_int_equal(firn_sim_read(sim, FIRN_POSITION, SIZE_MAX, 2, out), FIRN_USAGE);
    assert_int_equal(firn_sim_read(sim, FIRN_ATTRIBUTES, 0, 1, out), FIRN_USAGE);
    firn_sim_destroy(&sim);
    cloud_free(&c);
}

/* A block that meets the ground, some steps on. */
static firn_sim *block_under_way(int d)
{
    firn_sim *sim = make_sim(make_scene(
        (method){d, "cubic", APIC},
        "  cell_size: 0.05\n"
        "snow: [{shape: {box: {center: [0, 0.16, 0], size: [0.3, 0.3, 0.3]}},\n"
        "        velocity: [0.5, -4, 0]}]\n"
        "colliders: [{shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}, friction: 0.4}]\n"));
    steps(sim, 25);
    return sim;
}

static void assert_same_particles(const firn_sim *a, const firn_sim *b)
{
    cloud x = cloud_of(a), y = cloud_of(b);
    for (firn_attribute k = 0; k < FIRN_STATE_ATTRIBUTES; k++) {
        size_t width = (size_t)firn_attribute_components(k, x.dimensions);
        assert_memory_equal(x.values[k], y.values[k], x.count * width * sizeof(double));
    }
    cloud_free(&x);
    cloud_free(&y);
}

/* Changes in the middle of a run: values that were there already change no bit of what follows,
 * others do what they say, and refused ones do nothing. */
static void test_changes(void **state)
{
    (void)state;
    for (int d = 2; d <= 3; d++) {
        firn_sim *sim = block_under_way(d), *plain = block_under_way(d);
        cloud c = cloud_of(sim);
        firn_particles same = {
            .count = c.count, .position = c.values[FIRN_POSITION], .B = c.values[FIRN_B]};
        assert_int_equal(firn_sim_set_particles(sim, &same), FIRN_OK);
        steps(sim, 10);
        steps(plain, 10);
        assert_same_particles(sim, plain);
        assert_true(firn_sim_time(sim) == firn_sim_time(plain));

        firn_particles short_of_one = {.count = c.count - 1, .J_P = c.values[FIRN_J_P]};
        assert_int_equal(firn_sim_set_particles(sim, &short_of_one), FIRN_USAGE);
        firn_particles with_ids = {.count = c.count, .id = firn_sim_ids(plain)};
        assert_int_equal(firn_sim_set_particles(sim, &with_ids), FIRN_USAGE);
        c.values[FIRN_J_P][1] = -1;
        firn_particles bad = {
            .count = c.count, .J_P = c.values[FIRN_J_P], .mass = c.values[FIRN_VOLUME]};
        assert_int_equal(firn_sim_set_particles(sim, &bad), FIRN_BAD_SCENE);
        c.values[FIRN_POSITION][0] = 1e300; /* finite, but farther than a grid reaches */
        firn_particles far = {.count = c.count, .position = c.values[FIRN_POSITION]};
        if (!firn_sim_is_double(sim))
            assert_int_equal(firn_sim_set_particles(sim, &far), FIRN_BAD_SCENE);
        assert_same_particles(sim, plain);

        uint32_t *objects = calloc(c.count, sizeof *objects);
        objects[1] = 7;
        for (size_t r = 0; r < c.count; r++)
            cloud_row(&c, FIRN_VELOCITY, r)[0] = 2;
        firn_particles faster = {
            .count = c.count, .velocity = c.values[FIRN_VELOCITY], .object = objects};
        assert_int_equal(firn_sim_set_particles(sim, &faster), FIRN_OK);
        assert_true(fabs(mean_of(sim, FIRN_VELOCITY, 0) - 2) < 1e-6);
        assert_int_equal(firn_sim_objects(sim)[1], 7);
        free(objects);
        cloud_free(&c);
        firn_sim_destroy(&sim);
        firn_sim_destroy(&plain);
    }
}

/* A copy keeps what it was made of while the simulation goes on, and after it has sorted its particles. */
static void test_still(void **state)
{
    (void)state;
    for (int d = 2; d <= 3; d++) {
        firn_sim *sim = make_sim(make_scene(
            (method){d, "quadratic", APIC},
            "  cell_size: 0.05\n"
            "snow:\n  - shape: {box: {center: [0, 0.5, 0], size: [0.2, 0.2, 0.2]}}\n"
            "    sampling: {method: lattice, particles_per_cell: 4}\n    velocity: [1, -4, 0]\n"));
        for (int steps = 0; steps < 8; steps += 7) {
            while (firn_sim_steps(sim) < (uint64_t)steps)
                assert_int_equal(firn_sim_step(sim), FIRN_OK);
            firn_sim *still = NULL;
            cloud before = cloud_of(sim);
            const double time = firn_sim_time(sim);
            assert_int_equal(firn_sim_freeze(sim, &still), FIRN_OK);
            assert_true((still != NULL) == !strcmp(firn_sim_backend(sim), "cuda"));
            for (int n = 0; n < 60; n++)
                assert_int_equal(firn_sim_step(sim), FIRN_OK);
            if (still) {
                cloud after = cloud_of(still), moved = cloud_of(sim);
                assert_true(firn_sim_time(still) == time);
                for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES; a++)
                    assert_memory_equal(after.values[a], before.values[a],
                                        before.count * sizeof(double) *
                                            (size_t)firn_attribute_components(a, d));
                assert_memory_not_equal(moved.values[FIRN_POSITION], before.values[FIRN_POSITION],
                                        before.count * sizeof(double) * (size_t)d);
                assert_int_equal(firn_sim_step(still), FIRN_USAGE);
                cloud_free(&after);
                cloud_free(&moved);
            }
            firn_sim_destroy(&still);
            cloud_free(&before);
        }
        firn_sim_destroy(&sim);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_values),     cmocka_unit_test(test_bad_ids),
        cmocka_unit_test(test_missing_arrays), cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_none),           cmocka_unit_test(test_reading),
        cmocka_unit_test(test_changes),        cmocka_unit_test(test_still),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
