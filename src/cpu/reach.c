#include "cpu/reach.h"

/* Bodies among some that may touch the cube from `low` to `low` + `width`, in cells of the grid. */
static collider_bits bodies_at(const backend *s, collider_bits among, const double low[3],
                               double width)
{
    double h = s->settings->cell_size, centre[3] = {0}, square = 0;
    const double half = width / 2, rounding = 1e-9;
    for (int a = 0; a < s->settings->dimensions; a++) {
        centre[a] = (low[a] + half) * h;
        square += half * half;
    }
    return collider_set_near(s->colliders, among, centre, (1 + rounding) * sqrt(square) * h);
}

/* The cells of an octant that have particles, as bits, and the place of its first cell. */
static uint64_t cells_in(const backend *s, const cpu_block *block, int octant, int first[3])
{
    uint64_t cells = 0;
    for (int a = 0; a < 3; a++)
        first[a] = 2 * (octant >> a & 1);
    for (int corner = 0; corner < 1 << s->settings->dimensions; corner++) {
        int number = 0;
        for (int a = 0; a < 3; a++)
            number += (first[a] + (corner >> a & 1)) << cpu_cell_shift[a];
        cells |= (uint64_t)(block->cell_count[number] > 0) << number;
    }
    return cells;
}

/* The cells whose particles may touch one of the block's bodies; the first has its corner at `low`. */
static uint64_t cells_at(const backend *s, const cpu_block *block, const double low[3])
{
    uint64_t near_cells = 0;
    for (int octant = 0; octant < 1 << s->settings->dimensions; octant++) {
        int at[3];
        uint64_t cells = cells_in(s, block, octant, at);
        const double corner[3] = {low[0] + at[0], low[1] + at[1], low[2] + at[2]};
        collider_bits near = cells ? bodies_at(s, block->near_bodies, corner, 2) : 0;
        for (; near && cells; cells &= cells - 1) {
            int number = __builtin_ctzll(cells);
            double cell[3];
            for (int a = 0; a < 3; a++)
                cell[a] = low[a] + cpu_cell_at(number, a);
            if (bodies_at(s, near, cell, 1))
                near_cells |= (uint64_t)1 << number;
        }
    }
    return near_cells;
}

/* The nodes of the block, by octants. */
static uint64_t nodes_at(const backend *s, collider_bits among, const double block[3])
{
    uint64_t nodes = 0;
    int parts = 1 << s->settings->dimensions;
    for (int octant = 0; octant < parts; octant++) {
        const int at[3] = {2 * (octant & 1), 2 * (octant >> 1 & 1), 2 * (octant >> 2)};
        const double low[3] = {block[0] + at[0], block[1] + at[1], block[2] + at[2]};
        const uint64_t all = parts == 4 ? 0x33 : 0x330033; /* two along x, y and z */
        if (bodies_at(s, among, low, 1))
            nodes |= all << (at[0] + 4 * at[1] + 16 * at[2]);
    }
    return nodes;
}

void reach_block(const backend *s, cpu_block *block)
{
    double nodes[3], places[3], origin = pass_origin(s->settings);
    for (int a = 0; a < 3; a++) {
        nodes[a] = 4.0 * block->at[a];
        places[a] = nodes[a] + origin;
    }
    /* Nodes 0 to 3 and particles, from `origin` to `origin` + 4. */
    block->near_bodies = bodies_at(s, COLLIDER_ALL, nodes, 4 + origin);
    block->near_nodes = block->near_bodies ? nodes_at(s, block->near_bodies, nodes) : 0;
    block->near_cells = block->near_bodies && block->count > 0 ? cells_at(s, block, places) : 0;
}
