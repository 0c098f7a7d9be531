/* The time step: automatic (cfl h / c and travel h / v, with the hardened wave speed), fixed,
 * and landing on frames to the bit. */
#include "physics.h"

static const double H = 0.05;

static firn_scene *scene_of(method m, const char *lines)
{
    return make_scene(m, "  cell_size: %g\n  gravity: [0, 0, 0]\n  rest_volume: sampled\n%s", H,
                      lines);
}

/* Two separate particles: one may be fast, the other packed. Density 400. */
static cloud two(int d, double speed, double J_P)
{
    cloud c = cloud_make(d, 2);
    for (size_t r = 0; r < 2; r++) {
        *cloud_row(&c, FIRN_VOLUME, r) = pow(H, d) / 8;
        *cloud_row(&c, FIRN_MASS, r) = 400 * pow(H, d) / 8;
        for (int a = 0; a < d; a++)
            cloud_row(&c, FIRN_POSITION, r)[a] = (double)r;
    }
    cloud_row(&c, FIRN_VELOCITY, 0)[d - 1] = -speed;
    *cloud_row(&c, FIRN_J_P, 1) = J_P;
    return c;
}

static double first_dt(firn_sim *sim)
{
    step(sim);
    return firn_sim_time(sim);
}

static void test_automatic(void **state)
{
    (void)state;
    const struct {
        double speed, J_P, cfl, travel;
    } cases[] = {
        {0, 1, 0.4, 0.4},   {0, 0.8, 0.4, 0.4},   {0, 1.3, 0.4, 0.4}, {10, 1, 0.4, 0.4},
        {100, 1, 0.4, 0.4}, {100, 0.5, 0.4, 0.4}, {100, 1, 0.3, 0.1}, {15, 1, 0.5, 0.4},
    };
    for (int d = 2; d <= 3; d++)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            char lines[100];
            snprintf(lines, sizeof lines, "  fps: 1e-6\n  cfl: %g\n  travel: %g\n", cases[k].cfl,
                     cases[k].travel);
            cloud c = two(d, cases[k].speed, cases[k].J_P);
            double modulus = 2 * *cloud_row(&c, FIRN_MU0, 0) + *cloud_row(&c, FIRN_LAMBDA0, 0);
            double harder = fmax(1, exp(10 * (1 - cases[k].J_P))); /* particle 0 has J_P = 1 */
            double wave = cases[k].cfl * H / sqrt(modulus * harder / 400);
            double expected = fmin(wave, cases[k].travel * H / cases[k].speed);
            firn_sim *sim = make_sim_of(scene_of((method){d, "cubic", FLIP_95}, lines), &c);
            double limit = precision_of(sim).formula;
            near_to(stats_of(sim).stable_dt, expected, limit, "%dD case %zu: stable dt", d, k);
            /* Frames are so far apart that landing on one changes the step by less than 1e-9. */
            near_to(first_dt(sim), expected, fmax(limit, 1e-8), "%dD case %zu: dt taken", d, k);
            firn_sim_destroy(&sim);
            cloud_free(&c);
        }
}

/* time == frame / fps to the bit, in equal steps of at most the stable one. */
static void check_frames(firn_sim *sim, double fps, double largest, const char *what)
{
    for (int frame = 1; frame <= 30; frame++) {
        firn_sim_reset_progress(sim);
        assert_int_equal(firn_sim_advance_frame(sim, NULL, NULL), FIRN_OK);
        assert_int_equal(firn_sim_frame(sim), frame);
        assert_true(firn_sim_time(sim) == frame / fps);
        firn_progress p = firn_sim_progress(sim);
        assert_int_equal(p.steps, ceil(1 / fps / largest - 1e-5));
        assert_true(p.dt_max <= largest * (1 + 1e-5));
        assert_true(p.dt_max - p.dt_min <= 1e-9 * largest);
    }
    print_message("    %s: 30 frames at %g fps\n", what, fps);
}

static void test_frames(void **state)
{
    (void)state;
    const double rates[] = {24, 25, 30, 7, 23.976, 1000.0 / 3, 4096};
    for (size_t k = 0; k < sizeof rates / sizeof *rates; k++) {
        char lines[100];
        snprintf(lines, sizeof lines, "  fps: %.17g\n", rates[k]);
        cloud c = two(2, 0, 1);
        firn_sim *sim = make_sim_of(scene_of((method){2, "cubic", APIC}, lines), &c);
        check_frames(sim, rates[k], stats_of(sim).stable_dt, "automatic");
        firn_sim_destroy(&sim);
        snprintf(lines, sizeof lines, "  fps: %.17g\n  time_step: 3e-4\n", rates[k]);
        sim = make_sim_of(scene_of((method){2, "cubic", APIC}, lines), &c);
        check_frames(sim, rates[k], 3e-4, "fixed");
        firn_sim_destroy(&sim);
        cloud_free(&c);
    }
}

static bool after_three(const firn_sim *sim, void *user)
{
    (void)user;
    return firn_sim_steps(sim) == 3;
}

static bool never(const firn_sim *sim, void *user)
{
    (void)sim;
    ++*(int *)user;
    return false;
}

/* Stopping within a frame and going on ends on the same frame. */
static void test_stop(void **state)
{
    (void)state;
    cloud c = two(2, 0, 1);
    firn_sim *sim = make_sim_of(scene_of((method){2, "cubic", APIC}, "  fps: 24\n"), &c);
    assert_int_equal(firn_sim_advance_frame(sim, after_three, NULL), FIRN_STOPPED);
    assert_int_equal(firn_sim_steps(sim), 3);
    assert_int_equal(firn_sim_frame(sim), 0);
    int asked = 0;
    assert_int_equal(firn_sim_advance_frame(sim, never, &asked), FIRN_OK);
    assert_int_equal(asked, firn_sim_steps(sim) - 3);
    assert_true(firn_sim_time(sim) == 1 / 24.0);
    firn_sim_destroy(&sim);
    cloud_free(&c);
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_automatic),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
