/* Steps 7 to 10: from the grid back to particles, through a tile of velocities for each home block. */
#ifndef FIRN_CUDA_G2P_CUH
#define FIRN_CUDA_G2P_CUH

#include <cuda_pipeline.h>

#include "cuda/stencil.cuh"
#include "method/step07_deformation.h"

/* Threads of a CUDA block and blocks of a processor, tuned on an H200. */
enum { G2P_THREADS = 128, G2P_BLOCKS = 5 };
enum { COLLIDE_THREADS = 128, COLLIDE_BLOCKS = 528, TRY_BLOCKS = 264 };

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

/* The end of step 7 for a particle that yields. In 2D the third row and column stay as they are. */
static __device__ __forceinline__ deformation return_particle(const pass_view &s, const mat &F,
                                                              float J, float theta_c, float theta_s)
{
    deformation r = step07_return(F, J, theta_c, theta_s);
    for (int i = 0; i < 3 && s.planar; i++) {
        r.F_E.m[i][2] = F.m[i][2];
        r.F_E.m[2][i] = F.m[2][i];
    }
    return r;
}

static __device__ __forceinline__ bool is_slow(const pass_view &s, const vec &v)
{
    return vec_norm2(v) <= s.cell_speed() * s.cell_speed();
}

static __device__ __forceinline__ bool is_sound(float stretch, float J)
{
    return J > 0 && J <= FLT_MAX && stretch <= FLT_MAX;
}

static __device__ __forceinline__ uint32_t row_of(const pass_view &s, uint32_t k)
{
    return ((const uint32_t *)s.p.array[ROW])[k];
}

/* Step 9, for particles of a block that a body may reach: v, and a push out of it. */
static __device__ __noinline__ void collide_at(const pass_view &s, uint32_t block, place *at,
                                               vec *v)
{
    double x[3], shift[3] = {0, 0, 0};
    collider_bond bond = {};
    place_of(s, s.grid.at[block], *at, x);
    if (!collider_meet(s.bodies, s.grid.bodies[block], x, v, &bond, shift))
        return;
    for (int a = 0; a < (s.planar ? 2 : 3); a++)
        at->e[a] += __double2int_rn(shift[a] / s.cell_size * 0x1p26);
}

static __device__ __forceinline__ void store_velocity(const particles_view &p, uint32_t k,
                                                      const vec &v)
{
    for (int a = 0; a < 3; a++)
        p.array[V_X + a][k] = v.e[a];
}

/* Step 10. */
static __device__ __forceinline__ void move(const pass_view &s, uint32_t k, const vec &v, place at,
                                            particle_limits *limits)
{
    if (!is_slow(s, v)) {
        note_bad(s.out, row_of(s, k), v, 0, 1);
        return;
    }
    limits->add_velocity(v);
    float per_step = s.dt() * s.inv_h * 0x1p26f;
    bool drifted = false;
    for (int a = 0; a < 3; a++) {
        at.e[a] += __float2int_rn(v.e[a] * per_step);
        int cell = at.e[a] >> PLACE_BITS;
        drifted = drifted || cell < -1 || cell > 4;
        ((int *)s.p.array[AT_X + a])[k] = at.e[a];
    }
    store_velocity(s.p, k, v);
    if (drifted)
        s.out->drifted = 1;
}

static __device__ __forceinline__ bool sums_hold(const outcome *out)
{
    return !out->sums_overflow && !out->momentum_needed && !out->force_needed;
}

/* ---- Values on their way ----------------------------------------------------------------------- */

/*
 * What G2P reads of particles waits in shared memory, a column a thread, fetched while the thread is busy
 * with the particle before: G2P is bound by the time that memory takes to answer, and registers for values
 * on their way would cost more warps than they save.
 */
enum staged_value {
    STAGED_AT,
    STAGED_F = STAGED_AT + 3,
    STAGED_J_P = STAGED_F + 9,
    STAGED_XI,
    STAGED_THETA_C,
    STAGED_THETA_S,
    STAGED_LOG_WAVE2,
    STAGED_V, /* FLIP */
    STAGED_APIC = STAGED_V,
    STAGED_FLIP = STAGED_V + 3,
};

