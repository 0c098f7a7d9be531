/*
 * Random numbers of one sample: a counter scrambled by SplitMix64's finaliser, starting at a place of its
 * own for every (seed, pixel, sample). Nothing is shared, so threads cannot change a picture.
 */
#ifndef FIRN_RENDER_TRACE_RANDOM_H
#define FIRN_RENDER_TRACE_RANDOM_H

#include <stdint.h>
#include <string.h>

typedef struct trace_random {
    uint64_t counter;
} trace_random;

#define TRACE_GOLDEN 0x9e3779b97f4a7c15u

static inline uint64_t random_scramble(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline trace_random random_start(uint64_t seed, uint64_t pixel, uint64_t sample)
{
    uint64_t at = random_scramble(seed + TRACE_GOLDEN);
    at = random_scramble(at ^ (pixel * TRACE_GOLDEN + 1));
    return (trace_random){random_scramble(at ^ (sample * TRACE_GOLDEN + 2))};
}

static inline uint64_t random_next(trace_random *r)
{
    return random_scramble(r->counter += TRACE_GOLDEN);
}

/* In the open interval (0, 1): the logarithm is finite, and 1 - u is never 0. */
static inline float random_from_bits(uint32_t bits)
{
    return ((float)(bits >> 9) + 0.5f) * 0x1p-23f;
}

static inline float random_float(trace_random *r)
{
    return random_from_bits((uint32_t)(random_next(r) >> 32));
}

/* -log(u) of u in (0, 1), to 3e-7 of itself: how far light gets, in free paths. A call of the C library's
 * would cost more than the rest of a try, and all registers. */
static inline float random_depth(float u)
{
    uint32_t bits;
    memcpy(&bits, &u, sizeof bits);
    uint32_t from = bits - 0x3f3504f3u; /* u = 2^e (1 + z), 1 + z in sqrt(1/2) .. sqrt(2) */
    float e = (float)((int32_t)from >> 23), z;
    bits = (from & 0x7fffffu) + 0x3f3504f3u;
    memcpy(&z, &bits, sizeof z);
    z -= 1;
    float q = 0.16024357f - 0.10191646f * z, square = z * z;
    float p = 0.33334246f - 0.24983266f * z + square * (0.19924507f - 0.1713714f * z + square * q);
    return square * (0.5f - z * p) - z - 0.69314718f * e;
}

/* Two for the price of one. */
static inline void random_pair(trace_random *r, float u[2])
{
    uint64_t bits = random_next(r);
    u[0] = random_from_bits((uint32_t)(bits >> 32));
    u[1] = random_from_bits((uint32_t)bits);
}

#endif
