/*
 * What the physics tests share: scenes from a few lines of YAML, particles as arrays that a test
 * may change, and comparisons that print what they measured (ctest -V shows how much room is left).
 *
 * A test program takes the backend's name as its only argument. Numbers that depend on the
 * backend's precision are in one table, `precision`.
 */
#ifndef FIRN_TESTS_PHYSICS_H
#define FIRN_TESTS_PHYSICS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "firn/scene.h"

/* ---- Variants of the method ------------------------------------------------------------------ */

typedef struct method {
    int dimensions;
    const char *kernel, *transfer; /* as in a scene */
} method;

#define FLIP_95 "{type: flip, blend: 0.95}"
#define FLIP_100 "{type: flip, blend: 1}"
#define PIC "{type: flip, blend: 0}"
#define APIC "apic"
#define MLS "mls"

/* 2D and 3D, both kernels, FLIP 0.95, FLIP 1, APIC and MLS; the first of them without MLS in 3D, for tests
 * that take long. */
enum { METHODS = 16, MOST_METHODS = 14 };
extern const method methods[METHODS];

/* Enough of them for long runs: every kernel with every transfer in 2D or 3D, each once; of MLS one. */
enum { FEW_METHODS = 7 };
extern const method few_methods[FEW_METHODS];

firn_transfer transfer_of(method m);
bool is_affine(method m);

/* "2D cubic apic"; overwritten by the next call. */
const char *method_name(method m);

/* ---- Simulations ----------------------------------------------------------------------------- */

/* Name the backend of this program: argv[1], or ref; and the tests of it to run, argv[2], by a pattern. */
void use_backend(int argc, char **argv);
firn_sim_options backend_options(void);
void use_options(firn_sim_options chosen); /* for the simulations made from now on */
bool has_solver(void);                     /* whether the backend offers semi_implicit */

/* A name for a file that is this program's alone: the same tests of other backends run beside it. One at a time. */
const char *own_file(const char *name);

/* A scene of these lines, which begin inside of `simulation:` (two spaces in). Owned. */
firn_scene *make_scene(method m, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The simulation of a scene, which is destroyed. Owned. */
firn_sim *make_sim(firn_scene *scene);

/* Particles as arrays, one per state attribute, all present. */
typedef struct cloud {
    int dimensions;
    size_t count;
    double *values[FIRN_STATE_ATTRIBUTES];
} cloud;

/* At rest, undeformed, of the snow preset that never yields; masses and volumes are 1. Owned. */
cloud cloud_make(int dimensions, size_t count);
cloud cloud_of(const firn_sim *sim);
void cloud_free(cloud *c);

double *cloud_row(const cloud *c, firn_attribute attribute, size_t row);

/* The simulation of these particles in the surroundings of a scene, which is destroyed. Owned. */
firn_sim *make_sim_of(firn_scene *scene, const cloud *c);

/* Sample the scene's snow, then let the test change it. Both stay with the caller. */
cloud sample_scene(const firn_scene *scene);

void step(firn_sim *sim);
void steps(firn_sim *sim, int count);
void advance_to(firn_sim *sim, double time); /* at least one step */
firn_stats stats_of(firn_sim *sim);

/* The mean of an attribute's component over all particles, weighted by mass. */
double mean_of(const firn_sim *sim, firn_attribute attribute, int component);

/* Gravity, kinetic and elastic energy together. */
double total_energy(firn_sim *sim, const double gravity[3]);

/* ---- Numbers --------------------------------------------------------------------------------- */

/* Whether two simulations stand at the same time with the same state, to the bit. */
bool same_bits(const firn_sim *a, const firn_sim *b);

/* What rounding may do to a backend whose state is double or float. */
typedef struct precision {
    double sum;      /* a conserved sum, relative, over tens of steps */
    double long_sum; /* the same over thousands */
    double path;     /* a position after hundreds of steps, relative to the way */
    double energy;   /* relative, over ten thousand steps: each may round the same way */
    double impact;   /* positions after an impact that two codes compute, in cells */
    double formula;  /* one closed formula of the state, relative */
} precision;
precision precision_of(const firn_sim *sim);

/* Uniform in [-1, 1): the n-th number. */
double noise(uint64_t n);

/* Print a measured number and fail when it is above the limit or not a number. */
void at_most(double value, double limit, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Likewise for |value / expected - 1|. */
void near_to(double value, double expected, double tolerance, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
