/*
 * A flat figure given depth: the signed distance to it from the distance in its own plane and the
 * place across it.
 *
 * The corner between face and side is cut off at 45 degrees when there is a bevel. In the half-plane
 * of (distance to the figure, distance beyond the face) the body is a convex region with three
 * sides, so the distance is exact wherever that of the figure is.
 */
#ifndef FIRN_SHAPE_EXTRUSION_H
#define FIRN_SHAPE_EXTRUSION_H

#include <math.h>

typedef struct extrusion {
    double half_depth; /* m; INFINITY: without end */
    double bevel;      /* m, along face and side; at most half_depth */
} extrusion;

/* `side` is the distance in the plane, z the place across it. `gradient` gets the weights of the
 * figure's own gradient and of the direction away from the plane, a unit vector. */
static inline double extrusion_distance(const extrusion *e, double side, double z,
                                        double gradient[2])
{
    const double face = fabs(z) - e->half_depth, b = e->bevel;
    if (side <= 0 && face <= 0) { /* inside, or in the corner that is cut off */
        double cut = b > 0 ? (side + face + b) * M_SQRT1_2 : -INFINITY;
        double most = fmax(cut, fmax(side, face));
        gradient[0] = most == cut ? M_SQRT1_2 : most == side;
        gradient[1] = most == cut ? M_SQRT1_2 : most != side;
        return most;
    }
    /* The nearest point of the broken line from (-inf, 0) to (-b, 0) to (0, -b) to (0, -inf). */
    double along = b > 0 ? fmin(fmax((side - face + b) / (2 * b), 0), 1) : 0;
    double to[2] = {side - (along - 1) * b, face + along * b};
    if (side < -b)
        to[0] = 0;
    if (face < -b)
        to[1] = 0;
    double length = hypot(to[0], to[1]);
    gradient[0] = to[0] / length;
    gradient[1] = to[1] / length;
    return length;
}

#endif
