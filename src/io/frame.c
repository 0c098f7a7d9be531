/* Frames: which writer makes which format, and reading one back into memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/checkpoint.h"
#include "io/determinant.h"
#include "io/formats.h"
#include "io/header.h"
#include "status.h"

firn_status firn_frame_write(const firn_sim *sim, const char *path, unsigned format)
{
    switch (format) {
    case FIRN_FORMAT_VTKHDF:
        return vtkhdf_write(sim, path);
    case FIRN_FORMAT_PLY:
        return ply_write(sim, path);
    default:
        return fail(FIRN_USAGE, "cannot write %s: there is no format number %u", path, format);
    }
}

const char *firn_format_extension(unsigned format)
{
    return format == FIRN_FORMAT_VTKHDF ? "hdf" : format == FIRN_FORMAT_PLY ? "ply" : NULL;
}

static firn_status frame_create(const firn_checkpoint_info *info, size_t count, firn_frame *frame)
{
    *frame = (firn_frame){.dimensions = info->dimensions,
                          .count = count,
                          .time = info->time,
                          .cell_size = info->cell_size,
                          .frame = info->frame,
                          .step = info->step};
    size_t n = count ? count : 1;
    frame->id = calloc(n, sizeof *frame->id);
    frame->object = calloc(n, sizeof *frame->object);
    frame->position = calloc(n, 3 * sizeof *frame->position);
    frame->velocity = calloc(n, 3 * sizeof *frame->velocity);
    frame->mass = calloc(n, sizeof *frame->mass);
    frame->density = calloc(n, sizeof *frame->density);
    frame->J_P = calloc(n, sizeof *frame->J_P);
    if (frame->id && frame->object && frame->position && frame->velocity && frame->mass &&
        frame->density && frame->J_P)
        return FIRN_OK;
    firn_frame_clear(frame);
    return fail(FIRN_NO_MEMORY, "no memory for %zu particles", count);
}

void firn_frame_clear(firn_frame *frame)
{
    free(frame->id);
    free(frame->object);
    free(frame->position);
    free(frame->velocity);
    free(frame->mass);
    free(frame->density);
    free(frame->J_P);
    *frame = (firn_frame){0};
}

/* Finite as floats. Density is left out: it may honestly be infinite where det F_E is 0. */
static firn_status frame_check(const char *path, const firn_frame *frame)
{
    const struct {
        const char *name;
        const float *values;
        size_t components;
    } arrays[] = {{"position", frame->position, 3},
                  {"velocity", frame->velocity, 3},
                  {"mass", frame->mass, 1},
                  {"J_P", frame->J_P, 1}};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++)
        for (size_t k = 0; k < frame->count * arrays[a].components; k++)
            if (!isfinite(arrays[a].values[k]))
                return fail(FIRN_BAD_SCENE, "%s: %s in row %zu is %g as a float", path,
                            arrays[a].name, k / arrays[a].components, (double)arrays[a].values[k]);
    return FIRN_OK;
}

/* ---- From a simulation ----------------------------------------------------------------------- */

/* An attribute as floats, three components even in 2D. */
static firn_status take_array(const firn_sim *sim, firn_attribute attribute, float *values)
{
    enum { ROWS = 4096 };
    double rows[3 * ROWS];
    size_t count = firn_sim_particle_count(sim);
    int from = firn_attribute_components(attribute, firn_sim_dimensions(sim));
    int to = attribute == FIRN_POSITION || attribute == FIRN_VELOCITY ? 3 : 1;
    for (size_t first = 0; first < count; first += ROWS) {
        size_t some = count - first < ROWS ? count - first : ROWS;
        firn_status status = firn_sim_read(sim, attribute, first, some, rows);
        if (status != FIRN_OK)
            return status;
        for (size_t i = 0; i < some; i++)
            for (int c = 0; c < from; c++)
                values[(first + i) * (size_t)to + (size_t)c] =
                    (float)rows[i * (size_t)from + (size_t)c];
    }
    return FIRN_OK;
}

firn_status firn_frame_take(const firn_sim *sim, firn_frame *frame)
{
    size_t count = firn_sim_particle_count(sim);
    const firn_checkpoint_info info = {.dimensions = firn_sim_dimensions(sim),
                                       .time = firn_sim_time(sim),
                                       .cell_size = firn_sim_cell_size(sim),
                                       .frame = firn_sim_frame(sim),
                                       .step = firn_sim_steps(sim)};
    firn_status status = frame_create(&info, count, frame);
    if (status != FIRN_OK)
        return status;
    memcpy(frame->id, firn_sim_ids(sim), count * sizeof *frame->id);
    memcpy(frame->object, firn_sim_objects(sim), count * sizeof *frame->object);
    static const firn_attribute attributes[] = {FIRN_POSITION, FIRN_VELOCITY, FIRN_MASS,
                                                FIRN_DENSITY, FIRN_J_P};
    float *const arrays[] = {frame->position, frame->velocity, frame->mass, frame->density,
                             frame->J_P};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays && status == FIRN_OK; k++)
        status = take_array(sim, attributes[k], arrays[k]);
    if (status != FIRN_OK)
        firn_frame_clear(frame);
    return status;
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

