/*
 * Particles that a scene takes from a file, where and how large it wants them, with what the file
 * says of each.
 *
 * Columns with the names of a checkpoint's arrays or of a material's values count; the others are
 * there to vary materials by. Ids are not kept: particles are numbered in the order of the file.
 */
#ifndef FIRN_SCENE_POINTS_H
#define FIRN_SCENE_POINTS_H

#include <stdint.h>

#include "io/point_table.h"

typedef struct point_set {
    int shares;
    uint64_t fingerprint; /* of the file's bytes */
    point_table table;    /* as the file has it */
    double volume;        /* of all, m^d */
    double
        *state[FIRN_STATE_ATTRIBUTES]; /* as simulations have them, in SI units; NULL: not said */
} point_set;

/* One more owner; the same pointer, which may be NULL. */
point_set *point_set_share(point_set *set);
void point_set_release(point_set **set);

/* A column of one number at a particle; 0 where there is none. */
double point_set_value(const point_set *set, const char *column, size_t row);

#endif
