/*
 * Keeping `order`: particles by block, cell, row (invariant 3 of cpu.h).
 *
 * After each G2P, sort_step takes the particles that changed cell out of the lists and merges them in
 * where they went: they are few, the rest is in order already. It moves numbers, not particles. Now and
 * then sort_memory brings the particles themselves into that order, so that neighbours in space stay
 * neighbours in memory.
 */
#ifndef FIRN_CPU_SORT_H
#define FIRN_CPU_SORT_H

#include "cpu/cpu.h"
#include "cpu/team.h"

typedef struct cpu_store {
    size_t count;
    cpu_hot *hot;
    cpu_cold *cold;
    cpu_affine *affine; /* APIC and MLS only */
    uint32_t *row;      /* of each memory slot */
    uint32_t *order;    /* position in order -> slot in memory: `index`, or in the spare memory */
    uint32_t *next;     /* the coming order: the other one */
    uint32_t *index;    /* memory for an order */
    cpu_hot *spare;     /* as large as hot: what sort_memory moves into, and else room for: */
    uint32_t *arriving; /* slots by the block they arrive in */
    uint32_t *arriving_row; /* their rows */
    uint8_t *arriving_cell; /* and the cells they arrive in */
    uint32_t *mover;        /* what G2P reports, see cpu_pass */
    uint32_t *mover_slot;
    cpu_destination *destination;
    uint32_t *place; /* between steps: row -> position in order */
} cpu_store;

/* Divide the spare memory; the order is in `index` then. */
void sort_share_spare(cpu_store *store);

/* First order of particles whose memory is in row order, each in the cell base[row]. */
firn_status sort_start(cpu_store *store, cpu_grid *grid, const int32_t (*base)[3], team *threads);

/* `unplaced`: whether some block has particles for a neighbour that it does not know. */
firn_status sort_step(cpu_store *store, cpu_grid *grid, team *threads, bool unplaced);

/* Particles into `order`, blocks along a space-filling curve, empty blocks dropped. */
firn_status sort_memory(cpu_store *store, cpu_grid *grid, team *threads);

#endif
