/* The time step: automatic (cfl h / c and travel h / v, with the hardened wave speed, rounded), fixed,
 * and landing on frames to the bit. */
#include <string.h>

#include "method/time_step.h"
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
            double expected = time_step_rounded(fmin(wave, cases[k].travel * H / cases[k].speed));
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

/* Snow of this Poisson's ratio: some particles alone in their cells, at several places between nodes, and
 * a clump of many; all slightly dilated, and the clump strained at random. */
static cloud strained(int d, double ratio)
{
    enum { ALONE = 6, CLUMP = 24 };
    const double E = 1.4e5, strain = 1e-3;
    cloud c = cloud_make(d, ALONE + CLUMP);
    uint64_t n = 0;
    for (size_t r = 0; r < c.count; r++) {
        bool alone = r < ALONE;
        for (int a = 0; a < d; a++) {
            cloud_row(&c, FIRN_POSITION, r)[a] =
                alone ? 0.49 * H * (double)r / (ALONE - 1) : H * noise(n++);
            for (int b = 0; b < d; b++)
                cloud_row(&c, FIRN_F_E, r)[d * a + b] += strain * (alone ? a == b : noise(n++));
        }
        cloud_row(&c, FIRN_POSITION, r)[1] += 8 * H * (double)(alone ? r + 1 : 0);
        *cloud_row(&c, FIRN_VOLUME, r) = pow(H, d) / 8;
        *cloud_row(&c, FIRN_MASS, r) = 400 * pow(H, d) / 8;
        *cloud_row(&c, FIRN_MU0, r) = E / (2 * (1 + ratio));
        *cloud_row(&c, FIRN_LAMBDA0, r) = E * ratio / ((1 + ratio) * (1 - 2 * ratio));
    }
    return c;
}

/* A scene of that snow; cfl 0: automatic. */
static firn_scene *scene_of_snow(method m, double ratio, double cfl)
{
    char number[32] = "auto", lines[300];
    if (cfl > 0)
        snprintf(number, sizeof number, "%g", cfl);
    snprintf(lines, sizeof lines,
             "  cfl: %s\n  fps: 1e-3\nmaterials: {of: {poisson_ratio: %g}}\nsnow: [{material: of, "
             "shape: {sphere: {center: [0, 0%s], radius: 1}}}]\n",
             number, ratio, m.dimensions == 3 ? ", 0" : "");
    return scene_of(m, lines);
}

/* By how much a strained cloud's elastic energy grows in 400 steps. */
static double growth(method m, double ratio, double cfl)
{
    cloud c = strained(m.dimensions, ratio);
    firn_sim *sim = make_sim_of(scene_of_snow(m, ratio, cfl), &c);
    double first = stats_of(sim).elastic_energy, most = 0;
    for (int k = 0; k < 20; k++) {
        steps(sim, 20);
        most = fmax(most, stats_of(sim).elastic_energy);
    }
    firn_sim_destroy(&sim);
    cloud_free(&c);
    return most / first;
}

/* The automatic step is stable for every method and Poisson's ratio, and not by a wide margin. */
static void test_automatic_cfl(void **state)
{
    (void)state;
    const double ratios[] = {0, 0.2, 0.35, 0.49};
    for (int k = 0; k < METHODS; k++)
        for (size_t n = 0; n < sizeof ratios / sizeof *ratios; n++)
            at_most(growth(methods[k], ratios[n], 0), 1.2, "%s, nu %g: growth of elastic energy",
                    method_name(methods[k]), ratios[n]);
    for (int k = 0; k < METHODS; k++) {
        method m = methods[k];
        bool cubic = strcmp(m.kernel, "cubic") == 0;
        bool mls = transfer_of(m) == FIRN_MLS; /* whose limit is sharp, wherever a particle is */
        double beyond = mls ? 1.03 : 1.1;
        double cfl = beyond * time_step_cfl_limit(m.dimensions, cubic, transfer_of(m), 0.35);
        at_most(1 / growth(m, 0.35, cfl), 0.1, "%s, %g of the limit: shrinkage", method_name(m),
                beyond);
    }
}

/* Particles that are less compressible than the scene's snow need a cfl of their own. */
static void test_other_snow(void **state)
{
    (void)state;
    const double cfls[] = {0, 0.3};
    cloud c = strained(2, 0.3);
    firn_particles arrays = {.count = c.count,
                             .position = c.values[FIRN_POSITION],
                             .mass = c.values[FIRN_MASS],
                             .volume = c.values[FIRN_VOLUME],
                             .mu0 = c.values[FIRN_MU0],
                             .lambda0 = c.values[FIRN_LAMBDA0]};
    firn_sim_options options = backend_options();
    for (int k = 0; k < 2; k++) {
        firn_scene *scene = scene_of_snow((method){2, "cubic", APIC}, 0.2, cfls[k]);
        firn_sim *sim;
        firn_status status = firn_sim_create_from_particles(scene, &options, &arrays, &sim);
        assert_int_equal(status, cfls[k] > 0 ? FIRN_OK : FIRN_BAD_SCENE);
        if (status != FIRN_OK)
            assert_non_null(strstr(firn_last_error(), "Poisson's ratio is 0.3, above the 0.2"));
        firn_sim_destroy(&sim);
        firn_scene_destroy(&scene);
    }
    cloud_free(&c);
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_automatic),  cmocka_unit_test(test_automatic_cfl),
        cmocka_unit_test(test_other_snow), cmocka_unit_test(test_frames),
        cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
