/* Steps 1 to 10 without gravity or bodies keep mass and momentum, and with APIC and MLS angular momentum,
 * whatever the particles are like. */
#include "physics.h"

static const double H = 0.1;

static const char *const EMPTY = "  cell_size: 0.1\n  fps: 1\n  gravity: [0, 0, 0]\n"
                                 "  rest_volume: %s\n";

/* Particles in disorder: every attribute random, strained by up to 10 % (5 % of it alike for
 * all, or the forces would cancel between neighbours), spinning as a whole. */
static cloud disorder(method m, size_t count)
{
    int d = m.dimensions;
    cloud c = cloud_make(d, count);
    uint64_t n = 0;
    for (size_t r = 0; r < count; r++) {
        double *x = cloud_row(&c, FIRN_POSITION, r), *v = cloud_row(&c, FIRN_VELOCITY, r);
        for (int a = 0; a < d; a++) {
            x[a] = 0.05 + 0.25 * noise(n++);
            v[a] = 0.3 * a + 0.5 + noise(n++);
        }
        v[0] -= 5 * x[1];
        v[1] += 5 * x[0];
        *cloud_row(&c, FIRN_VOLUME, r) = pow(H, d) / 8;
        *cloud_row(&c, FIRN_MASS, r) = pow(H, d) / 8 * (400 + 300 * noise(n++));
        *cloud_row(&c, FIRN_J_P, r) = 1 + 0.05 * noise(n++);
        *cloud_row(&c, FIRN_MU0, r) *= 1 + 0.5 * noise(n++);
        for (int k = 0; k < d * d; k++) {
            cloud_row(&c, FIRN_F_E, r)[k] += 0.05 * noise(n++) - (k % (d + 1) == 0 ? 0.05 : 0);
            cloud_row(&c, FIRN_B, r)[k] = is_affine(m) ? 0.1 * H * noise(n++) : 0;
        }
    }
    return c;
}

static double distance3(const double a[3], const double b[3])
{
    return sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
}

static double change(const double before[3], const double after[3])
{
    return distance3(before, after) / distance3(before, (double[3]){0});
}

static void test_sums(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        cloud c = disorder(methods[k], 120);
        firn_sim *sim = make_sim_of(make_scene(methods[k], EMPTY, "sampled"), &c);
        double limit = precision_of(sim).sum, momentum = 0, angular = 0, exchange = 0;
        const firn_stats start = stats_of(sim);
        firn_stats before = start, now = start;
        for (int n = 0; n < 50; n++, before = now) {
            step(sim);
            now = stats_of(sim);
            momentum = fmax(momentum, change(before.momentum, now.momentum));
            angular = fmax(angular, change(before.angular_momentum, now.angular_momentum));
            exchange = fmax(exchange, fabs(now.elastic_energy / start.elastic_energy - 1));
        }
        const char *name = method_name(methods[k]);
        assert_true(now.mass == start.mass);
        at_most(momentum, limit, "%s: momentum, a step", name);
        at_most(change(start.momentum, now.momentum), limit, "%s: momentum, 50 steps", name);
        if (is_affine(methods[k])) {
            at_most(angular, limit, "%s: angular momentum, a step", name);
            at_most(change(start.angular_momentum, now.angular_momentum), limit,
                    "%s: angular momentum, 50 steps", name);
        }
        assert_true(exchange > 0.1); /* the cloud was not idle */
        firn_sim_destroy(&sim);
        cloud_free(&c);
    }
}

/* Step 2 shows the mass that arrived on the grid: a lone particle on a node finds m sum_i w_i^2,
 * and the particles in the middle of a full block find the density they were laid out with. */
static void test_grid_mass(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        int d = methods[k].dimensions, side = 16;
        size_t count = (size_t)(pow(side, d) + 0.5);
        cloud c = cloud_make(d, count + 1);
        for (size_t r = 0; r < count; r++)
            for (size_t a = 0, rest = r; a < (size_t)d; a++, rest /= (size_t)side)
                cloud_row(&c, FIRN_POSITION, r)[a] = H / 2 * ((double)(rest % (size_t)side) + 0.5);
        for (int a = 0; a < d; a++)
            cloud_row(&c, FIRN_POSITION, count)[a] = 100 * H;
        for (size_t r = 0; r <= count; r++)
            *cloud_row(&c, FIRN_MASS, r) = 400 * pow(H / 2, d);
        firn_sim *sim = make_sim_of(make_scene(methods[k], EMPTY, "grid"), &c);
        step(sim);
        cloud after = cloud_of(sim);
        size_t middle = 0;
        for (int a = 0; a < d; a++)
            middle = middle * (size_t)side + (size_t)side / 2;
        bool cubic = strcmp(methods[k].kernel, "cubic") == 0;
        double sum_w2 = cubic ? 1.0 / 2 : 38.0 / 64, tolerance = precision_of(sim).sum;
        const char *name = method_name(methods[k]);
        near_to(*cloud_row(&after, FIRN_VOLUME, middle), pow(H / 2, d), tolerance, "%s: in a block",
                name);
        near_to(*cloud_row(&after, FIRN_VOLUME, count), pow(H / sum_w2, d), tolerance, "%s: alone",
                name);
        cloud_free(&after);
        firn_sim_destroy(&sim);
        cloud_free(&c);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_grid_mass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
