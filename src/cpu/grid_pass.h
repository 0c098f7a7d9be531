/* Steps 4 5 for the nodes of one block, four nodes of a line at a time; and what follows step 6. */
#ifndef FIRN_CPU_GRID_PASS_H
#define FIRN_CPU_GRID_PASS_H

#include "cpu/stencil.h"

/* Below this mass a float's momentum has no digits left to make a velocity of (METHOD section 7). No
 * particle feels such a node: its weight is far below rounding. */
#define GRID_LEAST_MASS (FLT_MIN * 0x1p20f)

/* The three channels of a node that are velocity. */
#define GRID_VELOCITY ((lane_mask){0, -1, -1, -1, 0, -1, -1, -1, 0, -1, -1, -1, 0, -1, -1, -1})

/* v of one node against the colliders, and how they bind it. */
static inline void collide_node(const cpu_pass *pass, const cpu_block *block, int node, float *v,
                                float *bond_out)
{
    double x[3] = {0}, v3[3] = {v[1], v[2], v[3]};
    collider_bond bond = {0};
    collider_bits near = block->near_nodes >> node & 1 ? block->near_bodies : 0;
    for (int a = 0; a < pass->grid->dimensions; a++)
        x[a] = (4.0 * block->at[a] + (node >> 2 * a & 3)) * pass->cell_size;
    bool met = bond_out ? collide_and_bind(pass->colliders, near, x, v3, &bond)
                        : collide_velocity(pass->colliders, near, x, v3);
    for (int a = 0; a < 3; a++) {
        if (met)
            v[a + 1] = (float)v3[a];
        if (bond_out)
            bond_out[a + 1] = (float)bond.normal[a];
    }
    if (bond_out)
        bond_out[0] = bond.held ? 0 : 1;
}

/* Four nodes of a line against the colliders. */
FN void collide_line(const cpu_pass *pass, const cpu_block *block, int line, float *v,
                     lane_mask active, float *bonds, cpu_outcome *outcome)
{
    uint64_t wanted = bonds ? 15 : block->near_nodes >> 4 * line & 15; /* a solve asks about all */
    if (!wanted)
        return;
    uint64_t since = body_clock();
    for (int k = 0; k < 4; k++)
        if (active[4 * k] && (wanted >> k & 1))
            collide_node(pass, block, 4 * line + k, v + 4 * k, bonds ? bonds + 4 * k : NULL);
    outcome->body_ticks += body_clock() - since;
}

FN int active_count(lane_mask active)
{
    return -(active[0] + active[4] + active[8] + active[12]);
}

/* Whether every component is at most `calm`. */
FN lane_mask calm_lanes(const cpu_pass *pass, const float *v)
{
    return ~GRID_VELOCITY | (real_abs(real_load(v)) <= R(pass->calm));
}

FN void judge_block(cpu_block *block, lane_mask calm, cpu_outcome *outcome)
{
    block->wild = !lane_all(calm);
    outcome->wild |= block->wild;
}

/* Keep the masses of a line for step 6. */
FN void note_line(const cpu_nodes *nodes, size_t at, lane_mask active, real m, real v)
{
    real kept = lane_select(active, m, real_of(0));
    for (int k = 0; k < 4; k++)
        nodes->m[at / 4 + (size_t)k] = kept[4 * k];
    if (nodes->star)
        real_store(nodes->star + at, lane_select(active & GRID_VELOCITY, v, real_of(0)));
}

FN void grid_block_pass(const cpu_pass *pass, uint32_t index, cpu_outcome *outcome, int depth,
                        bool affine)
{
    cpu_block *block = &pass->grid->blocks[index];
    const cpu_nodes *nodes = pass->nodes;
    const float *g = pass->gravity;
    real dv = pass->dt * PER_NODE(0, g[0], g[1], g[2]);
    lane_mask in_plane = (lane_mask){-1, -1, -1, 0, -1, -1, -1, 0, -1, -1, -1, 0, -1, -1, -1, 0};
    uint64_t active_nodes = 0;
    lane_mask calm = ~(lane_mask){0};
    for (int l = 0; l < (depth == 1 ? 4 : 16); l++) {
        size_t at = (size_t)index * CPU_BLOCK_FLOATS + 16 * (size_t)l;
        float *first = pass->grid->field[0] + at, *second = pass->grid->field[1] + at;
        real line = real_load(first);
        real m =
            __builtin_shufflevector(line, line, 0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
        lane_mask active = m > real_of(GRID_LEAST_MASS);
        real inv_m = R(1) / lane_select(active, m, real_of(1));
        lane_mask keep = active & GRID_VELOCITY;
        real v = line * inv_m;
        real v_new = v + dv;
        if (!affine)
            v_new += real_load(second) * inv_m;
        if (depth == 1) /* rounding must not push snow out of its plane */
            v_new = lane_select(in_plane, v_new, real_of(0));
        real unit = lane_select(active & ~GRID_VELOCITY, real_of(GRID_UNIT), real_of(0));
        real_store(first, lane_select(keep, v_new, unit));
        active_nodes += (uint64_t)active_count(active);
        if (nodes)
            note_line(nodes, at, active, m, v_new);
        if (block->near_bodies)
            collide_line(pass, block, l, first, active, nodes ? nodes->bond + at : NULL, outcome);
        calm &= calm_lanes(pass, first);
        if (!affine)
            real_store(second,
                       lane_select(keep, real_load(first) - pass->blend * v, real_load(first)));
    }
    outcome->active_nodes += active_nodes;
    if (nodes)
        nodes->active[index] = active_nodes > 0;
    judge_block(block, calm, outcome);
}

/* v^{n+1} = v* + change, and the same change of v^{n+1} - alpha v^n. Nodes that were leaving a body may
 * have to meet it again. */
FN void solved_block_pass(const cpu_pass *pass, uint32_t index, cpu_outcome *outcome, int depth,
                          bool affine)
{
    cpu_block *block = &pass->grid->blocks[index];
    lane_mask calm = ~(lane_mask){0};
    for (int l = 0; l < (depth == 1 ? 4 : 16); l++) {
        size_t at = (size_t)index * CPU_BLOCK_FLOATS + 16 * (size_t)l;
        float *first = pass->grid->field[0] + at, *second = pass->grid->field[1] + at;
        real star = real_load(first);
        lane_mask active = (star > R(0)) & ~GRID_VELOCITY; /* the unit in channel 0 */
        real_store(first, star + real_load(pass->nodes->change + at));
        if (block->near_bodies)
            collide_line(pass, block, l, first, active, NULL, outcome);
        calm &= calm_lanes(pass, first);
        if (!affine)
            real_store(second, real_load(second) + (real_load(first) - star));
    }
    judge_block(block, calm, outcome);
}

#endif
