/* Steps 1 to 5 and 7 to 10: particles to the grid, the grid, and back. */
#include "cuda/stencil.cuh"
#include "method/step07_deformation.h"
#include "method/stress_series.h"

/* Threads of a CUDA block and blocks of a processor, tuned on an H200. */
enum { P2G_THREADS = 256, P2G_BLOCKS = 4, G2P_THREADS = 128, G2P_BLOCKS = 6 };
enum { BODY_BLOCKS = 264 };

/* ---- P2G: steps 1 and 3 ---------------------------------------------------------------------- */

/* Note what one particle would need of the range, when it is more than there is. */
static __device__ __forceinline__ void require(uint32_t *needed, float value, float scale)
{
    if (!(value <= FIXED_LARGEST))
        atomicMax(needed, __float_as_uint(value / scale));
}

/* Add to a node, and take it from what is left for the centre of the stencil: so that a particle gives
 * away its mass and momentum, and a force of sum 0, exactly. */
static __device__ __forceinline__ void add(int *node, float anchored, int *left)
{
    int value = fixed_of(anchored);
    *left -= value;
    atomicAdd(node, value);
}

static __device__ __forceinline__ float row_size(const mat &m, int a)
{
    return fabsf(m.m[a][0]) + fabsf(m.m[a][1]) + fabsf(m.m[a][2]);
}

static __device__ __forceinline__ vec framed_velocity(const pass_view &s, uint32_t k)
{
    vec frame = {{s.frame[0], s.frame[1], s.frame[2]}};
    return vec_sub(load_velocity(s.p, k), frame);
}

/* -dt V0 P F_E^T / h, in units of a sum; its columns go with the slopes along the axes. */
static __device__ __forceinline__ mat impulse_of(const pass_view &s, uint32_t k, float scale)
{
    const particles_view &p = s.p;
    mat F = load_mat(p, F_FIRST, k), E = stress_series_strain(F), stress;
    float V0 = p.array[VOLUME][k];
    lame hard = snow_harden(p.array[MU0][k] * V0, p.array[LAMBDA0][k] * V0, p.array[XI][k],
                            p.array[J_P][k]);
    if (stress_series_holds(&s.series, F, E)) {
        stress = stress_series(F, E, hard, &s.series);
    } else {
        svd d = svd_of(F);
        stress = snow_kirchhoff(d.U, d.sigma, hard);
    }
    return mat_scale(stress, -s.dt * s.inv_h * scale);
}

/* (m_i, m_i v_i) += w_ip (m, m v) and dt f_i += t grad w_ip, separately: FLIP needs v_i before forces. */
template <int WIDTH, int DEPTH>
static __device__ __forceinline__ void scatter_flip(const pass_view &s, uint32_t k, int *tile)
{
    using T = tile_shape<WIDTH, DEPTH>;
    const stencil<WIDTH, DEPTH> at(s.p, k);
    float m = s.p.array[MASS][k], M = m * s.mass_scale;
    vec P = vec_scale(framed_velocity(s, k), m * s.momentum_scale);
    mat t = impulse_of(s, k, s.force_scale);
    const float heaviest = stencil_most_weight(WIDTH, DEPTH), most = stencil_most(WIDTH, DEPTH);
    int left[7] = {__float2int_rn(M)};
    for (int a = 0; a < 3; a++) {
        require(&s.out->momentum_needed, heaviest * fabsf(P.e[a]), s.momentum_scale);
        require(&s.out->force_needed, most * row_size(t, a), s.force_scale);
        left[1 + a] = __float2int_rn(P.e[a]);
        left[4 + a] = 0;
    }
    int *first = tile + at.first();
#pragma unroll
    for (int c = 0; c < DEPTH; c++)
#pragma unroll
        for (int b = 0; b < WIDTH; b++) {
            float wyz = at.w[1][b] * at.w[2][c];
            float gw = at.g[1][b] * at.w[2][c], wg = at.w[1][b] * at.g[2][c];
            float X[3], YZ[3];
            for (int a = 0; a < 3; a++) {
                X[a] = wyz * t.m[a][0];
                YZ[a] = gw * t.m[a][1] + wg * t.m[a][2];
            }
#pragma unroll
            for (int i = 0; i < WIDTH; i++) {
                const int offset = i + T::Y * b + T::Z * c;
                if (offset == T::CENTRE)
                    continue;
                int *node = first + offset;
                float w = at.w[0][i] * wyz;
                add(node, fmaf(w, M, FIXED_ANCHOR), &left[0]);
                for (int a = 0; a < 3; a++) {
                    add(node + (1 + a) * T::SIZE, fmaf(w, P.e[a], FIXED_ANCHOR), &left[1 + a]);
                    add(node + (4 + a) * T::SIZE,
                        fmaf(at.w[0][i], YZ[a], fmaf(at.g[0][i], X[a], FIXED_ANCHOR)),
                        &left[4 + a]);
                }
            }
        }
    for (int a = 0; a < 7; a++)
        atomicAdd(first + T::CENTRE + a * T::SIZE, left[a]);
}

