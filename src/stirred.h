/*
 * What keeps snow from sleeping besides its own motion: a body that moves within reach of a block of 4^d
 * nodes or of the particles whose stencils begin there, or one that may, because it deforms.
 */
#ifndef FIRN_SRC_STIRRED_H
#define FIRN_SRC_STIRRED_H

#include <math.h>

#include "collider/collider.h"

/* `low`: the first node of the block, m. Its particles reach seven cells from there. */
static inline bool is_stirred(const collider_set *colliders, int dimensions, double cell_size,
                              const double low[3])
{
    double centre[3] = {0}, high[3] = {0}, half = 3.5 * cell_size;
    if (!colliders->moves)
        return false;
    for (int a = 0; a < dimensions; a++) {
        centre[a] = low[a] + half;
        high[a] = low[a] + 2 * half;
    }
    collider_bits near =
        collider_set_near(colliders, COLLIDER_ALL, centre, sqrt(dimensions) * half);
    for (size_t c = 0; near && c < colliders->count; c++) {
        bool is_near = near >> (c < 63 ? c : 63) & 1;
        if (is_near &&
            (colliders->items[c].deform || collider_speed(&colliders->poses[c], low, high) > 0))
            return true;
    }
    return false;
}

#endif
