/* The edges of a mesh with the triangles that use them: what is open, what belongs together. */
#ifndef FIRN_SHAPE_MESH_EDGES_H
#define FIRN_SHAPE_MESH_EDGES_H

#include "shape/mesh.h"

/* A triangle's side. The sides of one edge stand together, sorted by triangle. */
typedef struct edge_use {
    uint32_t low, high; /* vertices */
    uint32_t triangle;
    bool forward; /* the triangle goes from low to high */
} edge_use;

typedef struct mesh_edges {
    size_t count;
    edge_use *uses; /* owned */
} mesh_edges;

/* False when memory is out. Triangles that name a vertex twice have no sides here. */
bool edges_create(const triangle_mesh *mesh, mesh_edges *edges);
void edges_clear(mesh_edges *edges);

/* How many sides the edge of use `first` has, when it is the first of its edge. */
static inline size_t edge_sides(const mesh_edges *e, size_t first)
{
    size_t n = 1;
    while (first + n < e->count && e->uses[first + n].low == e->uses[first].low &&
           e->uses[first + n].high == e->uses[first].high)
        n++;
    return n;
}

/* Sets that merge, each member knowing whether it is turned against its set's root. */
typedef struct joined_sets {
    size_t count;
    uint32_t *parent; /* owned */
    uint8_t *turned;  /* against the parent; owned */
} joined_sets;

bool sets_create(size_t count, joined_sets *sets);
void sets_clear(joined_sets *sets);
uint32_t sets_root(joined_sets *sets, uint32_t member, uint8_t *turned);
void sets_join(joined_sets *sets, uint32_t a, uint32_t b, uint8_t turned);

#endif
