/*
 * What the backend `cuda` holds, on the host and on the GPU.
 *
 * Numbered invariants that the files of this folder rely on:
 * 1. Every sum over particles is a sum of integers (fixed.cuh), so results do not depend on the order in
 *    which the GPU adds, on the order of particles in memory, or on when they were last sorted: two runs,
 *    and a resumed run, give the same bits.
 * 2. A particle's place is its home block and a fixed-point offset from that block's first node, 2^-26
 *    of a cell a unit: exact, and the same precision everywhere in space.
 * 3. Particles of a home block lie together in memory. Between sorts they may drift one cell out of their
 *    block: tiles have a margin of that. Whoever drifts farther asks for a sort before the next P2G.
 * 4. A block is 4 x 4 x 4 nodes (4 x 4 x 1 used in 2D), and the home of the particles in as many cells, one cell on:
 *    drifted by a cell either way, their stencils begin in the block, and quadratic ones end in the next. Homes come
 *    first; the blocks behind them, which hold no particles, follow.
 */
#ifndef FIRN_CUDA_STATE_CUH
#define FIRN_CUDA_STATE_CUH

#include <cuda_runtime.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRN_DIM 3
extern "C" {
#include "body_plan.h"
#include "collider/meet.h"
#include "cuda/cuda.h"
#include "method/stress_series_plan.h"
#include "status.h"
}

enum { STAGING_ROWS = 65536 };   /* that cross at a time */
enum { SORT_COUNTERS = 7 };      /* sort.cu */
enum { SPARE_BYTES = 64 << 20 }; /* for spare arrays, but one at least */

enum {
    BLOCK_CELLS = 64,
    DIRECTIONS = 27, /* from a home to those around it */
    HOME_SHIFT = 1,  /* cells from a block's first node to the home's first cell, along an axis */
    EIGHTHS = 8,     /* of a block, 2 x 2 x 2 cells each */
    PLACE_BITS = 26, /* of a cell */
};

#define NO_BLOCK UINT32_MAX

/* Along an axis, the first cell of a home; a cell has the number of the first node of its stencils. */
static __host__ __device__ inline int home_begin(int4 block, int axis)
{
    return 4 * (axis == 0 ? block.x : axis == 1 ? block.y : block.z) + HOME_SHIFT;
}

/* The blocks that the stencils of a home's particles may reach: so many along an axis, from the home's own on. */
static __host__ __device__ constexpr int reach_side(int width)
{
    return width == 4 ? 3 : 2;
}

static __host__ __device__ constexpr int reach_count(int width)
{
    return reach_side(width) * reach_side(width) * reach_side(width);
}

/* Arrays of one 4-byte value a particle. What G2P reads lies together, from THETA_C to V_Z (with MLS, AT_X to AT_Z),
 * and what P2G reads, from XI (with MLS, THETA_C) to the end. */
enum particle_array {
    ROW, /* uint32_t */
    THETA_C,
    THETA_S,
    LOG_WAVE2, /* of the squared wave speed of soft snow */
    XI,
    J_P,
    F_FIRST, /* row major */
    AT_X = F_FIRST + 9,
    AT_Y,
    AT_Z, /* int32_t: offset from the home block's first cell */
    V_X,
    V_Y,
    V_Z,
    MASS,
    VOLUME,
    MU0,
    LAMBDA0,
    B_FIRST, /* B / h, row major; only with APIC and MLS */
    ARRAYS_FLIP = B_FIRST,
    ARRAYS_AFFINE = B_FIRST + 9,
};

/* Arrays lie interleaved: of each 32 slots, a page, first 32 values of one array, then of the next. So all
 * values of a particle are at fixed distances from its first. */
enum { PAGE_SLOTS = 32 };

static __host__ __device__ inline size_t page_place(uint32_t slot, uint32_t page)
{
    return (size_t)(slot / PAGE_SLOTS) * page + slot % PAGE_SLOTS;
}

/* The values of one particle. */
struct particle {
    float *first;

    __host__ __device__ float &operator[](int array) const
    {
        return first[PAGE_SLOTS * array];
    }
    __host__ __device__ int &place(int axis) const
    {
        return ((int *)first)[PAGE_SLOTS * (AT_X + axis)];
    }
    __host__ __device__ uint32_t &row() const
    {
        return ((uint32_t *)first)[PAGE_SLOTS * ROW];
    }
};

/* By value to kernels. */
typedef struct particles_view {
    float *first;  /* value of the first slot */
    uint32_t page; /* values from a page to the next, in which there is room for more arrays */

    __host__ __device__ particle operator[](uint32_t slot) const
    {
        return particle{first + page_place(slot, page)};
    }
} particles_view;

