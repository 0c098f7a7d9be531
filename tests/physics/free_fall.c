/* Falling freely: v += g dt, then x += v dt, for every particle and to rounding, because a uniform
 * velocity leaves nothing to deform and nothing to interpolate. */
#include "physics.h"

static const double G[3] = {0.5, -9.81, 0.25}, V[3] = {1, 4, -2};

static cloud falling(int d)
{
    cloud c = cloud_make(d, 50);
    for (size_t r = 0; r < c.count; r++) {
        for (int a = 0; a < d; a++) {
            cloud_row(&c, FIRN_POSITION, r)[a] = noise(10 * r + (size_t)a);
            cloud_row(&c, FIRN_VELOCITY, r)[a] = V[a];
        }
        *cloud_row(&c, FIRN_VOLUME, r) = pow(0.5, d) / 4;
        *cloud_row(&c, FIRN_MASS, r) = pow(0.5, d) * (100 + 50 * noise(10 * r + 9));
    }
    return c;
}

/* The farthest that a particle is from its start moved by `way`. */
static double farthest(const firn_sim *sim, const cloud *start, const double way[3])
{
    double worst = 0;
    cloud now = cloud_of(sim);
    for (size_t r = 0; r < now.count; r++)
        for (int a = 0; a < now.dimensions; a++)
            worst = fmax(worst, fabs(cloud_row(&now, FIRN_POSITION, r)[a] - way[a] -
                                     cloud_row(start, FIRN_POSITION, r)[a]));
    cloud_free(&now);
    return worst;
}

static firn_scene *scene_of(method m, const char *time_step)
{
    return make_scene(m,
                      "  cell_size: 0.5\n  fps: 1\n  time_step: %s\n"
                      "  gravity: [%g, %g, %g]\n  rest_volume: sampled\n",
                      time_step, G[0], G[1], m.dimensions == 3 ? G[2] : 0);
}

/* x_n = x_0 + n dt v_0 + n (n + 1)/2 dt^2 g, with steps of a power of two: 256 of them, 3 m of a
 * throw and 15 m of a fall through 30 cells. */
static void test_fixed_step(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        cloud start = falling(methods[k].dimensions);
        firn_sim *sim = make_sim_of(scene_of(methods[k], "0.0078125"), &start);
        double worst = 0, dt = 0.0078125;
        for (int n = 1; n <= 256; n++) {
            step(sim);
            assert_true(firn_sim_time(sim) == n * dt);
            double way[3];
            for (int a = 0; a < 3; a++)
                way[a] = n * dt * V[a] + n * (n + 1) / 2 * dt * dt * G[a];
            worst = fmax(worst, farthest(sim, &start, way));
        }
        at_most(worst / 15, precision_of(sim).path, "%s: from the parabola",
                method_name(methods[k]));
        firn_sim_destroy(&sim);
        cloud_free(&start);
    }
}

/* The same with whatever steps the automatic control takes: here they shorten as the fall
 * quickens. */
static void test_automatic_step(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        cloud start = falling(methods[k].dimensions);
        firn_sim *sim = make_sim_of(scene_of(methods[k], "auto"), &start);
        double v[3] = {V[0], V[1], V[2]}, way[3] = {0};
        while (firn_sim_time(sim) < 2) {
            double before = firn_sim_time(sim);
            step(sim);
            double dt = firn_sim_time(sim) - before;
            for (int a = 0; a < 3; a++) {
                v[a] += dt * G[a];
                way[a] += dt * v[a];
            }
        }
        at_most(farthest(sim, &start, way) / 15, precision_of(sim).path, "%s: after %llu steps",
                method_name(methods[k]), (unsigned long long)firn_sim_steps(sim));
        firn_sim_destroy(&sim);
        cloud_free(&start);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed_step),
        cmocka_unit_test(test_automatic_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
