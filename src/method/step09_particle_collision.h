/*
 * Step 9, particles meet bodies (sections 4.1 and 8): v_p is collided where phi(x_p) <= 0, as nodes
 * are in step 5, because interpolated velocities may still lead inside.
 */
#ifndef FIRN_METHOD_STEP09_PARTICLE_COLLISION_H
#define FIRN_METHOD_STEP09_PARTICLE_COLLISION_H

#include "method/step05_grid_collision.h"

FN vec step09_velocity(vec v, real phi, vec v_co, vec n, real friction, lane_mask sticky)
{
    return step05_velocity(v, phi, v_co, n, friction, sticky);
}

#endif
