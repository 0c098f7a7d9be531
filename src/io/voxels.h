/*
 * Particles summed to nodes by the simulation's own kernel, in blocks of 8^3 nodes, which are the
 * leaves of a VDB tree.
 *
 *     channel 0        sum_p m_p w_ip
 *     channel c > 0    sum_p m_p w_ip q_p, for a number q of each particle
 *     three at the end sum_p m_p w_ip (x_p - x_i) / h, if asked for
 *
 * A particle's place is a cell and an offset in it, so weights are as good far from the origin as
 * near it. They are computed and summed in double inside a block; a node gets at most eight partial
 * sums, one from each block around it, in a fixed order: results do not depend on threads.
 *
 * Does NOT do: bounds; only blocks that some particle reaches exist.
 */
#ifndef FIRN_IO_VOXELS_H
#define FIRN_IO_VOXELS_H

#include "firn/firn.h"

enum { VOXEL_EDGE = 8, VOXEL_NODES = 512, VOXEL_MAX_CHANNELS = 16 };

/* q of particle p is values[p * stride]. */
typedef struct voxel_channel {
    const float *values;
    size_t stride;
} voxel_channel;

/* What to sum; borrowed. */
typedef struct voxel_source {
    size_t count;
    const double *place;   /* count x 3, or NULL: */
    const float *position; /* likewise */
    const float *mass;
    double cell_size;
    firn_kernel kernel;
    int flat_axis;                             /* of two dimensions: it has one node, at 0; or -1 */
    size_t channels;                           /* 1 or more */
    voxel_channel channel[VOXEL_MAX_CHANNELS]; /* channel[0] is the mass alone */
    bool offsets;                              /* three more channels: see above */
    int threads;                               /* 0 = all */
} voxel_source;

typedef struct voxel_blocks {
    size_t count, channels;
    int32_t (*origin)[3]; /* first node of each block */
    float *values;        /* count x channels x 8 x 8 x 8, z fastest; 0 where nothing reaches */
} voxel_blocks;

firn_status voxels_sum(const voxel_source *source, voxel_blocks *blocks);
int voxels_threads(const voxel_source *source); /* that the sum uses */
void voxels_clear(voxel_blocks *blocks);

static inline float *voxel_values(const voxel_blocks *b, size_t block, size_t channel)
{
    return b->values + (block * b->channels + channel) * VOXEL_NODES;
}

#endif
