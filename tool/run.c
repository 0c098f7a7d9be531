/* `firn run`: simulate a scene into a folder; stop and continue at any step without a trace. */
#include "run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "firn/advance.h"
#include "firn/io.h"
#include "shell.h"
#include "signals.h"
#include "tool.h"

#define AT(field) .offset = offsetof(run_options, field)
static const argument run_arguments[] = {
    {ARGUMENT_TEXT, 'o', "output", "DIR", "folder of the run [runs/<name of the scene file>]",
     AT(output)},
    {ARGUMENT_TEXT, 0, "backend", "auto|ref|cpu|cuda", "solver [auto]", AT(backend)},
    {ARGUMENT_INTEGER, 0, "threads", "N", "threads [all]", AT(threads), 1, 4096},
    {ARGUMENT_INTEGER, 0, "frames", "N", "end after frame N [the scene's frames]", AT(frames), 0,
     1e9},
    {ARGUMENT_INTEGER, 0, "steps", "N", "end after step N, counted from the start", AT(steps), 0,
     1e15},
    {ARGUMENT_LIST, 0, "set", "KEY.PATH=VALUE", "override a value of the scene (repeatable)",
     AT(sets)},
    {ARGUMENT_TEXT, 0, "resume", "auto|never|FILE",
     "continue from the folder's checkpoint, start over, or\n"
     "                              continue from a checkpoint file [auto]",
     AT(resume)},
    {ARGUMENT_TEXT, 0, "checkpoint", "FILE", "write the final state there too", AT(checkpoint)},
    {ARGUMENT_NUMBER, 0, "checkpoint-every", "MIN",
     "minutes between checkpoints; 0 = every frame [5]", AT(checkpoint_every), 0, INFINITY},
    {ARGUMENT_NUMBER, 0, "max-hours", "H", "save and stop with exit code 75 after H hours",
     AT(max_hours), 1e-9, INFINITY},
    {ARGUMENT_TEXT, 0, "log-json", "FILE", "one JSON object a frame; - is stdout [DIR/log.jsonl]",
     AT(log_json)},
    {ARGUMENT_FLAG, 0, "render", NULL, "draw each frame that is written: picture_0000.png, ...",
     AT(render)},
    {ARGUMENT_CHOICE, 0, "render-as", "preview|draft|final",
     "shaded particles, or traced light [preview]", AT(render_as)},
    {ARGUMENT_FLAG, 'q', "quiet", NULL, "say nothing but errors", AT(quiet)},
    {ARGUMENT_FLAG, 'v', "verbose", NULL, "say more", AT(verbose)},
};
#undef AT
static const command run_command = {
    .name = "run",
    .operands = "SCENE",
    .least = 1,
    .most = 1,
    .summary =
        "Simulate a scene and write frames, checkpoints and a log into a folder. The same command\n"
        "line continues a run that was stopped or killed, with the same bits as if it had not "
        "been.\n"
        "Ctrl-C finishes the step, saves and stops.",
    .arguments = run_arguments,
    .count = sizeof run_arguments / sizeof *run_arguments,
};

/* ---- Stopping -------------------------------------------------------------------------------- */

static bool is_step_limit_reached(const run *r)
{
    return r->options.steps >= 0 && firn_sim_steps(r->sim) >= (uint64_t)r->options.steps;
}

static stop_reason reason_to_stop(const run *r)
{
    double now = clock_seconds();
    if (signals_asked_to_stop())
        return STOP_SIGNAL;
    if (is_step_limit_reached(r))
        return STOP_STEPS;
    /* At least one step, so that a run that is stopped again and again still ends. */
    bool has_moved = firn_sim_steps(r->sim) > r->step_start;
    if (has_moved && now - r->clock_start >= 3600 * r->options.max_hours)
        return STOP_HOURS;
    double every = 60 * r->options.checkpoint_every;
    if (has_moved && every > 0 && now - r->clock_checkpoint >= every)
        return STOP_CHECKPOINT;
    return STOP_NONE;
}

