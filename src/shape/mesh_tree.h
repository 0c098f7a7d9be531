/*
 * A box tree over the triangles of a mesh: the nearest point of the surface, and which side of it a
 * place is on. Exact: nothing is sampled.
 *
 * The side is told by the generalized winding number (Jacobson et al. 2013): the solid angle that
 * the surface covers, as a fraction of the whole. It is 1 inside and 0 outside a closed surface, 2
 * where two parts overlap, and changes softly across holes. Far groups of triangles count as one
 * dipole (Barill et al. 2018).
 *
 * Does NOT do: need a closed or manifold mesh; answer faster than a microsecond or so: colliders use
 * a level_set.
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

/* The nearest point of the surface not farther than `reach`. The answer is the same whatever the
 * order of the triangles that share it, but for which of them is named. */
mesh_point mesh_tree_nearest(const mesh_tree *tree, const double x[3], double reach);

double mesh_tree_winding(const mesh_tree *tree, const double x[3]);

#endif
