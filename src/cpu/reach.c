#include "cpu/reach.h"

#include <string.h>

/* Cells: answers are asked for with so much to spare, and hold until bodies have gone half as far. Where
 * bodies are so slow that many steps share an answer it pays to ask finely. */
static const double SPARE = 0.1, LASTS = 0.05, SLOW = 0.01;

/* What is asked of a block's surroundings. */
typedef struct question {
    const backend *s;
    bool finely;
    double spare; /* cells */
    int parts;    /* halves, in every axis: 8 or 4 */
} question;

/* Bodies among some that may touch the cube from `low` to `low` + `width`, in cells of the grid. */
static collider_bits bodies_at(const question *q, collider_bits among, const double low[3],
                               double width)
{
    const firn_settings *settings = q->s->settings;
    double h = settings->cell_size, centre[3] = {0}, square = 0;
    const double half = width / 2, rounding = 1e-9;
    for (int a = 0; a < settings->dimensions; a++) {
        centre[a] = (low[a] + half) * h;
        square += half * half;
    }
    double radius = (1 + rounding) * sqrt(square) + q->spare;
    return collider_set_near(q->s->colliders, among, centre, radius * h);
}

/* The corner of a part of the cube at `low`, whose parts are `width` apart. */
static void part_corner(const double low[3], int part, double width, double corner[3])
{
    for (int a = 0; a < 3; a++)
        corner[a] = low[a] + width * (part >> a & 1);
}

/* The cells of an octant that may matter, as bits: those with particles, or that may get some while an
 * answer holds. */
static uint64_t cells_in(const question *q, const cpu_block *block, int octant)
{
    uint64_t cells = 0;
    for (int corner = 0; corner < q->parts; corner++) {
        int number = 0;
        for (int a = 0; a < 3; a++)
            number += (2 * (octant >> a & 1) + (corner >> a & 1)) << cpu_cell_shift[a];
        cells |= (uint64_t)(q->finely || block->cell_count[number] > 0) << number;
    }
    return cells;
}

/* The parts of the cell at `low` that may touch one of some bodies, as bits. */
static uint8_t parts_at(const question *q, collider_bits among, const double low[3])
{
    uint8_t parts = 0;
    for (int part = 0; part < q->parts; part++) {
        double corner[3];
        part_corner(low, part, 0.5, corner);
        if (!q->finely || bodies_at(q, among, corner, 0.5))
            parts |= (uint8_t)(1 << part);
    }
    return q->parts == 4 ? (uint8_t)(parts | parts << 4) : parts; /* in 2D z is of no matter */
}

/* The cells whose particles may touch one of the block's bodies; the first has its corner at `low`. */
static void find_cells(const question *q, cpu_block *block, const double low[3])
{
    block->near_cells = 0;
    for (int octant = 0; octant < q->parts; octant++) {
        double corner[3];
        uint64_t cells = cells_in(q, block, octant);
        part_corner(low, octant, 2, corner);
        collider_bits near = cells ? bodies_at(q, block->near_bodies, corner, 2) : 0;
        for (; near && cells; cells &= cells - 1) {
            int number = __builtin_ctzll(cells);
            double cell[3];
            for (int a = 0; a < 3; a++)
                cell[a] = low[a] + cpu_cell_at(number, a);
            collider_bits here = bodies_at(q, near, cell, 1);
            block->near_parts[number] = here ? parts_at(q, here, cell) : 0;
            block->near_cells |= (uint64_t)(block->near_parts[number] > 0) << number;
        }
    }
}

/* The nodes of the block, by octants; finely, one by one. */
static void find_nodes(const question *q, cpu_block *block, const double low[3])
{
    block->near_nodes = 0;
    for (int octant = 0; octant < q->parts; octant++) {
        double first[3], node[3];
        part_corner(low, octant, 2, first);
        collider_bits near = bodies_at(q, block->near_bodies, first, 1);
        for (int k = 0; near && k < q->parts; k++) {
            int number = 0;
            for (int a = 0; a < 3; a++)
                number += (2 * (octant >> a & 1) + (k >> a & 1)) << 2 * a;
            part_corner(first, k, 1, node);
            if (!q->finely || bodies_at(q, near, node, 0))
                block->near_nodes |= (uint64_t)1 << number;
        }
    }
}

void reach_block(const backend *s, cpu_block *block)
{
    const collider_set *bodies = s->colliders;
    if (bodies->travel <= block->reach_ends)
        return;
    double h = s->settings->cell_size, origin = pass_origin(s->settings);
    bool finely = bodies->last_move <= SLOW * h;
    const question q = {s, finely, finely ? SPARE : 0, 1 << s->settings->dimensions};
    double nodes[3], places[3];
    for (int a = 0; a < 3; a++) {
        nodes[a] = 4.0 * block->at[a];
        places[a] = nodes[a] + origin;
    }
    /* Nodes 0 to 3 and particles, from `origin` to `origin` + 4. */
    block->near_bodies = bodies_at(&q, COLLIDER_ALL, nodes, 4 + origin);
    block->near_nodes = block->near_cells = 0;
    memset(block->near_parts, 0, sizeof block->near_parts);
    if (block->near_bodies) {
        find_nodes(&q, block, nodes);
        find_cells(&q, block, places);
    }
    block->reach_ends = finely ? bodies->travel + LASTS * h : 0;
}
