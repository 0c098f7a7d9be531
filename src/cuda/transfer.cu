/* The kernels of a step, for both splines, all transfers, 2D and 3D. */
#include "cuda/g2p.cuh"
#include "cuda/grid_pass.cuh"
#include "cuda/p2g.cuh"

/* ---- Step 2 ----------------------------------------------------------------------------------- */

/* rho_p = sum_i m_i w_ip / h^d; once a run, so straight from the grid. */
template <int WIDTH, int DEPTH, bool AFFINE>
static __global__ void __launch_bounds__(THREADS) volumes_kernel(const pass_view s)
{
    const home mine = my_home(s.grid);
    const uint32_t *near = near_of<WIDTH>(s.grid, blockIdx.x);
    double cell_volume = s.cell_size * s.cell_size * (DEPTH == 1 ? 1 : s.cell_size);
    for (uint32_t k = mine.first + threadIdx.x; k < mine.first + mine.count; k += THREADS) {
        const particle q = s.p[k];
        const stencil<WIDTH, DEPTH> at(load_place(q));
        double mass = 0;
        for (int c = 0; c < DEPTH; c++)
            for (int b = 0; b < WIDTH; b++)
                for (int i = 0; i < WIDTH; i++) {
                    const tile_node n = at.node(i, b, c);
                    int sum = fixed_low(*(unsigned long long *)node_at(s.grid, near[n.direction],
                                                                       n.node, AFFINE ? 16 : 32));
                    mass += (double)at.w[0][i] * at.w[1][b] * at.w[2][c] * sum;
                }
        q[VOLUME] = (float)(q[MASS] * cell_volume / (mass / s.mass_scale()));
    }
}

/* ---- The table -------------------------------------------------------------------------------- */

template <int WIDTH, int DEPTH, firn_transfer TRANSFER> struct launch {
    static const bool AFFINE = TRANSFER != FIRN_FLIP, FITS = TRANSFER == FIRN_MLS;

    static void p2g(const pass_view *s, cudaStream_t stream)
    {
        launch_behind(s->overlaps, p2g_kernel<WIDTH, DEPTH, AFFINE, FITS>, s->grid.home_count,
                      p2g_shape<WIDTH, AFFINE, FITS>::THREADS, stream, *s);
    }
    static void grid(const pass_view *s, cudaStream_t stream)
    {
        const uint32_t blocks = THREADS / BLOCK_CELLS,
                       wanted = (s->grid.block_count + blocks - 1) / blocks;
        launch_behind(s->overlaps, grid_kernel<WIDTH, AFFINE>,
                      enough_blocks(wanted, s->processors, GRID_BLOCKS), THREADS, stream, *s);
        if (s->bodies)
            launch_behind(s->overlaps, grid_bodies_kernel<WIDTH, AFFINE>,
                          enough_blocks(s->grid.block_count, s->processors, GRID_BODIES_BLOCKS),
                          BLOCK_CELLS, stream, *s);
    }
    static void g2p(const pass_view *s, cudaStream_t stream)
    {
        launch_behind(s->overlaps, g2p_kernel<WIDTH, DEPTH, AFFINE, FITS>, s->grid.home_count,
                      G2P_THREADS, stream, *s);
        if (s->bodies && !s->only_planes)
            launch_behind(s->overlaps, collide_kernel, s->processors * COLLIDE_BLOCKS,
                          COLLIDE_THREADS, stream, *s);
    }
    static void try_g2p(const pass_view *s, cudaStream_t stream)
    {
        launch_behind(s->overlaps, try_kernel<WIDTH, DEPTH, AFFINE, FITS>,
                      enough_blocks(s->grid.home_count, s->processors, TRY_BLOCKS), THREADS, stream,
                      *s);
    }
    static void volumes(const pass_view *s, cudaStream_t stream)
    {
        volumes_kernel<WIDTH, DEPTH, AFFINE><<<s->grid.home_count, THREADS, 0, stream>>>(*s);
    }
    static void bodies(const pass_view *s, cudaStream_t stream)
    {
        const uint32_t blocks = THREADS / EIGHTHS;
        cudaMemsetAsync(s->grid.meeting, 0, sizeof *s->grid.meeting, stream);
        bodies_kernel<<<(s->grid.block_count + blocks - 1) / blocks, THREADS, 0, stream>>>(*s);
    }
    static kernels table()
    {
        kernels k = {p2g, grid, g2p, try_g2p, volumes, bodies};
        return k;
    }
};

bool kernels_overlap(void)
{
    return knows_to_wait(collide_kernel);
}

template <int WIDTH, int DEPTH> static kernels table_for(firn_transfer transfer)
{
    return transfer == FIRN_FLIP   ? launch<WIDTH, DEPTH, FIRN_FLIP>::table()
           : transfer == FIRN_APIC ? launch<WIDTH, DEPTH, FIRN_APIC>::table()
                                   : launch<WIDTH, DEPTH, FIRN_MLS>::table();
}

kernels kernels_find(const firn_settings *settings)
{
    const bool planar = settings->dimensions == 2;
    if (settings->kernel == FIRN_CUBIC)
        return planar ? table_for<4, 1>(settings->transfer) : table_for<4, 4>(settings->transfer);
    return planar ? table_for<3, 1>(settings->transfer) : table_for<3, 3>(settings->transfer);
}
