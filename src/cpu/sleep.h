/*
 * Settled snow that sleeps, block by block (`simulation.sleep`).
 *
 * A block is *still* while none of its particles is faster than the scene's limit and no moving body is
 * near. Once it has been still for long enough it counts as settled. Blocks that are not settled, and
 * those around them, are awake: they do all of a step. The others sleep: their particles stay where and
 * as they are, at rest.
 *
 * Nodes that awake particles reach get their full sums: the sleepers around take part in P2G (and in
 * step 6) without being moved. Farther nodes do not exist, or stand still. So the cost is that of the
 * awake blocks and two layers around them.
 *
 * Motion wakes its surroundings before it gets there: it has to cross an awake block, four cells, and
 * stirs it on the way. What is lost is motion below the limit.
 *
 * The time for which blocks have been still is state: it is saved by particles, and read back. Everything
 * else here follows from it.
 */
#ifndef FIRN_CPU_SLEEP_H
#define FIRN_CPU_SLEEP_H

#include "cpu/state.h"

/* Decides which blocks are awake in the coming step, and brings those to rest that fall asleep. */
void sleep_choose(backend *s);

/* What G2P found in one awake block. */
void sleep_note(const backend *s, cpu_block *block, const cpu_outcome *outcome);

/* The waves of sleeping blocks, which G2P did not see. */
void sleep_add_limits(const backend *s, cpu_outcome *outcome);

/* After sorting: still times from those of the rows (`s->rest`, which is given up), and waves. */
void sleep_start(backend *s);

/* The still times of the rows that are kept when others go and come; owned by the caller, NULL when
 * nothing sleeps. */
firn_status sleep_carry(backend *s, const bool *kept, size_t added, double **rest);

/* Seconds for which the block of each row has been still; see backend.h. */
firn_status cpu_get_rest(const backend *s, double *rest);
firn_status cpu_set_rest(backend *s, const double *rest);

#endif