/* (m_i, m_i v_i + dt f_i) += w_ip (m, m v + m C (x_i - x_p)) + (0, t grad w_ip) */
template <int WIDTH, int DEPTH>
static __device__ __forceinline__ void scatter_apic(const pass_view &s, uint32_t k, int *tile)
{
    using T = tile_shape<WIDTH, DEPTH>;
    const stencil<WIDTH, DEPTH> at(s.p, k);
    float m = s.p.array[MASS][k], M = m * s.mass_scale, scale = m * s.momentum_scale;
    vec P = vec_scale(framed_velocity(s, k), scale);
    /* C (x_i - x_p) = (B / h) D^-1 h^2 d, d in cells */
    mat Q = mat_scale(load_mat(s.p, B_FIRST, k), (WIDTH == 4 ? 3.0f : 4.0f) * scale);
    mat t = impulse_of(s, k, s.momentum_scale);
    int left[4] = {__float2int_rn(M)};
    for (int a = 0; a < 3; a++) {
        float size = fabsf(P.e[a]) + row_size(Q, a) * s.reach;
        size =
            stencil_most_weight(WIDTH, DEPTH) * size + stencil_most(WIDTH, DEPTH) * row_size(t, a);
        require(&s.out->momentum_needed, size, s.momentum_scale);
        left[1 + a] = __float2int_rn(P.e[a]);
    }
    int *first = tile + at.first();
#pragma unroll
    for (int c = 0; c < DEPTH; c++)
#pragma unroll
        for (int b = 0; b < WIDTH; b++) {
            float wyz = at.w[1][b] * at.w[2][c];
            float gw = at.g[1][b] * at.w[2][c], wg = at.w[1][b] * at.g[2][c];
            float W[3], D[3], G[3]; /* what goes with w, w d and the slope along x */
            for (int a = 0; a < 3; a++) {
                float affine = P.e[a] + Q.m[a][1] * at.way(1, b) + Q.m[a][2] * at.way(2, c);
                W[a] = wyz * affine + gw * t.m[a][1] + wg * t.m[a][2];
                D[a] = wyz * Q.m[a][0];
                G[a] = wyz * t.m[a][0];
            }
#pragma unroll
            for (int i = 0; i < WIDTH; i++) {
                const int offset = i + T::Y * b + T::Z * c;
                if (offset == T::CENTRE)
                    continue;
                int *node = first + offset;
                add(node, fmaf(at.w[0][i] * wyz, M, FIXED_ANCHOR), &left[0]);
                for (int a = 0; a < 3; a++)
                    add(node + (1 + a) * T::SIZE,
                        fmaf(at.w[0][i], fmaf(at.way(0, i), D[a], W[a]),
                             fmaf(at.g[0][i], G[a], FIXED_ANCHOR)),
                        &left[1 + a]);
            }
        }
    for (int a = 0; a < 4; a++)
        atomicAdd(first + T::CENTRE + a * T::SIZE, left[a]);
}

