/* Gradients of a vector of the solve at particles, from a tile in shared memory; in float or in double. */
#ifndef FIRN_CUDA_SOLVE_TILE_CUH
#define FIRN_CUDA_SOLVE_TILE_CUH

#include "cuda/solve.cuh"

/* Apart, so that each is read without bank conflicts. */
template <int WIDTH, int DEPTH> struct vector_tile {
    float2 xy[tile_shape<WIDTH, DEPTH>::SIZE];
    float z[tile_shape<WIDTH, DEPTH>::SIZE];
    float inv_sqrt_m[tile_shape<WIDTH, DEPTH>::SIZE];
};

/* `frame` is taken from all velocities, so that nodes without mass, which hold 0, are not far from the
 * others. */
template <int WIDTH, int DEPTH>
static __device__ __forceinline__ void vector_load(const float4 *vector, const uint32_t *near,
                                                   const float frame[3],
                                                   vector_tile<WIDTH, DEPTH> &tile)
{
    using T = tile_shape<WIDTH, DEPTH>;
    for (int n = threadIdx.x; n < T::NODES; n += blockDim.x) {
        tile_node t = tile_node_of<WIDTH, DEPTH>(n);
        float4 q = vector[(size_t)near[t.direction] * BLOCK_CELLS + (size_t)t.node];
        if (q.w > 0) {
            q.x -= frame[0];
            q.y -= frame[1];
            q.z -= frame[2];
        }
        tile.xy[t.at] = make_float2(q.x, q.y);
        tile.z[t.at] = q.z;
        tile.inv_sqrt_m[t.at] = q.w;
    }
}

/* sum_k a_k v_k of weights or slopes: with the sum of all a_k known to be 1 or 0, from differences with the
 * second. Rounding is then that of the differences. */
template <int WIDTH>
static __device__ __forceinline__ vec mix_differences(vec sum, const real a[WIDTH],
                                                      const vec v[WIDTH])
{
#pragma unroll
    for (int k = 0; k < WIDTH; k++)
        if (k != 1)
            sum = vec_mad(sum, a[k], vec_sub(v[k], v[1]));
    return sum;
}

/* sum_i v_i (grad w_ip)^T, per cell. */
template <int WIDTH, int DEPTH>
static __device__ __forceinline__ mat gather_gradient(const stencil<WIDTH, DEPTH> &at,
                                                      const vector_tile<WIDTH, DEPTH> &tile)
{
    using T = tile_shape<WIDTH, DEPTH>;
    const int first = at.first();
    vec x = vec_zero(), y = vec_zero(), plane[DEPTH];
#pragma unroll
    for (int c = 0; c < DEPTH; c++) {
        vec row[WIDTH], along = vec_zero();
#pragma unroll
        for (int b = 0; b < WIDTH; b++) {
            vec v[WIDTH];
#pragma unroll
            for (int i = 0; i < WIDTH; i++) {
                int node = first + i + T::Y * b + T::Z * c;
                float2 xy = tile.xy[node];
                v[i] = {{xy.x, xy.y, tile.z[node]}};
            }
            row[b] = mix_differences<WIDTH>(v[1], at.w[0], v);
            along = vec_mad(along, at.w[1][b], mix_differences<WIDTH>(vec_zero(), at.g[0], v));
        }
        plane[c] = mix_differences<WIDTH>(row[1], at.w[1], row);
        x = vec_mad(x, at.w[2][c], along);
        y = vec_mad(y, at.w[2][c], mix_differences<WIDTH>(vec_zero(), at.g[1], row));
    }
    vec z = vec_zero();
    if constexpr (DEPTH > 1)
        z = mix_differences<WIDTH>(z, at.g[2], plane);
    return mat_of_columns(x, y, z);
}

/* A particle's Lame values times V0, hardened. */
static __device__ __forceinline__ lame hardened(const particles_view &p, uint32_t k)
{
    const particle q = p[k];
    real V0 = q[VOLUME];
    return snow_harden(q[MU0] * V0, q[LAMBDA0] * V0, q[XI], q[J_P]);
}

#endif
