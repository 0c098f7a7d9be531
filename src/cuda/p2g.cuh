/* Steps 1 and 3: particles to the grid, through a tile of integer sums for each home block. */
#ifndef FIRN_CUDA_P2G_CUH
#define FIRN_CUDA_P2G_CUH

#include <cuda_pipeline.h>

#include "cuda/deform.cuh"
#include "method/stress_series.h"
#include "method/svd.h"

/* Threads of a CUDA block and blocks of a processor, tuned on an H200. */
template <int WIDTH, bool AFFINE, bool FITS> struct p2g_shape {
    static const int THREADS = WIDTH == 3 && AFFINE ? 128 : 256;
    static const int BLOCKS = WIDTH == 4 || !AFFINE ? FITS ? 3 : 4 : FITS ? 6 : 8;
};

/* Note what one particle would need of the range, when it is more than there is. */
static __device__ __forceinline__ void require(uint32_t *needed, float value, float scale)
{
    if (!(value <= FIXED_LARGEST))
        atomicMax(needed, __float_as_uint(value / scale));
}

/* The same of three, which nearly always fit. */
static __device__ __forceinline__ void require(uint32_t *needed, const float value[3], float scale)
{
    if ((value[0] <= FIXED_LARGEST) & (value[1] <= FIXED_LARGEST) & (value[2] <= FIXED_LARGEST))
        return;
    for (int a = 0; a < 3; a++)
        require(needed, value[a], scale);
}

/*
 * Adds to the nodes of a row along x: value(i, sum, sign) is `sum` with sign times the contribution of node
 * i. What they miss of a particle's total is left for the centre of the stencil, so that it gives away its
 * mass and momentum, and a force of sum 0, exactly.
 *
 * Rows of three nodes go by running sums, for which fewer instructions do: the last node takes from the whole
 * of the row, the first gives, and the second gets what is between, so that the anchor cancels. Rows of four
 * gain nothing by it, and their sums would need half a bit more of the range.
 */
template <int WIDTH, class VALUE>
static __device__ __forceinline__ void add_row(int *node, bool has_centre, float whole,
                                               uint32_t *left, VALUE value)
{
    if constexpr (WIDTH == 3) {
        int all = __float_as_int(whole), first = __float_as_int(value(0, FIXED_ANCHOR, 1.0f)),
            both = __float_as_int(value(2, whole, -1.0f));
        *left -= (uint32_t)all; /* and anchors: start_left */
        atomicAdd(node, first - FIXED_ANCHOR_BITS);
        atomicAdd(node + 2, all - both);
        if (has_centre)
            *left += (uint32_t)(both - first);
        else
            atomicAdd(node + 1, both - first);
    } else {
#pragma unroll
        for (int i = 0; i < WIDTH; i++) {
            if (has_centre && i == 1)
                continue;
            int part = fixed_of(value(i, FIXED_ANCHOR, 1.0f));
            *left -= (uint32_t)part;
            atomicAdd(node + i, part);
        }
    }
}

/* What a particle has to give in all, before its rows are added. */
template <int WIDTH, int DEPTH> static __device__ __forceinline__ uint32_t start_left(float whole)
{
    const uint32_t anchors = WIDTH == 3 ? WIDTH * DEPTH * (uint32_t)FIXED_ANCHOR_BITS : 0;
    return (uint32_t)__float2int_rn(whole) + anchors;
}

/* The rest, to the centre. */
template <int COUNT>
static __device__ __forceinline__ void add_left(int *centre, int stride,
                                                const uint32_t (&left)[COUNT])
{
#pragma unroll
    for (int a = 0; a < COUNT; a++)
        atomicAdd(centre + a * stride, (int)left[a]);
}

static __device__ __forceinline__ float row_size(const mat &m, int a)
{
    return fabsf(m.m[a][0]) + fabsf(m.m[a][1]) + fabsf(m.m[a][2]);
}

