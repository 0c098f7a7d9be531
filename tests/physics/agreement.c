/* The fast backend against the reference, and against itself: any number of threads, any instruction
 * set, any place in space. */
#include "physics.h"

/* A ball that hits the ground at 5 m/s, 0.8 of a cell above it. */
static firn_scene *impact(method m)
{
    const char *z = m.dimensions == 3 ? ", 0" : "";
    return make_scene(m,
                      "  cell_size: 0.02\n  time_step: 1e-4\n"
                      "  gravity: [0, -9.81%s]\n"
                      "snow:\n"
                      "  - shape: {sphere: {center: [0, 0.116%s], radius: 0.1}}\n"
                      "    velocity: [0.5, -5%s]\n"
                      "colliders:\n"
                      "  - {shape: {plane: {point: [0, 0%s], normal: [0, 1%s]}}, friction: 0.4}\n",
                      z, z, z, z, z);
}

static const char *tested; /* the backend */

static bool is_cpu(void)
{
    return strcmp(tested, "cpu") == 0;
}

/* The impact after so many steps, all of it moved along x by `shift`. */
static firn_sim *run(method m, double shift, const char *backend, int threads, int count)
{
    firn_scene *scene = impact(m);
    cloud c = sample_scene(scene);
    for (size_t r = 0; r < c.count; r++)
        cloud_row(&c, FIRN_POSITION, r)[0] += shift;
    use_options((firn_sim_options){.backend = backend, .threads = threads});
    firn_sim *sim = make_sim_of(scene, &c);
    cloud_free(&c);
    steps(sim, count);
    return sim;
}

/* The largest difference of positions, b's moved back by `shift`. */
static double farthest_apart(const firn_sim *a, const firn_sim *b, double shift)
{
    cloud x = cloud_of(a), y = cloud_of(b);
    assert_int_equal(x.count, y.count);
    double worst = 0;
    for (size_t r = 0; r < x.count; r++)
        for (int k = 0; k < x.dimensions; k++)
            worst = fmax(worst, fabs(cloud_row(&x, FIRN_POSITION, r)[k] -
                                     (cloud_row(&y, FIRN_POSITION, r)[k] - (k == 0 ? shift : 0))));
    cloud_free(&x);
    cloud_free(&y);
    return worst;
}

/* Positions within 1e-4 of the ball's size after 200 steps of the impact, 80 for some, for every instruction
 * set. */
static void test_reference(void **state)
{
    (void)state;
    const char *const sets[] = {is_cpu() ? "avx512" : tested, "avx2", "portable"};
    for (int k = 0; k < METHODS; k++) {
        int count = k < MOST_METHODS ? 200 : 80;
        firn_sim *ref = run(methods[k], 0, "ref", 1, count), *widest = NULL;
        for (int i = 0; i < (is_cpu() ? 3 : 1); i++) {
            if (is_cpu())
                setenv("FIRN_ISA", sets[i], 1);
            if (!strstr(firn_features(), sets[i])) {
                print_message("    %s: not on this processor\n", sets[i]);
                continue;
            }
            firn_sim *fast = run(methods[k], 0, tested, 2, count);
            firn_stats stats = stats_of(fast);
            assert_true(stats.J_P_min < 0.99); /* it did hit */
            at_most(farthest_apart(ref, fast, 0) / 0.1, 1e-4, "%s, %s: from the reference",
                    method_name(methods[k]), sets[i]);
            if (widest)
                print_message("    %s: %s the bits of the widest set\n", sets[i],
                              same_bits(widest, fast) ? "also" : "not");
            else
                widest = fast;
            if (widest != fast)
                firn_sim_destroy(&fast);
        }
        unsetenv("FIRN_ISA");
        firn_sim_destroy(&widest);
        firn_sim_destroy(&ref);
    }
}

static void test_threads(void **state)
{
    (void)state;
    if (!is_cpu())
        skip();
    for (int k = 0; k < MOST_METHODS; k++) {
        firn_sim *one = run(methods[k], 0, "cpu", 1, 100);
        for (int threads = 2; threads <= 7; threads += threads == 3 ? 4 : 1) {
            firn_sim *many = run(methods[k], 0, "cpu", threads, 100);
            assert_true(same_bits(one, many));
            firn_sim_destroy(&many);
        }
        firn_sim_destroy(&one);
    }
}

/* 100 km from the origin a cell of 2 cm is as good as at home: 5e6 cells, a whole number of blocks. The GPU
 * numbers 2^22 each way: 80 km. */
static void test_far_away(void **state)
{
    (void)state;
    for (int k = 0; k < FEW_METHODS; k++) {
        double shift = 0.02 * 4 * (is_cpu() ? 1250000 : 1000000);
        firn_sim *home = run(few_methods[k], 0, tested, 1, 200);
        firn_sim *away = run(few_methods[k], shift, tested, 1, 200);
        at_most(farthest_apart(home, away, shift) / 0.1, 1e-3, "%s: %g km away",
                method_name(few_methods[k]), shift / 1000);
        firn_sim_destroy(&home);
        firn_sim_destroy(&away);
    }
}

/* Mass stays exactly; momentum to float rounding over 10,000 steps of a shaken, free block. */
static void test_long_run(void **state)
{
    (void)state;
    use_options((firn_sim_options){.backend = tested});
    for (int k = 0; k < FEW_METHODS; k++) {
        method m = few_methods[k];
        firn_scene *scene =
            make_scene(m,
                       "  cell_size: 0.1\n  time_step: 2e-4\n  gravity: [0, 0%s]\n"
                       "snow:\n"
                       "  - shape: {sphere: {center: [0, 0%s], radius: 0.25}}\n"
                       "    velocity: [2, -1%s]\n",
                       m.dimensions == 3 ? ", 0" : "", m.dimensions == 3 ? ", 0" : "",
                       m.dimensions == 3 ? ", 0" : "");
        cloud c = sample_scene(scene);
        for (size_t r = 0; r < c.count; r++)
            for (int a = 0; a < c.dimensions; a++)
                cloud_row(&c, FIRN_VELOCITY, r)[a] += 0.1 * noise(3 * r + (size_t)a);
        firn_sim *sim = make_sim_of(scene, &c);
        cloud_free(&c);
        firn_stats before = stats_of(sim);
        steps(sim, 10000);
        firn_stats after = stats_of(sim);
        assert_true(after.mass == before.mass);
        for (int a = 0; a < 2; a++)
            near_to(after.momentum[a], before.momentum[a], precision_of(sim).long_sum,
                    "%s: momentum %d", method_name(m), a);
        firn_sim_destroy(&sim);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    tested = backend_options().backend;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_far_away),
        cmocka_unit_test(test_long_run),
    };
    return cmocka_run_group_tests_name("agreement", tests, NULL, NULL);
}
