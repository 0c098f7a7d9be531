/*
 * What a solver must offer to be a backend: hold the particles of one simulation and do one step.
 *
 * sim.c owns time, frames, ids and the choice of dt; a backend owns the state and the ten steps. Rows
 * are particle numbers 0..count-1 in id order: a backend may keep particles in any order inside, but
 * `set` and `get` speak in rows. Values cross this seam as double, in ranges, so that no side ever
 * needs a second whole copy of the state; a backend that stores float returns exactly what it stored.
 *
 * A step succeeds or leaves no trace. It fails with FIRN_BLOWUP when a value is not finite, a particle
 * crosses more than a cell, is turned inside out (J_P is not positive) or leaves the range of positions,
 * or when the solver does not converge; then every particle is as it was before, and the report says
 * what went wrong. sim.c tries again with half the dt.
 */
#ifndef FIRN_SRC_BACKEND_H
#define FIRN_SRC_BACKEND_H

#include <float.h>
#include <math.h>
#include <time.h>

#include "collider/collider.h"
#include "firn/scene.h"
#include "transfer.h"

typedef struct backend backend; /* each backend defines its own */

typedef struct backend_problem {
    const firn_settings *settings; /* borrowed for the life of the backend */
    const collider_set *colliders; /* likewise; it stands at the time of the step */
    int threads;
} backend_problem;

/* What bounds the next time step; a pure function of the particles, so that a resumed run takes the
 * same steps as an uninterrupted one. */
typedef struct step_limits {
    double max_speed;      /* m/s */
    double max_wave_speed; /* m/s, of the hardened material */
} step_limits;

/* One step to take. The colliders stand where they are when it begins. */
typedef struct step_plan {
    double dt;
    bool first;    /* asks for step 2, the rest volumes */
    bool implicit; /* asks for step 6; only of backends that offer it */
} step_plan;

typedef struct step_report {
    size_t active_nodes;
    /* Of step 6; 0 and false for explicit steps. */
    uint64_t solver_iterations, newton_iterations;
    double solver_residual; /* relative to that of the explicit step v* */
    bool converged;
    double stage_ms[FIRN_STAGES];
    double bodies_ms; /* of these, for bodies; 0: not told */
    /* Filled when the step returns FIRN_BLOWUP: a particle that went wrong (the same one for every
     * number of threads), where it was when the step began, and what of it grew to which value. */
    size_t bad_row;
    const char *bad_what; /* "velocity is not finite", "moved more than a cell in one step", ... */
    double bad_position[3];
    double bad_value;
} step_report;

/* Milliseconds on a clock that never goes back. */
static inline double stage_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* Charge the time since `*since` to a stage, and begin the next. */
static inline void stage_charge(step_report *report, firn_stage stage, double *since)
{
    double now = stage_clock();
    report->stage_ms[stage] += now - *since;
    *since = now;
}

/* Name what of a particle in float went wrong, from its speed, |F_E|^2 and J_P. */
static inline void report_spoiled(step_report *report, float speed, float stretch, float J_P)
{
    report->bad_value = speed;
    if (!isfinite(speed))
        report->bad_what = "velocity is not finite";
    else if (!(stretch <= FLT_MAX))
        report->bad_what = "deformation is not finite", report->bad_value = stretch;
    else if (!(J_P > 0 && J_P <= FLT_MAX))
        report->bad_what = "plastic volume ratio J_P is not positive", report->bad_value = J_P;
    else
        report->bad_what = "moved more than a cell in one step, at a speed in m/s of";
}

typedef struct backend_ops {
    const char *name;
    bool is_double;
    bool has_solver; /* offers step 6 */
    firn_status (*create)(const backend_problem *problem, backend **out);
    void (*destroy)(backend **self);
    /* Make room for `count` particles. Their values are undefined until set. */
    firn_status (*resize)(backend *self, size_t count);
    /* Between steps: keep the particles for which kept[row] holds (all when NULL), in order, and make
     * room for `added` behind them, whose values are undefined until set. After a failure the backend
     * is unchanged. */
    firn_status (*reshape)(backend *self, const bool *kept, size_t added);
    firn_status (*set)(backend *self, firn_attribute attribute, size_t first, size_t count,
                       const double *values);
    firn_status (*get)(const backend *self, firn_attribute attribute, size_t first, size_t count,
                       double *values);
    /* Steps 1 to 10; after FIRN_BLOWUP the particles are as they were before. */
    firn_status (*step)(backend *self, const step_plan *plan, step_report *report);
    void (*limits)(backend *self, step_limits *limits);
    /* A box that holds all particles, as tight as is cheap; like the limits, a pure function of them.
     * low > high when there are none. */
    void (*bounds)(const backend *self, double low[3], double high[3]);
    /* For how long each row's surroundings have been still, in seconds: what `sleep` goes by. NULL for
     * backends that never sleep. Set before the first step; not set means 0. */
    firn_status (*get_rest)(const backend *self, double *rest);
    firn_status (*set_rest)(backend *self, const double *rest);
    /* Bytes that a run needs at its peak: so many particles, touching so many blocks of 4^d nodes. */
    double (*memory)(const firn_settings *settings, size_t particles, size_t active_blocks);
} backend_ops;

extern const backend_ops cpu_backend, cuda_backend;
extern const backend_ops ref2_backend, ref3_backend; /* one source, compiled for each dimension */

/* By name ("auto" or NULL chooses for so many particles); NULL and a message when there is none. */
const backend_ops *backend_find(const char *name, const firn_scene *scene, size_t particles);

/* Bytes that a run needs on the GPU at its peak. */
double backend_gpu_bytes(const firn_scene *scene, size_t particles, double active_blocks);

#endif
