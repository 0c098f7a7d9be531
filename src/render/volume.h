/*
 * The snow as a picture sees it: mass density on a sparse grid, so that light can be followed through
 * snow cell by cell and through empty space in few steps.
 *
 * Particles are spread over the nodes of a grid by cubic B-splines, as in the simulation; between nodes
 * the density is trilinear. Nodes live in blocks of 8^3 cells that carry their upper neighbours' first
 * nodes too, so that a lookup reads one block. Blocks are found through a table of regions (8^3 blocks).
 *
 * Points are relative to `origin`, like those of a camera. The same particles give the same bits for any
 * number of threads.
 *
 * Does NOT do: keep anything but density. Light lives in trace.h.
 */
#ifndef FIRN_RENDER_VOLUME_H
#define FIRN_RENDER_VOLUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "firn/io.h"
#include "render/vec.h"

typedef struct volume volume;

/* Zero-initialised means default. */
typedef struct volume_options {
    double
        voxel_size; /* m [half of the frame's cell size; the cell size is the simulation's grid] */
    double
        kernel_width; /* of a particle's spline, in voxels, 1 .. 4 [1]; 4 voxels of support each */
    double shift;     /* s; every particle is moved by its velocity times this (motion blur) */
    int grains;       /* draw each particle as so many smaller ones around it [1] */
    double thickness; /* m; depth of the slab that a 2D frame is drawn as [12 cells] */
} volume_options;

/* A frame with no particle that can be drawn makes an empty volume. A frame that is a grid is taken as it
 * is; of the options it has only the shift, which it refuses. Owned by the caller. */
firn_status volume_create(const firn_frame *frame, const double origin[3],
                          const volume_options *options, volume **out);

/* A box of nodes, z fastest, as kg/m^3: node (i, j, k) lies at low + (i, j, k) * voxel. Nodes above the
 * last of an axis are zero. */
firn_status volume_create_from_nodes(const float *nodes, const int size[3], vec3 low, float voxel,
                                     volume **out);
void volume_destroy(volume **v);

typedef struct volume_info {
    bool empty;
    vec3 low, high; /* where density can be other than zero */
    float voxel;
    size_t blocks;
    size_t bytes;
    size_t left_out; /* particles that are not finite, or too far from the rest */
    float densest;   /* kg/m^3 */
} volume_info;
volume_info volume_describe(const volume *v);

/* kg/m^3, and the direction in which it falls most (not of unit length). */
float volume_density(const volume *v, vec3 x);
vec3 volume_outward(const volume *v, vec3 x);

#endif
