/* `firn convert`: frames and checkpoints as files of other programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arguments.h"
#include "console.h"
#include "firn/io.h"
#include "frame_list.h"
#include "run_folder.h"
#include "tool.h"

typedef struct convert_options {
    const char *to;
    const char *output;
    const char *attributes;
    const char *grids;
    int grid_type;   /* in the order of firn_grid_type */
    int compression; /* in the order of firn_compression */
    int up;          /* in the order of firn_up */
    double scale, precision;
    int64_t usda_points;
    int64_t every;
    int64_t threads;
    bool quiet;
} convert_options;

#define AT(field) .offset = offsetof(convert_options, field)
static const argument convert_arguments[] = {
    {ARGUMENT_TEXT, 0, "to", "FORMAT,...", "vdb, vtkhdf, ply, bgeo, obj, usda, npz (required)",
     AT(to)},
    {ARGUMENT_TEXT, 'o', "output", "DIR", "folder to write to [where each frame is]", AT(output)},
    {ARGUMENT_TEXT, 0, "attributes", "NAME,...", "what particles carry [velocity,density,J_P,mass]",
     AT(attributes)},
    {ARGUMENT_TEXT, 0, "grids", "NAME,...",
     "of vdb: density, velocity, J_P, stress, surface\n"
     "                              [density,velocity]",
     AT(grids)},
    {ARGUMENT_CHOICE, 0, "grid-type", "float|half", "numbers of vdb [float]", AT(grid_type)},
    {ARGUMENT_CHOICE, 0, "compression", "blosc|zip|none", "of vdb [blosc]", AT(compression)},
    {ARGUMENT_CHOICE, 0, "up", "y|z", "the axis that points up [y]", AT(up)},
    {ARGUMENT_NUMBER, 0, "scale", "S", "units in a metre: 100 is centimetres [1]", AT(scale), 1e-6,
     1e6},
    {ARGUMENT_NUMBER, 0, "precision", "METRES", "how far positions of particles may be off [0]",
     AT(precision), 0, 1000},
    {ARGUMENT_INTEGER, 0, "usda-points", "N", "the most particles that a usda carries [20000]",
     AT(usda_points), 1, 1e9},
    {ARGUMENT_INTEGER, 0, "every", "N", "every n-th frame of folders [1]", AT(every), 1, 1000000},
    {ARGUMENT_INTEGER, 0, "threads", "N", "threads [all]", AT(threads), 1, 4096},
    {ARGUMENT_FLAG, 'q', "quiet", NULL, "say nothing but errors", AT(quiet)},
};
#undef AT
static const command convert_command = {
    .name = "convert",
    .operands = "DIR|FRAME...",
    .least = 1,
    .most = SIZE_MAX,
    .summary = "Write frames (.hdf) and checkpoints (.h5), or all frames of run folders, as files "
               "that\n"
               "other programs read. frame_0012.hdf becomes frame_0012.vdb and so on.",
    .arguments = convert_arguments,
    .count = sizeof convert_arguments / sizeof *convert_arguments,
};

/* ---- Lists of words -------------------------------------------------------------------------- */

typedef const char *word_fn(unsigned bit);

static const char *attribute_word(unsigned bit)
{
    for (firn_attribute a = 0; a < FIRN_ATTRIBUTES; a++)
        if (bit == FIRN_BIT(a))
            return firn_attribute_name(a);
    return NULL;
}

