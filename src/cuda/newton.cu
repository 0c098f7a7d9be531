/* Energies and forces at F(v) = (I + dt grad v) F_E in double, for Newton's method: its line search compares
 * energies that agree in all but their last digits. */
#define REAL_DOUBLE
#include "cuda/solve_tile.cuh"
#include "method/snow_law.h"
#include "method/svd.h"

enum { NEWTON_THREADS = 128 };

template <int WIDTH, int DEPTH> struct newton_memory {
    vector_tile<WIDTH, DEPTH> tile;
    int sums[2][3 * tile_shape<WIDTH, DEPTH>::SIZE];
    uint32_t near[reach_count(WIDTH)];

    __device__ __forceinline__ void load(const solve_view &s)
    {
        near_load<WIDTH>(s.pass.grid, blockIdx.x, near);
        for (int n = threadIdx.x; n < 3 * tile_shape<WIDTH, DEPTH>::SIZE; n += blockDim.x)
            sums[0][n] = sums[1][n] = 0;
        __syncthreads();
        vector_load<WIDTH, DEPTH>(s.vector[SOLVE_V], near, s.pass.now->frame, tile);
        __syncthreads();
    }
};

template <int WIDTH, int DEPTH>
static __device__ __forceinline__ mat deformed(const solve_view &s, const stencil<WIDTH, DEPTH> &at,
                                               const mat &F_E,
                                               const vector_tile<WIDTH, DEPTH> &tile)
{
    mat grad = gather_gradient<WIDTH, DEPTH>(at, tile);
    return mat_mad(F_E, s.pass.dt() / s.pass.cell_size, mat_mul(grad, F_E));
}

/* ---- Forces ------------------------------------------------------------------------------------- */

/* To the nearest unit, and what is left of it in finer ones. */
static __device__ __forceinline__ void add_fine(int *coarse, int *fine, double value)
{
    int whole = __double2int_rn(value);
    atomicAdd(coarse, whole);
    atomicAdd(fine, __double2int_rn((value - whole) * (1 << FINE_BITS)));
}

/* T grad w_ip / sqrt(m_i) to the nodes; the largest entry of them. */
template <int WIDTH, int DEPTH, bool MEASURE>
static __device__ double scatter_force(const stencil<WIDTH, DEPTH> &at, const mat &t, double unit,
                                       newton_memory<WIDTH, DEPTH> &shared)
{
    using T = tile_shape<WIDTH, DEPTH>;
    const int first = at.first();
    double largest = 0;
    for (int c = 0; c < DEPTH; c++)
        for (int b = 0; b < WIDTH; b++)
            for (int i = 0; i < WIDTH; i++) {
                int node = first + i + T::Y * b + T::Z * c;
                vec grad_w = {{at.g[0][i] * at.w[1][b] * at.w[2][c],
                               at.w[0][i] * at.g[1][b] * at.w[2][c],
                               at.w[0][i] * at.w[1][b] * at.g[2][c]}};
                vec push = vec_scale(mat_vec(t, grad_w), shared.tile.inv_sqrt_m[node]);
                for (int a = 0; a < 3; a++) {
                    largest = fmax(largest, fabs(push.e[a]));
                    if (!MEASURE)
                        add_fine(&shared.sums[0][node + a * T::SIZE],
                                 &shared.sums[1][node + a * T::SIZE], push.e[a] * unit);
                }
            }
    return largest;
}

template <int WIDTH, int DEPTH>
static __device__ __forceinline__ void force_flush(const solve_view &s,
                                                   const newton_memory<WIDTH, DEPTH> &shared)
{
    using T = tile_shape<WIDTH, DEPTH>;
    for (int n = threadIdx.x; n < T::NODES; n += blockDim.x) {
        tile_node t = tile_node_of<WIDTH, DEPTH>(n);
        size_t to = (size_t)shared.near[t.direction] * BLOCK_CELLS + (size_t)t.node;
        for (int part = 0; part < 2; part++) {
            const int *sum = shared.sums[part] + t.at;
            atomicAdd(&s.sums[part][to].xy, fixed_pair(sum[0], sum[T::SIZE]));
            atomicAdd(&s.sums[part][to].z, sum[2 * T::SIZE]);
        }
    }
}

