/* Which frames are drawn, and the scene that goes with them. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "console.h"
#include "render.h"
#include "run_folder.h"

enum { FRAMED = 12, THINNED = 8000 }; /* frames and particles that a camera is placed by */

static void add_path(render_input *in, char *path)
{
    in->paths = realloc(in->paths, (in->count + 1) * sizeof *in->paths);
    if (!in->paths)
        abort();
    in->paths[in->count++] = path;
}

static void keep(render_input *in, size_t to, size_t from)
{
    char *path = in->paths[from];
    in->paths[from] = in->paths[to];
    in->paths[to] = path;
}

static void cut(render_input *in, size_t count)
{
    for (size_t k = count; k < in->count; k++)
        free(in->paths[k]);
    in->count = count;
}

/* ---- Folders --------------------------------------------------------------------------------- */

static int is_readable_frame(const struct dirent *entry)
{
    long frame;
    unsigned format;
    return frame_name_parse(entry->d_name, &frame, &format) && format == FIRN_FORMAT_VTKHDF;
}

static int is_volume_frame(const struct dirent *entry)
{
    long frame;
    unsigned format;
    return frame_name_parse(entry->d_name, &frame, &format) && format == FIRN_FORMAT_VDB;
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
    long x = 0, y = 0;
    unsigned format;
    frame_name_parse((*a)->d_name, &x, &format);
    frame_name_parse((*b)->d_name, &y, &format);
    return (x > y) - (x < y);
}

