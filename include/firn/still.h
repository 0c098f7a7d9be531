/*
 * A copy of a simulation that stands still, so that another thread reads it while the simulation goes on.
 *
 *     firn_sim *still;
 *     if (firn_sim_freeze(sim, &still) == FIRN_OK && still)
 *         hand_over(still);              // reads, captures or saves it, then firn_sim_destroy(&still)
 *     else
 *         firn_frame_capture(sim, ...);  // here and now
 *     firn_sim_advance(sim, UINT64_MAX);
 *
 * On a GPU the copy is made there, behind the steps under way, and nobody waits for it.
 *
 * Does NOT do: step, or change. The simulation must outlive its copies.
 */
#ifndef FIRN_STILL_H
#define FIRN_STILL_H

#include "firn/firn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `still` is NULL where copies gain nothing (backends on the processor) or the GPU has no room for one: it takes a
 * quarter of what is free there at most. Owned by the caller. */
firn_status firn_sim_freeze(firn_sim *sim, firn_sim **still);

#ifdef __cplusplus
}
#endif
#endif
