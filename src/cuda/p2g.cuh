/* Steps 1 and 3: particles to the grid, through a tile of integer sums for each home block. */
#ifndef FIRN_CUDA_P2G_CUH
#define FIRN_CUDA_P2G_CUH

#include "cuda/stencil.cuh"
#include "method/stress_series.h"

/* Tuned on an H200. */
enum { P2G_THREADS = 256, P2G_BLOCKS = 4 };

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
    vec frame = {{s.frame(0), s.frame(1), s.frame(2)}};
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
    return mat_scale(stress, -s.dt() * s.inv_h * scale);
}

/* (m_i, m_i v_i) += w_ip (m, m v) and dt f_i += t grad w_ip, separately: FLIP needs v_i before forces. */
template <int WIDTH, int DEPTH>
static __device__ __forceinline__ void scatter_flip(const pass_view &s, uint32_t k, int *tile)
{
    using T = tile_shape<WIDTH, DEPTH>;
    const stencil<WIDTH, DEPTH> at(load_place(s.p, k));
    float m = s.p.array[MASS][k], M = m * s.mass_scale();
    vec P = vec_scale(framed_velocity(s, k), m * s.momentum_scale());
    mat t = impulse_of(s, k, s.force_scale());
    const float heaviest = stencil_most_weight(WIDTH, DEPTH), most = stencil_most(WIDTH, DEPTH);
    int left[7] = {__float2int_rn(M)};
    for (int a = 0; a < 3; a++) {
        require(&s.out->momentum_needed, heaviest * fabsf(P.e[a]), s.momentum_scale());
        require(&s.out->force_needed, most * row_size(t, a), s.force_scale());
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
    const stencil<WIDTH, DEPTH> at(load_place(s.p, k));
    float m = s.p.array[MASS][k], M = m * s.mass_scale(), scale = m * s.momentum_scale();
    vec P = vec_scale(framed_velocity(s, k), scale);
    /* C (x_i - x_p) = (B / h) D^-1 h^2 d, d in cells */
    mat Q = mat_scale(load_mat(s.p, B_FIRST, k), (WIDTH == 4 ? 3.0f : 4.0f) * scale);
    mat t = impulse_of(s, k, s.momentum_scale());
    int left[4] = {__float2int_rn(M)};
    for (int a = 0; a < 3; a++) {
        float size = fabsf(P.e[a]) + row_size(Q, a) * s.reach;
        size =
            stencil_most_weight(WIDTH, DEPTH) * size + stencil_most(WIDTH, DEPTH) * row_size(t, a);
        require(&s.out->momentum_needed, size, s.momentum_scale());
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
    if (s.halted())
        return;
    uint32_t block = blockIdx.x, first = s.grid.first[block], count = s.grid.count[block];
    near_load(s.grid, block, near);
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

#endif