/* One more array, in the place that the last sort left free: of 4-byte numbers, by slots. */
typedef struct homes_view {
    uint32_t *first; /* NULL: not sorted yet */
    uint32_t page;

    __host__ __device__ uint32_t &operator[](uint32_t slot) const
    {
        return first[page_place(slot, page)];
    }
} homes_view;

typedef struct grid_view {
    uint32_t home_count, block_count;
    int4 *at;        /* coordinates: first node / 4 */
    uint32_t *first; /* home blocks: their particles */
    uint32_t *count;
    uint4 *list;           /* home blocks as they are taken: number, first particle, particles */
    uint32_t *near;        /* of each of these: reach_count blocks that it reaches */
    collider_bits *bodies; /* within reach of a home's particles */
    collider_bits *node_bodies; /* within reach of a block's nodes */
    uint32_t *meeting;          /* how many blocks have nodes that a body may reach, then which */
    float *clearance; /* home blocks: from the middle of each eighth to a body, in cells */
    uint8_t *wild;    /* of each half of a block: has a wild node */
    /* BLOCK_CELLS nodes of `node_bytes` a block: after P2G sums in fixed point, two to a word; after the
     * grid pass velocities. */
    char *nodes;
} grid_view;

/* The largest of some values over particles, which bound the next step and its sums. Floats that are
 * never negative are kept as their bits, which order alike. */
typedef struct particle_most {
    uint32_t speed2;
    uint32_t wave2, stress;            /* logarithms, as ordered_bits */
    uint32_t velocity[3], backward[3]; /* v and -v along the axes, as ordered_bits */
    uint32_t affine;                   /* |C (x_i - x_p)| along an axis */
} particle_most;

/* By how much the logarithms in it grew over the last step. */
typedef struct particle_trend {
    float wave2, stress;
} particle_trend;

enum { PARTICLE_LIMITS = sizeof(particle_most) / sizeof(uint32_t) };

/* Told by many at once: in several places, each in a line of memory of its own, so that they seldom wait for each
 * other, nor anyone who reads the rest of an outcome for them. */
enum { TOLD = 16 };
typedef union told_most {
    particle_most most;
    uint32_t line[32];
} told_most;

/* What a step tells the host. */
typedef struct outcome {
    told_most told[TOLD];
    uint32_t max_mass, max_lightness, max_strain; /* when the limits are found, not by G2P */
    /* Of this one. */
    uint32_t momentum_needed, force_needed; /* when beyond the fixed-point range: of one particle */
    uint32_t sums_overflow;
    uint32_t wild;
    uint32_t misjudged;    /* the largest values are not what this step was chosen for */
    uint32_t touching;     /* particles that may touch a body */
    uint32_t drifted;      /* a sort is needed */
    uint32_t bad_row_mark; /* ~ the first row that went wrong; 0: none */
    float bad_speed, bad_stretch, bad_J_P;
    unsigned long long active_nodes;
} outcome;

/* Why the kernels of a step have nothing to do. */
enum halt {
    GOES_ON,
    HALT_DONE,    /* all steps asked for, or the frame is reached */
    HALT_DRIFTED, /* a sort is needed first */
    HALT_FAILED,  /* the step left no trace: for the host to take, with wider sums or less time */
    HALT_ASKED    /* a step that only the host can decide on */
};

/* Of some bounds of the particles that a step is chosen by, as ordered_bits: what they may be for it to be the same
 * step. */
typedef struct foreseen {
    uint32_t least_wave2, most_wave2, least_stress, most_stress;
} foreseen;

/* What changes from step to step, on the GPU: chosen there, or copied from the host. */
typedef struct step_now {
    uint32_t halted;
    float dt;
    float mass_scale, momentum_scale, force_scale; /* units of the sums: fixed.cuh */
    float frame[3];   /* m/s: momenta are those in a frame that moves so */
    float calm;       /* m/s, see calm_speed */
    float harmless;   /* see node_is_wild */
    float cell_speed; /* m/s: one cell in this step */
    /* s: dt of the step before, whose step 7 is left to this one's P2G (deform.cuh); 0: none is. */
    float owed;
    foreseen limits;
} step_now;

