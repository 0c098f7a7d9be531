/*
 * Where a run begins.
 *
 * Invariants:
 * 1. A folder that holds frames of a run holds a checkpoint of it: the first one is written before
 *    frame 0. So the fingerprint always tells whose frames they are.
 * 2. Nothing of an older run is removed before the new state is safely in checkpoint.h5.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console.h"
#include "firn/io.h"
#include "run.h"

static firn_sim_options sim_options(const run *r)
{
    return (firn_sim_options){.backend = r->options.backend, .threads = (int)r->options.threads};
}

static int start_anew(run *r)
{
    const firn_sim_options options = sim_options(r);
    firn_status status = firn_sim_create(r->scene, &options, &r->sim);
    return status == FIRN_OK ? 0 : console_failure(status);
}

/* ---- From a checkpoint ----------------------------------------------------------------------- */

/* The costs that were kept beside the checkpoint. */
static void load_cost(run *r, const char *checkpoint)
{
    const char *slash = strrchr(checkpoint, '/');
    int length = slash ? (int)(slash - checkpoint + 1) : 0;
    char *path = new_text("%.*scheckpoint.jsonl", length, checkpoint);
    r->carried = frame_cost_load(path, firn_sim_steps(r->sim));
    free(path);
}

static void tell_continuation(const run *r, const char *path, const firn_checkpoint_info *info)
{
    console_note("continuing from %s: frame %d, step %" PRIu64, path, info->frame, info->step);
    if (*info->backend && strcmp(info->backend, firn_sim_backend(r->sim)))
        console_warning(
            "%s was written by backend %s; on %s the result will not have the same bits", path,
            info->backend, firn_sim_backend(r->sim));
}

static firn_status start_from(run *r, const char *path, const firn_checkpoint_info *info)
{
    const firn_sim_options options = sim_options(r);
    firn_status status = firn_sim_create_from_checkpoint(r->scene, &options, path, &r->sim);
    if (status == FIRN_OK) {
        tell_continuation(r, path, info);
        load_cost(r, path);
    }
    return status;
}

static int start_from_file(run *r, const char *path)
{
    firn_checkpoint_info info;
    firn_status status = firn_checkpoint_read_info(path, &info);
    if (status == FIRN_OK && info.fingerprint != firn_scene_fingerprint(r->scene))
        console_warning("%s was written by another scene, or by this one before a change", path);
    if (status == FIRN_OK)
        status = start_from(r, path, &info);
    return status == FIRN_OK ? 0 : console_failure(status);
}

/* ---- From the folder ------------------------------------------------------------------------- */

static int refuse_other_scene(const run *r)
{
    console_error("%s holds a run of another scene, or of this one before a change\n"
                  "  --resume never   starts over in it and removes that run\n"
                  "  -o DIR           runs in another folder",
                  r->folder.path);
    return FIRN_BAD_SCENE;
}

static int refuse_frames(const run *r)
{
    console_error("%s holds frames but no checkpoint to continue from\n"
                  "  --resume never   starts over in it and removes them\n"
                  "  -o DIR           runs in another folder",
                  r->folder.path);
    return FIRN_BAD_SCENE;
}

static bool is_damage(firn_status status)
{
    return status == FIRN_BAD_SCENE || status == FIRN_NO_INPUT;
}

/* Continue from the newest checkpoint that is whole, which becomes *source; anew if the folder has
 * none. */
static int start_from_folder(run *r, const char **source)
{
    const char *const paths[] = {r->folder.checkpoint, r->folder.previous};
    firn_status damage = FIRN_OK;
    for (size_t k = 0; k < 2; k++) {
        firn_checkpoint_info info;
        if (access(paths[k], F_OK) != 0)
            continue;
        firn_status status = firn_checkpoint_read_info(paths[k], &info);
        if (status == FIRN_OK && info.fingerprint != firn_scene_fingerprint(r->scene))
            return refuse_other_scene(r);
        if (status == FIRN_OK)
            status = start_from(r, paths[k], &info);
        if (status == FIRN_OK) {
            *source = paths[k];
            return 0;
        }
        if (!is_damage(status))
            return console_failure(status);
        damage = status;
        console_warning("%s", firn_last_error());
    }
    if (damage != FIRN_OK) {
        console_error("%s has no checkpoint that can be read; --resume never starts over",
                      r->folder.path);
        return (int)damage;
    }
    return folder_has_frames(r->folder.path) ? refuse_frames(r) : start_anew(r);
}

/* ---- The folder and the log ------------------------------------------------------------------ */

/* The state becomes the folder's own. `source` is the file it came from, or NULL. */
static int adopt(run *r, const char *source)
{
    int code = folder_save_first(&r->folder, r->sim, source);
    if (code)
        return code;
    if (r->carried.work.steps > 0)
        return frame_cost_save(r->folder.costs, firn_sim_steps(r->sim), &r->carried);
    unlink(r->folder.costs);
    return 0;
}

static int open_log(run *r)
{
    int last_frame = firn_sim_steps(r->sim) > 0 ? firn_sim_frame(r->sim) : -1;
    if (r->options.log_json)
        return run_log_open(&r->log, r->options.log_json, last_frame);
    char *path = new_text("%s/log.jsonl", r->folder.path);
    int code = run_log_open(&r->log, path, last_frame);
    free(path);
    return code;
}

int run_start(run *r)
{
    const char *source = NULL;
    int code;
    if (!strcmp(r->options.resume, "auto")) {
        code = start_from_folder(r, &source);
    } else if (!strcmp(r->options.resume, "never")) {
        code = start_anew(r);
    } else {
        source = r->options.resume;
        code = start_from_file(r, source);
        r->has_stale = true;
    }
    if (!code && source != r->folder.checkpoint)
        code = adopt(r, source);
    if (!code)
        code = open_log(r);
    if (!code && firn_sim_steps(r->sim) == 0)
        r->has_stale = true;
    return code;
}
