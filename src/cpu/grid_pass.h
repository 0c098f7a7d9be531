/* Steps 4 5 for the nodes of one block, four nodes of a line at a time. */
#ifndef FIRN_CPU_GRID_PASS_H
#define FIRN_CPU_GRID_PASS_H

#include "cpu/stencil.h"

/* Below this mass a float's momentum has no digits left to make a velocity of (METHOD section 7). No
 * particle feels such a node: its weight is far below rounding. */
#define GRID_LEAST_MASS (FLT_MIN * 0x1p20f)

/* v* of one node against the colliders. */
static inline void collide_node(const cpu_pass *pass, const cpu_block *block, int node, float *v)
{
    double x[3] = {0}, v3[3] = {v[1], v[2], v[3]};
    for (int a = 0; a < pass->grid->dimensions; a++)
        x[a] = (4.0 * block->at[a] + (node >> 2 * a & 3)) * pass->cell_size;
    if (!collide_velocity(pass->colliders, block->near_bodies, x, v3))
        return;
    for (int a = 0; a < 3; a++)
        v[a + 1] = (float)v3[a];
}

FN void grid_block_pass(const cpu_pass *pass, uint32_t index, cpu_outcome *outcome, int depth,
                        bool apic)
{
    cpu_block *block = &pass->grid->blocks[index];
    const float *g = pass->gravity;
    real dv = pass->dt * PER_NODE(0, g[0], g[1], g[2]);
    lane_mask is_velocity = (lane_mask){0, -1, -1, -1, 0, -1, -1, -1, 0, -1, -1, -1, 0, -1, -1, -1};
    lane_mask in_plane = (lane_mask){-1, -1, -1, 0, -1, -1, -1, 0, -1, -1, -1, 0, -1, -1, -1, 0};
    uint64_t active_nodes = 0;
    lane_mask calm = ~(lane_mask){0};
    for (int l = 0; l < (depth == 1 ? 4 : 16); l++) {
        float *first = pass->grid->field[0] + (size_t)index * CPU_BLOCK_FLOATS + 16 * l;
        float *second = pass->grid->field[1] + (size_t)index * CPU_BLOCK_FLOATS + 16 * l;
        real line = real_load(first);
        real m =
            __builtin_shufflevector(line, line, 0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
        lane_mask active = m > real_of(GRID_LEAST_MASS);
        real inv_m = R(1) / lane_select(active, m, real_of(1));
        lane_mask keep = active & is_velocity;
        real v = line * inv_m;
        real v_new = v + dv;
        if (!apic)
            v_new += real_load(second) * inv_m;
        if (depth == 1) /* rounding must not push snow out of its plane */
            v_new = lane_select(in_plane, v_new, real_of(0));
        real unit = lane_select(active & ~is_velocity, real_of(GRID_UNIT), real_of(0));
        real_store(first, lane_select(keep, v_new, unit));
        for (int k = 0; k < 4; k++)
            if (active[4 * k]) {
                active_nodes++;
                if (block->near_bodies)
                    collide_node(pass, block, 4 * l + k, first + 4 * k);
            }
        calm &= ~is_velocity | (real_abs(real_load(first)) <= R(pass->calm));
        if (!apic)
            real_store(second,
                       lane_select(keep, real_load(first) - pass->blend * v, real_load(first)));
    }
    outcome->active_nodes += active_nodes;
    block->wild = !lane_all(calm);
    outcome->wild |= block->wild;
}

#endif
