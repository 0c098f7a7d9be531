/* Steps 7 and 8, as far as the grid goes: what a particle gathers from a tile of velocities. */
#ifndef FIRN_CUDA_GATHER_CUH
#define FIRN_CUDA_GATHER_CUH

#include <cuda_pipeline.h>

#include "cuda/stencil.cuh"

/* What a particle gathers: v is sum w v_i, or sum w (v_i - alpha v_i^n) for FLIP; grad per cell. */
struct gathered {
    vec v;
    mat grad, B;
};

/* Velocities of a tile: float4 (v, u_x), and float2 (u_y, u_z) for FLIP. */
template <int WIDTH, int DEPTH, bool AFFINE> struct velocity_tile {
    float4 v[tile_shape<WIDTH, DEPTH>::SIZE];
    float2 u[AFFINE ? 1 : tile_shape<WIDTH, DEPTH>::SIZE];
};

/* On its way, until the pipeline is waited for. */
template <int COUNT, int WIDTH, int DEPTH, bool AFFINE>
static __device__ __forceinline__ void tile_fetch(const pass_view &s, const uint32_t *near,
                                                  velocity_tile<WIDTH, DEPTH, AFFINE> &tile)
{
    for_tile<WIDTH, DEPTH, COUNT>([&](tile_node t) {
        const char *from = node_at(s.grid, near[t.direction], t.node, AFFINE ? 16 : 32);
        __pipeline_memcpy_async(&tile.v[t.at], from, sizeof(float4));
        if (!AFFINE)
            __pipeline_memcpy_async(&tile.u[t.at], from + sizeof(float4), sizeof(float2));
    });
    __pipeline_commit();
}

/*
 * Three values along an axis: their weighed sum w, s = v_2 - v_0 and c = v_0 - 2 v_1 + v_2. With u the way from
 * the middle node to the particle, quadratic splines have
 *     sum w v = v_1 + u/2 s + (u^2/2 + 1/8) c,   sum g v = s/2 + u c,   sum w d v = s/8 + (3/8 u - u^3/2) c,
 * so that slopes and moments are made of sums of s and c in the end, not at every node.
 */
struct quadratic_line {
    vec w, s, c;

    __device__ __forceinline__ quadratic_line(const vec v[3], float u)
    {
        s = vec_sub(v[2], v[0]);
        for (int a = 0; a < 3; a++)
            c.e[a] = fmaf(-2.0f, v[1].e[a], v[0].e[a] + v[2].e[a]); /* not as v_1 + v_1 */
        w = vec_mad(vec_mad(v[1], 0.5f * u, s), 0.5f * u * u + 0.125f, c);
    }
};

static __device__ __forceinline__ vec weighed(const real w[3], const vec v[3])
{
    return vec_mad(vec_mad(vec_scale(v[0], w[0]), w[1], v[1]), w[2], v[2]);
}

static __device__ __forceinline__ vec load_node(const float4 &node)
{
    return {{node.x, node.y, node.z}};
}

/*
 * With fitted slopes sum w v and sum w d v are all there is to know. As d = i - 1 - u, the latter is
 * w_2 v_2 - w_0 v_0 less u sum w v, which is left for the end.
 */
struct fitted_line {
    vec w, m;

    __device__ __forceinline__ fitted_line(const real w[3], const vec v[3])
    {
        const vec first = vec_scale(v[0], w[0]);
        m = vec_mad(vec_scale(first, -1), w[2], v[2]);
        this->w = vec_mad(vec_mad(first, w[1], v[1]), w[2], v[2]);
    }
};

template <int DEPTH>
static __device__ __forceinline__ gathered gather_fitted(const stencil<3, DEPTH> &at,
                                                         const velocity_tile<3, DEPTH, true> &tile)
{
    using T = tile_shape<3, DEPTH>;
    const float4 *first = tile.v + at.first();
    vec plane[3], plane_m[2][3]; /* sums over planes; m along x and y */
#pragma unroll
    for (int c = 0; c < DEPTH; c++) {
        vec row[3], row_m[3];
#pragma unroll
        for (int b = 0; b < 3; b++) {
            const float4 *node = first + T::Y * b + T::Z * c;
            const vec v[3] = {load_node(node[0]), load_node(node[1]), load_node(node[2])};
            const fitted_line x(at.w[0], v);
            row[b] = x.w;
            row_m[b] = x.m;
        }
        const fitted_line y(at.w[1], row);
        plane[c] = y.w;
        plane_m[0][c] = weighed(at.w[1], row_m);
        plane_m[1][c] = y.m;
    }
    gathered r;
    vec m[3] = {plane_m[0][0], plane_m[1][0], vec_zero()};
    r.v = plane[0];
    if constexpr (DEPTH == 3) {
        const fitted_line z(at.w[2], plane);
        r.v = z.w;
        m[0] = weighed(at.w[2], plane_m[0]);
        m[1] = weighed(at.w[2], plane_m[1]);
        m[2] = z.m;
    }
    for (int a = 0; a < 3; a++) {
        const float u = at.way(a, 1); /* -u, and 0 in a plane */
        for (int i = 0; i < 3; i++)
            r.B.m[i][a] = fmaf(u, r.v.e[i], m[a].e[i]);
    }
    r.grad = mat_scale(r.B, at.INV_D);
    return r;
}

