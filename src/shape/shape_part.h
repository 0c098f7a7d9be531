/*
 * The part of a shape that matters in a ball: bodies that are nowhere the nearest one there, or that
 * nowhere cut anything off, are left out. Within the ball it gives the same distances and
 * gradients as the whole, to the bit; beyond it, any.
 *
 * Distances to primitives change no faster than one moves, so one look from the middle bounds them
 * all over the ball. Those to fields may not, and fields stay.
 *
 * A part borrows the fields of the whole and must not outlive it.
 */
#ifndef FIRN_SHAPE_SHAPE_PART_H
#define FIRN_SHAPE_SHAPE_PART_H

#include "shape/shape.h"

typedef struct shape_part {
    const shape *whole; /* borrowed */
    shape shape;        /* what matters; its operations are owned */
} shape_part;

/* The whole, until it is narrowed. Returns false without memory. */
bool shape_part_create(const shape *whole, shape_part *part);
void shape_part_narrow(shape_part *part, const double center[3], double radius);
void shape_part_clear(shape_part *part);

/* Distances at `count` places, by all threads; quick where places that follow each other are near
 * each other. Returns false without memory. */
bool shape_distances(const shape *s, size_t count, const double (*x)[3], double *distances);

#endif
