/*
 * Step 4, grid velocities under forces (section 4.1):
 *
 *     v*_i = v_i + dt (f_i / m_i + g)                                                       (10)
 */
#ifndef FIRN_METHOD_STEP04_GRID_VELOCITY_H
#define FIRN_METHOD_STEP04_GRID_VELOCITY_H

#include "method/vec.h"

FN vec step04_velocity(vec v, vec f, real m, vec g, real dt)
{
    return vec_mad(vec_mad(v, dt / m, f), dt, g);
}

#endif