/* What is read of a particle: before any of it is written, or what is left to read would have to wait for that. */
template <bool AFFINE> struct giver {
    place at;
    float mass;
    vec v;
    mat B, F;
    lame soft; /* of its volume */
    float xi, J_P;

    __device__ __forceinline__ explicit giver(particle q)
    {
        at = load_place(q);
        mass = q[MASS];
        v = load_velocity(q);
        if (AFFINE)
            B = load_mat(q, B_FIRST);
        F = load_mat(q, F_FIRST);
        const float V0 = q[VOLUME];
        soft = {q[MU0] * V0, q[LAMBDA0] * V0};
        xi = q[XI];
        J_P = q[::J_P];
    }

    __device__ __forceinline__ vec framed_velocity(const pass_view &s) const
    {
        vec frame = {{s.frame(0), s.frame(1), s.frame(2)}};
        return vec_sub(v, frame);
    }
};

/* -dt V0 P F_E^T / h, in units of a sum; its columns go with the slopes along the axes. */
template <bool AFFINE>
static __device__ __forceinline__ mat impulse_of(const pass_view &s, const giver<AFFINE> &from,
                                                 const strain &e, float scale)
{
    const float kick = -s.dt() * s.inv_h * scale;
    const lame hard = snow_harden(from.soft.mu, from.soft.lambda, from.xi, from.J_P);
    mat stress;
    if (stress_series_holds(&s.series, e.size, e.dilation)) {
        stress = stress_series(e.E, e.dilation, hard, &s.series);
    } else {
        svd d = svd_of(from.F);
        stress = snow_kirchhoff(d.U, d.sigma, hard);
    }
    return mat_scale(stress, kick);
}

/* Sums of one channel: w_ip x in a row whose other weights have the product wyz. */
template <int WIDTH, int DEPTH>
static __device__ __forceinline__ void add_weighed(const stencil<WIDTH, DEPTH> &at, int *node,
                                                   bool has_centre, float wyz, float x,
                                                   uint32_t *left)
{
    float part = wyz * x;
    add_row<WIDTH>(node, has_centre, FIXED_ANCHOR + part, left, [&](int i, float sum, float sign) {
        return fmaf(sign * at.w[0][i], part, sum);
    });
}

/* The same of x whose shares w x along x are known. */
template <int WIDTH>
static __device__ __forceinline__ void
add_shares(const float share[WIDTH], int *node, bool has_centre, float wyz, float x, uint32_t *left)
{
    add_row<WIDTH>(node, has_centre, fmaf(wyz, x, FIXED_ANCHOR), left,
                   [&](int i, float sum, float sign) { return fmaf(sign * wyz, share[i], sum); });
}

/* (m_i, m_i v_i) += w_ip (m, m v) and dt f_i += t grad w_ip, separately: FLIP needs v_i before forces. */
template <int WIDTH, int DEPTH>
static __device__ __forceinline__ void scatter_flip(const pass_view &s, const giver<false> &from,
                                                    int *tile)
{
    using T = tile_shape<WIDTH, DEPTH>;
    const stencil<WIDTH, DEPTH> at(from.at);
    float m = from.mass, M = m * s.mass_scale();
    vec P = vec_scale(from.framed_velocity(s), m * s.momentum_scale());
    mat t = impulse_of(s, from, strain(from.F), s.force_scale());
    const float heaviest = stencil_most_weight(WIDTH, DEPTH),
                most = stencil_most(WIDTH, DEPTH, false);
    uint32_t left[7] = {start_left<WIDTH, DEPTH>(M)};
    float momentum[3], force[3];
    for (int a = 0; a < 3; a++) {
        momentum[a] = heaviest * fabsf(P.e[a]);
        force[a] = most * row_size(t, a);
        left[1 + a] = start_left<WIDTH, DEPTH>(P.e[a]);
        left[4 + a] = start_left<WIDTH, DEPTH>(0);
    }
    require(&s.out->momentum_needed, momentum, s.momentum_scale());
    require(&s.out->force_needed, force, s.force_scale());
    int *first = tile + at.first();
#pragma unroll
    for (int c = 0; c < DEPTH; c++)
#pragma unroll
        for (int b = 0; b < WIDTH; b++) {
            const int offset = T::Y * b + T::Z * c;
            const bool has_centre = offset + 1 == T::CENTRE;
            int *node = first + offset;
            float wyz = at.w[1][b] * at.w[2][c];
            float gw = at.g[1][b] * at.w[2][c], wg = at.w[1][b] * at.g[2][c];
            add_weighed(at, node, has_centre, wyz, M, &left[0]);
            for (int a = 0; a < 3; a++) {
                node += T::SIZE;
                add_weighed(at, node, has_centre, wyz, P.e[a], &left[1 + a]);
                float X = wyz * t.m[a][0], YZ = gw * t.m[a][1] + wg * t.m[a][2];
                add_row<WIDTH>(node + 3 * T::SIZE, has_centre, FIXED_ANCHOR + YZ, &left[4 + a],
                               [&](int i, float sum, float sign) {
                                   sum = fmaf(sign * at.g[0][i], X, sum);
                                   return fmaf(sign * at.w[0][i], YZ, sum);
                               });
            }
        }
    add_left(first + T::CENTRE, T::SIZE, left);
}

