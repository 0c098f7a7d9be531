/*
 * The JSON log of a run, one object a frame, and what a frame has cost so far.
 *
 * A run that stops in the middle of a frame writes the cost of that frame so far beside its
 * checkpoint, so that the log of a resumed run tells the same as that of an uninterrupted one.
 *
 * Functions that can fail tell the user why and return the exit code, 0 when all is well.
 */
#ifndef FIRN_TOOL_RUN_LOG_H
#define FIRN_TOOL_RUN_LOG_H

#include <stdbool.h>

#include "firn/firn.h"

/* The work of one frame, or of the part of it done so far. */
typedef struct frame_cost {
    firn_progress work;
    double io_ms;
    double seconds; /* by the clock on the wall */
} frame_cost;

/* a + b, b being the later part. */
frame_cost frame_cost_sum(const frame_cost *a, const frame_cost *b);

/* Keep the cost of the frame under way at `step`, with those of the two checkpoints before it. */
int frame_cost_save(const char *path, uint64_t step, const frame_cost *cost);

/* What was kept for `step`; zero when nothing was. */
frame_cost frame_cost_load(const char *path, uint64_t step);

typedef struct run_log {
    char *path;
    int fd;
    bool is_file; /* and not a pipe or terminal */
} run_log;

/* Go on with the log after `last_frame`: objects of later frames, and broken lines, are dropped.
 * "-" is standard output. */
int run_log_open(run_log *log, const char *path, int last_frame);

/* Add the object of the frame just reached. On failure the log stays as it was. */
int run_log_frame(run_log *log, firn_sim *sim, const frame_cost *cost);

/* Bring what was written to the disk, before a checkpoint counts on it. */
void run_log_sync(const run_log *log);
void run_log_close(run_log *log);

#endif
