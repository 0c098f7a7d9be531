/*
 * One measurement: a scene, warmed up, then stepped and timed several times over.
 *
 * The scene is a cube of snow that meets the ground at 3 m/s, 8 particles a cell; it is stepped
 * until the impact has left plastic deformation before any clock starts, so that what is measured
 * is snow at work and not a block at rest. A scene file is stepped a fixed number of times first.
 */
#ifndef FIRN_TOOL_BENCH_CASE_H
#define FIRN_TOOL_BENCH_CASE_H

#include "firn/firn.h"
#include "firn/scene.h"

typedef struct bench_request {
    const char *scene;       /* a file, or NULL for the cube */
    const char *const *sets; /* values of either to override */
    size_t set_count;
    const char *backend;
    int threads;
    const char *kernel, *transfer, *integrator; /* NULL leaves a scene file's own */
    size_t particles;                           /* of the cube */
    uint64_t steps;                             /* of each repeat */
    int repeats;
} bench_request;

typedef struct bench_result {
    char backend[16];
    firn_settings settings;
    size_t particles;
    double particles_per_cell; /* of the plain cube as sampled, else the mean over occupied cells */
    double dt;                 /* mean of the timed steps, s */
    double ns_per_particle_step;      /* median of the repeats */
    double stage_ns[FIRN_STAGES];     /* likewise per particle step, of the median repeat */
    double bodies_ns;                 /* of all stages, what bodies took; NAN when not told */
    double solver_iterations;         /* a step */
    double ns_per_particle_iteration; /* NAN without a solver */
    double peak_bytes;                /* of the whole process during this case */
} bench_result;

/* Both are borrowed. */
firn_status bench_measure(const bench_request *request, bench_result *result);

#endif
