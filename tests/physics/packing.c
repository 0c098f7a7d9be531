/*
 * Packing and tearing. A piston presses snow against a wall between sides that cannot move: beyond
 * the critical compression the rest becomes plastic, J_P falls, and the snow hardens by exp(xi (1 -
 * J_P)). Pulled apart instead, J_P rises and the snow weakens.
 */
#include "physics.h"

static const double H = 0.02, LENGTH = 0.16;
static const double C0 = 19.7203; /* m/s: sqrt((lambda + 2 mu) / rho) of the snow preset */
static const double SPEED = 0.1;  /* m/s: slow beside C0, so that all of the block feels it alike */

/* A block of 8 by 2 (by 2) cells; its ends are moved by the wall at 0 and the one at LENGTH. */
static firn_sim *block(method m, const char *surface, double speed, bool confined)
{
    return make_sim(
        make_scene(m,
                   "  cell_size: %g\n  fps: 1\n  gravity: [0, 0, 0]\n  rest_volume: sampled\n"
                   "snow:\n  - shape: {box: {center: [%g, %g, %g], size: [%g, %g, %g]}}\n"
                   "    material: snow\n    sampling: {particles_per_cell: %d, method: lattice}\n"
                   "colliders:\n"
                   "  - shape: {plane: {point: [0, 0, 0], normal: [1, 0, 0]}}\n    %s\n"
                   "  - shape: {plane: {point: [%g, 0, 0], normal: [-1, 0, 0]}}\n    %s\n"
                   "    velocity: [%g, 0, 0]\n%s%s",
                   H, LENGTH / 2, H, H, LENGTH, 2 * H, 2 * H, m.dimensions == 3 ? 8 : 4, surface,
                   LENGTH, surface, speed,
                   !confined ? ""
                             : "  - shape: {plane: {point: [0, 900, 0], normal: [0, 1, 0]}}\n"
                               "  - shape: {plane: {point: [0, -900, 0], normal: [0, -1, 0]}}\n",
                   !confined || m.dimensions == 2
                       ? ""
                       : "  - shape: {plane: {point: [0, 0, 900], normal: [0, 0, 1]}}\n"
                         "  - shape: {plane: {point: [0, 0, -900], normal: [0, 0, -1]}}\n"));
}

/* Length now / length at the start, by least squares. */
static double stretch(const cloud *start, const firn_sim *sim)
{
    cloud now = cloud_of(sim);
    double mean = 0, over = 0, under = 0;
    for (size_t r = 0; r < now.count; r++)
        mean += *cloud_row(start, FIRN_POSITION, r) / (double)now.count;
    for (size_t r = 0; r < now.count; r++) {
        double X = *cloud_row(start, FIRN_POSITION, r) - mean;
        over += X * *cloud_row(&now, FIRN_POSITION, r);
        under += X * X;
    }
    cloud_free(&now);
    return over / under;
}

/* The part of the particles whose J_P says that they are packed. */
static double packed_part(const firn_sim *sim)
{
    cloud now = cloud_of(sim);
    size_t packed = 0;
    for (size_t r = 0; r < now.count; r++)
        packed += *cloud_row(&now, FIRN_J_P, r) < 0.99;
    double part = (double)packed / (double)now.count;
    cloud_free(&now);
    return part;
}

static void test_press(void **state)
{
    (void)state;
    for (int k = 0; k < FEW_METHODS; k++) {
        const char *name = method_name(few_methods[k]);
        firn_sim *sim = block(few_methods[k], "friction: 0", -SPEED, true);
        cloud start = cloud_of(sim);
        double tolerance = precision_of(sim).formula;
        firn_stats before = stats_of(sim);
        near_to(before.wave_speed, C0, 1e-4, "%s: wave speed of fresh snow", name);
        advance_to(sim, 0.15 * LENGTH / SPEED);
        firn_stats after = stats_of(sim);
        /* What the elastic part does not hold is plastic. */
        near_to(mean_of(sim, FIRN_J_P, 0), stretch(&start, sim) / 0.975, 0.03, "%s: mean J_P",
                name);
        at_most(0.8, packed_part(sim), "%s: part of it packed", name);
        near_to(after.wave_speed, before.wave_speed * exp(5 * (1 - after.J_P_min)), tolerance,
                "%s: wave speed of packed snow", name);
        /* Both are rounded: time_step.h. */
        near_to(after.stable_dt, before.stable_dt * before.wave_speed / after.wave_speed, 1.0 / 32,
                "%s: stable step", name);
        cloud_free(&start);
        firn_sim_destroy(&sim);
    }
}

/* Drawn out by a tenth between walls it sticks to: it tears, and holds less than it did before. */
static void test_pull(void **state)
{
    (void)state;
    for (int k = 0; k < FEW_METHODS; k++) {
        const char *name = method_name(few_methods[k]);
        firn_sim *sim = block(few_methods[k], "sticky: true", SPEED, false);
        double peak = 0;
        while (firn_sim_time(sim) < 0.1 * LENGTH / SPEED) {
            step(sim);
            peak = fmax(peak, stats_of(sim).elastic_energy);
        }
        firn_stats stats = stats_of(sim);
        at_most(1.1, stats.J_P_max, "%s: largest J_P", name);
        at_most(1 - stats.J_P_min, 0.01, "%s: packed by tearing", name);
        at_most(stats.elastic_energy / peak, 0.5, "%s: elastic energy left of the most", name);
        near_to(stats.wave_speed, C0 * exp(5 * (1 - stats.J_P_min)), 1e-4,
                "%s: wave speed of what is whole", name);
        firn_sim_destroy(&sim);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_press),
        cmocka_unit_test(test_pull),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
