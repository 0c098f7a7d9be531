/*
 * Each thread takes a range of particles and numbers the blocks it meets; the ranges are then put
 * together in order, so that the particles of a block come in their own order whatever the number
 * of threads.
 */
#include "io/voxel_order.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"

/* Coordinates of nodes in OpenVDB are 32-bit, and a stencil reaches beyond its base node. */
static const double FARTHEST_NODE = 0x1p30;

/* ---- Numbers of blocks ----------------------------------------------------------------------- */

static size_t hash(const int32_t at[3])
{
    uint64_t h = 0;
    for (int a = 0; a < 3; a++) {
        h = (h ^ (uint32_t)at[a]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return (size_t)(h ^ h >> 32);
}

static bool table_grow(block_table *t)
{
    size_t capacity = t->capacity ? 2 * t->capacity : 64;
    int32_t(*at)[3] = realloc(t->at, capacity * sizeof *at);
    t->at = at ? at : t->at;
    uint32_t *slots = calloc(2 * capacity, sizeof *slots);
    if (!at || !slots) {
        free(slots);
        return false;
    }
    for (size_t k = 0; k < t->count; k++) {
        size_t s = hash(t->at[k]) & (2 * capacity - 1);
        while (slots[s])
            s = (s + 1) & (2 * capacity - 1);
        slots[s] = (uint32_t)k + 1;
    }
    free(t->slots);
    t->slots = slots;
    t->capacity = capacity;
    t->slot_count = 2 * capacity;
    return true;
}

uint32_t block_number(block_table *t, const int32_t at[3])
{
    if (t->count == t->capacity && !table_grow(t))
        return UINT32_MAX;
    size_t s = hash(at) & (t->slot_count - 1);
    for (; t->slots[s]; s = (s + 1) & (t->slot_count - 1))
        if (!memcmp(t->at[t->slots[s] - 1], at, sizeof *t->at))
            return t->slots[s] - 1;
    memcpy(t->at[t->count], at, sizeof *t->at);
    t->slots[s] = (uint32_t)++t->count;
    return t->slots[s] - 1;
}

void block_table_clear(block_table *t)
{
    free(t->at);
    free(t->slots);
    *t = (block_table){0};
}

/* ---- Ranges of particles --------------------------------------------------------------------- */

/* One thread's particles. */
typedef struct range {
    size_t begin, end;
    block_table blocks;
    size_t *next; /* of each of its blocks: how many particles; then where the next one goes */
    size_t room;  /* of `next` */
    size_t bad;   /* the first particle that is not on the grid, or SIZE_MAX */
    bool no_memory;
} range;

/* The block of a particle; false when it is too far out, or not a number. */
static bool block_of(const voxel_source *s, size_t p, int32_t at[3])
{
    for (int a = 0; a < 3; a++) {
        double base = voxel_base(s, a, voxel_coordinate(s, p, a));
        if (!(fabs(base) < FARTHEST_NODE))
            return false;
        at[a] = (int32_t)base >> 3;
    }
    return true;
}

static bool count_one(range *r, uint32_t number)
{
    if (number >= r->room) {
        size_t room = r->blocks.capacity;
        size_t *next = realloc(r->next, room * sizeof *next);
        if (!next)
            return false;
        memset(next + r->room, 0, (room - r->room) * sizeof *next);
        r->next = next;
        r->room = room;
    }
    r->next[number]++;
    return true;
}

/* Leaves each particle's block, by the range's own numbers, in `number`. */
static void range_count(const voxel_source *s, range *r, uint32_t *number)
{
    int32_t at[3], last[3] = {0};
    uint32_t last_number = UINT32_MAX;
    for (size_t p = r->begin; p < r->end; p++) {
        if (!block_of(s, p, at)) {
            r->bad = p;
            return;
        }
        if (last_number == UINT32_MAX || memcmp(at, last, sizeof at) != 0) {
            memcpy(last, at, sizeof at);
            last_number = block_number(&r->blocks, at);
        }
        r->no_memory = last_number == UINT32_MAX || !count_one(r, last_number);
        if (r->no_memory)
            return;
        number[p] = last_number;
    }
}

static void range_place(range *r, const uint32_t *number, uint32_t *rows)
{
    for (size_t p = r->begin; p < r->end; p++)
        rows[r->next[number[p]]++] = (uint32_t)p;
}

/* Numbers all blocks, and turns counts into places: block by block, and in a block range by range. */
static bool ranges_join(range *ranges, int count, voxel_order *order)
{
    size_t total = 0;
    for (int t = 0; t < count; t++)
        for (size_t k = 0; k < ranges[t].blocks.count; k++)
            if (block_number(&order->blocks, ranges[t].blocks.at[k]) == UINT32_MAX)
                return false;
    order->first = calloc(order->blocks.count + 1, sizeof *order->first);
    if (!order->first)
        return false;
    for (int t = 0; t < count; t++)
        for (size_t k = 0; k < ranges[t].blocks.count; k++)
            order->first[block_number(&order->blocks, ranges[t].blocks.at[k])] += ranges[t].next[k];
    for (size_t b = 0; b <= order->blocks.count; b++) {
        size_t here = order->first[b];
        order->first[b] = total;
        total += here;
    }
    for (int t = 0; t < count; t++)
        for (size_t k = 0; k < ranges[t].blocks.count; k++) {
            uint32_t b = block_number(&order->blocks, ranges[t].blocks.at[k]);
            size_t here = ranges[t].next[k];
            ranges[t].next[k] = order->first[b];
            order->first[b] += here;
        }
    /* Each start has moved to its end, which is the start of the next. */
    memmove(order->first + 1, order->first, order->blocks.count * sizeof *order->first);
    order->first[0] = 0;
    return true;
}

static firn_status ranges_check(const voxel_source *s, const range *ranges, int count)
{
    for (int t = 0; t < count; t++) {
        size_t p = ranges[t].bad;
        if (p != SIZE_MAX)
            return fail(FIRN_BAD_SCENE,
                        "particle row %zu is at cell (%g, %g, %g): volumes reach %g cells from "
                        "the origin",
                        p, voxel_coordinate(s, p, 0), voxel_coordinate(s, p, 1),
                        voxel_coordinate(s, p, 2), FARTHEST_NODE);
        if (ranges[t].no_memory)
            return fail(FIRN_NO_MEMORY, "no memory to sort %zu particles", s->count);
    }
    return FIRN_OK;
}

firn_status voxel_order_create(const voxel_source *s, int threads, voxel_order *order)
{
    *order = (voxel_order){0};
    if (s->count >= UINT32_MAX)
        return fail(FIRN_NO_MEMORY, "%zu particles: volumes are made of at most %u", s->count,
                    UINT32_MAX - 1);
    range *ranges = calloc((size_t)threads, sizeof *ranges);
    uint32_t *number = malloc((s->count + 1) * sizeof *number);
    order->rows = malloc((s->count + 1) * sizeof *order->rows);
    firn_status status = FIRN_OK;
    if (!ranges || !number || !order->rows)
        status = fail(FIRN_NO_MEMORY, "no memory to sort %zu particles", s->count);
    for (int t = 0; t < threads && !status; t++) {
        ranges[t].begin = s->count * (size_t)t / (size_t)threads;
        ranges[t].end = s->count * (size_t)(t + 1) / (size_t)threads;
        ranges[t].bad = SIZE_MAX;
    }
    if (!status) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int t = 0; t < threads; t++)
            range_count(s, &ranges[t], number);
        status = ranges_check(s, ranges, threads);
    }
    if (!status && !ranges_join(ranges, threads, order))
        status = fail(FIRN_NO_MEMORY, "no memory to sort %zu particles", s->count);
    if (!status) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int t = 0; t < threads; t++)
            range_place(&ranges[t], number, order->rows);
    }
    for (int t = 0; ranges && t < threads; t++) {
        block_table_clear(&ranges[t].blocks);
        free(ranges[t].next);
    }
    free(ranges);
    free(number);
    if (status)
        voxel_order_clear(order);
    return status;
}

void voxel_order_clear(voxel_order *order)
{
    block_table_clear(&order->blocks);
    free(order->first);
    free(order->rows);
    *order = (voxel_order){0};
}
