/*
 * OpenVDB behind a C interface: the one place where the project meets C++. Built without OpenVDB
 * (vdb_none.c) every function answers that it is missing.
 *
 * No exception leaves: each becomes a status with the file and OpenVDB's own words.
 */
#ifndef FIRN_IO_VDB_H
#define FIRN_IO_VDB_H

#include "shape/level_set_blocks.h"

#ifdef __cplusplus
extern "C" {
#endif

const char *vdb_version(void); /* "10.0.1", or "none" */

/* ---- Level sets ------------------------------------------------------------------------------ */

/* Triangles that are joined to what came before, or cut out of it. */
typedef struct vdb_layer {
    size_t first, count;
    bool cavity;
} vdb_layer;

typedef struct vdb_mesh_request {
    size_t vertex_count;
    const double (*vertices)[3];
    const uint32_t (*triangles)[3];
    size_t layer_count;
    const vdb_layer *layers;
    double voxel, half_width; /* m */
    double shell;             /* m: above 0 the body is what lies within half of it */
    double origin[3];         /* of the samples */
} vdb_mesh_request;

firn_status vdb_from_mesh(const vdb_mesh_request *request, level_set_blocks *blocks);

/* A grid of a file: a level set as it is (`is_level_set`, blocks), anything else as the surface
 * where its values pass `iso` (mesh). */
typedef struct vdb_grid {
    bool is_level_set;
    level_set_blocks blocks; /* owned */
    triangle_mesh mesh;      /* owned */
} vdb_grid;

/* `grid` NULL takes the first level set, or else the first grid of numbers. */
firn_status vdb_read(const char *path, const char *grid, double iso, vdb_grid *out);
void vdb_grid_clear(vdb_grid *grid);

#ifdef __cplusplus
}
#endif
#endif
