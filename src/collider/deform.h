/*
 * Bodies that change their shape: level sets with velocities at key times, and what lies between (paper
 * section 8).
 *
 * A sequence of meshes gives the vertices at its frames; between frames they follow cubic curves
 * through them (Catmull-Rom), so velocities do not jump. Keys are the frames, and as many times
 * between two of them as it takes for no point to move farther than `travel` from key to key; then a
 * narrow band about the surface is all that a key must know. Before the first frame and after the last
 * the body rests.
 *
 * Between keys phi is that of both, each looked up where the body's velocity leads to:
 *     phi(x, t + g dT) = (1-g) phi(x - g dT v, t) + g phi(x + (1-g) dT v, t + dT)
 *     v = (1-g) v(x, t) + g v(x, t + dT)
 *
 * Keys are made when they are first needed. Those that nobody holds are kept as far as `budget` goes.
 * Any thread may ask. A key is flat arrays: a GPU uses them as they are.
 *
 * Does NOT do: rigid motion (motion.h); files (io/mesh_sequence.h).
 */
#ifndef FIRN_COLLIDER_DEFORM_H
#define FIRN_COLLIDER_DEFORM_H

#include "io/mesh_sequence.h"
#include "shape/level_set.h"

enum {
    DEFORM_STEP = 2,                                  /* voxels between samples of the velocity */
    DEFORM_WIDTH = LEVEL_SET_CELLS / DEFORM_STEP + 1, /* samples along a block */
    DEFORM_BLOCK = DEFORM_WIDTH * DEFORM_WIDTH * DEFORM_WIDTH,
};

typedef struct deform_key {
    int shares;
    level_set *set;       /* owned */
    float (*velocity)[3]; /* m/s: DEFORM_BLOCK for each block of the set, x fastest; owned */
} deform_key;

/* Between two keys, which it holds; all 0 for bodies that do not deform. */
typedef struct deform_pose {
    deform_key *from, *to;
    double blend;    /* g: 0 at `from`, 1 at `to` */
    double interval; /* dT, s; 0 where the body rests */
    double travel;   /* m: no point moves farther from key to key */
} deform_pose;

typedef struct deform deform;

typedef struct deform_request {
    double voxel;  /* m between samples */
    double cell;   /* m, of the simulation */
    double shell;  /* m: above 0 the body is a wall about the triangles */
    double budget; /* bytes for keys that nobody holds; the last two may stay in any case */
} deform_request;

/* Reads every frame once, to know its box and its speed. Takes over the sequence, whatever the
 * answer. */
firn_status deform_create(mesh_sequence *sequence, const deform_request *request, deform **out);
deform *deform_share(deform *d);
void deform_release(deform **d);

/* Of all that it is made from. */
uint64_t deform_fingerprint(const deform *d);

/* Hold the keys about a time; and let go of them. */
firn_status deform_hold(deform *d, double time, deform_pose *pose);
void deform_let_go(deform *d, deform_pose *pose);

/* A box that holds the body at a time. */
void deform_bounds(const deform *d, double time, double low[3], double high[3]);

/* The largest speed of any vertex between two times. */
double deform_speed(const deform *d, double from, double to);

/* Bytes of keys in memory now, held or not. */
double deform_memory(deform *d);

#endif
