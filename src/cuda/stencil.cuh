/* Tiles of nodes in shared memory, and where a particle stands in one. */
#ifndef FIRN_CUDA_STENCIL_CUH
#define FIRN_CUDA_STENCIL_CUH

#include "cuda/fixed.cuh"
#include "cuda/launch.cuh"
#include "cuda/state.cuh"
#include "method/snow_law.h"
#include "method/spline.h"

enum { THREADS = 256 };

/*
 * The nodes that particles of one home reach, drifted by up to a cell: 4 + 2 + WIDTH - 1 along each axis, from the
 * block's first on. The strides let 32 particles in 32 cells of a block hit 32 different banks with one node of
 * their stencils each, and any 8 of them different 16-byte banks.
 */
template <int WIDTH, int DEPTH> struct tile_shape {
    static const int SIDE = WIDTH + 5;
    static const int LAYERS = DEPTH == 1 ? 1 : SIDE;
    static const int NODES = SIDE * SIDE * LAYERS;
    static const int BLOCKS = reach_side(WIDTH); /* along an axis */
    static const int Y = 12, Z = 112;
    static const int SIZE = DEPTH == 1 ? Y * SIDE : Z * SIDE;
    static const int CENTRE =
        1 + Y + (DEPTH == 1 ? 0 : Z); /* a stencil's heaviest node, nearly always */
};

/* What a particle adds at once is at most so much of what it has: to a node, or to rows of three nodes, which
 * P2G adds by running sums. */
static __host__ __device__ __forceinline__ float stencil_most_weight(int width, int depth)
{
    return width == 4 ? depth == 1 ? 0.4445f : 0.2963f : depth == 1 ? 0.7501f : 0.5626f;
}

/* The same of slopes, per cell, along any axis; of those that MLS fits. */
static __host__ __device__ __forceinline__ float stencil_most(int width, int depth, bool fits)
{
    const float cubic = fits ? 0.7468f : 0.6667f;
    return width == 4 ? cubic * (depth == 1 ? 0.6667f : 0.4445f) : depth == 1 ? 1.0001f : 0.7501f;
}

/* Where node `n` (counted through the tile) is in shared memory, and on the grid: the direction to its
 * block, and its number there. */
struct tile_node {
    int at, direction, node;
};

template <int WIDTH, int DEPTH>
static __device__ __forceinline__ tile_node tile_node_at(int x, int y, int z)
{
    using T = tile_shape<WIDTH, DEPTH>;
    tile_node t;
    t.at = x + T::Y * y + T::Z * z;
    t.direction = (x >> 2) + T::BLOCKS * (y >> 2) + T::BLOCKS * T::BLOCKS * (z >> 2);
    t.node = (x & 3) + 4 * (y & 3) + 16 * (z & 3);
    return t;
}

/* Tiles of whole blocks are counted through as these lie in memory. */
template <int WIDTH, int DEPTH> static __device__ __forceinline__ tile_node tile_node_of(uint32_t n)
{
    using T = tile_shape<WIDTH, DEPTH>;
    if constexpr (T::SIDE == 8) {
        const int node = n % (DEPTH == 1 ? 16 : 64), block = n / (DEPTH == 1 ? 16 : 64);
        return tile_node_at<WIDTH, DEPTH>((node & 3) + 4 * (block & 1),
                                          (node >> 2 & 3) + 4 * (block >> 1 & 1),
                                          (node >> 4) + 4 * (block >> 2));
    } else {
        const uint32_t side = T::SIDE;
        return tile_node_at<WIDTH, DEPTH>((int)(n % side), (int)(n / side % side),
                                          (int)(n / (side * side)));
    }
}

/* The nodes of a tile, shared out among the threads of a CUDA block. */
template <int WIDTH, int DEPTH, int COUNT, class WORK>
static __device__ __forceinline__ void for_tile(WORK work)
{
    const uint32_t nodes = tile_shape<WIDTH, DEPTH>::NODES, mine = threadIdx.x;
    __builtin_assume(mine < COUNT);
#pragma unroll
    for (uint32_t from = 0; from < nodes; from += COUNT)
        if (from + COUNT <= nodes || from + mine < nodes)
            work(tile_node_of<WIDTH, DEPTH>(from + mine));
}

static __device__ __forceinline__ char *node_at(const grid_view &grid, uint32_t block, int node,
                                                int node_bytes)
{
    return grid.nodes + ((size_t)block * BLOCK_CELLS + (size_t)node) * (size_t)node_bytes;
}

/* A home block and its particles. */
struct home {
    uint32_t block, first, count;

