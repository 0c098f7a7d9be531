#define REAL_DOUBLE
#define REAL_LANES 8
#include "cpu/newton.h"
#include "method/snow_law.h"
#include "method/svd.h"

enum { ENTRIES = FIRN_DIM * FIRN_DIM };

static real widen(const float from[16], int half)
{
    real x;
    for (int k = 0; k < 8; k++)
        x[k] = from[8 * half + k];
    return x;
}

static mat widen_matrix(const float from[ENTRIES][16], int half)
{
    mat A;
    for (int n = 0; n < ENTRIES; n++)
        A.m[n / FIRN_DIM][n % FIRN_DIM] = widen(from[n], half);
    return A;
}

static mat deformed(const newton_input *in, mat F_E, int half)
{
    return mat_mad(F_E, real_of(in->step), mat_mul(widen_matrix(in->grad, half), F_E));
}

static lame values(const newton_input *in, int half)
{
    return (lame){widen(in->mu, half), widen(in->lambda, half)};
}

void CPU_NEWTON(energy)(const newton_input *in, double energy[16])
{
    for (int half = 0; half < 2; half++) {
        mat F = deformed(in, widen_matrix(in->F_E, half), half);
        real_store(energy + 8 * half, snow_energy(F, svd_polar(svd_of(F)), values(in, half)));
    }
}

void CPU_NEWTON(stress)(const newton_input *in, double scale, float T[ENTRIES][16])
{
    for (int half = 0; half < 2; half++) {
        mat F_E = widen_matrix(in->F_E, half), F = deformed(in, F_E, half);
        mat P = snow_stress(F, svd_polar(svd_of(F)), values(in, half));
        mat result = mat_scale(mat_mul_t(P, F_E), real_of(scale));
        for (int n = 0; n < ENTRIES; n++)
            for (int k = 0; k < 8; k++)
                T[n][8 * half + k] = (float)result.m[n / FIRN_DIM][n % FIRN_DIM][k];
    }
}
