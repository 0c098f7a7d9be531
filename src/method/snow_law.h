/*
 * The elasticity of snow: fixed corotated energy with hardening (paper eq 1, 2; METHOD sections 3,
 * 4).
 *
 * F is the elastic deformation, F = R_E S with the rotation R_E (svd_polar). Energies are per rest
 * volume.
 * The volume term uses the cofactor matrix cof F = J F^-T, so nothing divides by J: crushed and
 * inverted states (J <= 0) are as good as any.
 *
 * Does NOT do: plasticity; that is step 7.
 */
#ifndef FIRN_METHOD_SNOW_LAW_H
#define FIRN_METHOD_SNOW_LAW_H

#include "method/mat.h"

typedef struct lame {
    real mu, lambda; /* Pa */
} lame;

/* The exponent of hardening is held within +-30, a factor of 1e13 either way, so that no J_P can
 * carry a float out of its range. */
#define SNOW_HARDEN_LIMIT 30

FN real snow_harden_exponent(real xi, real J_P)
{
    real limit = real_of(SNOW_HARDEN_LIMIT);
    return real_clamp(xi * (R(1) - J_P), -limit, limit);
}

/* mu = mu0 exp(xi (1 - J_P)), lambda likewise */
FN lame snow_harden(real mu0, real lambda0, real xi, real J_P)
{
    real factor = real_exp(snow_harden_exponent(xi, J_P));
    lame l;
    l.mu = mu0 * factor;
    l.lambda = lambda0 * factor;
    return l;
}

/* Psi = mu |F - R_E|^2 + lambda/2 (J - 1)^2                                                (1) */
FN real snow_energy(mat F, mat R_E, lame l)
{
    mat D = mat_sub(F, R_E);
    real j = mat_det(F) - R(1);
    return l.mu * mat_dot(D, D) + R(0.5) * l.lambda * j * j;
}

/* P = dPsi/dF = 2 mu (F - R_E) + lambda (J - 1) cof F                                      (2) */
FN mat snow_stress(mat F, mat R_E, lame l)
{
    mat P = mat_scale(mat_sub(F, R_E), R(2) * l.mu);
    return mat_mad(P, l.lambda * (mat_det(F) - R(1)), mat_cof(F));
}

/* The symmetric matrix P F^T = U diag(2 mu (s_i - 1) s_i + lambda (J - 1) J) U^T, from the SVD of
 * F. */
FN mat snow_kirchhoff(mat U, vec sigma, lame l)
{
    real J = sigma.e[0];
    for (int i = 1; i < FIRN_DIM; i++)
        J *= sigma.e[i];
    real pressure = l.lambda * (J - R(1)) * J;
    vec t;
    for (int i = 0; i < FIRN_DIM; i++)
        t.e[i] = R(2) * l.mu * (sigma.e[i] - R(1)) * sigma.e[i] + pressure;
    mat Ut = mat_mul_diagonal(U, t), r;
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j <= i; j++) {
            r.m[i][j] = Ut.m[i][0] * U.m[j][0];
            for (int k = 1; k < FIRN_DIM; k++)
                r.m[i][j] += Ut.m[i][k] * U.m[j][k];
            r.m[j][i] = r.m[i][j];
        }
    return r;
}

/* Keep a divisor as far from zero as rounding can tell, beside terms of this size. */
FN real snow_divisor(real x, real size)
{
    real least = R(REAL_EPSILON) * (R(1) + size);
    return lane_select(real_abs(x) > least, x, least);
}

/*
 * dR = R_E Y as F = R_E S changes by dF: Y is skew and Y S + S Y = W = R_E^T dF - dF^T R_E. Where
 * two singular values cancel (s1 + s2 = 0, inverted) R_E has no derivative; dR is then merely
 * large.
 */
FN mat snow_polar_derivative(mat R_E, mat S, mat dF)
{
    mat A = mat_t_mul(R_E, dF), Y = mat_zero();
#if FIRN_DIM == 3
    real W01 = A.m[0][1] - A.m[1][0], W02 = A.m[0][2] - A.m[2][0], W12 = A.m[1][2] - A.m[2][1];
    /* The system of METHOD section 4 for a = Y01, b = Y02, c = Y12, solved by its cofactors. */
    real p = S.m[0][0] + S.m[1][1], q = S.m[0][0] + S.m[2][2], r = S.m[1][1] + S.m[2][2];
    real x = S.m[1][2], y = -S.m[0][2], z = S.m[0][1];
    real c00 = q * r - z * z, c01 = y * z - x * r, c02 = x * z - q * y;
    real c11 = p * r - y * y, c12 = x * y - p * z, c22 = p * q - x * x;
    real det = p * c00 + x * c01 + y * c02;
    real size = real_abs(p) + real_abs(q) + real_abs(r);
    real inv = R(1) / snow_divisor(det, size * size * size);
    Y.m[0][1] = inv * (c00 * W01 + c01 * W02 + c02 * W12);
    Y.m[0][2] = inv * (c01 * W01 + c11 * W02 + c12 * W12);
    Y.m[1][2] = inv * (c02 * W01 + c12 * W02 + c22 * W12);
    Y.m[2][0] = -Y.m[0][2];
    Y.m[2][1] = -Y.m[1][2];
#else
    real size = real_abs(S.m[0][0]) + real_abs(S.m[1][1]);
    Y.m[0][1] = (A.m[0][1] - A.m[1][0]) / snow_divisor(mat_trace(S), size);
#endif
    Y.m[1][0] = -Y.m[0][1];
    return mat_mul(R_E, Y);
}

/* dP = 2 mu (dF - dR) + lambda cof F (cof F : dF) + lambda (J - 1) dcof F, with F = R_E S */
FN mat snow_stress_derivative(mat F, mat R_E, mat S, lame l, mat dF)
{
    mat cof = mat_cof(F);
    mat dP = mat_scale(mat_sub(dF, snow_polar_derivative(R_E, S, dF)), R(2) * l.mu);
    dP = mat_mad(dP, l.lambda * mat_dot(cof, dF), cof);
    return mat_mad(dP, l.lambda * (mat_det(F) - R(1)), mat_dcof(F, dF));
}

/* c^2 = (lambda + 2 mu) / rho, of pressure waves */
FN real snow_wave_speed2(lame l, real density)
{
    return (l.lambda + R(2) * l.mu) / density;
}

#endif