/* Along an axis, what goes to node i beside its weight's share: w d Q + g t, of columns of both. Of sum 0. */
template <int WIDTH, int DEPTH>
static __device__ __forceinline__ vec tilt(const stencil<WIDTH, DEPTH> &at, int axis, int i,
                                           const mat &Q, const mat &t)
{
    vec r = vec_scale(mat_column(Q, axis), at.w[axis][i] * at.way(axis, i));
    return vec_mad(r, at.g[axis][i], mat_column(t, axis));
}

/* To the nodes of a stencil: M, and P with what tilts it, Q with the way and t with the slopes. */
template <int WIDTH, int DEPTH>
static __device__ __forceinline__ void add_tilted(const stencil<WIDTH, DEPTH> &at, float M,
                                                  const vec &P, const mat &Q, const mat &t,
                                                  int *first, uint32_t left[4])
{
    using T = tile_shape<WIDTH, DEPTH>;
    vec along_x[WIDTH], along_y[WIDTH];
#pragma unroll
    for (int i = 0; i < WIDTH; i++) {
        along_x[i] = tilt(at, 0, i, Q, t);
        along_y[i] = tilt(at, 1, i, Q, t);
    }
#pragma unroll
    for (int c = 0; c < DEPTH; c++) {
        vec plane = DEPTH == 1 ? P : vec_mad(tilt(at, 2, c, Q, t), at.w[2][c], P);
#pragma unroll
        for (int b = 0; b < WIDTH; b++) {
            const int offset = T::Y * b + T::Z * c;
            const bool has_centre = offset + 1 == T::CENTRE;
            int *node = first + offset;
            float wyz = at.w[1][b] * at.w[2][c];
            add_weighed(at, node, has_centre, wyz, M, &left[0]);
            for (int a = 0; a < 3; a++) {
                node += T::SIZE;
                float row = at.w[1][b] * plane.e[a] + at.w[2][c] * along_y[b].e[a];
                add_row<WIDTH>(node, has_centre, FIXED_ANCHOR + row, &left[1 + a],
                               [&](int i, float sum, float sign) {
                                   /* Rows of four have the time to round once only. */
                                   float part = sign * wyz * along_x[i].e[a], w = sign * at.w[0][i];
                                   return WIDTH == 4 ? sum + fmaf(w, row, part)
                                                     : fmaf(w, row, sum + part);
                               });
            }
        }
    }
}

