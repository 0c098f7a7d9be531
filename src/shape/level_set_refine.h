/* The band of a level set made exact. */
#ifndef FIRN_SHAPE_LEVEL_SET_REFINE_H
#define FIRN_SHAPE_LEVEL_SET_REFINE_H

#include "shape/level_set_blocks.h"
#include "shape/mesh_tree.h"

/* Exact distances to the mesh in a band of `half_width`, at most 8 voxels wider than it is now, in
 * place; the signs stay. With a `shell` the distances are to a wall of that thickness. False, and
 * nothing changed, when memory is out. */
bool level_set_refine(level_set_blocks *blocks, const mesh_tree *tree, double half_width,
                      double shell);

/* level_set_from_mesh with the tree of the same mesh at hand. */
firn_status level_set_from_tree(const triangle_mesh *mesh, const mesh_tree *tree, double voxel,
                                double band, double shell, level_set **out);

#endif
