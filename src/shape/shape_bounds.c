/*
 * Boxes around shapes. Each stack entry carries a box around the shape and a box around everything
 * else, so that subtraction is an intersection like any other and a slab cut out by two planes is
 * found to be bounded between them.
 */
#include <assert.h>
#include <math.h>

#include "shape/shape.h"

typedef struct bounds {
    double low[3], high[3];
} bounds;

typedef struct region {
    bounds inside, outside;
} region;

/* Axes this close to a world axis count as parallel to it: rotations carry rounding. */
static const double PARALLEL = 1e-12;

static const bounds EVERYWHERE = {{-INFINITY, -INFINITY, -INFINITY},
                                  {INFINITY, INFINITY, INFINITY}};

static bounds bounds_meet(bounds a, bounds b)
{
    for (int i = 0; i < 3; i++) {
        a.low[i] = fmax(a.low[i], b.low[i]);
        a.high[i] = fmin(a.high[i], b.high[i]);
    }
    return a;
}

static bool bounds_empty(bounds a)
{
    return a.low[0] > a.high[0] || a.low[1] > a.high[1] || a.low[2] > a.high[2];
}

static bounds bounds_join(bounds a, bounds b)
{
    if (bounds_empty(a))
        return b;
    if (bounds_empty(b))
        return a;
    for (int i = 0; i < 3; i++) {
        a.low[i] = fmin(a.low[i], b.low[i]);
        a.high[i] = fmax(a.high[i], b.high[i]);
    }
    return a;
}

static region halfspace_region(const shape_op *op)
{
    region r = {EVERYWHERE, EVERYWHERE};
    for (int i = 0; i < 3; i++) {
        double normal = op->rotation[i][1];
        if (fabs(normal) < 1 - PARALLEL)
            continue;
        double end = op->origin[i] + normal * op->offset;
        *(normal > 0 ? &r.inside.high[i] : &r.inside.low[i]) = end;
        *(normal > 0 ? &r.outside.low[i] : &r.outside.high[i]) = end;
    }
    return r;
}

/* The box of a field, turned, and the world's box around that. */
static bounds field_bounds(const shape_op *op)
{
    bounds b;
    for (int i = 0; i < 3; i++) {
        double middle = 0, half = 0;
        for (int j = 0; j < 3; j++) {
            const double low = op->field->low[j], high = op->field->high[j];
            middle += op->rotation[i][j] * (low + high) / 2;
            half += fabs(op->rotation[i][j]) * (high - low) / 2;
        }
        b.low[i] = op->origin[i] + op->scale * (middle - half) - op->offset;
        b.high[i] = op->origin[i] + op->scale * (middle + half) + op->offset;
    }
    return b;
}

/* How far the primitive reaches from its origin along world axis i. */
static double reach(const shape_op *op, int i)
{
    const double *R = op->rotation[i], *params = op->params;
    double sum = 0;
    switch (op->kind) {
    case SHAPE_SPHERE:
        return params[0];
    case SHAPE_CAPSULE:
        return fabs(R[1]) * params[0] + params[1];
    case SHAPE_CYLINDER:
        sum = params[1] * sqrt(fmax(0, R[0] * R[0] + R[2] * R[2]));
        return fabs(R[1]) > PARALLEL ? sum + fabs(R[1]) * params[0] : sum;
    case SHAPE_BOX:
        for (int j = 0; j < 3; j++)
            if (fabs(R[j]) > PARALLEL) /* a half extent may be infinite */
                sum += fabs(R[j]) * params[j];
        return sum;
    default:
        return INFINITY;
    }
}

static region primitive_region(const shape_op *op)
{
    if (op->kind == SHAPE_HALFSPACE)
        return halfspace_region(op);
    region r = {EVERYWHERE, EVERYWHERE};
    if (op->kind == SHAPE_FIELD) {
        r.inside = field_bounds(op);
        return r;
    }
    for (int i = 0; i < 3; i++) {
        r.inside.low[i] = op->origin[i] - reach(op, i) - op->offset;
        r.inside.high[i] = op->origin[i] + reach(op, i) + op->offset;
    }
    return r;
}

static region combine_regions(shape_kind op, region a, region b)
{
    if (op == SHAPE_UNION)
        return (region){bounds_join(a.inside, b.inside), bounds_meet(a.outside, b.outside)};
    if (op == SHAPE_SUBTRACT)
        b = (region){b.outside, b.inside};
    return (region){bounds_meet(a.inside, b.inside), bounds_join(a.outside, b.outside)};
}

bool shape_bounds(const shape *s, int dimensions, double low[3], double high[3])
{
    region stack[SHAPE_MAX_DEPTH];
    size_t top = 0;
    for (size_t n = 0; n < s->count; n++) {
        const shape_op *op = &s->ops[n];
        if (op->kind == SHAPE_UNION || op->kind == SHAPE_INTERSECT || op->kind == SHAPE_SUBTRACT) {
            stack[top - 2] = combine_regions(op->kind, stack[top - 2], stack[top - 1]);
            top--;
        } else {
            assert(top < SHAPE_MAX_DEPTH);
            stack[top++] = primitive_region(op);
        }
    }
    bool finite = true;
    for (int i = 0; i < 3; i++) {
        low[i] = stack[0].inside.low[i];
        high[i] = stack[0].inside.high[i];
        if (i < dimensions)
            finite = finite && isfinite(low[i]) && isfinite(high[i]);
    }
    return finite;
}
