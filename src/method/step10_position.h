/*
 * Step 10, particle positions (section 4.1): x_p += dt v_p
 */
#ifndef FIRN_METHOD_STEP10_POSITION_H
#define FIRN_METHOD_STEP10_POSITION_H

#include "method/vec.h"

FN vec step10_position(vec x, vec v, real dt)
{
    return vec_mad(x, dt, v);
}

#endif
