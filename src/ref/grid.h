/*
 * The reference solver's grid: only nodes that some particle touches exist, wherever they are.
 *
 * Nodes sit at integer multiples of the cell size and are kept in blocks of 4^d behind a hash of the
 * block's coordinates. Blocks live as long as a step and their memory as long as the grid, so pointers
 * to nodes hold until grid_clear and a warmed-up grid allocates nothing.
 */
#ifndef FIRN_REF_GRID_H
#define FIRN_REF_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "method/vec.h"

#define GRID_PASTE(a, b, c) a##b##_##c
#define GRID_NAME(dim, name) GRID_PASTE(grid, dim, name)
#define grid_clear GRID_NAME(FIRN_DIM, clear)
#define grid_block_at GRID_NAME(FIRN_DIM, block_at)
#define grid_find GRID_NAME(FIRN_DIM, find)
#define grid_free GRID_NAME(FIRN_DIM, free)

enum { GRID_BLOCK_NODES = FIRN_DIM == 3 ? 64 : 16 };

typedef struct node {
    real m;
    vec v;     /* before forces; while rasterizing, the momentum */
    vec v_new; /* v*, then v^{n+1} */
    vec f;
    vec n;          /* step 6: the direction in which a body binds v_new, or 0; */
    real keep;      /* 0 where a body binds all of it, else 1 */
    uint32_t index; /* among the active nodes; step 6 */
} node;

typedef struct grid_block {
    int64_t at[FIRN_DIM]; /* coordinates of its first node, divided by 4 */
    node nodes[GRID_BLOCK_NODES];
    /* With `sleep` (sleep.h), of the particles whose stencils begin here: */
    bool holds;      /* there are some, */
    double still;    /* s, for how long they have been so, */
    double fastest2; /* the square of the largest speed after the step, m/s; */
    bool awake;      /* they move in this step, */
    bool gives;      /* they add to nodes in it. */
    bool live;       /* Nodes of this block are reached by particles that move. */
} grid_block;

typedef struct grid {
    size_t count, capacity; /* blocks in use, blocks allocated */
    grid_block **blocks;
    size_t slot_count; /* a power of two, at least twice count */
    uint32_t *slots;   /* block index + 1, or 0 */
} grid;

void grid_clear(grid *g);

/* The block at these block coordinates, made with empty nodes if need be; NULL when out of memory. */
grid_block *grid_block_at(grid *g, const int64_t at[FIRN_DIM]);

/* Likewise, but NULL when there is none. */
grid_block *grid_find(const grid *g, const int64_t at[FIRN_DIM]);

void grid_free(grid *g);

#endif
