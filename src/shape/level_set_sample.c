/* Level sets of bodies whose distance is known at any place. */
#include <math.h>
#include <stdlib.h>

#include "shape/level_set_blocks.h"
#include "shape/level_set_sample.h"
#include "status.h"

static void leaf_corner(const level_set_blocks *b, size_t entry, double corner[3])
{
    size_t row = entry / (size_t)b->size[0];
    const size_t at[3] = {entry % (size_t)b->size[0], row % (size_t)b->size[1],
                          row / (size_t)b->size[1]};
    for (int i = 0; i < 3; i++)
        corner[i] = b->origin[i] + b->voxel * LEAF_WIDTH * (double)at[i];
}

/* Which leaves the band may reach, from the distance at their middle; the side of the others. */
static void find_leaves(const sampled_body *body, level_set_blocks *b, size_t entries)
{
    const double middle = (LEAF_WIDTH - 1) / 2.0;
    const double reach = b->half_width + sqrt(3) * middle * b->voxel;
#pragma omp parallel for schedule(dynamic, 64)
    for (size_t n = 0; n < entries; n++) {
        double x[3];
        leaf_corner(b, n, x);
        for (int i = 0; i < 3; i++)
            x[i] += middle * b->voxel;
        double distance = body->distance(body->user, x);
        b->side[n] = distance > 0 ? 1 : -1;
        b->leaf[n] = fabs(distance) <= reach ? 0 : -1;
    }
    for (size_t n = 0; n < entries; n++)
        if (b->leaf[n] == 0)
            b->leaf[n] = (int32_t)b->leaf_count++;
}

static void fill_leaves(const sampled_body *body, level_set_blocks *b, size_t entries)
{
#pragma omp parallel for schedule(dynamic, 8)
    for (size_t n = 0; n < entries; n++) {
        double corner[3];
        leaf_corner(b, n, corner);
        for (int s = 0; s < LEAF_SAMPLES && b->leaf[n] >= 0; s++) {
            const int at[3] = {s % LEAF_WIDTH, s / LEAF_WIDTH % LEAF_WIDTH,
                               s / LEAF_WIDTH / LEAF_WIDTH};
            double x[3];
            for (int i = 0; i < 3; i++)
                x[i] = corner[i] + b->voxel * at[i];
            double distance = body->distance(body->user, x);
            b->values[(size_t)b->leaf[n] * LEAF_SAMPLES + (size_t)s] =
                (float)fmin(fmax(distance, -b->half_width), b->half_width);
        }
    }
}

firn_status level_set_from_body(const sampled_body *body, double voxel, double band,
                                level_set **out)
{
    *out = NULL;
    level_set_blocks b = {.voxel = voxel, .half_width = band + 2 * voxel};
    const double leaf = LEAF_WIDTH * voxel, pad = b.half_width + voxel;
    double entries = 1;
    for (int i = 0; i < 3; i++) {
        b.origin[i] = body->low[i] - pad;
        double size = ceil((body->high[i] - body->low[i] + 2 * pad) / leaf);
        entries *= size;
        b.size[i] = (int32_t)fmin(size, MOST_LEAVES);
    }
    if (!(entries < MOST_LEAVES))
        return fail(FIRN_BAD_SCENE,
                    "a body of %g x %g x %g m is too large for a level set of %g m voxels: use a "
                    "larger `voxel` (or cell_size), or check its size",
                    body->high[0] - body->low[0], body->high[1] - body->low[1],
                    body->high[2] - body->low[2], voxel);
    size_t count = (size_t)entries;
    b.leaf = malloc(count * sizeof *b.leaf);
    b.side = malloc(count * sizeof *b.side);
    if (b.leaf && b.side) {
        find_leaves(body, &b, count);
        b.values = malloc((b.leaf_count * LEAF_SAMPLES + 1) * sizeof *b.values);
    }
    firn_status status = FIRN_OK;
    if (b.values) {
        fill_leaves(body, &b, count);
        status = level_set_build(&b, out);
    } else {
        status = fail(FIRN_NO_MEMORY, "not enough memory for a level set");
    }
    level_set_blocks_clear(&b);
    return status;
}