template <bool FITS, int DEPTH, bool AFFINE>
static __device__ __forceinline__ gathered gather(const stencil<3, DEPTH> &at,
                                                  const velocity_tile<3, DEPTH, AFFINE> &tile)
{
    if constexpr (FITS)
        return gather_fitted(at, tile);
    using T = tile_shape<3, DEPTH>;
    const float u[3] = {at.offset[0] - 0.5f, at.offset[1] - 0.5f, at.offset[2] - 0.5f};
    const int first = at.first();
    vec plane[3], plane_s[2][3], plane_c[2][3],
        old[3]; /* sums over planes; s and c along x and y */
#pragma unroll
    for (int k = 0; k < DEPTH; k++) {
        vec row[3], row_s[3], row_c[3], old_row[3];
#pragma unroll
        for (int b = 0; b < 3; b++) {
            vec v[3], old_v[3];
#pragma unroll
            for (int i = 0; i < 3; i++) {
                int node = first + i + T::Y * b + T::Z * k;
                float4 q = tile.v[node];
                v[i] = load_node(q);
                if (!AFFINE) {
                    float2 rest = tile.u[node];
                    old_v[i] = {{q.w, rest.x, rest.y}};
                }
            }
            quadratic_line x(v, u[0]);
            row[b] = x.w;
            row_s[b] = x.s;
            row_c[b] = x.c;
            if (!AFFINE)
                old_row[b] = weighed(at.w[0], old_v);
        }
        quadratic_line y(row, u[1]);
        plane[k] = y.w;
        plane_s[1][k] = y.s;
        plane_c[1][k] = y.c;
        plane_s[0][k] = weighed(at.w[1], row_s);
        plane_c[0][k] = weighed(at.w[1], row_c);
        if (!AFFINE)
            old[k] = weighed(at.w[1], old_row);
    }
    vec s[3], c[3];
    gathered r;
    if constexpr (DEPTH == 1) {
        r.v = AFFINE ? plane[0] : old[0];
        for (int a = 0; a < 2; a++) {
            s[a] = plane_s[a][0];
            c[a] = plane_c[a][0];
        }
        s[2] = c[2] = vec_zero();
    } else {
        quadratic_line z(plane, u[2]);
        r.v = AFFINE ? z.w : weighed(at.w[2], old);
        for (int a = 0; a < 2; a++) {
            s[a] = weighed(at.w[2], plane_s[a]);
            c[a] = weighed(at.w[2], plane_c[a]);
        }
        s[2] = z.s;
        c[2] = z.c;
    }
    for (int a = 0; a < 3; a++) {
        float moment = u[a] * (0.375f - 0.5f * u[a] * u[a]);
        for (int i = 0; i < 3; i++) {
            r.grad.m[i][a] = 0.5f * s[a].e[i] + u[a] * c[a].e[i];
            r.B.m[i][a] = 0.125f * s[a].e[i] + moment * c[a].e[i];
        }
    }
    return r;
}

template <bool FITS, int DEPTH, bool AFFINE>
static __device__ __forceinline__ gathered gather(const stencil<4, DEPTH> &at,
                                                  const velocity_tile<4, DEPTH, AFFINE> &tile)
{
    const int WIDTH = 4;
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
                vec v = load_node(q);
                w = vec_mad(w, at.w[0][i], v);
                g = vec_mad(g, at.g[0][i], v);
                if (AFFINE) {
                    d = vec_mad(d, at.w[0][i] * at.way(0, i), v);
                } else {
                    float2 rest = tile.u[node];
                    vec u = {{q.w, rest.x, rest.y}};
                    d = vec_mad(d, at.w[0][i], u);
                }
            }
            float wyz = at.w[1][b] * at.w[2][c];
            float gw = at.g[1][b] * at.w[2][c], wg = at.w[1][b] * at.g[2][c];
            r.v = vec_mad(r.v, wyz, AFFINE ? w : d);
            for (int a = 0; a < 3; a++) {
                r.grad.m[a][0] += wyz * g.e[a];
                r.grad.m[a][1] += gw * w.e[a];
                r.grad.m[a][2] += wg * w.e[a];
                if (AFFINE) {
                    r.B.m[a][0] += wyz * d.e[a];
                    r.B.m[a][1] += wyz * at.way(1, b) * w.e[a];
                    r.B.m[a][2] += wyz * at.way(2, c) * w.e[a];
                }
            }
        }
    if (FITS)
        r.grad = mat_scale(r.B, at.INV_D);
    return r;
}

#endif
