/*
 * Step 1, particles to grid (section 4.1):
 *
 *     m_i = sum_p m_p w_ip        v_i = sum_p m_p v_p(x_i) w_ip / m_i
 *
 * with v_p(x_i) = v_p for FLIP, and v_p + C_p (x_i - x_p), C_p = B_p D^-1, for APIC and MLS. What is here
 * is the part of one particle; the sums belong to the backends.
 */
#ifndef FIRN_METHOD_STEP01_RASTERIZE_H
#define FIRN_METHOD_STEP01_RASTERIZE_H

#include "method/mat.h"

/* v + C d, with d = x_i - x_p */
FN vec step01_velocity(vec v, mat C, vec d)
{
    return vec_add(v, mat_vec(C, d));
}

/* C = B D^-1, where D = I / inv_D (spline.h) */
FN mat step01_apic_C(mat B, real inv_D)
{
    return mat_scale(B, inv_D);
}

#endif
