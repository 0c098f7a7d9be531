/* Random numbers and closeness, for the tests of the method. */
#ifndef FIRN_TESTS_METHOD_NUMBERS_H
#define FIRN_TESTS_METHOD_NUMBERS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static uint64_t random_state = 1;

/* xorshift64*, the same on every machine */
static inline uint64_t random_word(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545f4914f6cdd1dU;
}

static inline double random_in(double low, double high)
{
    return low + (high - low) * (double)(random_word() >> 11) * 0x1p-53;
}

static inline int random_below(int n)
{
    return (int)(random_word() >> 33) % n;
}

/* |a - b| <= tolerance * scale, and neither is NaN. */
#define assert_near(a, b, tolerance, scale)                                                        \
    do {                                                                                           \
        double near_a = (double)(a), near_b = (double)(b);                                         \
        if (!(fabs(near_a - near_b) <= (tolerance) * (scale)))                                     \
            fail_msg("%s = %.17g, %s = %.17g, further apart than %g * %g", #a, near_a, #b, near_b, \
                     (double)(tolerance), (double)(scale));                                        \
    } while (0)

#endif