static bool asked_to_stop(run *r)
{
    progress_step(&r->progress, r->sim);
    r->stop = reason_to_stop(r);
    return r->stop != STOP_NONE;
}

/* The command as typed but for --resume, which would not continue from here. */
static void tell_how_to_continue(const run *r)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        abort();
    for (int k = 0; k < r->argc; k++) {
        if (!strcmp(r->argv[k], "--resume"))
            k++;
        else if (strncmp(r->argv[k], "--resume=", 9))
            shell_word(out, r->argv[k]);
    }
    fclose(out);
    console_note("stopped at frame %d, step %" PRIu64 "; to continue: firn%s",
                 firn_sim_frame(r->sim), firn_sim_steps(r->sim), text);
    free(text);
}

/* ---- Saving ---------------------------------------------------------------------------------- */

/* The cost of the frame under way until now. */
static frame_cost cost_so_far(const run *r)
{
    const frame_cost here = {.work = firn_sim_progress(r->sim),
                             .io_ms = r->io_ms,
                             .seconds = clock_seconds() - r->clock_frame};
    return frame_cost_sum(&r->carried, &here);
}

/* A checkpoint promises the frames before it: they are on the disk first. */
static int save(run *r)
{
    double begin = clock_seconds();
    int code = run_writer_wait(r->writer);
    if (code || firn_sim_steps(r->sim) == r->step_saved)
        return code;
    run_log_sync(&r->log);
    frame_cost cost = cost_so_far(r);
    code =
        cost.work.steps > 0 ? frame_cost_save(r->folder.costs, firn_sim_steps(r->sim), &cost) : 0;
    if (!code)
        code = folder_save(&r->folder, r->sim);
    if (!code)
        r->step_saved = firn_sim_steps(r->sim);
    r->clock_checkpoint = clock_seconds();
    r->io_ms += 1e3 * (r->clock_checkpoint - begin);
    return code;
}

/* The same while steps go on, where a copy can be made: then a failure is told later. */
static int save_behind(run *r)
{
    double begin = clock_seconds();
    bool is_kept = false;
    frame_cost cost = cost_so_far(r);
    run_log_sync(&r->log);
    int code = run_writer_save(r->writer, r->sim, &r->folder, &cost, &is_kept);
    if (code || !is_kept)
        return code ? code : save(r);
    r->step_saved = firn_sim_steps(r->sim);
    r->clock_checkpoint = clock_seconds();
    r->io_ms += 1e3 * (r->clock_checkpoint - begin);
    return 0;
}

/* The formats that this frame is written in: 0 when `every` skips it. */
static unsigned formats_of(const run *r, int frame)
{
    const firn_settings *s = firn_scene_settings(r->scene);
    return s->every > 1 && frame % s->every ? 0 : s->formats;
}

/* A stop while a picture is drawn must not lose the frame: 75 comes back when all else is done. */
static int render_picture(run *r)
{
    bool wanted = r->render.is_on && formats_of(r, firn_sim_frame(r->sim));
    return wanted ? run_render_frame(&r->render, r->sim, r->folder.path) : 0;
}

/* Only once the first frame of this run is there. */
static int remove_stale_frames(run *r)
{
    int code = run_writer_wait(r->writer);
    if (code)
        return code;
    int frame = firn_sim_frame(r->sim);
    int removed = folder_remove_frames(r->folder.path, frame, formats_of(r, frame));
    if (removed > 0)
        console_note("removed %d frame files of an earlier run", removed);
    r->has_stale = false;
    return 0;
}

