/*
 * How far light gets in a volume: free flights by delta tracking, transmittance by ratio tracking, both
 * unbiased in any density (Woodcock 1965; Novak et al. 2014).
 *
 * The ray goes from block to block; in each, collisions are tried at the rate of the block's bound, and
 * what is left of an optical depth at the edge is carried into the next block.
 *
 * `extinction` is per unit of density, m^2/kg; lengths are in metres.
 */
#ifndef FIRN_RENDER_VOLUME_TRACK_H
#define FIRN_RENDER_VOLUME_TRACK_H

#include "render/trace_random.h"
#include "render/volume.h"

typedef struct volume_ray {
    vec3 start, direction; /* direction: unit */
    float limit;
} volume_ray;

/* The block that holds a point, so that the next ray from there need not look for it. Zeroed: not known. */
typedef struct volume_spot {
    const struct volume_block *block;
    int at[3];
    float bound;
} volume_spot;

/* Distance to the first collision; INFINITY when the ray gets to its limit. `spot` is that of the start,
 * and becomes that of the collision. */
float volume_flight(const volume *v, const volume_ray *ray, float extinction, volume_spot *spot,
                    trace_random *random);

/* An estimate in [0, 1] whose mean is the transmittance. */
float volume_transmittance(const volume *v, const volume_ray *ray, float extinction,
                           volume_spot spot, trace_random *random);

#endif
