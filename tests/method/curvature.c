/* The second derivative in the frame of the SVD against the one without, and its positive part; double,
 * 2D and 3D. */
#define REAL_DOUBLE
#include "mats.h"
#include "method/step06_solve.h"

static const lame snow = {58333.333, 38888.889};

/* Singular values about 1, or far from it, or with the smallest one near 0 or negative. */
static mat random_state_of(int kind)
{
    static const double smallest[] = {0.97, 0.5, 1.5, 1e-3, 0, -0.3};
    vec sigma;
    for (int i = 0; i < FIRN_DIM; i++)
        sigma.e[i] = kind == 0 ? random_in(0.97, 1.02) : random_in(0.6, 2);
    if (kind > 0)
        sigma.e[FIRN_DIM - 1] = smallest[kind];
    return mat_mul_t(mat_mul_diagonal(random_rotation(), sigma), random_rotation());
}

enum { KINDS = 6, TIMES = 500 };

static mat apply_at(svd s, const snow_curvature *c, mat dF)
{
    mat seen = mat_mul(mat_t_mul(s.U, dF), s.V);
    return mat_mul_t(mat_mul(s.U, snow_curvature_apply(c, seen)), s.V);
}

static void test_is_the_stress_derivative(void **state)
{
    (void)state;
    for (int k = 0; k < TIMES * KINDS; k++) {
        mat F = random_state_of(k % KINDS), dF = random_mat();
        svd s = svd_of(F);
        snow_curvature c = snow_curvature_of(s.sigma, snow);
        mat dP = snow_stress_derivative(F, svd_polar(s), svd_stretch(s), snow, dF);
        assert_mat_near(apply_at(s, &c, dF), dP, 1e-11, mat_size(dP) + snow.mu);
    }
}

static void test_positive(void **state)
{
    (void)state;
    int changed = 0, kept = 0;
    for (int k = 0; k < TIMES * KINDS; k++) {
        svd s = svd_of(random_state_of(k % KINDS));
        snow_curvature c = snow_curvature_of(s.sigma, snow), p = snow_curvature_positive(c);
        mat dF = random_mat();
        double exact = mat_dot(dF, snow_curvature_apply(&c, dF));
        double clamped = mat_dot(dF, snow_curvature_apply(&p, dF));
        double size = mat_size(snow_curvature_apply(&c, dF)) * mat_size(dF);
        assert_true(clamped >= -1e-12 * size);
        /* Only ever more, and exactly the same where every part was positive. */
        assert_true(clamped >= exact - 1e-12 * size);
        mat V = svd_eigenvectors(c.stretch);
        int is_positive = 1;
        for (int i = 0; i < FIRN_DIM; i++)
            is_positive &= vec_dot(mat_column(V, i), mat_vec(c.stretch, mat_column(V, i))) > 0;
        for (int i = 0; i < SNOW_PAIRS; i++)
            is_positive &= c.shear[i] >= 0 && c.twist[i] >= 0;
        if (is_positive) {
            assert_memory_equal(&c, &p, sizeof c);
            kept++;
        } else {
            changed++;
        }
    }
    assert_true(changed > TIMES && kept > TIMES / 4);
}

/* The worst direction of the stretch part is not negative either: its eigenvalues, one by one. */
static void test_positive_stretch(void **state)
{
    (void)state;
    for (int k = 0; k < TIMES * KINDS; k++) {
        svd s = svd_of(random_state_of(k % KINDS));
        mat A = snow_curvature_of(s.sigma, snow).stretch, P = snow_positive(A);
        mat V = svd_eigenvectors(A);
        for (int i = 0; i < FIRN_DIM; i++) {
            vec v = mat_column(V, i);
            double was = vec_dot(v, mat_vec(A, v)), is = vec_dot(v, mat_vec(P, v));
            assert_near(is, fmax(was, 0), 1e-12, mat_size(A));
        }
    }
}

