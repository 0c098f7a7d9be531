/*
 * Step 5, nodes meet bodies (sections 4.1 and 8): v*_i is collided where phi(x_i) <= 0.
 */
#ifndef FIRN_METHOD_STEP05_GRID_COLLISION_H
#define FIRN_METHOD_STEP05_GRID_COLLISION_H

#include "method/collide.h"

FN vec step05_velocity(vec v, real phi, vec v_co, vec n, real friction, lane_mask sticky)
{
    return vec_select(phi <= R(0), collide_response(v, v_co, n, friction, sticky), v);
}

#endif
