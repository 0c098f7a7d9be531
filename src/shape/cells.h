/*
 * Cells: space cut into random convex pieces, about `size` wide, by flat walls (Voronoi cells of one
 * point in each cube of a lattice). The same on every machine.
 *
 * Says how far the nearest wall is, not which cell a place is in.
 */
#ifndef FIRN_SHAPE_CELLS_H
#define FIRN_SHAPE_CELLS_H

#include <stdint.h>

/* Distance from x to the nearest wall, m: 0 on it, up to about size / 2 in the middle of a cell. */
double cell_wall_distance(uint64_t seed, double size, const double x[3]);

#endif