template <int WIDTH, int DEPTH, bool MEASURE>
static __global__ void __launch_bounds__(NEWTON_THREADS) forces_kernel(const solve_view s)
{
    __shared__ newton_memory<WIDTH, DEPTH> shared;
    const particles_view &p = s.pass.p;
    const home mine = my_home(s.pass.grid);
    shared.load(s);
    double largest = 0, unit = MEASURE ? 1 : solve_unit(s);
    for (uint32_t k = mine.first + threadIdx.x; k < mine.first + mine.count; k += NEWTON_THREADS) {
        const auto at = stencil_of<WIDTH, DEPTH>(s.pass, p[k]);
        mat F_E = load_mat(p[k], F_FIRST), F = deformed<WIDTH, DEPTH>(s, at, F_E, shared.tile);
        mat P = snow_stress(F, svd_polar(svd_of(F)), hardened(p, k));
        mat t = mat_scale(mat_mul_t(P, F_E), -1 / s.pass.cell_size);
        largest = fmax(largest, scatter_force<WIDTH, DEPTH, MEASURE>(at, t, unit, shared));
    }
    __syncwarp();
    raise(MEASURE ? &s.control->expected : &s.control->largest, __float_as_uint((float)largest));
    if (MEASURE)
        return;
    __syncthreads();
    force_flush<WIDTH, DEPTH>(s, shared);
}

/* ---- Energy ------------------------------------------------------------------------------------- */

template <int WIDTH, int DEPTH>
static __global__ void __launch_bounds__(NEWTON_THREADS) energy_kernel(const solve_view s)
{
    __shared__ newton_memory<WIDTH, DEPTH> shared;
    __shared__ exact_sum sum;
    const particles_view &p = s.pass.p;
    const home mine = my_home(s.pass.grid);
    exact_clear(&sum);
    shared.load(s);
    for (uint32_t k = mine.first + threadIdx.x; k < mine.first + mine.count; k += NEWTON_THREADS) {
        const auto at = stencil_of<WIDTH, DEPTH>(s.pass, p[k]);
        mat F_E = load_mat(p[k], F_FIRST), F = deformed<WIDTH, DEPTH>(s, at, F_E, shared.tile);
        exact_add(&sum, snow_energy(F, svd_polar(svd_of(F)), hardened(p, k)));
    }
    if (!solve_sum_is_complete(s.control, &sum))
        return;
    if (threadIdx.x == 0)
        s.control->result = exact_value(&s.control->sum);
    solve_sum_end(s.control);
}

/* ---- The table ---------------------------------------------------------------------------------- */

template <int WIDTH, int DEPTH> struct newton_launch {
    static void forces(const solve_view *s, bool measure, cudaStream_t stream)
    {
        unsigned homes = s->pass.grid.home_count;
        if (measure)
            forces_kernel<WIDTH, DEPTH, true><<<homes, NEWTON_THREADS, 0, stream>>>(*s);
        else
            forces_kernel<WIDTH, DEPTH, false><<<homes, NEWTON_THREADS, 0, stream>>>(*s);
    }
    static void energy(const solve_view *s, cudaStream_t stream)
    {
        energy_kernel<WIDTH, DEPTH><<<s->pass.grid.home_count, NEWTON_THREADS, 0, stream>>>(*s);
    }
    static void fill(solve_kernels *k)
    {
        k->forces = forces;
        k->energy = energy;
    }
};

void newton_find(const firn_settings *settings, solve_kernels *kernels)
{
    bool planar = settings->dimensions == 2;
    if (settings->kernel == FIRN_CUBIC)
        planar ? newton_launch<4, 1>::fill(kernels) : newton_launch<4, 4>::fill(kernels);
    else
        planar ? newton_launch<3, 1>::fill(kernels) : newton_launch<3, 3>::fill(kernels);
}
