/* What the reference solver holds, and the nodes around a particle. Stepped in ref.c, solved in
 * solve.c. */
#ifndef FIRN_REF_STATE_H
#define FIRN_REF_STATE_H

#include "backend.h"
#include "method/mat.h"
#include "ref/grid.h"

#define REF_PASTE(dim, name) ref##dim##_##name
#define REF_NAME(dim, name) REF_PASTE(dim, name)
#define stencil_at REF_NAME(FIRN_DIM, stencil_at)

enum { STENCIL_MAX = FIRN_DIM == 3 ? 64 : 16 };

/* A particle's part in a step. Without `sleep` all move. */
typedef enum part {
    ABSENT, /* asleep: stays as it is */
    GIVES,  /* likewise, but gives mass and force to nodes that others reach */
    MOVES,
} part;

typedef struct particle {
    vec x, v;
    real m, V0;
    mat F_E;
    real J_P;
    mat B;
    real mu0, lambda0, xi, theta_c, theta_s;
    /* sleep.h */
    real rest; /* s, for how long its surroundings have been still */
    part part;
    grid_block *home; /* where its stencil began when the step did */
} particle;

typedef struct solver solver; /* solve.h */

struct backend {
    const firn_settings *settings;
    const collider_set *colliders;
    grid grid;
    size_t count;
    particle *particles;
    particle *before; /* as they were when the step began */
    solver *solver;   /* NULL until a step is semi-implicit */
};

/* The nodes around a particle with their weights: what every sum over i in the paper runs over. */
typedef struct stencil {
    int count;
    node *nodes[STENCIL_MAX];
    real w[STENCIL_MAX];
    vec grad_w[STENCIL_MAX];
    vec d[STENCIL_MAX]; /* x_i - x_p */
} stencil;

#define for_each_particle(s, p)                                                                    \
    for (particle *p = (s)->particles; p < (s)->particles + (s)->count; p++)

/* Steps 1 to 6 run over those that give to nodes, 7 to 10 over those that move. */
#define for_each_giver(s, p) for_each_particle(s, p) if (p->part != ABSENT)
#define for_each_mover(s, p) for_each_particle(s, p) if (p->part == MOVES)

#define for_each_active_node(s, b, i)                                                              \
    for (size_t b = 0; b < (s)->grid.count; b++)                                                   \
        for (node *i = (s)->grid.blocks[b]->nodes;                                                 \
             i < (s)->grid.blocks[b]->nodes + GRID_BLOCK_NODES; i++)                               \
            if (i->m > 0)

/* Fills the stencil of position x, making nodes as needed; false when out of memory. */
bool stencil_at(backend *s, vec x, stencil *t);

#endif
