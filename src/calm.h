/*
 * The speed of nodes along an axis up to which G2P cannot spoil a particle; negative when there is none.
 *
 * While no component of a node's velocity exceeds it, entries of dt grad v are at most 2 calm dt/h
 * (the sizes of a stencil's slopes sum to 2 at most), three of them less than 1: I + dt grad v keeps its
 * orientation, and J_P its sign. And |v_p| is at most sqrt(3) calm, with FLIP more by
 * alpha (|v_p| + |v_i|), and by twice the speed of a body that it meets. Only where nodes are faster
 * must a backend try G2P before it may change particles (backend.h).
 */
#ifndef FIRN_SRC_CALM_H
#define FIRN_SRC_CALM_H

#include <math.h>

#include "backend.h"

/* The largest speed of any body where snow may meet it: in the box of the snow. */
static inline double calm_body_speed(const collider_set *colliders, const double low[3],
                                     const double high[3])
{
    double speed = 0;
    for (size_t c = 0; c < colliders->count; c++)
        speed = fmax(speed, collider_speed(&colliders->poses[c], low, high));
    return speed;
}

EVERYWHERE float calm_speed(const firn_settings *settings, double dt, double max_speed,
                            double body_speed)
{
    double cell = settings->cell_size / dt; /* m/s: a cell in this step */
    double flip = transfer_is_affine(settings->transfer) ? 0 : 2 * settings->blend;
    double rest = cell - flip * max_speed - 2 * body_speed;
    return (float)fmin(0.16 * cell, rest / 1.75);
}

#endif
