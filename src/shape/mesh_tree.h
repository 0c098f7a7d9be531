/*
 * A box tree over the triangles of a mesh: the nearest point of the surface, and which side of it a
 * place is on. Exact: nothing is sampled.
 *
 * The side is that of the pseudonormal at the nearest point (Baerentzen and Aanaes 2005): the
 * triangle's normal, the sum of two at an edge, at a corner the sum weighted by angles. It tells
 * inside from outside of any closed surface whose triangles agree on it and do not cross.
 *
 * Does NOT do: answer faster than a microsecond or so: colliders use a level_set.
 */
#ifndef FIRN_SHAPE_MESH_TREE_H
#define FIRN_SHAPE_MESH_TREE_H

#include "shape/mesh.h"

typedef struct mesh_tree mesh_tree;

typedef struct mesh_point {
    double distance;       /* to it; INFINITY when nothing is within reach */
    double x[3];           /* the nearest point of the surface */
    uint32_t triangle;     /* it lies on */
    double barycentric[3]; /* in that triangle: x = sum b_k vertex_k */
} mesh_point;

/* Takes a copy of the mesh. NULL when memory is out. Owned by the caller. */
mesh_tree *mesh_tree_create(const triangle_mesh *mesh);
void mesh_tree_destroy(mesh_tree **tree);

/* The nearest point of the surface not farther than `reach`. */
mesh_point mesh_tree_nearest(const mesh_tree *tree, const double x[3], double reach);

/* The pseudonormal at a point that was found; its length is arbitrary. */
void mesh_tree_normal(const mesh_tree *tree, const mesh_point *at, double normal[3]);

#endif
