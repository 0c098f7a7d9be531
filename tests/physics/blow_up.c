/* Steps that fail: they leave no trace, are tried again smaller, and end the run only below the floor,
 * with a message that names step, particle, place and what grew. */
#include "physics.h"

/* A ball that is about to hit the ground, with steps of so many times 0.4 cells of a wave. */
static firn_scene *drop_scene(method m, double times, int retries)
{
    double dt = times * 0.4 * 0.02 / 19.72; /* 19.72 m/s: the waves of the snow preset */
    return make_scene(m,
                      "  cell_size: 0.02\n  fps: 0.01\n  time_step: %.17g\n  retries: %d\n"
                      "snow:\n  - shape: {sphere: {center: [0, 0.05, 0], radius: 0.04}}\n"
                      "    material: snow\n    velocity: [0, -1.5, 0]\n"
                      "    sampling: {particles_per_cell: 4}\n"
                      "colliders:\n"
                      "  - shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}\n"
                      "    friction: 0.4\n",
                      dt, retries);
}

static firn_sim *drop(method m, double times, int retries)
{
    return make_sim(drop_scene(m, times, retries));
}

static void assert_runs(firn_sim *sim, int count)
{
    for (int n = 0; n < count; n++)
        if (firn_sim_step(sim) != FIRN_OK)
            fail_msg("%s", firn_last_error());
}

static void assert_same_clouds(const cloud *a, const cloud *b)
{
    assert_int_equal(a->count, b->count);
    for (firn_attribute t = 0; t < FIRN_STATE_ATTRIBUTES; t++)
        assert_memory_equal(a->values[t], b->values[t],
                            a->count * (size_t)firn_attribute_components(t, a->dimensions) *
                                sizeof(double));
}

static void assert_finite(const firn_sim *sim)
{
    cloud c = cloud_of(sim);
    for (firn_attribute t = 0; t < FIRN_STATE_ATTRIBUTES; t++)
        for (size_t k = 0; k < c.count * (size_t)firn_attribute_components(t, c.dimensions); k++)
            assert_true(isfinite(c.values[t][k]));
    cloud_free(&c);
}

/* The message of a run that ended names the step and a particle of it. */
static void assert_report(const firn_sim *sim)
{
    unsigned long long step_named, particle;
    const char *words = strstr(firn_last_error(), "particle ");
    assert_int_equal(sscanf(firn_last_error(), "step %llu", &step_named), 1);
    assert_int_equal(step_named, firn_sim_steps(sim));
    assert_non_null(words);
    assert_int_equal(sscanf(words, "particle %llu", &particle), 1);
    assert_true(particle < firn_sim_particle_count(sim));
}

/* Without retries a step ten times too large ends the run; the particles are those of the last good
 * step, bit for bit, and can be read and saved. */
static void test_without_retries(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        firn_sim *sim = drop(methods[k], 10, 0);
        firn_status status = FIRN_OK;
        cloud before = cloud_of(sim);
        for (int n = 0; n < 2000 && status == FIRN_OK; n++) {
            cloud_free(&before);
            before = cloud_of(sim);
            status = firn_sim_step(sim);
        }
        assert_int_equal(status, FIRN_BLOWUP);
        print_message("    %s: %s\n", method_name(methods[k]), firn_last_error());
        assert_report(sim);
        assert_non_null(strstr(firn_last_error(), "time_step"));
        cloud after = cloud_of(sim);
        assert_same_clouds(&before, &after);
        cloud_free(&before);
        cloud_free(&after);

        double time = firn_sim_time(sim);
        for (int n = 0; n < 2; n++)
            assert_int_equal(firn_sim_step(sim), FIRN_BLOWUP);
        assert_int_equal(firn_sim_advance_frame(sim, NULL, NULL), FIRN_BLOWUP);
        assert_true(firn_sim_time(sim) == time);
        firn_stats stats;
        assert_int_equal(firn_sim_stats(sim, &stats), FIRN_OK);
        const char *path = own_file("blow_up.h5");
        assert_int_equal(firn_sim_save(sim, path), FIRN_OK);
        remove(path);
        firn_sim_destroy(&sim);
        assert_null(sim);
    }
}

/* With them the same run goes on, at smaller steps. */
static void test_with_retries(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        firn_sim *sim = drop(methods[k], 10, 10);
        assert_runs(sim, 200);
        firn_progress p = firn_sim_progress(sim);
        print_message("    %s: %llu retries, dt %.3g to %.3g s\n", method_name(methods[k]),
                      (unsigned long long)p.retries, p.dt_min, p.dt_max);
        assert_true(p.retries > 0);
        assert_true(p.dt_min <= 0.51 * p.dt_max);
        assert_finite(sim);
        firn_sim_destroy(&sim);
    }
}

/* The same scene with the step that the automatic control would take is fine. */
static void test_right_size(void **state)
{
    (void)state;
    for (int k = 0; k < FEW_METHODS; k++) {
        firn_sim *sim = drop(few_methods[k], 1, 0);
        assert_runs(sim, 100);
        assert_int_equal(firn_sim_progress(sim).retries, 0);
        firn_sim_destroy(&sim);
    }
}

