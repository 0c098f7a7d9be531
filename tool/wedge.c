/* `firn wedge`: a parameter study as parallel runs of one scene, a table and a sheet. */
#include "wedge.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "console.h"
#include "firn/io.h"
#include "progress.h"
#include "run_folder.h"
#include "signals.h"
#include "tool.h"

#define AT(field) .offset = offsetof(wedge_options, field)
static const argument wedge_arguments[] = {
    {ARGUMENT_LIST, 0, "vary", "KEY.PATH=VALUE,VALUE,...",
     "values that a key of the scene takes (repeatable)", AT(vary)},
    {ARGUMENT_FLAG, 0, "list", NULL, "the n-th values of all keys together, not every combination",
     AT(list)},
    {ARGUMENT_TEXT, 'o', "output", "DIR", "folder of the study [runs/<scene file>_wedge]",
     AT(output)},
    {ARGUMENT_LIST, 0, "set", "KEY.PATH=VALUE", "override a value in all cases (repeatable)",
     AT(sets)},
    {ARGUMENT_INTEGER, 0, "frames", "N", "end runs after frame N [the scene's frames]", AT(frames),
     0, 1e9},
    {ARGUMENT_INTEGER, 0, "jobs", "N", "runs at a time [as many as there are cores]", AT(jobs), 1,
     4096},
    {ARGUMENT_INTEGER, 0, "threads", "N", "threads of a run [the cores, shared out]", AT(threads),
     1, 4096},
    {ARGUMENT_TEXT, 0, "backend", "auto|ref|cpu|cuda", "solver [auto]", AT(backend)},
    {ARGUMENT_INTEGER, 0, "frame", "N", "which frame the sheet and the table show [the last]",
     AT(frame), 0, 1e9},
    {ARGUMENT_TEXT, 0, "size", "WxH", "pixels of a picture of the sheet [480x360]", AT(size)},
    {ARGUMENT_INTEGER, 0, "columns", "N", "pictures in a row [what looks good]", AT(columns), 1,
     1000},
    {ARGUMENT_CHOICE, 0, "colour", "snow|speed|density|J_P|object|material|id",
     "what colours of the sheet show [snow]", AT(colour)},
    {ARGUMENT_TEXT, 0, "slurm", "FILE", "run nothing: write a script for sbatch that does",
     AT(slurm)},
    {ARGUMENT_FLAG, 'q', "quiet", NULL, "say nothing but errors", AT(quiet)},
};
#undef AT
static const command wedge_command_line = {
    .name = "wedge",
    .operands = "SCENE",
    .least = 1,
    .most = 1,
    .summary =
        "Run a scene once for every combination of values, several runs at a time, and end in a\n"
        "labelled sheet of pictures and a table of what came out. Each case is a run folder like "
        "any\n"
        "other. The same command continues a study that was stopped, and does not repeat what is\n"
        "done.",
    .arguments = wedge_arguments,
    .count = sizeof wedge_arguments / sizeof *wedge_arguments,
};

/* ---- Processes ------------------------------------------------------------------------------- */

/* In the child, which only may call what is safe there until it has become `firn run`. */
static void become(char **words, int messages)
{
    /* A group of its own: Ctrl-C comes once, through the parent; and it ends with the parent. */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(messages, STDOUT_FILENO);
    dup2(messages, STDERR_FILENO);
    execv(words[0], words);
    _exit(FIRN_NO_MEMORY);
}

static int start_case(wedge *w, size_t index, int threads)
{
    wedge_case *c = &w->cases[index];
    int code = folder_make(c->folder);
    if (code)
        return code;
    char *path = new_text("%s/messages.txt", c->folder);
    int messages = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    char numbers[32];
    char **words = wedge_command(w, index, threads, numbers);
    if (messages < 0) {
        console_error("%s: %s", path, strerror(errno));
        code = FIRN_NO_OUTPUT;
    } else {
        c->process = fork();
        if (c->process == 0)
            become(words, messages);
        if (c->process < 0) {
            console_error("a process for %s: %s", c->folder, strerror(errno));
            c->process = 0;
            code = FIRN_NO_MEMORY;
        }
        close(messages);
    }
    free(words);
    free(path);
    return code;
}

/* Whether a folder holds this very run, finished. */
static bool is_finished(const wedge *w, size_t index)
{
    const wedge_case *c = &w->cases[index];
    char *path = new_text("%s/checkpoint.h5", c->folder);
    firn_checkpoint_info info = {.frame = -1};
    firn_scene *scene = NULL;
    bool is_there = access(path, R_OK) == 0 && firn_checkpoint_read_info(path, &info) == FIRN_OK;
    bool finished = is_there && info.frame >= c->frames && wedge_load(w, index, &scene) == 0 &&
                    firn_scene_fingerprint(scene) == info.fingerprint;
    firn_scene_destroy(&scene);
    free(path);
    return finished;
}

/* ---- Progress -------------------------------------------------------------------------------- */

/* The frame of the last object in a run's log. */
static int frame_reached(const char *folder)
{
    enum { TAIL = 8192 };
    static const char key[] = "\"frame\":";
    char *path = new_text("%s/log.jsonl", folder), text[TAIL + 1];
    int reached = -1;
    FILE *file = fopen(path, "rb");
    if (file) {
        if (fseek(file, -TAIL, SEEK_END))
            rewind(file);
        text[fread(text, 1, TAIL, file)] = '\0';
        for (const char *at = text; (at = strstr(at, key)); at++)
            reached = atoi(at + strlen(key));
        fclose(file);
    }
    free(path);
    return reached;
}

