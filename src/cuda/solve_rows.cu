/* Step 6 over nodes: the algebra of vectors. Sums are of the mass inner product, in double. */
#include "cuda/grid_node.cuh"
#include "cuda/solve.cuh"
#include "method/step06_solve.h"

enum { ROW_BLOCKS = 8 }; /* a processor, at most: each ends with additions to one sum */

/* ---- A node -------------------------------------------------------------------------------------- */

/* Where a pass stands, and what it needs everywhere, read beforehand: loads that wait for each other are
 * what it would spend its time on. */
struct row_place {
    uint32_t block;
    int node;
    size_t n;         /* in vectors */
    vec own;          /* of R, where that is advanced, else of Z */
    float inv_sqrt_m; /* 0 where nothing is */
    float m;
    bool bound;              /* near bodies */
    float unit, alpha, beta; /* of the iteration */
    bool overflow;           /* some sum is too large */
};

static __device__ __forceinline__ vec row_load(const solve_view &s, int vector, const row_place &at)
{
    float4 q = s.vector[vector][at.n];
    vec v = {{q.x, q.y, q.z}};
    return v;
}

static __device__ __forceinline__ void row_store(const solve_view &s, int vector,
                                                 const row_place &at, const vec &v)
{
    s.vector[vector][at.n] = make_float4(v.e[0], v.e[1], v.e[2], at.inv_sqrt_m);
}

static __device__ __forceinline__ vec row_star(const solve_view &s, const row_place &at)
{
    float4 q = *(const float4 *)node_at(s.pass.grid, at.block, at.node, s.node_bytes);
    vec v = {{q.x, q.y, q.z}};
    return v;
}

static __device__ __forceinline__ vec row_frame(const solve_view &s, const row_place &at)
{
    vec frame = {{s.pass.frame(0), s.pass.frame(1), s.pass.planar ? 0 : s.pass.frame(2)}};
    return at.m > 0 ? frame : vec_zero();
}

/* Q a */
static __device__ __forceinline__ vec row_free_part(const solve_view &s, const row_place &at,
                                                    const vec &a)
{
    if (!at.bound)
        return a;
    float4 bond = s.vector[SOLVE_BOND][at.n];
    vec normal = {{bond.x, bond.y, bond.z}};
    return step06_free_part(a, normal, bond.w);
}

/* Q P^-1 a */
static __device__ __forceinline__ vec row_precondition(const solve_view &s, const row_place &at,
                                                       const vec &a)
{
    if (!s.preconditioned)
        return a;
    vec on = row_load(s, SOLVE_DIAGONAL, at), z;
    for (int i = 0; i < 3; i++)
        z.e[i] = on.e[i] * a.e[i];
    if (!s.diagonal) {
        vec beside = row_load(s, SOLVE_BESIDE, at);
        for (int i = 0; i < 3; i++)
            z.e[i] +=
                beside.e[(i + 2) % 3] * a.e[(i + 1) % 3] + beside.e[(i + 1) % 3] * a.e[(i + 2) % 3];
    }
    return row_free_part(s, at, z);
}

static __device__ __forceinline__ double row_dot(const row_place &at, const vec &a, const vec &b)
{
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += (double)a.e[i] * (double)b.e[i];
    return (double)at.m * sum;
}

/* What particles have added up, in units of a contribution; it is then forgotten. */
static __device__ __forceinline__ vec row_take(const solve_view &s, row_place &at, int sums)
{
    int4 *from = (int4 *)&s.sums[sums][at.n], q = *from;
    unsigned long long xy = (unsigned long long)(uint32_t)q.x | (unsigned long long)(uint32_t)q.y
                                                                    << 32;
    const int sum[3] = {fixed_low(xy), fixed_high(xy), s.pass.planar ? 0 : q.z};
    *from = make_int4(0, 0, 0, 0);
    vec push;
    for (int i = 0; i < 3; i++) {
        at.overflow = at.overflow || too_large(sum[i]);
        push.e[i] = (float)sum[i];
    }
    return push;
}

