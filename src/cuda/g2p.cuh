/* Steps 7 to 10: from the grid back to particles, through a tile of velocities for each home block. */
#ifndef FIRN_CUDA_G2P_CUH
#define FIRN_CUDA_G2P_CUH

#include "cuda/deform.cuh"
#include "cuda/gather.cuh"

/* Threads of a CUDA block and blocks a processor, tuned on an H200. */
enum { G2P_THREADS = 128 };
static constexpr int g2p_blocks(bool fits)
{
    return fits ? 6 : 5;
}
enum { COLLIDE_THREADS = 128, COLLIDE_BLOCKS = 4, TRY_BLOCKS = 2 };

/* What a step does with velocities, read once and early: in a loop with copies on their way it would be read each
 * time. */
struct strides {
    float cells;    /* dt / h */
    float units;    /* of places */
    float fastest2; /* the square of a cell a step */

    __device__ __forceinline__ explicit strides(const pass_view &s)
    {
        const float dt = __ldcg(&s.now->dt), fastest = __ldcg(&s.now->cell_speed);
        cells = s.inv_h * dt;
        units = cells * 0x1p26f;
        fastest2 = fastest * fastest;
    }

    __device__ __forceinline__ bool is_slow(const vec &v) const
    {
        return vec_norm2(v) <= fastest2;
    }
};

static __device__ __forceinline__ uint32_t row_of(const pass_view &s, uint32_t k)
{
    return s.p[k].row();
}

/* Step 9, for particles of a block that a body may reach: v, and a push out of it. */
template <bool PLANES>
static __device__ __forceinline__ void collide_at(const pass_view &s, uint32_t block, place *at,
                                                  vec *v)
{
    double x[3], shift[3] = {0, 0, 0};
    collider_bond bond = {};
    place_of(s, s.grid.at[block], *at, x);
    if (!collider_meet_kind(s.bodies, s.grid.bodies[block], x, v, &bond, shift, PLANES))
        return;
    for (int a = 0; a < (s.planar ? 2 : 3); a++)
        at->e[a] += __double2int_rn(shift[a] / s.cell_size * 0x1p26);
}

static __device__ __forceinline__ void store_velocity(particle q, const vec &v)
{
    for (int a = 0; a < 3; a++)
        q[V_X + a] = v.e[a];
}

/* Step 10. */
static __device__ __forceinline__ void move(const pass_view &s, const strides &by, uint32_t k,
                                            const vec &v, place at, particle_limits *limits)
{
    if (!by.is_slow(v)) {
        note_bad(s.out, row_of(s, k), vec_norm2(v), 0, 1);
        return;
    }
    limits->add_velocity(v);
    bool drifted = false;
    for (int a = 0; a < 3; a++) {
        at.e[a] += __float2int_rn(v.e[a] * by.units);
        int cell = at.e[a] >> PLACE_BITS;
        drifted = drifted || cell < -1 || cell > 4;
        s.p[k].place(a) = at.e[a];
    }
    store_velocity(s.p[k], v);
    if (drifted)
        s.out->drifted = 1;
}

static __device__ __forceinline__ bool sums_hold(const outcome *out)
{
    return (out->sums_overflow | out->momentum_needed | out->force_needed) == 0;
}

/* ---- Values on their way ----------------------------------------------------------------------- */

/*
 * What G2P reads of particles waits in shared memory, fetched while its warp is busy with the particles before:
 * G2P is bound by the time that memory takes to answer, and registers for values on their way would cost more
 * warps than they save.
 */
template <bool AFFINE, bool FITS> struct staged_particles {
    static const int FIRST = FITS ? AT_X : THETA_C, ARRAYS = (AFFINE ? AT_Z : V_Z) + 1 - FIRST;
    float value[G2P_THREADS / PAGE_SLOTS][ARRAYS][PAGE_SLOTS];

    /* The slots of this warp, a page: a lane copies four of them, of every fourth array. */
    __device__ __forceinline__ void fetch(const particles_view &p, uint32_t from, uint32_t end)
    {
        const uint32_t lane = threadIdx.x % 32, first = lane % 8 * 4, array = lane / 8;
        if (from + first >= end || array >= ARRAYS)
            return;
        const float *values = &p[from + first][FIRST + (int)array];
        float *to = &value[threadIdx.x / 32][array][first];
#pragma unroll
        for (int n = 0; n < ARRAYS; n += 4)
            if (n + 4 <= ARRAYS || n + (int)array < ARRAYS)
                __pipeline_memcpy_async(to + n * PAGE_SLOTS, values + n * PAGE_SLOTS,
                                        sizeof(float4));
    }

    __device__ __forceinline__ float operator[](int array) const
    {
        return value[threadIdx.x / 32][array - FIRST][threadIdx.x % 32];
    }

    __device__ __forceinline__ place at() const
    {
        place r;
        for (int a = 0; a < 3; a++)
            r.e[a] = __float_as_int((*this)[AT_X + a]);
        return r;
    }

    __device__ __forceinline__ mat F() const
    {
        mat r;
        for (int n = 0; n < 9; n++)
            r.m[n / 3][n % 3] = (*this)[F_FIRST + n];
        return r;
    }

    __device__ __forceinline__ vec v() const
    {
        const int first = AFFINE ? FIRST : V_X;
        vec r = {{(*this)[first], (*this)[first + 1], (*this)[first + 2]}};
        return r;
    }
};

