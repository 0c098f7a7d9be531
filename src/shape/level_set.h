/*
 * A signed distance sampled on a sparse grid: what meshes and VDB files become, so that a collider
 * is one look into memory wherever it came from. Negative inside.
 *
 * Samples stand at origin + voxel * (i, j, k). Space is cut into blocks of 8^3 cells; a dense table
 * holds for every block of the box around the body either the number of its samples or -1. A block
 * with samples has the 11^3 that its cells need, one layer before and two after its own, so that
 * value and gradient come from one block. Everything is a flat array: a GPU uses them as they are.
 *
 * Exact (up to interpolation) within `band` of the surface. Farther away the value is a lower bound
 * in magnitude that grows with the distance, with the right sign everywhere.
 *
 * The value is interpolated linearly; the gradient is that of central differences, interpolated
 * likewise, so it is continuous: its error is of the order (voxel / radius of curvature)^2.
 *
 * Does NOT do: change after it was made; transforms (shape.h).
 */
#ifndef FIRN_SHAPE_LEVEL_SET_H
#define FIRN_SHAPE_LEVEL_SET_H

#include <stdint.h>

#include "shape/mesh.h"

enum {
    LEVEL_SET_CELLS = 8,  /* along a block */
    LEVEL_SET_WIDTH = 11, /* samples along a block: sample s of block b is number 8 b + s - 1 */
    LEVEL_SET_BLOCK = LEVEL_SET_WIDTH * LEVEL_SET_WIDTH * LEVEL_SET_WIDTH,
};

typedef struct level_set {
    double voxel;     /* m between samples */
    double band;      /* m */
    double origin[3]; /* sample (0, 0, 0), the corner of block (0, 0, 0) */
    int32_t size[3];  /* blocks along the axes of the table */
    int32_t *table;   /* x fastest: the block's number, or -1; owned */
    float *far;   /* likewise: bound of the distance at its middle, < 0 if some is inside; owned */
    float *depth; /* likewise: an estimate of that distance; owned */
    size_t block_count;
    int32_t (*place)[3];    /* of each numbered block in the table; owned */
    float *samples;         /* block_count x 11^3, x fastest; owned */
    double low[3], high[3]; /* box around the inside */
    int shares;
} level_set;

/* Made from a mesh by OpenVDB. The mesh is taken to be closed (its orientation does not matter); or,
 * when `shell` is above 0, anything, and the body is what lies within shell / 2 of a triangle.
 * `band` is kept on both sides of the surface. Owned by the caller. */
firn_status level_set_from_mesh(const triangle_mesh *mesh, double voxel, double band, double shell,
                                level_set **out);

/* One more owner; the same pointer. */
level_set *level_set_share(level_set *set);
void level_set_release(level_set **set);

/* Signed distance at x; `gradient` (may be NULL) gets a unit vector away from the inside. */
double level_set_distance(const level_set *set, const double x[3], double gradient[3]);

/* -1 when all samples around x are inside, 1 when all are outside, else 0. */
int level_set_side(const level_set *set, const double x[3]);

/* The cell that holds x: its block (below 0: none, x is farther than `band` from the surface), the
 * index of its lowest sample in the block, and the weights of the upper samples. For fields that
 * are sampled beside the level set, such as the velocity of a deforming body. */
typedef struct level_set_cell {
    int32_t block;
    int32_t sample; /* the cell's corners: sample + {0, 1} + 11 {0, 1} + 121 {0, 1} */
    double weight[3];
} level_set_cell;
level_set_cell level_set_locate(const level_set *set, const double x[3]);

#endif
