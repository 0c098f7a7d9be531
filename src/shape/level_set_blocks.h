/*
 * Samples as OpenVDB's leaves hold them: what crosses from src/io/vdb.cc into a level_set.
 *
 * A leaf is 8^3 samples at a multiple of 8. The table covers every leaf and says for the others on
 * which side of the surface they are.
 */
#ifndef FIRN_SHAPE_LEVEL_SET_BLOCKS_H
#define FIRN_SHAPE_LEVEL_SET_BLOCKS_H

#include "shape/level_set.h"

enum { LEAF_WIDTH = 8, LEAF_SAMPLES = 512 };

typedef struct level_set_blocks {
    double voxel;
    double origin[3];  /* of the table's first sample */
    double half_width; /* m: samples are exact up to this, and not beyond it in magnitude */
    int32_t size[3];   /* leaves along the axes of the table */
    int32_t *leaf;     /* x fastest: its number, or -1; owned */
    int8_t *side;      /* likewise, of leaves that are not there: -1 inside, 1 outside; owned */
    size_t leaf_count;
    float *values; /* leaf_count x 8^3, x fastest; owned */
} level_set_blocks;

void level_set_blocks_clear(level_set_blocks *blocks);

/* Owned by the caller. FIRN_NO_MEMORY is the only failure. */
firn_status level_set_build(const level_set_blocks *blocks, level_set **out);

/* How many leaves a table may cover. */
enum { MOST_LEAVES = 1 << 28 };

#endif
