#include "shape/shape.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shape/shape_look.h"

/* ---- Making ---------------------------------------------------------------------------------- */

static shape *shape_allocate(size_t count, size_t depth)
{
    shape *s = malloc(sizeof *s);
    shape_op *ops = calloc(count, sizeof *ops);
    if (!s || !ops) {
        free(s);
        free(ops);
        return NULL;
    }
    *s = (shape){.count = count, .ops = ops, .depth = depth};
    return s;
}

shape *shape_primitive(shape_kind kind, const double params[4])
{
    assert(!shape_is_operation(kind));
    shape *s = shape_allocate(1, 1);
    if (!s)
        return NULL;
    s->ops[0].kind = kind;
    memcpy(s->ops[0].params, params, sizeof s->ops[0].params);
    s->ops[0].scale = 1;
    for (int i = 0; i < 3; i++)
        s->ops[0].rotation[i][i] = 1;
    return s;
}

shape *shape_from_field(shape_field *field)
{
    shape *s = shape_primitive(SHAPE_FIELD, (double[4]){0});
    if (s)
        s->ops[0].field = field;
    else
        field_release(&field);
    return s;
}

/* The shape becomes one more owner of its fields. */
static void share_fields(const shape *s)
{
    for (size_t n = 0; n < s->count; n++)
        field_share(s->ops[n].field);
}

shape *shape_combine(shape_kind op, shape *a, shape *b)
{
    assert(shape_is_operation(op));
    shape *s = NULL;
    if (a && b) {
        size_t depth = a->depth > b->depth + 1 ? a->depth : b->depth + 1;
        if (depth <= SHAPE_MAX_DEPTH)
            s = shape_allocate(a->count + b->count + 1, depth);
    }
    if (s) {
        memcpy(s->ops, a->ops, a->count * sizeof *s->ops);
        memcpy(s->ops + a->count, b->ops, b->count * sizeof *s->ops);
        s->ops[s->count - 1].kind = op;
        share_fields(s);
    }
    shape_destroy(&a);
    shape_destroy(&b);
    return s;
}

shape *shape_copy(const shape *s)
{
    shape *copy = shape_allocate(s->count, s->depth);
    if (copy) {
        memcpy(copy->ops, s->ops, s->count * sizeof *s->ops);
        share_fields(copy);
    }
    return copy;
}

void shape_destroy(shape **s)
{
    for (size_t n = 0; *s && n < (*s)->count; n++)
        field_release(&(*s)->ops[n].field);
    if (*s)
        free((*s)->ops);
    free(*s);
    *s = NULL;
}

void shape_rotate(shape *s, const double rotation[3][3])
{
    for (size_t n = 0; n < s->count; n++) {
        const shape_op old = s->ops[n];
        for (int i = 0; i < 3; i++) {
            s->ops[n].origin[i] = 0;
            for (int k = 0; k < 3; k++)
                s->ops[n].origin[i] += rotation[i][k] * old.origin[k];
            for (int j = 0; j < 3; j++) {
                s->ops[n].rotation[i][j] = 0;
                for (int k = 0; k < 3; k++)
                    s->ops[n].rotation[i][j] += rotation[i][k] * old.rotation[k][j];
            }
        }
    }
}

void shape_translate(shape *s, const double offset[3])
{
    for (size_t n = 0; n < s->count; n++)
        for (int i = 0; i < 3; i++)
            s->ops[n].origin[i] += offset[i];
}

void shape_scale(shape *s, double factor)
{
    for (size_t n = 0; n < s->count; n++) {
        shape_op *op = &s->ops[n];
        op->scale *= factor;
        op->offset *= factor;
        for (int i = 0; i < 4; i++)
            op->params[i] *= factor;
        for (int i = 0; i < 3; i++)
            op->origin[i] *= factor;
    }
}

/* Growing distributes over the operations: max(a, b) - r = max(a - r, b - r), and what is taken
 * away shrinks. Backwards through the program the operands of an operation follow it, the second
 * first; `sign` holds those that are still to come. */
void shape_grow(shape *s, double distance)
{
    double sign[SHAPE_MAX_DEPTH + 1] = {1};
    size_t top = 1;
    for (size_t n = s->count; n-- > 0;) {
        double here = sign[--top];
        if (!shape_is_operation(s->ops[n].kind)) {
            s->ops[n].offset += here * distance;
            continue;
        }
        sign[top++] = here;
        sign[top++] = s->ops[n].kind == SHAPE_SUBTRACT ? -here : here;
    }
}

/* |d| - t/2 <= 0: within t/2 of the shape, and not deeper in it than that. */
shape *shape_hollow(shape *s, double thickness)
{
    shape *inner = s ? shape_copy(s) : NULL;
    if (inner) {
        shape_grow(s, thickness / 2);
        shape_grow(inner, -thickness / 2);
    }
    return shape_combine(SHAPE_SUBTRACT, s, inner);
}

void shape_use_samples(shape *s)
{
    for (size_t n = 0; n < s->count; n++)
        s->ops[n].sampled = true;
}

double shape_slack(const shape *s)
{
    double slack = 0;
    for (size_t n = 0; n < s->count; n++)
        if (s->ops[n].field)
            slack = fmax(slack, s->ops[n].scale * s->ops[n].field->slack);
    return slack;
}

/* ---- Distances: shape_look.h ------------------------------------------------------------------ */

double shape_distance(const shape *s, const double x[3], double gradient[3])
{
    return shape_look(s, FIELD_SURFACE, x, gradient);
}

double shape_depth(const shape *s, const double x[3])
{
    return -shape_look(s, FIELD_EXACT, x, NULL);
}
