/*
 * Step 6 of the backend `cuda`: equation (9) by conjugate residuals, and Newton's method beyond it, with
 * the passes of cpu/solve.h as kernels. src/ref/solve.c is the readable twin; docs/method.md has the algebra.
 *
 * 1. Vectors are float4 a node: x, y, z, and 1 / sqrt(m), which is 0 where nothing is. Entries of such
 *    nodes are 0.
 * 2. What particles add to nodes is M^-1/2 H z in fixed point. With that scale light nodes are as exact
 *    as heavy ones in the mass inner product: m_i >= m_p w_ip, so a slope over sqrt(m_i) is bounded.
 * 3. The unit of these sums follows the vectors, which shrink: it comes from the largest contribution, found
 *    by a pass that only measures, or, in an iteration, foretold from the one before. Where that does not
 *    hold, the product is not used but done again, measured.
 * 4. Dot products are exact sums (exact.cuh) of what each half of a block adds up in the order of its nodes:
 *    like the sums over particles, they depend neither on the order of blocks nor on that of particles.
 * 5. An iteration asks nothing of the host. When it has ended, the kernels that are still to come do nothing.
 */
#ifndef FIRN_CUDA_SOLVE_CUH
#define FIRN_CUDA_SOLVE_CUH

#include "cuda/exact.cuh"
#include "cuda/stencil.cuh"

enum solve_vector {
    SOLVE_X,        /* the unknown v - v*, or Newton's direction */
    SOLVE_R,        /* the residual Q (b - A v) */
    SOLVE_P,        /* direction */
    SOLVE_AP,       /* A p */
    SOLVE_AZ,       /* A z */
    SOLVE_Z,        /* preconditioned residual; R without a preconditioner */
    SOLVE_BOND,     /* what bodies leave free: a normal and 1, or 0 where they hold; near bodies */
    SOLVE_DIAGONAL, /* of the inverted blocks: xx, yy, zz */
    SOLVE_BESIDE,   /* and beside it: yz, xz, xy */
    SOLVE_V,        /* Newton's velocities */
    SOLVE_U,        /* where inertia, gravity and (1 - beta) of the old forces lead */
    SOLVE_VECTORS
};

/* What particles have added to a node. */
typedef struct solve_sums {
    unsigned long long xy;
    int z, unused;
} solve_sums;

/* Of a step06_particle: U, B, the upper half of stretch, shear and twist. */
enum { TANGENT_FLOATS = 9 + 9 + 6 + 3 + 3 };

typedef enum solve_verdict {
    SOLVE_GOES_ON,
    SOLVE_CONVERGED,
    SOLVE_ENDED,   /* it cannot go on, or may not */
    SOLVE_OVERFLOW /* a product has to be done again, measured */
} solve_verdict;

/* On the GPU; what one kernel leaves to the next, and to the host. */
typedef struct solve_control {
    uint32_t verdict;
    uint32_t expected; /* the largest contribution that the sums have room for; a float's bits */
    uint32_t largest;  /* and the largest that there was */
    uint32_t sums_overflow;
    uint32_t iterations, ticket;
    float alpha, beta;
    double zAz, size; /* <z, A z>, |r| */
    double result;    /* of the last pass with a sum */
    exact_sum sum;    /* 0 between passes */
    uint32_t worst;   /* the largest m |r|^2 of a node, as bits; where a solve stalls */
    uint32_t bad_row;
    uint32_t densest; /* particles in a cell */
} solve_control;

/* By value to kernels. */
typedef struct solve_view {
    pass_view pass;
    int node_bytes;
    float4 *vector[SOLVE_VECTORS];
    solve_sums *sums[2]; /* the second: 2^-FINE_BITS of the first, for Newton's forces */
    float *tangents;     /* TANGENT_FLOATS arrays, one value a particle */
    size_t tangent_stride;
    solve_control *control;
    float scale;         /* beta dt^2 */
    float step;          /* dt / h */
    float walk;          /* of Newton's direction, how much */
    float room;          /* of the range of sums, as much as contributions may use */
    double target;       /* of |r| */
    uint32_t most;       /* iterations */
    bool looped;         /* part of an iteration: nothing to do once it has ended */
    bool positive;       /* clamp H */
    bool preconditioned; /* by blocks, or their diagonals */
    bool diagonal;
} solve_view;

