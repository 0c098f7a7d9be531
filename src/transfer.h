/* What the ways to carry velocities between particles and grid have in common. */
#ifndef FIRN_SRC_TRANSFER_H
#define FIRN_SRC_TRANSFER_H

#include "everywhere.h"
#include "firn/scene.h"

/* Whether a particle carries an affine field of velocities, B, and no old velocity is asked for. */
EVERYWHERE bool transfer_is_affine(firn_transfer transfer)
{
    return transfer != FIRN_FLIP;
}

#endif
