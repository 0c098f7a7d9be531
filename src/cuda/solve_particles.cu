/* Step 6 over particles: gather the gradient of a vector, turn it into a stress, scatter that. */
#include "cuda/grid_node.cuh"
#include "cuda/solve_tile.cuh"
#include "method/step06_solve.h"

/* Threads of a CUDA block and blocks of a processor, tuned on an H200. */
enum { APPLY_THREADS = 128, APPLY_BLOCKS = 6 };

/* ---- Tangents ---------------------------------------------------------------------------------- */

static __device__ __forceinline__ float *tangent_at(const solve_view &s, uint32_t slot, int k)
{
    return s.tangents + (size_t)k * s.tangent_stride + slot;
}

static __device__ __forceinline__ void store_tangent(const solve_view &s, uint32_t slot,
                                                     const step06_particle &H)
{
    int n = 0;
    for (int i = 0; i < 9; i++)
        *tangent_at(s, slot, n++) = H.U.m[i / 3][i % 3];
    for (int i = 0; i < 9; i++)
        *tangent_at(s, slot, n++) = H.B.m[i / 3][i % 3];
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++)
            *tangent_at(s, slot, n++) = H.c.stretch.m[i][j];
    for (int i = 0; i < 3; i++) {
        *tangent_at(s, slot, n++) = H.c.shear[i];
        *tangent_at(s, slot, n++) = H.c.twist[i];
    }
}

static __device__ __forceinline__ step06_particle load_tangent(const solve_view &s, uint32_t slot)
{
    step06_particle H;
    int n = 0;
#pragma unroll
    for (int i = 0; i < 9; i++)
        H.U.m[i / 3][i % 3] = *tangent_at(s, slot, n++);
#pragma unroll
    for (int i = 0; i < 9; i++)
        H.B.m[i / 3][i % 3] = *tangent_at(s, slot, n++);
#pragma unroll
    for (int i = 0; i < 3; i++)
#pragma unroll
        for (int j = i; j < 3; j++)
            H.c.stretch.m[i][j] = H.c.stretch.m[j][i] = *tangent_at(s, slot, n++);
#pragma unroll
    for (int i = 0; i < 3; i++) {
        H.c.shear[i] = *tangent_at(s, slot, n++);
        H.c.twist[i] = *tangent_at(s, slot, n++);
    }
    return H;
}

/* At F(v), or at F_E; gradients are per cell. */
template <int WIDTH, int DEPTH, bool AT_V>
static __global__ void __launch_bounds__(THREADS) prepare_kernel(const solve_view s, int vector)
{
    __shared__ vector_tile<AT_V ? WIDTH : 3, AT_V ? DEPTH : 1> tile;
    __shared__ uint32_t near[reach_count(WIDTH)];
    const particles_view &p = s.pass.p;
    const home mine = my_home(s.pass.grid);
    if constexpr (AT_V) {
        near_load<WIDTH>(s.pass.grid, blockIdx.x, near);
        __syncthreads();
        vector_load<WIDTH, DEPTH>(s.vector[vector], near, s.pass.now->frame, tile);
        __syncthreads();
    }
    for (uint32_t k = mine.first + threadIdx.x; k < mine.first + mine.count; k += THREADS) {
        mat F_E = load_mat(p[k], F_FIRST), F = F_E;
        if constexpr (AT_V) {
            const auto at = stencil_of<WIDTH, DEPTH>(s.pass, p[k]);
            mat grad = gather_gradient<WIDTH, DEPTH>(at, tile);
            F = mat_mad(F_E, s.step, mat_mul(grad, F_E));
        }
        lame hard = hardened(p, k);
        hard.mu *= s.pass.inv_h * s.pass.inv_h;
        hard.lambda *= s.pass.inv_h * s.pass.inv_h;
        store_tangent(s, k, step06_prepare(svd_of(F), F_E, hard, s.positive));
    }
}

/* ---- Sums -------------------------------------------------------------------------------------- */

/* One node's three sums, from a float that is within their range. */
template <int SIZE>
static __device__ __forceinline__ void add_push(int *node, const vec &push, float weight)
{
    for (int a = 0; a < 3; a++)
        atomicAdd(node + a * SIZE, fixed_of(fmaf(push.e[a], weight, FIXED_ANCHOR)));
}

