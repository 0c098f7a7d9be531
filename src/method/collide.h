/*
 * The velocity of snow after meeting a body (paper section 8; METHOD section 5).
 *
 * Does NOT do: ask whether the point is inside (phi <= 0); see steps 5 and 9.
 */
#ifndef FIRN_METHOD_COLLIDE_H
#define FIRN_METHOD_COLLIDE_H

#include "method/vec.h"

/*
 * v_rel = v - v_co, v_n = v_rel . n, v_t = v_rel - n v_n. Separating (v_n >= 0): unchanged. Else
 * v_rel' = v_t max(0, 1 + friction v_n / |v_t|), which is 0 where |v_t| <= -friction v_n (sticking)
 * and the sliding formula elsewhere. Sticky bodies: v_rel' = 0, whatever v_n. n is a unit vector.
 */
FN vec collide_response(vec v, vec v_co, vec n, real friction, lane_mask sticky)
{
    vec v_rel = vec_sub(v, v_co);
    real v_n = vec_dot(v_rel, n);
    vec v_t = vec_mad(v_rel, -v_n, n);
    real speed = real_max(vec_norm(v_t), real_of(REAL_TINY));
    real keep = real_max(real_of(0), R(1) + friction * v_n / speed);
    keep = lane_select(sticky, real_of(0), keep);
    vec met = vec_mad(v_co, keep, v_t);
    return vec_select((v_n >= R(0)) & lane_not(sticky), v, met);
}

#endif