static firn_status read_vtkhdf(const h5_reader *r, firn_frame *frame)
{
    firn_checkpoint_info info = {0};
    firn_status status = header_get(r, &info);
    h5_rows points = {.id = -1};
    if (!status)
        status =
            h5_open_rows(r, "VTKHDF/Points", H5T_FLOAT, (h5_shape){2, {H5_ANY_ROWS, 3}}, &points);
    h5_rows_close(&points);
    if (!status)
        status = frame_create(&info, points.shape.size[0], frame);
    if (status)
        return status;
    h5_shape scalar = {1, {frame->count}}, vector = {2, {frame->count, 3}};
    const struct {
        const char *path;
        H5T_class_t kind;
        hid_t type;
        h5_shape shape;
        void *values;
    } arrays[] = {
        {"VTKHDF/Points", H5T_FLOAT, H5T_NATIVE_FLOAT, vector, frame->position},
        {"VTKHDF/PointData/velocity", H5T_FLOAT, H5T_NATIVE_FLOAT, vector, frame->velocity},
        {"VTKHDF/PointData/mass", H5T_FLOAT, H5T_NATIVE_FLOAT, scalar, frame->mass},
        {"VTKHDF/PointData/density", H5T_FLOAT, H5T_NATIVE_FLOAT, scalar, frame->density},
        {"VTKHDF/PointData/J_P", H5T_FLOAT, H5T_NATIVE_FLOAT, scalar, frame->J_P},
        {"VTKHDF/PointData/id", H5T_INTEGER, H5T_NATIVE_UINT64, scalar, frame->id},
        {"VTKHDF/PointData/object", H5T_INTEGER, H5T_NATIVE_UINT32, scalar, frame->object},
    };
    for (size_t k = 0; !status && k < sizeof arrays / sizeof *arrays; k++)
        status = read_array(r, arrays[k].path, arrays[k].kind, arrays[k].type, arrays[k].shape,
                            arrays[k].values);
    return status;
}

/* ---- From a checkpoint ----------------------------------------------------------------------- */

static firn_status read_floats(checkpoint_reader *c, firn_attribute attribute,
                               const firn_frame *frame, double *block, float *out)
{
    size_t have = (size_t)firn_attribute_components(attribute, frame->dimensions);
    size_t want = have == 1 ? 1 : 3;
    for (size_t at = 0, n; (n = block_rows(at, frame->count)); at += n) {
        firn_status status = checkpoint_read(c, attribute, at, n, block);
        if (status)
            return status;
        for (size_t p = 0; p < n; p++)
            for (size_t k = 0; k < have; k++)
                out[(at + p) * want + k] = (float)block[p * have + k];
    }
    return FIRN_OK;
}

/* rho = m / (V0 det F_E J_P), with m and J_P read already. */
static firn_status read_density(checkpoint_reader *c, firn_frame *frame, double *block)
{
    int d = frame->dimensions;
    firn_status status = read_floats(c, FIRN_VOLUME, frame, block, frame->density);
    for (size_t at = 0, n; !status && (n = block_rows(at, frame->count)); at += n) {
        status = checkpoint_read(c, FIRN_F_E, at, n, block);
        for (size_t p = 0; !status && p < n; p++) {
            double J = determinant(block + p * (size_t)(d * d), d) * (double)frame->J_P[at + p];
            double V = (double)frame->density[at + p] * J;
            frame->density[at + p] = (float)((double)frame->mass[at + p] / V);
        }
    }
    return status;
}

static firn_status read_checkpoint(const char *path, firn_frame *frame)
{
    firn_checkpoint_info info;
    checkpoint_reader *c = NULL;
    double *block = block_create();
    firn_status status = block ? checkpoint_open(path, &info, &c) : FIRN_NO_MEMORY;
    if (!status)
        status = frame_create(&info, info.particles, frame);
    if (!status)
        status = checkpoint_read_ids(c, frame->id);
    if (!status)
        status = checkpoint_read_objects(c, frame->object);
    if (!status)
        status = read_floats(c, FIRN_POSITION, frame, block, frame->position);
    if (!status)
        status = read_floats(c, FIRN_VELOCITY, frame, block, frame->velocity);
    if (!status)
        status = read_floats(c, FIRN_MASS, frame, block, frame->mass);
    if (!status)
        status = read_floats(c, FIRN_J_P, frame, block, frame->J_P);
    if (!status)
        status = read_density(c, frame, block);
    checkpoint_close(&c);
    free(block);
    return status;
}

firn_status firn_frame_read(const char *path, firn_frame *frame)
{
    H5_QUIET;
    h5_reader r;
    firn_frame read = {0};
    firn_status status = h5_reader_open(&r, path, "a Firn frame (.hdf) or checkpoint (.h5)",
                                        "write it again with firn run or firn convert");
    if (status)
        return status;
    bool is_checkpoint = h5_has(&r, "particles");
    if (h5_has(&r, "VTKHDF"))
        status = read_vtkhdf(&r, &read);
    else if (!is_checkpoint)
        status = h5_refuse(&r, "it has neither /VTKHDF nor /particles");
    h5_reader_close(&r);
    if (!status && !read.id)
        status = read_checkpoint(path, &read);
    if (!status)
        status = frame_check(path, &read);
    if (status)
        firn_frame_clear(&read);
    else
        *frame = read;
    return status;
}
