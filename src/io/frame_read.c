/* Frames (VTKHDF) and checkpoints back into memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "derived.h"
#include "io/checkpoint.h"
#include "io/frame.h"
#include "io/header.h"
#include "status.h"

static void take_header(const firn_checkpoint_info *info, firn_frame *frame)
{
    frame->dimensions = info->dimensions;
    frame->time = info->time;
    frame->cell_size = info->cell_size;
    frame->frame = info->frame;
    frame->step = info->step;
    frame->kernel = strcmp(info->kernel, "quadratic") == 0 ? FIRN_QUADRATIC : FIRN_CUBIC;
}

/* Finite as floats. Density and stress are left out: they may honestly be infinite where det F_E
 * is 0. */
static firn_status check_values(const char *path, const firn_frame *frame)
{
    for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES; a++) {
        size_t width = (size_t)firn_frame_components(a);
        for (size_t k = 0; frame->values[a] && k < frame->count * width; k++)
            if (!isfinite(frame->values[a][k]))
                return fail(FIRN_BAD_SCENE, "%s: %s in row %zu is %g as a float", path,
                            firn_attribute_name(a), k / width, (double)frame->values[a][k]);
    }
    return FIRN_OK;
}

/* ---- From a frame ---------------------------------------------------------------------------- */

static firn_status read_array(const h5_reader *r, const char *path, H5T_class_t kind, hid_t type,
                              h5_shape shape, void *values)
{
    h5_rows rows;
    firn_status status = h5_open_rows(r, path, kind, shape, &rows);
    if (!status)
        status = h5_read_rows(r, &rows, type, 0, shape.size[0], values);
    h5_rows_close(&rows);
    return status;
}

static void point_data_path(firn_attribute attribute, char path[64])
{
    snprintf(path, 64, "VTKHDF/PointData/%s", firn_attribute_name(attribute));
}

static h5_shape shape_of(size_t count, firn_attribute attribute)
{
    size_t width = (size_t)firn_frame_components(attribute);
    return width == 1 ? (h5_shape){1, {count}} : (h5_shape){2, {count, width}};
}

/* Positions in full too if the file has them so. */
static firn_status read_points(const h5_reader *r, unsigned attributes, firn_frame *frame)
{
    h5_rows points = {.id = -1};
    firn_status status =
        h5_open_rows(r, "VTKHDF/Points", H5T_FLOAT, (h5_shape){2, {H5_ANY_ROWS, 3}}, &points);
    size_t count = points.shape.size[0];
    if (!status)
        status = frame_resize(frame, count, attributes, points.width > sizeof(float));
    if (!status)
        status = h5_read_rows(r, &points, H5T_NATIVE_FLOAT, 0, count, frame->position);
    if (!status && frame->place)
        status = h5_read_rows(r, &points, H5T_NATIVE_DOUBLE, 0, count, frame->place);
    h5_rows_close(&points);
    return status;
}

static firn_status read_vtkhdf(const h5_reader *r, unsigned attributes, firn_frame *frame)
{
    firn_checkpoint_info info = {0};
    char path[64];
    firn_status status = header_get(r, &info);
    if (!status && h5_has_attribute(r, "kernel"))
        status = h5_get_text(r, "kernel", info.kernel, sizeof info.kernel);
    if (status)
        return status;
    for (firn_attribute a = FIRN_POSITION + 1; a < FIRN_ATTRIBUTES; a++) {
        point_data_path(a, path);
        if (!h5_has(r, path))
            attributes &= ~FIRN_BIT(a);
    }
    status = read_points(r, attributes, frame);
    if (status)
        return status;
    take_header(&info, frame);
    h5_shape scalar = {1, {frame->count}};
    status =
        read_array(r, "VTKHDF/PointData/id", H5T_INTEGER, H5T_NATIVE_UINT64, scalar, frame->id);
    if (!status)
        status = read_array(r, "VTKHDF/PointData/object", H5T_INTEGER, H5T_NATIVE_UINT32, scalar,
                            frame->object);
    for (firn_attribute a = FIRN_POSITION + 1; !status && a < FIRN_ATTRIBUTES; a++) {
        if (!frame->values[a])
            continue;
        point_data_path(a, path);
        status = read_array(r, path, H5T_FLOAT, H5T_NATIVE_FLOAT, shape_of(frame->count, a),
                            frame->values[a]);
    }
    return status;
}

