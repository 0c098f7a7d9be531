#include "shape/shape_part.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shape/shape_look.h"

/* What is known of an operand all over the ball, and where its operations begin. */
typedef struct operand {
    double least, most; /* distance */
    size_t first;
} operand;

bool shape_part_create(const shape *whole, shape_part *part)
{
    *part = (shape_part){whole, {.count = whole->count, .depth = whole->depth}};
    part->shape.ops = malloc(whole->count * sizeof *part->shape.ops);
    if (part->shape.ops)
        memcpy(part->shape.ops, whole->ops, whole->count * sizeof *whole->ops);
    return part->shape.ops;
}

void shape_part_clear(shape_part *part)
{
    free(part->shape.ops);
    *part = (shape_part){0};
}

static operand primitive_operand(const shape_op *op, const double center[3], double radius)
{
    operand all = {-INFINITY, INFINITY, 0};
    if (op->kind == SHAPE_FIELD)
        return all;
    double distance = shape_primitive_distance(op, FIELD_SURFACE, center, NULL);
    if (!isfinite(distance))
        return all;
    double size = fabs(distance) + fabs(op->offset);
    for (int i = 0; i < 3; i++)
        size += fabs(center[i]) + fabs(op->origin[i]);
    double reach = radius * (1 + 1e-9) + 1e-9 * size; /* far more than rounding */
    return (operand){distance - reach, distance + reach, 0};
}

/* a or b or both of them combined, whose operations end at part->shape.count. */
static operand narrow_operation(shape *s, const shape_op *op, operand a, operand b)
{
    bool is_union = op->kind == SHAPE_UNION, is_cut = op->kind == SHAPE_SUBTRACT;
    double least = is_cut ? -b.most : b.least, most = is_cut ? -b.least : b.most;
    if (is_union ? a.most < least : a.least > most) {
        s->count = b.first;
        return a;
    }
    if (!is_cut && (is_union ? most < a.least : least > a.most)) {
        memmove(s->ops + a.first, s->ops + b.first, (s->count - b.first) * sizeof *s->ops);
        s->count -= b.first - a.first;
        b.first = a.first;
        return b;
    }
    s->ops[s->count++] = *op;
    if (is_union)
        return (operand){fmin(a.least, least), fmin(a.most, most), a.first};
    return (operand){fmax(a.least, least), fmax(a.most, most), a.first};
}

void shape_part_narrow(shape_part *part, const double center[3], double radius)
{
    operand stack[SHAPE_MAX_DEPTH];
    size_t top = 0;
    part->shape.count = 0;
    for (size_t n = 0; n < part->whole->count; n++) {
        const shape_op *op = &part->whole->ops[n];
        if (shape_is_operation(op->kind)) {
            stack[top - 2] = narrow_operation(&part->shape, op, stack[top - 2], stack[top - 1]);
            top--;
            continue;
        }
        stack[top] = primitive_operand(op, center, radius);
        stack[top++].first = part->shape.count;
        part->shape.ops[part->shape.count++] = *op;
    }
}

/* ---- Many places ------------------------------------------------------------------------------ */

enum {
    RUN = 64,   /* places in a row that share a part */
    FEW = 1024, /* places that are not worth a team of threads */
};

/* A ball around them. */
static double ball_around(size_t count, const double (*x)[3], double center[3])
{
    double square = 0;
    for (int i = 0; i < 3; i++) {
        double low = x[0][i], high = x[0][i];
        for (size_t n = 1; n < count; n++) {
            low = fmin(low, x[n][i]);
            high = fmax(high, x[n][i]);
        }
        center[i] = low + (high - low) / 2;
        square += (high - low) * (high - low) / 4;
    }
    return sqrt(square);
}

bool shape_distances(const shape *s, size_t count, const double (*x)[3], double *distances)
{
    bool fits = true;
#pragma omp parallel reduction(&& : fits) if (count > FEW)
    {
        shape_part part;
        fits = shape_part_create(s, &part);
#pragma omp for schedule(dynamic)
        for (size_t first = 0; first < count; first += RUN) {
            size_t rows = count - first < RUN ? count - first : RUN;
            double center[3], radius = ball_around(rows, x + first, center);
            if (fits && s->count > 1)
                shape_part_narrow(&part, center, radius);
            for (size_t n = first; fits && n < first + rows; n++)
                distances[n] = shape_distance(&part.shape, x[n], NULL);
        }
        shape_part_clear(&part);
    }
    return fits;
}
