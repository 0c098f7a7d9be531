/*
 * Frames as OpenVDB volumes: fields on the nodes of the simulation's grid, by its own kernel.
 *
 *     density    sum_p m_p w_ip / h^3      kg/m^3 (in 2D h^2 and kg/m^2, in one layer of voxels)
 *     velocity   sum_p m_p v_p w_ip / sum_p m_p w_ip, and J_P and stress likewise
 *     surface    |sum_p m_p (x_p - x_i) w_ip / sum_p m_p w_ip| - r, as Zhu and Bridson (2005) do, then
 *                turned into distance; r is such that the boundary of a half-space full of snow
 *                stays where it is
 *
 * Voxel (i, j, k) stands at (i, j, k) h; it is active where some mass arrives.
 */
#include <math.h>
#include <stdlib.h>

#include "io/formats.h"
#include "io/vdb.h"
#include "io/voxels.h"
#include "status.h"

/* Mean fields: a grid for `width` components of an attribute. */
typedef struct mean_field {
    unsigned grid; /* FIRN_GRID_ */
    firn_attribute attribute;
    size_t component, width;
    const char *name;
    vdb_kind kind;
} mean_field;

static const mean_field fields[] = {
    {FIRN_GRID_VELOCITY, FIRN_VELOCITY, 0, 3, "velocity", VDB_VELOCITY},
    {FIRN_GRID_J_P, FIRN_J_P, 0, 1, "J_P", VDB_SCALAR},
    {FIRN_GRID_STRESS, FIRN_STRESS, 0, 3, "stress", VDB_VECTOR}, /* xx yy zz */
    {FIRN_GRID_STRESS, FIRN_STRESS, 3, 3, "shear", VDB_VECTOR},  /* xy yz xz */
};
enum { FIELDS = sizeof fields / sizeof *fields, MOST_GRIDS = FIELDS + 2 };

const char *firn_grid_name(unsigned grid)
{
    for (size_t k = 0; k < FIELDS; k++)
        if (grid == fields[k].grid)
            return fields[k].name;
    return grid == FIRN_GRID_DENSITY ? "density" : grid == FIRN_GRID_SURFACE ? "surface" : NULL;
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
            return fail(
                FIRN_BAD_SCENE,
                "cannot write %s: its source holds no %s; checkpoints do, and frames if the "
                "scene's output.attributes names it",
                path, firn_attribute_name(a));
    if (frame->dimensions == 2 && (grids_of(how) & FIRN_GRID_SURFACE))
        return fail(FIRN_BAD_SCENE, "cannot write %s: a 2D frame has no surface", path);
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
        .offsets = grids_of(how) & FIRN_GRID_SURFACE,
        .threads = how->threads,
    };
    for (size_t k = 0; k < FIELDS; k++) {
        const mean_field *f = &fields[k];
        size_t stride = (size_t)firn_frame_components(f->attribute);
        for (size_t c = 0; c < f->width && (grids_of(how) & f->grid); c++)
            s.channel[s.channels++] =
                (voxel_channel){frame->values[f->attribute] + f->component + c, stride};
    }
    return s;
}

/* What sums become. */
typedef struct finish_rule {
    double inv_volume; /* 1 / h^3 */
    size_t surface;    /* the first of three offsets, or 0 */
    double radius;     /* of the surface, in cells */
    double cell_size;
} finish_rule;

static void finish_node(const finish_rule *rule, float *sums, size_t channels)
{
    double mass = (double)sums[0], square = 0;
    for (size_t c = 1; c < channels; c++) {
        double mean = (double)sums[c * VOXEL_NODES] / mass;
        sums[c * VOXEL_NODES] = (float)mean;
        square += rule->surface && c >= rule->surface ? mean * mean : 0;
    }
    if (rule->surface)
        sums[rule->surface * VOXEL_NODES] =
            (float)((sqrt(square) - rule->radius) * rule->cell_size);
    sums[0] = (float)(mass * rule->inv_volume);
}

/* Sums become densities and means; a bit for each node that has mass. NULL when memory ran out. */
static uint64_t (*finish(const voxel_blocks *blocks, const finish_rule *rule, int threads))[8]
{
    uint64_t(*active)[8] = calloc(blocks->count + 1, sizeof *active);
    if (!active)
        return NULL;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
    for (size_t b = 0; b < blocks->count; b++) {
        float *sums = voxel_values(blocks, b, 0);
        for (size_t n = 0; n < VOXEL_NODES; n++)
            if (sums[n] > 0) {
                active[b][n / 64] |= (uint64_t)1 << n % 64;
                finish_node(rule, sums + n, blocks->channels);
            }
    }
    return active;
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Forces in pascals are beyond half floats. */
static firn_grid_type type_of(vdb_kind kind, firn_grid_type asked)
{
    return kind == VDB_VECTOR ? FIRN_GRID_FLOAT : asked;
}

static size_t list_grids(const voxel_blocks *blocks, const firn_export *how, size_t surface,
                         vdb_grid grids[MOST_GRIDS])
{
    size_t count = 0, channel = 1, stride = blocks->channels * VOXEL_NODES;
    unsigned asked = grids_of(how);
    if (asked & FIRN_GRID_DENSITY)
        grids[count++] = (vdb_grid){"density", VDB_DENSITY, how->grid_type, blocks->values, stride};
    for (size_t k = 0; k < FIELDS; k++)
        if (asked & fields[k].grid) {
            grids[count++] =
                (vdb_grid){fields[k].name, fields[k].kind, type_of(fields[k].kind, how->grid_type),
                           blocks->values + channel * VOXEL_NODES, stride};
            channel += fields[k].width;
        }
    if (asked & FIRN_GRID_SURFACE)
        grids[count++] = (vdb_grid){"surface", VDB_SURFACE, how->grid_type,
                                    blocks->values + surface * VOXEL_NODES, stride};
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

/* The mean distance of a half-space's mass from its boundary, as a node on the boundary weighs it:
 * 2 times the integral of x N(x) over x > 0. */
static double surface_radius(firn_kernel kernel)
{
    return kernel == FIRN_CUBIC ? 7.0 / 15 : 13.0 / 32;
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
    const finish_rule rule = {
        .inv_volume = 1 / (frame->dimensions == 3 ? h * h * h : h * h),
        .surface = source.offsets ? source.channels : 0,
        .radius = surface_radius(frame->kernel),
        .cell_size = frame->cell_size,
    };
    uint64_t(*active)[8] = finish(&blocks, &rule, voxels_threads(&source));
    if (!active)
        status = fail(FIRN_NO_MEMORY, "no memory to write %s", path);
    vdb_grid grids[MOST_GRIDS];
    vdb_file file = {
        .voxel_size = frame->cell_size,
        .time = frame->time,
        .frame = frame->frame,
        .compression = how->compression,
        .leaves = {blocks.count, (const int32_t(*)[3])blocks.origin, (const uint64_t(*)[8])active},
        .grid_count = list_grids(&blocks, how, rule.surface, grids),
        .grids = grids,
    };
    if (!status)
        status = write_file(&file, path);
    free(active);
    voxels_clear(&blocks);
    return status;
}
