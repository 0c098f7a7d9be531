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

#ifdef __cplusplus
}
#endif
#endif