/* A frame has been reached: write it, log it, and perhaps save. */
static int finish_frame(run *r)
{
    double begin = clock_seconds();
    int code = run_writer_put(r->writer, r->sim, formats_of(r, firn_sim_frame(r->sim)));
    if (!code && r->has_stale)
        code = remove_stale_frames(r);
    if (code)
        return code;
    int drawn = render_picture(r);
    if (drawn && drawn != FIRN_STOPPED)
        return drawn;
    r->io_ms += 1e3 * (clock_seconds() - begin);
    frame_cost cost = cost_so_far(r);
    code = run_log_frame(&r->log, r->sim, &cost);
    if (code)
        return code;
    if (firn_sim_steps(r->sim) > 0)
        progress_frame(&r->progress, r->sim, cost.seconds);
    firn_sim_reset_progress(r->sim);
    r->carried = (frame_cost){0};
    r->io_ms = 0;
    r->clock_frame = clock_seconds();
    code = r->options.checkpoint_every == 0 ? save_behind(r) : 0;
    return code ? code : drawn;
}

/* ---- The run --------------------------------------------------------------------------------- */

static bool is_done(const run *r)
{
    return r->options.steps >= 0 ? is_step_limit_reached(r)
                                 : firn_sim_frame(r->sim) >= r->last_frame;
}

/* The state is that of the last good step: keep it. */
static int blow_up(run *r)
{
    console_failure(FIRN_BLOWUP);
    run_writer_wait(r->writer);
    int code = save(r);
    if (code)
        return code;
    console_note("the last good state is %s, step %" PRIu64, r->folder.checkpoint, r->step_saved);
    return FIRN_BLOWUP;
}

static int stop(run *r)
{
    int code = save(r);
    if (code)
        return code;
    tell_how_to_continue(r);
    return FIRN_STOPPED;
}

/* Steps until the next frame, unless there is a reason to stop: looked for as often as the backend lets us. */
static firn_status advance_frame(run *r)
{
    const int frame = firn_sim_frame(r->sim);
    firn_status status = FIRN_OK;
    while (firn_sim_frame(r->sim) == frame && status == FIRN_OK) {
        if (asked_to_stop(r))
            return FIRN_STOPPED;
        uint64_t most = r->options.steps >= 0 ? (uint64_t)r->options.steps - firn_sim_steps(r->sim)
                                              : UINT64_MAX;
        status = firn_sim_advance(r->sim, most);
    }
    return status;
}

/* Steps until the run is done, fails, or is asked to stop. */
static int simulate(run *r)
{
    while (!is_done(r)) {
        firn_status status = advance_frame(r);
        int code = 0;
        if (status == FIRN_OK)
            code = finish_frame(r);
        if (code == FIRN_STOPPED)
            return stop(r);
        if (status == FIRN_BLOWUP)
            return blow_up(r);
        if (status != FIRN_OK && status != FIRN_STOPPED)
            return console_failure(status);
        if (status == FIRN_STOPPED && (r->stop == STOP_SIGNAL || r->stop == STOP_HOURS))
            return stop(r);
        if (status == FIRN_STOPPED && r->stop != STOP_STEPS)
            code = save_behind(r);
        if (code)
            return code;
    }
    return save(r);
}

static int write_final(run *r)
{
    if (!r->options.checkpoint)
        return 0;
    firn_status status = firn_sim_save(r->sim, r->options.checkpoint);
    return status == FIRN_OK ? 0 : console_failure(status);
}

static void tell_end(const run *r, bool was_done)
{
    char took[32];
    duration_text(clock_seconds() - r->clock_start, took);
    if (was_done)
        console_note("already finished: frame %d, step %" PRIu64 " (--frames goes further, "
                     "--resume never starts over)",
                     firn_sim_frame(r->sim), firn_sim_steps(r->sim));
    else
        console_note("done: %d frames, %" PRIu64 " steps in %s: %s", firn_sim_frame(r->sim),
                     firn_sim_steps(r->sim), took, r->folder.path);
}

/* A run that was stopped while it drew a frame's picture goes on with that. */
static int finish_picture(run *r)
{
    double fps = firn_scene_settings(r->scene)->fps;
    bool at_frame = fabs(firn_sim_time(r->sim) * fps - firn_sim_frame(r->sim)) < 1e-9;
    return at_frame ? render_picture(r) : 0;
}