/* By value to the kernels of a step. */
typedef struct pass_view {
    const step_now *now; /* through the functions below: no kernel that reads it changes it */
    particles_view p;
    grid_view grid;
    const collider_set *bodies; /* on the GPU; NULL without colliders */
    bool only_planes;           /* G2P meets them itself */
    outcome *out;
    homes_view home;    /* of a slot */
    uint32_t *touching; /* slots of particles that may touch a body, as many as the outcome says */
    float inv_h, blend;
    double cell_size, origin;
    float gravity[3];
    float reach; /* cells from a particle to the farthest node of its stencil, along an axis */
    bool planar;
    bool fits;           /* slopes are those of MLS */
    bool settles;        /* P2G ends with what is owed: it adds nothing to the grid */
    bool overlaps;       /* kernels are launched close behind each other: launch.cuh */
    uint32_t processors; /* of the GPU */
    stress_series_plan series;
    bool in_row; /* of steps: whether anything is to be done is known on the GPU only */
    bool tries;  /* G2P comes behind a trial; without one, not where nodes are wild */

    __device__ bool halted() const
    {
        return now->halted != GOES_ON;
    }
    __device__ float dt() const
    {
        return now->dt;
    }
    __device__ float mass_scale() const
    {
        return now->mass_scale;
    }
    __device__ float momentum_scale() const
    {
        return now->momentum_scale;
    }
    __device__ float force_scale() const
    {
        return now->force_scale;
    }
    __device__ float frame(int axis) const
    {
        return now->frame[axis];
    }
    __device__ float calm() const
    {
        return now->calm;
    }
    __device__ float harmless() const
    {
        return now->harmless;
    }
    __device__ float cell_speed() const
    {
        return now->cell_speed;
    }
    __device__ float owed() const
    {
        return now->owed;
    }
} pass_view;

typedef struct kernels {
    void (*p2g)(const pass_view *, cudaStream_t);
    void (*grid)(const pass_view *, cudaStream_t);
    void (*g2p)(const pass_view *, cudaStream_t);
    /* Where nodes are wild: changes no particle, tells what G2P would spoil. */
    void (*try_g2p)(const pass_view *, cudaStream_t);
    void (*volumes)(const pass_view *, cudaStream_t);
    void (*bodies)(const pass_view *, cudaStream_t); /* which are near; after sorts and motion */
} kernels;

/* Memory on the GPU that ends together. */
typedef struct device_list {
    void **memory;
    size_t count;
} device_list;

/* A copy of one key of a body that deforms, and what tells which. */
typedef struct device_key {
    const deform_key *host;
    const level_set *set;
    double low[3], high[3];
    deform_key *device;
    device_list list;
} device_key;

/* Steps among bodies that move (body_plan.h), on the GPU. */
typedef struct device_plan {
    body_step *step;
    collider_pose *poses;
    collider_wall *walls;
    size_t capacity; /* steps */
} device_plan;

/* A copy of the colliders on the GPU. */
typedef struct device_bodies {
    collider_set *set; /* NULL without colliders */
    collider_pose *poses;
    size_t count;
    bool only_planes;      /* all of them are */
    collider_pose *shown;  /* the poses as they were last copied; on the host */
    device_key (*keys)[2]; /* about now, a body */
    device_plan plan;
    device_list list; /* everything else they point to */
} device_bodies;

/* Points in time on the GPU that end the stages of a step. */
enum mark { MARK_BEGIN, MARK_SORTED, MARK_P2G, MARK_GRID, MARK_SOLVED, MARK_END, STEP_MARKS };
enum { MARK_LAST = STEP_MARKS, MARK_COUNTED, MARKS }; /* of many steps in a row; of a sort */

typedef struct solver solver;         /* solve.cu */
typedef struct pace_state pace_state; /* pace.cuh */

struct backend {
    const firn_settings *settings;
    const collider_set *colliders;
    bool affine; /* particles have B */
    size_t node_bytes;
    bool overlaps; /* see pass_view */
    uint32_t processors;
    kernels run;
    cudaStream_t stream;
    cudaEvent_t mark[MARKS];

    size_t count;
    int array_count;
    particles_view p;
    float *pages;          /* of p, with room for more arrays: sorts move all by as many */
    int spare_count;       /* at least one */
    homes_view home;       /* of a slot, in that room */
    uint32_t *key, *order; /* one a particle; between sorts: a list of slots, slot of a row */
    int32_t *start[3];     /* cells of the rows; until they are sorted */
    double *staging;       /* values on their way out, on the GPU */
    void *host_staging;    /* and in, on the host */
    bool sorted, places_known;

    grid_view grid, old; /* of the old one, the lists of homes: during sorts */
    size_t home_capacity, old_capacity, node_capacity;
    unsigned long long *hash_keys;
    uint32_t *hash_values, *cell_count;
    size_t hash_size;
    uint32_t *counters;                             /* on the GPU, of a sort */
    uint32_t *counted;                              /* pinned, on the host */
    uint32_t densest;                               /* particles in a cell, at the last sort */
    uint32_t steps_since_sort, steps_between_sorts; /* the latter: the last time */
    bool drifted;                                   /* too far for another step without a sort */

