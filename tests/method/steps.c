/* The ten steps of one particle and one node; double, 2D and 3D. */
#define REAL_DOUBLE
#include "mats.h"
#include "method/spline.h"
#include "method/step01_rasterize.h"
#include "method/step02_volume.h"
#include "method/step03_force.h"
#include "method/step04_grid_velocity.h"
#include "method/step05_grid_collision.h"
#include "method/step06_solve.h"
#include "method/step07_deformation.h"
#include "method/step08_particle_velocity.h"
#include "method/step09_particle_collision.h"
#include "method/step10_position.h"

static const double theta_c = 2.5e-2, theta_s = 7.5e-3, xi = 10;
static const double mu0 = 1.4e5 / 2.4, lambda0 = 1.4e5 * 0.2 / (1.2 * 0.6);

static void assert_vec_near(vec a, vec b, double tolerance)
{
    assert_near(vec_norm(vec_sub(a, b)), 0, tolerance, 1);
}

static vec along(int axis, double value)
{
    vec r = vec_zero();
    r.e[axis] = value;
    return r;
}

/* ---- Steps 1, 8: APIC carries an affine velocity field exactly, FLIP blends -------------- */

static void test_affine_round_trip(void **state)
{
    (void)state;
    const double h = 0.1;
    for (int k = 0; k < 100; k++) {
        mat C = random_mat(), B = mat_zero();
        vec v = random_vec(), x = random_vec(), pic = vec_zero();
        double w[FIRN_DIM][4], base[FIRN_DIM];
        for (int a = 0; a < FIRN_DIM; a++) {
            base[a] = cubic_base(x.e[a] / h);
            cubic_weights(x.e[a] / h - base[a], w[a]);
        }
        for (int node = 0; node < (FIRN_DIM == 3 ? 64 : 16); node++) {
            double weight = 1;
            vec d;
            for (int a = 0; a < FIRN_DIM; a++) {
                int i = node >> (2 * a) & 3;
                weight *= w[a][i];
                d.e[a] = (base[a] + i) * h - x.e[a];
            }
            vec v_i = step01_velocity(v, C, d);
            pic = vec_mad(pic, weight, v_i);
            B = step08_apic_B(B, weight, v_i, d);
        }
        assert_vec_near(pic, v, 1e-13);
        assert_mat_near(step01_apic_C(B, cubic_inv_D(1 / h)), C, 1e-12, 1);
    }
}

static void test_flip(void **state)
{
    (void)state;
    vec v = random_vec(), pic_new = random_vec(), pic_old = random_vec();
    vec flip = vec_add(v, vec_sub(pic_new, pic_old));
    assert_vec_near(step08_flip(v, pic_new, pic_old, 0), pic_new, 0);
    assert_vec_near(step08_flip(v, pic_new, pic_old, 1), flip, 1e-15);
    vec blend = vec_mad(vec_scale(pic_new, 0.05), 0.95, flip);
    assert_vec_near(step08_flip(v, pic_new, pic_old, 0.95), blend, 1e-15);
}

/* ---- Steps 2, 4, 10 ---------------------------------------------------------------------- */

static void test_volume(void **state)
{
    (void)state;
    /* Eight particles of mass m in every cell of volume c: each owns an eighth of a cell. */
    const double m = 0.5, c = 1e-6;
    assert_near(step02_volume(m, 8 * m, c), c / 8, 1e-22, 1);
}

static void test_motion(void **state)
{
    (void)state;
    vec v = random_vec(), f = random_vec(), g = random_vec(), x = random_vec();
    for (int i = 0; i < FIRN_DIM; i++) {
        assert_near(step04_velocity(v, f, 4, g, 0.5).e[i], v.e[i] + 0.5 * (f.e[i] / 4 + g.e[i]),
                    1e-15, 1);
        assert_near(step10_position(x, v, 0.25).e[i], x.e[i] + 0.25 * v.e[i], 1e-15, 1);
    }
}

/* ---- Step 3: the thesis's appendix A, with the errata of METHOD section 8 ----------------- */

