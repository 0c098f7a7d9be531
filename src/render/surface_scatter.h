/* How a surface sends light on: matt, coated, or clear. */
#ifndef FIRN_RENDER_SURFACE_SCATTER_H
#define FIRN_RENDER_SURFACE_SCATTER_H

#include "render/surface_set.h"
#include "render/trace_random.h"

/* A way that light goes on. `ray` is the direction of travel towards the surface, `direction` away. */
typedef struct surface_way {
    vec3 direction;
    vec3 weight; /* value times cosine over pdf */
    float pdf;   /* per steradian; INFINITY for mirrors and glass, which leave no choice */
} surface_way;

/* False when the light ends here. */
bool surface_scatter(const surface_hit *hit, vec3 ray, trace_random *random, surface_way *way);

/* Value times cosine for a way chosen elsewhere, and the pdf that surface_scatter would have. */
vec3 surface_value(const surface_hit *hit, vec3 ray, vec3 direction, float *pdf);

/* Share that clear material mirrors (Fresnel). cosine: of the angle to the normal on the side the light
 * comes from; ratio: index of the far side over the near. */
float surface_mirror(float cosine, float ratio);

#endif
