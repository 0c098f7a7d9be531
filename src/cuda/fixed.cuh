/*
 * Sums whose value does not depend on the order: fixed-point numbers in 32-bit integers.
 *
 * A contribution is scaled by a power of two so that it stays below 2^22 in magnitude, and rounded to
 * the nearest integer: adding 1.5 * 2^23 to such a float leaves that integer in its low bits. A sum has
 * nine more bits, enough for 512 of the largest contributions; what could need more is scaled down
 * (cuda.cu). On the grid two sums share a 64-bit word, so that one atomic adds both.
 */
#ifndef FIRN_CUDA_FIXED_CUH
#define FIRN_CUDA_FIXED_CUH

#include <stdint.h>

enum { FIXED_BITS = 22 };
#define FIXED_LARGEST 4194304.0f /* 2^22 */
#define FIXED_ANCHOR 12582912.0f /* 1.5 * 2^23 */
#define FIXED_ANCHOR_BITS 0x4B400000
#define FIXED_SUM_LIMIT (1 << 30)

/* The integer in x = anchor + value. */
static __device__ __forceinline__ int fixed_of(float x)
{
    return __float_as_int(x) - FIXED_ANCHOR_BITS;
}

static __device__ __forceinline__ unsigned long long fixed_pair(int low, int high)
{
    return (unsigned long long)((long long)low + ((long long)high << 32));
}

static __device__ __forceinline__ int fixed_low(unsigned long long pair)
{
    return (int)(uint32_t)pair;
}

static __device__ __forceinline__ int fixed_high(unsigned long long pair)
{
    return (int)(uint32_t)((pair - (unsigned long long)(long long)fixed_low(pair)) >> 32);
}

#endif
