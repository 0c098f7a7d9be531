/*
 * Walking the cells of a regular grid that a shape touches, in an order that stays local.
 *
 * Space is halved until the distance decides or a block is small enough, so that empty space costs
 * nothing however large the bounds are.
 */
#ifndef FIRN_SHAPE_LATTICE_WALK_H
#define FIRN_SHAPE_LATTICE_WALK_H

#include <stdint.h>

#include "shape/shape.h"

/* Cells low <= index < high. `deep`: every place in them is deeper inside than the walk's
 * margin. */
typedef firn_status lattice_visit(void *user, const int64_t low[3], const int64_t high[3],
                                  bool deep);

typedef struct lattice_walk {
    const shape *shape;
    int dimensions;
    double origin[3]; /* the corner of cell 0 */
    double cell;
    double margin;
    int64_t block; /* visit ranges of at most so many cells along a side unless they are deep */
    lattice_visit *visit;
    void *user;
} lattice_walk;

/* Visit the cells from low to high (excluded). In 2D the range of the third axis is [0, 1). */
firn_status lattice_walk_range(const lattice_walk *walk, const int64_t low[3],
                               const int64_t high[3]);

#endif