/* The same with fitted slopes, of which t is a part of Q: w (P + Q d). */
template <int WIDTH, int DEPTH>
static __device__ __forceinline__ void add_fitted(const stencil<WIDTH, DEPTH> &at, float M,
                                                  const vec &P, const mat &Q, int *first,
                                                  uint32_t left[4])
{
    using T = tile_shape<WIDTH, DEPTH>;
    float mass[WIDTH];
    vec along[WIDTH]; /* of both, what depends on x alone */
#pragma unroll
    for (int i = 0; i < WIDTH; i++) {
        mass[i] = at.w[0][i] * M;
        along[i] = vec_scale(mat_column(Q, 0), at.w[0][i] * at.way(0, i));
    }
#pragma unroll
    for (int c = 0; c < DEPTH; c++) {
        const vec plane = vec_mad(P, at.way(2, c), mat_column(Q, 2));
#pragma unroll
        for (int b = 0; b < WIDTH; b++) {
            const int offset = T::Y * b + T::Z * c;
            const bool has_centre = offset + 1 == T::CENTRE;
            int *node = first + offset;
            const float wyz = at.w[1][b] * at.w[2][c];
            const vec row = vec_mad(plane, at.way(1, b), mat_column(Q, 1));
            add_shares<WIDTH>(mass, node, has_centre, wyz, M, &left[0]);
            for (int a = 0; a < 3; a++) {
                node += T::SIZE;
                add_row<WIDTH>(node, has_centre, fmaf(wyz, row.e[a], FIXED_ANCHOR), &left[1 + a],
                               [&](int i, float sum, float sign) {
                                   float share = fmaf(at.w[0][i], row.e[a], along[i].e[a]);
                                   return fmaf(sign * wyz, share, sum);
                               });
            }
        }
    }
}

/* (m_i, m_i v_i + dt f_i) += w_ip (m, m v + m C (x_i - x_p)) + (0, t grad w_ip) */
template <int WIDTH, int DEPTH, bool FITS>
static __device__ __forceinline__ void scatter_affine(const pass_view &s, const giver<true> &from,
                                                      const strain &e, int *tile)
{
    using T = tile_shape<WIDTH, DEPTH>;
    const stencil<WIDTH, DEPTH> at(from.at);
    float m = from.mass, M = m * s.mass_scale(), scale = m * s.momentum_scale();
    vec P = vec_scale(from.framed_velocity(s), scale);
    /* C (x_i - x_p) = (B / h) D^-1 h^2 d, d in cells */
    mat Q = mat_scale(from.B, at.INV_D * scale);
    mat t = impulse_of(s, from, e, s.momentum_scale());
    if (FITS)
        Q = mat_mad(Q, at.INV_D, t);
    const float heaviest = stencil_most_weight(WIDTH, DEPTH),
                most = stencil_most(WIDTH, DEPTH, FITS);
    uint32_t left[4] = {start_left<WIDTH, DEPTH>(M)};
    float size[3];
    for (int a = 0; a < 3; a++) {
        size[a] =
            FITS ? heaviest * fabsf(P.e[a]) + most / at.INV_D * row_size(Q, a)
                 : heaviest * (fabsf(P.e[a]) + row_size(Q, a) * s.reach) + most * row_size(t, a);
        left[1 + a] = start_left<WIDTH, DEPTH>(P.e[a]);
    }
    require(&s.out->momentum_needed, size, s.momentum_scale());
    int *first = tile + at.first();
    if constexpr (FITS)
        add_fitted(at, M, P, Q, first, left);
    else
        add_tilted(at, M, P, Q, t, first, left);
    add_left(first + T::CENTRE, T::SIZE, left);
}

/* Step 7 of the step before, where that is owed; then the same. The slopes of v are B / D. */
template <int WIDTH, int DEPTH>
static __device__ __forceinline__ void settle_and_scatter(const pass_view &s, particle q, int *tile,
                                                          particle_limits *limits)
{
    const float theta_c = q[THETA_C], theta_s = q[THETA_S], wave2 = q[LOG_WAVE2];
    giver<true> from(q);
    const float owed = s.owed(), cells = stencil<WIDTH, DEPTH>::INV_D * s.inv_h * owed;
    const strain e = owed > 0 ? step_7(s, q, 0, cells, from.B, theta_c, theta_s, &from.F, &from.J_P)
                              : strain(from.F);
    limits->add_stress(wave2, from.xi, from.J_P, e);
    if (owed > 0)
        store_mat(q, F_FIRST, from.F);
    if (!s.settles)
        scatter_affine<WIDTH, DEPTH, true>(s, from, e, tile);
}

