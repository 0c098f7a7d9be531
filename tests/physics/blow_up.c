/* A fixed step ten times too large: the run ends in FIRN_BLOWUP with a message that names step and
 * particle, and the simulation can then only be read and destroyed. */
#include "physics.h"

/* A ball that is about to hit the ground, with steps of 10 cfl cells of a wave. */
static firn_sim *drop(method m, double times)
{
    double dt = times * 0.4 * 0.02 / 19.72; /* 19.72 m/s: the waves of the snow preset */
    return make_sim(make_scene(m,
                               "  cell_size: 0.02\n  fps: 0.01\n  time_step: %.17g\n"
                               "snow:\n  - shape: {sphere: {center: [0, 0.05, 0], radius: 0.04}}\n"
                               "    material: snow\n    velocity: [0, -1.5, 0]\n"
                               "    sampling: {particles_per_cell: 4}\n"
                               "colliders:\n"
                               "  - shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}\n"
                               "    friction: 0.4\n",
                               dt));
}

static firn_status run(firn_sim *sim, int count)
{
    firn_status status = FIRN_OK;
    for (int n = 0; n < count && status == FIRN_OK; n++)
        status = firn_sim_step(sim);
    return status;
}

static void test_too_large(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        firn_sim *sim = drop(methods[k], 10);
        assert_int_equal(run(sim, 2000), FIRN_BLOWUP);
        print_message("    %s: %s\n", method_name(methods[k]), firn_last_error());

        unsigned long long step_named, particle;
        const char *words = strstr(firn_last_error(), "particle ");
        assert_int_equal(sscanf(firn_last_error(), "step %llu", &step_named), 1);
        assert_int_equal(step_named, firn_sim_steps(sim));
        assert_non_null(words);
        assert_int_equal(sscanf(words, "particle %llu", &particle), 1);
        assert_true(particle < firn_sim_particle_count(sim));
        assert_non_null(strstr(firn_last_error(), "time_step"));

        cloud c = cloud_of(sim);
        assert_true(*cloud_row(&c, FIRN_MASS, 0) > 0);
        cloud_free(&c);
        double time = firn_sim_time(sim);
        for (int n = 0; n < 2; n++)
            assert_int_equal(firn_sim_step(sim), FIRN_BLOWUP);
        assert_int_equal(firn_sim_advance_frame(sim, NULL, NULL), FIRN_BLOWUP);
        assert_int_equal(firn_sim_save(sim, "blow_up.h5"), FIRN_BLOWUP);
        assert_null(fopen("blow_up.h5", "r"));
        assert_true(firn_sim_time(sim) == time);
        firn_stats stats;
        assert_int_equal(firn_sim_stats(sim, &stats), FIRN_OK);
        firn_sim_destroy(&sim);
        assert_null(sim);
    }
}

/* The same scene with the step that the automatic control would take is fine. */
static void test_right_size(void **state)
{
    (void)state;
    for (int k = 0; k < FEW_METHODS; k++) {
        firn_sim *sim = drop(few_methods[k], 1);
        assert_int_equal(run(sim, 100), FIRN_OK);
        firn_sim_destroy(&sim);
    }
}

/* Faster than a cell a step: seen at once, and the culprit is named. */
static void test_runaway(void **state)
{
    (void)state;
    for (int d = 2; d <= 3; d++) {
        cloud c = cloud_make(d, 3);
        cloud_row(&c, FIRN_VELOCITY, 1)[0] = 101;
        for (size_t r = 0; r < 3; r++)
            cloud_row(&c, FIRN_POSITION, r)[1] = 10 * (double)r;
        firn_sim *sim = make_sim_of(
            make_scene((method){d, "cubic", APIC}, "  cell_size: 0.1\n  time_step: 1e-3\n"), &c);
        assert_int_equal(firn_sim_step(sim), FIRN_BLOWUP);
        print_message("    %s\n", firn_last_error());
        assert_non_null(strstr(firn_last_error(), "step 0 "));
        assert_non_null(strstr(firn_last_error(), "particle 1 "));
        assert_non_null(strstr(firn_last_error(), "cell"));
        firn_sim_destroy(&sim);
        cloud_free(&c);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_right_size),
        cmocka_unit_test(test_runaway),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