/* beta dt^2 M^-1 H z */
static __device__ __forceinline__ vec row_push(const solve_view &s, row_place &at)
{
    return vec_scale(row_take(s, at, 0), s.scale * at.inv_sqrt_m / at.unit);
}

/* beta dt M^-1 f, in two parts */
static __device__ __forceinline__ vec row_force(const solve_view &s, row_place &at)
{
    vec push = row_take(s, at, 0), fine = row_take(s, at, 1);
    push = vec_mad(push, 1.0f / (1 << FINE_BITS), fine);
    return vec_scale(push, s.scale / s.pass.dt() * at.inv_sqrt_m / at.unit);
}

/* I + beta dt^2 m^-1 H_ii of one node, inverted in place; nodes without mass get 0. */
static __device__ __forceinline__ void row_invert(const solve_view &s, const row_place &at)
{
    vec on = row_load(s, SOLVE_DIAGONAL, at);
    vec beside = s.diagonal ? vec_zero() : row_load(s, SOLVE_BESIDE, at);
    mat A = mat_identity();
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            A.m[i][j] += s.scale * (i == j ? on.e[i] : beside.e[3 - i - j]);
    float size = mat_trace(A); /* so that determinants stay within a float's range */
    A = mat_scale(A, 1 / size);
    mat inverse = mat_scale(mat_cof(A), 1 / (size * mat_det(A)));
    for (int i = 0; i < 3; i++) {
        on.e[i] = at.m > 0 ? inverse.m[i][i] : 0;
        beside.e[i] = at.m > 0 ? inverse.m[(i + 1) % 3][(i + 2) % 3] : 0;
    }
    row_store(s, SOLVE_DIAGONAL, at, on);
    if (!s.diagonal)
        row_store(s, SOLVE_BESIDE, at, beside);
}

/* ---- The passes; solve.cuh says what each does ---------------------------------------------------- */

static __device__ __forceinline__ double row_start(const solve_view &s, const row_place &at)
{
    row_store(s, SOLVE_X, at, vec_zero());
    row_store(s, SOLVE_P, at, vec_zero());
    row_store(s, SOLVE_AP, at, vec_zero());
    if (s.preconditioned)
        row_store(s, SOLVE_Z, at, row_precondition(s, at, row_load(s, SOLVE_R, at)));
    return 0;
}

static __device__ __forceinline__ double row_product(const solve_view &s, row_place &at)
{
    vec Az = row_free_part(s, at, vec_add(at.own, row_push(s, at)));
    row_store(s, SOLVE_AZ, at, Az);
    return row_dot(at, at.own, Az);
}

static __device__ __forceinline__ double row_turn(const solve_view &s, const row_place &at)
{
    vec p = vec_mad(at.own, at.beta, row_load(s, SOLVE_P, at));
    vec Ap = vec_mad(row_load(s, SOLVE_AZ, at), at.beta, row_load(s, SOLVE_AP, at));
    row_store(s, SOLVE_P, at, p);
    row_store(s, SOLVE_AP, at, Ap);
    return row_dot(at, Ap, row_precondition(s, at, Ap));
}

static __device__ __forceinline__ double row_advance(const solve_view &s, const row_place &at)
{
    vec x = vec_mad(row_load(s, SOLVE_X, at), at.alpha, row_load(s, SOLVE_P, at));
    vec r = vec_mad(at.own, -at.alpha, row_load(s, SOLVE_AP, at));
    row_store(s, SOLVE_X, at, x);
    row_store(s, SOLVE_R, at, r);
    if (s.preconditioned) /* anew: with floats, z - alpha P^-1 Ap would part from r */
        row_store(s, SOLVE_Z, at, row_precondition(s, at, r));
    return row_dot(at, r, r);
}

static __device__ __forceinline__ double row_depart(const solve_view &s, const row_place &at)
{
    vec star = row_star(s, at), given = vec_sub(star, row_free_part(s, at, star));
    row_store(s, SOLVE_V, at, given);
    row_store(s, SOLVE_X, at, vec_add(row_load(s, SOLVE_X, at), vec_sub(star, given)));
    return 0;
}