/* Add a tile's sums to the grid, two at a time. */
template <int WIDTH, int DEPTH, bool APIC>
static __device__ __forceinline__ void tile_flush(const pass_view &s, const uint32_t *near,
                                                  const int *tile)
{
    using T = tile_shape<WIDTH, DEPTH>;
    const int node_bytes = APIC ? 16 : 32;
    for (int n = threadIdx.x; n < T::NODES; n += blockDim.x) {
        tile_node t = tile_node_of<WIDTH, DEPTH>(n);
        const int *sum = tile + t.at;
        unsigned long long *to =
            (unsigned long long *)node_at(s.grid, near[t.direction], t.node, node_bytes);
        int mass = sum[0];
        if (mass != 0 || sum[T::SIZE] != 0)
            atomicAdd(to, fixed_pair(mass, sum[T::SIZE]));
        if (sum[2 * T::SIZE] != 0 || sum[3 * T::SIZE] != 0)
            atomicAdd(to + 1, fixed_pair(sum[2 * T::SIZE], sum[3 * T::SIZE]));
        if (APIC)
            continue;
        if (sum[4 * T::SIZE] != 0 || sum[5 * T::SIZE] != 0)
            atomicAdd(to + 2, fixed_pair(sum[4 * T::SIZE], sum[5 * T::SIZE]));
        if (sum[6 * T::SIZE] != 0)
            atomicAdd(to + 3, fixed_pair(sum[6 * T::SIZE], 0));
    }
}

template <int WIDTH, int DEPTH, bool APIC>
static __global__ void __launch_bounds__(P2G_THREADS, P2G_BLOCKS) p2g_kernel(const pass_view s)
{
    using T = tile_shape<WIDTH, DEPTH>;
    __shared__ int tile[(APIC ? 4 : 7) * T::SIZE];
    __shared__ uint32_t near[DIRECTIONS];
    uint32_t block = blockIdx.x, first = s.grid.first[block], count = s.grid.count[block];
    if (threadIdx.x < DIRECTIONS)
        near[threadIdx.x] = s.grid.near[block * DIRECTIONS + threadIdx.x];
    for (int n = threadIdx.x; n < (APIC ? 4 : 7) * T::SIZE; n += P2G_THREADS)
        tile[n] = 0;
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < count; k += P2G_THREADS)
        if (APIC)
            scatter_apic<WIDTH, DEPTH>(s, first + k, tile);
        else
            scatter_flip<WIDTH, DEPTH>(s, first + k, tile);
    __syncthreads();
    tile_flush<WIDTH, DEPTH, APIC>(s, near, tile);
}

/* ---- The grid: steps 4 and 5 ------------------------------------------------------------------ */

static __device__ __forceinline__ bool too_large(int sum)
{
    return sum > FIXED_SUM_LIMIT || sum < -FIXED_SUM_LIMIT;
}

/* Bodies that may touch anything within `reach` cells, along each axis, of a place in a block. */
static __device__ collider_bits bodies_near(const pass_view &s, int4 at, double middle,
                                            double reach)
{
    double x[3] = {(4.0 * at.x + middle) * s.cell_size, (4.0 * at.y + middle) * s.cell_size,
                   s.planar ? 0 : (4.0 * at.z + middle) * s.cell_size};
    return collider_set_look(s.bodies, x, reach * sqrt(s.planar ? 2.0 : 3.0) * s.cell_size);
}

