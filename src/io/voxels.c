/*
 * Blocks are summed in tiles of 11^3 nodes, themselves and what stencils reach beyond, and the tile
 * is added to the blocks it touches: itself and its upper neighbours. Blocks whose coordinates have
 * the same parities touch no common block, so the eight kinds are done one after the other, each
 * with all threads, and every node is summed in the same order always.
 */
#include "io/voxels.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "io/voxel_order.h"
#include "status.h"
#define REAL_DOUBLE
#include "method/spline.h"

enum { TILE = VOXEL_EDGE + 3, GROUP = 4, BATCH = 16, AHEAD = 16 };

/* Four channels of a node, in two registers that every processor has. */
typedef double pair __attribute__((vector_size(16)));
typedef struct quad {
    pair half[2];
} quad;

/* The part of a tile that a block's particles reach: nodes low to high - 1 of each axis. */
typedef struct extent {
    uint8_t low[3], high[3];
} extent;

/* What one pass over the particles sums: m q for four channels, or m and m (x - x_block). */
typedef struct pass {
    size_t first; /* channel */
    size_t count; /* channels, at most GROUP */
    bool offsets;
} pass;

typedef struct job {
    const voxel_source *source;
    const voxel_order *order;
    const extent *extents;
    const uint32_t (*near)[8]; /* of each block: the numbers of the blocks its tile touches */
    voxel_blocks *out;
    int reach[3];
    size_t pass_count;
    pass passes[VOXEL_MAX_CHANNELS / GROUP + 1];
} job;

/* A thread's working memory. */
typedef struct scratch {
    quad tile[TILE * TILE * TILE];
    uint32_t first[VOXEL_NODES + 1]; /* of each cell's particles in `rows` */
    uint32_t *rows;                  /* of a block, by cell */
    uint16_t *cells;                 /* of a block's particles */
    size_t room;                     /* of these two */
    quad high[BATCH][4];             /* of a batch: m q times the weights along the last axis, */
    double low[BATCH][16];           /* and the products of those along the other two */
} scratch;

/* Where a coordinate is: its base node within the block, and how far beyond it. */
static inline int base_in_block(const voxel_source *s, int axis, double u, double *f)
{
    double base = voxel_base(s, axis, u);
    *f = u - base;
    return (int32_t)base & (VOXEL_EDGE - 1);
}

static inline void weights_of(const voxel_source *s, int axis, double f, double w[4])
{
    memset(w, 0, sizeof(double[4]));
    if (axis == s->flat_axis)
        w[0] = 1;
    else if (s->kernel == FIRN_CUBIC)
        cubic_weights(f, w);
    else
        quadratic_weights(f, w);
}

