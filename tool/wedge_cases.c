/* The cases of a study: which values they take, and the command that runs each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "run_folder.h"
#include "wedge.h"

enum { MOST_CASES = 10000 };

static void *room(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (!memory)
        abort();
    return memory;
}

/* ---- Axes ------------------------------------------------------------------------------------ */

/* The length of the value at the start of the text: to the next comma outside of brackets. */
static size_t value_length(const char *text)
{
    int depth = 0;
    const char *c = text;
    for (; *c && (depth > 0 || *c != ','); c++) {
        depth += *c == '[' || *c == '{';
        depth -= *c == ']' || *c == '}';
    }
    return (size_t)(c - text);
}

static int read_axis(const char *text, wedge_axis *axis)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1]) {
        console_error("firn wedge: --vary %s: write key.path=value,value,...\n"
                      "See: firn wedge --help",
                      text);
        return 2;
    }
    axis->key = new_text("%.*s", (int)(equals - text), text);
    axis->values = room(strlen(equals), sizeof *axis->values);
    for (const char *at = equals + 1;; at++) {
        size_t length = value_length(at);
        if (length == 0) {
            console_error("firn wedge: --vary %s: value %zu is empty\nSee: firn wedge --help", text,
                          axis->count + 1);
            return 2;
        }
        axis->values[axis->count++] = new_text("%.*s", (int)length, at);
        at += length;
        if (!*at)
            return 0;
    }
}

/* ---- Cases ----------------------------------------------------------------------------------- */

static int count_list(wedge *w)
{
    w->count = 1;
    for (size_t k = 0; k < w->axis_count; k++) {
        size_t values = w->axes[k].count;
        if (values > 1 && w->count > 1 && values != w->count) {
            console_error("firn wedge: with --list every key has one value or as many as the "
                          "others; %s has %zu, not %zu\nSee: firn wedge --help",
                          w->axes[k].key, values, w->count);
            return 2;
        }
        w->count = values > w->count ? values : w->count;
    }
    return 0;
}

static int count_combinations(wedge *w)
{
    w->count = 1;
    for (size_t k = 0; k < w->axis_count && w->count <= MOST_CASES; k++)
        w->count *= w->axes[k].count;
    return 0;
}

/* The last key changes fastest, like the last digit of a number. */
static size_t value_of(const wedge *w, size_t index, size_t axis)
{
    if (w->options->list)
        return w->axes[axis].count > 1 ? index : 0;
    for (size_t k = w->axis_count; --k > axis;)
        index /= w->axes[k].count;
    return index % w->axes[axis].count;
}

static int make_case(wedge *w, size_t index)
{
    wedge_case *c = &w->cases[index];
    c->folder = new_text("%s/case_%03zu", w->folder, index);
    c->reached = -1;
    c->sets = room(w->axis_count, sizeof *c->sets);
    for (size_t k = 0; k < w->axis_count; k++)
        c->sets[k] = new_text("%s=%s", w->axes[k].key, w->axes[k].values[value_of(w, index, k)]);
    firn_scene *scene;
    int code = wedge_load(w, index, &scene);
    if (!code)
        c->frames =
            w->options->frames >= 0 ? (int)w->options->frames : firn_scene_settings(scene)->frames;
    firn_scene_destroy(&scene);
    return code;
}

int wedge_plan(wedge *w)
{
    const argument_list *vary = &w->options->vary;
    if (vary->count == 0) {
        console_error("firn wedge: missing option: --vary KEY.PATH=VALUE,VALUE,...\n"
                      "See: firn wedge --help");
        return 2;
    }
    w->axes = room(vary->count, sizeof *w->axes);
    int code = 0;
    for (; w->axis_count < vary->count && !code; w->axis_count++)
        code = read_axis(vary->items[w->axis_count], &w->axes[w->axis_count]);
    if (!code)
        code = w->options->list ? count_list(w) : count_combinations(w);
    if (!code && w->count > MOST_CASES) {
        console_error("firn wedge: more than %d cases; vary fewer values, or give --list",
                      MOST_CASES);
        code = 2;
    }
    if (code)
        return code;
    size_t count = w->count;
    w->cases = room(count, sizeof *w->cases);
    for (w->count = 0; w->count < count && !code; w->count++)
        code = make_case(w, w->count);
    return code;
}

void wedge_clear(wedge *w)
{
    for (size_t i = 0; i < w->count; i++) {
        for (size_t k = 0; k < w->axis_count && w->cases; k++)
            free(w->cases[i].sets[k]);
        if (w->cases) {
            free(w->cases[i].sets);
            free(w->cases[i].folder);
        }
    }
    for (size_t k = 0; k < w->axis_count; k++) {
        for (size_t i = 0; i < w->axes[k].count; i++)
            free(w->axes[k].values[i]);
        free(w->axes[k].values);
        free(w->axes[k].key);
    }
    free(w->cases);
    free(w->axes);
    free(w->folder);
    free(w->program);
}

/* ---- One case -------------------------------------------------------------------------------- */

int wedge_load(const wedge *w, size_t index, firn_scene **scene)
{
    const argument_list *own = &w->options->sets;
    const char **sets = room(own->count + w->axis_count, sizeof *sets);
    for (size_t k = 0; k < own->count; k++)
        sets[k] = own->items[k];
    for (size_t k = 0; k < w->axis_count; k++)
        sets[own->count + k] = w->cases[index].sets[k];
    firn_status status = firn_scene_load(w->scene_path, sets, own->count + w->axis_count, scene);
    free(sets);
    return status == FIRN_OK ? 0 : console_failure(status);
}

char **wedge_command(const wedge *w, size_t index, int threads, char text[32])
{
    const wedge_options *o = w->options;
    const wedge_case *c = &w->cases[index];
    char **words = room(16 + 2 * (o->sets.count + w->axis_count), sizeof *words);
    size_t n = 0;
    words[n++] = w->program;
    words[n++] = "run";
    words[n++] = (char *)w->scene_path;
    words[n++] = "-o";
    words[n++] = c->folder;
    for (size_t k = 0; k < o->sets.count; k++) {
        words[n++] = "--set";
        words[n++] = (char *)o->sets.items[k];
    }
    for (size_t k = 0; k < w->axis_count; k++) {
        words[n++] = "--set";
        words[n++] = c->sets[k];
    }
    if (o->backend) {
        words[n++] = "--backend";
        words[n++] = (char *)o->backend;
    }
    snprintf(text, 32, "%d%c%d", threads, 0, c->frames);
    words[n++] = "--threads";
    words[n++] = text;
    if (o->frames >= 0) {
        words[n++] = "--frames";
        words[n++] = text + strlen(text) + 1;
    }
    return words;
}