static void show_progress(wedge *w, double begin)
{
    size_t done = 0, running = 0;
    double frames = 0, all = 0;
    for (size_t i = 0; i < w->count; i++) {
        wedge_case *c = &w->cases[i];
        if (c->process)
            c->reached = frame_reached(c->folder);
        done += c->is_done;
        running += c->process != 0;
        all += c->frames;
        frames += c->is_done ? c->frames : c->reached > 0 ? c->reached : 0;
    }
    double share = all > 0 ? frames / all : 0, spent = clock_seconds() - begin;
    char left[32] = "?", line[160];
    if (share > 0.01)
        duration_text(spent * (1 - share) / share, left);
    snprintf(line, sizeof line, "%zu of %zu runs done, %zu running, %.0f %% of frames, left %s",
             done, w->count, running, 100 * share, left);
    console_live(line);
}

/* The last line that a run said, for the user who wants to know why it failed. */
static void tell_failure(const wedge_case *c)
{
    char *path = new_text("%s/messages.txt", c->folder), line[512], last[512] = "";
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strspn(line, " \n") < strlen(line))
            snprintf(last, sizeof last, "%s", line);
    if (file)
        fclose(file);
    last[strcspn(last, "\n")] = '\0';
    console_error("%s ended with exit code %d: %s (%s)", c->folder, c->code, last, path);
    free(path);
}

/* ---- Running --------------------------------------------------------------------------------- */

static void finish_case(wedge *w, size_t index, int status)
{
    wedge_case *c = &w->cases[index];
    c->process = 0;
    c->is_done = true;
    c->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    c->reached = frame_reached(c->folder);
    if (c->code == 0)
        console_note("%s done: frame %d", c->folder, c->reached);
    else if (c->code != FIRN_STOPPED)
        tell_failure(c);
}

/* Hear of the runs that ended; returns how many still go on. */
static size_t collect(wedge *w)
{
    size_t running = 0;
    for (size_t i = 0; i < w->count; i++) {
        int status;
        pid_t process = w->cases[i].process;
        if (process && waitpid(process, &status, WNOHANG) == process)
            finish_case(w, i, status);
        running += w->cases[i].process != 0;
    }
    return running;
}

static void ask_all_to_stop(const wedge *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->cases[i].process)
            kill(w->cases[i].process, SIGTERM);
}

/* Starts runs while there is room, until all have ended or the user asks to stop. */
static int run_cases(wedge *w, size_t jobs, int threads)
{
    double begin = clock_seconds(), shown = 0;
    size_t next = 0;
    int code = 0;
    bool asked = false;
    for (;;) {
        size_t running = collect(w);
        bool stop = code || signals_asked_to_stop();
        while (!stop && next < w->count && running < jobs) {
            if (!w->cases[next].is_done) {
                code = start_case(w, next, threads);
                running += code == 0;
                stop = code != 0;
            }
            next++;
        }
        if (stop && !asked)
            ask_all_to_stop(w);
        asked = stop;
        if (running == 0)
            return code ? code : stop ? FIRN_STOPPED : 0;
        if (console_is_live() && clock_seconds() - shown > 0.5) {
            shown = clock_seconds();
            show_progress(w, begin);
        }
        usleep(20000);
    }
}

static int study(wedge *w)
{
    const wedge_options *o = w->options;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t open = 0, machine = cores > 0 ? (size_t)cores : 1;
    for (size_t i = 0; i < w->count; i++) {
        w->cases[i].is_done = is_finished(w, i);
        open += !w->cases[i].is_done;
    }
    size_t jobs = o->jobs ? (size_t)o->jobs : open < machine ? open : machine;
    size_t share = jobs ? machine / jobs : 1;
    int threads = o->threads ? (int)o->threads : share > 0 ? (int)share : 1;
    console_note("%zu cases, %zu to run, %zu at a time with %d threads each, into %s", w->count,
                 open, jobs, threads, w->folder);
    int code = run_cases(w, jobs, threads);
    console_live("");
    if (code == FIRN_STOPPED)
        console_note("stopped; the same command continues");
    if (code)
        return code;
    for (size_t i = w->count; i-- > 0;)
        code = w->cases[i].code ? w->cases[i].code : code;
    int reported = wedge_report(w);
    return code ? code : reported;
}

/* runs/<name of the scene file>_wedge */
static char *default_folder(const char *scene_path)
{
    const char *slash = strrchr(scene_path, '/');
    const char *name = slash ? slash + 1 : scene_path;
    const char *dot = strrchr(name, '.');
    return new_text("runs/%.*s_wedge",
                    (int)(dot && dot > name ? (size_t)(dot - name) : strlen(name)), name);
}

static int plan_and_go(const wedge_options *o, const char *scene_path)
{
    wedge w = {.options = o, .scene_path = scene_path};
    w.folder = o->output ? new_text("%s", o->output) : default_folder(scene_path);
    w.program = realpath("/proc/self/exe", NULL);
    if (!w.program)
        w.program = new_text("firn");
    int code = wedge_plan(&w);
    if (!code && o->slurm)
        code = wedge_write_slurm(&w);
    else if (!code)
        code = folder_make(w.folder);
    if (!code && !o->slurm)
        code = study(&w);
    wedge_clear(&w);
    return code;
}

int verb_wedge(int argc, char **argv)
{
    wedge_options options = {.frames = -1, .frame = -1};
    argument_list operands = {0};
    int code = arguments_parse(&wedge_command_line, argc, argv, &options, &operands);
    if (code == ARGUMENTS_GO) {
        console_setup(options.quiet ? CONSOLE_QUIET : CONSOLE_NORMAL);
        signals_catch();
        code = plan_and_go(&options, operands.items[0]);
    }
    console_live("");
    arguments_clear(&wedge_command_line, &options, &operands);
    return code;
}