    device_bodies bodies;
    struct solver *solver; /* NULL before the first implicit step */
    outcome *out;          /* on the GPU */
    outcome *seen;         /* pinned, on the host */
    pace_state *pace;      /* on the GPU */
    pace_state *shown;     /* pinned, on the host */
    void *still;           /* of a copy that stands still: all its memory on the GPU */
    double largest_mass, least_mass, largest_strain;
    uint64_t steps;
    bool limits_known;
    uint32_t tries; /* rows of steps still to be tried, since nodes were wild */
    /* As in step_now: then F, J_P, and of `most` wave2 and stress are those before that step. */
    float owed;
    particle_most most; /* after the last step */
    particle_trend trend;
};

/* FIRN_OK, or what CUDA says went wrong while doing `what`. */
firn_status cuda_check(cudaError_t error, const char *what);

/* Memory on the GPU. A failure names how much was asked for. */
firn_status device_allocate(void *pointer, size_t bytes, const char *what);
void device_free(void *pointer);

/* CUDA blocks for a kernel that needs no certain number of them: as many as there is work for, but no more than fit on
 * a processor at a time. */
static inline unsigned enough_blocks(size_t wanted, uint32_t processors, unsigned a_processor)
{
    const size_t most = (size_t)processors * a_processor;
    return (unsigned)(wanted < most ? wanted : most);
}

/* How many arrays a sort of so many particles moves at a time. */
int spare_arrays(size_t particles, int arrays);

/* cuda.cu: end the memory of particles, or leave it to somebody else. */
void free_particles(backend *s);
void forget_particles(backend *s);

/* sort.cu: give every particle a home block and bring them together. */
firn_status sort_particles(backend *s);
void sort_free(backend *s);

/* bodies.cu */
firn_status bodies_upload(const collider_set *set, device_bodies *out);
firn_status bodies_move(const collider_set *set, device_bodies *bodies, cudaStream_t stream);
void bodies_free(device_bodies *bodies);

/* A plan, between whose keys the bodies are that were moved last; then its poses, step by step. */
firn_status bodies_plan(const body_plan *plan, device_bodies *bodies, cudaStream_t stream);
void bodies_follow(device_bodies *bodies, size_t step, cudaStream_t stream);

/* transfer.cu */
kernels kernels_find(const firn_settings *settings);
bool kernels_overlap(void);

/* solve.cu: what step 6 has to know of the nodes, between P2G and the grid pass; then, from v* to v^{n+1}.
 * FIRN_BLOWUP when it does not converge. */
firn_status solver_note(backend *s, const pass_view *pass);
firn_status cuda_solve(backend *s, const step_plan *plan, step_report *report);
void solver_free(solver **self);
double solver_memory(const firn_settings *settings, double particles, double nodes);

/* still.cu: the end of a copy, once the stream gets there. */
void cuda_thaw(backend *copy, cudaStream_t stream);

/* step.cu: do what is owed to F, before anybody but P2G and G2P looks at it. */
firn_status settle(backend *s);

/* pace.cu: the largest of all that was told. */
particle_most most_of(const outcome *out);

/* values.cu: where every row is, in memory that the next sort takes back. */
void know_places(const backend *s);

/* values.cu: wave speeds from materials and volumes; and limits as G2P finds them (with APIC and MLS, `inv_D_reach`
 * is above 0). */
void waves_launch(const particles_view *p, size_t count, cudaStream_t stream);
void limits_launch(const pass_view *pass, size_t count, float inv_D_reach, cudaStream_t stream);

/* values.cu: the box of all particles, in the memory of values on their way. Of the blocks that they are in, the
 * least along each axis, and the least of ~ the block, which gives the largest. `pass` in a row of steps, else NULL. */
enum { BOX_VALUES = 6 };
int *box_of(const backend *s);
void box_launch(const backend *s, const pass_view *pass);
firn_status box_read(const backend *s, int box[BOX_VALUES]);

/* Nodes of a stencil along an axis. */
static __host__ __device__ inline int stencil_width(const firn_settings *settings)
{
    return settings->kernel == FIRN_CUBIC ? 4 : 3;
}

/* From a cell's first node to its corner, in cells. */
static inline double place_origin(const firn_settings *settings)
{
    return settings->kernel == FIRN_CUBIC ? 1 : 0.5;
}

#endif