template <int WIDTH, int DEPTH, bool AFFINE, bool FITS> struct g2p_memory {
    velocity_tile<WIDTH, DEPTH, AFFINE> tile;
    staged_particles<AFFINE, FITS> stage[2];
    uint32_t near[reach_count(WIDTH)];
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

/* One particle. Whether it may touch a body that is not met here: then collide_kernel goes on from step 9. */
template <bool FITS, int WIDTH, int DEPTH, bool AFFINE>
static __device__ __forceinline__ bool
update(const pass_view &s, const strides &by, const home &mine, bool meets, uint32_t k,
       const g2p_memory<WIDTH, DEPTH, AFFINE, FITS> &shared, uint32_t turn, particle_limits *limits)
{
    const staged_particles<AFFINE, FITS> &stage = shared.stage[turn];
    gathered from = gather<FITS>(stencil<WIDTH, DEPTH>(stage.at()), shared.tile);
    vec v = AFFINE ? from.v : vec_mad(from.v, s.blend, stage.v());
    if (AFFINE) {
        limits->add_affine(from.B, stencil<WIDTH, DEPTH>::INV_D * s.reach);
        store_mat(s.p[k], B_FIRST, from.B);
    }
    if constexpr (!FITS) {
        mat F = stage.F();
        float J = stage[J_P];
        const strain e = step_7(s, s.p[k], vec_norm2(v), by.cells, from.grad, stage[THETA_C],
                                stage[THETA_S], &F, &J);
        limits->add_stress(stage[LOG_WAVE2], stage[XI], J, e);
        store_mat(s.p[k], F_FIRST, F);
    }
    place at = stage.at();
    const bool touches = meets && may_touch(s, mine.block, at);
    if (touches && !s.only_planes) {
        store_velocity(s.p[k], v);
        return true;
    }
    if (touches)
        collide_at<true>(s, mine.block, &at, &v);
    move(s, by, k, v, at, limits);
    return false;
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

/* What tells whether there is anything to do: asked for before it is needed, as memory takes its time. */
struct g2p_order {
    uint32_t halted, misjudged, failed_sums, wild, bad_row_mark;
    bool tries;

    __device__ __forceinline__ explicit g2p_order(const pass_view &s)
    {
        halted = __ldcg(&s.now->halted);
        misjudged = s.out->misjudged;
        failed_sums = s.out->sums_overflow | s.out->momentum_needed | s.out->force_needed;
        wild = s.out->wild;
        bad_row_mark = __ldcg(&s.out->bad_row_mark); /* others may tell of it */
        tries = s.tries;
    }

    /* Not when it was to be another step, sums overflowed, or a trial of wild nodes went wrong or was none. */
    __device__ __forceinline__ bool is_due() const
    {
        return halted == GOES_ON && !misjudged && failed_sums == 0 &&
               !(wild && (bad_row_mark || !tries));
    }
};

/* A home block a CUDA block. */
template <int WIDTH, int DEPTH, bool AFFINE, bool FITS>
static __global__ void __launch_bounds__(G2P_THREADS, g2p_blocks(FITS))
    g2p_kernel(const pass_view s)
{
    using stage_type = staged_particles<AFFINE, FITS>;
    __shared__ g2p_memory<WIDTH, DEPTH, AFFINE, FITS> shared;
    near_load<WIDTH>(s.grid, blockIdx.x, shared.near);
    const home mine = my_home(s.grid);
    const uint32_t end = mine.first + mine.count, begin = whole_page(mine.first);
    const uint32_t warp = threadIdx.x & ~31u;
    shared.stage[0].fetch(s.p, begin + warp, end);
    if (WIDTH == 3)
        ask_for(s.p, stage_type::FIRST, stage_type::FIRST + stage_type::ARRAYS, begin + G2P_THREADS,
                end);
    await_previous(); /* particles are as they were since P2G */
    const g2p_order order(s);
    const strides by(s);
    const uint32_t known = *(volatile uint32_t *)particle_limits::told(s.out);
    const bool meets = s.bodies ? s.grid.bodies[mine.block] != 0 : false;
    __syncthreads();
    tile_fetch<G2P_THREADS>(s, shared.near, shared.tile);
    __pipeline_wait_prior(0);
    if (!order.is_due())
        return;
    __syncthreads();
    particle_limits limits;
    for (uint32_t from = begin, turn = 0; from < end; from += G2P_THREADS, turn ^= 1) {
        const uint32_t k = from + threadIdx.x;
        shared.stage[turn ^ 1].fetch(s.p, from + warp + G2P_THREADS, end);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncwarp();
        bool touches = false;
        if (is_among(k, mine.first, end))
            touches = update<FITS>(s, by, mine, meets, k, shared, turn, &limits);
        __syncwarp();
        if (meets && !s.only_planes)
            list_touching(s, touches, k);
    }
    if (begin + warp < end) /* else this warp met nobody */
        limits.tell<true, !FITS>(s.out, known);
}

/* Steps 9 and 10 of the particles that may touch a body: code for bodies takes so many registers that it
 * would slow down all the others. */
static __global__ void __launch_bounds__(COLLIDE_THREADS, COLLIDE_BLOCKS)
    collide_kernel(const pass_view s)
{
    await_previous();
    const g2p_order order(s);
    const strides by(s);
    const uint32_t known = *(volatile uint32_t *)particle_limits::told(s.out),
                   touching = s.out->touching, first = blockIdx.x * COLLIDE_THREADS + threadIdx.x;
    if (!order.is_due() || (first & ~31u) >= touching)
        return;
    particle_limits limits;
    for (uint32_t n = first; n < touching; n += gridDim.x * COLLIDE_THREADS) {
        uint32_t k = s.touching[n];
        vec v = load_velocity(s.p[k]);
        place at = load_place(s.p[k]);
        collide_at<false>(s, s.home[k], &at, &v);
        move(s, by, k, v, at, &limits);
    }
    __syncwarp();
    limits.tell<true, false>(s.out, known);
}

/* ---- On trial ---------------------------------------------------------------------------------- */

template <bool FITS, int WIDTH, int DEPTH, bool AFFINE>
static __device__ __forceinline__ void try_particle(const pass_view &s, uint32_t block, uint32_t k,
                                                    const velocity_tile<WIDTH, DEPTH, AFFINE> &tile)
{
    const particle q = s.p[k];
    place at = load_place(q);
    gathered from = gather<FITS>(stencil<WIDTH, DEPTH>(at), tile);
    deformation r = {load_mat(q, F_FIRST), q[J_P]};
    r.F_E = mat_mad(r.F_E, s.inv_h * s.dt(), mat_mul(from.grad, r.F_E));
    const strain e(r.F_E);
    if (step07_beyond(e.E, e.J(), q[THETA_C], q[THETA_S]))
        r = return_particle(s, r.F_E, e, r.J_P, q[THETA_C], q[THETA_S]);
    vec v = AFFINE ? from.v : vec_mad(from.v, s.blend, load_velocity(q));
    if (s.bodies && s.grid.bodies[block] && may_touch(s, block, at))
        collide_at<false>(s, block, &at, &v);
    float stretch = mat_dot(r.F_E, r.F_E);
    if (!(strides(s).is_slow(v) && is_sound(stretch, r.J_P)))
        note_bad(s.out, row_of(s, k), vec_norm2(v), stretch, r.J_P);
}

/* Whether the stencils of the home of a place in the list reach a wild node. By a warp. */
template <int WIDTH> static __device__ bool reaches_wild(const pass_view &s, uint32_t turn)
{
    const uint32_t lane = threadIdx.x & 31;
    uint32_t block = NO_BLOCK;
    if (turn < s.grid.home_count && lane < reach_count(WIDTH))
        block = near_of<WIDTH>(s.grid, turn)[lane];
    const bool wild = block != NO_BLOCK && ((const uint16_t *)s.grid.wild)[block] != 0;
    return __any_sync(0xffffffffu, wild);
}

/* Everything at once for the blocks that reach wild nodes, and no particle changes. Each warp looks at a home
 * of its own; then all threads go through those that do, seldom any. */
template <int WIDTH, int DEPTH, bool AFFINE, bool FITS>
static __global__ void __launch_bounds__(THREADS, TRY_BLOCKS) try_kernel(const pass_view s)
{
    const uint32_t warps = THREADS / 32, warp = threadIdx.x / 32;
    __shared__ velocity_tile<WIDTH, DEPTH, AFFINE> tile;
    __shared__ uint32_t near[reach_count(WIDTH)];
    __shared__ bool reached[warps];
    await_previous();
    if (s.halted() || !s.out->wild || s.out->misjudged || !sums_hold(s.out))
        return;
    for (uint32_t from = blockIdx.x; from < s.grid.home_count; from += warps * gridDim.x) {
        const bool mine = reaches_wild<WIDTH>(s, from + warp * gridDim.x);
        if ((threadIdx.x & 31) == 0)
            reached[warp] = mine;
        __syncthreads();
        for (uint32_t n = 0; n < warps; n++) {
            const uint32_t turn = from + n * gridDim.x;
            if (!reached[n])
                continue;
            const home mine(s.grid.list[turn]);
            near_load<WIDTH>(s.grid, turn, near);
            __syncthreads();
            tile_fetch<THREADS>(s, near, tile);
            __pipeline_wait_prior(0);
            __syncthreads();
            const uint32_t end = mine.first + mine.count;
            for (uint32_t k = mine.first + threadIdx.x; k < end; k += blockDim.x)
                try_particle<FITS>(s, mine.block, k, tile);
            __syncthreads();
        }
        __syncthreads();
    }
}

#endif
