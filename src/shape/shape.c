#include "shape/shape.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_operation(shape_kind kind)
{
    return kind == SHAPE_UNION || kind == SHAPE_INTERSECT || kind == SHAPE_SUBTRACT;
}

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
    assert(!is_operation(kind));
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
    assert(is_operation(op));
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
        if (!is_operation(s->ops[n].kind)) {
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

/* ---- Distances of primitives in their own frame ---------------------------------------------- */

/* g stays zero where no direction leads away from the inside. */
static double sphere_distance(double radius, const double p[3], double g[3])
{
    double length = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    if (length > 0)
        for (int i = 0; i < 3; i++)
            g[i] = p[i] / length;
    return length - radius;
}

/* Of the box of half extents h in `axes` axes: q = |p| - h. Outside, the nearest point of the
 * box is reached along the positive parts of q; inside, through the nearest face. */
static double corner_distance(int axes, const double *q, double *g)
{
    double square = 0;
    int nearest = 0;
    for (int i = 0; i < axes; i++) {
        double beyond = q[i] > 0 ? q[i] : 0;
        square += beyond * beyond;
        if (q[i] > q[nearest])
            nearest = i;
    }
    if (square > 0) {
        double length = sqrt(square);
        for (int i = 0; i < axes; i++)
            g[i] = q[i] > 0 ? q[i] / length : 0;
        return length;
    }
    g[nearest] = 1;
    return q[nearest];
}

static double box_distance(const double h[3], const double p[3], double g[3])
{
    const double q[3] = {fabs(p[0]) - h[0], fabs(p[1]) - h[1], fabs(p[2]) - h[2]};
    double distance = corner_distance(3, q, g);
    for (int i = 0; i < 3; i++)
        g[i] = copysign(g[i], p[i]);
    return distance;
}

static double capsule_distance(double half_length, double radius, const double p[3], double g[3])
{
    double along = fmin(fmax(p[1], -half_length), half_length);
    const double from_segment[3] = {p[0], p[1] - along, p[2]};
    double distance = sphere_distance(radius, from_segment, g);
    if (distance == -radius)
        g[0] = 1; /* on the segment every way across it is as good */
    return distance;
}

static double cylinder_distance(double half_height, double radius, const double p[3], double g[3])
{
    double across = sqrt(p[0] * p[0] + p[2] * p[2]);
    const double q[2] = {across - radius, fabs(p[1]) - half_height};
    double toward[2] = {0, 0};
    double distance = corner_distance(2, q, toward);
    g[0] = across > 0 ? toward[0] * p[0] / across : toward[0];
    g[1] = copysign(toward[1], p[1]);
    g[2] = across > 0 ? toward[0] * p[2] / across : 0;
    return distance;
}

/* Beyond the offset only an exact distance says where the grown surface is. */
static double scaled_field_distance(const shape_op *op, const double p[3], field_use use,
                                    double g[3])
{
    const double x[3] = {p[0] / op->scale, p[1] / op->scale, p[2] / op->scale};
    if (op->sampled && op->offset == 0)
        use = FIELD_SAMPLED;
    else if (op->offset != 0)
        use = FIELD_EXACT;
    return op->scale * field_distance(op->field, use, x, g);
}

static double primitive_distance(const shape_op *op, field_use use, const double x[3],
                                 double gradient[3])
{
    double p[3] = {0}, g[3] = {0}, distance = 0;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            p[j] += op->rotation[i][j] * (x[i] - op->origin[i]);
    switch (op->kind) {
    case SHAPE_SPHERE:
        distance = sphere_distance(op->params[0], p, g);
        break;
    case SHAPE_BOX:
        distance = box_distance(op->params, p, g);
        break;
    case SHAPE_CAPSULE:
        distance = capsule_distance(op->params[0], op->params[1], p, g);
        break;
    case SHAPE_CYLINDER:
        distance = cylinder_distance(op->params[0], op->params[1], p, g);
        break;
    case SHAPE_HALFSPACE:
        distance = p[1];
        g[1] = 1;
        break;
    case SHAPE_FIELD:
        distance = scaled_field_distance(op, p, use, gradient ? g : NULL);
        break;
    default:
        assert(!"a primitive");
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

typedef struct value {
    double distance;
    double gradient[3];
} value;

static value negate(value a)
{
    return (value){-a.distance, {-a.gradient[0], -a.gradient[1], -a.gradient[2]}};
}

static value combine(shape_kind op, value a, value b)
{
    if (op == SHAPE_SUBTRACT)
        b = negate(b);
    if (op == SHAPE_UNION)
        return a.distance <= b.distance ? a : b;
    return a.distance >= b.distance ? a : b;
}

static double run(const shape *s, field_use use, const double x[3], double gradient[3])
{
    value stack[SHAPE_MAX_DEPTH];
    size_t top = 0;
    for (size_t n = 0; n < s->count; n++) {
        const shape_op *op = &s->ops[n];
        if (is_operation(op->kind)) {
            assert(top >= 2);
            stack[top - 2] = combine(op->kind, stack[top - 2], stack[top - 1]);
            top--;
        } else {
            assert(top < SHAPE_MAX_DEPTH);
            stack[top] = (value){0};
            stack[top].distance =
                primitive_distance(op, use, x, gradient ? stack[top].gradient : NULL);
            top++;
        }
    }
    assert(top == 1);
    if (gradient)
        memcpy(gradient, stack[0].gradient, sizeof stack[0].gradient);
    return stack[0].distance;
}

double shape_distance(const shape *s, const double x[3], double gradient[3])
{
    return run(s, FIELD_SURFACE, x, gradient);
}

double shape_depth(const shape *s, const double x[3])
{
    return -run(s, FIELD_EXACT, x, NULL);
}
