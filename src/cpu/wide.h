/*
 * Sixteen floats at a time: rearranging records of particles into lanes and back.
 *
 * One register is either one value of 16 particles (*lanes*) or 16 values of one particle or of one
 * grid line (*row*). transpose turns 16 of the one into 16 of the other.
 */
#ifndef FIRN_CPU_WIDE_H
#define FIRN_CPU_WIDE_H

#ifndef FIRN_DIM
#define FIRN_DIM 3
#endif
#define REAL_LANES 16
#include "method/lane.h"

typedef float four __attribute__((vector_size(16)));
typedef float eight __attribute__((vector_size(32)));

/* a b + c, rounded once where the processor can, and the same way wherever it is inlined. */
FN real fused(real a, real b, real c)
{
#if defined(__AVX512F__)
    return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
    eight x[2], y[2], z[2];
    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    memcpy(z, &c, sizeof z);
    for (int k = 0; k < 2; k++)
        z[k] = _mm256_fmadd_ps(x[k], y[k], z[k]);
    memcpy(&c, z, sizeof c);
    return c;
#else
    return a * b + c;
#endif
}

#define UNROLL _Pragma("GCC unroll 16")

/* Quarter q of a row four times over: (a b c d) -> (a b c d  a b c d  a b c d  a b c d) */
#define REPEAT_QUARTER(x, q)                                                                       \
    __builtin_shufflevector(x, x, 4 * (q), 4 * (q) + 1, 4 * (q) + 2, 4 * (q) + 3, 4 * (q),         \
                            4 * (q) + 1, 4 * (q) + 2, 4 * (q) + 3, 4 * (q), 4 * (q) + 1,           \
                            4 * (q) + 2, 4 * (q) + 3, 4 * (q), 4 * (q) + 1, 4 * (q) + 2,           \
                            4 * (q) + 3)

/* The same of four floats in memory, behind which sixteen may be read. */
FN real repeat_four(const float *from)
{
#if defined(__AVX512F__)
    return _mm512_broadcast_f32x4(_mm_loadu_ps(from));
#else
    real x = real_load(from);
    return REPEAT_QUARTER(x, 0);
#endif
}

/* The first quarter spread: (a b c d ...) -> (a a a a  b b b b  c c c c  d d d d) */
FN real spread(real x)
{
    return __builtin_shufflevector(x, x, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
}

#define WIDE_LOW(a, b, w)                                                                          \
    ((w) == 1                                                                                      \
         ? __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29) \
         : __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28,     \
                                   29))
#define WIDE_HIGH(a, b, w)                                                                         \
    ((w) == 1 ? __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30,  \
                                        15, 31)                                                    \
              : __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15,  \
                                        30, 31))

/* Quarters 0 and 2, or 1 and 3, of a then of b. */
FN real quarters_even(real a, real b)
{
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
}

FN real quarters_odd(real a, real b)
{
    return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30,
                                   31);
}

/* Sums of the quarters of four registers: (sum a, sum b, sum c, sum d), four floats each. */
FN real sum_quarters(real a, real b, real c, real d)
{
    real ab = quarters_even(a, b) + quarters_odd(a, b);
    real cd = quarters_even(c, d) + quarters_odd(c, d);
    return quarters_even(ab, cd) + quarters_odd(ab, cd);
}

/* r[i][j] <-> r[j][i] */
FN void transpose(real r[16])
{
    real t[16];
    UNROLL
    for (int k = 0; k < 16; k += 2) {
        t[k] = WIDE_LOW(r[k], r[k + 1], 1);
        t[k + 1] = WIDE_HIGH(r[k], r[k + 1], 1);
    }
    UNROLL
    for (int k = 0; k < 16; k += 4) {
        r[k] = WIDE_LOW(t[k], t[k + 2], 2);
        r[k + 1] = WIDE_HIGH(t[k], t[k + 2], 2);
        r[k + 2] = WIDE_LOW(t[k + 1], t[k + 3], 2);
        r[k + 3] = WIDE_HIGH(t[k + 1], t[k + 3], 2);
    }
    /* Now quarter q of r[4 g + i] is column 4 q + i of rows 4 g .. 4 g + 3. */
    UNROLL
    for (int i = 0; i < 4; i++) {
        t[i] = quarters_even(r[i], r[i + 4]);
        t[i + 4] = quarters_odd(r[i], r[i + 4]);
        t[i + 8] = quarters_even(r[i + 8], r[i + 12]);
        t[i + 12] = quarters_odd(r[i + 8], r[i + 12]);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        r[i] = quarters_even(t[i], t[i + 8]);
        r[i + 8] = quarters_odd(t[i], t[i + 8]);
        r[i + 4] = quarters_even(t[i + 4], t[i + 12]);
        r[i + 12] = quarters_odd(t[i + 4], t[i + 12]);
    }
}

#endif
