#include "pieces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 21 bits an axis, so that one number orders cells and the neighbour along an axis is a sum away. */
enum { BITS = 21, MIDDLE = 1 << (BITS - 1) };

uint64_t piece_key(const double x[3])
{
    uint64_t key = 0;
    for (int i = 0; i < 3; i++) {
        double at = fmin(fmax(floor(x[i]), 1 - MIDDLE), MIDDLE - 2);
        key = key << BITS | (uint64_t)(at + MIDDLE);
    }
    return key;
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = ((const piece_cell *)a)->key, y = ((const piece_cell *)b)->key;
    return (x > y) - (x < y);
}

static int largest_first(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

size_t pieces_merge(piece_cell *cells, size_t count)
{
    qsort(cells, count, sizeof *cells, by_key);
    size_t last = 0;
    for (size_t i = 1; i < count; i++) {
        if (cells[i].key == cells[last].key) {
            cells[last].mass += cells[i].mass;
            cells[last].filled += cells[i].filled;
        } else {
            cells[++last] = cells[i];
        }
    }
    return count ? last + 1 : 0;
}

static size_t root_of(piece_cell *cells, size_t i)
{
    while (cells[i].parent != i) {
        cells[i].parent = cells[cells[i].parent].parent;
        i = cells[i].parent;
    }
    return i;
}

/* The earlier cell stays the root: the forest does not depend on the order of joins. */
static void join(piece_cell *cells, size_t a, size_t b)
{
    size_t x = root_of(cells, a), y = root_of(cells, b);
    if (x < y)
        cells[y].parent = x;
    else
        cells[x].parent = y;
}

static size_t keep_full(piece_cell *cells, size_t count, double fill)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (cells[i].filled < fill)
            continue;
        cells[kept] = cells[i];
        cells[kept].parent = kept;
        kept++;
    }
    return kept;
}

size_t pieces_join(piece_cell *cells, size_t count, double fill, double least, double *masses)
{
    count = keep_full(cells, count, fill);
    for (int axis = 0; axis < 3; axis++) {
        /* Cells are in order, so the neighbour of each is further on than that of the one before. */
        size_t k = 0;
        for (size_t i = 0; i < count; i++) {
            uint64_t next = cells[i].key + ((uint64_t)1 << (axis * BITS));
            while (k < count && cells[k].key < next)
                k++;
            if (k < count && cells[k].key == next)
                join(cells, i, k);
        }
    }
    memset(masses, 0, count * sizeof *masses);
    for (size_t i = 0; i < count; i++)
        masses[root_of(cells, i)] += cells[i].mass;
    size_t pieces = 0;
    for (size_t i = 0; i < count; i++)
        if (masses[i] > 0 && masses[i] >= least)
            masses[pieces++] = masses[i];
    qsort(masses, pieces, sizeof *masses, largest_first);
    return pieces;
}