static __device__ __forceinline__ double row_gradient(const solve_view &s, row_place &at)
{
    vec r = vec_sub(row_load(s, SOLVE_U, at), row_load(s, SOLVE_V, at));
    r = row_free_part(s, at, vec_add(r, row_force(s, at)));
    row_store(s, SOLVE_R, at, r);
    return row_dot(at, r, r);
}

static __device__ __forceinline__ double row_kinetic(const solve_view &s, const row_place &at)
{
    vec v = row_load(s, SOLVE_V, at), u = row_load(s, SOLVE_U, at);
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double w = (double)v.e[i] - (double)u.e[i];
        sum += w * w;
    }
    return 0.5 * (double)at.m * sum;
}

static __device__ __forceinline__ double row_worst(const solve_view &s, const row_place &at)
{
    vec r = row_load(s, SOLVE_R, at);
    float size = (float)row_dot(at, r, r);
    s.vector[SOLVE_AZ][at.n].w = size;
    atomicMax(&s.control->worst, __float_as_uint(size));
    return 0;
}

template <solve_rows PASS>
static __device__ __forceinline__ double row_pass(const solve_view &s, row_place &at)
{
    if constexpr (PASS == ROWS_BEGIN) {
        row_store(s, SOLVE_Z, at, vec_sub(row_star(s, at), row_frame(s, at)));
        return at.m;
    } else if constexpr (PASS == ROWS_RESIDUAL) {
        vec r = row_free_part(s, at, vec_scale(row_push(s, at), -1));
        row_store(s, SOLVE_R, at, r);
        return row_dot(at, r, r);
    } else if constexpr (PASS == ROWS_TAKE_ON || PASS == ROWS_TAKE_BESIDE) {
        vec part = vec_scale(row_take(s, at, 0), 1 / at.unit);
        if (s.pass.planar && PASS == ROWS_TAKE_BESIDE)
            part.e[0] = part.e[1] = 0;
        row_store(s, PASS == ROWS_TAKE_ON ? SOLVE_DIAGONAL : SOLVE_BESIDE, at, part);
        return 0;
    } else if constexpr (PASS == ROWS_INVERT) {
        row_invert(s, at);
        return 0;
    } else if constexpr (PASS == ROWS_START) {
        return row_start(s, at);
    } else if constexpr (PASS == ROWS_PRODUCT) {
        return row_product(s, at);
    } else if constexpr (PASS == ROWS_TURN) {
        return row_turn(s, at);
    } else if constexpr (PASS == ROWS_ADVANCE) {
        return row_advance(s, at);
    } else if constexpr (PASS == ROWS_REST) {
        row_store(s, SOLVE_V, at, row_frame(s, at));
        return 0;
    } else if constexpr (PASS == ROWS_INERTIA) {
        row_store(s, SOLVE_U, at, vec_sub(row_load(s, SOLVE_U, at), row_force(s, at)));
        return 0;
    } else if constexpr (PASS == ROWS_DEPART) {
        return row_depart(s, at);
    } else if constexpr (PASS == ROWS_GRADIENT) {
        return row_gradient(s, at);
    } else if constexpr (PASS == ROWS_SLOPE) {
        return row_dot(at, row_load(s, SOLVE_R, at), row_load(s, SOLVE_X, at));
    } else if constexpr (PASS == ROWS_KINETIC) {
        return row_kinetic(s, at);
    } else if constexpr (PASS == ROWS_WALK) {
        vec v = row_load(s, SOLVE_V, at);
        row_store(s, SOLVE_V, at, vec_mad(v, s.walk, row_load(s, SOLVE_X, at)));
        return 0;
    } else if constexpr (PASS == ROWS_ARRIVE) {
        row_store(s, SOLVE_X, at, vec_sub(row_load(s, SOLVE_V, at), row_star(s, at)));
        return 0;
    } else {
        return row_worst(s, at);
    }
}

/* ---- What follows from a sum ---------------------------------------------------------------------- */

/* Whether every contribution, and every sum of them, was within its range. */
static __device__ __forceinline__ bool sums_hold(const solve_view &s)
{
    const volatile solve_control *c = s.control;
    return __uint_as_float(c->largest) * solve_unit(s) <= FIXED_LARGEST && !c->sums_overflow;
}

