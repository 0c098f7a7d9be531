/* A box tree over segments in a plane: what outlines are searched with. outline_look.h has
 * what every processor asks of it. */
#ifndef FIRN_SHAPE_OUTLINE_TREE_H
#define FIRN_SHAPE_OUTLINE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "shape/outline.h"

/* Room for the way down such a tree: of each level one node waits. */
enum { OUTLINE_DEEPEST = 64 };

typedef struct outline_node {
    double low[2], high[2];
    uint32_t first, count; /* of a leaf's segments; count 0: its children are first and first + 1 */
} outline_node;

typedef struct outline_tree {
    size_t count, node_count;
    outline_segment *segments; /* sorted into leaves; owned */
    outline_node *nodes;       /* the root first; owned */
} outline_tree;

/* A copy of the segments. False, and empty, when memory is out. */
bool outline_tree_create(const outline_segment *segments, size_t count, outline_tree *tree);
void outline_tree_clear(outline_tree *tree);

/* Call `visit` for every segment whose box meets the one given. Ends, with false, when it says
 * false. */
typedef bool outline_visit(void *user, const outline_segment *s);
bool outline_tree_visit(const outline_tree *tree, const double low[2], const double high[2],
                        outline_visit *visit, void *user);

#endif
