/* Connected pieces of snow: cells that are full enough and share faces. */
#ifndef FIRN_SRC_PIECES_H
#define FIRN_SRC_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One cell of the grid, or, before pieces_merge, one particle in it. */
typedef struct piece_cell {
    uint64_t key;
    double mass;
    double filled; /* share of the cell that its snow would fill unpacked */
    size_t parent; /* in the forest of joined cells */
} piece_cell;

/* The cell that a point lies in, by its coordinates in cells. Points further than a million cells from
 * the origin are counted to the outermost cells. */
uint64_t piece_key(const double x[3]);

/* Sort and add up particles of the same cell; returns the number of cells. */
size_t pieces_merge(piece_cell *cells, size_t count);

/* Join the cells that are at least `fill` full into pieces, and put the masses of those of at least
 * `least` kg into `masses` (room for `count`), the largest first. Returns how many there are. */
size_t pieces_join(piece_cell *cells, size_t count, double fill, double least, double *masses);

#endif
