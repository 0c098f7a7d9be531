/*
 * How densely the snow lies, counted in coarse cells: tells the way out of the snow, which lights
 * its large forms while the single grain lights its own.
 */
#ifndef FIRN_RENDER_FIELD_H
#define FIRN_RENDER_FIELD_H

#include <stdint.h>

#include "render/points.h"

typedef struct field {
    vec3 low;
    float cell; /* m */
    int size[3];
    uint32_t *counts; /* owned */
} field;

/* Count the particles in the box of the frame's snow; a cell holds some grains of this spacing. */
firn_status field_build(field *f, const firn_frame *frame, const double origin[3],
                        const points_box *box, float spacing);
void field_clear(field *f);

/* The direction in which the snow thins out at x; not of unit length, zero far from all snow. Its
 * length is the relative change across a cell. */
vec3 field_outward(const field *f, vec3 x);

#endif
