/* What stands in for an SVD where it can: the stress as a series, and the test for yield. */
#define FIRN_DIM 3
#define REAL_DOUBLE
#include <stdbool.h>

#include "mats.h"
#include "method/snow_law.h"
#include "method/step07_deformation.h"
#include "method/stress_series.h"

/* A rotated stretch by these values. */
static mat stretched(double a, double b, double c)
{
    vec sigma = {{a, b, c}};
    return svd_compose(random_rotation(), sigma, random_rotation());
}

/* By the SVD, within the reach that the number of terms was chosen for. */
static void test_series(void **state)
{
    (void)state;
    for (int k = 0; k < 20000; k++) {
        double theta = k % 2 ? 0.025 : 0.2;
        stress_series_plan plan =
            stress_series_plan_for(stress_series_strain_most(theta, theta / 3));
        mat F = stretched(1 + random_in(-theta, theta / 3), 1 + random_in(-theta, theta / 3),
                          1 + random_in(-theta, theta / 3));
        lame l = {random_in(1, 2), random_in(0, 2)};
        svd s = svd_of(F);
        mat E = strain_of(F);
        real dilation = strain_dilation(F);
        assert_true(lane_all(stress_series_holds(&plan, strain_size(E), dilation)));
        mat series = stress_series(E, dilation, l, &plan);
        assert_mat_near(series, snow_kirchhoff(s.U, s.sigma, l), 2e-7, theta);
    }
}

static bool yields(mat F, double theta_c, double theta_s)
{
    return step07_beyond(strain_of(F), mat_det(F), theta_c, theta_s);
}

/* The same answer as clamping singular values, but for a hair at the surface itself. */
static void test_yields(void **state)
{
    (void)state;
    int yielding = 0;
    for (int k = 0; k < 20000; k++) {
        double theta_c = 0.025, theta_s = 0.0075, hair = 1e-9;
        double sigma[3], low = 2, high = 0;
        for (int i = 0; i < 3; i++) {
            sigma[i] = random_in(1 - 1.2 * theta_c, 1 + 1.2 * theta_s);
            low = fmin(low, sigma[i]);
            high = fmax(high, sigma[i]);
        }
        if (fabs(low - (1 - theta_c)) < hair || fabs(high - (1 + theta_s)) < hair)
            continue;
        bool beyond = low < 1 - theta_c || high > 1 + theta_s;
        mat F = stretched(sigma[0], sigma[1], sigma[2]);
        assert_int_equal(yields(F, theta_c, theta_s), beyond);
        yielding += beyond;
    }
    assert_in_range(yielding, 2000, 18000);
    /* Turned inside out, crushed, and not a number. */
    assert_true(yields(stretched(1, 1, -1), 0.025, 0.0075));
    assert_true(yields(mat_zero(), 0.025, 0.0075));
    assert_true(yields(mat_scale(mat_identity(), NAN), 0.025, 0.0075));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_yields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
