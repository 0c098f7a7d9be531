/*
 * The fast processor backend: float32 particles in a sparse grid of blocks, the ten steps fused into
 * three passes (P2G, grid, G2P) of 16 wide lanes, any number of threads.
 *
 * Numbered invariants that the files of this folder rely on:
 * 1. A particle's place is a block, a cell in it (its *base node*, the first of its stencil) and an
 *    offset from that node in cells; so precision is the same everywhere in space. Offsets are
 *    multiples of 2^-26, so that a position in double gives the same bits back.
 * 2. A block is 4 x 4 x 4 nodes (4 x 4 x 1 in 2D, where the third axis has one node of weight 1). The
 *    stencils of its particles reach nodes 0..6 of each axis: itself and its upper neighbours.
 * 3. Within a step `order` lists the particles by block, then by cell, then by row. Every sum runs in
 *    that order, whatever the threads do, and blocks add to shared nodes in the order of their colour
 *    (the parity of their coordinates). So results do not depend on threads, on where in memory a
 *    particle is, or on whether the run was resumed.
 * 4. Nothing that a step does depends on all blocks being in this process: blocks exchange node sums
 *    between P2G and the grid pass, and particles between G2P and the sort, and only there.
 */
#ifndef FIRN_CPU_CPU_H
#define FIRN_CPU_CPU_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "backend.h"
#include "method/stress_series_plan.h"

#define CPU_NONE UINT32_MAX

enum {
    CPU_CELLS = 64,                   /* in a block; 2D uses 16 of them */
    CPU_BLOCK_FLOATS = CPU_CELLS * 4, /* a field: four channels a node */
    CPU_STAY = 13,                    /* the middle one of the 27 directions */
    CPU_DIRECTIONS = 27,
    CPU_AHEAD = 48,                 /* how far ahead in `order` records are fetched */
    CPU_ORDER_END = CPU_AHEAD + 16, /* entries after its last that may be read */
};

/* The bits of a cell's number that count each axis. x is slowest: then the stencils of cells that follow
 * each other begin at the same x, and a sum just stored can be loaded without waiting for memory. */
static const int cpu_cell_shift[3] = {4, 0, 2};

static inline int cpu_cell_at(int cell, int axis)
{
    return cell >> cpu_cell_shift[axis] & 3;
}

/* What changes every step: one cache line. F is row major; in 2D its third row and column are those of
 * the identity, which makes plane strain of the same law. */
typedef struct cpu_hot {
    float x[3]; /* offset from the base node's cell corner, in cells, in [0, 1) */
    float v[3];
    float F[9];
    float J_P;
} cpu_hot;

/* What G2P needs comes first. */
typedef struct cpu_cold {
    float xi, theta_c, theta_s;
    float log_wave2; /* of the squared wave speed of soft snow: log((lambda0 + 2 mu0) V0 / m) */
    float m, V0, mu0, lambda0;
} cpu_cold;

static inline void cpu_know_wave(cpu_cold *c)
{
    c->log_wave2 = logf(fmaxf(c->lambda0 + 2 * c->mu0, FLT_MIN) * (c->V0 / c->m));
}

/* B / h by columns, each behind a channel 0 of no meaning: (-, B_xk, B_yk, B_zk). */
typedef struct cpu_affine {
    float column[3][4];
} cpu_affine;

typedef struct cpu_block {
    int32_t at[3];                 /* coordinates: first node / 4 (in 2D at[2] counts nothing) */
    uint32_t near[CPU_DIRECTIONS]; /* blocks around it, CPU_NONE where there is none yet */
    uint32_t first, count;         /* its particles in `order` */
    uint32_t cell_count[CPU_CELLS];
    uint32_t moved;                   /* particles that the last G2P sent to another cell */
    uint32_t leaving[CPU_DIRECTIONS]; /* where in the neighbours' lists of arrivals theirs begin */
    uint32_t directions;              /* in which particles leave */
    uint32_t unplaced; /* directions in which there is no neighbour yet: there, how many leave */
    uint32_t arriving; /* particles that the last G2P sent here */
    uint32_t next_first, arrival_first; /* where they go; during a sort */
    collider_bits near_bodies;          /* that its nodes or particles may touch: reach.h */
    uint64_t near_nodes;                /* the nodes that may touch one of them */
    uint64_t near_cells;                /* the cells whose particles may */
    uint8_t near_parts[CPU_CELLS];      /* the eighths of each, x fastest, that may */
    double reach_ends; /* until which `travel` of the bodies all these hold; 0: not known */
    bool wild;         /* some node of it is faster than `calm` of the pass */
    /* With sleep.h; without it all that hold particles are awake. */
    double still;    /* s, for how long its particles have been still */
    float log_wave2; /* the largest of its particles when it was last awake */
    bool asleep;     /* in the last step */
    bool awake;      /* its particles are moved in this step */
    bool live;       /* its nodes are reached by particles of awake blocks */
    bool takes_part; /* its particles are, or add to live nodes */
    bool touched;    /* its nodes are added to */
} cpu_block;

