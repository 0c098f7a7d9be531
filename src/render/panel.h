/*
 * One frame drawn into one part of the sheet.
 *
 * Every pixel is the mean of 2 x 2 parts, each shaded by itself from the particle or collider it
 * sees; no part depends on another, so the threads cannot change the picture.
 */
#ifndef FIRN_RENDER_PANEL_H
#define FIRN_RENDER_PANEL_H

#include "render/colour.h"
#include "render/field.h"
#include "render/image.h"
#include "render/light.h"
#include "render/surfaces.h"

enum { PANEL_PARTS = 2 }; /* along each side of a pixel; the camera counts these, not pixels */

/* What all panels of a sheet share, and memory that they use one after the other. */
typedef struct panel_style {
    camera camera;
    colour_rule colour;
    const firn_scene *scene; /* borrowed; may be NULL */
    float spacing;           /* of particles, m */
    float radius;            /* of a drawn particle, m */
    float square;            /* side of the squares on colliders, m */
    splat_buffer buffer;
    lights lights;
    field field;
    float *free; /* for each block of parts, how far nothing but snow can be; owned */
    points_sample sample;
} panel_style;

firn_status panel_draw(panel_style *style, const firn_frame *frame, const image_view *view);

void panel_style_clear(panel_style *style);

#endif
