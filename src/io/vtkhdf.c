/*
 * Frames as VTKHDF UnstructuredGrid 1.0, the layout that VTK 9.1 and every ParaView since reads.
 *
 * Each particle is a vertex cell of its own. One poly-vertex cell for all would save the offsets
 * and types, but ParaView's Threshold, selections and extractions work on whole cells and would
 * then take all particles or none; deflated, the regular connectivity costs next to nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "io/formats.h"
#include "io/frame.h"
#include "io/header.h"
#include "status.h"

enum { VTK_VERTEX = 1 };

static void write_attribute(h5_writer *w, hid_t group, const firn_frame *frame,
                            firn_attribute attribute)
{
    size_t width = (size_t)firn_frame_components(attribute);
    h5_shape shape = {width == 1 ? 1 : 2, {frame->count, width}};
    h5_put_packed(w, group, firn_attribute_name(attribute), H5T_NATIVE_FLOAT, shape,
                  frame->values[attribute]);
}

static void write_points(h5_writer *w, hid_t group, const firn_frame *frame, const firn_export *how)
{
    hid_t type = frame_is_far(frame, how) ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
    h5_shape shape = {2, {frame->count, 3}};
    if (type == H5T_NATIVE_DOUBLE)
        h5_put_packed(w, group, "Points", type, shape, frame->place);
    else
        h5_put_packed(w, group, "Points", type, shape, frame->position);
}

/* 0, 1, 2, ... */
static void write_ramp(h5_writer *w, hid_t group, const char *name, size_t count, double *block)
{
    int64_t *ramp = (int64_t *)block;
    const h5_shape shape = {1, {count}};
    H5_SCOPED data = h5_make_rows(w, group, name, H5T_NATIVE_INT64, shape, H5_PACKED);
    for (size_t at = 0, n; (n = block_rows(at, count)) && !w->status; at += n) {
        for (size_t k = 0; k < n; k++)
            ramp[k] = (int64_t)(at + k);
        h5_pack_rows(w, data, H5T_NATIVE_INT64, shape, at, n, ramp);
    }
}

static void write_cells(h5_writer *w, hid_t group, size_t count, double *block)
{
    const char *counts[] = {"NumberOfPoints", "NumberOfCells", "NumberOfConnectivityIds"};
    int64_t total = (int64_t)count;
    for (size_t k = 0; k < 3; k++) {
        H5_SCOPED data =
            h5_make_rows(w, group, counts[k], H5T_NATIVE_INT64, (h5_shape){1, {1}}, H5_PLAIN);
        h5_write_rows(w, data, H5T_NATIVE_INT64, 0, 1, &total);
    }
    write_ramp(w, group, "Connectivity", count, block);
    write_ramp(w, group, "Offsets", count + 1, block);
    const h5_shape shape = {1, {count}};
    H5_SCOPED types = h5_make_rows(w, group, "Types", H5T_NATIVE_UINT8, shape, H5_PACKED);
    memset(block, VTK_VERTEX, H5_BLOCK_ROWS);
    for (size_t at = 0, n; (n = block_rows(at, count)) && !w->status; at += n)
        h5_pack_rows(w, types, H5T_NATIVE_UINT8, shape, at, n, block);
}

static void write_point_data(h5_writer *w, hid_t vtk, const firn_frame *frame, unsigned selected)
{
    h5_shape scalar = {1, {frame->count}};
    H5_SCOPED group = h5_make_group(w, vtk, "PointData");
    h5_put_packed(w, group, "id", H5T_NATIVE_UINT64, scalar, frame->id);
    h5_put_packed(w, group, "object", H5T_NATIVE_UINT32, scalar, frame->object);
    for (firn_attribute a = FIRN_POSITION + 1; a < FIRN_ATTRIBUTES; a++)
        if (selected >> a & 1)
            write_attribute(w, group, frame, a);
}

/* ParaView shows the time of a file from this array. */
static void write_field_data(h5_writer *w, hid_t vtk, double time)
{
    H5_SCOPED group = h5_make_group(w, vtk, "FieldData");
    H5_SCOPED data =
        h5_make_rows(w, group, "TimeValue", H5T_NATIVE_DOUBLE, (h5_shape){1, {1}}, H5_PLAIN);
    h5_write_rows(w, data, H5T_NATIVE_DOUBLE, 0, 1, &time);
}

static void write_vtk(h5_writer *w, const firn_frame *frame, const firn_export *how,
                      unsigned selected, double *block)
{
    static const int64_t version[2] = {1, 0};
    H5_SCOPED group = h5_make_group(w, w->file, "VTKHDF");
    h5_put(w, group, "Version", H5T_NATIVE_INT64, 2, version);
    h5_put_text(w, group, "Type", "UnstructuredGrid");
    write_cells(w, group, frame->count, block);
    write_points(w, group, frame, how);
    write_point_data(w, group, frame, selected);
    write_field_data(w, group, frame->time);
}

firn_status vtkhdf_write(const firn_frame *frame, const char *path, const firn_export *how)
{
    H5_QUIET;
    unsigned selected;
    firn_status status = frame_selection(frame, how, FIRN_BASIC_ATTRIBUTES, path, &selected);
    double *block = status ? NULL : block_create();
    if (!block)
        return status ? status : FIRN_NO_MEMORY;
    firn_checkpoint_info info = {
        .time = frame->time,
        .step = frame->step,
        .frame = frame->frame,
        .cell_size = frame->cell_size,
        .dimensions = frame->dimensions,
    };
    strncpy(info.version, firn_version(), sizeof info.version - 1);
    h5_writer w;
    h5_writer_open(&w, path);
    w.threads = how->threads;
    header_put(&w, &info);
    h5_put_text(&w, w.file, "kernel", frame->kernel == FIRN_CUBIC ? "cubic" : "quadratic");
    write_vtk(&w, frame, how, selected, block);
    free(block);
    return h5_writer_close(&w);
}
