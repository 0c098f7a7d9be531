/*
 * The inside of a volume, for the files that make it and the loops that follow light through it.
 *
 * Here lengths are in voxels and points are relative to the grid's low corner. Invariants:
 *  1. A block's last nodes along each axis repeat the first of its upper neighbours: a lookup reads one
 *     block.
 *  2. A region's bound[b] is at least the density everywhere in block b; 0 where there is no snow.
 */
#ifndef FIRN_RENDER_VOLUME_GRID_H
#define FIRN_RENDER_VOLUME_GRID_H

#include <string.h>

#include "render/volume.h"

enum {
    BLOCK_CELLS = 8,
    BLOCK_SIDE = BLOCK_CELLS + 1,
    BLOCK_NODES = BLOCK_SIDE * BLOCK_SIDE * BLOCK_SIDE,
    REGION_SIDE = 8,
    REGION_BLOCKS = REGION_SIDE * REGION_SIDE * REGION_SIDE,
    REGION_CELLS = BLOCK_CELLS * REGION_SIDE,
};

typedef struct volume_block {
    float nodes[BLOCK_NODES]; /* kg/m^3; z fastest */
} volume_block;

typedef struct volume_region {
    float bound[REGION_BLOCKS];    /* kg/m^3 */
    uint32_t block[REGION_BLOCKS]; /* number + 1; 0: none */
} volume_region;

struct volume {
    vec3 low;        /* of the grid, m relative to the picture's origin */
    float voxel;     /* m */
    int size[3];     /* regions along each axis */
    uint32_t *table; /* region's number + 1; 0: none */
    volume_region *regions;
    volume_block *blocks;
    int (*corners)[3]; /* first node of each block */
    size_t region_count, block_count, left_out;
    vec3 box_low, box_high; /* of the blocks with snow, m relative to the picture's origin */
    float densest;
};

/* Room for a table of v->size; then for its regions; then, the regions' blocks having been numbered, for
 * the blocks, whose corners are set. All zeroed. */
firn_status volume_allocate_table(volume *v);
firn_status volume_allocate_regions(volume *v);
firn_status volume_allocate_blocks(volume *v);

/* Bounds, extent and maximum, once the nodes are set. */
void volume_finish(volume *v);

static inline size_t volume_table_at(const volume *v, const int region[3])
{
    return ((size_t)region[0] * (size_t)v->size[1] + (size_t)region[1]) * (size_t)v->size[2] +
           (size_t)region[2];
}

/* The region that holds a block, by the block's coordinates. */
static inline size_t volume_table_of_block(const volume *v, const int block[3])
{
    const int region[3] = {block[0] / REGION_SIDE, block[1] / REGION_SIDE, block[2] / REGION_SIDE};
    return volume_table_at(v, region);
}

static inline int volume_slot_of_block(const int block[3])
{
    const int mask = REGION_SIDE - 1;
    return ((block[0] & mask) * REGION_SIDE + (block[1] & mask)) * REGION_SIDE + (block[2] & mask);
}

static inline uint32_t *volume_number_of_block(const volume *v, const int block[3])
{
    uint32_t region = v->table[volume_table_of_block(v, block)];
    return &v->regions[region - 1].block[volume_slot_of_block(block)];
}

/* Two nodes that are neighbours along z. */
typedef float node_pair __attribute__((vector_size(8)));

static inline node_pair pair_at(const float *node)
{
    node_pair p;
    memcpy(&p, node, sizeof p);
    return p;
}

/* At a point relative to the block's corner, which must lie in the block. */
static inline float block_density(const volume_block *block, vec3 x)
{
    int i = (int)x.x, j = (int)x.y, k = (int)x.z;
    i -= i == BLOCK_CELLS, j -= j == BLOCK_CELLS, k -= k == BLOCK_CELLS;
    float fx = x.x - (float)i, fy = x.y - (float)j, fz = x.z - (float)k;
    const float *n = block->nodes + (i * BLOCK_SIDE + j) * BLOCK_SIDE + k;
    const float *m = n + BLOCK_SIDE * BLOCK_SIDE;
    node_pair near = pair_at(n) + fx * (pair_at(m) - pair_at(n));
    node_pair far =
        pair_at(n + BLOCK_SIDE) + fx * (pair_at(m + BLOCK_SIDE) - pair_at(n + BLOCK_SIDE));
    node_pair line = near + fy * (far - near);
    return line[0] + fz * (line[1] - line[0]);
}

#endif
