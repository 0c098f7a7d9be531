/*
 * How far a run is: a bar redrawn in place on a terminal, one plain line a frame elsewhere.
 *
 * Does NOT do: decide anything. It reads the simulation and the clock.
 */
#ifndef FIRN_TOOL_PROGRESS_H
#define FIRN_TOOL_PROGRESS_H

#include "firn/firn.h"

typedef struct progress {
    int last_frame;     /* where the run ends: this frame, */
    uint64_t last_step; /* or this step if not 0 */
    double end_time;    /* of the simulation; what last_frame means in seconds */
    double clock_start, clock_drawn;
    double time_start; /* of the simulation when this program began */
    uint64_t step_start;
    double dt; /* the smallest of the frame under way, or of the last one */
} progress;

double clock_seconds(void); /* monotonic */

progress progress_start(const firn_sim *sim, int last_frame, uint64_t last_step, double fps);
void progress_step(progress *p, const firn_sim *sim);                  /* before each step */
void progress_frame(progress *p, const firn_sim *sim, double seconds); /* which the frame took */

/* 75 -> "1:15", 3675 -> "1:01:15" */
void duration_text(double seconds, char text[32]);

#endif
