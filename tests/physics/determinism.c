/* The same scene twice gives the same bits, through an impact, in every attribute. */
#include "physics.h"

static firn_sim *drop_with(method m, const char *lines)
{
    return make_sim(make_scene(m,
                               "  cell_size: 0.02\n%s"
                               "snow:\n  - shape: {sphere: {center: [0, 0.05, 0], radius: 0.04}}\n"
                               "    material: snow\n    velocity: [1, -3, 0]\n"
                               "colliders:\n"
                               "  - shape: {plane: {point: [0, 0, 0], normal: [0.2, 1, 0]}}\n"
                               "    friction: 0.3\n",
                               lines));
}

static firn_sim *drop(method m)
{
    return drop_with(m, "  fps: 100\n");
}

/* Bodies that move: a wall pushes a block over the ground under a drum that turns. */
static firn_sim *push_with(method m, const char *lines)
{
    return make_sim(make_scene(
        m,
        "  cell_size: 0.02\n%s"
        "snow:\n  - shape: {box: {center: [0, 0.05, 0], size: [0.16, 0.1, 0.08]}}\n"
        "    material: snow\n"
        "colliders:\n"
        "  - {shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}, friction: 0.3}\n"
        "  - shape: {box: {center: [-0.14, 0.05, 0], size: [0.1, 0.2, 0.4]}}\n"
        "    velocity: [2, 0, 0]\n"
        "  - shape: {cylinder: {from: [0.06, 0.15, -1], to: [0.06, 0.15, 1], radius: 0.06}}\n"
        "    friction: 0.5\n    velocity: [0, -0.5, 0]\n    angular_velocity: [0, 0, -600]\n",
        lines));
}

static void assert_same(const firn_sim *a, const firn_sim *b)
{
    assert_int_equal(firn_sim_steps(a), firn_sim_steps(b));
    assert_int_equal(firn_sim_frame(a), firn_sim_frame(b));
    assert_true(firn_sim_time(a) == firn_sim_time(b));
    cloud ca = cloud_of(a), cb = cloud_of(b);
    assert_int_equal(ca.count, cb.count);
    for (firn_attribute t = 0; t < FIRN_STATE_ATTRIBUTES; t++)
        assert_memory_equal(ca.values[t], cb.values[t],
                            ca.count * (size_t)firn_attribute_components(t, ca.dimensions) *
                                sizeof(double));
    cloud_free(&ca);
    cloud_free(&cb);
}

static void test_twice(void **state)
{
    (void)state;
    for (int k = 0; k < MOST_METHODS; k++) {
        firn_sim *a = drop(methods[k]), *b = drop(methods[k]);
        steps(a, 40);
        firn_stats stats = stats_of(a); /* looking does not disturb */
        for (int n = 0; n < 40; n++) {
            step(b);
            stats_of(b);
        }
        assert_true(stats.J_P_min != 1);
        assert_same(a, b);
        firn_sim_destroy(&a);
        firn_sim_destroy(&b);
    }
}

/* One by one, as many at once as the backend likes, or a few: the same bits and the same choices, over
 * frames, and where steps fail and are taken again. */
static void check_at_once(firn_sim *make(method, const char *), method m, const char *lines)
{
    enum { STEPS = 150 };
    firn_sim *one = make(m, lines), *all = make(m, lines), *some = make(m, lines);
    for (int n = 0; n < STEPS; n++)
        step(one);
    steps(all, STEPS);
    for (int n = 0; n < STEPS / 3; n++)
        steps(some, 3);
    assert_same(one, all);
    assert_same(one, some);
    firn_progress a = firn_sim_progress(one), b = firn_sim_progress(all);
    print_message("    %s: %llu steps, %llu retries, dt %.3g to %.3g s, frame %d\n", method_name(m),
                  (unsigned long long)b.steps, (unsigned long long)b.retries, b.dt_min, b.dt_max,
                  firn_sim_frame(all));
    assert_int_equal(a.steps, b.steps);
    assert_int_equal(a.retries, b.retries);
    assert_true(a.dt_min == b.dt_min && a.dt_max == b.dt_max);
    firn_sim_destroy(&one);
    firn_sim_destroy(&all);
    firn_sim_destroy(&some);
}

static bool likes_many(void) /* other backends take one step after the other, whoever asks */
{
    return strcmp(backend_options().backend, "cuda") == 0;
}

static void test_at_once_2d(void **state)
{
    (void)state;
    for (int k = 0; k < MOST_METHODS && likes_many(); k++)
        if (methods[k].dimensions == 2)
            check_at_once(drop_with, methods[k], "  fps: 300\n");
}

static void test_at_once_3d(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS && likes_many(); k++)
        if (methods[k].dimensions == 3)
            check_at_once(drop_with, methods[k], "  fps: 300\n");
}

static void test_at_once_with_failures(void **state)
{
    (void)state;
    for (int k = 0; k < FEW_METHODS; k++) {
        check_at_once(drop_with, few_methods[k], "  fps: 10\n  time_step: 0.002\n  retries: 20\n");
        check_at_once(drop_with, few_methods[k], "  fps: 300\n  integrator: {type: auto}\n");
    }
}

static void test_at_once_among_bodies(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k += k < 12 ? 4 : 3) { /* flip, flip, apic, mls, mls */
        check_at_once(push_with, methods[k], "  fps: 300\n");
        check_at_once(push_with, methods[k], "  fps: 20\n  time_step: 0.002\n  retries: 20\n");
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twice),
        cmocka_unit_test(test_at_once_2d),
        cmocka_unit_test(test_at_once_3d),
        cmocka_unit_test(test_at_once_with_failures),
        cmocka_unit_test(test_at_once_among_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
