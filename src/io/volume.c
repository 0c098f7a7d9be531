/*
 * Frames as OpenVDB volumes: fields on the nodes of the simulation's grid, by its own kernel.
 *
 *     density    sum_p m_p w_ip / h^3                    kg/m^3 (in 2D h^2: kg/m^2, one layer at z = 0)
 *     velocity   sum_p m_p v_p w_ip / sum_p m_p w_ip     and J_P likewise
 *
 * Voxel (i, j, k) stands at (i, j, k) h; it is active where some mass arrives.
 */
#include <stdlib.h>

#include "io/formats.h"
#include "io/vdb.h"
#include "io/voxels.h"
#include "status.h"

/* A grid of the file and the channels it is made of. */
typedef struct volume_field {
    unsigned grid; /* FIRN_GRID_ */
    firn_attribute attribute;
    const char *name;
    vdb_kind kind;
} volume_field;

static const volume_field fields[] = {
    {FIRN_GRID_VELOCITY, FIRN_VELOCITY, "velocity", VDB_VELOCITY},
    {FIRN_GRID_J_P, FIRN_J_P, "J_P", VDB_SCALAR},
};
enum { FIELDS = sizeof fields / sizeof *fields };

const char *firn_grid_name(unsigned grid)
{
    for (size_t k = 0; k < FIELDS; k++)
        if (grid == fields[k].grid)
            return fields[k].name;
    return grid == FIRN_GRID_DENSITY ? "density" : NULL;
}

static unsigned grids_of(const firn_export *how)
{
    return how->grids ? how->grids : FIRN_GRID_DENSITY | FIRN_GRID_VELOCITY;
}

unsigned volume_attributes(const firn_export *how)
{
    unsigned attributes = FIRN_BIT(FIRN_MASS);
    for (size_t k = 0; k < FIELDS; k++)
        if (grids_of(how) & fields[k].grid)
            attributes |= FIRN_BIT(fields[k].attribute);
    return attributes;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

static firn_status check_source(const firn_frame *frame, const char *path, const firn_export *how)
{
    for (firn_attribute a = 0; a < FIRN_ATTRIBUTES; a++)
        if ((volume_attributes(how) >> a & 1) && !frame->values[a])
            return fail(FIRN_BAD_SCENE, "cannot write %s: its source holds no %s", path,
                        firn_attribute_name(a));
    return FIRN_OK;
}

static voxel_source source_of(const firn_frame *frame, const firn_export *how)
{
    voxel_source s = {
        .count = frame->count,
        .place = frame->place,
        .position = frame->position,
        .mass = frame->mass,
        .cell_size = frame->cell_size,
        .kernel = frame->kernel,
        .flat_axis = frame->dimensions == 3 ? -1
                     : how->up == FIRN_UP_Z ? 1
                                            : 2,
        .channels = 1,
        .threads = how->threads,
    };
    for (size_t k = 0; k < FIELDS; k++) {
        if (!(grids_of(how) & fields[k].grid))
            continue;
        size_t width = (size_t)firn_frame_components(fields[k].attribute);
        for (size_t c = 0; c < width; c++)
            s.channel[s.channels++] =
                (voxel_channel){frame->values[fields[k].attribute] + c, width};
    }
    return s;
}

/* Sums become densities and means; a bit of `active` for each node that has mass. */
static void finish_block(const voxel_blocks *blocks, size_t b, double inv_volume,
                         uint64_t active[8])
{
    float *density = voxel_values(blocks, b, 0);
    for (size_t n = 0; n < VOXEL_NODES; n++) {
        if (!(density[n] > 0))
            continue;
        active[n / 64] |= (uint64_t)1 << n % 64;
        for (size_t c = 1; c < blocks->channels; c++)
            density[c * VOXEL_NODES + n] /= density[n];
        density[n] = (float)((double)density[n] * inv_volume);
    }
}

static uint64_t (*finish(const voxel_blocks *blocks, double inv_volume))[8]
{
    uint64_t(*active)[8] = calloc(blocks->count + 1, sizeof *active);
    for (size_t b = 0; active && b < blocks->count; b++)
        finish_block(blocks, b, inv_volume, active[b]);
    return active;
}

/* ---- The file -------------------------------------------------------------------------------- */

static size_t list_grids(const voxel_blocks *blocks, unsigned asked, vdb_grid grids[FIELDS + 1])
{
    size_t count = 0, channel = 1, stride = blocks->channels * VOXEL_NODES;
    if (asked & FIRN_GRID_DENSITY)
        grids[count++] = (vdb_grid){"density", VDB_DENSITY, blocks->values, stride};
    for (size_t k = 0; k < FIELDS; k++)
        if (asked & fields[k].grid) {
            grids[count++] = (vdb_grid){fields[k].name, fields[k].kind,
                                        blocks->values + channel * VOXEL_NODES, stride};
            channel += (size_t)firn_frame_components(fields[k].attribute);
        }
    return count;
}

static firn_status write_file(const vdb_file *file, const char *path)
{
    file_draft draft;
    firn_status status = file_create(path, &draft);
    if (status)
        return status;
    status = vdb_write(file, &draft);
    if (!status)
        return file_commit(&draft);
    file_discard(&draft);
    return status;
}

firn_status volume_write(const firn_frame *frame, const char *path, const firn_export *how)
{
    firn_status status = check_source(frame, path, how);
    if (status)
        return status;
    voxel_source source = source_of(frame, how);
    voxel_blocks blocks;
    status = voxels_sum(&source, &blocks);
    if (status)
        return fail_within(status, "cannot write %s: ", path);
    /* Densities stay in kg/m^3 whatever the unit of length. */
    double h = frame->cell_size / (how->scale > 0 ? how->scale : 1);
    uint64_t(*active)[8] = finish(&blocks, 1 / (frame->dimensions == 3 ? h * h * h : h * h));
    if (!active)
        status = fail(FIRN_NO_MEMORY, "no memory to write %s", path);
    vdb_grid grids[FIELDS + 1];
    vdb_file file = {
        .voxel_size = frame->cell_size,
        .time = frame->time,
        .frame = frame->frame,
        .type = how->grid_type,
        .compression = how->compression,
        .leaves = {blocks.count, (const int32_t(*)[3])blocks.origin, (const uint64_t(*)[8])active},
        .grid_count = list_grids(&blocks, grids_of(how), grids),
        .grids = grids,
    };
    if (!status)
        status = write_file(&file, path);
    free(active);
    voxels_clear(&blocks);
    return status;
}
