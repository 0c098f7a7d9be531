/*
 * Snow that comes and goes between two steps: emitters add particles, kill regions remove them.
 *
 * What an emitter has let out until a time is a pure function of that time (shape/stream.h), so a
 * simulation holds with every time exactly those particles, and a checkpoint needs nothing of it but
 * the next id. Scenes without emitters and kill regions do nothing here.
 */
#ifndef FIRN_SRC_SIM_FLOW_H
#define FIRN_SRC_SIM_FLOW_H

#include "backend.h"
#include "scene/model.h"
#include "shape/stream.h"

typedef struct flow_emitter {
    size_t object; /* of the scene's snow */
    stream stream;
} flow_emitter;

typedef struct flow {
    size_t emitter_count;
    flow_emitter *emitters; /* owned */
    uint64_t next_id;
} flow;

/* The emitters of a scene. */
firn_status flow_create(const firn_scene *scene, flow *f);
void flow_clear(flow *f);

/* How many particles an emitter has let out until a time. */
uint64_t flow_count(const firn_scene *scene, const flow_emitter *e, double time);

/* m/s, of what is about to come: no step may let out more than `travel` of a cell at once, even when no
 * snow is there yet. */
double flow_speed(const firn_sim *sim);

/* Until then nothing is let out and flow_speed stays as it is: no step begins at this time or later before an update.
 * INFINITY when nothing more is to come. Some 1e-9 of the way early rather than late. */
double flow_pause(const firn_sim *sim);

/* How many steps may follow each other before an update. */
uint64_t flow_steps(const firn_sim *sim);

/* Let out what is due after `since` (negative: from the very start) until the simulation's time, and
 * remove what is to go. */
firn_status flow_update(firn_sim *sim, double since);

#endif
