#include "render/volume.h"

#include <limits.h>
#include <stdlib.h>

#include "render/volume_grid.h"
#include "status.h"

static const double most_bytes = 8e9;      /* of blocks: more is a slip of the voxel size */
static const float densest_of_all = 1e30f; /* kg/m^3; beyond, floats run out */

firn_status volume_allocate_table(volume *v)
{
    size_t cells = (size_t)v->size[0] * (size_t)v->size[1] * (size_t)v->size[2];
    v->table = calloc(cells ? cells : 1, sizeof *v->table);
    return v->table ? FIRN_OK : fail(FIRN_NO_MEMORY, "no memory for a density grid");
}

firn_status volume_allocate_regions(volume *v)
{
    v->regions = calloc(v->region_count ? v->region_count : 1, sizeof *v->regions);
    return v->regions ? FIRN_OK : fail(FIRN_NO_MEMORY, "no memory for a density grid");
}

static void set_corners(volume *v)
{
    int r[3];
    for (r[0] = 0; r[0] < v->size[0]; r[0]++)
        for (r[1] = 0; r[1] < v->size[1]; r[1]++)
            for (r[2] = 0; r[2] < v->size[2]; r[2]++) {
                uint32_t number = v->table[volume_table_at(v, r)];
                for (int slot = 0; number && slot < REGION_BLOCKS; slot++) {
                    uint32_t block = v->regions[number - 1].block[slot];
                    if (!block)
                        continue;
                    int *corner = v->corners[block - 1];
                    corner[0] = r[0] * REGION_CELLS + slot / 64 * BLOCK_CELLS;
                    corner[1] = r[1] * REGION_CELLS + slot / 8 % 8 * BLOCK_CELLS;
                    corner[2] = r[2] * REGION_CELLS + slot % 8 * BLOCK_CELLS;
                }
            }
}

firn_status volume_allocate_blocks(volume *v)
{
    size_t count = v->block_count ? v->block_count : 1;
    double bytes = (double)count * sizeof *v->blocks;
    if (bytes > most_bytes)
        return fail(FIRN_USAGE,
                    "voxels of %g m would take %.0f GB; a picture needs none smaller than about a "
                    "quarter of the cell size",
                    (double)v->voxel, bytes * 1e-9);
    v->blocks = calloc(count, sizeof *v->blocks);
    v->corners = calloc(count, sizeof *v->corners);
    if (!v->blocks || !v->corners)
        return fail(FIRN_NO_MEMORY, "no memory for %.1f GB of density", bytes * 1e-9);
    set_corners(v);
    return FIRN_OK;
}

void volume_destroy(volume **v)
{
    if (!*v)
        return;
    free((*v)->table);
    free((*v)->regions);
    free((*v)->blocks);
    free((*v)->corners);
    free(*v);
    *v = NULL;
}

/* ---- Extent -------------------------------------------------------------------------------------- */

static const int *block_of(const volume *v, size_t number, int block[3])
{
    for (int a = 0; a < 3; a++)
        block[a] = v->corners[number][a] / BLOCK_CELLS;
    return block;
}

/* Of a block's nodes; infinite when one is no density. */
static float block_maximum(const volume_block *block)
{
    float most = 0;
    for (int n = 0; n < BLOCK_NODES; n++)
        most = block->nodes[n] <= densest_of_all ? greater(block->nodes[n], most) : INFINITY;
    return most;
}

/* The largest density, and that of each block. Blocks without snow are struck from their regions. */
static float list_blocks(volume *v)
{
    float most = 0;
#pragma omp parallel for schedule(dynamic, 16) reduction(max : most)
    for (size_t n = 0; n < v->block_count; n++) {
        int block[3];
        float own = v->blocks[n].bound = block_maximum(&v->blocks[n]);
        if (own == 0)
            *volume_number_of_block(v, block_of(v, n, block)) = 0;
        most = greater(own, most);
    }
    return most;
}

static void measure_box(volume *v)
{
    int low[3] = {INT_MAX, INT_MAX, INT_MAX}, high[3] = {0, 0, 0};
    for (size_t n = 0; n < v->block_count; n++)
        for (int a = 0; a < 3; a++) {
            int first = v->corners[n][a], last = first + BLOCK_CELLS;
            low[a] = first < low[a] ? first : low[a];
            high[a] = last > high[a] ? last : high[a];
        }
    if (v->block_count == 0)
        low[0] = low[1] = low[2] = 0;
    vec3 near = {(float)low[0], (float)low[1], (float)low[2]};
    vec3 far = {(float)high[0], (float)high[1], (float)high[2]};
    v->box_low = vec_add(v->low, vec_scale(near, v->voxel));
    v->box_high = vec_add(v->low, vec_scale(far, v->voxel));
}

firn_status volume_finish(volume *v)
{
    v->densest = list_blocks(v);
    if (!(v->densest <= densest_of_all))
        return fail(FIRN_BAD_SCENE,
                    "snow of more than %g kg/m^3 in voxels of %g m: masses, or the voxel size, "
                    "cannot be right",
                    (double)densest_of_all, (double)v->voxel);
    measure_box(v);
    return FIRN_OK;
}

/* ---- Questions ---------------------------------------------------------------------------------- */

volume_info volume_describe(const volume *v)
{
    size_t cells = (size_t)v->size[0] * (size_t)v->size[1] * (size_t)v->size[2];
    return (volume_info){
        .empty = v->densest == 0,
        .low = v->box_low,
        .high = v->box_high,
        .voxel = v->voxel,
        .blocks = v->block_count,
        .bytes = cells * sizeof *v->table + v->region_count * sizeof *v->regions +
                 v->block_count * sizeof *v->blocks,
        .left_out = v->left_out,
        .densest = v->densest,
    };
}

float volume_density(const volume *v, vec3 x)
{
    vec3 p = vec_scale(vec_sub(x, v->low), 1 / v->voxel);
    const float side = BLOCK_CELLS;
    bool inside = p.x >= 0 && p.y >= 0 && p.z >= 0 && p.x < (float)(v->size[0] * REGION_CELLS) &&
                  p.y < (float)(v->size[1] * REGION_CELLS) &&
                  p.z < (float)(v->size[2] * REGION_CELLS);
    if (!inside)
        return 0;
    const int at[3] = {(int)(p.x / side), (int)(p.y / side), (int)(p.z / side)};
    const volume_block *block = volume_block_at(v, at);
    lanes local = {p.x - side * (float)(at[0] - 1), p.y - side * (float)(at[1] - 1),
                   p.z - side * (float)(at[2] - 1)};
    return block ? block_density(block, local) : 0;
}

vec3 volume_outward(const volume *v, vec3 x)
{
    /* Over two voxels, the reach of a particle: narrower differences show the grid. */
    float step = 2 * v->voxel;
    vec3 dx = {step, 0, 0}, dy = {0, step, 0}, dz = {0, 0, step};
    return (vec3){volume_density(v, vec_sub(x, dx)) - volume_density(v, vec_add(x, dx)),
                  volume_density(v, vec_sub(x, dy)) - volume_density(v, vec_add(x, dy)),
                  volume_density(v, vec_sub(x, dz)) - volume_density(v, vec_add(x, dz))};
}
