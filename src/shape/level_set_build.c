/*
 * Level sets from leaves: blocks with the samples of their neighbours, and far from the surface the
 * distance from block to block.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shape/level_set_blocks.h"
#include "shape/level_set_far.h"
#include "status.h"

/* A cell between a leaf and none has samples beyond the band on one side only: all of it is at
 * least so many voxels nearer to the surface than half the width. */
static const double MARGIN = 2;

void level_set_blocks_clear(level_set_blocks *b)
{
    free(b->leaf);
    free(b->side);
    free(b->values);
    *b = (level_set_blocks){0};
}

static size_t table_size(const int32_t size[3])
{
    return (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
}

static size_t table_index(const int32_t size[3], int x, int y, int z)
{
    return ((size_t)z * (size_t)size[1] + (size_t)y) * (size_t)size[0] + (size_t)x;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static float sample_at(const level_set_blocks *b, const int32_t s[3])
{
    int32_t leaf[3], in[3];
    bool beyond = false;
    for (int i = 0; i < 3; i++) {
        leaf[i] = s[i] < 0 ? -1 : s[i] / LEAF_WIDTH;
        in[i] = s[i] - leaf[i] * LEAF_WIDTH;
        beyond = beyond || leaf[i] < 0 || leaf[i] >= b->size[i];
    }
    if (beyond)
        return (float)b->half_width;
    size_t at = table_index(b->size, leaf[0], leaf[1], leaf[2]);
    if (b->leaf[at] < 0)
        return (float)(b->side[at] * b->half_width);
    return b->values[(size_t)b->leaf[at] * LEAF_SAMPLES +
                     (size_t)((in[2] * LEAF_WIDTH + in[1]) * LEAF_WIDTH + in[0])];
}

static void copy_samples(const level_set_blocks *b, const int32_t place[3], float *to)
{
    for (int32_t z = 0; z < LEVEL_SET_WIDTH; z++)
        for (int32_t y = 0; y < LEVEL_SET_WIDTH; y++)
            for (int32_t x = 0; x < LEVEL_SET_WIDTH; x++) {
                const int32_t s[3] = {place[0] * LEAF_WIDTH + x - 1, place[1] * LEAF_WIDTH + y - 1,
                                      place[2] * LEAF_WIDTH + z - 1};
                *to++ = sample_at(b, s);
            }
}

/* Whether the surface crosses the cells of a block, and the box of its cells that reach inside. */
static bool look_at_block(const level_set *set, size_t block, double low[3], double high[3])
{
    const float *v = set->samples + block * LEVEL_SET_BLOCK;
    bool inside = false, outside = false;
    for (int z = 1; z < LEVEL_SET_WIDTH - 1; z++)
        for (int y = 1; y < LEVEL_SET_WIDTH - 1; y++)
            for (int x = 1; x < LEVEL_SET_WIDTH - 1; x++) {
                bool in = v[(z * LEVEL_SET_WIDTH + y) * LEVEL_SET_WIDTH + x] <= 0;
                inside = inside || in;
                outside = outside || !in;
                const int at[3] = {x, y, z};
                for (int i = 0; i < 3 && in; i++) {
                    int s = set->place[block][i] * LEVEL_SET_CELLS + at[i] - 1;
                    low[i] = fmin(low[i], set->origin[i] + set->voxel * (s - 1));
                    high[i] = fmax(high[i], set->origin[i] + set->voxel * (s + 1));
                }
            }
    return inside && outside;
}

/* ---- Far from the surface -------------------------------------------------------------------- */

static float middle_sample(const level_set *set, int32_t block)
{
    const int middle = LEVEL_SET_CELLS / 2 + 1;
    return set->samples[(size_t)block * LEVEL_SET_BLOCK +
                        (size_t)((middle * LEVEL_SET_WIDTH + middle) * LEVEL_SET_WIDTH + middle)];
}

/* On entry `far` holds squares of distances between blocks. A surface in a block is at most half
 * the diagonal from its middle. */
static void bound_blocks(level_set *set)
{
    const double half_diagonal = LEVEL_SET_CELLS * sqrt(3) / 2;
    for (size_t n = 0; n < table_size(set->size); n++) {
        double blocks = sqrt((double)set->far[n]);
        double far = set->voxel * (LEVEL_SET_CELLS * blocks - half_diagonal);
        set->far[n] = (float)(isfinite(far) ? fmax(far, set->band) : set->band);
    }
}

/* The middles of blocks within the band are known, the others follow. */
static bool estimate_blocks(level_set *set)
{
    size_t entries = table_size(set->size);
    bool *known = malloc(entries + 1);
    if (!known)
        return false;
    for (size_t n = 0; n < entries; n++) {
        double near = set->table[n] < 0 ? INFINITY : fabs(middle_sample(set, set->table[n]));
        known[n] = near <= set->band;
        set->depth[n] = known[n] ? (float)near : INFINITY;
    }
    far_sweep(set->size, known, set->depth, set->voxel * LEVEL_SET_CELLS);
    free(known);
    return true;
}

static bool has_inside(const level_set *set, int32_t block)
{
    const float *v = set->samples + (size_t)block * LEVEL_SET_BLOCK;
    bool inside = false;
    for (int s = 0; s < LEVEL_SET_BLOCK; s++)
        inside = inside || v[s] <= 0;
    return inside;
}

static void sign_blocks(level_set *set, const level_set_blocks *b)
{
    for (size_t n = 0; n < table_size(set->size); n++) {
        int32_t block = set->table[n];
        set->depth[n] = fminf(set->depth[n], FLT_MAX); /* none known: a speck */
        if (block < 0 ? b->side[n] < 0 : has_inside(set, block))
            set->far[n] = -set->far[n];
        if (block < 0 ? b->side[n] < 0 : middle_sample(set, block) < 0)
            set->depth[n] = -set->depth[n];
    }
}

/* ---- The whole ------------------------------------------------------------------------------- */

static bool allocate_all(const level_set_blocks *b, level_set *set)
{
    size_t entries = table_size(b->size);
    set->table = malloc((entries + 1) * sizeof *set->table);
    set->far = malloc((entries + 1) * sizeof *set->far);
    set->depth = malloc((entries + 1) * sizeof *set->depth);
    set->place = malloc((b->leaf_count + 1) * sizeof *set->place);
    set->samples = malloc((b->leaf_count * LEVEL_SET_BLOCK + 1) * sizeof *set->samples);
    return set->table && set->far && set->depth && set->place && set->samples;
}

static void number_blocks(const level_set_blocks *b, level_set *set)
{
    for (int z = 0; z < b->size[2]; z++)
        for (int y = 0; y < b->size[1]; y++)
            for (int x = 0; x < b->size[0]; x++) {
                size_t at = table_index(b->size, x, y, z);
                set->table[at] = b->leaf[at] < 0 ? -1 : (int32_t)set->block_count;
                if (b->leaf[at] >= 0)
                    memcpy(set->place[set->block_count++], (int32_t[3]){x, y, z},
                           sizeof *set->place);
            }
}

firn_status level_set_build(const level_set_blocks *b, level_set **out)
{
    level_set *set = calloc(1, sizeof *set);
    *out = set;
    if (!set || !allocate_all(b, set)) {
        level_set_release(out);
        return fail(FIRN_NO_MEMORY, "not enough memory for a level set of %zu blocks",
                    b->leaf_count);
    }
    set->voxel = b->voxel;
    set->band = fmax(b->half_width - MARGIN * b->voxel, b->voxel / 2);
    set->shares = 1;
    for (int i = 0; i < 3; i++) {
        set->size[i] = b->size[i];
        set->origin[i] = b->origin[i];
        set->low[i] = INFINITY;
        set->high[i] = -INFINITY;
    }
    number_blocks(b, set);
#pragma omp parallel for schedule(static)
    for (size_t n = 0; n < set->block_count; n++)
        copy_samples(b, set->place[n], set->samples + n * LEVEL_SET_BLOCK);
    for (size_t n = 0; n < table_size(set->size); n++) {
        bool surface =
            set->table[n] >= 0 && look_at_block(set, (size_t)set->table[n], set->low, set->high);
        set->far[n] = surface ? 0 : INFINITY;
    }
    if (!far_squares(set->size, set->far) || !estimate_blocks(set)) {
        level_set_release(out);
        return fail(FIRN_NO_MEMORY, "not enough memory for a level set");
    }
    bound_blocks(set);
    sign_blocks(set, b);
    return FIRN_OK;
}
