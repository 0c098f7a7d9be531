/*
 * How a rigid body moves: constant velocities, keyframes, or both; and its pose at one time.
 *
 * The body turns about its pivot: first by the constant angular velocity, then by the keys' turn; then
 * it is shifted by the constant velocity and by the keys' shift. Velocities are the exact derivatives
 * of that: v(x) = velocity + spin x (x - place).
 *
 * Between keys: `linear` is constant velocity and slerp. `smooth` has no jump in velocity and does not
 * overshoot a key: cubic Hermite curves for the shift, and their counterpart for rotations (Kim, Kim
 * and Shin 1995). Before the first key and after the last one the body is where that key says, at rest.
 *
 * Does NOT do: forces. Motion is given, never felt.
 */
#ifndef FIRN_COLLIDER_MOTION_H
#define FIRN_COLLIDER_MOTION_H

#include <stdbool.h>
#include <stddef.h>

#include "collider/rotation.h"

/* A key as it is told. */
typedef struct motion_point {
    double time;         /* s */
    double translate[3]; /* m, from where the shape stands */
    double axis[3];      /* any length; of no meaning when the angle is 0 */
    double angle;        /* degrees */
} motion_point;

/* A key and the way to the next one. */
typedef struct motion_key {
    double time;
    double translate[3];
    quaternion rotate;
    double velocity[3];                  /* smooth: of the pivot at this key */
    double first[3], middle[3], last[3]; /* rotation vectors, body frame: see motion.c */
} motion_key;

typedef struct motion {
    double pivot[3];            /* where the shape stands */
    double velocity[3];         /* m/s */
    double angular_velocity[3]; /* rad/s */
    bool smooth;
    size_t key_count;
    motion_key *keys; /* owned by whoever owns the motion */
} motion;

/* Where a body is and how it moves at one time: plain data. A point p of the shape is at
 * place + rotation (p - pivot), which is p + shift when it is not turned. */
typedef struct motion_pose {
    double rotation[3][3];
    bool turned;
    double pivot[3], place[3], shift[3];
    double velocity[3]; /* of the pivot */
    double spin[3];     /* rad/s */
} motion_pose;

/* `count` keys of these points, whose times increase; NULL when out of memory. Points with one axis
 * turn by the difference of their angles, whole turns included; others take the shortest way. */
motion_key *motion_keys_create(const motion_point *points, size_t count, bool smooth);

/* Whether it ever does. */
bool motion_moves(const motion *m);

void motion_pose_at(const motion *m, double time, motion_pose *pose);

/* World to shape. */
EVERYWHERE void motion_pose_inverse(const motion_pose *pose, const double x[3], double out[3])
{
    if (!pose->turned) {
        for (int i = 0; i < 3; i++)
            out[i] = x[i] - pose->shift[i];
        return;
    }
    const double r[3] = {x[0] - pose->place[0], x[1] - pose->place[1], x[2] - pose->place[2]};
    for (int j = 0; j < 3; j++)
        out[j] = pose->pivot[j] + pose->rotation[0][j] * r[0] + pose->rotation[1][j] * r[1] +
                 pose->rotation[2][j] * r[2];
}

/* v + omega x r at a place in the world. */
EVERYWHERE void motion_pose_velocity(const motion_pose *pose, const double x[3], double v[3])
{
    const double r[3] = {x[0] - pose->place[0], x[1] - pose->place[1], x[2] - pose->place[2]};
    cross3(pose->spin, r, v);
    for (int i = 0; i < 3; i++)
        v[i] += pose->velocity[i];
}

#endif
