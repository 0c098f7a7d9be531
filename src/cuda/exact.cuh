/*
 * Sums of doubles whose value does not depend on the order: exact, in integers.
 *
 * A double is 53 bits at some place of a long number that is cut into digits of 32 bits. Each digit of the
 * sum is a 64-bit integer, with room for 2^31 terms, and adding to it is native to GPUs. Terms below
 * 2^-139 are dropped; one beyond 2^192, or not a number, spoils the sum.
 */
#ifndef FIRN_CUDA_EXACT_CUH
#define FIRN_CUDA_EXACT_CUH

#include <math.h>
#include <stdint.h>

enum { EXACT_DIGITS = 12, EXACT_LOWEST = -192 }; /* the exponent of the lowest bit */

typedef struct exact_sum {
    unsigned long long digit[EXACT_DIGITS]; /* signed numbers, modulo 2^64 */
    unsigned long long spoiled;
} exact_sum;

enum { EXACT_WORDS = sizeof(exact_sum) / sizeof(unsigned long long) };

/* By at least EXACT_WORDS threads of a block. */
static __device__ __forceinline__ void exact_clear(exact_sum *sum)
{
    if (threadIdx.x < EXACT_WORDS)
        ((unsigned long long *)sum)[threadIdx.x] = 0;
}

static __device__ __forceinline__ void exact_add(exact_sum *sum, double x)
{
    unsigned long long bits = (unsigned long long)__double_as_longlong(x);
    int place = (int)(bits >> 52 & 0x7ff) - 1075 - EXACT_LOWEST;
    if (!(fabs(x) < 0x1p192)) {
        atomicAdd(&sum->spoiled, 1);
        return;
    }
    if (place < 0)
        return;
    unsigned long long digits = (bits & ((1ull << 52) - 1)) | 1ull << 52;
    int shift = place & 31, first = place >> 5;
    unsigned long long low = digits << shift, high = shift ? digits >> (64 - shift) : 0;
    const unsigned long long part[3] = {low & 0xffffffffull, low >> 32, high};
    for (int k = 0; k < 3; k++)
        if (part[k])
            atomicAdd(&sum->digit[first + k], x < 0 ? 0 - part[k] : part[k]);
}

/* The terms of a warp, added up in the order of its lanes, as one. */
static __device__ __forceinline__ void exact_add_warp(exact_sum *sum, double x)
{
    for (int k = 16; k > 0; k >>= 1)
        x += __shfl_xor_sync(0xffffffffu, x, k);
    if ((threadIdx.x & 31) == 0)
        exact_add(sum, x);
}

/* By at least EXACT_WORDS threads of a block. */
static __device__ __forceinline__ void exact_add_sum(exact_sum *to, const exact_sum *from)
{
    if (threadIdx.x < EXACT_WORDS) {
        unsigned long long part = ((const unsigned long long *)from)[threadIdx.x];
        if (part)
            atomicAdd((unsigned long long *)to + threadIdx.x, part);
    }
}

/* By one thread; others may just have added. */
static __device__ inline double exact_value(const volatile exact_sum *sum)
{
    if (sum->spoiled)
        return NAN;
    long long digit[EXACT_DIGITS], carry = 0;
    for (int k = 0; k < EXACT_DIGITS; k++) {
        carry += (long long)sum->digit[k];
        digit[k] = k + 1 < EXACT_DIGITS ? carry & 0xffffffffll : carry;
        carry >>= 32;
    }
    double value = 0;
    for (int k = EXACT_DIGITS - 1; k >= 0; k--)
        value += ldexp((double)digit[k], 32 * k + EXACT_LOWEST);
    return value;
}

#endif
