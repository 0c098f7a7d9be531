/*
 * Drops: what is spread over the nodes of a volume. A particle is one drop, or several when it is drawn
 * as grains.
 */
#ifndef FIRN_RENDER_VOLUME_DROPS_H
#define FIRN_RENDER_VOLUME_DROPS_H

#include "render/volume.h"

typedef struct drop {
    vec3 at;    /* m relative to the picture's origin */
    float mass; /* kg; in 2D kg per metre of depth */
} drop;

typedef struct drop_list {
    size_t count;
    drop *items;     /* owned */
    size_t left_out; /* particles that are not drawn ... */
    size_t too_far;  /* ... among them those beyond reach */
    vec3 low, high;  /* of the drops' places */
} drop_list;

/* All drops of a frame that lie within `reach` of the middle of the snow, along each axis. */
firn_status drops_create(const firn_frame *frame, const double origin[3],
                         const volume_options *options, float reach, drop_list *list);
void drops_clear(drop_list *list);

#endif
