/*
 * Gradient noise: a smooth random function of place, the same on every machine (Perlin 2002, with a
 * hash in place of the table of numbers).
 *
 * The first octave has features about `size` wide; each further one half as wide and half as strong.
 * Values are about evenly spread around 0, rarely beyond -0.8 or 0.8 and never beyond -1 or 1,
 * whatever the number of octaves.
 */
#ifndef FIRN_SHAPE_NOISE_H
#define FIRN_SHAPE_NOISE_H

#include <stdint.h>

double noise_at(uint64_t seed, double size, int octaves, const double x[3]);

#endif
