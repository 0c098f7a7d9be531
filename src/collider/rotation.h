/*
 * Rotations as unit quaternions (w, x, y, z) and as rotation vectors (axis times angle, rad).
 *
 * A vector may say more than half a turn; the quaternion of it forgets whole turns. a b turns by b
 * first, then by a.
 */
#ifndef FIRN_COLLIDER_ROTATION_H
#define FIRN_COLLIDER_ROTATION_H

#include <math.h>

#include "everywhere.h"

typedef struct quaternion {
    double w, v[3];
} quaternion;

EVERYWHERE double dot3(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

EVERYWHERE void cross3(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static inline quaternion quaternion_inverse(quaternion a)
{
    return (quaternion){a.w, {-a.v[0], -a.v[1], -a.v[2]}};
}

static inline quaternion quaternion_product(quaternion a, quaternion b)
{
    quaternion r;
    cross3(a.v, b.v, r.v);
    for (int i = 0; i < 3; i++)
        r.v[i] += a.w * b.v[i] + b.w * a.v[i];
    r.w = a.w * b.w - dot3(a.v, b.v);
    return r;
}

/* The turn by s times a rotation vector. */
static inline quaternion quaternion_exp(const double vector[3], double s)
{
    double half = 0.5 * s * sqrt(dot3(vector, vector));
    double scale = 0.5 * s * (fabs(half) < 1e-8 ? 1 : sin(half) / half);
    return (quaternion){cos(half), {scale * vector[0], scale * vector[1], scale * vector[2]}};
}

/* The shortest rotation vector of a turn. */
static inline void quaternion_log(quaternion a, double vector[3])
{
    double length = sqrt(dot3(a.v, a.v)), sign = a.w < 0 ? -1 : 1;
    double angle = 2 * atan2(length, fabs(a.w));
    double scale = sign * (length < 1e-12 ? 2 : angle / length);
    for (int i = 0; i < 3; i++)
        vector[i] = scale * a.v[i];
}

/* The rotation vector of a turn that is nearest to a guess, whole turns included. */
static inline void quaternion_log_near(quaternion a, const double guess[3], double vector[3])
{
    const double turn = 2 * acos(-1);
    quaternion_log(a, vector);
    double angle = sqrt(dot3(vector, vector)), length = sqrt(dot3(guess, guess));
    if (angle < 1e-9 && length < 1e-9)
        return;
    double axis[3];
    for (int i = 0; i < 3; i++)
        axis[i] = angle < 1e-9 ? guess[i] / length : vector[i] / angle;
    double turns = rint((dot3(guess, axis) - angle) / turn);
    for (int i = 0; i < 3; i++)
        vector[i] += turns * turn * axis[i];
}

static inline void quaternion_matrix(quaternion a, double R[3][3])
{
    double w = a.w, x = a.v[0], y = a.v[1], z = a.v[2];
    double m[3][3] = {
        {1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
        {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
        {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)},
    };
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            R[i][j] = m[i][j];
}

/* v turned. */
static inline void quaternion_turn(quaternion a, const double v[3], double out[3])
{
    double R[3][3], from[3] = {v[0], v[1], v[2]};
    quaternion_matrix(a, R);
    for (int i = 0; i < 3; i++)
        out[i] = dot3(R[i], from);
}

#endif