static int unknown_word(const char *option, const char *word, word_fn *word_of)
{
    const char *names[32];
    char *list = new_text("%s", "");
    size_t count = 0;
    for (const char *name; count < 32 && (name = word_of(1u << count)); count++) {
        char *longer = new_text("%s%s%s", list, count ? ", " : "", name);
        free(list);
        list = longer;
        names[count] = name;
    }
    const char *near = nearest_name(word, names, count);
    console_error("firn convert: --%s '%s' is none of %s%s%s%s\nSee: firn convert --help", option,
                  word, list, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    free(list);
    return 2;
}

/* "a,b,c" as bits. */
static int parse_words(const char *option, const char *text, word_fn *word_of, unsigned *bits)
{
    char *copy = new_text("%s", text), *rest = copy;
    int code = 0;
    for (char *word; !code && (word = strsep(&rest, ","));) {
        unsigned bit = 1;
        while (word_of(bit) && strcmp(word, word_of(bit)))
            bit <<= 1;
        if (word_of(bit))
            *bits |= bit;
        else
            code = unknown_word(option, word, word_of);
    }
    free(copy);
    return code;
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* A frame that was converted. */
typedef struct converted {
    char *folder, *name; /* FOLDER/NAME.vdb; owned */
    int frame;
    double time;
} converted;

typedef struct conversion {
    unsigned formats;
    firn_export how;
    const char *output;
    size_t count;
    converted *done;
} conversion;

/* Where SOMEWHERE/frame_0012.hdf goes: its folder, and frame_0012. Both owned by the caller. */
static void split_path(const conversion *c, const char *source, char **folder, char **name)
{
    const char *slash = strrchr(source, '/'), *base = slash ? slash + 1 : source;
    const char *dot = strrchr(base, '.');
    *name = new_text("%.*s", dot && dot > base ? (int)(dot - base) : (int)strlen(base), base);
    *folder = c->output ? new_text("%s", c->output)
              : slash   ? new_text("%.*s", (int)(slash - source + !(slash - source)), source)
                        : new_text(".");
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int convert_to(const conversion *c, const firn_frame *frame, const converted *to,
                      const char *source, unsigned format)
{
    char *path = new_text("%s/%s.%s", to->folder, to->name, firn_format_extension(format));
    int code = 0;
    if (is_same_file(path, source)) {
        console_error(
            "firn convert: %s would be overwritten by itself; name another folder: -o DIR", source);
        code = 2;
    } else {
        firn_status status = firn_frame_export(frame, path, format, &c->how);
        code = status == FIRN_OK ? 0 : console_failure(status);
    }
    free(path);
    return code;
}

static int convert_frame(conversion *c, const char *source)
{
    firn_frame frame = {0};
    firn_status status =
        firn_frame_load(source, firn_export_attributes(c->formats, &c->how), &frame);
    if (status != FIRN_OK)
        return console_failure(status);
    converted *to = &c->done[c->count++];
    split_path(c, source, &to->folder, &to->name);
    to->frame = frame.frame;
    to->time = frame.time;
    int code = 0;
    for (unsigned format = 1; format <= c->formats && !code; format <<= 1)
        if (c->formats & format)
            code = convert_to(c, &frame, to, source, format);
    firn_frame_clear(&frame);
    return code;
}

/* ---- Indexes --------------------------------------------------------------------------------- */

/* By folder, then in the order of time. */
static int by_place(const void *a, const void *b)
{
    const converted *x = a, *y = b;
    int folders = strcmp(x->folder, y->folder);
    return folders ? folders : (x->time > y->time) - (x->time < y->time);
}

/* Of frames that share a folder. */
static int write_indexes(const conversion *c, const converted *frames, size_t count)
{
    firn_index_entry *entries = calloc(count, sizeof *entries);
    if (!entries)
        abort();
    for (size_t k = 0; k < count; k++)
        entries[k] = (firn_index_entry){frames[k].name, frames[k].frame, frames[k].time};
    firn_status status = FIRN_OK;
    for (unsigned format = 1; format <= c->formats && status == FIRN_OK; format <<= 1)
        if ((c->formats & format) && firn_format_has_index(format))
            status = firn_index_write(frames->folder, format, entries, count, &c->how);
    free(entries);
    return status == FIRN_OK ? 0 : console_failure(status);
}

static int index_all(conversion *c)
{
    int code = 0;
    qsort(c->done, c->count, sizeof *c->done, by_place);
    for (size_t first = 0, end; first < c->count && !code; first = end) {
        for (end = first + 1; end < c->count; end++)
            if (strcmp(c->done[first].folder, c->done[end].folder))
                break;
        code = write_indexes(c, c->done + first, end - first);
    }
    return code;
}

/* ---- The verb -------------------------------------------------------------------------------- */

static int convert_all(conversion *c, const frame_list *list)
{
    int code = 0;
    c->done = calloc(list->count + 1, sizeof *c->done);
    if (!c->done)
        abort();
    for (size_t k = 0; k < list->count && !code; k++) {
        if (console_is_live()) {
            char *line = new_text("%zu/%zu  %s", k + 1, list->count, list->paths[k]);
            console_live(line);
            free(line);
        }
        code = convert_frame(c, list->paths[k]);
    }
    console_live("");
    return code;
}

static int convert(const argument_list *operands, const convert_options *o)
{
    conversion c = {
        .how = {.grid_type = (firn_grid_type)o->grid_type,
                .compression = (firn_compression)o->compression,
                .up = (firn_up)o->up,
                .scale = o->scale,
                .precision = o->precision,
                .usda_points = (int)o->usda_points,
                .threads = (int)o->threads},
        .output = o->output,
    };
    if (!o->to) {
        console_error("firn convert: missing option: --to FORMAT,...\nSee: firn convert --help");
        return 2;
    }
    int code = parse_words("to", o->to, firn_format_name, &c.formats);
    if (!code && o->attributes)
        code = parse_words("attributes", o->attributes, attribute_word, &c.how.attributes);
    if (!code && o->grids)
        code = parse_words("grids", o->grids, firn_grid_name, &c.how.grids);
    frame_list list = {0};
    if (!code)
        code = frame_list_create(operands, (long)o->every, &list);
    if (!code && o->output)
        code = folder_make(o->output);
    if (!code)
        code = convert_all(&c, &list);
    if (!code)
        code = index_all(&c);
    if (!code)
        console_note("converted %zu frame%s", list.count, list.count == 1 ? "" : "s");
    for (size_t k = 0; k < c.count; k++) {
        free(c.done[k].folder);
        free(c.done[k].name);
    }
    free(c.done);
    frame_list_clear(&list);
    return code;
}

int verb_convert(int argc, char **argv)
{
    convert_options options = {.scale = 1, .every = 1};
    argument_list operands = {0};
    int code = arguments_parse(&convert_command, argc, argv, &options, &operands);
    if (code == ARGUMENTS_GO) {
        console_setup(options.quiet ? CONSOLE_QUIET : CONSOLE_NORMAL);
        code = convert(&operands, &options);
    }
    arguments_clear(&convert_command, &options, &operands);
    return code;
}
