/*
 * Fast and thin bodies: snow neither passes through a plate nor stays inside of it, though the plate
 * comes at 50 m/s or is half a cell thick.
 */
#include "firn/advance.h"
#include "physics.h"

static const double H = 0.02;

typedef struct plate {
    double thickness; /* cells */
    double speed;     /* m/s, along x */
    double snow;      /* m/s, likewise */
    const char *surface;
} plate;

/* A block of snow ahead of an upright plate whose front is at FRONT at the start: a thin one then
 * has no node inside. */
static const double FRONT = -0.3 * 0.02;

static firn_sim *meeting(method m, plate p)
{
    double thickness = p.thickness * H;
    return make_sim(
        make_scene(m,
                   "  cell_size: %g\n  fps: 100\n  gravity: [0, 0, 0]\n"
                   "snow:\n  - shape: {box: {center: [0.113, 0, 0], size: [0.2, 0.16, 0.06]}}\n"
                   "    sampling: {particles_per_cell: %d}\n    velocity: [%g, 0, 0]\n"
                   "colliders:\n  - shape: {box: {center: [%.17g, 0, 0], size: [%.17g, 8, 8]}}\n"
                   "    velocity: [%g, 0, 0]\n    %s\n",
                   H, m.dimensions == 3 ? 8 : 5, p.snow, FRONT - thickness / 2, thickness, p.speed,
                   p.surface));
}

/* How deep behind the plate's front the deepest particle is, in cells; those that passed through are
 * a whole plate deep at least. */
static double deepest(const firn_sim *sim, double front)
{
    cloud c = cloud_of(sim);
    double depth = 0;
    for (size_t r = 0; r < c.count; r++)
        depth = fmax(depth, front - cloud_row(&c, FIRN_POSITION, r)[0]);
    cloud_free(&c);
    return depth / H;
}

static void hit(method m, plate p)
{
    firn_sim *sim = meeting(m, p);
    double reach = 0, thin = fmin(p.thickness, 1), travelled = 0, speed = fabs(p.speed - p.snow);
    while (travelled < 0.15) {
        step(sim);
        reach = fmax(reach, deepest(sim, FRONT + p.speed * firn_sim_time(sim)));
        travelled = speed * firn_sim_time(sim);
    }
    double left = deepest(sim, FRONT + p.speed * firn_sim_time(sim));
    char name[128];
    snprintf(name, sizeof name, "%s, %g cells at %g m/s, %s", method_name(m), p.thickness, speed,
             p.surface);
    assert_true(stats_of(sim).max_speed > 0.4 * speed || p.speed == 0); /* it was pushed */
    at_most(firn_sim_progress(sim).dt_max * fabs(p.speed) / H, 0.4001, "%s: cells a step", name);
    /* A step goes to 0.4 of a thin body or a cell at most, so nothing comes to its other half. */
    at_most(reach, 0.4 * thin, "%s: cells inside, at worst", name);
    /* Snow deeper than a quarter is pushed out; what sticks there stays, to rounding. */
    at_most(left, 0.2501 * thin, "%s: cells inside, in the end", name);
    firn_sim_destroy(&sim);
}

static void test_plates(void **state)
{
    (void)state;
    const plate plates[] = {
        {3, 50, 0, "friction: 0.3"},  {0.5, 50, 0, "friction: 0.3"}, {0.5, 0, -8, "friction: 0.3"},
        {0.5, 0, -8, "sticky: true"}, {0.5, 30, -20, "friction: 0"},
    };
    const method chosen[] = {
        {2, "cubic", FLIP_95}, {2, "quadratic", APIC}, {3, "quadratic", FLIP_95}};
    for (int k = 0; k < 3; k++)
        for (size_t p = 0; p < sizeof plates / sizeof *plates; p++)
            hit(chosen[k], plates[p]);
}

/* Snow that starts within a body finds its way out and does not blow up. */
static void test_buried(void **state)
{
    (void)state;
    const method m = {2, "cubic", FLIP_95};
    firn_sim *sim = make_sim(
        make_scene(m, "  cell_size: 0.02\n  fps: 100\n"
                      "snow:\n  - shape: {box: {center: [0, 0.02, 0], size: [0.2, 0.1]}}\n"
                      "colliders:\n  - shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}\n"
                      "    friction: 0.5\n"));
    advance_to(sim, 0.05);
    cloud c = cloud_of(sim);
    double lowest = 0;
    for (size_t r = 0; r < c.count; r++)
        lowest = fmin(lowest, cloud_row(&c, FIRN_POSITION, r)[1]);
    at_most(-lowest / H, 0.26, "cells below the ground");
    at_most(stats_of(sim).max_speed, 1, "speed of what was buried");
    cloud_free(&c);
    firn_sim_destroy(&sim);
}

/* Before a thin wall a step depends on how fast the snow is, and one taken by itself gives the same bits as many at a
 * time by a backend that can. */
static void test_in_a_row(void **state)
{
    (void)state;
    const plate plates[] = {{0.2, 0, -8, "friction: 0.3"}, {0.2, 30, -8, "sticky: true"}};
    const method chosen[] = {{2, "cubic", FLIP_95}, {3, "quadratic", APIC}};
    for (int k = 0; k < 2; k++)
        for (size_t p = 0; p < sizeof plates / sizeof *plates; p++) {
            firn_sim *rows = meeting(chosen[k], plates[p]), *single = meeting(chosen[k], plates[p]);
            int calls = 0;
            for (; firn_sim_time(rows) < 0.01; calls++)
                assert_int_equal(firn_sim_advance(rows, UINT64_MAX), FIRN_OK);
            while (firn_sim_time(single) < firn_sim_time(rows))
                step(single);
            int taken = (int)firn_sim_steps(rows);
            print_message("    %s: %d steps, %d at a time\n", method_name(chosen[k]), taken,
                          taken / calls);
            assert_int_equal(taken, firn_sim_steps(single));
            assert_true(same_bits(rows, single));
            assert_true(firn_sim_progress(rows).dt_max * 8 <= 0.4 * 0.2 * H);
            if (strcmp(firn_sim_backend(rows), "cuda") == 0 && plates[p].speed == 0)
                assert_true(calls < taken / 2);
            firn_sim_destroy(&rows);
            firn_sim_destroy(&single);
        }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plates),
        cmocka_unit_test(test_buried),
        cmocka_unit_test(test_in_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