static extent extent_of(const job *j, size_t block)
{
    extent e = {{VOXEL_EDGE, VOXEL_EDGE, VOXEL_EDGE}, {0, 0, 0}};
    for (size_t k = j->order->first[block]; k < j->order->first[block + 1]; k++) {
        for (int a = 0; a < 3; a++) {
            double f, u = voxel_coordinate(j->source, j->order->rows[k], a);
            int base = base_in_block(j->source, a, u, &f);
            e.low[a] = base < e.low[a] ? (uint8_t)base : e.low[a];
            e.high[a] = base + j->reach[a] > e.high[a] ? (uint8_t)(base + j->reach[a]) : e.high[a];
        }
    }
    return e;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

/* Asking for memory early: particles of a block may lie far apart. */
static inline void fetch_place(const voxel_source *s, size_t p)
{
    if (s->place)
        __builtin_prefetch(s->place + 3 * p);
    else
        __builtin_prefetch(s->position + 3 * p);
}

static inline void fetch_values(const voxel_source *s, const pass *g, size_t p)
{
    fetch_place(s, p);
    __builtin_prefetch(&s->mass[p]);
    for (size_t c = g->first == 0; c < g->count && !g->offsets; c++)
        __builtin_prefetch(&s->channel[g->first + c].values[p * s->channel[g->first + c].stride]);
}

static bool scratch_room(scratch *w, size_t count)
{
    if (count <= w->room)
        return true;
    free(w->rows);
    free(w->cells);
    w->room = 0;
    w->rows = malloc((2 * count + AHEAD) * sizeof *w->rows);
    w->cells = malloc(2 * count * sizeof *w->cells);
    if (!w->rows || !w->cells)
        return false;
    w->room = 2 * count;
    return true;
}

/* The particles of a block by cell: w->rows, w->first. */
static bool sort_cells(const job *j, size_t block, scratch *w)
{
    const uint32_t *rows = j->order->rows + j->order->first[block];
    size_t count = j->order->first[block + 1] - j->order->first[block];
    if (!scratch_room(w, count))
        return false;
    memset(w->first, 0, sizeof w->first);
    for (size_t k = 0; k < count; k++) {
        if (k + AHEAD < count)
            fetch_place(j->source, rows[k + AHEAD]);
        int cell = 0;
        double f;
        for (int a = 0; a < 3; a++)
            cell = cell * VOXEL_EDGE +
                   base_in_block(j->source, a, voxel_coordinate(j->source, rows[k], a), &f);
        w->cells[k] = (uint16_t)cell;
        w->first[cell + 1]++;
    }
    for (size_t c = 0; c < VOXEL_NODES; c++)
        w->first[c + 1] += w->first[c];
    for (size_t k = 0; k < count; k++)
        w->rows[w->first[w->cells[k]]++] = rows[k];
    /* Each start has moved to its end, which is the start of the next. */
    memmove(w->first + 1, w->first, VOXEL_NODES * sizeof *w->first);
    w->first[0] = 0;
    for (size_t k = 0; k < AHEAD; k++) /* so that looking ahead finds something */
        w->rows[count + k] = rows[count - 1];
    return true;
}

/* m q for the channels of a pass; `place` is the particle's from the block's first node. */
static inline void values_of(const voxel_source *s, const pass *g, const double place[3], size_t p,
                             double q[GROUP])
{
    double m = (double)s->mass[p];
    for (size_t c = 0; c < GROUP; c++) {
        const voxel_channel *channel = &s->channel[g->first + c];
        if (g->offsets)
            q[c] = c < 3 ? m * place[c] : m;
        else if (g->first + c == 0)
            q[c] = m;
        else
            q[c] = c < g->count ? m * (double)channel->values[p * channel->stride] : 0;
    }
}

/* The two factors of a particle's contributions. */
static inline void factors_of(const job *j, const pass *g, size_t p, quad high[4], double low[16])
{
    double place[3], f, weight[3][4], q[GROUP];
    for (int a = 0; a < 3; a++) {
        place[a] = base_in_block(j->source, a, voxel_coordinate(j->source, p, a), &f) + f;
        weights_of(j->source, a, f, weight[a]);
    }
    values_of(j->source, g, place, p, q);
    for (int z = 0; z < 4; z++)
        high[z] = (quad){{(pair){q[0], q[1]} * weight[2][z], (pair){q[2], q[3]} * weight[2][z]}};
    for (int xy = 0; xy < 16; xy++)
        low[xy] = weight[0][xy >> 2] * weight[1][xy & 3];
}

/* A cell's particles into the tile, a batch at a time: lines of four nodes stay in registers. */
static void sum_cell(const job *j, const pass *g, int cell, scratch *w)
{
    quad *corner = w->tile + ((cell >> 6) * TILE + (cell >> 3 & 7)) * TILE + (cell & 7);
    for (uint32_t k = w->first[cell]; k < w->first[cell + 1]; k += BATCH) {
        uint32_t left = w->first[cell + 1] - k, count = left < BATCH ? left : BATCH;
        for (uint32_t i = 0; i < count; i++) {
            fetch_values(j->source, g, w->rows[k + i + AHEAD]);
            factors_of(j, g, w->rows[k + i], w->high[i], w->low[i]);
        }
        for (int x = 0; x < j->reach[0]; x++)
            for (int y = 0; y < j->reach[1]; y++) {
                pair line[8] = {{0}};
                for (uint32_t i = 0; i < count; i++) {
                    pair low = {w->low[i][4 * x + y], w->low[i][4 * x + y]};
                    for (int z = 0; z < 8; z++)
                        line[z] += w->high[i][z >> 1].half[z & 1] * low;
                }
                for (int z = 0; z < 2 * j->reach[2]; z++)
                    corner[(x * TILE + y) * TILE + (z >> 1)].half[z & 1] += line[z];
            }
    }
}

/* ---- Tiles ----------------------------------------------------------------------------------- */

static void tile_clear(const extent *e, quad *tile)
{
    for (int x = e->low[0]; x < e->high[0]; x++)
        for (int y = e->low[1]; y < e->high[1]; y++)
            memset(tile + (x * TILE + y) * TILE + e->low[2], 0,
                   (size_t)(e->high[2] - e->low[2]) * sizeof *tile);
}

static void tile_add(const job *j, const pass *g, size_t block, const quad *tile)
{
    const extent *e = &j->extents[block];
    for (int x = e->low[0]; x < e->high[0]; x++)
        for (int y = e->low[1]; y < e->high[1]; y++)
            for (int z = e->low[2]; z < e->high[2]; z++) {
                double sum[GROUP];
                memcpy(sum, &tile[(x * TILE + y) * TILE + z], sizeof sum);
                /* Sums of m (x_p - x_block) become sums of m (x_p - x_i). */
                const double node_place[3] = {x, y, z};
                for (int a = 0; a < 3 && g->offsets; a++)
                    sum[a] -= sum[3] * node_place[a];
                size_t to = j->near[block][(x >> 3) * 4 + (y >> 3) * 2 + (z >> 3)];
                size_t node = (size_t)((x & 7) * 64 + (y & 7) * 8 + (z & 7));
                float *values = voxel_values(j->out, to, g->first) + node;
                for (size_t c = 0; c < g->count; c++)
                    values[c * VOXEL_NODES] += (float)sum[c];
            }
}

static bool sum_block(const job *j, size_t block, scratch *w)
{
    if (!sort_cells(j, block, w))
        return false;
    for (size_t k = 0; k < j->pass_count; k++) {
        tile_clear(&j->extents[block], w->tile);
        for (int cell = 0; cell < VOXEL_NODES; cell++)
            sum_cell(j, &j->passes[k], cell, w);
        tile_add(j, &j->passes[k], block, w->tile);
    }
    return true;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static void plan_passes(job *j)
{
    const voxel_source *s = j->source;
    for (size_t c = 0; c < s->channels; c += GROUP)
        j->passes[j->pass_count++] =
            (pass){.first = c, .count = s->channels - c < GROUP ? s->channels - c : GROUP};
    if (s->offsets)
        j->passes[j->pass_count++] = (pass){.first = s->channels, .count = 3, .offsets = true};
}

/* Numbers the blocks that tiles touch: `out` gets them, near[block] says which. */
static bool plan_blocks(const voxel_order *order, const extent *extents, uint32_t (*near)[8],
                        voxel_blocks *out)
{
    block_table touched = {0};
    for (size_t b = 0; b < order->blocks.count; b++)
        for (int k = 0; k < 8; k++) {
            const int up[3] = {k >> 2, k >> 1 & 1, k & 1};
            int32_t at[3];
            bool reached = true;
            for (int a = 0; a < 3; a++) {
                at[a] = order->blocks.at[b][a] + up[a];
                reached &= !up[a] || extents[b].high[a] > VOXEL_EDGE;
            }
            near[b][k] = reached ? block_number(&touched, at) : UINT32_MAX;
            if (reached && near[b][k] == UINT32_MAX) {
                block_table_clear(&touched);
                return false;
            }
        }
    for (size_t b = 0; b < touched.count; b++)
        for (int a = 0; a < 3; a++)
            touched.at[b][a] *= VOXEL_EDGE;
    out->count = touched.count;
    out->origin = touched.at;
    free(touched.slots);
    out->values = calloc(touched.count * out->channels * VOXEL_NODES + 1, sizeof *out->values);
    return out->values;
}

static bool sum_all(const job *j, int threads)
{
    const voxel_order *order = j->order;
    bool complete = true;
#pragma omp parallel num_threads(threads) reduction(&& : complete)
    {
        scratch *w = aligned_alloc(64, (sizeof *w + 63) / 64 * 64);
        if (w)
            w->rows = NULL, w->cells = NULL, w->room = 0;
        complete = w != NULL;
        for (int kind = 0; kind < 8; kind++) {
#pragma omp for schedule(dynamic, 1)
            for (size_t b = 0; b < order->blocks.count; b++) {
                const int32_t *at = order->blocks.at[b];
                if (((at[0] & 1) * 4 + (at[1] & 1) * 2 + (at[2] & 1)) == kind)
                    complete = complete && sum_block(j, b, w);
            }
        }
        if (w) {
            free(w->rows);
            free(w->cells);
        }
        free(w);
    }
    return complete;
}

static bool sum_ordered(const voxel_source *s, const voxel_order *order, int threads,
                        voxel_blocks *out)
{
    size_t blocks = order->blocks.count;
    extent *extents = malloc((blocks + 1) * sizeof *extents);
    uint32_t(*near)[8] = malloc((blocks + 1) * sizeof *near);
    job j = {.source = s, .order = order, .extents = extents, .near = near, .out = out};
    for (int a = 0; a < 3; a++)
        j.reach[a] = voxel_reach(s, a);
    plan_passes(&j);
    bool good = extents && near;
    if (good) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
        for (size_t b = 0; b < blocks; b++)
            extents[b] = extent_of(&j, b);
        good = plan_blocks(order, extents, near, out) && sum_all(&j, threads);
    }
    free(extents);
    free(near);
    return good;
}

int voxels_threads(const voxel_source *s)
{
    return s->threads > 0 ? s->threads : omp_get_max_threads();
}

firn_status voxels_sum(const voxel_source *s, voxel_blocks *blocks)
{
    *blocks = (voxel_blocks){.channels = s->channels + (s->offsets ? 3 : 0)};
    int threads = voxels_threads(s);
    voxel_order order;
    firn_status status = voxel_order_create(s, threads, &order);
    if (status)
        return status;
    if (!sum_ordered(s, &order, threads, blocks)) {
        voxels_clear(blocks);
        status = fail(FIRN_NO_MEMORY, "no memory for the volume of %zu particles", s->count);
    }
    voxel_order_clear(&order);
    return status;
}

void voxels_clear(voxel_blocks *blocks)
{
    free(blocks->origin);
    free(blocks->values);
    *blocks = (voxel_blocks){0};
}