    __device__ __forceinline__ explicit home(uint4 entry)
        : block(entry.x), first(entry.y), count(entry.z)
    {
    }
};

/* The home of this CUDA block: those with most to do begin first, so that processors end together. */
static __device__ __forceinline__ home my_home(const grid_view &grid)
{
    return home(grid.list[blockIdx.x]);
}

/* The blocks that the home of a place in the list reaches: no need to know first which it is. */
template <int WIDTH>
static __device__ __forceinline__ const uint32_t *near_of(const grid_view &grid, uint32_t turn)
{
    return grid.near + turn * reach_count(WIDTH);
}

/* By the first threads. */
template <int WIDTH>
static __device__ __forceinline__ void near_load(const grid_view &grid, uint32_t turn,
                                                 uint32_t *near)
{
    if (threadIdx.x < reach_count(WIDTH))
        near[threadIdx.x] = near_of<WIDTH>(grid, turn)[threadIdx.x];
}

/* The slots of a home are shared out from the begin of a page on, at or before the first of them: then each access
 * of a warp goes to one page, and to whole lines of memory. */
static __device__ __forceinline__ uint32_t whole_page(uint32_t first)
{
    return first / PAGE_SLOTS * PAGE_SLOTS;
}

static __device__ __forceinline__ bool is_among(uint32_t slot, uint32_t first, uint32_t end)
{
    return slot >= first && slot < end;
}

/* Asks memory for arrays `from` .. `to` - 1 of the particles of a home, before the first is read: then most of
 * them wait for the second cache only. One lane of each warp in turn, for a page at a time. */
static __device__ __forceinline__ void ask_for(const particles_view &p, int from, int to,
                                               uint32_t first, uint32_t end)
{
#if defined(__NVCC__) && __CUDA_ARCH__ >= 900
    if (threadIdx.x % 32 == 0)
        for (uint32_t slot = whole_page(first) + threadIdx.x; slot < end; slot += blockDim.x)
            asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(&p[slot][from]),
                         "r"((to - from) * PAGE_SLOTS * (int)sizeof(float)));
#endif
}

/* Offset from the first cell of the home block, 2^PLACE_BITS a cell. */
struct place {
    int e[3];
};

static __device__ __forceinline__ place load_place(particle q)
{
    place at;
#pragma unroll
    for (int a = 0; a < 3; a++)
        at.e[a] = q.place(a);
    return at;
}

/* A particle's stencil: its first node in the tile, and weights and slopes along the axes. */
template <int WIDTH, int DEPTH> struct stencil {
    int cell[3];     /* of the home block, -1 .. 4 */
    float offset[3]; /* in that cell */
    real w[3][WIDTH], g[3][WIDTH];

    __device__ __forceinline__ stencil(const place &at)
    {
#pragma unroll
        for (int a = 0; a < 3; a++) {
            cell[a] = at.e[a] >> PLACE_BITS;
            offset[a] = (float)(at.e[a] & ((1 << PLACE_BITS) - 1)) * 0x1p-26f;
            if (a == 2 && DEPTH == 1) {
                w[2][0] = 1;
                g[2][0] = 0;
            } else if (WIDTH == 4) {
                cubic_weights(offset[a] + 1, w[a]);
                cubic_slopes(offset[a] + 1, g[a]);
                w[a][1] = 1 - (w[a][0] + w[a][3] + w[a][2]);
                g[a][1] = -(g[a][0] + g[a][3] + g[a][2]);
            } else {
                quadratic_weights(offset[a] + 0.5f, w[a]);
                quadratic_slopes(offset[a] + 0.5f, g[a]);
                w[a][1] = 1 - (w[a][0] + w[a][2]);
                g[a][1] = -(g[a][0] + g[a][2]);
            }
        }
    }

    __device__ __forceinline__ int first() const
    {
        using T = tile_shape<WIDTH, DEPTH>;
        return cell[0] + 1 + T::Y * (cell[1] + 1) + (DEPTH == 1 ? 0 : T::Z * (cell[2] + 1));
    }

    /* Node (i, j, k) of the stencil. */
    __device__ __forceinline__ tile_node node(int i, int j, int k) const
    {
        return tile_node_at<WIDTH, DEPTH>(cell[0] + 1 + i, cell[1] + 1 + j,
                                          DEPTH == 1 ? 0 : cell[2] + 1 + k);
    }

    /* From the particle to node k of an axis, in cells. */
    __device__ __forceinline__ float way(int axis, int k) const
    {
        if (axis == 2 && DEPTH == 1)
            return 0;
        return (float)k - (offset[axis] + (WIDTH == 4 ? 1.0f : 0.5f));
    }

    /* h^2 / D */
    static const int INV_D = WIDTH == 4 ? 3 : 4;

    /* Slopes as MLS has them. */
    __device__ __forceinline__ void fit_slopes()
    {
#pragma unroll
        for (int a = 0; a < (DEPTH == 1 ? 2 : 3); a++) {
#pragma unroll
            for (int k = 0; k < WIDTH; k++)
                g[a][k] = INV_D * w[a][k] * way(a, k);
            g[a][1] = -(g[a][0] + g[a][2] + (WIDTH == 4 ? g[a][WIDTH - 1] : 0));
        }
    }
};

