#include "shape/noise.h"

#include <math.h>

#include "shape/sample.h"

/* The gradient of a lattice point, one of the twelve from the middle of a cube to its edges, times r. */
static double gradient_dot(uint64_t seed, const int64_t at[3], const double r[3])
{
    uint64_t key = (uint64_t)at[0] * 0x9e3779b97f4a7c15u ^ (uint64_t)at[1] * 0xc2b2ae3d27d4eb4fu ^
                   (uint64_t)at[2] * 0x165667b19e3779f9u;
    unsigned edge = (unsigned)(random_bits(seed, key) >> 32) % 12;
    int a = edge >> 2 == 0, b = edge >> 2 == 2 ? 1 : 2;
    return (edge & 1 ? -r[a] : r[a]) + (edge & 2 ? -r[b] : r[b]);
}

static double mix(double a, double b, double t)
{
    return a + t * (b - a);
}

/* One octave: within -1 and 1, with a standard deviation of about 0.25. */
static double octave(uint64_t seed, const double x[3])
{
    int64_t cell[3];
    double r[3], fade[3], corner[8];
    for (int i = 0; i < 3; i++) {
        double whole = floor(x[i]), t = x[i] - whole;
        cell[i] = (int64_t)whole;
        r[i] = t;
        fade[i] = t * t * t * (t * (6 * t - 15) + 10);
    }
    for (int c = 0; c < 8; c++) {
        const int step[3] = {c & 1, c >> 1 & 1, c >> 2};
        const int64_t at[3] = {cell[0] + step[0], cell[1] + step[1], cell[2] + step[2]};
        const double from[3] = {r[0] - step[0], r[1] - step[1], r[2] - step[2]};
        corner[c] = gradient_dot(seed, at, from);
    }
    for (int i = 2; i >= 0; i--)
        for (int c = 0; c < 1 << i; c++)
            corner[c] = mix(corner[c], corner[c | 1 << i], fade[i]);
    return corner[0];
}

double noise_at(uint64_t seed, double size, int octaves, const double x[3])
{
    double sum = 0, square = 0, weight = 1, scale = 1 / size;
    for (int k = 0; k < octaves; k++, weight /= 2, scale *= 2) {
        /* Off the lattice, where every octave would be 0 together, and a plane z = 0 flat. */
        double at[3];
        for (int i = 0; i < 3; i++)
            at[i] = x[i] * scale + random_unit(seed, (uint64_t)(3 * k + i)) * 256;
        sum += weight * octave(random_bits(seed, 1000 + (uint64_t)k), at);
        square += weight * weight;
    }
    const double spread = 1.6; /* from the deviation of one octave to about 0.4 */
    return fmin(fmax(spread * sum / sqrt(square), -1), 1);
}
