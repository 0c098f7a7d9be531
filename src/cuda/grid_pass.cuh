/* Steps 4 and 5: from sums to velocities, gravity and bodies; and which bodies are near. */
#ifndef FIRN_CUDA_GRID_PASS_CUH
#define FIRN_CUDA_GRID_PASS_CUH

#include "cuda/stencil.cuh"

static __device__ __forceinline__ bool too_large(int sum)
{
    return sum > FIXED_SUM_LIMIT || sum < -FIXED_SUM_LIMIT;
}

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

/*
 * Whether a node may spoil particles (calm.h). m_i >= m_p w_ip, so a node much lighter than any particle
 * has next to no weight with each: with w_ip <= m_i / m_p its slope is at most (6 w)^(2/3) / 2 for cubic
 * splines and sqrt(2 w) for quadratic ones, and 64 such nodes are as one that is 64 times as fast.
 */
template <int WIDTH>
static __device__ __forceinline__ bool node_is_wild(const pass_view &s, const vec &v, int mass)
{
    float w = (float)mass * s.harmless;
    float slope = WIDTH == 4 ? 0.5f * cbrtf(36 * w * w) : sqrtf(2 * w);
    float share = fminf(1, 64 * slope);
    bool wild = false;
    for (int i = 0; i < 3; i++)
        wild = wild || !(share * fabsf(v.e[i]) <= s.calm);
    return wild;
}

static __device__ __forceinline__ void collide_node(const pass_view &s, collider_bits bodies,
                                                    int4 at, int node, vec *v)
{
    double x[3] = {(4.0 * at.x + (node & 3)) * s.cell_size,
                   (4.0 * at.y + (node >> 2 & 3)) * s.cell_size,
                   s.planar ? 0 : (4.0 * at.z + (node >> 4)) * s.cell_size};
    collider_bond bond = {};
    double shift[3] = {0, 0, 0};
    collider_meet(s.bodies, bodies, x, v, &bond, shift);
}

/* One thread a node. */
template <int WIDTH, bool APIC>
static __global__ void __launch_bounds__(THREADS) grid_kernel(const pass_view s)
{
    uint32_t block = blockIdx.x * (THREADS / BLOCK_CELLS) + threadIdx.x / BLOCK_CELLS;
    int node = threadIdx.x % BLOCK_CELLS;
    bool exists = block < s.grid.block_count;
    int mass = 0;
    bool overflow = false, wild = false;
    if (exists && !(s.planar && node >= 16)) {
        unsigned long long *sums =
            (unsigned long long *)node_at(s.grid, block, node, APIC ? 16 : 32);
        unsigned long long a = sums[0], b = sums[1];
        mass = fixed_low(a);
        int p[3] = {fixed_high(a), fixed_low(b), fixed_high(b)};
        overflow =
            mass < 0 || too_large(mass) || too_large(p[0]) || too_large(p[1]) || too_large(p[2]);
        vec v = vec_zero(), v_old = vec_zero();
        if (mass > 0) {
            float per_mass = s.mass_scale / (s.momentum_scale * (float)mass);
            for (int i = 0; i < 3; i++)
                v_old.e[i] = s.frame[i] + (float)p[i] * per_mass;
            v = v_old;
            if (!APIC) {
                unsigned long long c = sums[2], d = sums[3];
                int f[3] = {fixed_low(c), fixed_high(c), fixed_low(d)};
                float force_per_mass = s.mass_scale / (s.force_scale * (float)mass);
                for (int i = 0; i < 3; i++) {
                    overflow = overflow || too_large(f[i]);
                    v.e[i] += (float)f[i] * force_per_mass;
                }
            }
            for (int i = 0; i < 3; i++)
                v.e[i] += s.dt * s.gravity[i];
            if (s.planar)
                v.e[2] = v_old.e[2] = 0;
            if (s.bodies && s.grid.node_bodies[block])
                collide_node(s, s.grid.node_bodies[block], s.grid.at[block], node, &v);
        }
        wild = node_is_wild<WIDTH>(s, v, mass);
        float4 *out = (float4 *)sums;
        vec u = vec_mad(v, -s.blend, v_old); /* what FLIP gathers */
        out[0] = make_float4(v.e[0], v.e[1], v.e[2], APIC ? 0 : u.e[0]);
        if (!APIC)
            out[1] = make_float4(u.e[1], u.e[2], 0, 0);
    }
    unsigned active = __ballot_sync(0xffffffffu, mass > 0);
    bool any_wild = __any_sync(0xffffffffu, wild), any_overflow = __any_sync(0xffffffffu, overflow);
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
