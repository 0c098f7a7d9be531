/* An elastic body spinning in free space. APIC and MLS carry the whole spin: angular momentum stays
 * to rounding over revolutions. The same run with PIC must lose it, or the test shows nothing. */
#include "physics.h"

static const double H = 0.03125, OMEGA = 10; /* rad/s: the rim moves at 1/16 of the wave speed */

static firn_scene *scene_of(method m, const char *shape)
{
    return make_scene(m,
                      "  cell_size: %g\n  fps: 1\n  gravity: [0, 0, 0]\n"
                      "materials:\n  rubber: {preset: snow, critical_compression: 0.5, "
                      "critical_stretch: 0.5}\n"
                      "snow:\n  - shape: {%s}\n    material: rubber\n"
                      "    sampling: {particles_per_cell: %d, method: lattice}\n",
                      H, shape, m.dimensions == 3 ? 8 : 4);
}

/* Spinning rigidly about z, affine velocities included, and drifting along x. */
static firn_sim *spin(method m, const char *shape)
{
    firn_scene *scene = scene_of(m, shape);
    cloud c = sample_scene(scene);
    double D = H * H / (strcmp(m.kernel, "cubic") == 0 ? 3 : 4);
    for (size_t r = 0; r < c.count; r++) {
        const double *x = cloud_row(&c, FIRN_POSITION, r);
        double *v = cloud_row(&c, FIRN_VELOCITY, r);
        v[0] = 0.3 - OMEGA * x[1];
        v[1] = OMEGA * x[0];
        cloud_row(&c, FIRN_B, r)[1] = -OMEGA * D;
        cloud_row(&c, FIRN_B, r)[m.dimensions] = OMEGA * D;
    }
    firn_sim *sim = make_sim_of(scene, &c);
    cloud_free(&c);
    return sim;
}

/* The body's turn since the start in revolutions, from the angle of a particle about the middle. */
static double turn(const firn_sim *sim, double *last)
{
    double x[3];
    firn_sim_read(sim, FIRN_POSITION, 0, 1, x);
    double angle =
        atan2(x[1] - mean_of(sim, FIRN_POSITION, 1), x[0] - mean_of(sim, FIRN_POSITION, 0));
    double full = 2 * acos(-1), turned = angle - *last;
    *last = angle;
    return (turned < -full / 2 ? turned + full : turned > full / 2 ? turned - full : turned) / full;
}

/* The angle about z of the rotation in a particle's F_E. */
static double turn_of_F(const firn_sim *sim)
{
    double F[9];
    int d = firn_sim_dimensions(sim);
    firn_sim_read(sim, FIRN_F_E, 0, 1, F);
    return atan2(F[d] - F[1], F[0] + F[d + 1]);
}

typedef struct spin_result {
    double angular_momentum, energy; /* what is left, relative */
    double turns;
} spin_result;

static spin_result run(firn_sim *sim, int count)
{
    firn_stats start = stats_of(sim);
    double energy = start.kinetic_energy + start.elastic_energy, angle = 0, turns = 0;
    turn(sim, &angle);
    for (int n = 0; n < count; n += 10) {
        steps(sim, 10);
        turns += turn(sim, &angle);
    }
    firn_stats end = stats_of(sim);
    return (spin_result){end.angular_momentum[2] / start.angular_momentum[2],
                         (end.kinetic_energy + end.elastic_energy) / energy, turns};
}

static const struct {
    int dimensions;
    const char *shape;
    int steps;
} bodies[] = {
    {2, "sphere: {center: [0, 0], radius: 0.125}", 2000},
    {3, "sphere: {center: [0, 0, 0], radius: 0.0625}", 500},
    {3, "box: {center: [0, 0, 0], size: [0.15625, 0.09375, 0.09375]}", 500},
};

static void test_affine(void **state)
{
    (void)state;
    for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++)
        for (int k = 0; k < (bodies[b].dimensions == 3 ? 4 : 2); k++) {
            method m = {bodies[b].dimensions, k % 2 ? "quadratic" : "cubic", k < 2 ? APIC : MLS};
            firn_sim *sim = spin(m, bodies[b].shape);
            spin_result left = run(sim, bodies[b].steps);
            const char *name = method_name(m);
            at_most(fabs(left.angular_momentum - 1), precision_of(sim).long_sum,
                    "%s: angular momentum over %d steps", name, bodies[b].steps);
            near_to(left.turns, OMEGA * firn_sim_time(sim) / (2 * acos(-1)), 0.01,
                    "%s: revolutions", name);
            at_most(fabs(remainder(left.turns * 2 * acos(-1) - turn_of_F(sim), 2 * acos(-1))), 0.02,
                    "%s: radians between body and F_E", name);
            at_most(left.energy - 1, precision_of(sim).long_sum, "%s: energy gained", name);
            at_most(1 - left.energy, 0.005, "%s: energy lost", name);
            firn_sim_destroy(&sim);
        }
}

/* What a scene says of a turn, about the middle of the body wherever that is. */
static void test_scene(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        method m = {k < 2 ? 2 : 3, k % 2 ? "quadratic" : "cubic", APIC};
        const double w[3] = {m.dimensions == 3 ? 1 : 0, m.dimensions == 3 ? -2 : 0, 3};
        firn_sim *sim = make_sim(
            make_scene(m,
                       "  cell_size: %g\n  fps: 1\n  gravity: [0, 0, 0]\n"
                       "snow:\n  - shape: {sphere: {center: [0.3, 0.1%s], radius: 0.0625}}\n"
                       "    velocity: [0.5, 0.25%s]\n    angular_velocity: [%.17g, %.17g, %.17g]\n",
                       H, m.dimensions == 3 ? ", -0.2" : "", m.dimensions == 3 ? ", 0" : "",
                       w[0] * 180 / acos(-1), w[1] * 180 / acos(-1), w[2] * 180 / acos(-1)));
        const double C[3][3] = {{0, -w[2], w[1]}, {w[2], 0, -w[0]}, {-w[1], w[0], 0}};
        double middle[3] = {0}, D = H * H / (k % 2 ? 4 : 3);
        cloud c = cloud_of(sim);
        for (int i = 0; i < m.dimensions; i++)
            middle[i] = mean_of(sim, FIRN_POSITION, i);
        for (size_t r = 0; r < c.count; r++) {
            const double *x = cloud_row(&c, FIRN_POSITION, r), *v = cloud_row(&c, FIRN_VELOCITY, r),
                         *B = cloud_row(&c, FIRN_B, r);
            for (int i = 0; i < m.dimensions; i++) {
                double expected = i == 0 ? 0.5 : i == 1 ? 0.25 : 0;
                for (int j = 0; j < m.dimensions; j++) {
                    expected += C[i][j] * (x[j] - middle[j]);
                    assert_true(fabs(B[i * m.dimensions + j] - C[i][j] * D) < 1e-6 * D);
                }
                assert_true(fabs(v[i] - expected) < 1e-6);
            }
        }
        cloud_free(&c);
        firn_sim_destroy(&sim);
    }
}

static void test_pic_loses(void **state)
{
    (void)state;
    method m = {2, "cubic", PIC};
    firn_sim *sim = spin(m, bodies[0].shape);
    at_most(run(sim, 500).angular_momentum, 0.5, "2D pic: angular momentum left");
    firn_sim_destroy(&sim);
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_affine),
        cmocka_unit_test(test_scene),
        cmocka_unit_test(test_pic_loses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
