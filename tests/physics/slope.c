/*
 * A block on a slope: it stays where tan(angle) < friction, and else slides at g (sin a - mu cos
 * a).
 *
 * The block is stiff and cannot yield, so that it stays a block. It starts unloaded and settles
 * first: the acceleration is that between two later times.
 */
#include "physics.h"

static const double G = 9.81, H = 0.03125, SLOPE = 0.5; /* tan(angle) */

/* At automatic steps of quadratic MLS a block that cannot yield never rests, but hops by some thousandths of a
 * cell. */
static const char *cfl_of(method m)
{
    return transfer_of(m) == FIRN_MLS && strcmp(m.kernel, "quadratic") == 0 ? "0.25" : "auto";
}

/* The plane through the origin with this slope, or gravity leaning the other way over a level
 * plane. */
static firn_scene *scene_of(method m, bool tilted, double friction)
{
    double angle = atan(SLOPE), s = sin(angle), c = cos(angle);
    double lean[2] = {tilted ? 0 : G * s, tilted ? -G : -G * c};
    double normal[2] = {tilted ? s : 0, tilted ? c : 1};
    return make_scene(
        m,
        "  cell_size: %g\n  fps: 1\n  cfl: %s\n  gravity: [%.17g, %.17g, 0]\n"
        "materials:\n  rubber: {young_modulus: 2e5, poisson_ratio: 0.2, density: 400,\n"
        "    critical_compression: 0.5, critical_stretch: 0.5}\n"
        "snow:\n  - shape: {box: {center: [0, %g, 0], size: [%g, %g, %g]},\n"
        "      rotate: {axis: [0, 0, 1], angle: %.17g, about: [0, 0, 0]}}\n"
        "    material: rubber\n"
        "    sampling: {particles_per_cell: %d, method: lattice}\n"
        "colliders:\n  - shape: {plane: {point: [0, 0, 0], normal: [%.17g, %.17g, 0]}}\n"
        "    friction: %g\n",
        H, cfl_of(m), lean[0], lean[1], H, 8 * H, 2 * H, 2 * H,
        tilted ? -angle * 180 / acos(-1) : 0, m.dimensions == 3 ? 8 : 4, normal[0], normal[1],
        friction);
}

/* Speed of the middle down the slope. */
static double speed(const firn_sim *sim, bool tilted)
{
    double angle = tilted ? atan(SLOPE) : 0;
    return cos(angle) * mean_of(sim, FIRN_VELOCITY, 0) -
           sin(angle) * mean_of(sim, FIRN_VELOCITY, 1);
}

static double acceleration(method m, bool tilted, double friction)
{
    firn_sim *sim = make_sim(scene_of(m, tilted, friction));
    advance_to(sim, 0.1);
    double then = firn_sim_time(sim), before = speed(sim, tilted);
    advance_to(sim, 0.25);
    double result = (speed(sim, tilted) - before) / (firn_sim_time(sim) - then);
    firn_sim_destroy(&sim);
    return result;
}

static void slides(method m, bool tilted, double friction)
{
    double angle = atan(SLOPE), expected = G * (sin(angle) - friction * cos(angle));
    near_to(acceleration(m, tilted, friction), expected, 0.01, "%s: slides with friction %g%s",
            method_name(m), friction, tilted ? ", tilted plane" : "");
}

static void sticks(method m, bool tilted, double friction)
{
    at_most(fabs(acceleration(m, tilted, friction)) / G, 1e-3, "%s: sticks with friction %g%s",
            method_name(m), friction, tilted ? ", tilted plane" : "");
}

static void test_level_plane(void **state)
{
    (void)state;
    for (int k = 0; k < FEW_METHODS; k++) {
        slides(few_methods[k], false, 0.25);
        sticks(few_methods[k], false, 1.1 * SLOPE);
    }
}

static void test_tilted_plane(void **state)
{
    (void)state;
    for (int k = 0; k < FEW_METHODS; k++)
        slides(few_methods[k], true, 0.25);
    sticks((method){3, "cubic", FLIP_95}, true, 1.1 * SLOPE);
    sticks((method){2, "quadratic", APIC}, true, 1.1 * SLOPE);
}

/* Without friction, and a tenth below the slope's tangent. */
static void test_ends(void **state)
{
    (void)state;
    for (int tilted = 0; tilted < 2; tilted++) {
        slides((method){2, "cubic", FLIP_95}, tilted, 0);
        slides((method){2, "cubic", FLIP_95}, tilted, 0.9 * SLOPE);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_level_plane),
        cmocka_unit_test(test_tilted_plane),
        cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