static __device__ __forceinline__ float largest_of(const vec &a)
{
    return fmaxf(fmaxf(fabsf(a.e[0]), fabsf(a.e[1])), fabsf(a.e[2]));
}

template <int WIDTH, int DEPTH>
static __device__ __forceinline__ void push_flush(const uint32_t *near, const int *tile,
                                                  solve_sums *to)
{
    using T = tile_shape<WIDTH, DEPTH>;
    for (int n = threadIdx.x; n < T::NODES; n += blockDim.x) {
        tile_node t = tile_node_of<WIDTH, DEPTH>(n);
        const int *sum = tile + t.at;
        solve_sums *node = to + (size_t)near[t.direction] * BLOCK_CELLS + (size_t)t.node;
        if (sum[0] != 0 || sum[T::SIZE] != 0)
            atomicAdd(&node->xy, fixed_pair(sum[0], sum[T::SIZE]));
        if (sum[2 * T::SIZE] != 0)
            atomicAdd(&node->z, sum[2 * T::SIZE]);
    }
}

template <int WIDTH, int DEPTH> struct push_memory {
    vector_tile<WIDTH, DEPTH> tile;
    int sums[3 * tile_shape<WIDTH, DEPTH>::SIZE];
    uint32_t near[reach_count(WIDTH)];

    __device__ __forceinline__ void load(const solve_view &s, int vector, const float frame[3],
                                         bool clear)
    {
        near_load<WIDTH>(s.pass.grid, blockIdx.x, near);
        for (int n = threadIdx.x; clear && n < 3 * tile_shape<WIDTH, DEPTH>::SIZE; n += blockDim.x)
            sums[n] = 0;
        __syncthreads();
        vector_load<WIDTH, DEPTH>(s.vector[vector], near, frame, tile);
        __syncthreads();
    }
};

/* Where the largest contribution is noted: before sums with a unit, or along with them. */
static __device__ __forceinline__ void tell_largest(const solve_view &s, bool measure, float value)
{
    __syncwarp();
    raise(measure ? &s.control->expected : &s.control->largest, __float_as_uint(value));
}

/* Counted at the first nodes of stencils, whose sums are 0 before. */
template <int WIDTH, int DEPTH>
static __global__ void __launch_bounds__(THREADS) crowd_kernel(const solve_view s)
{
    const home mine = my_home(s.pass.grid);
    const uint32_t *near = near_of<WIDTH>(s.pass.grid, blockIdx.x);
    uint32_t most = 0;
    for (uint32_t k = mine.first + threadIdx.x; k < mine.first + mine.count; k += THREADS) {
        const tile_node n = stencil<WIDTH, DEPTH>(load_place(s.pass.p[k])).node(0, 0, 0);
        solve_sums *node = s.sums[0] + (size_t)near[n.direction] * BLOCK_CELLS + (size_t)n.node;
        most = max(most, (uint32_t)atomicAdd(&node->z, 1) + 1);
    }
    __syncwarp();
    raise(&s.control->densest, most);
}

/* ---- H z: equations (7) and (8) ------------------------------------------------------------------ */

/* T grad w_ip / sqrt(m_i) to the nodes; the largest entry of them. */
template <int WIDTH, int DEPTH, bool MEASURE>
static __device__ __forceinline__ float scatter_push(const stencil<WIDTH, DEPTH> &at, const mat &t,
                                                     push_memory<WIDTH, DEPTH> &shared)
{
    using T = tile_shape<WIDTH, DEPTH>;
    const int first = at.first();
    float largest = 0;
#pragma unroll
    for (int c = 0; c < DEPTH; c++)
#pragma unroll
        for (int b = 0; b < WIDTH; b++) {
            float wyz = at.w[1][b] * at.w[2][c];
            float gw = at.g[1][b] * at.w[2][c], wg = at.w[1][b] * at.g[2][c];
            vec X, YZ; /* what goes with slopes and weights along x */
            for (int a = 0; a < 3; a++) {
                X.e[a] = wyz * t.m[a][0];
                YZ.e[a] = gw * t.m[a][1] + wg * t.m[a][2];
            }
#pragma unroll
            for (int i = 0; i < WIDTH; i++) {
                int node = first + i + T::Y * b + T::Z * c;
                float weight = shared.tile.inv_sqrt_m[node];
                vec push = vec_mad(vec_scale(X, at.g[0][i]), at.w[0][i], YZ);
                largest = fmaxf(largest, weight * largest_of(push));
                if (!MEASURE)
                    add_push<T::SIZE>(shared.sums + node, push, weight);
            }
        }
    return largest;
}

