/*
 * How densely the snow lies, counted in coarse cells: tells the way out of the snow, which lights
 * its large forms while the single grain lights its own.
 */
#ifndef FIRN_RENDER_FIELD_H
#define FIRN_RENDER_FIELD_H

#include <stdbool.h>
#include <stdint.h>

#include "render/points.h"

typedef struct field {
    vec3 low;
    float cell; /* m */
    int size[3];
    uint32_t *counts; /* owned */
    bool *buried;     /* cells of full snow amid such cells: nothing in them can be seen; owned */
} field;

/* Count the particles in the box of the frame's snow; a cell holds some grains of this spacing. */
firn_status field_build(field *f, const firn_frame *frame, const double origin[3],
                        const points_box *box, float spacing);
void field_clear(field *f);

/* Whether a particle is hidden from everywhere, by two layers of cells. */
static inline bool field_hides(const field *f, vec3 x)
{
    vec3 u = vec_scale(vec_sub(x, f->low), 1 / f->cell);
    if (!(u.x >= 0 && u.y >= 0 && u.z >= 0 && u.x < (float)f->size[0] && u.y < (float)f->size[1] &&
          u.z < (float)f->size[2]))
        return false;
    return f->buried[((size_t)u.z * (size_t)f->size[1] + (size_t)u.y) * (size_t)f->size[0] +
                     (size_t)u.x];
}

/* The direction in which the snow thins out at x; not of unit length, zero far from all snow. Its
 * length is the relative change across a cell. */
vec3 field_outward(const field *f, vec3 x);

#endif
