/* Distances between the blocks of a level set's table (x fastest). */
#ifndef FIRN_SHAPE_LEVEL_SET_FAR_H
#define FIRN_SHAPE_LEVEL_SET_FAR_H

#include <stdbool.h>
#include <stdint.h>

/* From 0 in blocks that the surface crosses and INFINITY elsewhere to squares of distances between
 * middles of blocks, in blocks. False when memory is out. */
bool far_squares(const int32_t size[3], float *d);

/* From distances at the middles of blocks where they are known, and INFINITY elsewhere, to
 * distances everywhere, by fast sweeping (Zhao 2005). `step` is the width of a block. */
void far_sweep(const int32_t size[3], const bool *known, float *d, double step);

#endif
