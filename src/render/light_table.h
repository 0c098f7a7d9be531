/*
 * Light from all directions as a latitude-longitude map, and directions drawn in proportion to it.
 *
 * The map is bilinear between the middles of its pixels; a pixel is chosen by the integral of that
 * function over it, a place in it evenly.
 */
#ifndef FIRN_RENDER_LIGHT_TABLE_H
#define FIRN_RENDER_LIGHT_TABLE_H

#include "firn/firn.h"
#include "render/vec.h"

typedef struct light_table {
    int width, height;
    vec3 forward, right, up; /* directions at the middle, the right, the top */
    vec3 *pixels;            /* owned, likewise below */
    float *columns;          /* for each row, the share of it left of and in each pixel */
    float *rows;             /* share of the map above and in each row */
    float *solid;            /* solid angle of a pixel of each row */
    vec3 mean;               /* over the sphere */
    float spread; /* 1: the same light from everywhere; near 0: all of it from one place */
} light_table;

/* An empty map of this size to be filled, then finished. */
firn_status light_table_create(light_table *t, int width, int height, vec3 forward, vec3 up);
firn_status light_table_finish(light_table *t);
void light_table_clear(light_table *t);

vec3 light_table_direction(const light_table *t, float u, float v); /* 0 .. 1 from the top left */
vec3 light_table_value(const light_table *t, vec3 direction);
float light_table_pdf(const light_table *t, vec3 direction); /* per steradian */
vec3 light_table_choose(const light_table *t, const float u[2], float *pdf);

#endif
