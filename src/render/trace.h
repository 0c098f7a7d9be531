/*
 * Light through snow: an unbiased volumetric path tracer.
 *
 * A path starts at the camera, scatters in the snow (free flights as in volume_track.h, directions by the
 * Henyey-Greenstein phase function) and on surfaces, and gathers light at every vertex by a shadow ray
 * and by running into sources, weighted by multiple importance sampling. Russian roulette ends it. docs/rendering.md has the formulas.
 *
 * Every sample of a pixel has random numbers of its own, from (seed, pixel, sample), and is added to the
 * pixel in order: pictures have the same bits for any number of threads, tiles and calls.
 *
 * Motion blur: samples of one pixel may be traced through different scenes (volumes shifted in time);
 * call trace_render once for each with its share of the samples.
 *
 * Does NOT do: cameras, tone curves, files.
 */
#ifndef FIRN_RENDER_TRACE_H
#define FIRN_RENDER_TRACE_H

#include <stdint.h>

#include "render/light_set.h"
#include "render/surface_set.h"
#include "render/volume.h"

/* How snow scatters (paper, section 9). Zero-initialised means the paper's values, in brackets. */
typedef struct trace_medium {
    float extinction;  /* 1/m at the reference density [724] */
    float reference;   /* kg/m^3 [400] */
    bool custom;       /* take albedo and mean_cosine from here, even if zero */
    vec3 albedo;       /* [0.9, 0.95, 1] */
    float mean_cosine; /* g, -0.99 .. 0.99 [0.5] */
    bool by_trial;     /* delta and ratio tracking instead of a walk: see volume_track.h */
} trace_medium;

/* Zero-initialised means default. */
typedef struct trace_options {
    uint64_t seed;
    int bounces;    /* most vertices of a path [1e6]; a few hundred lose light in bright snow */
    int similarity; /* after so many scatterings g becomes 0 and extinction (1 - g) of itself: several
                       times faster deep in the snow, slightly wrong near its surface. 0: never [0] */
} trace_options;

/* What there is to see. All borrowed; any but `lights` may be NULL. */
typedef struct trace_scene {
    const volume *snow;
    const light_set *lights;
    const surface_set *surfaces;
    trace_medium medium;
    trace_options options;
} trace_scene;

typedef struct trace_ray {
    vec3 start, direction; /* direction: unit */
} trace_ray;

/* The ray of one sample of pixel (x, y), y from the top. u: four numbers in [0, 1), well spread over the
 * samples of a pixel; the first two for the place in the pixel (or its filter), the last two for the
 * lens. Called by several threads at once. */
typedef trace_ray trace_camera_fn(const void *camera, int x, int y, const float u[4]);

/* Sums over the samples of a pixel. Always finite. */
typedef struct trace_pixel {
    vec3 light;     /* linear RGB */
    vec3 albedo;    /* of the first thing met; white-ish for snow, 1 for what is seen of the sky */
    vec3 normal;    /* of the first thing met, unit before summing; zero for the sky */
    float depth;    /* distance of the first thing met; the sky adds nothing */
    float cover;    /* 1 where something was met: depth / cover is the mean depth */
    float squares;  /* of each sample's luminance, for its variance */
    uint32_t count; /* samples */
} trace_pixel;

typedef struct trace_film {
    int width, height;
    trace_pixel *pixels; /* rows from the top; the caller's, zeroed before the first sample */
} trace_film;

/* A rectangle of pixels: x0 <= x < x1. */
typedef struct trace_tile {
    int x0, y0, x1, y1;
} trace_tile;

/* Add samples first .. first + count - 1 to every pixel of the tile, on all threads that OpenMP gives. A
 * pixel that has some of them already (trace_pixel.count) goes on from there. `stop` (may be NULL) is
 * asked now and then, by any thread; when it says true, FIRN_STOPPED is returned, some pixels lacking
 * samples: call again to go on. A sample that is not finite counts as black. */
typedef bool trace_stop_fn(void *user);
firn_status trace_render(const trace_scene *scene, trace_camera_fn *camera, const void *camera_data,
                         trace_tile tile, uint32_t first, uint32_t count, trace_film *film,
                         trace_stop_fn *stop, void *user);

/* Light along one ray with the random numbers of (seed, pixel, sample): what trace_render adds. */
vec3 trace_radiance(const trace_scene *scene, trace_ray ray, uint64_t pixel, uint32_t sample);

#endif
