/* `firn render`: moments of a run side by side in one picture. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arguments.h"
#include "console.h"
#include "firn/io.h"
#include "firn/render.h"
#include "firn/scene.h"
#include "run_folder.h"
#include "tool.h"

typedef struct render_options {
    const char *output;
    int64_t columns;
    int64_t moments;
    int colour; /* in the order of firn_colour */
    const char *scene;
    const char *size;
} render_options;

#define AT(field) .offset = offsetof(render_options, field)
static const argument render_arguments[] = {
    {ARGUMENT_TEXT, 'o', "output", "FILE.png", "the picture (required)", AT(output)},
    {ARGUMENT_INTEGER, 0, "moments", "N", "frames to choose of a folder, evenly spaced [6]",
     AT(moments), 1, 1000},
    {ARGUMENT_INTEGER, 0, "columns", "N", "pictures in a row [what looks good]", AT(columns), 1,
     1000},
    {ARGUMENT_CHOICE, 0, "colour", "snow|speed|density|J_P|object", "what colours show [snow]",
     AT(colour)},
    {ARGUMENT_TEXT, 0, "scene", "SCENE", "draw the colliders of this scene too", AT(scene)},
    {ARGUMENT_TEXT, 0, "size", "WxH", "pixels of one picture [640x480]", AT(size)},
};
#undef AT
static const command render_command = {
    .name = "render",
    .operands = "DIR|FRAME...",
    .least = 1,
    .most = SIZE_MAX,
    .summary = "Draw frames (.hdf) and checkpoints (.h5), or evenly spaced frames of run folders, "
               "side by\n"
               "side in one PNG, all seen by one camera.",
    .arguments = render_arguments,
    .count = sizeof render_arguments / sizeof *render_arguments,
};

static int usage(const char *text)
{
    console_error("firn render: %s\nSee: firn render --help", text);
    return 2;
}

/* ---- Which frames ---------------------------------------------------------------------------- */

typedef struct paths {
    size_t count;
    char **items; /* owned */
} paths;

static void add_path(paths *p, char *path)
{
    p->items = realloc(p->items, (p->count + 1) * sizeof *p->items);
    if (!p->items)
        abort();
    p->items[p->count++] = path;
}

static void clear_paths(paths *p)
{
    for (size_t k = 0; k < p->count; k++)
        free(p->items[k]);
    free(p->items);
}

static int is_readable_frame(const struct dirent *entry)
{
    long frame;
    unsigned format;
    return frame_name_parse(entry->d_name, &frame, &format) && format == FIRN_FORMAT_VTKHDF;
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
    long x = 0, y = 0;
    unsigned format;
    frame_name_parse((*a)->d_name, &x, &format);
    frame_name_parse((*b)->d_name, &y, &format);
    return (x > y) - (x < y);
}

/* The first, the last, and evenly between; the last alone if only one is wanted. */
static int add_folder(paths *p, const char *folder, int moments)
{
    struct dirent **entries;
    int found = scandir(folder, &entries, is_readable_frame, by_number);
    if (found <= 0) {
        console_error("%s: holds no frames (frame_0000.hdf, ...)", folder);
        if (found == 0)
            free(entries);
        return FIRN_NO_INPUT;
    }
    int chosen = moments < found ? moments : found;
    for (int k = 0; k < chosen; k++) {
        int gaps = chosen - 1;
        int index = gaps ? (2 * k * (found - 1) + gaps) / (2 * gaps) : found - 1;
        add_path(p, new_text("%s/%s", folder, entries[index]->d_name));
    }
    for (int k = 0; k < found; k++)
        free(entries[k]);
    free(entries);
    return 0;
}

static int collect_paths(const argument_list *operands, int moments, paths *p)
{
    for (size_t k = 0; k < operands->count; k++) {
        struct stat status;
        const char *path = operands->items[k];
        if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
            int code = add_folder(p, path, moments);
            if (code)
                return code;
        } else {
            add_path(p, new_text("%s", path));
        }
    }
    return 0;
}

/* ---- The picture ----------------------------------------------------------------------------- */

static int draw(const paths *p, const render_options *o, const firn_preview_options *preview)
{
    firn_frame *frames = calloc(p->count, sizeof *frames);
    if (!frames)
        abort();
    firn_status status = FIRN_OK;
    size_t read = 0;
    while (read < p->count && (status = firn_frame_read(p->items[read], &frames[read])) == FIRN_OK)
        read++;
    if (status == FIRN_OK)
        status = firn_preview_sheet(frames, p->count, (int)o->columns, preview, o->output);
    int code = status == FIRN_OK ? 0 : console_failure(status);
    for (size_t k = 0; k < read; k++)
        firn_frame_clear(&frames[k]);
    free(frames);
    return code;
}

static int parse_size(const char *text, firn_preview_options *preview)
{
    char rest;
    int fields = sscanf(text, "%5dx%5d%c", &preview->width, &preview->height, &rest);
    bool is_good = fields == 2 && preview->width >= 16 && preview->height >= 16 &&
                   preview->width <= 16384 && preview->height <= 16384;
    return is_good ? 0
                   : usage("--size is WIDTHxHEIGHT in pixels from 16 to 16384, such as 640x480");
}

static int render(const argument_list *operands, const render_options *o)
{
    firn_preview_options preview = {.colour = (firn_colour)o->colour};
    const char *dot = o->output ? strrchr(o->output, '.') : NULL;
    if (!o->output)
        return usage("missing option: -o FILE.png");
    if (!dot || strcmp(dot, ".png"))
        return usage("-o takes a file that ends in .png");
    if (o->size && parse_size(o->size, &preview))
        return 2;
    firn_scene *scene = NULL;
    if (o->scene) {
        firn_status status = firn_scene_load(o->scene, NULL, 0, &scene);
        if (status != FIRN_OK)
            return console_failure(status);
        preview.scene = scene;
    }
    paths p = {0};
    int code = collect_paths(operands, (int)o->moments, &p);
    if (!code)
        code = draw(&p, o, &preview);
    clear_paths(&p);
    firn_scene_destroy(&scene);
    return code;
}

int verb_render(int argc, char **argv)
{
    render_options options = {.moments = 6};
    argument_list operands = {0};
    int code = arguments_parse(&render_command, argc, argv, &options, &operands);
    if (code == ARGUMENTS_GO)
        code = render(&operands, &options);
    arguments_clear(&render_command, &options, &operands);
    return code;
}
