/* The snow law against finite differences, in every kind of state; double, 2D and 3D. */
#define REAL_DOUBLE
#include "mats.h"
#include "method/snow_law.h"
#include "method/svd.h"

typedef enum state_kind {
    COMPRESSED,
    STRETCHED,
    NEAR_SINGULAR,
    SINGULAR,
    INVERTED,
    KINDS
} state_kind;

static const lame snow = {58333.333, 38888.889};

static mat random_state_of(state_kind kind)
{
    static const double smallest[KINDS] = {0.5, 1.5, 1e-3, 0, -0.3};
    vec sigma;
    for (int i = 0; i < FIRN_DIM; i++)
        sigma.e[i] = kind == STRETCHED ? random_in(1.5, 2) : random_in(0.6, 1);
    sigma.e[FIRN_DIM - 1] = smallest[kind];
    return mat_mul_t(mat_mul_diagonal(random_rotation(), sigma), random_rotation());
}

static double energy(mat F)
{
    return snow_energy(F, svd_polar(svd_of(F)), snow);
}

static mat stress(mat F)
{
    return snow_stress(F, svd_polar(svd_of(F)), snow);
}

/* The derivative of g at 0 from four values, to fourth order in the step. */
#define DIFFERENCE(value) ((8 * (value(1) - value(-1)) - (value(2) - value(-2))) / (12 * step))

static void test_stress_is_derivative_of_energy(void **state)
{
    (void)state;
    const double step = 1e-3;
    for (int k = 0; k < 500 * KINDS; k++) {
        mat F = random_state_of(k % KINDS), dF = random_mat(), P = stress(F);
#define ENERGY(n) energy(mat_mad(F, (n)*step, dF))
        assert_near(DIFFERENCE(ENERGY), mat_dot(P, dF), 1e-7, mat_size(P));
    }
}

static void test_stress_derivative(void **state)
{
    (void)state;
    const double step = 1e-3;
    for (int k = 0; k < 500 * KINDS; k++) {
        mat F = random_state_of(k % KINDS), dF = random_mat();
        svd s = svd_of(F);
        mat dP = snow_stress_derivative(F, svd_polar(s), svd_stretch(s), snow, dF);
        for (int i = 0; i < FIRN_DIM; i++)
            for (int j = 0; j < FIRN_DIM; j++) {
#define STRESS(n) stress(mat_mad(F, (n)*step, dF)).m[i][j]
                assert_near(DIFFERENCE(STRESS), dP.m[i][j], 1e-7, mat_size(dP));
            }
    }
}

static void test_stress_derivative_is_symmetric(void **state)
{
    (void)state;
    for (int k = 0; k < 1000 * KINDS; k++) {
        mat F = random_state_of(k % KINDS), A = random_mat(), B = random_mat();
        svd s = svd_of(F);
        mat dP_A = snow_stress_derivative(F, svd_polar(s), svd_stretch(s), snow, A);
        mat dP_B = snow_stress_derivative(F, svd_polar(s), svd_stretch(s), snow, B);
        assert_near(mat_dot(A, dP_B), mat_dot(B, dP_A), 1e-12, mat_size(dP_A) + mat_size(dP_B));
    }
}

/* Where sigma_1 + sigma_2 = 0 there is no derivative, but there must be a finite number. */
static void test_stress_derivative_stays_finite(void **state)
{
    (void)state;
    vec sigma = {{0}};
    for (int k = 0; k < 3; k++) {
        sigma.e[0] = k == 2 ? 0 : 1;
        sigma.e[FIRN_DIM - 1] = k == 0 ? -1 : 0;
        mat F = mat_diagonal(sigma), dF = random_mat();
        svd s = svd_of(F);
        mat dP = snow_stress_derivative(F, svd_polar(s), svd_stretch(s), snow, dF);
        assert_true(isfinite(mat_size(dP)));
    }
}

static void test_kirchhoff(void **state)
{
    (void)state;
    for (int k = 0; k < 1000 * KINDS; k++) {
        mat F = random_state_of(k % KINDS);
        svd s = svd_of(F);
        mat T = snow_kirchhoff(s.U, s.sigma, snow);
        assert_mat_near(T, mat_mul_t(stress(F), F), 1e-12, snow.mu);
        for (int i = 0; i < FIRN_DIM; i++)
            for (int j = 0; j < FIRN_DIM; j++)
                assert_true(T.m[i][j] == T.m[j][i]);
    }
}

static void test_rest_has_no_stress(void **state)
{
    (void)state;
    mat rotation = random_rotation();
    assert_mat_near(stress(rotation), mat_zero(), 1e-14, snow.mu);
    assert_near(energy(rotation), 0, 1e-14, snow.mu);
}

/* cof F = J F^-T: F^T cof F = J, through singular states too; its derivative by differences. */
static void test_cofactors(void **state)
{
    (void)state;
    const double step = 1e-3;
    for (int k = 0; k < 200 * KINDS; k++) {
        mat F = random_state_of(k % KINDS), dF = random_mat();
        mat J = mat_scale(mat_identity(), mat_det(F)), d = mat_dcof(F, dF);
        assert_mat_near(mat_t_mul(F, mat_cof(F)), J, 1e-14, 10);
        for (int i = 0; i < FIRN_DIM; i++)
            for (int j = 0; j < FIRN_DIM; j++) {
#define COFACTOR(n) mat_cof(mat_mad(F, (n)*step, dF)).m[i][j]
                assert_near(DIFFERENCE(COFACTOR), d.m[i][j], 1e-11, 10);
            }
    }
}

static void test_hardening(void **state)
{
    (void)state;
    lame l = snow_harden(2, 3, 10, 1);
    assert_near(l.mu, 2, 0, 1);
    assert_near(l.lambda, 3, 0, 1);
    l = snow_harden(2, 3, 10, 0.8);
    assert_near(l.mu, 2 * exp(2), 1e-14, 10);
    assert_near(l.lambda, 3 * exp(2), 1e-14, 10);
    assert_true(snow_harden(1, 1, 10, 1.1).mu < 1);
    assert_near(snow_harden(1, 1, 10, -1e300).mu, exp(SNOW_HARDEN_LIMIT), 1e-14, 1e14);
    assert_near(snow_harden(1, 1, 10, 1e300).mu, exp(-SNOW_HARDEN_LIMIT), 1e-14, 1);
    assert_true(isnan(snow_harden(1, 1, 10, NAN).mu));
    assert_near(sqrt(snow_wave_speed2(snow, 400)), 19.7, 0.05, 1); /* table 2 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stress_is_derivative_of_energy),
        cmocka_unit_test(test_stress_derivative),
        cmocka_unit_test(test_stress_derivative_is_symmetric),
        cmocka_unit_test(test_stress_derivative_stays_finite),
        cmocka_unit_test(test_kirchhoff),
        cmocka_unit_test(test_rest_has_no_stress),
        cmocka_unit_test(test_cofactors),
        cmocka_unit_test(test_hardening),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