static void test_stress_forms_agree(void **state)
{
    (void)state;
    for (int k = 0; k < 100; k++) {
        mat F = mat_mad(mat_identity(), 0.1, random_mat());
        double J_P = random_in(0.8, 1.1), V0 = 1e-6;
        lame l = snow_harden(mu0, lambda0, xi, J_P);
        mat P = snow_stress(F, svd_polar(svd_of(F)), l);
        mat expected = mat_scale(mat_mul_t(P, F), V0);
        assert_mat_near(step03_stress(F, J_P, V0, mu0, lambda0, xi), expected, 1e-13, l.mu * V0);
        vec grad_w = random_vec();
        vec force = vec_add(step03_force(expected, grad_w), mat_vec(expected, grad_w));
        assert_vec_near(force, vec_zero(), 0);
    }
}

#if FIRN_DIM == 3
static void test_thesis_appendix_A(void **state)
{
    (void)state;
    const double h = 0.005;
    vec sigma = {{1, 1 - theta_c, 1}};
    mat stress = step03_stress(mat_diagonal(sigma), 1, 1, mu0, lambda0, xi);
    vec expected = {{-947.9167, -3791.6667, -947.9167}};
    assert_mat_near(stress, mat_diagonal(expected), 1e-4, 1);

    /* On a node, the nine nodes of the layer above receive 1895.8 V0 / h along y in all. */
    double w[4], g[4], total = 0;
    cubic_weights(1, w);
    cubic_slopes(1, g);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            vec grad_w = along(1, w[i] * g[2] * w[k] / h);
            double f = step03_force(stress, grad_w).e[1];
            if (i != 1 && k != 1)
                assert_near(f * h, 52.66, 0.005, 1);
            total += f;
        }
    assert_near(total * h, 1895.8, 0.05, 1);
    /* Weight of the five sixths of the mass that are above the floor: m/V = 231.9 / h. */
    assert_near(total / (9.81 * (1 - w[0])) * h, 231.9, 0.05, 1);
}
#endif

/* ---- Steps 5, 9 -------------------------------------------------------------------------- */

static void test_collision_cases(void **state)
{
    (void)state;
    vec n = along(1, 1), still = vec_zero(), v = along(0, 3);
    v.e[1] = 1; /* separating */
    assert_vec_near(collide_response(v, still, n, 0.5, 0), v, 0);
    v.e[1] = 0; /* grazing: v_n = 0 is left alone */
    assert_vec_near(collide_response(v, still, n, 0.5, 0), v, 0);
    v.e[1] = -2; /* sliding: 3 - 0.5 * 2 */
    assert_vec_near(collide_response(v, still, n, 0.5, 0), along(0, 2), 1e-15);
    /* without friction only the normal part goes */
    assert_vec_near(collide_response(v, still, n, 0, 0), along(0, 3), 1e-15);
    v.e[1] = -7; /* sticking: 3 <= 0.5 * 7 */
    assert_vec_near(collide_response(v, still, n, 0.5, 0), still, 0);
    v.e[1] = -6; /* just sticking: 3 <= 0.5 * 6 */
    assert_vec_near(collide_response(v, still, n, 0.5, 0), still, 0);
    v = along(1, -2); /* head on, no tangent to divide by */
    assert_vec_near(collide_response(v, still, n, 0.5, 0), still, 0);
    assert_vec_near(collide_response(v, still, n, 0, 0), still, 0);
    v = along(1, 5); /* sticky bodies hold what is leaving, too */
    assert_vec_near(collide_response(v, still, n, 0.5, 1), still, 0);
}

static void test_collision_moves_with_the_body(void **state)
{
    (void)state;
    for (int k = 0; k < 1000; k++) {
        vec v = random_vec(), v_co = random_vec(), n = vec_normalize(random_vec());
        double friction = random_in(0, 1);
        vec rel = collide_response(vec_sub(v, v_co), vec_zero(), n, friction, 0);
        vec met = collide_response(v, v_co, n, friction, 0);
        assert_vec_near(met, vec_add(rel, v_co), 1e-14);
        assert_true(vec_dot(rel, n) >= -1e-14);
        assert_vec_near(collide_response(v, v_co, n, friction, 1), v_co, 0);
    }
}