template <int WIDTH, int DEPTH, bool MEASURE>
static __global__ void __launch_bounds__(APPLY_THREADS, APPLY_BLOCKS)
    apply_kernel(const solve_view s, int vector)
{
    __shared__ push_memory<WIDTH, DEPTH> shared;
    if (solve_has_ended(s))
        return;
    const float still[3] = {0, 0, 0}, unit = MEASURE ? 1 : solve_unit(s);
    const home mine = my_home(s.pass.grid);
    shared.load(s, vector, still, !MEASURE);
    float largest = 0;
    for (uint32_t k = mine.first + threadIdx.x; k < mine.first + mine.count; k += APPLY_THREADS) {
        const auto at = stencil_of<WIDTH, DEPTH>(s.pass, s.pass.p[k]);
        mat grad = gather_gradient<WIDTH, DEPTH>(at, shared.tile);
        step06_particle H = load_tangent(s, k);
        mat t = mat_scale(step06_apply(&H, grad), unit);
        largest = fmaxf(largest, scatter_push<WIDTH, DEPTH, MEASURE>(at, t, shared));
    }
    tell_largest(s, MEASURE, largest / unit);
    if (MEASURE)
        return;
    __syncthreads();
    push_flush<WIDTH, DEPTH>(shared.near, shared.sums, s.sums[0]);
}

/* ---- Diagonal blocks of M^-1 H ------------------------------------------------------------------- */

/* The diagonals of H_ii / m_i, or what is beside them, to the nodes; the largest entry. */
template <int WIDTH, int DEPTH, bool MEASURE>
static __device__ float scatter_blocks(const stencil<WIDTH, DEPTH> &at, const step06_particle &H,
                                       float unit, bool beside, push_memory<WIDTH, DEPTH> &shared)
{
    using T = tile_shape<WIDTH, DEPTH>;
    const int first = at.first();
    float largest = 0;
    for (int c = 0; c < DEPTH; c++)
        for (int b = 0; b < WIDTH; b++)
            for (int i = 0; i < WIDTH; i++) {
                int node = first + i + T::Y * b + T::Z * c;
                float weight = shared.tile.inv_sqrt_m[node];
                vec grad_w = {{at.g[0][i] * at.w[1][b] * at.w[2][c],
                               at.w[0][i] * at.g[1][b] * at.w[2][c],
                               at.w[0][i] * at.w[1][b] * at.g[2][c]}};
                mat N = step06_block(&H, grad_w);
                vec on = {{N.m[0][0], N.m[1][1], N.m[2][2]}};
                vec off = {{N.m[1][2], N.m[0][2], N.m[0][1]}};
                vec push = vec_scale(beside ? off : on, weight * unit);
                largest = fmaxf(largest, weight * largest_of(push));
                if (!MEASURE)
                    add_push<T::SIZE>(shared.sums + node, push, weight);
            }
    return largest;
}

template <int WIDTH, int DEPTH, bool MEASURE>
static __global__ void __launch_bounds__(THREADS) blocks_kernel(const solve_view s, bool beside)
{
    __shared__ push_memory<WIDTH, DEPTH> shared;
    const float still[3] = {0, 0, 0}, unit = MEASURE ? 1 : solve_unit(s);
    const home mine = my_home(s.pass.grid);
    shared.load(s, SOLVE_Z, still, !MEASURE);
    float largest = 0;
    for (uint32_t k = mine.first + threadIdx.x; k < mine.first + mine.count; k += THREADS) {
        const auto at = stencil_of<WIDTH, DEPTH>(s.pass, s.pass.p[k]);
        step06_particle H = load_tangent(s, k);
        largest =
            fmaxf(largest, scatter_blocks<WIDTH, DEPTH, MEASURE>(at, H, unit, beside, shared));
    }
    tell_largest(s, MEASURE, largest / unit);
    if (MEASURE)
        return;
    __syncthreads();
    push_flush<WIDTH, DEPTH>(shared.near, shared.sums, s.sums[0]);
}

