/* The same scene twice gives the same bits, through an impact, in every attribute. */
#include "physics.h"

static firn_sim *drop(method m)
{
    return make_sim(make_scene(m,
                               "  cell_size: 0.02\n  fps: 100\n"
                               "snow:\n  - shape: {sphere: {center: [0, 0.05, 0], radius: 0.04}}\n"
                               "    material: snow\n    velocity: [1, -3, 0]\n"
                               "colliders:\n"
                               "  - shape: {plane: {point: [0, 0, 0], normal: [0.2, 1, 0]}}\n"
                               "    friction: 0.3\n"));
}

static void test_twice(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        firn_sim *a = drop(methods[k]), *b = drop(methods[k]);
        steps(a, 40);
        firn_stats stats = stats_of(a); /* looking does not disturb */
        for (int n = 0; n < 40; n++) {
            step(b);
            stats_of(b);
        }
        assert_true(firn_sim_time(a) == firn_sim_time(b));
        assert_true(stats.J_P_min != 1);
        cloud ca = cloud_of(a), cb = cloud_of(b);
        assert_int_equal(ca.count, cb.count);
        for (firn_attribute t = 0; t < FIRN_STATE_ATTRIBUTES; t++)
            assert_memory_equal(ca.values[t], cb.values[t],
                                ca.count * (size_t)firn_attribute_components(t, ca.dimensions) *
                                    sizeof(double));
        cloud_free(&ca);
        cloud_free(&cb);
        firn_sim_destroy(&a);
        firn_sim_destroy(&b);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
