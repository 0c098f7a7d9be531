#include "shape/outline_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAF = 4 };

/* ---- Making ---------------------------------------------------------------------------------- */

static int by_middle(const void *a, const void *b, void *axis)
{
    const outline_segment *s = a, *t = b;
    int i = *(const int *)axis;
    double x = s->from[i] + s->to[i], y = t->from[i] + t->to[i];
    return x < y ? -1 : x > y;
}

static void put_around(outline_node *node, const outline_segment *segments)
{
    for (int i = 0; i < 2; i++) {
        node->low[i] = INFINITY;
        node->high[i] = -INFINITY;
        for (uint32_t n = 0; n < node->count; n++) {
            const outline_segment *s = &segments[node->first + n];
            node->low[i] = fmin(node->low[i], fmin(s->from[i], s->to[i]));
            node->high[i] = fmax(node->high[i], fmax(s->from[i], s->to[i]));
        }
    }
}

/* Halves at the median of the longer side, until leaves are small: at most 32 levels. */
static void divide(outline_tree *tree, uint32_t index)
{
    outline_node *node = &tree->nodes[index];
    put_around(node, tree->segments);
    if (node->count <= LEAF)
        return;
    int axis = node->high[0] - node->low[0] < node->high[1] - node->low[1];
    qsort_r(tree->segments + node->first, node->count, sizeof *tree->segments, by_middle, &axis);
    uint32_t first = node->first, half = node->count / 2, rest = node->count - half;
    uint32_t children = (uint32_t)tree->node_count;
    tree->node_count += 2;
    node->first = children;
    node->count = 0;
    tree->nodes[children] = (outline_node){.first = first, .count = half};
    tree->nodes[children + 1] = (outline_node){.first = first + half, .count = rest};
    divide(tree, children);
    divide(tree, children + 1);
}

bool outline_tree_create(const outline_segment *segments, size_t count, outline_tree *tree)
{
    *tree = (outline_tree){
        .count = count,
        .segments = malloc((count + 1) * sizeof *tree->segments),
        .nodes = malloc((2 * count + 1) * sizeof *tree->nodes),
    };
    if (!tree->segments || !tree->nodes) {
        outline_tree_clear(tree);
        return false;
    }
    if (count == 0)
        return true;
    memcpy(tree->segments, segments, count * sizeof *segments);
    tree->nodes[0] = (outline_node){.count = (uint32_t)count};
    tree->node_count = 1;
    divide(tree, 0);
    return true;
}

void outline_tree_clear(outline_tree *tree)
{
    free(tree->segments);
    free(tree->nodes);
    *tree = (outline_tree){0};
}

/* ---- Asking ---------------------------------------------------------------------------------- */

bool outline_tree_visit(const outline_tree *tree, const double low[2], const double high[2],
                        outline_visit *visit, void *user)
{
    uint32_t stack[OUTLINE_DEEPEST];
    int top = 0;
    if (tree->count > 0)
        stack[top++] = 0;
    while (top > 0) {
        const outline_node *node = &tree->nodes[stack[--top]];
        if (low[0] > node->high[0] || high[0] < node->low[0] || low[1] > node->high[1] ||
            high[1] < node->low[1])
            continue;
        if (node->count == 0) {
            stack[top++] = node->first;
            stack[top++] = node->first + 1;
        }
        for (uint32_t n = 0; n < node->count; n++)
            if (!visit(user, &tree->segments[node->first + n]))
                return false;
    }
    return true;
}
