/*
 * The Kirchhoff stress without an SVD, for deformations near a rotation (which step 7 keeps F_E
 * to).
 *
 * With b = F F^T = I + E the law of snow_law.h reads
 *     P F^T = 2 mu (b - sqrt(b)) + lambda (J - 1) J I,
 * and b - sqrt(b) is a power series in E that converges for |E| < 1. By Cayley and Hamilton every
 * power of E is a combination of E^2, E and I, so the series costs three products a term.
 * As E comes from F - I (strain.h), this is more accurate in float than forming F - R.
 *
 * Does NOT do: any F. The caller compares strain_size with the reach it chose the terms for, and
 * keeps away F that is turned inside out (det F < 0), which b cannot tell.
 */
#ifndef FIRN_METHOD_STRESS_SERIES_H
#define FIRN_METHOD_STRESS_SERIES_H

#include "method/snow_law.h"
#include "method/strain.h"
#include "method/stress_series_plan.h"

#if FIRN_DIM == 3

/* Where the plan holds: for a strain of the right size, of an F that is not turned inside out. */
FN lane_mask stress_series_holds(const stress_series_plan *plan, real size, real dilation)
{
    return (size <= R(plan->reach) * R(plan->reach)) & (dilation > R(-1));
}

/* sum_k c_k E^(k+1) = r[0] E^2 + r[1] E + r[2] I by Horner's rule, with E^3 = i1 E^2 - i2 E + i3 I: times E,
 * plus the next coefficient; the last time without one. */
FN void stress_series_sum(real i1, real i2, real i3, const float *c, int terms, real r[3])
{
    for (int k = 0; k < 3; k++)
        r[k] = real_of(c[terms - 1 - k]);
    for (int k = terms - 4; k >= -1; k--) {
        real a = r[0] * i1 + r[1], b = r[2] - r[0] * i2;
        r[2] = r[0] * i3 + (k >= 0 ? R(c[k >= 0 ? k : 0]) : R(0));
        r[0] = a;
        r[1] = b;
    }
}

/* P F^T, where the plan holds. */
FN mat stress_series(mat E, real dilation, lame l, const stress_series_plan *plan)
{
    mat E2 = mat_mul(E, E);
    real i1 = mat_trace(E), i2 = R(0.5) * (i1 * i1 - mat_trace(E2));
    mat cof = mat_cof(E);
    real i3 = E.m[0][0] * cof.m[0][0] + E.m[0][1] * cof.m[0][1] + E.m[0][2] * cof.m[0][2];
    real r[3];
    if (plan->terms <= STRESS_SERIES_SHORT) /* a number the compiler knows */
        stress_series_sum(i1, i2, i3, plan->coefficient, STRESS_SERIES_SHORT, r);
    else
        stress_series_sum(i1, i2, i3, plan->coefficient, plan->terms, r);
    real pressure = R(2) * l.mu * r[2] + l.lambda * dilation * (R(1) + dilation);
    mat P = mat_mad(mat_scale(E2, R(2) * l.mu * r[0]), R(2) * l.mu * r[1], E);
    for (int i = 0; i < 3; i++)
        P.m[i][i] += pressure;
    return P;
}

#endif
#endif