static void test_collision_only_inside(void **state)
{
    (void)state;
    vec n = along(1, 1), v = along(1, -1), still = vec_zero();
    assert_vec_near(step05_velocity(v, 1e-9, still, n, 0, 0), v, 0);
    assert_vec_near(step05_velocity(v, 0, still, n, 0, 0), still, 0);
    assert_vec_near(step09_velocity(v, -1, still, n, 0, 0), still, 0);
    assert_vec_near(step09_velocity(v, 1e-9, still, n, 0, 1), v, 0);
}

/* ---- Step 6 ------------------------------------------------------------------------------ */

/* V0 dP F_E^T for dF = A F_E */
static mat hessian(mat A, mat F, lame l, double V0)
{
    lame scaled = {V0 * l.mu, V0 * l.lambda};
    step06_particle p = step06_prepare(svd_of(F), F, scaled, 0);
    return step06_apply(&p, A);
}

static void test_hessian_is_symmetric(void **state)
{
    (void)state;
    lame l = {mu0, lambda0};
    for (int k = 0; k < 100; k++) {
        mat F = mat_mad(mat_identity(), 0.2, random_mat()), A = random_mat(), B = random_mat();
        mat HA = hessian(A, F, l, 1e-6), HB = hessian(B, F, l, 1e-6);
        assert_near(mat_dot(A, HB), mat_dot(B, HA), 1e-12, mat_size(HA) + mat_size(HB));
    }
}

/* A : H(A) is the second derivative of the energy as F grows by s A F. */
static void test_hessian_is_second_derivative(void **state)
{
    (void)state;
    const double step = 1e-3, V0 = 1e-6;
    lame l = {mu0, lambda0};
    for (int k = 0; k < 100; k++) {
        mat F = mat_mad(mat_identity(), 0.2, random_mat()), A = random_mat();
        double e[5], H = mat_dot(A, hessian(A, F, l, V0));
        for (int i = 0; i < 5; i++) {
            mat F_i = mat_mad(F, (i - 2) * step, mat_mul(A, F));
            e[i] = V0 * snow_energy(F_i, svd_polar(svd_of(F_i)), l);
        }
        double difference = (-e[0] + 16 * e[1] - 30 * e[2] + 16 * e[3] - e[4]) / (12 * step * step);
        assert_near(difference, H, 1e-7, V0 * mu0 * 10);
    }
}

/* ---- Step 7 ------------------------------------------------------------------------------ */

static void check_return(mat F_hat, double J_P)
{
    svd before = svd_of(F_hat);
    deformation d = step07_return(F_hat, J_P, theta_c, theta_s);
    svd after = svd_of(d.F_E);
    for (int i = 0; i < FIRN_DIM; i++) {
        double clamped = fmin(fmax(before.sigma.e[i], 1 - theta_c), 1 + theta_s);
        assert_near(after.sigma.e[i], clamped, 1e-13, 1 + before.sigma.e[0]);
        assert_near(d.s.sigma.e[i], clamped, 1e-13, 1);
    }
    assert_mat_near(svd_compose(d.s.U, d.s.sigma, d.s.V), d.F_E, 1e-13, 1 + before.sigma.e[0]);
    assert_near(mat_det(d.F_E) * d.J_P, mat_det(F_hat) * J_P, 1e-13, 1 + pow(before.sigma.e[0], 3));
}

static void test_return_map(void **state)
{
    (void)state;
    for (int k = 0; k < 20000; k++) {
        mat F = mat_mad(random_rotation(), pow(10, random_in(-6, 0)), random_mat());
        check_return(F, random_in(0.5, 1.5));
    }
    vec crushed = {{0}};
    check_return(mat_diagonal(crushed), 1);
    crushed.e[0] = -0.5;
    check_return(mat_diagonal(crushed), 0.9);
}

