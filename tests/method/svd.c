/* The SVD, and functions of symmetric matrices, over a million matrices, random and ill-natured; built for 2D and 3D,
 * double and float. */
#include <float.h>
#include <stdio.h>

#include "mats.h"
#include "method/spectrum.h"

#ifdef REAL_DOUBLE
#define TOLERANCE 1e-14 /* of the largest singular value */
#define DECADES 300     /* sizes from 10^-DECADES to 10^DECADES */
#else
#define TOLERANCE 4e-6
#define DECADES 30
#endif

enum { LAST = FIRN_DIM - 1 };

/* F = U diag(sigma) V^T to rounding, U and V rotations, sigma in order with the sign of det F. */
static void check(mat F)
{
    svd s = svd_of(F);
    double largest = (double)s.sigma.e[0];
    mat identity = mat_identity();
    assert_mat_near(mat_t_mul(s.U, s.U), identity, TOLERANCE, 1);
    assert_mat_near(mat_t_mul(s.V, s.V), identity, TOLERANCE, 1);
    assert_near(mat_det(s.U), 1, TOLERANCE, 1);
    assert_near(mat_det(s.V), 1, TOLERANCE, 1);
    assert_mat_near(svd_compose(s.U, s.sigma, s.V), F, TOLERANCE, largest);
    for (int i = 0; i < LAST; i++)
        assert_true(s.sigma.e[i] >= real_abs(s.sigma.e[i + 1]));
    if (largest > 0) {
        double det = (double)mat_det(mat_scale(F, R(1 / largest)));
        if (fabs(det) > TOLERANCE)
            assert_true((det < 0) == (s.sigma.e[LAST] < 0));
    }
    assert_mat_near(mat_mul(svd_polar(s), svd_stretch(s)), F, TOLERANCE, largest);
}

/* A matrix whose singular values are known (any order and signs) must give them back. */
static void check_known(vec sigma)
{
    mat F = mat_mul_t(mat_mul_diagonal(random_rotation(), sigma), random_rotation());
    svd s = svd_of(F);
    check(F);
    for (int i = 0; i < FIRN_DIM; i++) {
        double nearest = INFINITY;
        for (int j = 0; j < FIRN_DIM; j++)
            nearest = fmin(nearest, fabs((double)(real_abs(s.sigma.e[j]) - real_abs(sigma.e[i]))));
        assert_near(nearest, 0, TOLERANCE, (double)s.sigma.e[0]);
    }
}

static vec random_sigma(int kind)
{
    vec s;
    real same = R(random_in(-1, 1));
    for (int i = 0; i < FIRN_DIM; i++)
        switch (kind) {
        case 0: /* over many decades */
            s.e[i] = R(pow(10, random_in(-8, 8)));
            break;
        case 1: /* of low rank */
            s.e[i] = random_below(2) ? R(random_in(-1, 1)) : R(0);
            break;
        case 2: /* repeated, of either sign */
            s.e[i] = random_below(2) ? same : -same;
            break;
        default: /* nearly repeated */
            s.e[i] = same * R(1 + random_in(-1, 1) * pow(10, random_in(-16, -1)));
            break;
        }
    return s;
}

static mat random_entries(int kind)
{
    mat F = random_mat();
    if (kind == 1) /* snow: near the identity, at every distance from it */
        return mat_mad(mat_identity(), R(pow(10, random_in(-17, 0))), F);
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j < FIRN_DIM; j++) {
            if (kind == 2) /* of few values: many ties, many singular */
                F.m[i][j] = R(random_below(3) - 1);
            if (kind == 3) /* entries of every size */
                F.m[i][j] *= R(pow(10, random_in(-12, 12)));
            if (kind == 4) /* sparse and graded */
                F.m[i][j] = R(random_below(2) * pow(10, -random_below(20)));
        }
    return F;
}

static void test_entries(void **state)
{
    (void)state;
    for (int kind = 0; kind < 5; kind++)
        for (int k = 0; k < 125000; k++)
            check(random_entries(kind));
}

static void test_known_values(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++)
        for (int k = 0; k < 60000; k++)
            check_known(random_sigma(kind));
}

static void test_sizes(void **state)
{
    (void)state;
    for (int kind = 0; kind < 5; kind++)
        for (int k = 0; k < 30000; k++) {
            mat F = random_entries(kind);
            real size = R(mat_size(F));
            if (size > R(0))
                F = mat_scale(F, R(1) / size);
            check(mat_scale(F, R(pow(10, random_in(-DECADES, DECADES)))));
        }
}

static void test_special(void **state)
{
    (void)state;
    check(mat_zero());
    mat subnormal = mat_scale(mat_identity(), R(REAL_TINY));
    subnormal.m[0][1] = R(REAL_TINY) / R(8);
    check(subnormal);
    mat ones = mat_zero();
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j < FIRN_DIM; j++)
            ones.m[i][j] = R(1);
    check(ones);
    check(mat_scale(ones, R(-1)));

    svd s = svd_of(mat_identity());
    for (int i = 0; i < FIRN_DIM; i++)
        assert_near(s.sigma.e[i], 1, TOLERANCE, 1);
    s = svd_of(mat_scale(mat_identity(), R(-2)));
    assert_near(s.sigma.e[0], 2, TOLERANCE, 1);
    assert_near(s.sigma.e[LAST], FIRN_DIM == 3 ? -2 : 2, TOLERANCE, 1);
    mat rotation = random_rotation();
    assert_mat_near(svd_polar(svd_of(rotation)), rotation, TOLERANCE, 1);
}

/* A and A A as functions of A, whatever its eigenvalues: apart, repeated, nearly so, of either sign. */
static void test_functions(void **state)
{
    (void)state;
    for (int k = 0; k < 80000; k++) {
        mat Q = random_rotation();
        mat A = mat_mul_t(mat_mul_diagonal(Q, random_sigma(k % 4)), Q);
        A = mat_scale(mat_add(A, mat_transpose(A)), R(0.5));
        A = mat_scale(A, R(1 / fmax(mat_size(A), 1e-20)));
        spectrum s = spectrum_of(A);
        real square[FIRN_DIM], one[FIRN_DIM];
        for (int i = 0; i < FIRN_DIM; i++) {
            square[i] = s.e[i] * s.e[i];
            one[i] = R(1);
        }
        assert_mat_near(spectrum_map(&s, s.e), A, TOLERANCE, 1);
        assert_mat_near(spectrum_map(&s, square), mat_mul(A, A), TOLERANCE, 1);
        assert_mat_near(spectrum_map(&s, one), mat_identity(), TOLERANCE, 1);
    }
}

static void test_nan(void **state)
{
    (void)state;
    for (int k = 0; k < FIRN_DIM * FIRN_DIM; k++) {
        mat F = random_mat();
        F.m[k / FIRN_DIM][k % FIRN_DIM] = R(NAN);
        svd s = svd_of(F);
        for (int i = 0; i < FIRN_DIM; i++)
            assert_true(isnan(s.sigma.e[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),   cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_sizes),     cmocka_unit_test(test_special),
        cmocka_unit_test(test_functions), cmocka_unit_test(test_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
