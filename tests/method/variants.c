/*
 * All variants against the scalar one of the same number type and dimension, and real_exp and
 * real_rsqrt of each against libm. Instruction sets that this processor lacks are left out.
 */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "numbers.h"
#include "variant.h"

/* method_variants.inc, written by the build: V(symbol, dimension, double, ISA) a line, scalars
 * first. */
#define V(symbol, dimension, is_double, isa) extern const variant symbol;
#include "method_variants.inc"
#undef V

static int has_baseline(void)
{
    return 1;
}

#if defined(__x86_64__)
static int has_v3(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static int has_v4(void)
{
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd");
}
#endif

static const struct entry {
    const variant *variant;
    int dimension, is_double;
    int (*supported)(void);
} entries[] = {
#define V(symbol, dimension, is_double, isa) {&symbol, dimension, is_double, has_##isa},
#include "method_variants.inc"
#undef V
};

enum { ENTRIES = sizeof entries / sizeof *entries, ROWS = 4096 };

static const variant *scalar_of(const struct entry *e)
{
    for (int i = 0; i < ENTRIES; i++)
        if (entries[i].variant->lanes == 1 && entries[i].dimension == e->dimension &&
            entries[i].is_double == e->is_double)
            return entries[i].variant;
    fail_msg("no scalar variant");
    return NULL;
}

/* Rows as every_function wants them, exact in float. */
static void fill_rows(const variant *v, int dimension, double *in)
{
    int F = 3 + 3 * dimension;
    for (int row = 0; row < ROWS; row++, in += v->inputs) {
        for (int k = 0; k < v->inputs; k++)
            in[k] = (float)random_in(-1, 1);
        in[0] = (float)random_in(-5, 5);
        in[1] = (float)random_in(-20, 20);
        in[2] = (float)random_in(0.01, 1);
        for (int k = 0; k < dimension * dimension; k++)
            in[F + k] = (float)(0.2 * in[F + k] + (k % (dimension + 1) == 0));
    }
}

static void check_every(const struct entry *e)
{
    const variant *v = e->variant, *scalar = scalar_of(e);
    double *in = malloc(sizeof(double) * ROWS * (size_t)v->inputs);
    double *expected = malloc(sizeof(double) * ROWS * (size_t)v->outputs);
    double *got = calloc(ROWS * (size_t)v->outputs, sizeof(double));
    assert_true(in && expected && got);
    random_state = 7;
    fill_rows(v, e->dimension, in);
    scalar->every(ROWS, in, expected);
    v->every(ROWS, in, got);
    double tolerance = v->is_double ? 2e-14 : 1e-5;
    for (int i = 0; i < ROWS * v->outputs; i++)
        if (!(fabs(got[i] - expected[i]) <= tolerance * (1 + fabs(expected[i]))))
            fail_msg("%s: row %d, output %d is %.9g, not %.9g as in %s", v->name, i / v->outputs,
                     i % v->outputs, got[i], expected[i], scalar->name);
    free(in);
    free(expected);
    free(got);
}

/* The distance of two values in units of the last place of the number type (or the least
 * subnormal). */
static double ulps(double got, long double exact, int is_double)
{
    int digits = is_double ? DBL_MANT_DIG : FLT_MANT_DIG, least = is_double ? -1074 : -149;
    int exponent;
    frexpl(exact, &exponent);
    int last = exponent - digits > least ? exponent - digits : least;
    return (double)fabsl(ldexpl((long double)got - exact, -last));
}

static double rounded(double x, int is_double)
{
    return is_double ? x : (double)(float)x;
}

static void check_exp(const variant *v)
{
    static double x[ROWS], y[ROWS];
    const double low = v->is_double ? -745 : -103.5, high = v->is_double ? 709.7 : 88.7;
    double worst = 0;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < ROWS; i++)
            x[i] = rounded(round % 2 ? random_in(-1, 1) : random_in(low, high), v->is_double);
        v->exp(ROWS, x, y);
        for (int i = 0; i < ROWS; i++)
            worst = fmax(worst, ulps(y[i], expl((long double)x[i]), v->is_double));
    }
    if (!(worst <= 2))
        fail_msg("%s: exp is off by %g ulp", v->name, worst);
}

/* Rising through both ends, never turning back, and the ends themselves. */
static void check_exp_ends(const variant *v)
{
    static double x[ROWS], y[ROWS];
    const double ends[2] = {v->is_double ? -745.13 : -103.97, v->is_double ? 709.78 : 88.72};
    for (int end = 0; end < 2; end++) {
        for (int i = 0; i < ROWS; i++)
            x[i] = ends[end] - 0.5 + 1.0 * i / ROWS;
        v->exp(ROWS, x, y);
        assert_true(end == 0 ? y[0] == 0 && y[ROWS - 1] > 0 : y[0] < INFINITY);
        assert_true(end == 0 || y[ROWS - 1] == INFINITY);
        for (int i = 1; i < ROWS; i++)
            assert_true(y[i] >= y[i - 1]);
    }
    const double special[16] = {0, -0.0, INFINITY, -INFINITY, NAN, 1e30, -1e30, 1000, -1000, -NAN};
    v->exp(16, special, y);
    assert_true(y[0] == 1 && y[1] == 1);
    assert_true(y[2] == INFINITY && y[5] == INFINITY && y[7] == INFINITY);
    assert_true(y[3] == 0 && y[6] == 0 && y[8] == 0);
    assert_true(isnan(y[4]) && isnan(y[9]));
}

static void check_rsqrt(const variant *v)
{
    static double x[ROWS], y[ROWS];
    const double decades = v->is_double ? 307 : 37;
    double worst = 0;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < ROWS; i++)
            x[i] = rounded(pow(10, random_in(-decades, decades)), v->is_double);
        v->rsqrt(ROWS, x, y);
        for (int i = 0; i < ROWS; i++)
            worst = fmax(worst, ulps(y[i], 1 / sqrtl((long double)x[i]), v->is_double));
    }
    if (!(worst <= 2))
        fail_msg("%s: rsqrt is off by %g ulp", v->name, worst);
}

static void test_variants(void **state)
{
    (void)state;
    for (int i = 0; i < ENTRIES; i++) {
        const struct entry *e = &entries[i];
        if (!e->supported()) {
            print_message("%s: not on this processor\n", e->variant->name);
            continue;
        }
        assert_int_equal(e->variant->is_double, e->is_double);
        check_every(e);
        check_exp(e->variant);
        check_exp_ends(e->variant);
        check_rsqrt(e->variant);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_variants)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
