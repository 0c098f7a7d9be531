/*
 * Steps among bodies that move, planned ahead for a backend that takes many in a row: where every body stands when
 * each begins, and how long bodies let it be, provided that the snow still allows the same and is still
 * in the same box. The backend looks whether that holds, and ends before a step of which it does not.
 *
 * Thin walls let steps be as long as the snow is slow. A plan supposes that it stays as fast as it was; how long a step
 * is, the backend works out from how fast it is by then. Where no body moves, one planned step stands for all: which
 * walls are near depends on the snow's box alone.
 *
 * Does NOT do: changes of a shape's keys, before which a plan ends.
 */
#ifndef FIRN_SRC_BODY_PLAN_H
#define FIRN_SRC_BODY_PLAN_H

#include "backend.h"

typedef struct body_step {
    double time;
    double stable;  /* the longest step that the snow allows */
    double allowed; /* and of that, the bodies, but for thin walls */
    double speed;   /* m/s: the largest of any body where snow may meet it */
    size_t walls;   /* thin, near the snow */
} body_step;

typedef struct body_plan {
    size_t steps, bodies;
    bool moves; /* some body does; otherwise there is one step */
    body_step *step;
    collider_pose *poses; /* of all bodies, step by step */
    collider_wall *walls; /* room for one a body, step by step */
    const collider *items;
} body_plan;

/* What is known when the first step begins. */
typedef struct body_plan_start {
    const firn_settings *settings;
    double time, frame_time, dt_limit;
    double stable, snow_speed;
    double low[3], high[3]; /* a box that holds the snow */
} body_plan_start;

/* At most so many steps, none beyond the frame; one where no body moves. */
firn_status body_plan_make(const collider_set *set, const body_plan_start *start, size_t most,
                           body_plan *out);
void body_plan_clear(body_plan *plan);

#endif