/* The folder is open and the scene is read. */
static int go(run *r)
{
    const firn_settings *settings = firn_scene_settings(r->scene);
    r->last_frame = r->options.frames >= 0 ? (int)r->options.frames : settings->frames;
    r->clock_start = r->clock_frame = r->clock_checkpoint = clock_seconds();
    int code = run_start(r);
    if (!code)
        code = folder_write_scene(&r->folder, r->scene_path, &r->options.sets);
    if (!code)
        code = run_writer_create(r->folder.path, settings, &r->writer);
    if (code)
        return code;
    r->step_start = r->step_saved = firn_sim_steps(r->sim);
    uint64_t last_step = r->options.steps > 0 ? (uint64_t)r->options.steps : 0;
    r->progress = progress_start(r->sim, r->last_frame, last_step, settings->fps);
    bool was_done = r->step_start > 0 && is_done(r);
    console_note("%s: %zu particles on %s, into %s", firn_scene_name(r->scene),
                 firn_sim_particle_count(r->sim), firn_sim_backend(r->sim), r->folder.path);
    if (r->options.render)
        code = run_render_start(&r->render, r->scene, (render_style)r->options.render_as,
                                (int)r->options.threads);
    if (!code)
        code = r->step_start == 0 ? finish_frame(r) : finish_picture(r);
    if (code == FIRN_STOPPED)
        return stop(r);
    if (!code)
        code = simulate(r);
    if (!code)
        code = write_final(r);
    if (!code)
        tell_end(r, was_done);
    return code;
}

/* runs/<name of the scene file without its extension> */
static char *default_folder(const char *scene_path)
{
    const char *slash = strrchr(scene_path, '/');
    const char *name = slash ? slash + 1 : scene_path;
    const char *dot = strrchr(name, '.');
    return new_text("runs/%.*s", (int)(dot && dot > name ? (size_t)(dot - name) : strlen(name)),
                    name);
}

static int load_and_go(run *r, const char *scene_path)
{
    const run_options *o = &r->options;
    r->scene_path = scene_path;
    firn_status status = firn_scene_load(scene_path, o->sets.items, o->sets.count, &r->scene);
    if (status != FIRN_OK)
        return console_failure(status);
    char *folder = o->output ? new_text("%s", o->output) : default_folder(scene_path);
    int code = folder_open(&r->folder, folder);
    if (!code && o->checkpoint)
        code = output_file_check(o->checkpoint);
    if (!code && o->log_json && strcmp(o->log_json, "-"))
        code = output_file_check(o->log_json);
    if (!code)
        code = go(r);
    free(folder);
    return code;
}

int verb_run(int argc, char **argv)
{
    run r = {.argc = argc, .argv = argv};
    r.options = (run_options){
        .frames = -1, .steps = -1, .resume = "auto", .checkpoint_every = 5, .max_hours = INFINITY};
    argument_list operands = {0};
    int code = arguments_parse(&run_command, argc, argv, &r.options, &operands);
    if (code == ARGUMENTS_GO && r.options.frames >= 0 && r.options.steps >= 0) {
        console_error("firn run: --frames and --steps exclude each other\nSee: firn run --help");
        code = 2;
    }
    if (code == ARGUMENTS_GO) {
        console_setup(r.options.quiet     ? CONSOLE_QUIET
                      : r.options.verbose ? CONSOLE_VERBOSE
                                          : CONSOLE_NORMAL);
        signals_catch();
        code = load_and_go(&r, operands.items[0]);
    }
    console_live("");
    run_log_close(&r.log);
    run_writer_destroy(&r.writer);
    firn_sim_destroy(&r.sim);
    firn_scene_destroy(&r.scene);
    folder_close(&r.folder);
    arguments_clear(&run_command, &r.options, &operands);
    return code;
}
