/* Short ways to make shapes in tests. All are owned by the caller. */
#ifndef FIRN_TESTS_SHAPE_MAKE_SHAPE_H
#define FIRN_TESTS_SHAPE_MAKE_SHAPE_H

#include <math.h>

#include "shape/sample.h"

static inline shape *moved(shape *s, double x, double y, double z)
{
    shape_translate(s, (double[3]){x, y, z});
    return s;
}

static inline shape *sphere(double radius)
{
    return shape_primitive(SHAPE_SPHERE, (double[4]){radius});
}

static inline shape *box(double x, double y, double z)
{
    return shape_primitive(SHAPE_BOX, (double[4]){x, y, z});
}

static inline shape *capsule(double half_length, double radius)
{
    return shape_primitive(SHAPE_CAPSULE, (double[4]){half_length, radius});
}

static inline shape *cylinder(double half_height, double radius)
{
    return shape_primitive(SHAPE_CYLINDER, (double[4]){half_height, radius});
}

static inline shape *halfspace(void)
{
    return shape_primitive(SHAPE_HALFSPACE, (double[4]){0});
}

/* Turned by an angle about a world axis (0, 1, 2) through the origin. */
static inline shape *turned(shape *s, int axis, double angle)
{
    double rotation[3][3] = {{0}}, c = cos(angle), n = sin(angle);
    int i = (axis + 1) % 3, j = (axis + 2) % 3;
    rotation[axis][axis] = 1;
    rotation[i][i] = rotation[j][j] = c;
    rotation[i][j] = -n;
    rotation[j][i] = n;
    shape_rotate(s, (const double(*)[3])rotation);
    return s;
}

/* A turn about no axis in particular. */
static inline shape *tumbled(shape *s)
{
    return turned(turned(turned(s, 0, 0.7), 1, -1.1), 2, 0.4);
}

static inline shape *joined(shape *a, shape *b)
{
    return shape_combine(SHAPE_UNION, a, b);
}

static inline shape *common(shape *a, shape *b)
{
    return shape_combine(SHAPE_INTERSECT, a, b);
}

static inline shape *without(shape *a, shape *b)
{
    return shape_combine(SHAPE_SUBTRACT, a, b);
}

/* A random place in the cube of half side `reach`, in the plane z = 0 in 2D. */
static inline void random_place(uint64_t seed, uint64_t n, int dimensions, double reach,
                                double x[3])
{
    x[2] = 0;
    for (int i = 0; i < dimensions; i++)
        x[i] = reach * (2 * random_unit(seed, 3 * n + i) - 1);
}

#endif