/* ---- Before and after --------------------------------------------------------------------------- */

/* The velocity of a node near bodies; apart, so that the code for shapes is there once. */
static __device__ __noinline__ collider_bond meet_bodies(const pass_view &s, uint32_t block,
                                                         int node, vec *v)
{
    collider_bond bond = {};
    collide_node(s, s.grid.node_bodies[block], s.grid.at[block], node, v, &bond);
    return bond;
}

/* Where nodes stand among bodies before v* meets them; their masses; and v* before bodies, when Newton's
 * method asks. One thread a node. */
template <bool AFFINE>
static __global__ void __launch_bounds__(THREADS) note_kernel(const __grid_constant__ solve_view s)
{
    uint32_t block = blockIdx.x * (THREADS / BLOCK_CELLS) + threadIdx.x / BLOCK_CELLS;
    int node = threadIdx.x % BLOCK_CELLS;
    if (block >= s.pass.grid.block_count)
        return;
    size_t n = (size_t)block * BLOCK_CELLS + (size_t)node;
    node_motion m = {};
    if (!(s.pass.planar && node >= 16))
        m = node_motion_of<AFFINE>(s.pass, block, node);
    float inv_sqrt_m = m.mass > 0 ? 1 / sqrtf((float)m.mass / s.pass.mass_scale()) : 0;
    s.vector[SOLVE_Z][n] = make_float4(0, 0, 0, inv_sqrt_m);
    if (s.vector[SOLVE_U])
        s.vector[SOLVE_U][n] = make_float4(m.v.e[0], m.v.e[1], m.v.e[2], inv_sqrt_m);
    if (!near_bodies(s, block))
        return;
    collider_bond bond = {};
    if (m.mass > 0)
        bond = meet_bodies(s.pass, block, node, &m.v);
    s.vector[SOLVE_BOND][n] = make_float4((float)bond.normal[0], (float)bond.normal[1],
                                          (float)bond.normal[2], bond.held ? 0 : 1);
}

/* v^{n+1} = v* + x, and the same change of v^{n+1} - alpha v^n. Nodes that were leaving a body may have to
 * meet it again. One thread a node. */
template <int WIDTH, bool AFFINE>
static __global__ void __launch_bounds__(THREADS)
    solved_kernel(const __grid_constant__ solve_view s)
{
    uint32_t block = blockIdx.x * (THREADS / BLOCK_CELLS) + threadIdx.x / BLOCK_CELLS;
    int node = threadIdx.x % BLOCK_CELLS;
    bool exists = block < s.pass.grid.block_count, wild = false;
    if (exists && !(s.pass.planar && node >= 16)) {
        size_t n = (size_t)block * BLOCK_CELLS + (size_t)node;
        float4 *to = (float4 *)node_at(s.pass.grid, block, node, AFFINE ? 16 : 32);
        float4 star = to[0], x = s.vector[SOLVE_X][n];
        vec v = {{star.x + x.x, star.y + x.y, star.z + x.z}};
        float root = s.vector[SOLVE_Z][n].w, mass = root > 0 ? 1 / (root * root) : 0;
        if (mass > 0 && near_bodies(s, block))
            meet_bodies(s.pass, block, node, &v);
        wild = node_is_wild<WIDTH>(s.pass, v, __float2int_rn(mass * s.pass.mass_scale()));
        to[0] = make_float4(v.e[0], v.e[1], v.e[2], star.w + (AFFINE ? 0 : v.e[0] - star.x));
        if (!AFFINE) {
            float4 u = to[1];
            to[1] = make_float4(u.x + (v.e[1] - star.y), u.y + (v.e[2] - star.z), 0, 0);
        }
    }
    bool any_wild = __any_sync(0xffffffffu, wild);
    if ((threadIdx.x & 31) != 0 || !exists)
        return;
    s.pass.grid.wild[2 * block + (node >= 32)] = any_wild;
    if (any_wild)
        s.pass.out->wild = 1;
}