/* Particles, or else volumes. */
static int add_folder(render_input *in, const char *folder)
{
    struct dirent **entries = NULL;
    int found = scandir(folder, &entries, is_readable_frame, by_number);
    if (found == 0) {
        free(entries);
        found = scandir(folder, &entries, is_volume_frame, by_number);
    }
    if (found <= 0) {
        console_error("%s: holds no frames (frame_0000.hdf or .vdb, ...)", folder);
        if (found == 0)
            free(entries);
        return FIRN_NO_INPUT;
    }
    for (int k = 0; k < found; k++) {
        add_path(in, new_text("%s/%s", folder, entries[k]->d_name));
        free(entries[k]);
    }
    free(entries);
    return 0;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool is_scene_file(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml") || !strcmp(dot, ".json"));
}

static bool is_volume(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && !strcmp(dot, ".vdb");
}

/* The folder of a run that a frame or folder names; owned by the caller. */
static char *folder_of(const char *path)
{
    if (is_folder(path))
        return new_text("%s", path);
    const char *slash = strrchr(path, '/');
    return slash ? new_text("%.*s", (int)(slash - path), path) : new_text(".");
}

/* ---- The scene ------------------------------------------------------------------------------- */

typedef struct wishes {
    argument_list list;
    char *texts[24]; /* owned */
    size_t count;
} wishes;

static void add_text(argument_list *list, const char *text)
{
    list->items = realloc(list->items, (list->count + 1) * sizeof *list->items);
    if (!list->items)
        abort();
    list->items[list->count++] = text;
}

static void wish(wishes *w, const char *format, const char *value)
{
    if (!value)
        return;
    char *text = NULL;
    if (asprintf(&text, format, value) < 0)
        abort();
    w->texts[w->count++] = text;
    add_text(&w->list, text);
}

static int wish_environment(wishes *w, const char *path)
{
    char *whole = path ? realpath(path, NULL) : NULL;
    if (path && !whole) {
        console_error("%s: %s", path, strerror(errno));
        return FIRN_NO_INPUT;
    }
    wish(w, "render.lights=[{type: environment, file: '%s'}]", whole);
    free(whole);
    return 0;
}

/* The options that are values of the scene, as overrides of it: one parser, one set of messages. */
static int make_wishes(wishes *w, const render_options *o, const argument_list *own)
{
    for (size_t k = 0; k < own->count; k++)
        add_text(&w->list, own->items[k]);
    char number[32] = "";
    snprintf(number, sizeof number, "%lld", (long long)o->samples);
    wish(w, "render.samples=%s", o->samples > 0 ? number : NULL);
    wish(w, "render.height=%s", o->size ? strchr(o->size, 'x') + 1 : NULL);
    snprintf(number, sizeof number, "%.*s", o->size ? (int)strcspn(o->size, "x") : 0,
             o->size ? o->size : "");
    wish(w, "render.width=%s", o->size ? number : NULL);
    wish(w, "camera.position=[%s]", o->position);
    wish(w, "camera.target=[%s]", o->target);
    wish(w, "camera.azimuth=%s", o->azimuth);
    wish(w, "camera.elevation=%s", o->elevation);
    wish(w, "camera.zoom=%s", o->zoom);
    wish(w, "camera.field_of_view=%s", o->view);
    wish(w, "camera.aperture=%s", o->aperture);
    wish(w, "camera.focus=%s", o->focus);
    wish(w, "camera.shutter=%s", o->shutter);
    const char *comma = o->sun ? strchr(o->sun, ',') : NULL;
    char *elevation = o->sun ? new_text("%.*s", (int)strcspn(o->sun, ","), o->sun) : NULL;
    wish(w, "render.sun.elevation=%s", elevation);
    wish(w, "render.sun.azimuth=%s", comma ? comma + 1 : NULL);
    free(elevation);
    wish(w, "render.exposure=%s", o->exposure);
    wish(w, "render.seed=%s", o->seed);
    wish(w, "render.denoise=%s", o->denoise);
    int code = wish_environment(w, o->environment);
    for (size_t k = 0; k < o->sets.count; k++)
        add_text(&w->list, o->sets.items[k]);
    return code;
}

static void wishes_clear(wishes *w)
{
    for (size_t k = 0; k < w->count; k++)
        free(w->texts[k]);
    free(w->list.items);
}

/* A run tells which scene it is of; a scene that was changed since draws other colliders. */
static void warn_of_change(const firn_scene *scene, const char *folder)
{
    firn_checkpoint_info info;
    char *path = new_text("%s/checkpoint.h5", folder);
    struct stat status;
    if (stat(path, &status) == 0 && firn_checkpoint_read_info(path, &info) == FIRN_OK &&
        info.fingerprint != firn_scene_fingerprint(scene))
        console_warning("%s: the scene was changed since this run", folder);
    free(path);
}

static int load_scene(render_input *in, const char *path, const char *folder,
                      const argument_list *own, const render_options *o)
{
    static const char nothing[] = "simulation: {cell_size: 1}"; /* a place for the options */
    wishes w = {0};
    int code = make_wishes(&w, o, own);
    if (!code) {
        firn_status status =
            path ? firn_scene_load(path, w.list.items, w.list.count, &in->scene)
                 : firn_scene_parse(nothing, "options", w.list.items, w.list.count, &in->scene);
        code = status == FIRN_OK ? 0 : console_failure(status);
    }
    in->has_scene = path;
    if (!code && path && folder)
        warn_of_change(in->scene, folder);
    wishes_clear(&w);
    return code;
}

/* The scene of the run that the first operand belongs to, if its folder tells. */
static int find_scene(render_input *in, const char *operand, const render_options *o)
{
    char *folder = folder_of(operand);
    argument_list own = {0};
    char *text = folder_read_scene(folder, &own);
    bool is_there = text && access(text, R_OK) == 0;
    if (text && !is_there)
        console_warning("%s: the scene of this run, %s, is not there; drawing without colliders",
                        folder, text);
    int code =
        load_scene(in, is_there ? text : NULL, folder, is_there ? &own : &(argument_list){0}, o);
    free(own.items);
    free(text);
    free(folder);
    return code;
}

/* What a picture looks at: reading is a good part of the time that a preview takes. */
static unsigned attributes_for(const render_options *o)
{
    unsigned wanted = FIRN_BIT(FIRN_POSITION) | FIRN_BIT(FIRN_MASS) | FIRN_BIT(FIRN_DENSITY);
    if (o->colour == FIRN_COLOUR_J_P)
        wanted |= FIRN_BIT(FIRN_J_P);
    if (o->colour == FIRN_COLOUR_SPEED || !(o->preview || o->sheet)) /* motion blur */
        wanted |= FIRN_BIT(FIRN_VELOCITY);
    return wanted;
}

int render_input_open(render_input *in, const argument_list *operands, const render_options *o)
{
    const argument_list none = {0};
    in->grid = o->grid;
    in->attributes = attributes_for(o);
    for (size_t k = 0; k < operands->count; k++) {
        const char *path = operands->items[k];
        int code = 0;
        if (is_scene_file(path) && !is_folder(path)) {
            if (operands->count > 1 || o->scene) {
                console_error("firn render: a scene is drawn alone\nSee: firn render --help");
                return 2;
            }
            in->is_scene = true;
            in->count = 1;
            return load_scene(in, path, NULL, &none, o);
        }
        if (is_folder(path))
            code = add_folder(in, path);
        else
            add_path(in, new_text("%s", path));
        if (code)
            return code;
    }
    return o->scene ? load_scene(in, o->scene, NULL, &none, o)
                    : find_scene(in, operands->items[0], o);
}

void render_input_close(render_input *in)
{
    if (in->paths)
        cut(in, 0);
    free(in->paths);
    firn_scene_destroy(&in->scene);
}

/* ---- Frames ---------------------------------------------------------------------------------- */

static firn_status sample_scene(const firn_scene *scene, firn_frame *frame)
{
    firn_sim *sim;
    firn_status status = firn_sim_create(scene, NULL, &sim);
    if (status == FIRN_OK)
        status = firn_frame_capture(sim, FIRN_BASIC_ATTRIBUTES, memset(frame, 0, sizeof *frame));
    firn_sim_destroy(&sim);
    return status;
}

int input_read(const render_input *in, size_t index, firn_frame *frame)
{
    const char *path = in->is_scene ? NULL : in->paths[index];
    firn_status status = in->is_scene      ? sample_scene(in->scene, frame)
                         : is_volume(path) ? firn_frame_read_volume(path, in->grid, frame)
                                           : firn_frame_load(path, in->attributes, frame);
    return status == FIRN_OK ? 0 : console_failure(status);
}

/* The number in a frame's name; -1 for other names. */
static long number_of(const char *path)
{
    long frame;
    unsigned format;
    const char *slash = strrchr(path, '/');
    return frame_name_parse(slash ? slash + 1 : path, &frame, &format) ? frame : -1;
}

static int choose_one(render_input *in, const render_options *o)
{
    size_t chosen = in->count - 1;
    for (size_t k = 0; k < in->count && o->frame >= 0; k++) {
        chosen = k;
        if (number_of(in->paths[k]) == o->frame)
            break;
        if (k + 1 == in->count) {
            console_error("there is no frame %lld: they end with %ld", (long long)o->frame,
                          number_of(in->paths[k]));
            return FIRN_NO_INPUT;
        }
    }
    keep(in, 0, chosen);
    cut(in, 1);
    return 0;
}

int input_choose(render_input *in, const render_options *o, bool one)
{
    if (in->is_scene)
        return 0;
    if (one || o->frame >= 0)
        return choose_one(in, o);
    size_t kept = 0, seen = 0;
    for (size_t k = 0; k < in->count; k++) {
        long number = number_of(in->paths[k]);
        bool out = number >= 0 &&
                   ((o->first >= 0 && number < o->first) || (o->last >= 0 && number > o->last));
        if (!out && seen++ % (size_t)o->every == 0)
            keep(in, kept++, k);
    }
    cut(in, kept);
    if (kept == 0)
        console_error("no frame is left between --first and --last");
    return kept ? 0 : FIRN_NO_INPUT;
}

/* The first, the last, and evenly between; the last alone if only one is wanted. */
int input_choose_moments(render_input *in, int moments)
{
    size_t chosen = (size_t)moments < in->count ? (size_t)moments : in->count;
    for (size_t k = 0; k < chosen && !in->is_scene; k++) {
        size_t gaps = chosen - 1;
        keep(in, k, gaps ? (2 * k * (in->count - 1) + gaps) / (2 * gaps) : in->count - 1);
    }
    if (!in->is_scene)
        cut(in, chosen);
    return 0;
}

int input_frame(const render_input *in, const render_options *o, int width, int height,
                firn_camera *camera, double range[2])
{
    firn_frame frames[FRAMED];
    size_t count = in->count < FRAMED ? in->count : FRAMED, read = 0;
    int code = 0;
    for (; read < count && !code; read++) {
        size_t index = count > 1 ? read * (in->count - 1) / (count - 1) : 0;
        code = input_read(in, index, &frames[read]);
        if (code)
            break;
        firn_frame_thin(&frames[read], THINNED);
    }
    if (!code) {
        firn_status status = firn_camera_frame(frames, count, in->scene, width, height, camera);
        if (status == FIRN_OK)
            status = firn_preview_range(frames, count, (firn_colour)o->colour, in->scene, range);
        code = status == FIRN_OK ? 0 : console_failure(status);
    }
    for (size_t k = 0; k < read; k++)
        firn_frame_clear(&frames[k]);
    return code;
}
