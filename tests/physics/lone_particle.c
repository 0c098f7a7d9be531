/*
 * Particles that drift alone through an empty grid. The weights at a place sum to 1 and their
 * gradients to 0 only up to rounding, and what is left deforms the particle; a node that the
 * particle barely touches has next to no mass, so that the force of that deformation throws it far.
 * If the loop closes, the error feeds on itself (thesis, section 4.1). It must not: over ten
 * thousand steps, wherever the particle starts, it keeps its speed and its shape to rounding.
 */
#include "physics.h"

static const double H = 0.01;

/* Where in a cell particles start: at, and a hair beside, a node and the middle of a cell. */
static const double STARTS[] = {0,   1e-3,       1e-7,       1e-12,       -1e-12, -1e-7,
                                0.5, 0.5 + 1e-3, 0.5 + 1e-7, 0.5 - 1e-12, 0.3};
enum { STARTS_COUNT = sizeof STARTS / sizeof *STARTS };

/* One particle for each start and each direction, out of each other's reach; `speed` along an
 * axis for the first half, along the diagonal for the other. */
static cloud drifters(int d, double speed)
{
    cloud c = cloud_make(d, 2 * STARTS_COUNT);
    for (size_t r = 0; r < c.count; r++) {
        bool straight = r < STARTS_COUNT;
        double *x = cloud_row(&c, FIRN_POSITION, r), *v = cloud_row(&c, FIRN_VELOCITY, r);
        for (int a = 0; a < d; a++) {
            x[a] = H * STARTS[r % STARTS_COUNT];
            v[a] = straight ? (a == 0 ? speed : 0) : speed / sqrt(d);
        }
        x[1] += H * 8 * (double)r;
        *cloud_row(&c, FIRN_VOLUME, r) = pow(H, d) / 8;
        *cloud_row(&c, FIRN_MASS, r) = 400 * pow(H, d) / 8;
        *cloud_row(&c, FIRN_THETA_C, r) = 2.5e-2;
        *cloud_row(&c, FIRN_THETA_S, r) = 7.5e-3;
    }
    return c;
}

/* The largest entry of F^T F - I: strain, but not rotation. */
static double strain(const double *F, int d)
{
    double largest = 0;
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) {
            double sum = i == j ? -1 : 0;
            for (int k = 0; k < d; k++)
                sum += F[k * d + i] * F[k * d + j];
            largest = fmax(largest, fabs(sum));
        }
    return largest;
}

/* The largest change of a particle's kinetic energy, and strain. */
static void worst(const cloud *start, const cloud *now, double *energy, double *strained)
{
    int d = start->dimensions;
    *energy = *strained = 0;
    for (size_t r = 0; r < start->count; r++) {
        const double *u = cloud_row(start, FIRN_VELOCITY, r), *v = cloud_row(now, FIRN_VELOCITY, r);
        double before = 0, after = 0;
        for (int a = 0; a < d; a++) {
            before += u[a] * u[a];
            after += v[a] * v[a];
        }
        *energy = fmax(*energy, before > 0 ? fabs(after / before - 1) : after);
        *strained = fmax(*strained, strain(cloud_row(now, FIRN_F_E, r), d));
    }
}

/* Energy must stay particle by particle where all move alike, and must not grow where they do
 * not. */
static void drift(method m, const char *volume, cloud *start, int count, const char *what)
{
    firn_sim *sim = make_sim_of(make_scene(m,
                                           "  cell_size: %g\n  fps: 0.01\n  gravity: [0, 0, 0]\n"
                                           "  rest_volume: %s\n",
                                           H, volume),
                                start);
    steps(sim, count);
    cloud now = cloud_of(sim);
    double energy, strained;
    worst(start, &now, &energy, &strained);
    at_most(energy, precision_of(sim).energy, "%s, %s: energy", method_name(m), what);
    at_most(strained, precision_of(sim).energy, "%s, %s: strain", method_name(m), what);
    assert_true(fabs(stats_of(sim).J_P_min - 1) < 1e-3);
    assert_true(fabs(stats_of(sim).J_P_max - 1) < 1e-3);
    cloud_free(&now);
    firn_sim_destroy(&sim);
    cloud_free(start);
}

static void test_one_metre_a_second(void **state)
{
    (void)state;
    for (int k = 0; k < FEW_METHODS; k++) {
        cloud start = drifters(few_methods[k].dimensions, 1);
        drift(few_methods[k], "sampled", &start, 10000, "1 m/s");
    }
}

static void test_other_speeds(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++)
        for (int n = 0; n < 4; n++) {
            double speed = (const double[]){1e-4, 1e-9, 0, 30}[n];
            char what[32];
            snprintf(what, sizeof what, "%g m/s", speed);
            cloud start = drifters(methods[k].dimensions, speed);
            drift(methods[k], n % 2 ? "sampled" : "grid", &start,
                  methods[k].dimensions == 3 ? 300 : 1000, what);
        }
}

/* Pairs closer than a cell, each pair alone. `stir`: how fast they move against each other, m/s. */
static cloud pairs(int d, double stir)
{
    cloud c = cloud_make(d, 24);
    uint64_t n = 0;
    for (size_t r = 0; r < c.count; r++) {
        for (int a = 0; a < d; a++) {
            cloud_row(&c, FIRN_POSITION, r)[a] = 0.5 * H * noise(n++);
            cloud_row(&c, FIRN_VELOCITY, r)[a] = 1 / sqrt(d) + stir * noise(n++);
        }
        cloud_row(&c, FIRN_POSITION, r)[1] += H * 10 * (double)(r / 2);
        *cloud_row(&c, FIRN_VOLUME, r) = pow(H, d) / 8;
        *cloud_row(&c, FIRN_MASS, r) = pow(H, d) / 8 * (400 + 300 * noise(n++));
    }
    return c;
}

static void test_pairs(void **state)
{
    (void)state;
    for (int k = 0; k < FEW_METHODS; k++) {
        cloud start = pairs(few_methods[k].dimensions, 0);
        drift(few_methods[k], "sampled", &start, 3000, "pairs");
    }
}

/* Energy without that of the common motion. */
static double inner_energy(firn_sim *sim)
{
    firn_stats s = stats_of(sim);
    const double *p = s.momentum;
    return s.kinetic_energy + s.elastic_energy -
           (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) / (2 * s.mass);
}

/* Pairs that press and rub: what they do to each other may cost energy, but not give. */
static void test_stirred_pairs(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        cloud start = pairs(methods[k].dimensions, 0.05);
        firn_sim *sim = make_sim_of(make_scene(methods[k],
                                               "  cell_size: %g\n  fps: 0.01\n"
                                               "  gravity: [0, 0, 0]\n  rest_volume: sampled\n",
                                               H),
                                    &start);
        double before = inner_energy(sim), largest = 0;
        for (int n = 0; n < 300; n++) {
            step(sim);
            largest = fmax(largest, inner_energy(sim));
        }
        at_most(largest / before - 1, 0.05, "%s, stirred pairs: energy", method_name(methods[k]));
        firn_sim_destroy(&sim);
        cloud_free(&start);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_metre_a_second),
        cmocka_unit_test(test_other_speeds),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_stirred_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
