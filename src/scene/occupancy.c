#include "scene/occupancy.h"

#include <math.h>
#include <stdlib.h>

#include "scene/source.h"

static uint64_t mix(uint64_t h)
{
    h ^= h >> 31;
    h *= 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static size_t first_slot(const cell_set *set, cell c)
{
    uint64_t h = mix((uint64_t)c.index[0]);
    h = mix(h + (uint64_t)c.index[1]);
    h = mix(h + (uint64_t)c.index[2]);
    return (size_t)h & (set->slot_count - 1);
}

/* The slot that holds `c`, or the empty one where it belongs. */
static size_t *find_slot(const cell_set *set, cell c)
{
    for (size_t at = first_slot(set, c);; at = (at + 1) & (set->slot_count - 1)) {
        size_t held = set->slots[at];
        const int64_t *i = held ? set->cells[held - 1].index : NULL;
        if (!held || (i[0] == c.index[0] && i[1] == c.index[1] && i[2] == c.index[2]))
            return &set->slots[at];
    }
}

static void enlarge(cell_set *set)
{
    free(set->slots);
    set->slot_count = set->slot_count ? 2 * set->slot_count : 64;
    set->slots = allocate(set->slot_count, sizeof *set->slots);
    set->cells = realloc(set->cells, set->slot_count / 2 * sizeof *set->cells);
    if (!set->cells)
        abort();
    for (size_t i = 0; i < set->count; i++)
        *find_slot(set, set->cells[i]) = i + 1;
}

void cell_set_add(cell_set *set, cell c)
{
    if (2 * (set->count + 1) > set->slot_count)
        enlarge(set);
    size_t *slot = find_slot(set, c);
    if (*slot)
        return;
    set->cells[set->count++] = c;
    *slot = set->count;
}

void cell_set_clear(cell_set *set)
{
    free(set->cells);
    free(set->slots);
    *set = (cell_set){0};
}

cell cell_at(const double *position, int dimensions, double cell_size, double origin)
{
    cell c = {{0}};
    for (int i = 0; i < dimensions; i++) {
        double at = floor(position[i] / cell_size - origin);
        c.index[i] = (int64_t)fmin(fmax(at, -9e18), 9e18);
    }
    return c;
}

/* One axis after the other: far fewer insertions than the whole box around every cell. */
void cell_set_grow(cell_set *set, int dimensions, int low, int high)
{
    for (int axis = 0; axis < dimensions; axis++) {
        cell_set grown = {0};
        for (size_t n = 0; n < set->count; n++)
            for (int k = low; k <= high; k++) {
                cell c = set->cells[n];
                c.index[axis] += k;
                cell_set_add(&grown, c);
            }
        cell_set_clear(set);
        *set = grown;
    }
}

size_t cell_set_blocks(const cell_set *set, int dimensions, int width)
{
    cell_set blocks = {0};
    for (size_t n = 0; n < set->count; n++) {
        cell c = set->cells[n];
        for (int axis = 0; axis < dimensions; axis++) {
            int64_t i = c.index[axis];
            c.index[axis] = (i - (i < 0 ? width - 1 : 0)) / width; /* towards minus infinity */
        }
        cell_set_add(&blocks, c);
    }
    size_t count = blocks.count;
    cell_set_clear(&blocks);
    return count;
}
