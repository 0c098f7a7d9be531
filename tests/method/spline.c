/* The splines: partition of unity, linear reproduction, agreement with N(x) and with differences.
 * */
#define REAL_DOUBLE
#include "method/spline.h"
#include "numbers.h"

static const double edges[] = {0,           -0.0,          1,       -1,       0.5,   -0.5,
                               1.5,         -1e-300,       1e-300,  -1e-17,   1e-17, 0x1p-53,
                               1 - 0x1p-53, 0.5 - 0x1p-54, 12345.5, -12345.5, -1e6,  1e6};

static double position(int k)
{
    int edge_count = sizeof edges / sizeof *edges;
    return k < edge_count ? edges[k] : random_in(-100, 100);
}

typedef struct stencil {
    int nodes;
    double (*base)(double);
    void (*weights)(double, double *);
    void (*slopes)(double, double *);
    double (*n)(double), (*dn)(double);
} stencil;

static const stencil cubic = {4, cubic_base, cubic_weights, cubic_slopes, cubic_n, cubic_dn};
static const stencil quadratic = {3,           quadratic_base, quadratic_weights, quadratic_slopes,
                                  quadratic_n, quadratic_dn};
static const stencil cubic_mls = {4, cubic_base, cubic_weights, cubic_mls_slopes, NULL, NULL};
static const stencil quadratic_mls = {
    3, quadratic_base, quadratic_weights, quadratic_mls_slopes, NULL, NULL};

static void check_moments(const stencil *s)
{
    for (int k = 0; k < 100000; k++) {
        double u = position(k), base = s->base(u), f = u - base, w[4], g[4];
        double sum = 0, slope_sum = 0, mean = 0, slope_mean = 0;
        assert_true(f >= 0.5 * (s->nodes - 2) && f <= 0.5 * s->nodes);
        s->weights(f, w);
        s->slopes(f, g);
        for (int i = 0; i < s->nodes; i++) {
            assert_true(w[i] >= 0);
            sum += w[i];
            slope_sum += g[i];
            mean += w[i] * i;
            slope_mean += g[i] * i;
        }
        assert_near(sum, 1, 1e-15, 1);
        assert_near(slope_sum, 0, 1e-15, 1);
        assert_near(mean, f, 1e-14, 1);
        assert_near(slope_mean, 1, 1e-14, 1);
    }
}

static void check_textbook(const stencil *s)
{
    for (int k = 0; k < 10000; k++) {
        double u = position(k), f = u - s->base(u), w[4], g[4];
        s->weights(f, w);
        s->slopes(f, g);
        for (int i = 0; i < s->nodes; i++) {
            assert_near(w[i], s->n(f - i), 1e-15, 1);
            assert_near(g[i], s->dn(f - i), 2e-15, 1);
        }
    }
}

static void check_derivative(const stencil *s)
{
    const double step = 1e-6;
    for (int k = 0; k < 10000; k++) {
        double x = random_in(-2.5, 2.5);
        assert_near((s->n(x + step) - s->n(x - step)) / (2 * step), s->dn(x), 3e-6, 1);
    }
    assert_near(s->n(0.5 * s->nodes), 0, 0, 1);
    assert_near(s->dn(-0.5 * s->nodes), 0, 0, 1);
}

static void check_inertia(const stencil *s, double inv_D)
{
    for (int k = 0; k < 1000; k++) {
        double f = random_in(0.5 * (s->nodes - 2), 0.5 * s->nodes), w[4], D = 0;
        s->weights(f, w);
        for (int i = 0; i < s->nodes; i++)
            D += w[i] * (i - f) * (i - f);
        assert_near(D * inv_D, 1, 1e-14, 1);
    }
}

/* sum_k g_k^2 / w_k = D^-1, wherever the particle is: what `cfl: auto` rests on. */
static void check_felt(const stencil *s, double inv_D)
{
    for (int k = 0; k < 1000; k++) {
        double f = random_in(0.5 * (s->nodes - 2), 0.5 * s->nodes), w[4], g[4], felt = 0;
        s->weights(f, w);
        s->slopes(f, g);
        for (int i = 0; i < s->nodes; i++)
            felt += g[i] * g[i] / w[i];
        assert_near(felt, inv_D, 1e-13, 1);
    }
}

static void test_cubic(void **state)
{
    (void)state;
    check_moments(&cubic);
    check_textbook(&cubic);
    check_derivative(&cubic);
    check_inertia(&cubic, cubic_inv_D(1));
    assert_near(cubic_n(0), 2.0 / 3.0, 1e-16, 1);
    assert_near(cubic_n(1), 1.0 / 6.0, 1e-16, 1);
    assert_near(cubic_dn(1), -0.5, 0, 1);
    assert_near(cubic_dn(-1), 0.5, 0, 1);
}

static void test_quadratic(void **state)
{
    (void)state;
    check_moments(&quadratic);
    check_textbook(&quadratic);
    check_derivative(&quadratic);
    check_inertia(&quadratic, quadratic_inv_D(1));
    assert_near(quadratic_n(0), 0.75, 0, 1);
    assert_near(quadratic_n(-1), 0.125, 0, 1);
    assert_near(quadratic_dn(1), -0.5, 0, 1);
}

/* The quadratic fit in sums and differences of the outer nodes, as the GPU may take it. */
static void check_quadratic_fit(void)
{
    for (int k = 0; k < 1000; k++) {
        double u = random_in(-0.5, 0.5), v[3], g[3], slope = 0;
        quadratic_mls_slopes(1 + u, g);
        for (int i = 0; i < 3; i++) {
            v[i] = random_in(-1, 1);
            slope += g[i] * v[i];
        }
        double s = v[2] - v[0], c = v[0] - 2 * v[1] + v[2];
        assert_near(slope, s / 2 + (1.5 * u - 2 * u * u * u) * c, 1e-14, 1);
    }
}

static void test_mls(void **state)
{
    (void)state;
    check_moments(&cubic_mls);
    check_moments(&quadratic_mls);
    check_felt(&cubic_mls, cubic_inv_D(1));
    check_felt(&quadratic_mls, quadratic_inv_D(1));
    check_quadratic_fit();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cubic),
        cmocka_unit_test(test_quadratic),
        cmocka_unit_test(test_mls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
