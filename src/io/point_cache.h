/*
 * Point caches: where the vertices of a mesh are at some times. PC2 (3ds Max, Blender, Houdini) and MDD
 * (LightWave, Blender), told apart by their first bytes.
 *
 * Does NOT do: faces; they come from a mesh file beside it.
 */
#ifndef FIRN_IO_POINT_CACHE_H
#define FIRN_IO_POINT_CACHE_H

#include "io/input.h"

typedef struct point_cache {
    char *name; /* of the file; owned */
    input in;
    bool big_endian;
    size_t first; /* byte of the first sample */
    size_t point_count, sample_count;
    double *times;         /* MDD: s; owned. PC2: NULL */
    double frames_between; /* PC2: two samples */
} point_cache;

/* FIRN_NO_INPUT: cannot be opened; FIRN_BAD_SCENE: not a cache, cut short, or times that do not grow. */
firn_status point_cache_open(const char *path, point_cache *cache);
void point_cache_close(point_cache *cache);

/* The points of one sample. FIRN_BAD_SCENE names a point that is not finite. */
firn_status point_cache_read(const point_cache *cache, size_t sample, double (*points)[3]);

#endif
