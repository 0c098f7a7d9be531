/* Taking back a step whose particles went wrong: what G2P overwrites is kept when it might come to that. */
#ifndef FIRN_CPU_UNDO_H
#define FIRN_CPU_UNDO_H

#include "cpu/state.h"

/* The speed of nodes along an axis up to which G2P cannot spoil a particle in a step of dt; negative
 * when there is none. */
float undo_calm_speed(const backend *s, const step_limits *limits, double dt);

/* Keep what G2P is about to overwrite. The memory is made when it is first needed. */
firn_status undo_prepare(backend *s);

/* Bring it back. */
void undo_step(backend *s);

void undo_free(backend *s);

#endif
