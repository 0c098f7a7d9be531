/*
 * How far light gets in a volume: free flights and transmittance, both right in the mean for the trilinear
 * density. Blocks without snow are crossed at once. In the others there are two ways:
 *
 * By walking. The ray goes from cell to cell; in each the density along it is a cubic, whose integral Gauss's
 * rule has exactly from two places. A flight ends where the optical depth has come to one that was drawn
 * at the start.
 *
 * By trial (delta tracking, ratio tracking). Collisions are tried at the rate of the block's bound, and each is
 * taken with the share that the density there has of it; transmittance is what is left after all of these
 * shares. Simple enough to check the other by.
 *
 * `extinction` is per unit of density, m^2/kg; lengths are in metres.
 */
#ifndef FIRN_RENDER_VOLUME_TRACK_H
#define FIRN_RENDER_VOLUME_TRACK_H

#include "render/trace_random.h"
#include "render/volume_grid.h"

typedef struct volume_ray {
    vec3 start, direction; /* direction: unit */
    float limit;
} volume_ray;

/* A point in snow, as the grid sees it, so that the next ray from there need not look for it. Zeroed: not
 * known. */
typedef struct volume_spot {
    lanes x; /* in the block */
    const volume_block *block;
    int at[3]; /* of the block */
} volume_spot;

/* Distance to the first collision; INFINITY when the ray gets to its limit. `spot` is that of the start,
 * and becomes that of the collision. */
float volume_flight(const volume *v, const volume_ray *ray, float extinction, volume_spot *spot,
                    trace_random *random);

/* An estimate in [0, 1] whose mean is the transmittance. */
float volume_transmittance(const volume *v, const volume_ray *ray, float extinction,
                           volume_spot spot, trace_random *random);

/* The same by trial. */
float volume_try_flight(const volume *v, const volume_ray *ray, float extinction, volume_spot *spot,
                        trace_random *random);
float volume_try_transmittance(const volume *v, const volume_ray *ray, float extinction,
                               volume_spot spot, trace_random *random);

#endif
