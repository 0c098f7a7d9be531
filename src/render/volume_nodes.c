/* A volume from a dense box of nodes, for media that are known in closed form. */
#include <stdlib.h>

#include "render/volume_grid.h"
#include "status.h"

static firn_status fill(volume *v, const float *nodes, const int size[3])
{
    firn_status status = volume_allocate_table(v);
    if (status != FIRN_OK)
        return status;
    v->region_count = (size_t)v->size[0] * (size_t)v->size[1] * (size_t)v->size[2];
    for (size_t r = 0; r < v->region_count; r++)
        v->table[r] = (uint32_t)r + 1;
    if ((status = volume_allocate_regions(v)) != FIRN_OK)
        return status;
    for (size_t r = 0; r < v->region_count; r++)
        for (int b = 0; b < REGION_BLOCKS; b++)
            v->regions[r].block[b] = (uint32_t)++v->block_count;
    if ((status = volume_allocate_blocks(v)) != FIRN_OK)
        return status;
#pragma omp parallel for schedule(static)
    for (size_t n = 0; n < v->block_count; n++)
        for (int m = 0; m < BLOCK_NODES; m++) {
            const int *c = v->corners[n];
            int i = c[0] + m / (BLOCK_SIDE * BLOCK_SIDE), j = c[1] + m / BLOCK_SIDE % BLOCK_SIDE,
                k = c[2] + m % BLOCK_SIDE;
            if (i < size[0] && j < size[1] && k < size[2])
                v->blocks[n].nodes[m] =
                    nodes[((size_t)i * (size_t)size[1] + (size_t)j) * (size_t)size[2] + (size_t)k];
        }
    return volume_finish(v);
}

firn_status volume_create_from_nodes(const float *nodes, const int size[3], vec3 low, float voxel,
                                     volume **out)
{
    for (int a = 0; a < 3; a++)
        if (size[a] < 1 || size[a] > 20000)
            return fail(FIRN_USAGE, "a density grid of %d x %d x %d nodes", size[0], size[1],
                        size[2]);
    volume *v = calloc(1, sizeof *v);
    if (!v)
        return fail(FIRN_NO_MEMORY, "no memory for a density grid");
    v->low = low;
    v->voxel = voxel;
    for (int a = 0; a < 3; a++)
        v->size[a] = (size[a] - 1) / REGION_CELLS + 1;
    firn_status status = fill(v, nodes, size);
    if (status != FIRN_OK)
        volume_destroy(&v);
    *out = v;
    return status;
}
