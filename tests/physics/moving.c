/*
 * Bodies that turn: a cylinder drags the snow under it the way its surface goes, and a paddle wheel
 * throws snow alike to all sides.
 */
#include "physics.h"

static const double H = 0.02;

/* ---- A cylinder on a layer of snow ----------------------------------------------------------- */

/* The momentum along x that a layer gets, per kilogram of it, from a cylinder that presses into it,
 * goes at `speed` and turns at `rim` (m/s at its surface, forward at the top). */
static double dragged(method m, double speed, double rim)
{
    const double radius = 0.1;
    firn_sim *sim = make_sim(
        make_scene(m,
                   "  cell_size: %g\n  fps: 100\n"
                   "snow:\n  - shape: {box: {center: [0, 0.04, 0], size: [0.6, 0.08, 0.04]}}\n"
                   "    sampling: {method: lattice, particles_per_cell: %d}\n"
                   "colliders:\n"
                   "  - {shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}, sticky: true}\n"
                   "  - shape: {cylinder: {from: [0, %g, -1], to: [0, %g, 1], radius: %g}}\n"
                   "    friction: 0.8\n    velocity: [%g, -0.5, 0]\n"
                   "    angular_velocity: [0, 0, %.17g]\n",
                   H, m.dimensions == 3 ? 8 : 4, 0.08 + radius, 0.08 + radius, radius, speed,
                   -rim / radius * 180 / acos(-1)));
    advance_to(sim, 0.03);
    firn_stats stats = stats_of(sim);
    firn_sim_destroy(&sim);
    return stats.momentum[0] / stats.mass;
}

static void test_cylinder(void **state)
{
    (void)state;
    const method chosen[] = {
        {2, "cubic", FLIP_95}, {2, "quadratic", APIC}, {3, "quadratic", FLIP_95}};
    for (int k = 0; k < 3; k++) {
        method m = chosen[k];
        double slides = dragged(m, 2, 0), rolls = dragged(m, 2, 2), spins = dragged(m, 0, 2);
        double back = dragged(m, 0, -2);
        print_message("    %s: slides %g, rolls %g, spins %g or %g m/s\n", method_name(m), slides,
                      rolls, spins, back);
        assert_true(slides > 0 && spins < 0);
        near_to(back, -spins, 0.02, "%s: the other way round", method_name(m));
        at_most(fabs(rolls) / slides, 0.25, "%s: rolling against sliding", method_name(m));
    }
}

/* ---- A paddle wheel -------------------------------------------------------------------------- */

/* Two bars across each other, turning in the middle of a block of snow that nothing pulls. */
static firn_sim *wheel(method m, double degrees)
{
    return make_sim(make_scene(
        m,
        "  cell_size: %g\n  fps: 100\n  gravity: [0, 0, 0]\n"
        "snow:\n  - shape: {subtract: [{box: {center: [0, 0, 0], size: [0.48, 0.48, 0.04]}},\n"
        "      {box: {center: [0, 0, 0], size: [0.32, 0.08, 9]}},\n"
        "      {box: {center: [0, 0, 0], size: [0.08, 0.32, 9]}}]}\n"
        "    sampling: {method: lattice, particles_per_cell: %d}\n    material: powder\n"
        "colliders:\n  - shape: {union: [{box: {center: [0, 0, 0], size: [0.32, 0.06, 9]}},\n"
        "      {box: {center: [0, 0, 0], size: [0.06, 0.32, 9]}}]}\n    friction: 0.2\n"
        "    angular_velocity: [0, 0, %g]\n",
        H, m.dimensions == 3 ? 8 : 4, degrees));
}

static void test_wheel(void **state)
{
    (void)state;
    const method chosen[] = {{2, "cubic", FLIP_95}, {3, "quadratic", APIC}};
    for (int k = 0; k < 2; k++) {
        firn_stats stats[2];
        double thrown = 0;
        for (int way = 0; way < 2; way++) {
            firn_sim *sim = wheel(chosen[k], way ? -1500 : 1500);
            advance_to(sim, 0.03);
            stats[way] = stats_of(sim);
            cloud c = cloud_of(sim);
            for (size_t r = 0; r < c.count; r++)
                thrown += *cloud_row(&c, FIRN_MASS, r) * hypot(cloud_row(&c, FIRN_VELOCITY, r)[0],
                                                               cloud_row(&c, FIRN_VELOCITY, r)[1]);
            cloud_free(&c);
            firn_sim_destroy(&sim);
        }
        const char *name = method_name(chosen[k]);
        at_most(hypot(stats[0].momentum[0], stats[0].momentum[1]) / (thrown / 2), 0.01,
                "%s: momentum that is not balanced", name);
        assert_true(stats[0].angular_momentum[2] > 0);
        near_to(stats[1].angular_momentum[2], -stats[0].angular_momentum[2], 0.01,
                "%s: turning the other way", name);
        near_to(stats[1].kinetic_energy, stats[0].kinetic_energy, 0.01, "%s: energy", name);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cylinder),
        cmocka_unit_test(test_wheel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
