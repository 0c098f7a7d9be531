/*
 * Settled snow that sleeps (`simulation.sleep`): who moves in a step, who only gives to nodes, who is left
 * alone. What sleeps as one are the particles whose stencils begin in the same block of 4^d nodes.
 *
 * A block is still while none of its particles is faster than the scene's limit and no moving body is
 * near; settled once it has been so for long enough. Blocks that are not settled move, and so do those
 * around them. The others sleep. Their particles give to the nodes that those that move reach, so that
 * these have their full sums; nodes that none of them reaches do not take part.
 *
 * The reference looks at every particle to find that out; steps 1 to 10 are spared.
 */
#ifndef FIRN_REF_SLEEP_H
#define FIRN_REF_SLEEP_H

#include "ref/state.h"

#define ref_sleep_choose REF_NAME(FIRN_DIM, sleep_choose)
#define ref_sleep_hold REF_NAME(FIRN_DIM, sleep_hold)
#define ref_sleep_note REF_NAME(FIRN_DIM, sleep_note)
#define ref_sleep_lose REF_NAME(FIRN_DIM, sleep_lose)
#define ref_get_rest REF_NAME(FIRN_DIM, get_rest)
#define ref_set_rest REF_NAME(FIRN_DIM, set_rest)

/* On an empty grid: everybody's part in the coming step. Those that fall asleep come to rest. */
firn_status ref_sleep_choose(backend *s);

/* After rasterizing: nodes that no particle reaches that moves lose their mass, and so are not active. */
void ref_sleep_hold(backend *s);

/* After step 10: for how long blocks have been still, told to the particles that are in them now. */
void ref_sleep_note(backend *s, double dt);

/* Before the rows that are not kept go: what is left of their blocks has lost its hold, and wakes. */
firn_status ref_sleep_lose(backend *s, const bool *kept);

/* As backend.h says. */
firn_status ref_get_rest(const backend *s, double *rest);
firn_status ref_set_rest(backend *s, const double *rest);

#endif
