/*
 * Pictures of frames: shaded particles, quickly, on the processor.
 *
 * Where the camera stands is said by the scene's `camera` block; what the scene leaves open is chosen, so
 * that every scene gives a good picture.
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

/* ---- Cameras ------------------------------------------------------------------------------------ */

typedef struct firn_camera {
    double position[3], target[3];
    double up[3];         /* zero: against gravity */
    double field_of_view; /* degrees, across the shorter side */
    double aperture;      /* diameter of the lens, m; 0: everything is sharp */
    double focus;         /* m; 0: the target is sharp */
    double shutter;       /* share of the time between frames that it is open; 0: no motion blur */
} firn_camera;

/* One camera that holds the snow of all these frames, unless the scene says where it stands. `scene` may
 * be NULL. Frames may be thinned. */
firn_status firn_camera_frame(const firn_frame *frames, size_t count, const firn_scene *scene,
                              int width, int height, firn_camera *camera);

/* The same for a run that is still to come: from where the scene's snow starts and about how far it will
 * fall and slide. */
firn_status firn_camera_foresee(const firn_scene *scene, int width, int height,
                                firn_camera *camera);

/* Keep at most so many particles, evenly chosen: enough to place a camera. */
void firn_frame_thin(firn_frame *frame, size_t most);

/* ---- Quick looks: shaded particles -------------------------------------------------------------- */

typedef enum firn_colour {
    FIRN_COLOUR_SNOW,
    FIRN_COLOUR_SPEED,
    FIRN_COLOUR_DENSITY,
    FIRN_COLOUR_J_P,
    FIRN_COLOUR_OBJECT,
    FIRN_COLOUR_MATERIAL, /* needs the scene */
    FIRN_COLOUR_ID
} firn_colour;

/* Zero-initialised means default. */
typedef struct firn_preview_options {
    int width, height; /* of one picture [640 x 480] */
    firn_colour colour;
    const firn_scene *scene;   /* draws its colliders when given; borrowed */
    const firn_camera *camera; /* of 3D frames [the scene's, framed on all of them]; borrowed */
} firn_preview_options;

/* One or more frames side by side in one PNG, seen by one camera that holds all of them, each labelled
 * with its time. `columns` 0 = as many as look good. */
firn_status firn_preview_sheet(const firn_frame *frames, size_t count, int columns,
                               const firn_preview_options *options, const char *png_path);

#ifdef __cplusplus
}
#endif
#endif