/* At rest: Hooke's law, and turning costs nothing. */
static void test_rest(void **state)
{
    (void)state;
    mat R_E = random_rotation(), dF = random_mat();
    svd s = svd_of(R_E);
    snow_curvature c = snow_curvature_of(s.sigma, snow);
    mat strain = mat_t_mul(R_E, dF);
    strain = mat_scale(mat_add(strain, mat_transpose(strain)), 0.5);
    mat hooke = mat_scale(strain, 2 * snow.mu);
    hooke = mat_mad(hooke, snow.lambda * mat_trace(strain), mat_identity());
    assert_mat_near(apply_at(s, &c, dF), mat_mul(R_E, hooke), 1e-12, snow.mu);
}

/* What a particle does to grad du: V0 dP F_E^T, with the derivative at another F than F_E. */
static void test_particle(void **state)
{
    (void)state;
    const double V0 = 1e-3;
    const lame scaled = {V0 * snow.mu, V0 * snow.lambda};
    for (int k = 0; k < TIMES * KINDS; k++) {
        mat F_E = random_state_of(0), F = random_state_of(k % KINDS);
        mat A = random_mat(), B = random_mat();
        svd s = svd_of(F);
        step06_particle p = step06_prepare(s, F_E, scaled, 0);
        mat dP = snow_stress_derivative(F, svd_polar(s), svd_stretch(s), snow, mat_mul(A, F_E));
        mat want = mat_scale(mat_mul_t(dP, F_E), V0);
        double size = mat_size(want) + V0 * snow.mu;
        assert_mat_near(step06_apply(&p, A), want, 1e-11, size);
        assert_near(mat_dot(B, step06_apply(&p, A)), mat_dot(A, step06_apply(&p, B)), 1e-12,
                    10 * size);
        /* The block of a node is what its own motion does to itself. */
        vec g = random_vec();
        mat block = step06_block(&p, g);
        for (int a = 0; a < FIRN_DIM; a++) {
            vec e = vec_zero();
            e.e[a] = 1;
            vec f = mat_vec(step06_apply(&p, mat_outer(e, g)), g);
            for (int i = 0; i < FIRN_DIM; i++)
                assert_near(block.m[i][a], f.e[i], 1e-11, size * (1 + vec_norm2(g)));
        }
    }
}

static void test_nodes(void **state)
{
    (void)state;
    vec r = random_vec(), none = vec_zero(), n = vec_normalize(random_vec());
    assert_near(vec_norm(vec_sub(step06_free_part(r, none, 1), r)), 0, 0, 1);
    assert_near(vec_norm(step06_free_part(r, none, 0)), 0, 0, 1);
    vec slides = step06_free_part(r, n, 1);
    assert_near(vec_dot(slides, n), 0, 1e-15, 1);
    assert_near(vec_norm(vec_mad(slides, vec_dot(r, n), n)), vec_norm(r), 1e-15, 1);
    vec row = step06_row(r, n, 2, 0.5);
    for (int a = 0; a < FIRN_DIM; a++)
        assert_near(row.e[a], r.e[a] + 0.25 * n.e[a], 1e-15, 1);
}

/* Where sigma_1 + sigma_2 = 0 there is no derivative, but there must be finite numbers. */
static void test_stays_finite(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        vec sigma = vec_zero();
        sigma.e[0] = k == 2 ? 0 : 1;
        sigma.e[FIRN_DIM - 2] = k == 2 ? 0 : 1;
        sigma.e[FIRN_DIM - 1] = k == 0 ? -1 : 0;
        for (int positive = 0; positive < 2; positive++) {
            step06_particle p =
                step06_prepare(svd_of(mat_diagonal(sigma)), mat_identity(), snow, positive);
            assert_true(isfinite(mat_size(step06_apply(&p, random_mat()))));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_the_stress_derivative),
        cmocka_unit_test(test_positive),
        cmocka_unit_test(test_positive_stretch),
        cmocka_unit_test(test_rest),
        cmocka_unit_test(test_particle),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_stays_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
