/*
 * Bodies that snow cannot enter: a shape, how it moves, and how snow slides on it (paper section
 * 8).
 *
 * Does NOT do: feel the snow. Colliders are kinematic.
 */
#ifndef FIRN_COLLIDER_COLLIDER_H
#define FIRN_COLLIDER_COLLIDER_H

#include "shape/shape.h"

typedef struct collider {
    shape *shape;       /* at time 0; owned by the set */
    double velocity[3]; /* m/s, constant */
    double friction;    /* Coulomb coefficient */
    bool sticky;
} collider;

typedef struct collider_set {
    int dimensions; /* in 2D normals and velocities lie in the plane */
    size_t count;
    collider *items;
} collider_set;

/* phi at x and time; gradient and the body's velocity there (either may be NULL). */
double collider_distance(const collider *c, double time, const double x[3], double gradient[3],
                         double velocity[3]);

/* What bodies leave to a solve of a node's velocity: nothing when it is held (sticky, or pressed so that
 * friction stops it), all but the part along `normal` when it slides, everything when that is 0. */
typedef struct collider_bond {
    bool held;
    double normal[3];
} collider_bond;

/* The velocity of snow at x after meeting every collider in order. v has 3 entries (0 beyond the
 * scene's dimensions). Returns whether any collider was touched. */
bool collide_velocity(const collider_set *set, double time, const double x[3], double v[3]);

/* The same, and how the bodies bind it. */
bool collide_and_bind(const collider_set *set, double time, const double x[3], double v[3],
                      collider_bond *bond);

#endif
