/*
 * Frames as VTKHDF UnstructuredGrid 1.0, the layout that VTK 9.1 and every ParaView since reads.
 *
 * Each particle is a vertex cell of its own. One poly-vertex cell for all would save the offsets
 * and types, but ParaView's Threshold, selections and extractions work on whole cells and would
 * then take all particles or none; deflated, the regular connectivity costs next to nothing.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/formats.h"
#include "io/header.h"
#include "status.h"

enum { VTK_VERTEX = 1 };

/* Points in float32 unless its spacing there would show: coarser than a thousandth of a cell. */
static firn_status point_type(const firn_sim *sim, double *block, hid_t *type)
{
    size_t rows = firn_sim_particle_count(sim), d = (size_t)firn_sim_dimensions(sim);
    double farthest = 0;
    for (size_t at = 0, n; (n = block_rows(at, rows)); at += n) {
        firn_status status = firn_sim_read(sim, FIRN_POSITION, at, n, block);
        if (status)
            return status;
        for (size_t k = 0; k < n * d; k++)
            farthest = fmax(farthest, fabs(block[k]));
    }
    bool coarse = farthest * 0x1p-23 > 1e-3 * firn_sim_cell_size(sim);
    *type = coarse ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
    return FIRN_OK;
}

/* Rows of 2 become rows of 3 in place, from the last to the first. */
static void widen(double *block, size_t rows)
{
    for (size_t p = rows; p-- > 0;) {
        double x = block[2 * p], y = block[2 * p + 1];
        block[3 * p] = x;
        block[3 * p + 1] = y;
        block[3 * p + 2] = 0;
    }
}

static void write_attribute(h5_writer *w, hid_t group, const char *name, hid_t type,
                            const firn_sim *sim, firn_attribute attribute, double *block)
{
    size_t rows = firn_sim_particle_count(sim);
    int components = firn_attribute_components(attribute, firn_sim_dimensions(sim));
    h5_shape shape = h5_rows_of(rows, components == 1 ? 1 : 3, 3);
    H5_SCOPED data = h5_make_rows(w, group, name, type, shape, H5_PACKED);
    for (size_t at = 0, n; (n = block_rows(at, rows)) && !w->status; at += n) {
        w->status = firn_sim_read(sim, attribute, at, n, block);
        if (w->status)
            return;
        if (components == 2)
            widen(block, n);
        h5_write_rows(w, data, H5T_NATIVE_DOUBLE, at, n, block);
    }
}

/* 0, 1, 2, ... */
static void write_ramp(h5_writer *w, hid_t group, const char *name, size_t count, double *block)
{
    int64_t *ramp = (int64_t *)block;
    H5_SCOPED data =
        h5_make_rows(w, group, name, H5T_NATIVE_INT64, (h5_shape){1, {count}}, H5_PACKED);
    for (size_t at = 0, n; (n = block_rows(at, count)) && !w->status; at += n) {
        for (size_t k = 0; k < n; k++)
            ramp[k] = (int64_t)(at + k);
        h5_write_rows(w, data, H5T_NATIVE_INT64, at, n, ramp);
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
    H5_SCOPED types =
        h5_make_rows(w, group, "Types", H5T_NATIVE_UINT8, (h5_shape){1, {count}}, H5_PACKED);
    memset(block, VTK_VERTEX, H5_BLOCK_ROWS);
    for (size_t at = 0, n; (n = block_rows(at, count)) && !w->status; at += n)
        h5_write_rows(w, types, H5T_NATIVE_UINT8, at, n, block);
}

static void write_point_data(h5_writer *w, hid_t vtk, const firn_sim *sim, double *block)
{
    static const firn_attribute shown[] = {FIRN_VELOCITY, FIRN_DENSITY, FIRN_J_P, FIRN_MASS};
    size_t rows = firn_sim_particle_count(sim);
    h5_shape scalar = {1, {rows}};
    H5_SCOPED group = h5_make_group(w, vtk, "PointData");
    H5_SCOPED id = h5_make_rows(w, group, "id", H5T_NATIVE_UINT64, scalar, H5_PACKED);
    h5_write_rows(w, id, H5T_NATIVE_UINT64, 0, rows, firn_sim_ids(sim));
    H5_SCOPED object = h5_make_rows(w, group, "object", H5T_NATIVE_UINT32, scalar, H5_PACKED);
    h5_write_rows(w, object, H5T_NATIVE_UINT32, 0, rows, firn_sim_objects(sim));
    for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
        write_attribute(w, group, firn_attribute_name(shown[k]), H5T_NATIVE_FLOAT, sim, shown[k],
                        block);
}

/* ParaView shows the time of a file from this array. */
static void write_field_data(h5_writer *w, hid_t vtk, double time)
{
    H5_SCOPED group = h5_make_group(w, vtk, "FieldData");
    H5_SCOPED data =
        h5_make_rows(w, group, "TimeValue", H5T_NATIVE_DOUBLE, (h5_shape){1, {1}}, H5_PLAIN);
    h5_write_rows(w, data, H5T_NATIVE_DOUBLE, 0, 1, &time);
}

static void write_vtk(h5_writer *w, const firn_sim *sim, hid_t points, double *block)
{
    static const int64_t version[2] = {1, 0};
    H5_SCOPED group = h5_make_group(w, w->file, "VTKHDF");
    h5_put(w, group, "Version", H5T_NATIVE_INT64, 2, version);
    h5_put_text(w, group, "Type", "UnstructuredGrid");
    write_cells(w, group, firn_sim_particle_count(sim), block);
    write_attribute(w, group, "Points", points, sim, FIRN_POSITION, block);
    write_point_data(w, group, sim, block);
    write_field_data(w, group, firn_sim_time(sim));
}

firn_status vtkhdf_write(const firn_sim *sim, const char *path)
{
    H5_QUIET;
    double *block = block_create();
    if (!block)
        return FIRN_NO_MEMORY;
    hid_t points;
    firn_status status = point_type(sim, block, &points);
    if (!status) {
        firn_checkpoint_info info = {
            .time = firn_sim_time(sim),
            .step = firn_sim_steps(sim),
            .frame = firn_sim_frame(sim),
            .cell_size = firn_sim_cell_size(sim),
            .dimensions = firn_sim_dimensions(sim),
        };
        strncpy(info.version, firn_version(), sizeof info.version - 1);
        h5_writer w;
        h5_writer_open(&w, path);
        header_put(&w, &info);
        write_vtk(&w, sim, points, block);
        status = h5_writer_close(&w);
    }
    free(block);
    return status;
}
