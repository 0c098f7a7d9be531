/*
 * e^x with the same bits on every processor, for decisions that a GPU and its host must both come to: the
 * mathematical libraries of the two differ in the last place. Built without fused multiply-adds, it takes
 * only operations whose results IEEE 754 fixes. Within 1e-15 of the truth.
 */
#ifndef FIRN_METHOD_STEADY_EXP_H
#define FIRN_METHOD_STEADY_EXP_H

#include <math.h>

#include "everywhere.h"

EVERYWHERE double steady_exp(double x)
{
    if (!(fabs(x) < 700))
        return x < 0 ? 0 : x > 0 ? HUGE_VAL : x;
    /* x = k ln 2 + r, |r| < 0.35; the first part of ln 2 has so few bits that k times it is exact */
    const double k = rint(x * 1.4426950408889634);
    const double r = x - k * 0x1.62e42feep-1 - k * 0x1.a39ef35793c76p-33;
    double sum = 1;
    for (int n = 14; n > 0; n--) /* r^n / n! */
        sum = 1 + sum * (r * (1.0 / n));
    return ldexp(sum, (int)k);
}

#endif
