/* The distance to a shape (shape.h), for every processor. */
#ifndef FIRN_SHAPE_SHAPE_LOOK_H
#define FIRN_SHAPE_SHAPE_LOOK_H

#include <math.h>

#include "everywhere.h"
#include "shape/height_look.h"
#include "shape/level_set_look.h"
#include "shape/shape.h"

/* A GPU has terrain, and the samples of other fields, not their triangles. */
#ifdef __CUDACC__
#define SHAPE_FIELD_LOOK(field, use, x, gradient)                                                  \
    ((field)->height ? height_look((field)->height, use, x, gradient)                              \
                     : level_set_look((field)->level_set, x, gradient))
#else
#define SHAPE_FIELD_LOOK(field, use, x, gradient) field_distance(field, use, x, gradient)
#endif

EVERYWHERE bool shape_is_operation(shape_kind kind)
{
    return kind == SHAPE_UNION || kind == SHAPE_INTERSECT || kind == SHAPE_SUBTRACT;
}

/* ---- Distances of primitives in their own frame ---------------------------------------------- */

/* g stays zero where no direction leads away from the inside. */
EVERYWHERE double shape_sphere_distance(double radius, const double p[3], double g[3])
{
    double length = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    if (length > 0)
        for (int i = 0; i < 3; i++)
            g[i] = p[i] / length;
    return length - radius;
}

/* Of the box of half extents h in `axes` axes: q = |p| - h. Outside, the nearest point of the
 * box is reached along the positive parts of q; inside, through the nearest face. */
EVERYWHERE double shape_corner_distance(int axes, const double *q, double *g)
{
    double square = 0, highest = q[0];
    int nearest = 0;
    for (int i = 0; i < axes; i++) {
        double beyond = q[i] > 0 ? q[i] : 0;
        square += beyond * beyond;
        nearest = q[i] > highest ? i : nearest;
        highest = q[i] > highest ? q[i] : highest;
    }
    if (square > 0) {
        double length = sqrt(square);
        for (int i = 0; i < axes; i++)
            g[i] = q[i] > 0 ? q[i] / length : 0;
        return length;
    }
    for (int i = 0; i < axes; i++)
        g[i] = i == nearest;
    return highest;
}

EVERYWHERE double shape_box_distance(const double h[3], const double p[3], double g[3])
{
    const double q[3] = {fabs(p[0]) - h[0], fabs(p[1]) - h[1], fabs(p[2]) - h[2]};
    double distance = shape_corner_distance(3, q, g);
    for (int i = 0; i < 3; i++)
        g[i] = copysign(g[i], p[i]);
    return distance;
}

EVERYWHERE double shape_capsule_distance(double half_length, double radius, const double p[3],
                                         double g[3])
{
    double along = fmin(fmax(p[1], -half_length), half_length);
    const double from_segment[3] = {p[0], p[1] - along, p[2]};
    double distance = shape_sphere_distance(radius, from_segment, g);
    if (distance == -radius)
        g[0] = 1; /* on the segment every way across it is as good */
    return distance;
}

EVERYWHERE double shape_cylinder_distance(double half_height, double radius, const double p[3],
                                          double g[3])
{
    double across = sqrt(p[0] * p[0] + p[2] * p[2]);
    const double q[2] = {across - radius, fabs(p[1]) - half_height};
    double toward[2] = {0, 0};
    double distance = shape_corner_distance(2, q, toward);
    g[0] = across > 0 ? toward[0] * p[0] / across : toward[0];
    g[1] = copysign(toward[1], p[1]);
    g[2] = across > 0 ? toward[0] * p[2] / across : 0;
    return distance;
}

/* Beyond the offset only an exact distance says where the grown surface is. */
EVERYWHERE double shape_scaled_field_distance(const shape_op *op, const double p[3], field_use use,
                                              double g[3])
{
    const double x[3] = {p[0] / op->scale, p[1] / op->scale, p[2] / op->scale};
    if (op->offset != 0)
        use = FIELD_EXACT;
    else if (op->sampled && !op->field->height)
        use = FIELD_SAMPLED;
    return op->scale * SHAPE_FIELD_LOOK(op->field, use, x, g);
}

EVERYWHERE double shape_primitive_distance(const shape_op *op, field_use use, const double x[3],
                                           double gradient[3])
{
    double p[3] = {0}, g[3] = {0}, distance = 0;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            p[j] += op->rotation[i][j] * (x[i] - op->origin[i]);
    switch (op->kind) {
    case SHAPE_SPHERE:
        distance = shape_sphere_distance(op->params[0], p, g);
        break;
    case SHAPE_BOX:
        distance = shape_box_distance(op->params, p, g);
        break;
    case SHAPE_CAPSULE:
        distance = shape_capsule_distance(op->params[0], op->params[1], p, g);
        break;
    case SHAPE_CYLINDER:
        distance = shape_cylinder_distance(op->params[0], op->params[1], p, g);
        break;
    case SHAPE_HALFSPACE:
        distance = p[1];
        g[1] = 1;
        break;
    case SHAPE_FIELD:
        distance = shape_scaled_field_distance(op, p, use, gradient ? g : NULL);
        break;
    default: /* operations are no primitives */
        break;
    }
    distance -= op->offset;
    if (!gradient)
        return distance;
    for (int i = 0; i < 3; i++)
        gradient[i] =
            op->rotation[i][0] * g[0] + op->rotation[i][1] * g[1] + op->rotation[i][2] * g[2];
    if (gradient[0] == 0 && gradient[1] == 0 && gradient[2] == 0)
        gradient[1] = 1;
    return distance;
}

/* ---- Running the program --------------------------------------------------------------------- */

typedef struct shape_value {
    double distance;
    double gradient[3];
} shape_value;

EVERYWHERE shape_value shape_negate(shape_value a)
{
    return (shape_value){-a.distance, {-a.gradient[0], -a.gradient[1], -a.gradient[2]}};
}

EVERYWHERE shape_value shape_combine_values(shape_kind op, shape_value a, shape_value b)
{
    if (op == SHAPE_SUBTRACT)
        b = shape_negate(b);
    if (op == SHAPE_UNION)
        return a.distance <= b.distance ? a : b;
    return a.distance >= b.distance ? a : b;
}

EVERYWHERE double shape_look(const shape *s, field_use use, const double x[3], double gradient[3])
{
    if (s->count == 1)
        return shape_primitive_distance(s->ops, use, x, gradient);
    shape_value stack[SHAPE_MAX_DEPTH];
    size_t top = 0;
    for (size_t n = 0; n < s->count; n++) {
        const shape_op *op = &s->ops[n];
        if (shape_is_operation(op->kind)) {
            stack[top - 2] = shape_combine_values(op->kind, stack[top - 2], stack[top - 1]);
            top--;
        } else {
            stack[top] = (shape_value){0};
            stack[top].distance =
                shape_primitive_distance(op, use, x, gradient ? stack[top].gradient : NULL);
            top++;
        }
    }
    if (gradient)
        for (int i = 0; i < 3; i++)
            gradient[i] = stack[0].gradient[i];
    return stack[0].distance;
}

#endif
