/* Sets of grid cells, for counting: which hold particles, which nodes and blocks those touch. */
#ifndef FIRN_SCENE_OCCUPANCY_H
#define FIRN_SCENE_OCCUPANCY_H

#include <stddef.h>
#include <stdint.h>

typedef struct cell {
    int64_t index[3];
} cell;

typedef struct cell_set {
    size_t count;
    cell *cells; /* in the order of arrival; owned */
    size_t slot_count;
    size_t *slots; /* a hash table of indices into `cells`, from 1; owned */
} cell_set;

void cell_set_add(cell_set *set, cell c);
void cell_set_clear(cell_set *set);

/* The cell of a point when cell 0 starts at `origin` cell sizes. */
cell cell_at(const double *position, int dimensions, double cell_size, double origin);

/* Every cell becomes the box of cells from `low` to `high` around it. */
void cell_set_grow(cell_set *set, int dimensions, int low, int high);

/* How many blocks of `width` cells a side the set touches. */
size_t cell_set_blocks(const cell_set *set, int dimensions, int width);

#endif
