#include "shape/sample.h"

/* The finaliser of MurmurHash3 with Stafford's constants (variant 13): every input bit reaches
 * every output bit. */
static uint64_t scramble(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The n-th output of a SplitMix64 generator that starts at a place far from those of other
 * seeds. */
uint64_t random_bits(uint64_t seed, uint64_t n)
{
    const uint64_t golden = 0x9e3779b97f4a7c15u;
    return scramble(scramble(seed + golden) + (n + 1) * golden);
}

double random_unit(uint64_t seed, uint64_t n)
{
    return (double)(random_bits(seed, n) >> 11) * 0x1p-53;
}