/* The stencil of a particle, with the slopes of the transfer that is chosen. */
template <int WIDTH, int DEPTH>
static __device__ __forceinline__ stencil<WIDTH, DEPTH> stencil_of(const pass_view &s, particle q)
{
    stencil<WIDTH, DEPTH> at(load_place(q));
    if (s.fits)
        at.fit_slopes();
    return at;
}

static __device__ __forceinline__ mat load_mat(particle q, int first)
{
    mat m;
#pragma unroll
    for (int i = 0; i < 9; i++)
        m.m[i / 3][i % 3] = q[first + i];
    return m;
}

static __device__ __forceinline__ void store_mat(particle q, int first, const mat &m)
{
#pragma unroll
    for (int i = 0; i < 9; i++)
        q[first + i] = m.m[i / 3][i % 3];
}

static __device__ __forceinline__ vec load_velocity(particle q)
{
    vec v = {{q[V_X], q[V_Y], q[V_Z]}};
    return v;
}

/* Where a particle is, in metres. */
static __device__ __forceinline__ void place_of(const pass_view &s, int4 block, const place &at,
                                                double x[3])
{
    for (int a = 0; a < 3; a++) {
        double cells = home_begin(block, a) + s.origin + (double)at.e[a] * 0x1p-26;
        x[a] = a == 2 && s.planar ? 0 : cells * s.cell_size;
    }
}

/* Bits that order as the numbers do, and back. */
static __host__ __device__ __forceinline__ uint32_t ordered_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u & 0x80000000u ? ~u : u | 0x80000000u;
}

static __host__ __device__ __forceinline__ float of_ordered_bits(uint32_t u)
{
    u = u & 0x80000000u ? u & 0x7fffffffu : ~u;
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* The largest over a warp; by all its lanes. */
static __device__ __forceinline__ uint32_t warp_most(uint32_t value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xffffffffu, value);
#else
    for (int k = 16; k > 0; k >>= 1)
        value = max(value, __shfl_xor_sync(0xffffffffu, value, k));
    return value;
#endif
}

/* The largest of each thread's values to one place, through one atomic a warp at most. */
static __device__ __forceinline__ void raise(uint32_t *to, uint32_t value)
{
    value = warp_most(value);
    if ((threadIdx.x & 31) == 0 && value > *(volatile uint32_t *)to)
        atomicMax(to, value);
}

/* What strain.h says of F, rounded as written: see below. */
struct strain {
    mat E;
    float dilation, size;

    __device__ __forceinline__ explicit strain(const mat &F)
    {
        mat G = F;
        for (int i = 0; i < 3; i++)
            G.m[i][i] = __fadd_rn(F.m[i][i], -1.0f);
        float sides = 0, diagonal = 0;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j <= i; j++) {
                float e = __fadd_rn(G.m[i][j], G.m[j][i]);
                for (int k = 0; k < 3; k++)
                    e = __fmaf_rn(G.m[i][k], G.m[j][k], e);
                E.m[i][j] = E.m[j][i] = e;
                (i == j ? diagonal : sides) = __fmaf_rn(e, e, i == j ? diagonal : sides);
            }
        size = __fmaf_rn(2.0f, sides, diagonal);
        const float x = minor(G, 1, 2, 1, 2), y = minor(G, 0, 2, 0, 2), z = minor(G, 0, 1, 0, 1);
        float det = __fmul_rn(G.m[0][0], x);
        det = __fmaf_rn(G.m[0][1], minor(G, 1, 2, 2, 0), det);
        det = __fmaf_rn(G.m[0][2], minor(G, 1, 2, 0, 1), det);
        const float trace = __fadd_rn(__fadd_rn(G.m[0][0], G.m[1][1]), G.m[2][2]);
        dilation = __fadd_rn(trace, __fadd_rn(__fadd_rn(__fadd_rn(x, y), z), det));
    }

    static __device__ __forceinline__ float minor(const mat &G, int i, int k, int j, int l)
    {
        return __fmaf_rn(G.m[i][j], G.m[k][l], -__fmul_rn(G.m[i][l], G.m[k][j]));
    }

    __device__ __forceinline__ float J() const
    {
        return __fadd_rn(1.0f, dilation);
    }

    /*
     * The square of e in |V0 P F^T| <= m c^2 e: with b = F F^T, P F^T = 2 mu (b - sqrt b) + lambda (J - 1) J is
     * at most (2 mu + lambda) times the larger of |b - sqrt b|, which is about |b - I| / 2, and |J - 1| |J|.
     */
    __device__ __forceinline__ float square() const
    {
        const float volume = __fmaf_rn(dilation, dilation, dilation);
        return fmaxf(__fmul_rn(0.36f, size), __fmul_rn(volume, volume));
    }
};