/* One thread a block. */
static __global__ void __launch_bounds__(THREADS) bodies_kernel(const pass_view s)
{
    uint32_t block = blockIdx.x * THREADS + threadIdx.x;
    if (block >= s.grid.block_count)
        return;
    int4 at = s.grid.at[block];
    s.grid.node_bodies[block] = bodies_near(s, at, 1.5, 1.5);
    if (block >= s.grid.home_count)
        return;
    collider_bits bodies = bodies_near(s, at, 2 + s.origin, 3); /* particles may have drifted */
    s.grid.bodies[block] = bodies;
    if (bodies)
        s.grid.body_list[1 + atomicAdd(s.grid.body_list, 1)] = block;
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

/* ---- G2P: steps 7 to 10 ----------------------------------------------------------------------- */

/* What a particle gathers: v is sum w v_i (APIC) or sum w (v_i - alpha v_i^n); grad per cell. */
struct gathered {
    vec v;
    mat grad, B;
};

/* Velocities of a tile: float4 (v, u_x), and float2 (u_y, u_z) for FLIP. */
template <int WIDTH, int DEPTH, bool APIC> struct velocity_tile {
    float4 v[tile_shape<WIDTH, DEPTH>::SIZE];
    float2 u[APIC ? 1 : tile_shape<WIDTH, DEPTH>::SIZE];
};

template <int WIDTH, int DEPTH, bool APIC>
static __device__ __forceinline__ void tile_load(const pass_view &s, const uint32_t *near,
                                                 velocity_tile<WIDTH, DEPTH, APIC> &tile)
{
    using T = tile_shape<WIDTH, DEPTH>;
    for (int n = threadIdx.x; n < T::NODES; n += blockDim.x) {
        tile_node t = tile_node_of<WIDTH, DEPTH>(n);
        const float4 *from =
            (const float4 *)node_at(s.grid, near[t.direction], t.node, APIC ? 16 : 32);
        tile.v[t.at] = from[0];
        if (!APIC)
            tile.u[t.at] = *(const float2 *)(from + 1);
    }
}

template <int WIDTH, int DEPTH, bool APIC>
static __device__ __forceinline__ gathered gather(const stencil<WIDTH, DEPTH> &at,
                                                  const velocity_tile<WIDTH, DEPTH, APIC> &tile)
{
    using T = tile_shape<WIDTH, DEPTH>;
    gathered r;
    r.v = vec_zero();
    r.grad = r.B = mat_zero();
    int first = at.first();
#pragma unroll
    for (int c = 0; c < DEPTH; c++)
#pragma unroll
        for (int b = 0; b < WIDTH; b++) {
            vec w = vec_zero(), g = vec_zero(),
                d = vec_zero(); /* sums along x; d is of u for FLIP */
#pragma unroll
            for (int i = 0; i < WIDTH; i++) {
                int node = first + i + T::Y * b + T::Z * c;
                float4 q = tile.v[node];
                vec v = {{q.x, q.y, q.z}};
                w = vec_mad(w, at.w[0][i], v);
                g = vec_mad(g, at.g[0][i], v);
                if (APIC) {
                    d = vec_mad(d, at.w[0][i] * at.way(0, i), v);
                } else {
                    float2 rest = tile.u[node];
                    vec u = {{q.w, rest.x, rest.y}};
                    d = vec_mad(d, at.w[0][i], u);
                }
            }
            float wyz = at.w[1][b] * at.w[2][c];
            float gw = at.g[1][b] * at.w[2][c], wg = at.w[1][b] * at.g[2][c];
            r.v = vec_mad(r.v, wyz, APIC ? w : d);
            for (int a = 0; a < 3; a++) {
                r.grad.m[a][0] += wyz * g.e[a];
                r.grad.m[a][1] += gw * w.e[a];
                r.grad.m[a][2] += wg * w.e[a];
                if (APIC) {
                    r.B.m[a][0] += wyz * d.e[a];
                    r.B.m[a][1] += wyz * at.way(1, b) * w.e[a];
                    r.B.m[a][2] += wyz * at.way(2, c) * w.e[a];
                }
            }
        }
    return r;
}

/* Note the first row that went wrong; once that is known, what of it. */
static __device__ __noinline__ void note_bad(outcome *out, uint32_t row, const vec &v,
                                             float stretch, float J)
{
    if (atomicMax(&out->bad_row_mark, ~row) != ~row)
        return;
    out->bad_speed = sqrtf(vec_norm2(v));
    out->bad_stretch = stretch;
    out->bad_J_P = J;
}

/* Step 7: F_E and J_P of a particle whose velocity gradient is known. */
static __device__ __forceinline__ void deform_particle(const pass_view &s, uint32_t k,
                                                       const mat &grad, mat *F, float *J)
{
    float theta_c = s.p.array[THETA_C][k], theta_s = s.p.array[THETA_S][k];
    *F = load_mat(s.p, F_FIRST, k);
    *J = s.p.array[J_P][k];
    *F = mat_mad(*F, s.inv_h * s.dt, mat_mul(grad, *F));
    if (!step07_yields(*F, theta_c, theta_s))
        return;
    deformation after = step07_return(*F, *J, theta_c, theta_s);
    *J = after.J_P;
    int axes = s.planar ? 2 : 3; /* in 2D the third row and column stay those of the identity */
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (i < axes && j < axes)
                F->m[i][j] = after.F_E.m[i][j];
}

/* Step 9, for particles of a block that a body may reach: v, and a push out of it. */
static __device__ __noinline__ void collide_at(const pass_view &s, uint32_t block, int at[3],
                                               vec *v)
{
    double x[3], shift[3] = {0, 0, 0};
    collider_bond bond = {};
    place_of(s, s.grid.at[block], at, x);
    if (!collider_meet(s.bodies, s.grid.bodies[block], x, v, &bond, shift))
        return;
    for (int a = 0; a < (s.planar ? 2 : 3); a++)
        at[a] += __double2int_rn(shift[a] / s.cell_size * 0x1p26);
}

template <int WIDTH, int DEPTH, bool APIC, bool BODIES>
static __device__ __forceinline__ void update(const pass_view &s, uint32_t block, uint32_t k,
                                              const velocity_tile<WIDTH, DEPTH, APIC> &tile,
                                              particle_limits *limits, bool *drifted)
{
    const stencil<WIDTH, DEPTH> stands(s.p, k);
    gathered from = gather<WIDTH, DEPTH, APIC>(stands, tile);
    mat F;
    float J;
    deform_particle(s, k, from.grad, &F, &J);
    vec v = APIC ? from.v : vec_mad(from.v, s.blend, load_velocity(s.p, k));
    int at[3];
    for (int a = 0; a < 3; a++)
        at[a] = ((const int *)s.p.array[AT_X + a])[k];
    if (BODIES)
        collide_at(s, block, at, &v);
    float stretch = mat_dot(F, F);
    bool good =
        vec_norm2(v) <= s.cell_speed * s.cell_speed && J > 0 && J <= FLT_MAX && stretch <= FLT_MAX;
    if (!good) {
        note_bad(s.out, ((const uint32_t *)s.p.array[ROW])[k], v, stretch, J);
        return;
    }
    if (s.trial)
        return;
    limits->add(v, s.p.array[LOG_WAVE2][k], s.p.array[XI][k], J, F);
    float per_step = s.dt * s.inv_h * 0x1p26f;
    for (int a = 0; a < 3; a++) {
        at[a] += __float2int_rn(v.e[a] * per_step);
        int cell = at[a] >> PLACE_BITS;
        *drifted = *drifted || cell < -1 || cell > 4;
        ((int *)s.p.array[AT_X + a])[k] = at[a];
        s.p.array[V_X + a][k] = v.e[a];
    }
    store_mat(s.p, F_FIRST, k, F);
    s.p.array[J_P][k] = J;
    if (APIC) {
        limits->add_affine(from.B, (WIDTH == 4 ? 3.0f : 4.0f) * s.reach);
        store_mat(s.p, B_FIRST, k, from.B);
    }
}

/* Whether the stencils of a block reach a wild node. */
static __device__ bool reaches_wild(const pass_view &s, const uint32_t *near)
{
    bool wild = false;
    if (threadIdx.x < DIRECTIONS && near[threadIdx.x] != NO_BLOCK)
        wild = ((const uint16_t *)s.grid.wild)[near[threadIdx.x]] != 0;
    return __syncthreads_or(wild);
}

template <int WIDTH, int DEPTH, bool APIC> struct g2p_memory {
    velocity_tile<WIDTH, DEPTH, APIC> tile;
    uint32_t near[DIRECTIONS];
};

template <int WIDTH, int DEPTH, bool APIC, bool BODIES>
static __device__ __forceinline__ void g2p_block(const pass_view &s, uint32_t block,
                                                 g2p_memory<WIDTH, DEPTH, APIC> &shared,
                                                 particle_limits *limits, bool *drifted)
{
    uint32_t first = s.grid.first[block], count = s.grid.count[block];
    if (threadIdx.x < DIRECTIONS)
        shared.near[threadIdx.x] = s.grid.near[block * DIRECTIONS + threadIdx.x];
    __syncthreads();
    if (s.trial && !reaches_wild(s, shared.near))
        return;
    tile_load<WIDTH, DEPTH, APIC>(s, shared.near, shared.tile);
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < count; k += blockDim.x)
        update<WIDTH, DEPTH, APIC, BODIES>(s, block, first + k, shared.tile, limits, drifted);
}

