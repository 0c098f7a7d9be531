/*
 * OpenVDB decides what is inside; its distances are only good in the two layers of samples beside
 * the surface. Here every sample of a wider band gets its exact distance to the nearest triangle.
 *
 * Where a triangle is much nearer than OpenVDB says, it lies inside the body, as when two parts
 * overlap, and is not part of its surface: OpenVDB's distance stays.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shape/level_set_blocks.h"
#include "shape/level_set_refine.h"

static size_t index_of(const int32_t size[3], int x, int y, int z)
{
    return ((size_t)z * (size_t)size[1] + (size_t)y) * (size_t)size[0] + (size_t)x;
}

/* The number of a leaf, -1 where there is none or the table ends. */
static int32_t leaf_at(const level_set_blocks *b, int x, int y, int z)
{
    bool within = x >= 0 && y >= 0 && z >= 0 && x < b->size[0] && y < b->size[1] && z < b->size[2];
    return within ? b->leaf[index_of(b->size, x, y, z)] : -1;
}

static bool has_neighbour(const level_set_blocks *b, int x, int y, int z)
{
    for (int n = 0; n < 27; n++)
        if (leaf_at(b, x + n % 3 - 1, y + n / 3 % 3 - 1, z + n / 9 - 1) >= 0)
            return true;
    return false;
}

/* The old leaf at the place of a new one, or what is known of a place without: the side. */
static void fill_leaf(const level_set_blocks *b, int32_t old, int8_t side, float *to)
{
    if (old >= 0)
        memcpy(to, b->values + (size_t)old * LEAF_SAMPLES, LEAF_SAMPLES * sizeof *to);
    for (int s = 0; s < LEAF_SAMPLES && old < 0; s++)
        to[s] = (float)(side * b->half_width);
}

/* The same leaves in a table with one more on every side, and all their neighbours. */
static bool widen(const level_set_blocks *b, level_set_blocks *wide)
{
    *wide = *b;
    size_t entries = 1, n = 0;
    for (int i = 0; i < 3; i++) {
        wide->size[i] += 2;
        wide->origin[i] -= LEAF_WIDTH * b->voxel;
        entries *= (size_t)wide->size[i];
    }
    wide->leaf_count = 0;
    wide->leaf = malloc(entries * sizeof *wide->leaf);
    wide->side = malloc(entries * sizeof *wide->side);
    wide->values = NULL;
    if (!wide->leaf || !wide->side)
        return false;
    for (int z = -1; z <= b->size[2]; z++)
        for (int y = -1; y <= b->size[1]; y++)
            for (int x = -1; x <= b->size[0]; x++, n++) {
                bool within = x >= 0 && y >= 0 && z >= 0 && x < b->size[0] && y < b->size[1] &&
                              z < b->size[2];
                wide->side[n] = within ? b->side[index_of(b->size, x, y, z)] : 1;
                wide->leaf[n] = has_neighbour(b, x, y, z) ? (int32_t)wide->leaf_count++ : -1;
            }
    wide->values = malloc((wide->leaf_count * LEAF_SAMPLES + 1) * sizeof *wide->values);
    n = 0;
    for (int z = -1; z <= b->size[2] && wide->values; z++)
        for (int y = -1; y <= b->size[1]; y++)
            for (int x = -1; x <= b->size[0]; x++, n++)
                if (wide->leaf[n] >= 0)
                    fill_leaf(b, leaf_at(b, x, y, z), wide->side[n],
                              wide->values + (size_t)wide->leaf[n] * LEAF_SAMPLES);
    return wide->values != NULL;
}

typedef struct refinement {
    const mesh_tree *tree;
    double half_width, shell, voxel;
} refinement;

static float refine_sample(const refinement *r, float old, double distance)
{
    double exact = r->shell > 0 ? distance - r->shell / 2 : copysign(distance, old);
    if (r->shell <= 0 && distance < fabs((double)old) - r->voxel)
        exact = old;
    return (float)fmin(fmax(exact, -r->half_width), r->half_width);
}

/* The samples of a cube of 4^3, the lowest at `corner`. One look from its middle tells whether any
 * triangle is near, and then bounds the search for each sample. Returns whether any sample is
 * within the band. */
