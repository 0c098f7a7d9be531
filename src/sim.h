/* What a simulation is inside. Created in sim_create.c, saved and resumed in sim_checkpoint.c, stepped
 * in sim.c, read back in sim_read.c; snow comes and goes in sim_flow.c; what ends it is told in
 * sim_blowup.c. */
#ifndef FIRN_SRC_SIM_H
#define FIRN_SRC_SIM_H

#include "backend.h"
#include "method/time_step.h"
#include "scene/model.h"
#include "sim_flow.h"

enum { CHUNK = 16384 }; /* rows that cross to or from the backend at a time */

struct firn_sim {
    firn_scene *scene; /* own copy */
    collider_set colliders;
    const backend_ops *ops;
    backend *state;
    int threads; /* as asked for: 0 = all */
    double cfl;  /* of the scene, or what its `auto` stands for */
    size_t count;
    uint64_t *ids;
    uint32_t *objects;
    flow flow;
    double time;
    uint64_t step;
    int frame;
    double dt_limit; /* the largest step to try next, after one that failed; 0 = none */
    size_t active_nodes;
    bool blown_up;
    bool is_still;     /* a copy that never steps and owns its state, ids and objects only */
    uint64_t in_a_row; /* steps taken the last time without a look: a matter of speed alone */
    firn_progress progress;
};

/* A simulation of this scene with `count` particles whose values are still to be set. */
firn_status sim_make(const firn_scene *scene, const firn_sim_options *options, size_t count,
                     firn_sim **out);

/* Rows from `first` on become snow of an object, at these points, at rest but for its velocity. `places`
 * tell what its material varies by; NULL: the points do. */
firn_status sim_fill(firn_sim *sim, size_t object, size_t first, const sample_points *points,
                     const scene_place *places);

/* Whether these values of rows first, first + 1, ... may be simulated. */
firn_status sim_check_values(firn_attribute attribute, const double *values, size_t first,
                             size_t count, int dimensions);

/* The step to take now, before any failure. */
time_step_choice sim_choose(firn_sim *sim);

/* The end of a run: FIRN_BLOWUP and its message, for a step that failed at `dt` after so many halvings,
 * and for an automatic step below `floor`. */
firn_status sim_report_failure(firn_sim *sim, const step_report *report, double dt, int halvings);
firn_status sim_report_tiny_step(firn_sim *sim, double dt, double floor);

#endif