/* Whether there is anything to do: not when sums overflowed; where nodes are wild only on trial, or
 * after one that went well. */
static __device__ __forceinline__ bool g2p_is_due(const pass_view &s)
{
    return !s.out->sums_overflow && !s.out->momentum_needed && !s.out->force_needed &&
           (s.trial || s.tried || !s.out->wild);
}

static __device__ __forceinline__ void g2p_end(const pass_view &s, const particle_limits &limits,
                                               bool drifted, bool apic)
{
    if (s.trial)
        return;
    __syncwarp();
    limits.tell(s.out, apic);
    if (drifted)
        s.out->drifted = 1;
}

/* The blocks that no body reaches, one a CUDA block. */
template <int WIDTH, int DEPTH, bool APIC>
static __global__ void __launch_bounds__(G2P_THREADS, G2P_BLOCKS) g2p_kernel(const pass_view s)
{
    __shared__ g2p_memory<WIDTH, DEPTH, APIC> shared;
    if (!g2p_is_due(s) || (s.bodies && s.grid.bodies[blockIdx.x]))
        return;
    particle_limits limits;
    bool drifted = false;
    g2p_block<WIDTH, DEPTH, APIC, false>(s, blockIdx.x, shared, &limits, &drifted);
    g2p_end(s, limits, drifted, APIC);
}

