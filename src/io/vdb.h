/*
 * OpenVDB behind a C interface: the one place where the project meets C++. Built without OpenVDB
 * (vdb_none.c) every function answers that it is missing.
 *
 * No exception leaves: each becomes a status with the file and OpenVDB's own words.
 */
#ifndef FIRN_IO_VDB_H
#define FIRN_IO_VDB_H

#include "firn/scene.h"
#include "io/file.h"
#include "shape/level_set_blocks.h"

#ifdef __cplusplus
extern "C" {
#endif

const char *vdb_version(void); /* "10.0.1", or "none" */

/* ---- Writing --------------------------------------------------------------------------------- */

/* Leaves of 8^3 voxels, z fastest, that the grids of a file share; all borrowed. */
typedef struct vdb_leaves {
    size_t count;
    const int32_t (*origin)[3];  /* first voxel of each */
    const uint64_t (*active)[8]; /* bit 8 y + z of word x; leaves without any are left out */
} vdb_leaves;

typedef enum vdb_kind {
    VDB_SCALAR,
    VDB_DENSITY,
    VDB_VECTOR,
    VDB_VELOCITY, /* a vector that moves with the snow */
    VDB_SURFACE,  /* any function that is 0 on a surface, negative inside: written as distance */
} vdb_kind;

typedef struct vdb_grid {
    const char *name;
    vdb_kind kind;
    firn_grid_type type;
    const float *values; /* of leaf l, component c, voxel v: values[l * stride + c * 512 + v] */
    size_t stride;
} vdb_grid;

typedef struct vdb_file {
    double voxel_size;
    double time;
    int frame;
    firn_compression compression;
    vdb_leaves leaves;
    size_t grid_count;
    const vdb_grid *grids;
} vdb_file;

/* Appends a whole VDB file to the draft. */
firn_status vdb_write(const vdb_file *file, file_draft *draft);

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
typedef struct vdb_source {
    bool is_level_set;
    level_set_blocks blocks; /* owned */
    triangle_mesh mesh;      /* owned */
} vdb_source;

/* `grid` NULL takes the first level set, or else the first grid of numbers. */
firn_status vdb_read(const char *path, const char *grid, double iso, vdb_source *out);
void vdb_source_clear(vdb_source *grid);

/* ---- Density --------------------------------------------------------------------------------- */

/* The voxels of a grid that are active and not zero or less, in the order of the tree. */
typedef struct vdb_density {
    size_t count;
    int32_t (*node)[3]; /* owned */
    float *value;       /* owned; of a level set 1 inside, less in the outermost voxel */
    double voxel, origin[3];
    bool is_level_set;
    double time; /* of the file's header; 0: it does not tell */
    int frame;   /* -1: it does not tell */
} vdb_density;

/* `grid` as in firn_frame_read_volume. */
firn_status vdb_read_density(const char *path, const char *grid, vdb_density *out);
void vdb_density_clear(vdb_density *density);

#ifdef __cplusplus
}
#endif
#endif
