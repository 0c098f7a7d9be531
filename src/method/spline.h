/*
 * The interpolating B-splines, dyadic products of N(x) (paper section 4).
 *
 * With u = x / h, a particle at u touches the nodes base, base + 1, ... along each axis, and
 * f = u - base is all that weights depend on:
 *
 *     cubic      4 nodes   base = floor(u) - 1        f in [1, 2]
 *     quadratic  3 nodes   base = floor(u - 1/2)      f in [1/2, 3/2]
 *
 * Weights sum to 1, slopes to 0, and weights times node positions to the position. Slopes are with
 * respect to u: a gradient needs a factor 1/h, once.
 */
#ifndef FIRN_METHOD_SPLINE_H
#define FIRN_METHOD_SPLINE_H

#include "method/lane.h"

enum { CUBIC_NODES = 4, QUADRATIC_NODES = 3 };

/* ---- As printed: N and its derivative ------------------------------------------------------- */

/* N(x) = |x|^3/2 - x^2 + 2/3 for |x| < 1; -|x|^3/6 + x^2 - 2|x| + 4/3 = (2 - |x|)^3/6 for |x| < 2
 * */
FN real cubic_n(real x)
{
    real a = real_abs(x);
    real inner = (R(0.5) * a - R(1)) * a * a + R(2.0 / 3.0);
    real left = real_max(R(2) - a, real_of(0));
    return lane_select(a < R(1), inner, R(1.0 / 6.0) * left * left * left);
}

/* N'(x) = x (3|x| - 4)/2 for |x| < 1; -sign(x) (|x| - 2)^2/2 for |x| < 2 */
FN real cubic_dn(real x)
{
    real a = real_abs(x);
    real inner = R(0.5) * x * (R(3) * a - R(4));
    real left = real_max(R(2) - a, real_of(0));
    real outer = R(0.5) * left * left;
    return lane_select(a < R(1), inner, lane_select(x < R(0), outer, -outer));
}

/* N(x) = 3/4 - x^2 for |x| < 1/2; (3/2 - |x|)^2/2 for |x| < 3/2 */
FN real quadratic_n(real x)
{
    real a = real_abs(x);
    real left = real_max(R(1.5) - a, real_of(0));
    return lane_select(a < R(0.5), R(0.75) - x * x, R(0.5) * left * left);
}

FN real quadratic_dn(real x)
{
    real a = real_abs(x);
    real left = real_max(R(1.5) - a, real_of(0));
    return lane_select(a < R(0.5), R(-2) * x, lane_select(x < R(0), left, -left));
}

/* ---- All weights of a stencil at once ------------------------------------------------------- */

FN real cubic_base(real u)
{
    return real_floor(u) - R(1);
}

/* w[k] = N(f - k) */
FN void cubic_weights(real f, real w[4])
{
    real a = R(2) - f, b = f - R(1);
    w[0] = R(1.0 / 6.0) * a * a * a;
    w[1] = R(2.0 / 3.0) - b * b * (R(1) - R(0.5) * b);
    w[2] = R(2.0 / 3.0) - a * a * (R(1) - R(0.5) * a);
    w[3] = R(1.0 / 6.0) * b * b * b;
}

/* g[k] = N'(f - k) */
FN void cubic_slopes(real f, real g[4])
{
    real a = R(2) - f, b = f - R(1);
    g[0] = R(-0.5) * a * a;
    g[1] = b * (R(1.5) * b - R(2));
    g[2] = a * (R(2) - R(1.5) * a);
    g[3] = R(0.5) * b * b;
}

FN real quadratic_base(real u)
{
    return real_floor(u - R(0.5));
}

FN void quadratic_weights(real f, real w[3])
{
    real a = R(1.5) - f, b = f - R(1), c = f - R(0.5);
    w[0] = R(0.5) * a * a;
    w[1] = R(0.75) - b * b;
    w[2] = R(0.5) * c * c;
}

FN void quadratic_slopes(real f, real g[3])
{
    g[0] = f - R(1.5);
    g[1] = R(2) - R(2) * f;
    g[2] = f - R(0.5);
}

/* ---- The inertia of a stencil: D = I / inv_D, what APIC and MLS divide by ------------------- */

/* D = h^2/3 */
FN real cubic_inv_D(real inv_h)
{
    return R(3) * inv_h * inv_h;
}

/* D = h^2/4 */
FN real quadratic_inv_D(real inv_h)
{
    return R(4) * inv_h * inv_h;
}

/* ---- Slopes of the fit: what MLS takes for those of the weights ------------------------------ */

/* The line that fits values v at the nodes best, each counted by its weight, has the slope
 * sum_k g[k] v[k] with g[k] = D^-1 w[k] (k - f). These too sum to 0, and times node positions to 1. */
FN void cubic_mls_slopes(real f, real g[4])
{
    cubic_weights(f, g);
    for (int k = 0; k < CUBIC_NODES; k++)
        g[k] *= R(3) * (R(k) - f);
}

FN void quadratic_mls_slopes(real f, real g[3])
{
    quadratic_weights(f, g);
    for (int k = 0; k < QUADRATIC_NODES; k++)
        g[k] *= R(4) * (R(k) - f);
}

#endif