/* Three particles far apart, the second of them faster than a cell a step towards a sticky wall. */
static firn_sim *runaway(method m, int retries)
{
    cloud c = cloud_make(m.dimensions, 3);
    cloud_row(&c, FIRN_VELOCITY, 1)[0] = 101;
    for (size_t r = 0; r < 3; r++) {
        cloud_row(&c, FIRN_POSITION, r)[1] = 10 * (double)r;
        *cloud_row(&c, FIRN_MU0, r) = *cloud_row(&c, FIRN_LAMBDA0, r) = 1;
    }
    firn_sim *sim = make_sim_of(
        make_scene(m,
                   "  cell_size: 0.1\n  time_step: 1e-3\n  gravity: [0, 0, 0]\n  retries: %d\n"
                   "colliders:\n"
                   "  - {shape: {plane: {point: [1, 0, 0], normal: [-1, 0, 0]}}, sticky: true}\n",
                   retries),
        &c);
    cloud_free(&c);
    return sim;
}

/* Seen at once, and the culprit is named, where it was. */
static void test_runaway(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        firn_sim *sim = runaway(methods[k], 0);
        assert_int_equal(firn_sim_step(sim), FIRN_BLOWUP);
        print_message("    %s\n", firn_last_error());
        assert_non_null(strstr(firn_last_error(), "step 0 "));
        assert_non_null(strstr(firn_last_error(), "particle 1 at (0, 10, 0)"));
        assert_non_null(strstr(firn_last_error(), "cell"));
        firn_sim_destroy(&sim);
    }
}

/* One halving is enough; when the particle is caught the step comes back to what was asked for. */
static void test_recovery(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        firn_sim *sim = runaway(methods[k], 10);
        step(sim);
        assert_int_equal(firn_sim_progress(sim).retries, 1);
        near_to(firn_sim_time(sim), 0.5e-3, 0.03, "%s: halved step", method_name(methods[k]));
        steps(sim, 60);
        firn_sim_reset_progress(sim);
        steps(sim, 5);
        firn_progress p = firn_sim_progress(sim);
        assert_int_equal(p.retries, 0);
        near_to(p.dt_min, 1e-3, 0.03, "%s: step in the end", method_name(methods[k]));
        firn_sim_destroy(&sim);
    }
}

/* A state from which no step leads on: turned inside out. */
static void test_floor(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        cloud c = cloud_make(methods[k].dimensions, 2);
        cloud_row(&c, FIRN_POSITION, 1)[0] = 10;
        cloud_row(&c, FIRN_F_E, 1)[0] = -1;
        firn_sim *sim = make_sim_of(
            make_scene(methods[k], "  cell_size: 0.1\n  time_step: 1e-5\n  retries: 5\n"), &c);
        cloud_free(&c);
        assert_int_equal(firn_sim_step(sim), FIRN_BLOWUP);
        print_message("    %s: %s\n", method_name(methods[k]), firn_last_error());
        assert_report(sim);
        assert_non_null(strstr(firn_last_error(), "particle 1 at (10, 0, 0)"));
        assert_non_null(strstr(firn_last_error(), "J_P"));
        assert_non_null(strstr(firn_last_error(), "halved"));
        assert_true(firn_sim_progress(sim).retries >= 4);
        assert_finite(sim);
        firn_sim_destroy(&sim);
    }
}

/* Waves so fast that no run can be meant: told, not begun. */
static void test_endless(void **state)
{
    (void)state;
    cloud c = cloud_make(2, 2);
    cloud_row(&c, FIRN_POSITION, 1)[0] = 10;
    *cloud_row(&c, FIRN_MU0, 1) = 1e30;
    firn_sim *sim = make_sim_of(
        make_scene((method){2, "cubic", APIC}, "  cell_size: 0.1\n  rest_volume: sampled\n"), &c);
    cloud_free(&c);
    assert_int_equal(firn_sim_step(sim), FIRN_BLOWUP);
    print_message("    %s\n", firn_last_error());
    assert_report(sim);
    assert_non_null(strstr(firn_last_error(), "particle 1 at (10, 0, 0)"));
    assert_non_null(strstr(firn_last_error(), "less than 1e-12 s"));
    firn_sim_destroy(&sim);
}

/* Stopped on the way back to full steps, a run resumes to the same bits. */
static void test_resume(void **state)
{
    (void)state;
    const char *path = own_file("blow_up_resume.h5");
    for (int k = 0; k < FEW_METHODS; k++) {
        firn_sim *whole = drop(few_methods[k], 10, 10);
        uint64_t before = 0;
        do {
            before = firn_sim_progress(whole).retries;
            step(whole);
        } while (firn_sim_progress(whole).retries == before);
        assert_int_equal(firn_sim_save(whole, path), FIRN_OK);
        firn_scene *scene = drop_scene(few_methods[k], 10, 10);
        firn_sim_options chosen = backend_options();
        firn_sim *resumed;
        assert_int_equal(firn_sim_create_from_checkpoint(scene, &chosen, path, &resumed), FIRN_OK);
        firn_scene_destroy(&scene);
        steps(whole, 30);
        steps(resumed, 30);
        assert_true(firn_sim_time(whole) == firn_sim_time(resumed));
        cloud a = cloud_of(whole), b = cloud_of(resumed);
        assert_same_clouds(&a, &b);
        cloud_free(&a);
        cloud_free(&b);
        firn_sim_destroy(&resumed);
        firn_sim_destroy(&whole);
        remove(path);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_retries), cmocka_unit_test(test_with_retries),
        cmocka_unit_test(test_right_size),      cmocka_unit_test(test_runaway),
        cmocka_unit_test(test_recovery),        cmocka_unit_test(test_floor),
        cmocka_unit_test(test_endless),         cmocka_unit_test(test_resume),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