static bool refine_cube(const refinement *r, const double corner[3], float *values)
{
    enum { CUBE = 4 };
    const double half = r->voxel * (CUBE - 1) / 2, reach = r->half_width + r->shell / 2;
    const double center[3] = {corner[0] + half, corner[1] + half, corner[2] + half};
    double middle = mesh_tree_nearest(r->tree, center, reach + sqrt(3) * half).distance;
    bool kept = false;
    for (int n = 0; n < CUBE * CUBE * CUBE; n++) {
        const int at[3] = {n % CUBE, n / CUBE % CUBE, n / CUBE / CUBE};
        double x[3], square = 0;
        for (int i = 0; i < 3; i++) {
            x[i] = corner[i] + r->voxel * at[i];
            square += (x[i] - center[i]) * (x[i] - center[i]);
        }
        double most = fmin(reach, (middle + sqrt(square)) * (1 + 1e-9));
        double distance =
            isfinite(middle) ? mesh_tree_nearest(r->tree, x, most).distance : INFINITY;
        float *value = &values[(at[2] * LEAF_WIDTH + at[1]) * LEAF_WIDTH + at[0]];
        *value = refine_sample(r, *value, distance);
        kept = kept || fabs((double)*value) < r->half_width;
    }
    return kept;
}

static bool refine_leaf(const refinement *r, const double corner[3], float *values)
{
    bool kept = false;
    for (int z = 0; z < LEAF_WIDTH; z += 4)
        for (int y = 0; y < LEAF_WIDTH; y += 4)
            for (int x = 0; x < LEAF_WIDTH; x += 4) {
                const double low[3] = {corner[0] + r->voxel * x, corner[1] + r->voxel * y,
                                       corner[2] + r->voxel * z};
                bool found = refine_cube(r, low, values + (z * LEAF_WIDTH + y) * LEAF_WIDTH + x);
                kept = kept || found;
            }
    return kept;
}

/* Forget leaves that turned out to be beyond the band. */
static void drop_leaves(level_set_blocks *b, const bool *kept)
{
    size_t entries = (size_t)b->size[0] * (size_t)b->size[1] * (size_t)b->size[2], count = 0;
    for (size_t n = 0; n < entries; n++) { /* numbers grow with n */
        int32_t leaf = b->leaf[n];
        if (leaf < 0)
            continue;
        const float *from = b->values + (size_t)leaf * LEAF_SAMPLES;
        if (!kept[leaf]) {
            b->side[n] = from[0] > 0 ? 1 : -1;
            b->leaf[n] = -1;
            continue;
        }
        memmove(b->values + count * LEAF_SAMPLES, from, LEAF_SAMPLES * sizeof *from);
        b->leaf[n] = (int32_t)count++;
    }
    b->leaf_count = count;
}

bool level_set_refine(level_set_blocks *b, const mesh_tree *tree, double half_width, double shell)
{
    refinement r = {tree, half_width, shell, b->voxel};
    level_set_blocks wide;
    bool ok = widen(b, &wide);
    bool *kept = malloc((wide.leaf_count + 1) * sizeof *kept);
    size_t *place = malloc((wide.leaf_count + 1) * sizeof *place);
    if (!ok || !kept || !place) {
        level_set_blocks_clear(&wide);
        free(kept);
        free(place);
        return false;
    }
    size_t entries = (size_t)wide.size[0] * (size_t)wide.size[1] * (size_t)wide.size[2];
    for (size_t n = 0; n < entries; n++)
        if (wide.leaf[n] >= 0)
            place[wide.leaf[n]] = n;
#pragma omp parallel for schedule(dynamic, 8)
    for (size_t leaf = 0; leaf < wide.leaf_count; leaf++) {
        size_t row = place[leaf] / (size_t)wide.size[0];
        const size_t at[3] = {place[leaf] % (size_t)wide.size[0], row % (size_t)wide.size[1],
                              row / (size_t)wide.size[1]};
        double corner[3];
        for (int i = 0; i < 3; i++)
            corner[i] = wide.origin[i] + wide.voxel * LEAF_WIDTH * (double)at[i];
        kept[leaf] = refine_leaf(&r, corner, wide.values + leaf * LEAF_SAMPLES);
    }
    wide.half_width = half_width;
    drop_leaves(&wide, kept);
    free(kept);
    free(place);
    level_set_blocks_clear(b);
    *b = wide;
    return true;
}
