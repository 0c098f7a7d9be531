/*
 * The second derivative of the energy of snow (snow_law.h), in the frame of its SVD.
 *
 * The energy depends on F = U diag(sigma) V^T through sigma alone. Seen from U and V, as
 * dF^ = U^T dF V, its second derivative falls into small parts, with g = dPsi/dsigma:
 *
 *     stretch_ij = d2Psi / dsigma_i dsigma_j              between the diagonals of dF^ and dP^
 *     shear_ij = (g_i - g_j) / (sigma_i - sigma_j)        on dF^_ij + dF^_ji
 *     twist_ij = (g_i + g_j) / (sigma_i + sigma_j)        on dF^_ij - dF^_ji
 *
 * The division by the difference can be done by hand; that by the sum becomes singular only where R
 * has no derivative. The whole is positive semi-definite if and only if every part is, so clamping
 * each of them gives the nearest matrix that is. The result is that of snow_stress_derivative, which
 * needs no SVD but cannot be clamped.
 *
 * Does NOT do: hardening's own derivative; J_P stays as it is within a step.
 */
#ifndef FIRN_METHOD_SNOW_CURVATURE_H
#define FIRN_METHOD_SNOW_CURVATURE_H

#include "method/snow_law.h"
#include "method/spectrum.h"

enum { SNOW_PAIRS = FIRN_DIM == 3 ? 3 : 1 };

/* Of axes i < j: 01, 02, 12. */
#define SNOW_PAIR(i, j) ((i) + (j)-1)

typedef struct snow_curvature {
    mat stretch;
    real shear[SNOW_PAIRS], twist[SNOW_PAIRS];
} snow_curvature;

/* The product of the singular values without number i, and without i and j (of which there is none in
 * 2D). */
FN real snow_others(vec sigma, int i)
{
#if FIRN_DIM == 3
    return sigma.e[(i + 1) % 3] * sigma.e[(i + 2) % 3];
#else
    return sigma.e[1 - i];
#endif
}

FN real snow_third(vec sigma, int i, int j)
{
#if FIRN_DIM == 3
    return sigma.e[3 - i - j];
#else
    (void)sigma, (void)i, (void)j;
    return real_of(1);
#endif
}

/* At F with these singular values; multiplied by V0 when the Lame values are. */
FN snow_curvature snow_curvature_of(vec sigma, lame l)
{
    snow_curvature c;
    real J = sigma.e[0] * snow_others(sigma, 0);
    for (int i = 0; i < FIRN_DIM; i++) {
        real cof_i = snow_others(sigma, i);
        c.stretch.m[i][i] = R(2) * l.mu + l.lambda * cof_i * cof_i;
        for (int j = i + 1; j < FIRN_DIM; j++) {
            real pressure = l.lambda * (J - R(1)) * snow_third(sigma, i, j);
            real sum = sigma.e[i] + sigma.e[j];
            c.stretch.m[i][j] = l.lambda * cof_i * snow_others(sigma, j) + pressure;
            c.stretch.m[j][i] = c.stretch.m[i][j];
            c.shear[SNOW_PAIR(i, j)] = R(2) * l.mu - pressure;
            c.twist[SNOW_PAIR(i, j)] =
                R(2) * l.mu * (sum - R(2)) / snow_divisor(sum, real_of(1)) + pressure;
        }
    }
    return c;
}

/* A + sum of max(0, -lambda_k) v_k v_k^T: A itself where it is positive semi-definite. */
FN mat snow_positive(mat A)
{
    spectrum s = spectrum_of(A);
    real more[FIRN_DIM];
    for (int k = 0; k < FIRN_DIM; k++)
        more[k] = real_max(real_of(0), -s.e[k]);
    return mat_add(A, spectrum_map(&s, more));
}

/* The nearest positive semi-definite one. */
FN snow_curvature snow_curvature_positive(snow_curvature c)
{
    c.stretch = snow_positive(c.stretch);
    for (int k = 0; k < SNOW_PAIRS; k++) {
        c.shear[k] = real_max(real_of(0), c.shear[k]);
        c.twist[k] = real_max(real_of(0), c.twist[k]);
    }
    return c;
}

/* dP^ for dF^ */
FN mat snow_curvature_apply(const snow_curvature *c, mat dF)
{
    mat dP;
    for (int i = 0; i < FIRN_DIM; i++) {
        dP.m[i][i] = c->stretch.m[i][0] * dF.m[0][0];
        for (int j = 1; j < FIRN_DIM; j++)
            dP.m[i][i] += c->stretch.m[i][j] * dF.m[j][j];
        for (int j = i + 1; j < FIRN_DIM; j++) {
            real sum = R(0.5) * c->shear[SNOW_PAIR(i, j)] * (dF.m[i][j] + dF.m[j][i]);
            real difference = R(0.5) * c->twist[SNOW_PAIR(i, j)] * (dF.m[i][j] - dF.m[j][i]);
            dP.m[i][j] = sum + difference;
            dP.m[j][i] = sum - difference;
        }
    }
    return dP;
}

/* The symmetric matrix N with N e_a = dP^ y for dF^ = e_a y^T. */
FN mat snow_curvature_block(const snow_curvature *c, vec y)
{
    mat N;
    for (int i = 0; i < FIRN_DIM; i++) {
        N.m[i][i] = c->stretch.m[i][i] * y.e[i] * y.e[i];
        for (int j = 0; j < FIRN_DIM; j++) {
            if (j == i)
                continue;
            int pair = i < j ? SNOW_PAIR(i, j) : SNOW_PAIR(j, i);
            N.m[i][i] += R(0.5) * (c->shear[pair] + c->twist[pair]) * y.e[j] * y.e[j];
            N.m[i][j] =
                (c->stretch.m[i][j] + R(0.5) * (c->shear[pair] - c->twist[pair])) * y.e[i] * y.e[j];
        }
    }
    return N;
}

#endif
