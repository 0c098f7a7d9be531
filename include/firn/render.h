/*
 * Pictures of frames: shaded particles, quickly, on the processor.
 *
 * Does NOT do: scatter light in the snow; particles are drawn as small lit spheres.
 */
#ifndef FIRN_RENDER_H
#define FIRN_RENDER_H

#include "firn/firn.h"
#include "firn/io.h"
#include "firn/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum firn_colour {
    FIRN_COLOUR_SNOW,
    FIRN_COLOUR_SPEED,
    FIRN_COLOUR_DENSITY,
    FIRN_COLOUR_J_P,
    FIRN_COLOUR_OBJECT
} firn_colour;

/* Zero-initialised means default. */
typedef struct firn_preview_options {
    int width, height; /* of one picture [640 x 480] */
    firn_colour colour;
    const firn_scene *scene; /* draws its colliders when given; borrowed */
} firn_preview_options;

/* One or more frames side by side in one PNG, seen by one camera that holds all of them, each labelled
 * with its time. `columns` 0 = as many as look good. */
firn_status firn_preview_sheet(const firn_frame *frames, size_t count, int columns,
                               const firn_preview_options *options, const char *png_path);

#ifdef __cplusplus
}
#endif
#endif