/* Rotated stretches: without U the map is the same, far beyond the bounds and where stretches are equal. */
static void test_return_map_near(void **state)
{
    (void)state;
    int near = 0;
    for (int k = 0; k < 20000; k++) {
        vec sigma;
        for (int i = 0; i < FIRN_DIM; i++)
            sigma.e[i] = k % 3 == 0 && i > 0 ? sigma.e[0] : 1 + random_in(-0.3, 0.3);
        mat F = svd_compose(random_rotation(), sigma, random_rotation());
        mat E = strain_of(F);
        if (!step07_is_near(E, mat_det(F)))
            continue;
        double J_P = random_in(0.5, 1.5);
        deformation by_svd = step07_return(F, J_P, theta_c, theta_s),
                    d = step07_return_near(F, E, J_P, theta_c, theta_s);
        assert_mat_near(d.F_E, by_svd.F_E, 1e-14, 1);
        assert_near(d.J_P, by_svd.J_P, 1e-14, 1);
        near++;
    }
    assert_in_range(near, 5000, 19999);
    vec crushed = {{0}}, turned = {{0}};
    for (int i = 0; i < FIRN_DIM; i++)
        turned.e[i] = i == 0 ? -1 : 1;
    mat none = mat_scale(mat_identity(), NAN);
    assert_false(step07_is_near(strain_of(mat_diagonal(crushed)), 0));
    assert_false(step07_is_near(strain_of(mat_diagonal(turned)), -1));
    assert_false(step07_is_near(strain_of(none), NAN));
}

static void test_elastic_particles_keep_every_bit(void **state)
{
    (void)state;
    for (int k = 0; k < 1000; k++) {
        mat F = mat_mad(mat_identity(), 1e-3, random_mat());
        for (int near = 0; near < 2; near++) {
            deformation d = near ? step07_return_near(F, strain_of(F), 0.93, theta_c, theta_s)
                                 : step07_return(F, 0.93, theta_c, theta_s);
            assert_memory_equal(&d.F_E, &F, sizeof F);
            assert_true(d.J_P == 0.93);
        }
    }
}

static void test_deform(void **state)
{
    (void)state;
    mat F = mat_mad(mat_identity(), 1e-3, random_mat()), grad_v = random_mat();
    mat F_hat = mat_mul(mat_mad(mat_identity(), 1e-3, grad_v), F);
    assert_mat_near(step07_deform(grad_v, 1e-3, F, 1, theta_c, theta_s).F_E, F_hat, 1e-15, 1);

    /* Squeezed along y beyond theta_c: the rest becomes plastic, and the snow harder. */
    grad_v = mat_diagonal(along(1, -1));
    deformation d = step07_deform(grad_v, 0.1, mat_identity(), 1, theta_c, theta_s);
    assert_near(d.F_E.m[1][1], 1 - theta_c, 1e-15, 1);
    assert_near(d.F_E.m[0][0], 1, 0, 1);
    assert_near(d.J_P, 0.9 / (1 - theta_c), 1e-15, 1);
    assert_true(snow_harden(mu0, lambda0, xi, d.J_P).mu > mu0);
    mat reused = step03_stress_of_svd(d.s, d.J_P, 1, mu0, lambda0, xi);
    assert_mat_near(reused, step03_stress(d.F_E, d.J_P, 1, mu0, lambda0, xi), 1e-13, mu0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_affine_round_trip),
        cmocka_unit_test(test_flip),
        cmocka_unit_test(test_volume),
        cmocka_unit_test(test_motion),
        cmocka_unit_test(test_stress_forms_agree),
#if FIRN_DIM == 3
        cmocka_unit_test(test_thesis_appendix_A),
#endif
        cmocka_unit_test(test_collision_cases),
        cmocka_unit_test(test_collision_moves_with_the_body),
        cmocka_unit_test(test_collision_only_inside),
        cmocka_unit_test(test_hessian_is_symmetric),
        cmocka_unit_test(test_hessian_is_second_derivative),
        cmocka_unit_test(test_return_map),
        cmocka_unit_test(test_return_map_near),
        cmocka_unit_test(test_elastic_particles_keep_every_bit),
        cmocka_unit_test(test_deform),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
