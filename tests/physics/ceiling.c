/* Snow under a ceiling: a sticky one holds it, by its own strength; one of any friction lets it
 * go, and it falls as if nothing were there. */
#include "physics.h"

static const double G = 9.81;

/* A block of 4 cells hangs from y = 0: its weight pulls at it with 314 Pa, a third of what it
 * bears. */
static firn_sim *hang(method m, const char *ceiling)
{
    return make_sim(make_scene(m,
                               "  cell_size: 0.02\n  fps: 1\n"
                               "snow:\n  - shape: {box: {center: [0, -0.04, 0], size: [0.08, 0.08, "
                               "0.04]}}\n    material: snow\n"
                               "    sampling: {particles_per_cell: %d, method: lattice}\n"
                               "colliders:\n  - shape: {plane: {point: [0, 0, 0], normal: [0, -1, "
                               "0]}}\n    %s\n",
                               m.dimensions == 3 ? 8 : 4, ceiling));
}

static void test_sticky_holds(void **state)
{
    (void)state;
    for (int k = 0; k < FEW_METHODS; k++) {
        firn_sim *sim = hang(few_methods[k], "sticky: true");
        double start = mean_of(sim, FIRN_POSITION, 1);
        advance_to(sim, 0.15);
        at_most((start - mean_of(sim, FIRN_POSITION, 1)) / 0.02, 0.05, "%s: cells it sank",
                method_name(few_methods[k]));
        firn_sim_destroy(&sim);
    }
}

static void test_friction_drops(void **state)
{
    (void)state;
    for (int k = 0; k < FEW_METHODS; k++) {
        firn_sim *sim = hang(few_methods[k], "friction: 100");
        double start = mean_of(sim, FIRN_POSITION, 1), v = 0, fall = 0;
        while (firn_sim_time(sim) < 0.1) {
            double before = firn_sim_time(sim);
            step(sim);
            v += G * (firn_sim_time(sim) - before);
            fall += v * (firn_sim_time(sim) - before);
        }
        near_to(start - mean_of(sim, FIRN_POSITION, 1), fall, precision_of(sim).path, "%s: fall",
                method_name(few_methods[k]));
        firn_sim_destroy(&sim);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sticky_holds),
        cmocka_unit_test(test_friction_drops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
