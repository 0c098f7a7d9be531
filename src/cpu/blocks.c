#include "cpu/blocks.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash(const int32_t at[3])
{
    uint64_t h = (uint32_t)at[0] * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 32) ^ (uint32_t)at[1]) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 32) ^ (uint32_t)at[2]) * 0x94d049bb133111ebu;
    return (uint32_t)(h >> 32);
}

/* The slot that holds the block at these coordinates, or the free one where it belongs. */
static uint32_t find_slot(const cpu_grid *grid, const int32_t at[3])
{
    uint32_t mask = grid->slot_count - 1, slot = hash(at) & mask;
    while (grid->slots[slot] &&
           memcmp(grid->blocks[grid->slots[slot] - 1].at, at, sizeof(int32_t[3])) != 0)
        slot = (slot + 1) & mask;
    return slot;
}

static bool grow(void **array, size_t bytes, size_t alignment)
{
    void *larger = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    free(*array);
    *array = larger;
    return larger != NULL;
}

/* Room for one more block. Fields hold nothing between steps, so they need not be copied. */
static bool reserve(cpu_grid *grid)
{
    if (grid->count < grid->capacity)
        return true;
    uint32_t capacity = grid->capacity ? grid->capacity + grid->capacity / 2 : 256;
    cpu_block *blocks = realloc(grid->blocks, capacity * sizeof *blocks);
    if (!blocks)
        return false;
    grid->blocks = blocks;
    for (int f = 0; f < grid->field_count; f++)
        if (!grow((void **)&grid->field[f], capacity * sizeof(float[CPU_BLOCK_FLOATS]), 64))
            return false;
    for (int c = 0; c < 8; c++) {
        uint32_t *colour = realloc(grid->colour[c], capacity * sizeof *colour);
        if (!colour)
            return false;
        grid->colour[c] = colour;
    }
    while (grid->slot_count < 2 * capacity)
        grid->slot_count = grid->slot_count ? 2 * grid->slot_count : 1024;
    if (!grow((void **)&grid->slots, grid->slot_count * sizeof *grid->slots, 64))
        return false;
    memset(grid->slots, 0, grid->slot_count * sizeof *grid->slots);
    for (uint32_t b = 0; b < grid->count; b++)
        grid->slots[find_slot(grid, grid->blocks[b].at)] = b + 1;
    grid->capacity = capacity;
    return true;
}

uint32_t blocks_at(cpu_grid *grid, const int32_t at[3])
{
    if (!reserve(grid))
        return CPU_NONE;
    uint32_t slot = find_slot(grid, at);
    if (!grid->slots[slot]) {
        cpu_block *fresh = &grid->blocks[grid->count];
        memset(fresh, 0, sizeof *fresh);
        memset(fresh->near, 0xff, sizeof fresh->near);
        memcpy(fresh->at, at, sizeof fresh->at);
        fresh->near[CPU_STAY] = grid->count;
        if (grid->count > 0) /* lists of particles follow each other, empty ones too */
            fresh->first = fresh[-1].first + fresh[-1].count;
        grid->slots[slot] = ++grid->count;
    }
    return grid->slots[slot] - 1;
}

static void coordinates_beside(const cpu_grid *grid, uint32_t block, int direction, int32_t at[3])
{
    const int step[3] = {direction % 3 - 1, direction / 3 % 3 - 1, direction / 9 - 1};
    for (int a = 0; a < 3; a++)
        at[a] = grid->blocks[block].at[a] + step[a];
}

static void link_blocks(cpu_grid *grid, uint32_t block, int direction, uint32_t near)
{
    grid->blocks[block].near[direction] = near;
    grid->blocks[near].near[CPU_DIRECTIONS - 1 - direction] = block;
}

uint32_t blocks_beside(cpu_grid *grid, uint32_t block, int direction)
{
    int32_t at[3];
    if (grid->blocks[block].near[direction] == CPU_NONE) {
        coordinates_beside(grid, block, direction, at);
        uint32_t slot = find_slot(grid, at);
        if (grid->slots[slot])
            link_blocks(grid, block, direction, grid->slots[slot] - 1);
    }
    return grid->blocks[block].near[direction];
}

uint32_t blocks_near(cpu_grid *grid, uint32_t block, int direction)
{
    uint32_t near = grid->blocks[block].near[direction];
    if (near != CPU_NONE)
        return near;
    int32_t at[3];
    coordinates_beside(grid, block, direction, at);
    near = blocks_at(grid, at);
    if (near != CPU_NONE)
        link_blocks(grid, block, direction, near);
    return near;
}

bool blocks_prepare(cpu_grid *grid)
{
    memset(grid->colour_count, 0, sizeof grid->colour_count);
    uint32_t count = grid->count;
    for (uint32_t b = 0; b < count; b++) {
        if (grid->blocks[b].count == 0)
            continue;
        for (int corner = 1; corner < (grid->dimensions == 3 ? 8 : 4); corner++) {
            int direction = CPU_STAY + (corner & 1) + 3 * (corner >> 1 & 1) + 9 * (corner >> 2);
            if (blocks_near(grid, b, direction) == CPU_NONE)
                return false;
        }
        const int32_t *at = grid->blocks[b].at;
        int colour = (at[0] & 1) | (at[1] & 1) << 1 | (at[2] & 1) << 2;
        grid->colour[colour][grid->colour_count[colour]++] = b;
    }
    return true;
}

void blocks_clear(cpu_grid *grid)
{
    grid->count = 0;
    if (grid->slots)
        memset(grid->slots, 0, grid->slot_count * sizeof *grid->slots);
}

void blocks_free(cpu_grid *grid)
{
    free(grid->blocks);
    free(grid->field[0]);
    free(grid->field[1]);
    free(grid->slots);
    for (int c = 0; c < 8; c++)
        free(grid->colour[c]);
    *grid = (cpu_grid){.dimensions = grid->dimensions, .field_count = grid->field_count};
}

/* Spread the low 21 bits so that two free bits follow each. */
static uint64_t spread_bits(uint64_t x)
{
    x &= 0x1fffff;
    x = (x | x << 32) & 0x1f00000000ffff;
    x = (x | x << 16) & 0x1f0000ff0000ff;
    x = (x | x << 8) & 0x100f00f00f00f00f;
    x = (x | x << 4) & 0x10c30c30c30c30c3;
    return (x | x << 2) & 0x1249249249249249;
}

uint64_t blocks_curve(const int32_t at[3])
{
    const uint32_t middle = 1u << 20;
    return spread_bits((uint32_t)at[0] + middle) | spread_bits((uint32_t)at[1] + middle) << 1 |
           spread_bits((uint32_t)at[2] + middle) << 2;
}
