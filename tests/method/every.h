/*
 * Every function of the method, from one row of numbers to another. variant.c runs it as lanes of
 * every width and instruction set, cuda.cu on a graphics processor; all must agree with the
 * scalars.
 */
#ifndef FIRN_TESTS_METHOD_EVERY_H
#define FIRN_TESTS_METHOD_EVERY_H

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

enum {
    EVERY_IN = 3 + 3 * FIRN_DIM + 2 * FIRN_DIM * FIRN_DIM,
    EVERY_OUT = 39 + 12 * FIRN_DIM + 16 * FIRN_DIM * FIRN_DIM
};

/* In parts that are not inlined, or the compilers would take their time over lanes without
 * registers. */
#ifdef __CUDACC__
#define PART static __host__ __device__
#else
#define PART static __attribute__((noinline))
#endif

FN vec take_vec(const real **in)
{
    vec r;
    for (int i = 0; i < FIRN_DIM; i++)
        r.e[i] = *(*in)++;
    return r;
}

FN mat take_mat(const real **in)
{
    mat r;
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j < FIRN_DIM; j++)
            r.m[i][j] = *(*in)++;
    return r;
}

FN void put(real **out, real x)
{
    *(*out)++ = x;
}

FN void put_vec(real **out, vec v)
{
    for (int i = 0; i < FIRN_DIM; i++)
        put(out, v.e[i]);
}

FN void put_mat(real **out, mat a)
{
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j < FIRN_DIM; j++)
            put(out, a.m[i][j]);
}

PART void every_spline(const real *in, real *out)
{
    real w[4], u = in[1], s = in[2], f = u - cubic_base(u);
    cubic_weights(f, w);
    for (int i = 0; i < 4; i++)
        put(&out, w[i] + cubic_n(f - R(i)));
    cubic_slopes(f, w);
    for (int i = 0; i < 4; i++)
        put(&out, w[i] + cubic_dn(f - R(i)));
    cubic_mls_slopes(f, w);
    for (int i = 0; i < 4; i++)
        put(&out, w[i]);
    f = u - quadratic_base(u);
    quadratic_weights(f, w);
    for (int i = 0; i < 3; i++)
        put(&out, w[i] + quadratic_n(f - R(i)));
    quadratic_slopes(f, w);
    for (int i = 0; i < 3; i++)
        put(&out, w[i] + quadratic_dn(f - R(i)));
    quadratic_mls_slopes(f, w);
    for (int i = 0; i < 3; i++)
        put(&out, w[i]);
    put(&out, cubic_inv_D(s) + quadratic_inv_D(s));
}

PART void every_number(const real *in, real *out)
{
    real x = in[0], u = in[1], s = in[2];
    put(&out, real_min(x, u));
    put(&out, real_max(x, u));
    put(&out, real_abs(x));
    put(&out, real_floor(u));
    put(&out, real_floor(-u));
    put(&out, real_sqrt(s));
    put(&out, real_rsqrt(s));
    put(&out, real_exp(x));
    put(&out, real_clamp(x, real_of(-1), real_of(1)));
    put(&out, lane_select(x < u, x, u));
    put(&out, lane_select(lane_not(x < u), x, u));
    put(&out, lane_any(x < x) ? real_of(1) : real_of(0));
    put(&out, lane_all(s < s + R(1)) ? real_of(1) : real_of(0));
    put(&out, step02_volume(x, s, u));
    lame l = snow_harden(s, R(2) * s, real_of(10), x);
    put(&out, l.mu);
    put(&out, l.lambda);
    put(&out, snow_wave_speed2(l, R(400) + s));
}

PART void every_vector(const real *in, real *out)
{
    real x = in[0], u = in[1], s = in[2];
    in += 3;
    vec a = take_vec(&in), b = take_vec(&in), n = vec_normalize(take_vec(&in));
    mat F = take_mat(&in), G = take_mat(&in);
    put_vec(&out, vec_select(x < u, vec_add(a, b), vec_zero()));
    put_vec(&out, step01_velocity(a, G, b));
    put_vec(&out, step03_force(F, a));
    put_vec(&out, step04_velocity(a, b, s + R(1), n, s));
    put_vec(&out, step05_velocity(a, x, b, n, s, u < R(0)));
    put_vec(&out, step08_flip(a, b, n, s));
    put_vec(&out, step09_velocity(a, u, b, n, s, x < R(0)));
    put_vec(&out, step10_position(a, b, s));
    put_vec(&out, vec_scale(mat_t_vec(F, a), vec_norm(b) + mat_trace(F)));
    put_mat(&out, step01_apic_C(mat_transpose(F), s));
    put_mat(&out, step08_apic_B(F, s, a, b));
    put_mat(&out, mat_mad(mat_dcof(F, G), x, mat_cof(F)));
    put_mat(&out, mat_scale(mat_mul(F, G), mat_det(F)));
    put_mat(&out, mat_sub(mat_t_mul(F, G), mat_add(mat_zero(), mat_mul_t(F, G))));
}

PART void every_law(const real *in, real *out)
{
    lame l;
    l.mu = real_of(1);
    l.lambda = in[2];
    in += 3 + 3 * FIRN_DIM;
    mat F = take_mat(&in), G = take_mat(&in);
    svd d = svd_of(F);
    mat R_E = svd_polar(d), S = svd_stretch(d);
    put_vec(&out, d.sigma);
    put_mat(&out, R_E);
    put_mat(&out, mat_scale(S, snow_energy(F, R_E, l)));
    put_mat(&out, snow_stress(F, R_E, l));
    put_mat(&out, snow_stress_derivative(F, R_E, S, l, G));
    step06_particle exact = step06_prepare(d, G, l, 0), positive = step06_prepare(d, G, l, 1);
    put_mat(&out, step06_apply(&exact, G));
    put_mat(&out, step06_apply(&positive, G));
    put_mat(&out, step06_block(&positive, mat_column(G, 0)));
    put_vec(&out, step06_row(d.sigma, mat_column(G, 0), l.mu, l.lambda));
    put_vec(&out, step06_free_part(d.sigma, mat_column(R_E, 0), l.lambda));
}

PART void every_deformation(const real *in, real *out)
{
    real s = in[2], one = real_of(1), J_P = R(0.8) + R(0.3) * s;
    in += 3 + 3 * FIRN_DIM;
    mat F = take_mat(&in), G = take_mat(&in);
    put_mat(&out, step03_stress(F, J_P, one, one, s, real_of(10)));
    deformation d =
        step07_deform(G, real_of(R(0.1)), F, J_P, real_of(R(0.025)), real_of(R(0.0075)));
    put_mat(&out, mat_scale(d.F_E, d.J_P));
    put_mat(&out, step03_stress_of_svd(d.s, d.J_P, one, one, s, one));
    mat small = mat_mad(mat_identity(), real_of(R(0.1)), G);
    d = step07_return_near(small, strain_of(small), J_P, real_of(R(0.025)), real_of(R(0.0075)));
    put_mat(&out, mat_scale(d.F_E, d.J_P));
}

PART void every_function(const real *in, real *out)
{
    const int d = FIRN_DIM;
    every_spline(in, out);
    every_number(in, out + 22);
    every_vector(in, out + 39);
    every_law(in, out + 39 + 9 * d + 5 * d * d);
    every_deformation(in, out + 39 + 12 * d + 12 * d * d);
}

#endif