/* ---- From a checkpoint ----------------------------------------------------------------------- */

static firn_status read_state(const void *from, firn_attribute attribute, size_t first,
                              size_t count, double *out)
{
    return checkpoint_read((checkpoint_reader *)from, attribute, first, count, out);
}

static firn_status read_attribute(checkpoint_reader *c, firn_attribute attribute, double *block,
                                  firn_frame *frame)
{
    int d = frame->dimensions;
    size_t have = (size_t)firn_attribute_components(attribute, d);
    firn_status status = FIRN_OK;
    for (size_t at = 0, n; !status && (n = block_rows(at, frame->count)); at += n) {
        status = attribute < FIRN_STATE_ATTRIBUTES
                     ? read_state(c, attribute, at, n, block)
                     : derived_read(attribute, d, at, n, read_state, c, block);
        if (!status)
            frame_put(frame, attribute, at, n, block, have);
    }
    return status;
}

static firn_status read_checkpoint(const char *path, unsigned attributes, firn_frame *frame)
{
    firn_checkpoint_info info;
    checkpoint_reader *c = NULL;
    double *block = block_create();
    firn_status status = block ? checkpoint_open(path, &info, &c) : FIRN_NO_MEMORY;
    if (!status && !checkpoint_has(c, FIRN_B))
        attributes &= ~FIRN_BIT(FIRN_B);
    if (!status)
        status = frame_resize(frame, info.particles, attributes, true);
    if (!status) {
        take_header(&info, frame);
        status = checkpoint_read_ids(c, frame->id);
    }
    if (!status)
        status = checkpoint_read_objects(c, frame->object);
    for (firn_attribute a = 0; !status && a < FIRN_ATTRIBUTES; a++)
        if (frame->values[a])
            status = read_attribute(c, a, block, frame);
    checkpoint_close(&c);
    free(block);
    return status;
}

/* ---- Either ---------------------------------------------------------------------------------- */

/* `required`: attributes whose absence is an error that names them. */
static firn_status load(const char *path, unsigned attributes, unsigned required, firn_frame *frame)
{
    H5_QUIET;
    h5_reader r;
    firn_frame read = {0};
    firn_status status = h5_reader_open(&r, path, "a Firn frame (.hdf) or checkpoint (.h5)",
                                        "write it again with firn run or firn convert");
    if (status)
        return status;
    bool is_frame = h5_has(&r, "VTKHDF"), is_checkpoint = h5_has(&r, "particles");
    if (is_frame)
        status = read_vtkhdf(&r, attributes, &read);
    else if (!is_checkpoint)
        status = h5_refuse(&r, "it has neither /VTKHDF nor /particles");
    for (firn_attribute a = 0; is_frame && !status && a < FIRN_ATTRIBUTES; a++)
        if ((required >> a & 1) && !read.values[a])
            status = h5_refuse(&r, "/VTKHDF/PointData/%s is missing", firn_attribute_name(a));
    h5_reader_close(&r);
    if (!status && !is_frame)
        status = read_checkpoint(path, attributes, &read);
    if (!status)
        status = check_values(path, &read);
    if (status)
        firn_frame_clear(&read);
    else
        *frame = read;
    return status;
}

firn_status firn_frame_read(const char *path, firn_frame *frame)
{
    return load(path, FIRN_BASIC_ATTRIBUTES, FIRN_BASIC_ATTRIBUTES, frame);
}

firn_status firn_frame_load(const char *path, unsigned attributes, firn_frame *frame)
{
    return load(path, attributes, 0, frame);
}
