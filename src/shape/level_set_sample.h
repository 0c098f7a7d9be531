/* Level sets sampled from any function that is a distance, without OpenVDB. */
#ifndef FIRN_SHAPE_LEVEL_SET_SAMPLE_H
#define FIRN_SHAPE_LEVEL_SET_SAMPLE_H

#include "shape/level_set.h"

typedef struct sampled_body {
    double (*distance)(const void *user, const double x[3]); /* exact; called by all threads */
    const void *user;
    double low[3], high[3]; /* box around the inside */
} sampled_body;

/* `band` is kept on both sides of the surface. Owned by the caller. */
firn_status level_set_from_body(const sampled_body *body, double voxel, double band,
                                level_set **out);

#endif