/* The first row of which a node has the largest residual. */
template <int WIDTH, int DEPTH>
static __global__ void __launch_bounds__(THREADS) stall_kernel(const solve_view s)
{
    const home mine = my_home(s.pass.grid);
    const uint32_t *near = near_of<WIDTH>(s.pass.grid, blockIdx.x);
    for (uint32_t k = mine.first + threadIdx.x; k < mine.first + mine.count; k += THREADS) {
        const auto at = stencil_of<WIDTH, DEPTH>(s.pass, s.pass.p[k]);
        bool stands = false;
        for (int c = 0; c < DEPTH; c++)
            for (int b = 0; b < WIDTH; b++)
                for (int i = 0; i < WIDTH; i++) {
                    const tile_node n = at.node(i, b, c);
                    float4 r = s.vector[SOLVE_AZ]
                                       [(size_t)near[n.direction] * BLOCK_CELLS + (size_t)n.node];
                    stands = stands || __float_as_uint(r.w) == s.control->worst;
                }
        if (stands)
            atomicMin(&s.control->bad_row, s.pass.p[k].row());
    }
}

/* ---- The table ----------------------------------------------------------------------------------- */

static unsigned node_groups(const solve_view *s)
{
    const uint32_t blocks = THREADS / BLOCK_CELLS;
    return (s->pass.grid.block_count + blocks - 1) / blocks;
}

template <int WIDTH, int DEPTH, bool AFFINE> struct launch {
    static void note(const solve_view *s, cudaStream_t stream)
    {
        note_kernel<AFFINE><<<node_groups(s), THREADS, 0, stream>>>(*s);
    }
    static void crowd(const solve_view *s, cudaStream_t stream)
    {
        crowd_kernel<WIDTH, DEPTH><<<s->pass.grid.home_count, THREADS, 0, stream>>>(*s);
    }
    static void prepare(const solve_view *s, int vector, cudaStream_t stream)
    {
        unsigned homes = s->pass.grid.home_count;
        if (vector < 0)
            prepare_kernel<WIDTH, DEPTH, false><<<homes, THREADS, 0, stream>>>(*s, vector);
        else
            prepare_kernel<WIDTH, DEPTH, true><<<homes, THREADS, 0, stream>>>(*s, vector);
    }
    static void apply(const solve_view *s, int vector, bool measure, cudaStream_t stream)
    {
        unsigned homes = s->pass.grid.home_count;
        if (measure)
            apply_kernel<WIDTH, DEPTH, true><<<homes, APPLY_THREADS, 0, stream>>>(*s, vector);
        else
            apply_kernel<WIDTH, DEPTH, false><<<homes, APPLY_THREADS, 0, stream>>>(*s, vector);
    }
    static void blocks(const solve_view *s, bool beside, bool measure, cudaStream_t stream)
    {
        unsigned homes = s->pass.grid.home_count;
        if (measure)
            blocks_kernel<WIDTH, DEPTH, true><<<homes, THREADS, 0, stream>>>(*s, beside);
        else
            blocks_kernel<WIDTH, DEPTH, false><<<homes, THREADS, 0, stream>>>(*s, beside);
    }
    static void solved(const solve_view *s, cudaStream_t stream)
    {
        solved_kernel<WIDTH, AFFINE><<<node_groups(s), THREADS, 0, stream>>>(*s);
    }
    static void stall(const solve_view *s, cudaStream_t stream)
    {
        stall_kernel<WIDTH, DEPTH><<<s->pass.grid.home_count, THREADS, 0, stream>>>(*s);
    }
    static solve_kernels table()
    {
        solve_kernels k = {};
        k.note = note;
        k.crowd = crowd;
        k.prepare = prepare;
        k.apply = apply;
        k.blocks = blocks;
        k.solved = solved;
        k.stall = stall;
        return k;
    }
};

template <int WIDTH, int DEPTH> static solve_kernels table_for(bool affine)
{
    return affine ? launch<WIDTH, DEPTH, true>::table() : launch<WIDTH, DEPTH, false>::table();
}

solve_kernels solve_kernels_find(const firn_settings *settings)
{
    bool planar = settings->dimensions == 2, affine = transfer_is_affine(settings->transfer);
    solve_kernels k = settings->kernel == FIRN_CUBIC
                          ? planar ? table_for<4, 1>(affine) : table_for<4, 4>(affine)
                      : planar ? table_for<3, 1>(affine)
                               : table_for<3, 3>(affine);
    newton_find(settings, &k);
    return k;
}
