/*
 * The inside of a volume, for the files that make it and the loops that follow light through it.
 *
 * Here lengths are in voxels and points are relative to the grid's low corner. Invariants:
 *  1. A block's last nodes along each axis repeat the first of its upper neighbours: a lookup reads one
 *     block.
 *  2. A region lists the blocks that hold snow, and no others.
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
    float bound;              /* the largest of them */
} volume_block;

typedef struct volume_region {
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

/* Extent and maximum, once the nodes are set. FIRN_BAD_SCENE when they are no densities. */
firn_status volume_finish(volume *v);

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

/* The block at these coordinates; NULL where there is no snow. */
static inline const volume_block *volume_block_at(const volume *v, const int block[3])
{
    for (int a = 0; a < 3; a++)
        if (block[a] < 0 || block[a] >= v->size[a] * REGION_SIDE)
            return NULL;
    uint32_t region = v->table[volume_table_of_block(v, block)];
    uint32_t number = region ? v->regions[region - 1].block[volume_slot_of_block(block)] : 0;
    return number ? &v->blocks[number - 1] : NULL;
}

/* ---- Points of a block -------------------------------------------------------------------------- */

/* x, y, z and one that means nothing. Points of a block are relative to the corner of its lower neighbour
 * along every axis: from 8 up to, but less than, 16. A look at the bits of a cell that a ray comes to then
 * tells whether it is of the block. */
typedef float lanes __attribute__((vector_size(16)));
typedef int int_lanes __attribute__((vector_size(16)));
typedef int64_t pairs __attribute__((vector_size(16)));

/* The node at a cell's lower corner. */
static inline int block_index(int_lanes cell)
{
    const int first = BLOCK_CELLS * (BLOCK_SIDE * BLOCK_SIDE + BLOCK_SIDE + 1);
    return (cell[0] * BLOCK_SIDE + cell[1]) * BLOCK_SIDE + cell[2] - first;
}

/* The four nodes of a face of a cell: (0, 0), (0, 1), (1, 0), (1, 1) along y and z. */
static inline lanes block_face(const float *node)
{
    int64_t two[2];
    memcpy(&two[0], node, sizeof *two);
    memcpy(&two[1], node + BLOCK_SIDE, sizeof *two);
    return (lanes)(pairs){two[0], two[1]};
}

/* Trilinear. low, rise: a cell's lower face along x, and what the upper one has more; f: the place in the
 * cell, 0 .. 1. */
static inline float cell_density(lanes low, lanes rise, lanes f)
{
    lanes face = low + f[0] * rise;
    float near = face[0] + f[1] * (face[2] - face[0]), far = face[1] + f[1] * (face[3] - face[1]);
    return near + f[2] * (far - near);
}

static inline float block_density(const volume_block *block, lanes x)
{
    int_lanes cell = __builtin_convertvector(x, int_lanes);
    const float *node = block->nodes + block_index(cell);
    lanes low = block_face(node), high = block_face(node + BLOCK_SIDE * BLOCK_SIDE);
    return cell_density(low, high - low, x - __builtin_convertvector(cell, lanes));
}

#endif
