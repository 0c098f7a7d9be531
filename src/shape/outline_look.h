/* Distances to an outline (outline.h), for every processor. */
#ifndef FIRN_SHAPE_OUTLINE_LOOK_H
#define FIRN_SHAPE_OUTLINE_LOOK_H

#include <math.h>

#include "everywhere.h"
#include "shape/outline_tree.h"

struct outline {
    outline_tree tree;
    double tiny; /* m: nearer than this is on the boundary */
};

/* How a segment crosses the ray from x in the direction of the first axis. A segment holds its
 * lower end and not its upper, so that a corner is crossed once. */
EVERYWHERE int outline_crossing(const outline_segment *s, const double x[2])
{
    bool up = s->from[1] <= x[1] && x[1] < s->to[1];
    bool down = s->to[1] <= x[1] && x[1] < s->from[1];
    if (!up && !down)
        return 0;
    double side = (s->to[0] - s->from[0]) * (x[1] - s->from[1]) -
                  (s->to[1] - s->from[1]) * (x[0] - s->from[0]);
    if (up)
        return side > 0;
    return -(side < 0);
}

/* How often the segments wind around x, counterclockwise. */
EVERYWHERE int outline_winding(const outline_tree *tree, const double x[2])
{
    uint32_t stack[OUTLINE_DEEPEST];
    int top = 0, winding = 0;
    if (tree->count > 0)
        stack[top++] = 0;
    while (top > 0) {
        const outline_node *node = &tree->nodes[stack[--top]];
        if (x[1] < node->low[1] || x[1] > node->high[1] || x[0] > node->high[0])
            continue;
        if (node->count == 0) {
            stack[top++] = node->first;
            stack[top++] = node->first + 1;
        }
        for (uint32_t n = 0; n < node->count; n++)
            winding += outline_crossing(&tree->segments[node->first + n], x);
    }
    return winding;
}

/* The square of the distance from x to a segment, and its nearest point. */
EVERYWHERE double outline_square_to_segment(const outline_segment *s, const double x[2],
                                            double nearest[2])
{
    const double along[2] = {s->to[0] - s->from[0], s->to[1] - s->from[1]};
    double length = along[0] * along[0] + along[1] * along[1];
    double t = (x[0] - s->from[0]) * along[0] + (x[1] - s->from[1]) * along[1];
    t = length > 0 ? fmin(fmax(t / length, 0.0), 1.0) : 0;
    double square = 0;
    for (int i = 0; i < 2; i++) {
        nearest[i] = t < 1 ? s->from[i] + t * along[i] : s->to[i];
        square += (x[i] - nearest[i]) * (x[i] - nearest[i]);
    }
    return square;
}

EVERYWHERE double outline_square_to_box(const outline_node *node, const double x[2])
{
    double square = 0;
    for (int i = 0; i < 2; i++) {
        double beyond = fmax(fmax(node->low[i] - x[i], x[i] - node->high[i]), 0.0);
        square += beyond * beyond;
    }
    return square;
}

/* The segment nearest to x, and the point of it in `nearest`; NULL in an empty tree. */
EVERYWHERE const outline_segment *outline_nearest(const outline_tree *tree, const double x[2],
                                                  double nearest[2])
{
    uint32_t stack[OUTLINE_DEEPEST];
    int top = 0;
    double best = INFINITY;
    const outline_segment *found = NULL;
    if (tree->count > 0)
        stack[top++] = 0;
    while (top > 0) {
        const outline_node *node = &tree->nodes[stack[--top]];
        if (outline_square_to_box(node, x) >= best)
            continue;
        if (node->count == 0) { /* the nearer child is looked into first */
            bool swap = outline_square_to_box(&tree->nodes[node->first], x) <
                        outline_square_to_box(&tree->nodes[node->first + 1], x);
            stack[top++] = node->first + swap;
            stack[top++] = node->first + !swap;
        }
        for (uint32_t n = 0; n < node->count; n++) {
            double at[2],
                square = outline_square_to_segment(&tree->segments[node->first + n], x, at);
            if (square >= best)
                continue;
            best = square;
            found = &tree->segments[node->first + n];
            nearest[0] = at[0];
            nearest[1] = at[1];
        }
    }
    return found;
}

EVERYWHERE double outline_look(const outline *o, const double x[2], double gradient[2])
{
    double at[2];
    const outline_segment *s = outline_nearest(&o->tree, x, at);
    if (!s)
        return INFINITY;
    const double to[2] = {x[0] - at[0], x[1] - at[1]};
    double length = hypot(to[0], to[1]);
    double sign = outline_winding(&o->tree, x) != 0 ? -1 : 1;
    if (gradient && length > o->tiny) {
        gradient[0] = sign * to[0] / length;
        gradient[1] = sign * to[1] / length;
    } else if (gradient) { /* on it: to the right of the segment */
        const double along[2] = {s->to[0] - s->from[0], s->to[1] - s->from[1]};
        double size = hypot(along[0], along[1]);
        gradient[0] = along[1] / size;
        gradient[1] = -along[0] / size;
    }
    return sign * length;
}

#endif
