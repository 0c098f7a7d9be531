/*
 * Frames as BGEO version 5, the binary geometry of Houdini that its File node, and most tools around
 * it, read: big-endian; a header with counts, definitions of the point attributes, then for each
 * point x y z w and its attributes, then an empty list of extras.
 *
 * Attributes have Houdini's names: v, id, density, Jp, F (row major, dx_i/dX_j), pscale. It knows no
 * doubles and no 64-bit integers.
 */
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "io/formats.h"
#include "io/frame.h"
#include "status.h"

enum { BLOCK_ROWS = 8192, TYPE_FLOAT = 0, TYPE_INTEGER = 1, TYPE_VECTOR = 5 };

/* In the order of the file. */
static const struct {
    firn_attribute attribute;
    const char *name;
} names[] = {
    {FIRN_VELOCITY, "v"},
    {FIRN_DENSITY, "density"},
    {FIRN_J_P, "Jp"},
    {FIRN_F_E, "F"},
    {FIRN_MASS, "mass"},
    {FIRN_VOLUME, "volume"},
    {FIRN_STRESS, "stress"},
    {FIRN_B, "B"},
    {FIRN_MU0, "mu0"},
    {FIRN_LAMBDA0, "lambda0"},
    {FIRN_HARDENING, "hardening"},
    {FIRN_THETA_C, "theta_c"},
    {FIRN_THETA_S, "theta_s"},
};
enum { NAMES = sizeof names / sizeof *names };

static char *put_bytes(char *at, uint32_t value, int width)
{
    for (int k = width - 1; k >= 0; k--)
        *at++ = (char)(value >> 8 * k);
    return at;
}

static char *put_integer(char *at, uint32_t value)
{
    return put_bytes(at, value, 4);
}

static char *put_float(char *at, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return put_integer(at, bits);
}

/* Name, components, type and default of an attribute. */
static char *put_definition(char *at, const char *name, int width, int type)
{
    at = put_bytes(at, (uint32_t)strlen(name), 2);
    at = mempcpy(at, name, strlen(name));
    at = put_bytes(at, (uint32_t)width, 2);
    at = put_integer(at, (uint32_t)type);
    for (int k = 0; k < width; k++)
        at = put_integer(at, 0);
    return at;
}

static void write_header(file_draft *draft, size_t points, unsigned selected)
{
    char header[2048], *at = header;
    uint32_t attributes = 3; /* id, object, pscale */
    for (size_t k = 0; k < NAMES; k++)
        attributes += selected >> names[k].attribute & 1;
    at = mempcpy(at, "BgeoV", 5);
    /* version, points, primitives, groups of both, attributes of points, vertices, primitives, all */
    const uint32_t numbers[] = {5, (uint32_t)points, 0, 0, 0, attributes, 0, 0, 0};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        at = put_integer(at, numbers[k]);
    at = put_definition(at, "id", 1, TYPE_INTEGER);
    at = put_definition(at, "object", 1, TYPE_INTEGER);
    at = put_definition(at, "pscale", 1, TYPE_FLOAT);
    for (size_t k = 0; k < NAMES; k++)
        if (selected >> names[k].attribute & 1) {
            int width = firn_frame_components(names[k].attribute);
            at = put_definition(at, names[k].name, width, width == 3 ? TYPE_VECTOR : TYPE_FLOAT);
        }
    file_append(draft, header, (size_t)(at - header));
}

static char *put_point(char *at, const firn_frame *f, size_t p, unsigned selected,
                       const firn_export *how)
{
    for (size_t k = 0; k < 3; k++)
        at = put_float(at, f->position[3 * p + k]);
    at = put_float(at, 1);
    at = put_integer(at, (uint32_t)f->id[p]);
    at = put_integer(at, f->object[p]);
    at = put_float(at, (float)frame_radius(f, how, p));
    for (size_t k = 0; k < NAMES; k++) {
        size_t width = (size_t)firn_frame_components(names[k].attribute);
        for (size_t c = 0; c < width && (selected >> names[k].attribute & 1); c++)
            at = put_float(at, f->values[names[k].attribute][p * width + c]);
    }
    return at;
}

static firn_status check_fits(const firn_frame *frame, const char *path)
{
    uint64_t last = frame->count ? frame->id[frame->count - 1] : 0;
    if (frame->count <= INT32_MAX && last <= INT32_MAX)
        return FIRN_OK;
    return fail(FIRN_BAD_SCENE,
                "cannot write %s: BGEO counts to %d, and there are %zu particles "
                "with ids to %llu",
                path, INT32_MAX, frame->count, (unsigned long long)last);
}

firn_status bgeo_write(const firn_frame *frame, const char *path, const firn_export *how)
{
    unsigned selected;
    file_draft draft;
    firn_status status = check_fits(frame, path);
    if (!status)
        status = frame_selection(frame, how, FIRN_BASIC_ATTRIBUTES, path, &selected);
    if (!status && export_is_usual(how) && frame->F_E)
        selected |= FIRN_BIT(FIRN_F_E);
    char *block = status ? NULL : malloc(sizeof(char[4 * 64]) * BLOCK_ROWS);
    if (!status)
        status = block ? file_create(path, &draft) : fail(FIRN_NO_MEMORY, "no memory for %s", path);
    if (status) {
        free(block);
        return status;
    }
    write_header(&draft, frame->count, selected);
    for (size_t first = 0; first < frame->count && !draft.error; first += BLOCK_ROWS) {
        char *at = block;
        for (size_t p = first; p < frame->count && p < first + BLOCK_ROWS; p++)
            at = put_point(at, frame, p, selected, how);
        file_append(&draft, block, (size_t)(at - block));
    }
    file_append(&draft, "\x00\xff", 2); /* no extras */
    free(block);
    return file_commit(&draft);
}
