/* What the parts of `firn run` share: the options, and the run itself. */
#ifndef FIRN_TOOL_RUN_H
#define FIRN_TOOL_RUN_H

#include "arguments.h"
#include "firn/firn.h"
#include "firn/scene.h"
#include "progress.h"
#include "run_folder.h"
#include "run_log.h"
#include "run_render.h"
#include "run_writer.h"

typedef struct run_options {
    const char *output;
    const char *backend;
    int64_t threads;
    int64_t frames; /* -1 = the scene's */
    int64_t steps;  /* -1 = until the frames are done */
    argument_list sets;
    const char *resume; /* "auto", "never" or a path */
    const char *checkpoint;
    double checkpoint_every; /* minutes */
    double max_hours;
    const char *log_json;
    bool render;
    int render_as; /* render_style */
    bool quiet, verbose;
} run_options;

typedef enum stop_reason {
    STOP_NONE,
    STOP_SIGNAL,
    STOP_STEPS,
    STOP_HOURS,
    STOP_CHECKPOINT
} stop_reason;

typedef struct run {
    run_options options;
    int argc; /* as typed, to say how to continue */
    char **argv;
    const char *scene_path;
    firn_scene *scene;
    firn_sim *sim;
    run_folder folder;
    run_writer *writer;
    run_log log;
    run_render render;
    progress progress;
    int last_frame;     /* where the run ends */
    frame_cost carried; /* what the frame under way had cost when the state was saved */
    double io_ms;       /* of the frame under way, in this process */
    bool has_stale;     /* whether later frames in the folder are of another run */
    double clock_start, clock_frame, clock_checkpoint;
    uint64_t step_start;
    uint64_t step_saved; /* of checkpoint.h5 */
    stop_reason stop;
} run;

/* Make r->sim: anew, from the folder's checkpoint, or from the file that was named; then bring the
 * folder and the log in line with it. The folder is open. Returns the exit code. */
int run_start(run *r);

#endif
