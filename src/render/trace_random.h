/*
 * Random numbers of one sample: a counter scrambled by SplitMix64's finaliser, starting at a place of its
 * own for every (seed, pixel, sample). Nothing is shared, so threads cannot change a picture.
 */
#ifndef FIRN_RENDER_TRACE_RANDOM_H
#define FIRN_RENDER_TRACE_RANDOM_H

#include <stdint.h>

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

/* Two for the price of one. */
static inline void random_pair(trace_random *r, float u[2])
{
    uint64_t bits = random_next(r);
    u[0] = random_from_bits((uint32_t)(bits >> 32));
    u[1] = random_from_bits((uint32_t)bits);
}

#endif
