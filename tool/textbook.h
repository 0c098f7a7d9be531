/*
 * The method as one would first write it down from the paper, for a handful of particles in free
 * flight: world coordinates, weights by the printed splines, F_E put together from its SVD in every
 * step, any time step. None of the care that the solvers take; the study of stability compares them
 * with it.
 *
 * Three dimensions, cubic splines, FLIP with alpha = 0.95, the paper's snow. No gravity, no bodies.
 */
#ifndef FIRN_TOOL_TEXTBOOK_H
#define FIRN_TOOL_TEXTBOOK_H

#include <stdbool.h>
#include <stddef.h>

typedef struct textbook_setup {
    size_t count;
    const double *position, *velocity; /* count x 3; within 10 cells of each other */
    double strain;                     /* of all particles at the start, in every direction */
    double cell, dt;
} textbook_setup;

/* After each step, of all particles or nodes. */
typedef struct textbook_step {
    double kinetic;  /* J */
    double strain;   /* largest entry of F_E^T F_E - I */
    double gradient; /* largest entry of grad v, 1/s */
    double kick;     /* largest change of a node's velocity by forces, m/s */
} textbook_step;

/* Masses and volumes are those of 8 particles a cell. */
double textbook_particle_volume(double cell);

void textbook_run_float(const textbook_setup *setup, size_t steps, textbook_step *history);
void textbook_run_double(const textbook_setup *setup, size_t steps, textbook_step *history);

#endif
