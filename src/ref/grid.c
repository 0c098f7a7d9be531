#include "ref/grid.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash(const int64_t at[FIRN_DIM])
{
    uint64_t h = 0;
    for (int a = 0; a < FIRN_DIM; a++) {
        h = (h ^ (uint64_t)at[a]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h;
}

/* The slot that holds block `at`, or the free one where it belongs. */
static size_t find_slot(const grid *g, const int64_t at[FIRN_DIM])
{
    size_t slot = hash(at) & (g->slot_count - 1);
    while (g->slots[slot] &&
           memcmp(g->blocks[g->slots[slot] - 1]->at, at, sizeof(int64_t[FIRN_DIM])) != 0)
        slot = (slot + 1) & (g->slot_count - 1);
    return slot;
}

static bool grow_slots(grid *g)
{
    size_t slot_count = g->slot_count ? 2 * g->slot_count : 64;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (!slots)
        return false;
    free(g->slots);
    g->slots = slots;
    g->slot_count = slot_count;
    for (size_t b = 0; b < g->count; b++)
        g->slots[find_slot(g, g->blocks[b]->at)] = (uint32_t)(b + 1);
    return true;
}

static bool grow_blocks(grid *g)
{
    if (g->count < g->capacity)
        return true;
    size_t capacity = g->capacity ? 2 * g->capacity : 64;
    grid_block **blocks = realloc(g->blocks, capacity * sizeof *blocks);
    if (!blocks)
        return false;
    g->blocks = blocks;
    for (; g->capacity < capacity; g->capacity++)
        if (!(g->blocks[g->capacity] = malloc(sizeof **g->blocks)))
            return g->count < g->capacity;
    return true;
}

void grid_clear(grid *g)
{
    g->count = 0;
    if (g->slots)
        memset(g->slots, 0, g->slot_count * sizeof *g->slots);
}

grid_block *grid_block_at(grid *g, const int64_t at[FIRN_DIM])
{
    if (2 * g->count >= g->slot_count && !grow_slots(g))
        return NULL;
    size_t slot = find_slot(g, at);
    if (!g->slots[slot]) {
        if (!grow_blocks(g))
            return NULL;
        grid_block *fresh = g->blocks[g->count++];
        memset(fresh, 0, sizeof *fresh);
        memcpy(fresh->at, at, sizeof fresh->at);
        g->slots[slot] = (uint32_t)g->count;
    }
    return g->blocks[g->slots[slot] - 1];
}

grid_block *grid_find(const grid *g, const int64_t at[FIRN_DIM])
{
    uint32_t found = g->slot_count ? g->slots[find_slot(g, at)] : 0;
    return found ? g->blocks[found - 1] : NULL;
}

void grid_free(grid *g)
{
    for (size_t b = 0; b < g->capacity; b++)
        free(g->blocks[b]);
    free(g->blocks);
    free(g->slots);
    *g = (grid){0};
}
