/*
 * Weights of one particle as rows, and the tile: the nodes 0..6 of each axis that the particles of one
 * block reach, gathered into one small array so that transfers never ask which block a node is in.
 *
 * `width` is 4 (cubic) or 3 (quadratic), `depth` the same in 3D and 1 in 2D: constants where these
 * functions are inlined.
 */
#ifndef FIRN_CPU_STENCIL_H
#define FIRN_CPU_STENCIL_H

#include "cpu/cpu.h"
#include "cpu/wide.h"

enum {
    TILE_LINE = 32, /* floats: 7 nodes of 4 channels, and 4 of padding that stay 0 */
    TILE_SIDE = 7,
    TILE_LINES = TILE_SIDE * TILE_SIDE,
    TILE_FLOATS = TILE_LINES * TILE_LINE,
};

struct cpu_scratch {
    float tile[2][TILE_FLOATS];
    /* For sixteen particles at a time: lines.h */
    float slab[2][TILE_LINES][16];
    float weight[2][3][16], slope[2][3][16]; /* along y and z, of the nodes beside the middle */
    float rows[3][16][16];
    float wx[16][4], sx[16][4]; /* along x, by quad_of */
    float behind[16];           /* that loads from the last of them may touch */
} __attribute__((aligned(64)));

/* What channel 0 of a velocity field holds, so that a gather also tells what the weights sum to. Not 1:
 * floats are twice as dense below 1 as above, and sums would be rounded up more often than down. */
#define GRID_UNIT 1.5f

/* A polynomial in g for each of four nodes, repeated for the axes. */
#define PER_NODE(a, b, c, d) ((real){a, b, c, d, a, b, c, d, a, b, c, d, a, b, c, d})

/* 1/6 to 24 bits after the point: then 1 - 2/6 is a float too, and the weights sum to 1. */
#define SIXTH 0x2aaaaap-24f

/* The three axes' weights from offsets spread over quarters; see method/spline.h for the spline. */
FN real stencil_weights(real g, int width)
{
    if (width == 4)
        return PER_NODE(SIXTH, 1 - 2 * SIXTH, SIXTH, 0) +
               g * (PER_NODE(-1 / 2.f, 0, 1 / 2.f, 0) +
                    g * (PER_NODE(1 / 2.f, -1, 1 / 2.f, 0) +
                         g * PER_NODE(-1 / 6.f, 1 / 2.f, -1 / 2.f, 1 / 6.f)));
    return PER_NODE(1 / 2.f, 1 / 2.f, 0, 0) +
           g * (PER_NODE(-1, 1, 0, 0) + g * PER_NODE(1 / 2.f, -1, 1 / 2.f, 0));
}

FN real stencil_slopes(real g, int width)
{
    if (width == 4)
        return PER_NODE(-1 / 2.f, 0, 1 / 2.f, 0) +
               g * (PER_NODE(1, -2, 1, 0) + g * PER_NODE(-1 / 2.f, 3 / 2.f, -3 / 2.f, 1 / 2.f));
    return PER_NODE(-1, 1, 0, 0) + g * PER_NODE(1, -2, 1, 0);
}

/* h^2 D^-1: see method/spline.h */
FN float inv_D_of(int width)
{
    return width == 4 ? 3 : 4;
}

FN real stencil_mls_slopes(real g, int width)
{
    real d = (width == 4 ? PER_NODE(-1, 0, 1, 2) : PER_NODE(-1 / 2.f, 1 / 2.f, 3 / 2.f, 0)) - g;
    return inv_D_of(width) * stencil_weights(g, width) * d;
}

/* wx0..3 wy0..3 wz0..3 - of one particle, and slopes, likewise, per cell. */
typedef struct stencil_rows {
    float w[16], s[16];
} stencil_rows;

/* From the offset of a particle, in the first quarter. */
FN stencil_rows stencil_rows_of(real offset, int width, bool mls)
{
    stencil_rows rows;
    real g = spread(offset);
    real_store(rows.w, stencil_weights(g, width));
    real_store(rows.s, mls ? stencil_mls_slopes(g, width) : stencil_slopes(g, width));
    return rows;
}

FN float *tile_line(float *tile, int cell, int b, int c)
{
    int x = cpu_cell_at(cell, 0), y = cpu_cell_at(cell, 1) + b, z = cpu_cell_at(cell, 2) + c;
    return tile + (z * TILE_SIDE + y) * TILE_LINE + 4 * x;
}

/* Load the lines of a cell's stencil from a tile, or store them back. */
FN void lines_load(real acc[16], float *tile, int cell, int width, int depth)
{
    UNROLL
    for (int c = 0; c < depth; c++)
        UNROLL
    for (int b = 0; b < width; b++)
        acc[4 * c + b] = real_load(tile_line(tile, cell, b, c));
}

FN void lines_store(const real acc[16], float *tile, int cell, int width, int depth)
{
    UNROLL
    for (int c = 0; c < depth; c++)
        UNROLL
    for (int b = 0; b < width; b++)
        real_store(tile_line(tile, cell, b, c), acc[4 * c + b]);
}

/* A line of the tile in the field of a block and its upper neighbours. */
FN float *field_line(const cpu_block *block, float *field, int y, int z, int half)
{
    uint32_t near = block->near[CPU_STAY + half + 3 * (y >> 2) + 9 * (z >> 2)];
    return field + (size_t)near * CPU_BLOCK_FLOATS + ((z & 3) * 4 + (y & 3)) * 16;
}

/* Ask for a few of the lines that the tile will be added to, from the nth on. */
FN void tile_prefetch(const cpu_block *block, float *field, int n, int count, int depth)
{
    int lines = (depth == 1 ? 1 : TILE_SIDE) * TILE_SIDE;
    for (int l = n; l < n + count && l < lines; l++)
        for (int half = 0; half < 2; half++)
            __builtin_prefetch(field_line(block, field, l % TILE_SIDE, l / TILE_SIDE, half), 1);
}

/* Copies a field of a block and its upper neighbours to the tile, or adds the tile to them. */
FN void tile_move(const cpu_block *block, float *field, float *tile, int depth, bool add)
{
    int sides = depth == 1 ? 1 : TILE_SIDE;
    for (int z = 0; z < sides; z++)
        for (int y = 0; y < TILE_SIDE; y++)
            for (int half = 0; half < 2; half++) {
                float *line = field_line(block, field, y, z, half);
                float *local = tile + (z * TILE_SIDE + y) * TILE_LINE + 16 * half;
                if (add)
                    real_store(line, real_load(line) + real_load(local));
                else
                    real_store(local, real_load(line));
            }
}

#endif