typedef struct cpu_grid {
    int dimensions;
    int field_count; /* 2 with FLIP */
    uint32_t count, capacity;
    cpu_block *blocks;
    float *
        field[2]; /* P2G: (m, momentum), (-, dt force); then (-, v_new), (-, v_new - alpha v_old) */
    uint32_t slot_count;
    uint32_t *slots; /* hash of coordinates: block + 1, or 0 */
    uint32_t colour_count[8];
    uint32_t *colour[8]; /* blocks that hold particles, by parity of coordinates */
} cpu_grid;

/* Where a particle went: direction * 64 + cell. */
typedef uint16_t cpu_destination;

/* What the grid pass notes of nodes for step 6, and what it gets back. */
typedef struct cpu_nodes {
    float *m;      /* [block][CPU_CELLS]: masses, 0 where nothing is */
    bool *active;  /* [block]: whether it has any */
    float *bond;   /* field: what bodies leave free, (1, normal) or (0, 0) when held; near bodies */
    float *star;   /* field: v* before it meets bodies; NULL when nobody asks */
    float *change; /* field: v^{n+1} - v*, the solution */
} cpu_nodes;

/* All that a pass over blocks reads and writes; borrowed. */
typedef struct cpu_pass {
    cpu_hot *hot;
    const cpu_cold *cold;
    cpu_affine *affine;
    const uint32_t *order;
    /* The particles that changed cell, from the first entry of each block: where they were in the
     * block's list and are in memory, and where they went. */
    uint32_t *mover, *mover_slot;
    cpu_destination *destination;
    cpu_grid *grid;
    const collider_set *colliders;
    double cell_size;
    double
        origin; /* of a cell's corner from its base node, in cells: 1 (cubic) or 1/2 (quadratic) */
    const cpu_nodes *nodes; /* NULL for explicit steps */
    float dt, blend;
    float gravity[3];
    bool trial; /* G2P only finds out whether a particle would go wrong, and writes nothing */
    float calm; /* m/s: while no node is faster along any axis, no particle can go wrong in G2P */
    stress_series_plan series;
} cpu_pass;

/* A thread's answer to a pass. */
typedef struct cpu_outcome {
    uint32_t bad_position;                   /* first in `order` that went wrong, or CPU_NONE */
    float bad_speed;                         /* of that particle */
    float max_speed2[16], max_log_wave2[16]; /* the largest of each lane */
    uint64_t active_nodes;
    uint64_t body_ticks; /* of body_clock, spent on bodies */
    float bad_stretch, bad_J_P;
    bool wild;     /* some node is faster than `calm`, or not a number */
    bool unplaced; /* of some block */
} cpu_outcome;

/* Read many times a step, so it has to be quick; how long a tick is, a step finds out. */
static inline uint64_t body_clock(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

/* A thread's working memory. */
typedef struct cpu_scratch cpu_scratch;

typedef struct cpu_kernels {

    size_t scratch_bytes;
    /* Steps 1 and 3 for one block, added to the fields of it and its upper neighbours; `next` is what
     * the thread will work on then. */
    void (*p2g)(const cpu_pass *pass, uint32_t block, uint32_t next, cpu_scratch *scratch);
    /* Steps 4 and 5 for the nodes of one block. */
    void (*grid)(const cpu_pass *pass, uint32_t block, cpu_outcome *outcome);
    /* The end of step 6 for the nodes of one block: v^{n+1}, which meets bodies once more. */
    void (*solved)(const cpu_pass *pass, uint32_t block, cpu_outcome *outcome);
    /* Steps 7, 8, 9, 10 for the particles of one block. */
    void (*g2p)(const cpu_pass *pass, uint32_t block, cpu_scratch *scratch, cpu_outcome *outcome);
    /* Step 2 for the particles of one block, from the masses in field 0. */
    void (*volumes)(const cpu_pass *pass, uint32_t block, cpu_scratch *scratch, cpu_cold *cold);
    /* The limits of particles [first, first + count) by memory slot. */
    void (*limits)(const cpu_pass *pass, size_t first, size_t count, cpu_outcome *outcome);
} cpu_kernels;

#endif
