/* Frames as NPZ: a ZIP of .npy arrays, which numpy.load opens. Attributes by their names, and the
 * frame's numbers as arrays without dimensions. */
#include <stdio.h>
#include <string.h>

#include "io/formats.h"
#include "io/frame.h"
#include "io/zip.h"
#include "status.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are written as they lie");

/* The first failure stays. */
typedef struct npz_writer {
    zip_writer zip;
    firn_status status;
} npz_writer;

/* `type` as numpy writes it ("<f4"), `shape` as Python does ("(3, 2)"). */
static void add_array(npz_writer *w, const char *name, const char *type, const char *shape,
                      const void *values, size_t bytes)
{
    enum { HEAD = 128 }; /* magic, version, length of what follows; all a multiple of 64 */
    unsigned char head[HEAD] = "\x93NUMPY\x01";
    char member[ZIP_NAME];
    if (w->status)
        return;
    snprintf(member, sizeof member, "%s.npy", name);
    head[8] = HEAD - 10;
    memset(head + 10, ' ', HEAD - 10);
    int length = snprintf((char *)head + 10, HEAD - 10,
                          "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    head[10 + length] = ' '; /* where snprintf put its 0 */
    head[HEAD - 1] = '\n';
    w->status = zip_add(&w->zip, member, head, HEAD, values, bytes);
}

static void add_rows(npz_writer *w, const char *name, const char *type, size_t count, int width,
                     const void *values, size_t number)
{
    char shape[64];
    if (width == 1)
        snprintf(shape, sizeof shape, "(%zu,)", count);
    else if (width == 9)
        snprintf(shape, sizeof shape, "(%zu, 3, 3)", count);
    else
        snprintf(shape, sizeof shape, "(%zu, %d)", count, width);
    add_array(w, name, type, shape, values, count * (size_t)width * number);
}

static void add_numbers(npz_writer *w, const firn_frame *f)
{
    int64_t frame = f->frame, dimensions = f->dimensions;
    static const uint32_t cubic[] = {'c', 'u', 'b', 'i', 'c'};
    static const uint32_t quadratic[] = {'q', 'u', 'a', 'd', 'r', 'a', 't', 'i', 'c'};
    add_array(w, "time", "<f8", "()", &f->time, 8);
    add_array(w, "frame", "<i8", "()", &frame, 8);
    add_array(w, "step", "<u8", "()", &f->step, 8);
    add_array(w, "cell_size", "<f8", "()", &f->cell_size, 8);
    add_array(w, "dimensions", "<i8", "()", &dimensions, 8);
    if (f->kernel == FIRN_CUBIC)
        add_array(w, "kernel", "<U5", "()", cubic, sizeof cubic);
    else
        add_array(w, "kernel", "<U9", "()", quadratic, sizeof quadratic);
}

static void add_particles(npz_writer *w, const firn_frame *f, const firn_export *how,
                          unsigned selected)
{
    if (frame_is_far(f, how))
        add_rows(w, "position", "<f8", f->count, 3, f->place, sizeof(double));
    else
        add_rows(w, "position", "<f4", f->count, 3, f->position, sizeof(float));
    add_rows(w, "id", "<u8", f->count, 1, f->id, sizeof *f->id);
    add_rows(w, "object", "<u4", f->count, 1, f->object, sizeof *f->object);
    for (firn_attribute a = 0; a < FIRN_ATTRIBUTES; a++)
        if (selected >> a & 1)
            add_rows(w, firn_attribute_name(a), "<f4", f->count, firn_frame_components(a),
                     f->values[a], sizeof(float));
}

firn_status npz_write(const firn_frame *frame, const char *path, const firn_export *how)
{
    unsigned selected;
    file_draft draft;
    firn_status status = frame_selection(frame, how, FIRN_BASIC_ATTRIBUTES, path, &selected);
    if (!status)
        status = file_create(path, &draft);
    if (status)
        return status;
    npz_writer w = {.zip = {.draft = &draft, .threads = how->threads}};
    add_numbers(&w, frame);
    add_particles(&w, frame, how, selected);
    zip_finish(&w.zip);
    if (!w.status)
        return file_commit(&draft);
    file_discard(&draft);
    return w.status;
}
