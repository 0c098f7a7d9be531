/*
 * What colour a particle has: snow, a value on a scale, or the object or material it belongs to.
 *
 * The scale is a line through a perceptual space (Oklab), from a dark blue to a pale gold with
 * evenly rising lightness, so that equal steps of the value look like equal steps, in grey too.
 */
#ifndef FIRN_RENDER_COLOUR_H
#define FIRN_RENDER_COLOUR_H

#include "firn/render.h"
#include "render/points.h"

/* Linear RGB. */
vec3 colour_from_oklab(float lightness, float a, float b);
vec3 colour_scale(float t);       /* t in 0 .. 1 */
vec3 colour_kind(uint32_t index); /* hues far apart for neighbouring indices */

typedef struct colour_rule {
    firn_colour mode;
    float low, high;         /* of the value, over all frames */
    uint32_t last_kind;      /* of objects or materials, the largest index met */
    const firn_scene *scene; /* borrowed; NULL: objects have no names */
} colour_rule;

/* FIRN_USAGE when a frame does not hold the values asked for, or there is no scene to know them. */
firn_status colour_choose(const firn_frame *frames, size_t count, firn_colour mode,
                          const firn_scene *scene, points_sample *scratch, colour_rule *rule);
vec3 colour_particle(const colour_rule *rule, const firn_frame *frame, size_t index);

bool colour_has_scale(const colour_rule *rule);
bool colour_has_kinds(const colour_rule *rule);
/* The name of object or material `index`; NULL when the scene does not tell. */
const char *colour_kind_name(const colour_rule *rule, uint32_t index);
const char *colour_name(firn_colour mode);
const char *colour_unit(firn_colour mode, int dimensions); /* "^3": a raised 3 */

#endif
