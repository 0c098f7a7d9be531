/* A node of the grid between P2G and G2P: what its sums say, bodies that it meets, whether it is wild. */
#ifndef FIRN_CUDA_GRID_NODE_CUH
#define FIRN_CUDA_GRID_NODE_CUH

#include "cuda/stencil.cuh"

static __device__ __forceinline__ bool too_large(int sum)
{
    return sum > FIXED_SUM_LIMIT || sum < -FIXED_SUM_LIMIT;
}

/*
 * Whether a node may spoil particles (calm.h). m_i >= m_p w_ip, so a node much lighter than any particle
 * has next to no weight with each: with w_ip <= m_i / m_p its slope is at most (6 w)^(2/3) / 2 for cubic
 * splines and sqrt(2 w) for quadratic ones, and 64 such nodes are as one that is 64 times as fast.
 */
template <int WIDTH>
static __device__ __forceinline__ bool node_is_wild(const pass_view &s, const vec &v, int mass)
{
    float w = (float)mass * s.harmless();
    float slope = WIDTH == 4 ? 0.5f * cbrtf(36 * w * w) : sqrtf(2 * w);
    float share = fminf(1, 64 * slope);
    bool wild = false;
    for (int i = 0; i < 3; i++)
        wild = wild || !(share * fabsf(v.e[i]) <= s.calm());
    return wild;
}

static __device__ __forceinline__ void collide_node(const pass_view &s, collider_bits bodies,
                                                    int4 at, int node, vec *v, collider_bond *bond)
{
    double x[3] = {(4.0 * at.x + (node & 3)) * s.cell_size,
                   (4.0 * at.y + (node >> 2 & 3)) * s.cell_size,
                   s.planar ? 0 : (4.0 * at.z + (node >> 4)) * s.cell_size};
    double shift[3] = {0, 0, 0};
    collider_meet(s.bodies, bodies, x, v, bond, shift);
}

/*
 * What a node's sums say: its mass in their units, its velocity before and after forces. One that gets less than half a
 * unit has none, but still its weight with particles: it moves with the frame, as they nearly do. If it stood
 * still, a particle beside such nodes would lose some 1e-7 of its speed in each step.
 */
struct node_motion {
    int mass;
    bool overflow;
    vec v_old, v;
};

template <bool AFFINE>
static __device__ __forceinline__ node_motion node_motion_of(const pass_view &s, uint32_t block,
                                                             int node)
{
    const unsigned long long *sums =
        (const unsigned long long *)node_at(s.grid, block, node, AFFINE ? 16 : 32);
    unsigned long long a = sums[0], b = sums[1];
    int p[3] = {fixed_high(a), fixed_low(b), fixed_high(b)};
    node_motion m;
    m.mass = fixed_low(a);
    m.overflow =
        m.mass < 0 || too_large(m.mass) || too_large(p[0]) || too_large(p[1]) || too_large(p[2]);
    m.v_old = {{s.frame(0), s.frame(1), s.frame(2)}};
    if (m.mass > 0) {
        float per_mass = s.mass_scale() / (s.momentum_scale() * (float)m.mass);
        for (int i = 0; i < 3; i++)
            m.v_old.e[i] += (float)p[i] * per_mass;
    }
    m.v = m.v_old;
    if (!AFFINE && m.mass > 0) {
        unsigned long long c = sums[2], d = sums[3];
        int f[3] = {fixed_low(c), fixed_high(c), fixed_low(d)};
        float force_per_mass = s.mass_scale() / (s.force_scale() * (float)m.mass);
        for (int i = 0; i < 3; i++) {
            m.overflow = m.overflow || too_large(f[i]);
            m.v.e[i] += (float)f[i] * force_per_mass;
        }
    }
    for (int i = 0; i < 3; i++)
        m.v.e[i] += s.dt() * s.gravity[i];
    if (s.planar)
        m.v.e[2] = m.v_old.e[2] = 0;
    return m;
}

#endif