/* The blocks that my_home reaches, on their way until the pipeline is waited for. */
template <int WIDTH>
static __device__ __forceinline__ void near_fetch(const grid_view &grid, uint32_t *near)
{
    if (threadIdx.x < reach_count(WIDTH))
        __pipeline_memcpy_async(&near[threadIdx.x], near_of<WIDTH>(grid, blockIdx.x) + threadIdx.x,
                                sizeof *near);
    __pipeline_commit();
}

/* Add a tile's sums to the grid, two at a time. */
template <int WIDTH, int DEPTH, bool AFFINE, bool FITS>
static __device__ __forceinline__ void tile_flush(const pass_view &s, const uint32_t *near,
                                                  const int *tile)
{
    const int size = tile_shape<WIDTH, DEPTH>::SIZE, node_bytes = AFFINE ? 16 : 32;
    for_tile<WIDTH, DEPTH, p2g_shape<WIDTH, AFFINE, FITS>::THREADS>([&](tile_node t) {
        const int *sum = tile + t.at;
        unsigned long long *to =
            (unsigned long long *)node_at(s.grid, near[t.direction], t.node, node_bytes);
#pragma unroll
        for (int k = 0; k < (AFFINE ? 2 : 4); k++) {
            int low = sum[2 * k * size], high = k < 3 ? sum[(2 * k + 1) * size] : 0;
            if ((low | high) != 0)
                atomicAdd(to + k, fixed_pair(low, high));
        }
    });
}

template <int WIDTH, int DEPTH, bool AFFINE, bool FITS>
static __global__ void __launch_bounds__(p2g_shape<WIDTH, AFFINE, FITS>::THREADS,
                                         p2g_shape<WIDTH, AFFINE, FITS>::BLOCKS)
    p2g_kernel(const pass_view s)
{
    const int threads = p2g_shape<WIDTH, AFFINE, FITS>::THREADS,
              quads = (AFFINE ? 4 : 7) * tile_shape<WIDTH, DEPTH>::SIZE / 4;
    __shared__ __align__(16) int tile[4 * quads];
    __shared__ uint32_t near[reach_count(WIDTH)];
    const home mine = my_home(s.grid);
    near_fetch<WIDTH>(s.grid, near); /* for the end */
#pragma unroll
    for (int n = 0; n < quads; n += threads)
        if (n + threads <= quads || n + (int)threadIdx.x < quads)
            ((int4 *)tile)[n + (int)threadIdx.x] = make_int4(0, 0, 0, 0);
    await_previous();
    if (s.halted())
        return;
    const uint32_t known = FITS ? *(volatile uint32_t *)particle_limits::told(s.out) : 0;
    __syncthreads();
    const uint32_t end = mine.first + mine.count, begin = whole_page(mine.first);
    particle_limits limits;
    for (uint32_t k = begin + threadIdx.x; k < end; k += threads) {
        if (k < mine.first)
            continue;
        if constexpr (FITS) {
            settle_and_scatter<WIDTH, DEPTH>(s, s.p[k], tile, &limits);
        } else if constexpr (AFFINE) {
            const giver<true> from(s.p[k]);
            scatter_affine<WIDTH, DEPTH, false>(s, from, strain(from.F), tile);
        } else {
            scatter_flip<WIDTH, DEPTH>(s, giver<false>(s.p[k]), tile);
        }
    }
    if (FITS) {
        __syncwarp();
        if (begin + (threadIdx.x & ~31u) < end) /* else this warp met nobody */
            limits.tell<false, true>(s.out, known);
    }
    __pipeline_wait_prior(0);
    if (s.settles)
        return;
    __syncthreads();
    tile_flush<WIDTH, DEPTH, AFFINE, FITS>(s, near, tile);
}

#endif
