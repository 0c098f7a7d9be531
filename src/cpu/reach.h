/*
 * Which bodies a block's nodes and particles may touch, found from coarse to fine before a step: the
 * block, its octants, its cells. Most snow near a body does not touch it, and a question about a ball
 * of snow is cheaper than one about each of its particles.
 *
 * Does NOT do: collisions (grid_pass.h, g2p.h); what is within reach may still not touch.
 */
#ifndef FIRN_CPU_REACH_H
#define FIRN_CPU_REACH_H

#include "cpu/state.h"

/* Fills near_bodies, near_nodes and near_cells of a block, for where the bodies stand now. */
void reach_block(const backend *self, cpu_block *block);

#endif
