/*
 * The clear sky: the analytic daylight model of Preetham, Shirley and Smits (1999), and the sun's light
 * after its way through the same air.
 *
 * Does NOT do: clouds, night, suns below the horizon (they are lifted to it).
 */
#ifndef FIRN_RENDER_LIGHT_SKY_H
#define FIRN_RENDER_LIGHT_SKY_H

#include "render/vec.h"

typedef struct sky_model {
    vec3 up, sun;       /* unit */
    float zenith[3];    /* Y (kcd/m^2), x, y */
    float perez[3][5];  /* of Y, x, y */
    float at_zenith[3]; /* the distribution there, which the zenith values divide by */
    vec3 ground;        /* radiance from below the horizon */
} sky_model;

sky_model sky_create(vec3 sun, vec3 up, float turbidity);

/* Linear RGB, where 1 is the luminance of SKY_WHITE kcd/m^2. */
vec3 sky_radiance(const sky_model *sky, vec3 direction);

/* Irradiance of a surface that faces the sun, in the same unit. */
vec3 sky_sunlight(vec3 sun, vec3 up, float turbidity);

#define SKY_WHITE 32.0f

#endif