/* The others: code for bodies needs many registers, so that blocks are slow even to start; few of them
 * share the work. */
template <int WIDTH, int DEPTH, bool APIC>
static __global__ void __launch_bounds__(THREADS, 2) g2p_bodies_kernel(const pass_view s)
{
    __shared__ g2p_memory<WIDTH, DEPTH, APIC> shared;
    if (!g2p_is_due(s))
        return;
    particle_limits limits;
    bool drifted = false;
    for (uint32_t n = blockIdx.x; n < s.grid.body_list[0]; n += gridDim.x) {
        __syncthreads();
        g2p_block<WIDTH, DEPTH, APIC, true>(s, s.grid.body_list[1 + n], shared, &limits, &drifted);
    }
    g2p_end(s, limits, drifted, APIC);
}

/* ---- Step 2 ----------------------------------------------------------------------------------- */

/* rho_p = sum_i m_i w_ip / h^d; once a run, so straight from the grid. */
template <int WIDTH, int DEPTH, bool APIC>
static __global__ void __launch_bounds__(THREADS) volumes_kernel(const pass_view s)
{
    uint32_t block = blockIdx.x, first = s.grid.first[block], count = s.grid.count[block];
    double cell_volume = s.cell_size * s.cell_size * (DEPTH == 1 ? 1 : s.cell_size);
    for (uint32_t k = first + threadIdx.x; k < first + count; k += THREADS) {
        const stencil<WIDTH, DEPTH> at(s.p, k);
        double mass = 0;
        for (int c = 0; c < DEPTH; c++)
            for (int b = 0; b < WIDTH; b++)
                for (int i = 0; i < WIDTH; i++) {
                    int n[3] = {at.cell[0] + i + 4, at.cell[1] + b + 4,
                                DEPTH == 1 ? 4 : at.cell[2] + c + 4};
                    int direction = (n[0] >> 2) + 3 * (n[1] >> 2) + 9 * (n[2] >> 2);
                    int node = (n[0] & 3) + 4 * (n[1] & 3) + 16 * (n[2] & 3);
                    uint32_t to = s.grid.near[block * DIRECTIONS + direction];
                    int sum =
                        fixed_low(*(unsigned long long *)node_at(s.grid, to, node, APIC ? 16 : 32));
                    mass += (double)at.w[0][i] * at.w[1][b] * at.w[2][c] * sum;
                }
        float m = s.p.array[MASS][k];
        s.p.array[VOLUME][k] = (float)(m * cell_volume / (mass / s.mass_scale));
    }
}

