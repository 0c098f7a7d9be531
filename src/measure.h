/* Sums over a simulation's particles: mass, momenta, energies. One code for every backend, in double,
 * in row order. */
#ifndef FIRN_SRC_MEASURE_H
#define FIRN_SRC_MEASURE_H

#include "firn/scene.h"

/* Adds up the particles of `sim` into mass, momenta, energies, max_speed and the J_P range. */
firn_status measure(const firn_sim *sim, firn_kernel kernel, firn_stats *stats);

/* A range of particles as arrays, one per state attribute, in double. */
typedef struct measure_rows {
    size_t count;
    const double *values[FIRN_STATE_ATTRIBUTES];
    double inv_D; /* of APIC and MLS: 3/h^2 (cubic) or 4/h^2 */
} measure_rows;

/* measure_particles.c, compiled for each dimension. */
void measure_particles2(const measure_rows *rows, firn_stats *stats);
void measure_particles3(const measure_rows *rows, firn_stats *stats);

#endif