template <bool APIC> struct staged_particles {
    float value[APIC ? STAGED_APIC : STAGED_FLIP][G2P_THREADS];

    __device__ __forceinline__ void fetch(const particles_view &p, int first_array, int count,
                                          int to, uint32_t k)
    {
#pragma unroll
        for (int n = 0; n < count; n++)
            __pipeline_memcpy_async(&value[to + n][threadIdx.x], &p.array[first_array + n][k],
                                    sizeof(float));
    }

    __device__ __forceinline__ void fetch(const particles_view &p, uint32_t k)
    {
        fetch(p, AT_X, 3, STAGED_AT, k);
        fetch(p, F_FIRST, 10, STAGED_F, k); /* and J_P */
        fetch(p, XI, 4, STAGED_XI, k);      /* to LOG_WAVE2 */
        if (!APIC)
            fetch(p, V_X, 3, STAGED_V, k);
    }

    __device__ __forceinline__ float operator[](int n) const
    {
        return value[n][threadIdx.x];
    }

    __device__ __forceinline__ place at() const
    {
        place r;
        for (int a = 0; a < 3; a++)
            r.e[a] = __float_as_int(value[STAGED_AT + a][threadIdx.x]);
        return r;
    }

    __device__ __forceinline__ mat F() const
    {
        mat r;
        for (int n = 0; n < 9; n++)
            r.m[n / 3][n % 3] = value[STAGED_F + n][threadIdx.x];
        return r;
    }

    __device__ __forceinline__ vec v() const
    {
        const int first = APIC ? 0 : STAGED_V;
        vec r = {{value[first][threadIdx.x], value[first + 1][threadIdx.x],
                  value[first + 2][threadIdx.x]}};
        return r;
    }
};

template <int WIDTH, int DEPTH, bool APIC> struct g2p_memory {
    velocity_tile<WIDTH, DEPTH, APIC> tile;
    staged_particles<APIC> stage[2];
    uint32_t near[DIRECTIONS];
};

/* ---- Steps 7 to 10 ----------------------------------------------------------------------------- */

/* Whether a particle may be in a body, as far as the middle of its eighth of the block can tell. */
static __device__ __forceinline__ bool may_touch(const pass_view &s, uint32_t block,
                                                 const place &at)
{
    float away2 = 0;
    uint32_t eighth = 0;
    for (int a = 0; a < 3; a++) {
        bool upper = at.e[a] >= 2 << PLACE_BITS;
        float d = (float)at.e[a] * 0x1p-26f - (upper ? 3.0f : 1.0f);
        eighth |= (uint32_t)upper << a;
        away2 += a == 2 && s.planar ? 0 : d * d;
    }
    float clearance = s.grid.clearance[EIGHTHS * block + eighth];
    return !(clearance > 0 && away2 < clearance * clearance);
}

/* One particle. Whether it may touch a body: then collide_kernel goes on from step 9. */
template <int WIDTH, int DEPTH, bool APIC>
static __device__ __forceinline__ bool update(const pass_view &s, uint32_t block, bool meets,
                                              uint32_t k, const staged_particles<APIC> &stage,
                                              const velocity_tile<WIDTH, DEPTH, APIC> &tile,
                                              particle_limits *limits)
{
    gathered from = gather<WIDTH, DEPTH, APIC>(stencil<WIDTH, DEPTH>(stage.at()), tile);
    vec v = APIC ? from.v : vec_mad(from.v, s.blend, stage.v());
    bool touches = meets && may_touch(s, block, stage.at());
    if (touches)
        store_velocity(s.p, k, v);
    else
        move(s, k, v, stage.at(), limits);
    if (APIC) {
        limits->add_affine(from.B, (WIDTH == 4 ? 3.0f : 4.0f) * s.reach);
        store_mat(s.p, B_FIRST, k, from.B);
    }
    mat F = stage.F();
    float J = stage[STAGED_J_P], theta_c = stage[STAGED_THETA_C], theta_s = stage[STAGED_THETA_S];
    F = mat_mad(F, s.inv_h * s.dt(), mat_mul(from.grad, F));
    if (step07_yields(F, theta_c, theta_s)) {
        deformation r = return_particle(s, F, J, theta_c, theta_s);
        F = r.F_E;
        J = r.J_P;
        float stretch = mat_dot(F, F);
        if (!is_sound(stretch, J))
            note_bad(s.out, row_of(s, k), v, stretch, J);
        s.p.array[J_P][k] = J;
    }
    limits->add_stress(stage[STAGED_LOG_WAVE2], stage[STAGED_XI], J, F);
    store_mat(s.p, F_FIRST, k, F);
    return touches;
}

/* Add slots to the list of those that may touch a body; by all lanes of a warp. */
static __device__ __forceinline__ void list_touching(const pass_view &s, bool touches, uint32_t k)
{
    const uint32_t lane = threadIdx.x & 31, all = __ballot_sync(0xffffffffu, touches);
    if (all == 0)
        return;
    uint32_t first = 0;
    if (lane == 0)
        first = atomicAdd(&s.out->touching, (uint32_t)__popc(all));
    first = __shfl_sync(0xffffffffu, first, 0);
    if (touches)
        s.touching[first + (uint32_t)__popc(all & ((1u << lane) - 1))] = k;
}

/* Whether there is anything to do: not when sums overflowed, nor when a trial of wild nodes went wrong. */
static __device__ __forceinline__ bool g2p_is_due(const pass_view &s)
{
    return !s.halted() && sums_hold(s.out) && !(s.out->wild && s.out->bad_row_mark);
}

