/* The counter-based random numbers: known values, uniform, and without ties between neighbours. */
#include "shape/cmocka_all.h"

#include "shape/sample.h"

#include <math.h>

/* Chi square over so many bins exceeds this once in about 10^5 honest generators
 * (Wilson-Hilferty). */
static double chi_square_limit(int bins)
{
    double k = bins - 1, a = 2 / (9 * k);
    return k * pow(1 - a + 4.3 * sqrt(a), 3);
}

static double chi_square(const int *counts, int bins, double expected)
{
    double sum = 0;
    for (int b = 0; b < bins; b++)
        sum += (counts[b] - expected) * (counts[b] - expected) / expected;
    return sum;
}

static void known_values(void **state)
{
    (void)state;
    assert_true(random_bits(0, 0) == 0xa706dd2f4d197e6f);
    assert_true(random_bits(1, 0) == 0x5e41ab087439611e);
    assert_true(random_bits(0, 1) == 0xb382a305f4414f5e);
    assert_true(random_bits(UINT64_MAX, UINT64_MAX) == 0x445018e305810b78);
}

static void units_are_in_range(void **state)
{
    (void)state;
    double low = 1, high = 0;
    for (uint64_t n = 0; n < 1000000; n++) {
        double u = random_unit(3, n);
        assert_true(u >= 0 && u < 1);
        low = fmin(low, u);
        high = fmax(high, u);
    }
    assert_true(low < 1e-5 && high > 1 - 1e-5);
}

static void values_are_uniform(void **state)
{
    (void)state;
    enum { BINS = 256, DRAWS = 1 << 20 };
    for (uint64_t seed = 0; seed < 8; seed++) {
        int counts[BINS] = {0};
        for (uint64_t n = 0; n < DRAWS; n++)
            counts[(int)(BINS * random_unit(seed, n))]++;
        double chi = chi_square(counts, BINS, (double)DRAWS / BINS);
        assert_true(chi < chi_square_limit(BINS) && chi > 150);
    }
}

/* Successive values of one stream, and the same value of successive streams, in pairs. */
static void neighbours_are_independent(void **state)
{
    (void)state;
    enum { SIDE = 32, DRAWS = 1 << 20 };
    int along[SIDE * SIDE] = {0}, across[SIDE * SIDE] = {0};
    for (uint64_t n = 0; n < DRAWS; n++) {
        int a = (int)(SIDE * random_unit(7, 2 * n)), b = (int)(SIDE * random_unit(7, 2 * n + 1));
        int c = (int)(SIDE * random_unit(2 * n, 5)), d = (int)(SIDE * random_unit(2 * n + 1, 5));
        along[a * SIDE + b]++;
        across[c * SIDE + d]++;
    }
    double expected = (double)DRAWS / (SIDE * SIDE), limit = chi_square_limit(SIDE * SIDE);
    assert_true(chi_square(along, SIDE * SIDE, expected) < limit);
    assert_true(chi_square(across, SIDE * SIDE, expected) < limit);
}

static void every_bit_is_fair(void **state)
{
    (void)state;
    enum { DRAWS = 1 << 18 };
    int ones[64] = {0};
    for (uint64_t n = 0; n < DRAWS; n++)
        for (int b = 0; b < 64; b++)
            ones[b] += random_bits(11, n) >> b & 1;
    for (int b = 0; b < 64; b++)
        assert_true(fabs(ones[b] - DRAWS / 2.0) < 5 * sqrt(DRAWS) / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),       cmocka_unit_test(units_are_in_range),
        cmocka_unit_test(values_are_uniform), cmocka_unit_test(neighbours_are_independent),
        cmocka_unit_test(every_bit_is_fair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
