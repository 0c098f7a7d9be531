/* An elastic ball that falls and bounces: the energy of motion, deformation and height together
 * only falls, up to a small bound over the least it has been, at the automatic step. */
#include "physics.h"

static const double GRAVITY[3] = {0, -9.81, 0};

static firn_sim *drop(method m)
{
    return make_sim(
        make_scene(m,
                   "  cell_size: 0.03125\n  fps: 1\n"
                   "materials:\n  rubber: {young_modulus: 1.4e5, poisson_ratio: 0.2, "
                   "density: 400,\n    critical_compression: 0.9, critical_stretch: 0.9}\n"
                   "snow:\n  - shape: {sphere: {center: [0, 0.1, 0], radius: 0.08}}\n"
                   "    material: rubber\n    velocity: [0, -3, 0]\n"
                   "    sampling: {particles_per_cell: %d, method: lattice}\n"
                   "colliders:\n"
                   "  - shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}\n",
                   m.dimensions == 3 ? 8 : 4));
}

static void test_energy(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        firn_sim *sim = drop(methods[k]);
        double least = total_energy(sim, GRAVITY), gained = 0, elastic = 0;
        double unit = stats_of(sim).kinetic_energy;
        while (firn_sim_time(sim) < 0.06) {
            step(sim);
            double energy = total_energy(sim, GRAVITY);
            gained = fmax(gained, energy - least);
            least = fmin(least, energy);
            elastic = fmax(elastic, stats_of(sim).elastic_energy);
        }
        at_most(gained / unit, 1e-3, "%s: energy gained", method_name(methods[k]));
        at_most(0.3, elastic / unit, "%s: energy in its deformation", method_name(methods[k]));
        at_most(1, stats_of(sim).momentum[1] / stats_of(sim).mass, "%s: speed up again, m/s",
                method_name(methods[k]));
        firn_sim_destroy(&sim);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_energy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