/* Rounded the same way wherever it is computed, or a resumed run would choose another step. */
struct particle_limits {
    float speed2 = 0, wave2 = -INFINITY, stress = -INFINITY;
    float velocity[3] = {-INFINITY, -INFINITY, -INFINITY};
    float backward[3] = {-INFINITY, -INFINITY, -INFINITY};
    float affine = 0;

    __device__ __forceinline__ void add_velocity(const vec &v)
    {
        float square = __fmul_rn(v.e[0], v.e[0]);
        square = __fmaf_rn(v.e[1], v.e[1], square);
        square = __fmaf_rn(v.e[2], v.e[2], square);
        speed2 = fmaxf(speed2, square);
        for (int a = 0; a < 3; a++) {
            velocity[a] = fmaxf(velocity[a], v.e[a]);
            backward[a] = fmaxf(backward[a], -v.e[a]);
        }
    }

    __device__ __forceinline__ void add_stress(float log_wave2_soft, float xi, float J_P,
                                               const strain &e)
    {
        float exponent = __fmul_rn(xi, __fadd_rn(1.0f, -J_P));
        exponent = fminf(fmaxf(exponent, -(float)SNOW_HARDEN_LIMIT), (float)SNOW_HARDEN_LIMIT);
        float log_hard = __fadd_rn(log_wave2_soft, exponent);
        wave2 = fmaxf(wave2, log_hard);
        stress = fmaxf(stress, __fmaf_rn(0.5f, __logf(fmaxf(e.square(), 1e-37f)), log_hard));
    }

    /* sum_b |C_ab| (reach in metres), for B / h. */
    __device__ __forceinline__ void add_affine(const mat &B, float inv_D_reach)
    {
        float most = 0;
        for (int a = 0; a < 3; a++)
            most = fmaxf(
                most, __fadd_rn(__fadd_rn(fabsf(B.m[a][0]), fabsf(B.m[a][1])), fabsf(B.m[a][2])));
        affine = fmaxf(affine, __fmul_rn(most, inv_D_reach));
    }

    /* Where this lane of a warp tells one of the values. */
    static __device__ __forceinline__ uint32_t *told(outcome *out)
    {
        return &out->told[blockIdx.x % TOLD].line[threadIdx.x % 32];
    }

    /* Of F and J_P; all others are of velocities. */
    static __device__ __forceinline__ bool is_of_strain(int k)
    {
        return k == 1 || k == 2;
    }

    /* Those of velocities, of strains or both, by all lanes of a warp. `known` has been told, long ago perhaps: nobody
     * need tell less. */
    template <bool VELOCITIES, bool STRAINS>
    __device__ __forceinline__ void tell(outcome *out, uint32_t known) const
    {
        const uint32_t lane = threadIdx.x & 31;
        uint32_t mine = 0;
        const float value[PARTICLE_LIMITS] = {speed2,      wave2,       stress,      velocity[0],
                                              velocity[1], velocity[2], backward[0], backward[1],
                                              backward[2], affine};
#pragma unroll
        for (int k = 0; k < PARTICLE_LIMITS; k++) {
            if (!(is_of_strain(k) ? STRAINS : VELOCITIES))
                continue;
            bool is_signed = k != 0 && k != PARTICLE_LIMITS - 1;
            uint32_t bits = !is_signed             ? __float_as_uint(value[k])
                            : value[k] > -INFINITY ? ordered_bits(value[k])
                                                   : 0;
            uint32_t most = warp_most(bits);
            mine = lane == (uint32_t)k ? most : mine;
        }
        if (mine > known)
            atomicMax(told(out), mine);
    }
};

#endif
