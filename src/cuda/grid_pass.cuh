/* Steps 4 and 5: from sums to velocities, gravity and bodies; and which bodies are near. */
#ifndef FIRN_CUDA_GRID_PASS_CUH
#define FIRN_CUDA_GRID_PASS_CUH

#include "cuda/grid_node.cuh"

/* CUDA blocks a processor, with room for both kernels side by side. */
enum { GRID_BLOCKS = 6, GRID_BODIES_BLOCKS = 8 };

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
    if (s.in_row && s.halted())
        return;
    bool exists = block < s.grid.block_count, is_home = block < s.grid.home_count;
    int4 at = exists ? s.grid.at[block] : make_int4(0, 0, 0, 0);
    double nodes[3], cells[3], clearance;
    for (int a = 0; a < 3; a++) {
        nodes[a] = 2.0 * (n >> a & 1) + 0.5;
        cells[a] = HOME_SHIFT + 2.0 * (n >> a & 1) + 1 + s.origin;
    }
    collider_bits bits = exists ? bodies_near(s, at, nodes, 0.5, &clearance) : 0;
    bits = any_of_eighths(bits);
    if (exists)
        s.grid.node_bodies[block] = bits;
    if (bits && n % EIGHTHS == 0)
        s.grid.meeting[1 + atomicAdd(s.grid.meeting, 1)] = block;
    bits = is_home ? bodies_near(s, at, cells, 2, &clearance) : 0; /* with a cell of drift */
    bits = any_of_eighths(bits);
    if (!is_home)
        return;
    s.grid.bodies[block] = bits;
    s.grid.clearance[n] = (float)(clearance / s.cell_size) - 1e-4f;
}

/* The velocities of 32 nodes of a block, by the lanes of a warp: where the block has no such nodes (2D), they
 * have no mass. */
template <int WIDTH, bool AFFINE>
static __device__ __forceinline__ void finish_nodes(const pass_view &s, uint32_t block, int node,
                                                    const node_motion &m)
{
    if (!s.planar || node < 16) {
        float4 *out = (float4 *)node_at(s.grid, block, node, AFFINE ? 16 : 32);
        vec u = vec_mad(m.v, -s.blend, m.v_old); /* what FLIP gathers */
        out[0] = make_float4(m.v.e[0], m.v.e[1], m.v.e[2], AFFINE ? 0 : u.e[0]);
        if (!AFFINE)
            out[1] = make_float4(u.e[1], u.e[2], 0, 0);
    }
    bool any_wild = __any_sync(0xffffffffu, node_is_wild<WIDTH>(s, m.v, m.mass)),
         any_overflow = __any_sync(0xffffffffu, m.overflow);
    if ((threadIdx.x & 31) != 0)
        return;
    s.grid.wild[2 * block + (node >= 32)] = any_wild; /* a block is two whole warps */
    if (any_wild)
        s.out->wild = 1;
    if (any_overflow)
        s.out->sums_overflow = 1;
}

template <bool AFFINE>
static __device__ __forceinline__ node_motion load_motion(const pass_view &s, uint32_t block,
                                                          int node)
{
    return s.planar && node >= 16 ? node_motion{} : node_motion_of<AFFINE>(s, block, node);
}

/* Once P2G has told the largest values: whether the step is one for them. By a warp. */
static __device__ void judge_choice(const pass_view &s)
{
    const uint32_t lane = threadIdx.x & 31;
    const bool of_wave = lane < TOLD;
    const told_most &told = s.out->told[lane % TOLD];
    uint32_t most = __ldcg(of_wave ? &told.most.wave2 : &told.most.stress);
    for (int k = TOLD / 2; k > 0; k >>= 1)
        most = max(most, __shfl_xor_sync(0xffffffffu, most, k));
    const foreseen &limits = s.now->limits;
    const bool holds = of_wave ? most >= limits.least_wave2 && most <= limits.most_wave2
                               : most >= limits.least_stress && most <= limits.most_stress;
    if (__any_sync(0xffffffffu, !holds) && lane == 0)
        s.out->misjudged = 1;
}

/* One thread a node, of blocks that no body may reach. */
template <int WIDTH, bool AFFINE>
static __global__ void __launch_bounds__(THREADS) grid_kernel(const pass_view s)
{
    await_previous();
    if (s.halted())
        return;
    const uint32_t blocks = THREADS / BLOCK_CELLS;
    const int node = threadIdx.x % BLOCK_CELLS;
    uint32_t active = 0;
    for (uint32_t from = blockIdx.x * blocks; from < s.grid.block_count;
         from += gridDim.x * blocks) {
        const uint32_t block = from + threadIdx.x / BLOCK_CELLS;
        int mass = 0;
        if (block < s.grid.block_count && !(s.bodies && s.grid.node_bodies[block])) {
            node_motion m = load_motion<AFFINE>(s, block, node);
            finish_nodes<WIDTH, AFFINE>(s, block, node, m);
            mass = m.mass;
        }
        active += (uint32_t)__syncthreads_count(mass > 0);
    }
    if (s.fits && blockIdx.x == 0 && threadIdx.x < 32)
        judge_choice(s);
    if (threadIdx.x == 0 && active)
        atomicAdd(&s.out->active_nodes, (unsigned long long)active);
}

/* The blocks that a body may reach: code for bodies takes so many registers that it would slow down all the
 * others. It works beside grid_kernel: when that has begun, P2G has ended. */
template <int WIDTH, bool AFFINE>
static __global__ void __launch_bounds__(BLOCK_CELLS, GRID_BODIES_BLOCKS)
    grid_bodies_kernel(const pass_view s)
{
    const int node = threadIdx.x;
    const uint32_t count = s.halted() ? 0 : s.grid.meeting[0];
    for (uint32_t n = blockIdx.x; n < count; n += gridDim.x) {
        const uint32_t block = s.grid.meeting[1 + n];
        node_motion m = load_motion<AFFINE>(s, block, node);
        collider_bond bond = {};
        if (m.mass > 0)
            collide_node(s, s.grid.node_bodies[block], s.grid.at[block], node, &m.v, &bond);
        finish_nodes<WIDTH, AFFINE>(s, block, node, m);
        int active = __syncthreads_count(m.mass > 0);
        if (node == 0 && active)
            atomicAdd(&s.out->active_nodes, (unsigned long long)active);
    }
    await_previous();
}

#endif
