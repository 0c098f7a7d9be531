/* Steps 4 and 5: from sums to velocities, gravity and bodies; and which bodies are near. */
#ifndef FIRN_CUDA_GRID_PASS_CUH
#define FIRN_CUDA_GRID_PASS_CUH

#include "cuda/grid_node.cuh"

/* The bodies within `reach` cells, along each axis, of a place in a block. */
static __device__ collider_bits bodies_near(const pass_view &s, int4 at, const double place[3],
                                            double reach, double *clearance)
{
    double x[3] = {(4.0 * at.x + place[0]) * s.cell_size, (4.0 * at.y + place[1]) * s.cell_size,
                   s.planar ? 0 : (4.0 * at.z + place[2]) * s.cell_size};
    return collider_set_survey(s.bodies, x, reach * sqrt(s.planar ? 2.0 : 3.0) * s.cell_size,
                               clearance);
}

/* Of the eight neighbouring lanes of one block. */
static __device__ collider_bits any_of_eighths(collider_bits bits)
{
    for (int k = 4; k > 0; k >>= 1)
        bits |= __shfl_xor_sync(0xffffffffu, bits, k);
    return bits;
}

/* A thread for each eighth of a block. */
static __global__ void __launch_bounds__(THREADS) bodies_kernel(const pass_view s)
{
    uint32_t n = blockIdx.x * THREADS + threadIdx.x, block = n / EIGHTHS;
    bool exists = block < s.grid.block_count, is_home = block < s.grid.home_count;
    int4 at = exists ? s.grid.at[block] : make_int4(0, 0, 0, 0);
    double nodes[3], cells[3], clearance;
    for (int a = 0; a < 3; a++) {
        nodes[a] = 2.0 * (n >> a & 1) + 0.5;
        cells[a] = 2.0 * (n >> a & 1) + 1 + s.origin;
    }
    collider_bits bits = exists ? bodies_near(s, at, nodes, 0.5, &clearance) : 0;
    bits = any_of_eighths(bits);
    if (exists)
        s.grid.node_bodies[block] = bits;
    bits = is_home ? bodies_near(s, at, cells, 2, &clearance) : 0; /* with a cell of drift */
    bits = any_of_eighths(bits);
    if (!is_home)
        return;
    s.grid.bodies[block] = bits;
    s.grid.clearance[n] = (float)(clearance / s.cell_size) - 1e-4f;
}

/* One thread a node. */
template <int WIDTH, bool APIC>
static __global__ void __launch_bounds__(THREADS) grid_kernel(const pass_view s)
{
    if (s.halted())
        return;
    uint32_t block = blockIdx.x * (THREADS / BLOCK_CELLS) + threadIdx.x / BLOCK_CELLS;
    int node = threadIdx.x % BLOCK_CELLS;
    bool exists = block < s.grid.block_count;
    bool wild = false;
    node_motion m = {};
    if (exists && !(s.planar && node >= 16)) {
        m = node_motion_of<APIC>(s, block, node);
        collider_bond bond = {};
        if (m.mass > 0 && s.bodies && s.grid.node_bodies[block])
            collide_node(s, s.grid.node_bodies[block], s.grid.at[block], node, &m.v, &bond);
        wild = node_is_wild<WIDTH>(s, m.v, m.mass);
        float4 *out = (float4 *)node_at(s.grid, block, node, APIC ? 16 : 32);
        vec u = vec_mad(m.v, -s.blend, m.v_old); /* what FLIP gathers */
        out[0] = make_float4(m.v.e[0], m.v.e[1], m.v.e[2], APIC ? 0 : u.e[0]);
        if (!APIC)
            out[1] = make_float4(u.e[1], u.e[2], 0, 0);
    }
    unsigned active = __ballot_sync(0xffffffffu, m.mass > 0);
    bool any_wild = __any_sync(0xffffffffu, wild),
         any_overflow = __any_sync(0xffffffffu, m.overflow);
    if ((threadIdx.x & 31) != 0 || !exists)
        return;
    s.grid.wild[2 * block + (node >= 32)] = any_wild; /* a block is two whole warps */
    if (active)
        atomicAdd(&s.out->active_nodes, (unsigned long long)__popc(active));
    if (any_wild)
        s.out->wild = 1;
    if (any_overflow)
        s.out->sums_overflow = 1;
}

#endif