enum { FINE_BITS = 20 };

/* Of the iteration's largest contribution, how many times as much the next may have. */
#define SOLVE_MARGIN 4.0f

/* Over particles: for one vector where it is asked for. `measure` only finds the largest contribution. */
typedef struct solve_kernels {
    void (*note)(const solve_view *, cudaStream_t);  // before the grid pass: masses, bonds, u
    void (*crowd)(const solve_view *, cudaStream_t); // the most particles in a cell, by way of sums
    void (*prepare)(const solve_view *, int vector, cudaStream_t); // H at F(v), or at F_E (-1)
    void (*apply)(const solve_view *, int vector, bool measure, cudaStream_t);   // H z
    void (*blocks)(const solve_view *, bool beside, bool measure, cudaStream_t); // H_ii
    void (*forces)(const solve_view *, bool measure, cudaStream_t);              // f(F(v))
    void (*energy)(const solve_view *, cudaStream_t);                            // sum V0 Psi(F(v))
    void (*solved)(const solve_view *, cudaStream_t); // v^{n+1}, which meets bodies once more
    void (*stall)(const solve_view *, cudaStream_t);  // who stands where the residual is largest
} solve_kernels;

/* Passes over nodes; each ends with a sum in `result`, that of the mass inner product. */
typedef enum solve_rows {
    ROWS_BEGIN,    // z <- v* in the frame of the step; sum m_i
    ROWS_RESIDUAL, // r <- -Q beta dt^2 M^-1 H v*, <r, r>
    ROWS_TAKE_ON,  // the diagonals of diagonal blocks, times m^-1
    ROWS_TAKE_BESIDE,
    ROWS_INVERT,   // the preconditioner from them
    ROWS_START,    // x, p, Ap <- 0, z <- P^-1 r
    ROWS_PRODUCT,  // Az <- Q (z + beta dt^2 M^-1 H z), <z, Az>
    ROWS_TURN,     // p <- z + beta p, Ap <- Az + beta Ap, <Ap, P^-1 Ap>
    ROWS_ADVANCE,  // x <- x + alpha p, r <- r - alpha Ap, z <- P^-1 r, <r, r>
    ROWS_REST,     // v <- the frame of the step: nothing is deformed
    ROWS_INERTIA,  // u <- v* - beta dt M^-1 f(F_E), before bodies
    ROWS_DEPART,   // v <- v* - Q v*, x <- v* + x - v
    ROWS_GRADIENT, // r <- Q (u - v + beta dt M^-1 f(F(v))), <r, r>
    ROWS_SLOPE,    // <r, x>
    ROWS_KINETIC,  // <v - u, v - u> / 2
    ROWS_WALK,     // v <- v + alpha x
    ROWS_ARRIVE,   // x <- v - v*
    ROWS_WORST,    // the largest m |r|^2
    ROWS_COUNT
} solve_rows;

void solve_rows_launch(const solve_view *s, solve_rows pass, cudaStream_t stream);
solve_kernels solve_kernels_find(const firn_settings *settings);

/* newton.cu: the two that are in double. */
void newton_find(const firn_settings *settings, solve_kernels *kernels);

/* Fixed-point units of a contribution. */
static __device__ __forceinline__ float solve_unit(const solve_view &s)
{
    return s.room / fmaxf(__uint_as_float(s.control->expected), 1e-30f);
}

static __device__ __forceinline__ bool solve_has_ended(const solve_view &s)
{
    return s.looped && s.control->verdict != SOLVE_GOES_ON;
}

/* Add what a CUDA block found to the sum of all. True in the last block, where it is complete; that one
 * makes use of it and then ends it. */
static __device__ __forceinline__ bool solve_sum_is_complete(solve_control *c, const exact_sum *sum)
{
    __shared__ bool last;
    __syncthreads();
    exact_add_sum(&c->sum, sum);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(&c->ticket, 1) == gridDim.x - 1;
    __syncthreads();
    __threadfence();
    return last;
}

static __device__ __forceinline__ void solve_sum_end(solve_control *c)
{
    __syncthreads();
    exact_clear(&c->sum);
    if (threadIdx.x == 0)
        c->ticket = 0;
}

static __device__ __forceinline__ bool near_bodies(const solve_view &s, uint32_t block)
{
    return s.pass.bodies && s.pass.grid.node_bodies[block];
}

#endif
