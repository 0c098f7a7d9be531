/*
 * Filling shapes with particles: at random, on a lattice, or by Poisson disks.
 *
 * Promises: every point lies inside (distance <= 0). The same arguments give the same points on
 * every machine. Poisson: no two points are closer than the radius, and no further point would fit
 * (the set is maximal). The mean number of points is density of points times volume for all three
 * methods; a shape that has volume gets at least one.
 *
 * The lattice is the world's, so that with 8 points a cell in 3D every grid cell gets the same
 * eight. Along an axis where the shape is thinner than the spacing it runs through the shape's
 * middle.
 */
#ifndef FIRN_SHAPE_SAMPLE_H
#define FIRN_SHAPE_SAMPLE_H

#include <stdint.h>

#include "shape/shape.h"

typedef enum sample_method { SAMPLE_POISSON, SAMPLE_RANDOM, SAMPLE_LATTICE } sample_method;

typedef struct sample_request {
    const shape *shape;
    int dimensions;
    sample_method method;
    double points_per_volume; /* per m^d: particles_per_cell / h^d */
    uint64_t seed;
} sample_request;

typedef struct sample_points {
    size_t count;
    double *position; /* count x dimensions; owned */
    double volume;    /* of the shape, so that mass = density * volume / count */
    double radius;    /* Poisson: the one used, a little larger than in open space because a maximal
                         set crowds at a surface; otherwise 0 */
} sample_points;

/* FIRN_BAD_SCENE when the shape is empty, unbounded, or too thin to hold a point. */
firn_status sample_shape(const sample_request *request, sample_points *points);
void sample_points_clear(sample_points *points);

/* The Poisson radius that gives that many points per volume far from any surface. */
double sample_poisson_radius(int dimensions, double points_per_volume);

/* Counter-based random numbers: the n-th value of a stream, independent of any order of
 * evaluation. */
uint64_t random_bits(uint64_t seed, uint64_t n);
double random_unit(uint64_t seed, uint64_t n); /* [0, 1) */

#endif
