/*
 * Step 8, particle velocities (section 4.1). With v_PIC = sum_i v_i^{n+1} w_ip and
 * v_FLIP = v_p + sum_i (v_i^{n+1} - v_i) w_ip,
 *
 *     v_p = (1 - alpha) v_PIC + alpha v_FLIP = sum_i v_i^{n+1} w_ip + alpha (v_p - sum_i v_i w_ip)
 *
 * APIC and MLS: v_p = v_PIC and B_p = sum_i w_ip v_i^{n+1} (x_i - x_p)^T.
 */
#ifndef FIRN_METHOD_STEP08_PARTICLE_VELOCITY_H
#define FIRN_METHOD_STEP08_PARTICLE_VELOCITY_H

#include "method/mat.h"

/* pic_new = sum_i v_i^{n+1} w_ip, pic_old = sum_i v_i w_ip */
FN vec step08_flip(vec v_p, vec pic_new, vec pic_old, real alpha)
{
    return vec_mad(pic_new, alpha, vec_sub(v_p, pic_old));
}

/* B and what one node at d = x_i - x_p adds to it */
FN mat step08_apic_B(mat B, real w, vec v, vec d)
{
    return mat_mad(B, w, mat_outer(v, d));
}

#endif
