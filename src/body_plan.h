/*
 * Steps among bodies that move, planned ahead for a backend that takes many in a row: where every body stands when
 * each begins, and how long bodies let it be, provided that the snow still allows the same and is still
 * in the same box. The backend looks whether that holds, and ends before a step of which it does not.
 *
 * Does NOT do: thin walls, before which steps depend on how fast snow is; changes of a shape's keys, before
 * which a plan ends.
 */
#ifndef FIRN_SRC_BODY_PLAN_H
#define FIRN_SRC_BODY_PLAN_H

#include "backend.h"

typedef struct body_step {
    double time;
    double stable;  /* the longest step that the snow allows */
    double allowed; /* and of that, the bodies */
    double speed;   /* m/s: the largest of any body where snow may meet it */
} body_step;

typedef struct body_plan {
    size_t steps, bodies;
    body_step *step;
    collider_pose *poses; /* of all bodies, step by step */
    const collider *items;
} body_plan;

/* What is known when the first step begins. */
typedef struct body_plan_start {
    const firn_settings *settings;
    double time, frame_time, dt_limit;
    double stable, snow_speed;
    double low[3], high[3]; /* a box that holds the snow */
} body_plan_start;

/* Whether steps can be planned among these bodies. */
bool body_plan_holds(const collider_set *set);

/* At most so many steps, none beyond the frame. */
firn_status body_plan_make(const collider_set *set, const body_plan_start *start, size_t most,
                           body_plan *out);
void body_plan_clear(body_plan *plan);

#endif
