/*
 * Where particles are on the grid of nodes, and the particles in the order of blocks of 8^3 nodes.
 *
 * A particle belongs to the block of its base node, the first of its stencil.
 */
#ifndef FIRN_IO_VOXEL_ORDER_H
#define FIRN_IO_VOXEL_ORDER_H

#include <math.h>

#include "io/voxels.h"

/* Block coordinates and their numbers 0, 1, 2, ... in the order they were added. */
typedef struct block_table {
    size_t count, capacity, slot_count;
    int32_t (*at)[3];
    uint32_t *slots; /* number + 1, or 0 */
} block_table;

/* The number of a block, which is added if it is new; UINT32_MAX when memory ran out. */
uint32_t block_number(block_table *table, const int32_t at[3]);
void block_table_clear(block_table *table);

typedef struct voxel_order {
    block_table blocks;
    size_t *first;  /* of a block's particles in `rows`; blocks.count + 1 of them */
    uint32_t *rows; /* particles by block; within a block in their own order */
} voxel_order;

firn_status voxel_order_create(const voxel_source *source, int threads, voxel_order *order);
void voxel_order_clear(voxel_order *order);

/* Nodes of a stencil along an axis. */
static inline int voxel_reach(const voxel_source *s, int axis)
{
    return axis == s->flat_axis ? 1 : s->kernel == FIRN_CUBIC ? 4 : 3;
}

/* x / h along an axis. */
static inline double voxel_coordinate(const voxel_source *s, size_t p, int axis)
{
    size_t k = 3 * p + (size_t)axis;
    return (s->place ? s->place[k] : (double)s->position[k]) / s->cell_size;
}

/* The base node of u = x / h. */
static inline double voxel_base(const voxel_source *s, int axis, double u)
{
    if (axis == s->flat_axis)
        return 0;
    return s->kernel == FIRN_CUBIC ? floor(u) - 1 : floor(u - 0.5);
}

#endif
