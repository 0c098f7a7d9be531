/* The sparse grid's blocks: found by coordinates, linked to their neighbours, made when needed. */
#ifndef FIRN_CPU_BLOCKS_H
#define FIRN_CPU_BLOCKS_H

#include "cpu/cpu.h"

/* The block at these coordinates, made if need be; CPU_NONE when out of memory. Pointers to blocks and
 * fields do not outlive the call. */
uint32_t blocks_at(cpu_grid *grid, const int32_t at[3]);

/* The neighbour of a block in a direction if there is one, else CPU_NONE. */
uint32_t blocks_beside(cpu_grid *grid, uint32_t block, int direction);

/* The neighbour of a block in a direction, made and linked both ways if need be. */
uint32_t blocks_near(cpu_grid *grid, uint32_t block, int direction);

/* Makes the upper neighbours of every block that holds particles, which P2G adds to, and sorts those
 * blocks by colour. False when out of memory. */
bool blocks_prepare(cpu_grid *grid);

/* Forgets all blocks, keeping the memory. */
void blocks_clear(cpu_grid *grid);
void blocks_free(cpu_grid *grid);

/* Position along a space-filling (Morton) curve: neighbours in space are near in memory. */
uint64_t blocks_curve(const int32_t at[3]);

#endif
