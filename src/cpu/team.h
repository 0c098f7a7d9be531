/*
 * Threads that share out loops.
 *
 * A step is a dozen short loops, one after the other. Idle threads look for the next loop for some
 * microseconds and then sleep, so that a busy machine is not held up by threads that wait awake (OpenMP
 * teams spin for milliseconds, which on a shared machine made a step more than 15 times slower). Nor does a
 * loop wait for threads that the machine keeps from coming to it: who is there does all of it.
 *
 * Does NOT do: decide results. Which thread does which part is left to chance; callers must not let it
 * matter.
 */
#ifndef FIRN_CPU_TEAM_H
#define FIRN_CPU_TEAM_H

#include <stddef.h>

typedef struct team team;

/* Does indices [begin, end) of a loop, as `thread` (0 .. threads - 1). */
typedef void team_body(void *context, int thread, size_t begin, size_t end);

/* Owned by the caller; NULL when the system gives no threads. 0 means one per processor. */
team *team_create(int threads);
void team_destroy(team **t);
int team_threads(const team *t);

/* The loop over [0, count), handed out in pieces of `grain`, smaller ones at its end; returns when all
 * of it is done. */
void team_for(team *t, size_t count, size_t grain, team_body *body, void *context);

#endif
