/*
 * Writes the frames of a run behind the simulation's back: a thread of its own takes copies of the
 * particles from a queue, so the simulation goes on while the disk works, and waits when the disk is slower than
 * it is. Memory never grows beyond two copies; a GPU holds four more, and another thread fetches one of them
 * while the one before is being written.
 *
 * Frames are written in order, each followed by the indexes that name it, and checkpoints of a run on a GPU behind
 * the frames before them. After a failure nothing more is written; the next call tells it and returns the exit code.
 *
 * Does NOT do: decide what to write.
 */
#ifndef FIRN_TOOL_RUN_WRITER_H
#define FIRN_TOOL_RUN_WRITER_H

#include "firn/io.h"
#include "firn/scene.h"
#include "run_folder.h"
#include "run_log.h"

typedef struct run_writer run_writer;

/* `folder` and `settings` are borrowed for its life. */
int run_writer_create(const char *folder, const firn_settings *settings, run_writer **writer);

/* Copy the particles as they are now, to be written in these formats; waits for room. A GPU keeps the copy until the
 * thread fetches it (firn/still.h): the simulation must not end before the writer. */
int run_writer_put(run_writer *w, firn_sim *sim, unsigned formats);

/* Likewise for the run's checkpoint, and what the frame under way has cost. `is_kept` tells whether
 * it was taken: not where there is no copy of a simulation. `folder` is borrowed until it is written. */
int run_writer_save(run_writer *w, firn_sim *sim, const run_folder *folder, const frame_cost *cost,
                    bool *is_kept);

/* Until everything handed over is on the disk. */
int run_writer_wait(run_writer *w);

/* Ends the thread; what is still in the queue is dropped. */
void run_writer_destroy(run_writer **w);

#endif
