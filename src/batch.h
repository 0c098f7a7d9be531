/*
 * What a backend may offer besides backend.h, where each word to the host costs as much as a part of a step:
 * explicit steps in a row, and copies of the particles that need no wait.
 */
#ifndef FIRN_SRC_BATCH_H
#define FIRN_SRC_BATCH_H

#include "body_plan.h"

typedef struct step_batch {
    uint64_t wanted;       /* at most so many */
    double frame_time;     /* and not beyond this */
    double cfl;            /* of the scene and its materials */
    double time, dt_limit; /* before the first; then after the last */
    uint64_t steps;        /* done */
    double dt_min, dt_max; /* of these */
    const body_plan *plan; /* NULL where no body limits steps */
} step_batch;

/* Steps without a look from sim.c, each as long as sim.c would choose where emitters have no say. Ends before a step that
 * is not as planned, that fails or that needs a solve, which sim.c then takes by `step`; may end early,
 * even with none done. */
typedef firn_status batch_fn(backend *self, step_batch *batch, step_report *report);

/* A copy of the particles as they are now, of which any thread may ask `get`, `limits` and `bounds` while steps go
 * on, and which it ends by `destroy`; NULL when there is no room. */
typedef firn_status freeze_fn(backend *self, backend **copy);

/* NULL for backends that gain nothing by it. */
batch_fn *batch_of(const backend_ops *ops);
freeze_fn *freeze_of(const backend_ops *ops);

#endif