/* ---- The table -------------------------------------------------------------------------------- */

template <int WIDTH, int DEPTH, bool APIC> struct launch {
    static void p2g(const pass_view *s, cudaStream_t stream)
    {
        p2g_kernel<WIDTH, DEPTH, APIC><<<s->grid.home_count, P2G_THREADS, 0, stream>>>(*s);
    }
    static void grid(const pass_view *s, cudaStream_t stream)
    {
        const uint32_t blocks = THREADS / BLOCK_CELLS;
        grid_kernel<WIDTH, APIC>
            <<<(s->grid.block_count + blocks - 1) / blocks, THREADS, 0, stream>>>(*s);
    }
    static void g2p(const pass_view *s, cudaStream_t stream)
    {
        g2p_kernel<WIDTH, DEPTH, APIC><<<s->grid.home_count, G2P_THREADS, 0, stream>>>(*s);
        if (s->bodies)
            g2p_bodies_kernel<WIDTH, DEPTH, APIC><<<BODY_BLOCKS, THREADS, 0, stream>>>(*s);
    }
    static void volumes(const pass_view *s, cudaStream_t stream)
    {
        volumes_kernel<WIDTH, DEPTH, APIC><<<s->grid.home_count, THREADS, 0, stream>>>(*s);
    }
    static void bodies(const pass_view *s, cudaStream_t stream)
    {
        cudaMemsetAsync(s->grid.body_list, 0, sizeof *s->grid.body_list, stream);
        bodies_kernel<<<(s->grid.block_count + THREADS - 1) / THREADS, THREADS, 0, stream>>>(*s);
    }
    static kernels table()
    {
        kernels k = {p2g, grid, g2p, volumes, bodies};
        return k;
    }
};

kernels kernels_find(const firn_settings *settings)
{
    bool planar = settings->dimensions == 2, apic = settings->transfer == FIRN_APIC;
    if (settings->kernel == FIRN_CUBIC) {
        if (planar)
            return apic ? launch<4, 1, true>::table() : launch<4, 1, false>::table();
        return apic ? launch<4, 4, true>::table() : launch<4, 4, false>::table();
    }
    if (planar)
        return apic ? launch<3, 1, true>::table() : launch<3, 1, false>::table();
    return apic ? launch<3, 3, true>::table() : launch<3, 3, false>::table();
}
