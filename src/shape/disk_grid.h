/*
 * Poisson disks in a cube of cells: points no closer than a radius, added until none fits any more.
 *
 * A cell's diagonal is just under the radius, so a cell holds at most one point and whatever covers
 * a place lies within two cells of it. Around the cube is a halo of two cells for points of
 * neighbours; a periodic grid keeps its own images there.
 *
 * Does NOT do: choose the radius, or know of anything beyond its halo.
 */
#ifndef FIRN_SHAPE_DISK_GRID_H
#define FIRN_SHAPE_DISK_GRID_H

#include <stdint.h>

#include "shape/shape.h"

enum { DISK_HALO = 2, DISK_NEAR = 125 };

typedef struct disk_grid {
    int dimensions;
    int cells; /* along a side, without halo */
    bool periodic;
    double radius, cell, cells_per_metre;
    double origin[3]; /* the corner of the cube */
    int side;         /* cells + 2 halos */
    int32_t *at;      /* cell -> point, or -1 */
    size_t count, capacity;
    double (*points)[3]; /* images included */
    int near_count;
    int32_t near[DISK_NEAR]; /* steps to the cells that can cover a place in one, nearest first */
} disk_grid;

/* A stream of random numbers with its place in it. */
typedef struct random_stream {
    uint64_t seed, next;
} random_stream;

/* Where points are wanted. */
typedef struct disk_domain {
    const shape *shape; /* in the cube; NULL: all of it */
    const shape *whole; /* everywhere */
    double covered;     /* everything deeper inside than this is known to be covered */
} disk_domain;

/* The side of a cell for a radius. */
double disk_cell(int dimensions, double radius);

firn_status disk_grid_create(int dimensions, int cells, bool periodic, double radius,
                             disk_grid *grid);
void disk_grid_clear(disk_grid *grid);

/* Forget all points and move the cube. */
void disk_grid_reset(disk_grid *grid, const double origin[3]);

/* Note a point that is already there; those beyond the halo are ignored. False: out of memory. */
bool disk_grid_put(disk_grid *grid, const double x[3]);

/* The point in a cell of the cube, or NULL. */
const double *disk_grid_point(const disk_grid *grid, const int cell[3]);

typedef enum disk_effort { DISK_QUICK, DISK_MAXIMAL } disk_effort;

/* Add points to the cube where the domain is not covered; QUICK throws a few darts a cell,
 * MAXIMAL ends when no place is left. The new points are grid->points[first ..], images among
 * them if periodic. */
firn_status disk_grid_fill(disk_grid *grid, const disk_domain *domain, disk_effort effort,
                           random_stream *random);

#endif
