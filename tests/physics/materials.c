/* Every particle has its own material: in a bar whose right half has four times the modulus, a
 * knock on the middle runs twice as fast to the right. */
#include "physics.h"

static const double H = 0.015625, YOUNG = 1e5, DENSITY = 400;
static const int HALF = 40; /* cells on each side */

static firn_scene *scene_of(method m)
{
    return make_scene(m,
                      "  cell_size: %g\n  fps: 1\n  gravity: [0, 0, 0]\n  rest_volume: sampled\n"
                      "materials:\n  rubber: {young_modulus: %g, poisson_ratio: 0, density: %g,\n"
                      "    critical_compression: 0.5, critical_stretch: 0.5}\n"
                      "snow:\n  - shape: {box: {center: [0, %g, %g], size: [%g, %g, %g]}}\n"
                      "    material: rubber\n"
                      "    sampling: {particles_per_cell: %d, method: lattice}\n",
                      H, YOUNG, DENSITY, H / 2, H / 2, 2 * HALF * H, H, H,
                      m.dimensions == 3 ? 8 : 4);
}

/* The particle nearest to x along the bar. */
static size_t row_near(const cloud *c, double x)
{
    size_t best = 0;
    for (size_t r = 0; r < c->count; r++)
        if (fabs(*cloud_row(c, FIRN_POSITION, r) - x) <
            fabs(*cloud_row(c, FIRN_POSITION, best) - x))
            best = r;
    return best;
}

enum { SENSORS = 4, SAMPLES = 400 };

/* When a record first rises to half of its top. */
static double rise(const double *time, const double *record)
{
    double top = 0;
    for (int n = 0; n < SAMPLES; n++)
        top = fmax(top, record[n]);
    int n = 1;
    while (record[n] < top / 2)
        n++;
    return time[n] - (time[n] - time[n - 1]) * (record[n] - top / 2) / (record[n] - record[n - 1]);
}

/* Wave speeds in the left and right half, between two places each. */
static void wave_speeds(method m, double speeds[2])
{
    firn_scene *scene = scene_of(m);
    cloud c = sample_scene(scene);
    for (size_t r = 0; r < c.count; r++) {
        double x = *cloud_row(&c, FIRN_POSITION, r);
        *cloud_row(&c, FIRN_MU0, r) *= x > 0 ? 4 : 1;
        cloud_row(&c, FIRN_VELOCITY, r)[0] = 0.01 * exp(-pow(x / (4 * H), 2));
    }
    size_t rows[SENSORS];
    for (int k = 0; k < SENSORS; k++)
        rows[k] = row_near(&c, H * (const double[]){-12, -28, 12, 28}[k]);
    firn_sim *sim = make_sim_of(scene, &c);
    static double time[SAMPLES], record[SENSORS][SAMPLES];
    for (int n = 0; n < SAMPLES; n++) {
        step(sim);
        time[n] = firn_sim_time(sim);
        for (int k = 0; k < SENSORS; k++) {
            double v[3];
            firn_sim_read(sim, FIRN_VELOCITY, rows[k], 1, v);
            /* After the knock has run past the far place, its echo comes back. */
            record[k][n] = time[n] < 32 * H / sqrt(YOUNG / DENSITY) / (k < 2 ? 1 : 2) ? v[0] : 0;
        }
    }
    for (int half = 0; half < 2; half++) {
        double way = *cloud_row(&c, FIRN_POSITION, rows[2 * half + 1]) -
                     *cloud_row(&c, FIRN_POSITION, rows[2 * half]);
        speeds[half] =
            fabs(way) / (rise(time, record[2 * half + 1]) - rise(time, record[2 * half]));
    }
    firn_sim_destroy(&sim);
    cloud_free(&c);
}

static void test_two_halves(void **state)
{
    (void)state;
    for (int k = 0; k < FEW_METHODS; k++) {
        double speeds[2], slow = sqrt(YOUNG / DENSITY);
        wave_speeds(few_methods[k], speeds);
        near_to(speeds[0], slow, 0.03, "%s: soft half, m/s", method_name(few_methods[k]));
        near_to(speeds[1], 2 * slow, 0.03, "%s: stiff half, m/s", method_name(few_methods[k]));
    }
}

/* Strength by particle: pulled alike, only the half with the small critical stretch tears. */
static void test_two_strengths(void **state)
{
    (void)state;
    for (int d = 2; d <= 3; d++) {
        firn_scene *scene = scene_of((method){d, "cubic", FLIP_95});
        cloud c = sample_scene(scene);
        for (size_t r = 0; r < c.count; r++) {
            double x = *cloud_row(&c, FIRN_POSITION, r);
            cloud_row(&c, FIRN_VELOCITY, r)[0] = 2 * x;
            *cloud_row(&c, FIRN_THETA_S, r) = x > 0 ? 7.5e-3 : 0.5;
        }
        firn_sim *sim = make_sim_of(scene, &c);
        steps(sim, 60);
        cloud now = cloud_of(sim);
        size_t torn = 0, wrong = 0;
        for (size_t r = 0; r < now.count; r++) {
            bool weak = *cloud_row(&c, FIRN_THETA_S, r) < 0.1;
            torn += weak && *cloud_row(&now, FIRN_J_P, r) > 1.01;
            wrong += !weak && fabs(*cloud_row(&now, FIRN_J_P, r) - 1) > 1e-6;
        }
        at_most(0.5, (double)torn / ((double)now.count / 2), "%dD: part of the weak half torn", d);
        assert_int_equal(wrong, 0);
        cloud_free(&now);
        cloud_free(&c);
        firn_sim_destroy(&sim);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_halves),
        cmocka_unit_test(test_two_strengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