/* By one thread, when all have done their part. The same decisions as cpu/solve.c takes. */
template <solve_rows PASS>
static __device__ __forceinline__ void conclude(const solve_view &s, double sum)
{
    solve_control *c = s.control;
    c->result = sum;
    if (PASS == ROWS_START) {
        c->zAz = 0;
        c->beta = 0;
        c->verdict = SOLVE_GOES_ON;
    } else if (PASS == ROWS_PRODUCT) {
        if (!sums_hold(s)) {
            c->verdict = SOLVE_OVERFLOW;
            return;
        }
        c->beta = c->zAz != 0 ? (float)(sum / c->zAz) : 0;
        c->zAz = sum;
    } else if (PASS == ROWS_TURN) {
        if (!(sum > 0) || c->zAz == 0) {
            c->verdict = SOLVE_ENDED;
            return;
        }
        c->alpha = (float)(c->zAz / sum);
        c->iterations++;
    } else if (PASS == ROWS_RESIDUAL || PASS == ROWS_GRADIENT) {
        c->size = sqrt(sum);
    } else if (PASS == ROWS_ADVANCE) {
        double size = sqrt(sum), ratio = size / c->size;
        c->expected = __float_as_uint(SOLVE_MARGIN * (float)ratio * __uint_as_float(c->largest));
        c->largest = 0;
        c->size = size;
        if (size <= s.target)
            c->verdict = SOLVE_CONVERGED;
        else if (!isfinite(size) || c->iterations >= s.most)
            c->verdict = SOLVE_ENDED;
    }
}

template <solve_rows PASS>
static __global__ void __launch_bounds__(THREADS) rows_kernel(const solve_view s)
{
    __shared__ exact_sum sum;
    const uint32_t count = s.pass.grid.block_count, blocks = THREADS / BLOCK_CELLS;
    if (solve_has_ended(s))
        return;
    exact_clear(&sum);
    __syncthreads();
    row_place at;
    at.unit = solve_unit(s);
    at.alpha = s.control->alpha;
    at.beta = s.control->beta;
    at.overflow = false;
    for (uint32_t group = blockIdx.x; group * blocks < count; group += gridDim.x) {
        at.block = group * blocks + threadIdx.x / BLOCK_CELLS;
        at.node = threadIdx.x % BLOCK_CELLS;
        at.n = (size_t)at.block * BLOCK_CELLS + (size_t)at.node;
        double term = 0;
        if (at.block < count && !(s.pass.planar && at.node >= 16)) {
            float4 q = s.vector[PASS == ROWS_ADVANCE ? SOLVE_R : SOLVE_Z][at.n];
            at.bound = near_bodies(s, at.block);
            at.own = {{q.x, q.y, q.z}};
            at.inv_sqrt_m = q.w;
            at.m = q.w > 0 ? 1 / (q.w * q.w) : 0;
            term = row_pass<PASS>(s, at);
        }
        exact_add_warp(&sum, term);
    }
    if (at.overflow)
        s.control->sums_overflow = 1;
    if (!solve_sum_is_complete(s.control, &sum))
        return;
    if (threadIdx.x == 0)
        conclude<PASS>(s, exact_value(&s.control->sum));
    solve_sum_end(s.control);
}

/* ---- The table ------------------------------------------------------------------------------------ */

template <int PASS>
static void launch_pass(const solve_view *s, solve_rows pass, unsigned groups, cudaStream_t stream)
{
    if (pass == PASS)
        rows_kernel<(solve_rows)PASS><<<groups, THREADS, 0, stream>>>(*s);
    else if constexpr (PASS + 1 < ROWS_COUNT)
        launch_pass<PASS + 1>(s, pass, groups, stream);
}

void solve_rows_launch(const solve_view *s, solve_rows pass, cudaStream_t stream)
{
    const uint32_t blocks = THREADS / BLOCK_CELLS;
    const uint32_t groups = (s->pass.grid.block_count + blocks - 1) / blocks;
    launch_pass<0>(s, pass, enough_blocks(groups, s->pass.processors, ROW_BLOCKS), stream);
}
