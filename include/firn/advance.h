/*
 * Steps in a row, for backends that take many without a word to the host.
 *
 *     while (firn_sim_frame(sim) < 24 && !interrupted)
 *         firn_sim_advance(sim, UINT64_MAX);
 *
 * On a GPU this is much faster than one firn_sim_step after the other: tens of steps are under way before
 * the host waits for the first. The bits do not depend on how many are taken at a time.
 */
#ifndef FIRN_ADVANCE_H
#define FIRN_ADVANCE_H

#include "firn/firn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Some steps as firn_sim_step takes them: at least one, at most `most`, and none beyond the next frame time.
 * Returns when the backend would stop anyway: soon enough to ask between two calls whether to go on. */
firn_status firn_sim_advance(firn_sim *sim, uint64_t most);

#ifdef __cplusplus
}
#endif
#endif
