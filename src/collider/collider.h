/*
 * Bodies that snow cannot enter: a shape, how it moves, and how snow slides on it (paper section
 * 8).
 *
 * A set of bodies stands at one time: collider_set_move brings every body there once a step, and all
 * questions about places then are about that time. `poses` is plain data, one entry a body, for
 * processors that cannot follow pointers.
 *
 * Does NOT do: feel the snow. Colliders are kinematic.
 */
#ifndef FIRN_COLLIDER_COLLIDER_H
#define FIRN_COLLIDER_COLLIDER_H

#include <stdint.h>

#include "collider/deform.h"
#include "collider/motion.h"
#include "method/time_step.h"
#include "shape/shape.h"

typedef struct collider {
    shape *shape;    /* as if it never moved; borrowed, like the keys of `motion` */
    deform *deform;  /* or a shape that changes, in place of `shape`; borrowed */
    motion motion;   /* of the whole */
    double friction; /* Coulomb coefficient */
    bool sticky;
    double thickness; /* m, of its thinnest walls, or `COLLIDER_THICK` cells; filled by the set */
    double slack;     /* m: how far its distances may be off; filled likewise */
} collider;

/* Cells: walls thicker than this are no concern. */
#define COLLIDER_THICK 2.0

typedef struct collider_pose {
    motion_pose at;
    double low[3], high[3]; /* a box that holds the body; sides without end are +-INFINITY */
    deform_pose deform;     /* what the body holds of its shape, if that changes */
    /* For quick looks. All of the shape is one level set: row i is (a, b), from places to cells from its
     * first sample, a . x + b. It is one half-space: row 1 likewise is its distance. */
    bool is_sampled, is_plane;
    double cells[3][4];
    double cell; /* m */
} collider_pose;

typedef struct collider_set {
    int dimensions; /* in 2D normals and velocities lie in the plane */
    double cell_size;
    bool moves;        /* some body does */
    bool limits_steps; /* some body moves or has thin walls */
    double time;       /* where it stands, s */
    double travel;     /* m: how far any point of any body went, move by move, all added up */
    double last_move;  /* m: of that, the last one */
    size_t count;
    collider *items;      /* owned; what they point to is borrowed */
    collider_pose *poses; /* owned */
} collider_set;

/* Copies `items`; the set then stands at time 0. */
firn_status collider_set_create(int dimensions, double cell_size, const collider *items,
                                size_t count, collider_set *set);
void collider_set_clear(collider_set *set);

firn_status collider_set_move(collider_set *set, double time);

/* Where one body is at a time, without what it holds then of a shape that changes. */
void collider_pose_at(const collider *c, double time, collider_pose *pose);

/* The same with it; and giving that back. Only a body that deforms can fail. */
firn_status collider_stand(const collider *c, double time, collider_pose *pose);
void collider_leave(const collider *c, collider_pose *pose);

/* Whether it ever moves or deforms. */
bool collider_moves(const collider *c);

/* phi at x; gradient and the body's velocity there (either may be NULL). */
double collider_distance(const collider *c, const collider_pose *pose, const double x[3],
                         double gradient[3], double velocity[3]);

/* Some of a set's bodies: bit n for body n, the last bit for all from there on. */
typedef uint64_t collider_bits;
#define COLLIDER_ALL UINT64_MAX

/* The bodies among some that may touch the ball of this radius about x. */
collider_bits collider_set_near(const collider_set *set, collider_bits among, const double x[3],
                                double radius);

/* The velocity of snow at x after meeting these bodies in order. v has 3 entries (0 beyond the
 * scene's dimensions). Returns whether any was touched. */
bool collide_velocity(const collider_set *set, collider_bits near, const double x[3], double v[3]);

/* What bodies leave to a solve of a node's velocity: nothing when it is held (sticky, or pressed so that
 * friction stops it), all but the part along `normal` when it slides, everything when that is 0. */
typedef struct collider_bond {
    bool held;
    double normal[3];
} collider_bond;

/* The same, and how the bodies bind it. */
bool collide_and_bind(const collider_set *set, collider_bits near, const double x[3], double v[3],
                      collider_bond *bond);

/* The same for a particle, which velocities alone would leave where it got in: one that is deeper
 * inside than a quarter of a cell (of a wall, if that is thinner) is told to `shift` outward, by a
 * twentieth of a cell at a time. */
bool collide_particle(const collider_set *set, collider_bits near, const double x[3], double v[3],
                      double shift[3]);

/* ---- How long a step may be: limits.c -------------------------------------------------------- */

/*
 * Of `dt` as much as the bodies allow from a time on, for snow within a box that moves at up to
 * `snow_speed`: no point of a body near the snow passes more than `travel` of a cell, and no snow
 * gets past the middle of a thin wall, where the way out would be the other side.
 */
double collider_set_step(const collider_set *set, double time, const double low[3],
                         const double high[3], double snow_speed, double travel, double dt);

/* A thin wall near the snow. */
typedef struct collider_wall {
    double way;   /* m: how far it and the snow may go towards each other in a step */
    double speed; /* m/s, at most */
} collider_wall;

/* The same but for thin walls, which it tells instead, at most one a body. */
double collider_set_step_but_walls(const collider_set *set, double time, const double low[3],
                                   const double high[3], double travel, double dt,
                                   collider_wall *wall, size_t *walls);

/* Of `dt` as much as thin walls allow, rounded like all steps that change with the speed of the snow. */
EVERYWHERE double collider_walls_step(const collider_wall *wall, size_t walls, double snow_speed,
                                      double dt)
{
    for (size_t n = 0; n < walls; n++) {
        const double closing = wall[n].speed + snow_speed;
        if (closing > 0)
            dt = fmin(dt, time_step_rounded(wall[n].way / closing));
    }
    return dt;
}

/* The largest speed of any point of the body in a box, exactly (for rigid motion a corner has it). */
double collider_speed(const collider_pose *pose, const double low[3], const double high[3]);

/* The thickness of the thinnest walls that make up a part of the surface worth counting, at most
 * `enough`. */
double collider_thickness(const shape *s, int dimensions, double enough);

#endif
