/*
 * Frames as binary little-endian PLY: one vertex a particle, every attribute a property.
 *
 * Positions are floats, or doubles where float32 is too coarse. PLY has no 64-bit integers: ids
 * beyond 32 bits are doubles.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "io/formats.h"
#include "io/frame.h"
#include "status.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "rows are copied as they lie in memory");

enum { BLOCK_ROWS = 8192 };

/* In the order of the file, after the position. */
static const firn_attribute order[] = {
    FIRN_VELOCITY,  FIRN_DENSITY, FIRN_J_P,     FIRN_MASS, FIRN_VOLUME,
    FIRN_F_E,       FIRN_STRESS,  FIRN_B,       FIRN_MU0,  FIRN_LAMBDA0,
    FIRN_HARDENING, FIRN_THETA_C, FIRN_THETA_S,
};
enum { ORDERED = sizeof order / sizeof *order };

typedef struct ply_layout {
    const firn_frame *frame;
    unsigned selected;
    bool wide_points, wide_ids;
} ply_layout;

static void write_properties(FILE *out, const ply_layout *layout)
{
    static const char *const matrix[] = {"xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz"};
    static const char *const stress[] = {"xx", "yy", "zz", "xy", "yz", "xz"};
    for (int k = 0; k < 3; k++)
        fprintf(out, "property %s %c\n", layout->wide_points ? "double" : "float", "xyz"[k]);
    for (size_t a = 0; a < ORDERED; a++) {
        if (!(layout->selected >> order[a] & 1))
            continue;
        const char *name = firn_attribute_name(order[a]);
        int width = firn_frame_components(order[a]);
        for (int k = 0; k < width; k++)
            if (width == 1)
                fprintf(out, "property float %s\n", name);
            else if (width == 3)
                fprintf(out, "property float v%c\n", "xyz"[k]);
            else
                fprintf(out, "property float %s_%s\n", name, width == 6 ? stress[k] : matrix[k]);
    }
    fprintf(out, "property %s id\nproperty uint object\n", layout->wide_ids ? "double" : "uint");
}

static firn_status write_header(file_draft *draft, const ply_layout *layout)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return fail(FIRN_NO_MEMORY, "no memory to write %s", draft->path);
    const firn_frame *f = layout->frame;
    fprintf(out,
            "ply\nformat binary_little_endian 1.0\ncomment Firn %s\ncomment time %.17g\n"
            "comment step %llu\ncomment frame %d\ncomment cell_size %.17g\ncomment dimensions %d\n"
            "element vertex %zu\n",
            firn_version(), f->time, (unsigned long long)f->step, f->frame, f->cell_size,
            f->dimensions, f->count);
    write_properties(out, layout);
    fprintf(out, "end_header\n");
    fclose(out);
    file_append(draft, text, size);
    free(text);
    return FIRN_OK;
}

/* One row as it stands in the file; returns its end. */
static char *pack_row(const ply_layout *layout, size_t p, char *at)
{
    const firn_frame *f = layout->frame;
    if (layout->wide_points)
        at = mempcpy(at, f->place + 3 * p, sizeof(double[3]));
    else
        at = mempcpy(at, f->position + 3 * p, sizeof(float[3]));
    for (size_t a = 0; a < ORDERED; a++)
        if (layout->selected >> order[a] & 1) {
            size_t width = (size_t)firn_frame_components(order[a]);
            at = mempcpy(at, f->values[order[a]] + p * width, width * sizeof(float));
        }
    uint32_t narrow_id = (uint32_t)f->id[p];
    double wide_id = (double)f->id[p];
    at = layout->wide_ids ? mempcpy(at, &wide_id, sizeof wide_id)
                          : mempcpy(at, &narrow_id, sizeof narrow_id);
    return mempcpy(at, &f->object[p], sizeof f->object[p]);
}

static size_t row_bytes(const ply_layout *layout)
{
    size_t bytes = (layout->wide_points ? 24 : 12) + (layout->wide_ids ? 8 : 4) + 4;
    for (size_t a = 0; a < ORDERED; a++)
        if (layout->selected >> order[a] & 1)
            bytes += 4 * (size_t)firn_frame_components(order[a]);
    return bytes;
}

static firn_status write_rows(file_draft *draft, const ply_layout *layout)
{
    char *block = malloc(BLOCK_ROWS * row_bytes(layout));
    if (!block)
        return fail(FIRN_NO_MEMORY, "no memory to write %s", draft->path);
    size_t count = layout->frame->count;
    for (size_t first = 0; first < count && !draft->error; first += BLOCK_ROWS) {
        char *at = block;
        for (size_t p = first; p < count && p < first + BLOCK_ROWS; p++)
            at = pack_row(layout, p, at);
        file_append(draft, block, (size_t)(at - block));
    }
    free(block);
    return FIRN_OK;
}

firn_status ply_write(const firn_frame *frame, const char *path, const firn_export *how)
{
    ply_layout layout = {.frame = frame, .wide_points = frame_is_far(frame, how)};
    layout.wide_ids = frame->count > 0 && frame->id[frame->count - 1] > UINT32_MAX;
    firn_status status = frame_selection(frame, how, FIRN_BASIC_ATTRIBUTES, path, &layout.selected);
    file_draft draft;
    if (!status)
        status = file_create(path, &draft);
    if (status)
        return status;
    status = write_header(&draft, &layout);
    if (!status)
        status = write_rows(&draft, &layout);
    if (!status)
        return file_commit(&draft);
    file_discard(&draft);
    return status;
}
