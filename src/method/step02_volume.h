/*
 * Step 2, first time only (section 4.1): the rest volume of a particle, from the density on the
 * grid,
 *
 *     rho_p = sum_i m_i w_ip / h^d        V0 = m_p / rho_p
 */
#ifndef FIRN_METHOD_STEP02_VOLUME_H
#define FIRN_METHOD_STEP02_VOLUME_H

#include "method/lane.h"

/* `node_mass_sum` is sum_i m_i w_ip, `cell_volume` is h^d */
FN real step02_volume(real m, real node_mass_sum, real cell_volume)
{
    return m * cell_volume / node_mass_sum;
}

#endif
