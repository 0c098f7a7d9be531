/*
 * How many terms of the stress series (stress_series.h) a run needs: plain numbers, for every lane.
 */
#ifndef FIRN_METHOD_STRESS_SERIES_PLAN_H
#define FIRN_METHOD_STRESS_SERIES_PLAN_H

#include <math.h>

/* Coefficient k of (1 + e - sqrt(1 + e)) / e = sum_k c_k e^k: 1/2, 1/8, -1/16, 5/128, ... */
static inline double stress_series_coefficient(int k)
{
    double binomial = 0.5; /* (1/2 choose k + 1) */
    for (int i = 1; i <= k; i++)
        binomial *= (0.5 - i) / (i + 1);
    return k == 0 ? 1 - binomial : -binomial;
}

/* Enough terms for |F F^T - I| <= reach; of snow that yields early, the short series is enough. */
enum {
    STRESS_SERIES_SHORT = 8,
    STRESS_SERIES_MOST = 48, /* with more the SVD is cheaper */
};
typedef struct stress_series_plan {
    int terms;
    float reach;
    float coefficient[STRESS_SERIES_MOST];
} stress_series_plan;

/* For elastic strains |s^2 - 1| of singular values s up to `strain`. */
static inline stress_series_plan stress_series_plan_for(double strain)
{
    /* |E|^2 is the sum of three squared eigenvalues; the rest is room for rounding. */
    stress_series_plan plan;
    double reach = fmin(0.8, 1.02 * sqrt(3) * strain + 1e-4), power = 1, term;
    plan.reach = (float)reach;
    plan.terms = 0;
    do {
        double c = stress_series_coefficient(plan.terms);
        term = fabs(c) * power;
        plan.coefficient[plan.terms++] = (float)c;
        power *= reach;
    } while (term > 1e-8 && plan.terms < STRESS_SERIES_MOST);
    for (int k = plan.terms; k < STRESS_SERIES_SHORT; k++)
        plan.coefficient[k] = (float)stress_series_coefficient(k);
    return plan;
}

/* Of the singular values that the return map allows. */
static inline double stress_series_strain_most(double theta_c, double theta_s)
{
    double low = 1 - theta_c, high = 1 + theta_s;
    return fmax(fabs(1 - low * low), fabs(high * high - 1));
}

#endif
