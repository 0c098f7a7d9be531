/*
 * What a backend may offer besides backend.h, where each word to the host costs as much as a part of a step:
 * explicit steps in a row, copies of the particles that need no wait, and the particles of a part of space.
 */
#ifndef FIRN_SRC_BATCH_H
#define FIRN_SRC_BATCH_H

#include "body_plan.h"

typedef struct step_batch {
    uint64_t wanted;       /* at most so many */
    double frame_time;     /* and not beyond this */
    double pause_time;     /* and none that begins here or later */
    double flow_speed;     /* m/s, of snow that is about to come: as if some were that fast */
    double cfl;            /* of the scene and its materials */
    double time, dt_limit; /* before the first; then after the last */
    uint64_t steps;        /* done */
    double dt_min, dt_max; /* of these */
    const body_plan *plan; /* NULL where no body limits steps */
} step_batch;

/* Steps without a look from sim.c, each as long as sim.c would choose. Ends before a step that
 * is not as planned, that fails or that needs a solve, which sim.c then takes by `step`; may end early,
 * even with none done. */
typedef firn_status batch_fn(backend *self, step_batch *batch, step_report *report);

/* A copy of the particles as they are now, of which any thread may ask `get`, `limits` and `bounds` while steps go
 * on, and which it ends by `destroy`; NULL when there is no room. */
typedef firn_status freeze_fn(backend *self, backend **copy);

/* Which of some balls are wanted, given their middles and how large they all are: false until said otherwise. */
typedef void balls_fn(void *user, const double (*middle)[3], size_t count, double radius,
                      bool *wanted);

/* Rows, and where their particles are: some of all, at a time. */
typedef void places_fn(void *user, const uint32_t *row, const double (*x)[3], size_t count);

/* Divides the particles among balls of a few cells, and visits those in balls that are wanted; once steps have been
 * taken. */
typedef firn_status search_fn(backend *self, balls_fn *want, places_fn *visit, void *user);

/* NULL for backends that gain nothing by it. */
batch_fn *batch_of(const backend_ops *ops);
freeze_fn *freeze_of(const backend_ops *ops);
search_fn *search_of(const backend_ops *ops);

#endif