/* A home block a CUDA block. */
template <int WIDTH, int DEPTH, bool APIC>
static __global__ void __launch_bounds__(G2P_THREADS, G2P_BLOCKS) g2p_kernel(const pass_view s)
{
    __shared__ g2p_memory<WIDTH, DEPTH, APIC> shared;
    if (!g2p_is_due(s))
        return;
    const uint32_t block = blockIdx.x, first = s.grid.first[block], count = s.grid.count[block];
    const bool meets = s.bodies && s.grid.bodies[block];
    if (threadIdx.x < count)
        shared.stage[0].fetch(s.p, first + threadIdx.x);
    __pipeline_commit();
    near_load(s.grid, block, shared.near);
    __syncthreads();
    tile_load<WIDTH, DEPTH, APIC>(s, shared.near, shared.tile);
    __syncthreads();
    particle_limits limits;
    for (uint32_t from = 0, turn = 0; from < count; from += G2P_THREADS, turn ^= 1) {
        const uint32_t k = from + threadIdx.x;
        if (k + G2P_THREADS < count)
            shared.stage[turn ^ 1].fetch(s.p, first + k + G2P_THREADS);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        bool touches = false;
        if (k < count)
            touches = update(s, block, meets, first + k, shared.stage[turn], shared.tile, &limits);
        __syncwarp();
        if (meets)
            list_touching(s, touches, first + k);
    }
    limits.tell(&s.out->most);
}

/* Steps 9 and 10 of the particles that may touch a body: code for bodies takes so many registers that it
 * would slow down all the others. */
static __global__ void __launch_bounds__(COLLIDE_THREADS) collide_kernel(const pass_view s)
{
    if (!g2p_is_due(s))
        return;
    particle_limits limits;
    for (uint32_t n = blockIdx.x * COLLIDE_THREADS + threadIdx.x; n < s.out->touching;
         n += gridDim.x * COLLIDE_THREADS) {
        uint32_t k = s.touching[n];
        vec v = load_velocity(s.p, k);
        place at = load_place(s.p, k);
        collide_at(s, s.home[k], &at, &v);
        move(s, k, v, at, &limits);
    }
    __syncwarp();
    limits.tell(&s.out->most);
}

/* ---- On trial ---------------------------------------------------------------------------------- */

template <int WIDTH, int DEPTH, bool APIC>
static __device__ __forceinline__ void try_particle(const pass_view &s, uint32_t block, uint32_t k,
                                                    const velocity_tile<WIDTH, DEPTH, APIC> &tile)
{
    place at = load_place(s.p, k);
    gathered from = gather<WIDTH, DEPTH, APIC>(stencil<WIDTH, DEPTH>(at), tile);
    mat F = load_mat(s.p, F_FIRST, k);
    F = mat_mad(F, s.inv_h * s.dt(), mat_mul(from.grad, F));
    deformation r =
        return_particle(s, F, s.p.array[J_P][k], s.p.array[THETA_C][k], s.p.array[THETA_S][k]);
    vec v = APIC ? from.v : vec_mad(from.v, s.blend, load_velocity(s.p, k));
    if (s.bodies && s.grid.bodies[block])
        collide_at(s, block, &at, &v);
    float stretch = mat_dot(r.F_E, r.F_E);
    if (!(is_slow(s, v) && is_sound(stretch, r.J_P)))
        note_bad(s.out, row_of(s, k), v, stretch, r.J_P);
}

/* Whether the stencils of a block reach a wild node. */
static __device__ bool reaches_wild(const pass_view &s, const uint32_t *near)
{
    bool wild = false;
    if (threadIdx.x < DIRECTIONS && near[threadIdx.x] != NO_BLOCK)
        wild = ((const uint16_t *)s.grid.wild)[near[threadIdx.x]] != 0;
    return __syncthreads_or(wild);
}

/* Everything at once for the blocks that reach wild nodes, and no particle changes. */
template <int WIDTH, int DEPTH, bool APIC>
static __global__ void __launch_bounds__(THREADS, 2) try_kernel(const pass_view s)
{
    __shared__ velocity_tile<WIDTH, DEPTH, APIC> tile;
    __shared__ uint32_t near[DIRECTIONS];
    if (s.halted() || !s.out->wild || !sums_hold(s.out))
        return;
    for (uint32_t block = blockIdx.x; block < s.grid.home_count; block += gridDim.x) {
        __syncthreads();
        near_load(s.grid, block, near);
        __syncthreads();
        if (!reaches_wild(s, near))
            continue;
        tile_load<WIDTH, DEPTH, APIC>(s, near, tile);
        __syncthreads();
        uint32_t first = s.grid.first[block], end = first + s.grid.count[block];
        for (uint32_t k = first + threadIdx.x; k < end; k += blockDim.x)
            try_particle<WIDTH, DEPTH, APIC>(s, block, k, tile);
    }
}

#endif
