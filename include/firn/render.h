/*
 * Pictures of frames: traced light, and quick looks.
 *
 * What a picture shows is said by the scene: its `camera` and `render` blocks, and the `surface` of its
 * colliders. What the scene leaves open is chosen, so that every scene gives a good picture.
 *
 *     firn_picture *picture;
 *     if (firn_picture_create(&frame, scene, NULL, &picture) != FIRN_OK ||
 *         firn_picture_trace(picture, 64, NULL, NULL) != FIRN_OK ||
 *         firn_picture_write(picture, "snow.png") != FIRN_OK)
 *         ...
 *     firn_picture_destroy(&picture);
 *
 * The same frame and scene give the same bits for any number of threads, in one go or in several.
 *
 * Does NOT do: films; the program hands pictures to ffmpeg.
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

/* Width and height in pixels, and samples of a pixel, that the scene asks for. */
void firn_scene_picture_size(const firn_scene *scene, int *width, int *height, int *samples);

/* ---- Traced light ------------------------------------------------------------------------------- */

typedef struct firn_picture firn_picture;

/* Zero-initialised means default. */
typedef struct firn_picture_options {
    const firn_camera *camera; /* [the scene's, framed on this frame]; copied */
    bool draft;                /* denoise unless the scene says not to */
    int threads;               /* 0 = as many as the machine offers */
} firn_picture_options;

/* A picture with no light on it yet. Frame and scene are borrowed until it is destroyed. FIRN_BAD_SCENE
 * when the frame has nothing to show; FIRN_NO_INPUT when a light's file cannot be read. */
firn_status firn_picture_create(const firn_frame *frame, const firn_scene *scene,
                                const firn_picture_options *options, firn_picture **picture);
void firn_picture_destroy(firn_picture **picture);

/* Trace until every pixel has `samples`. `stop` (may be NULL) is asked now and then, by any thread; when
 * it returns true, FIRN_STOPPED, and calling again goes on. */
typedef bool firn_picture_stop_fn(const firn_picture *picture, void *user);
firn_status firn_picture_trace(firn_picture *picture, int samples, firn_picture_stop_fn *stop,
                               void *user);

/* Samples that every pixel has, and those of all pixels together. */
int firn_picture_samples(const firn_picture *picture);
double firn_picture_sample_sum(const firn_picture *picture);

/* Write what is there: .png (8 bits through the tone curve) or .exr (linear light; layers albedo, normal,
 * depth Z, cover A). FIRN_USAGE for other names, and before the first sample. */
firn_status firn_picture_write(const firn_picture *picture, const char *path);

/* The unfinished picture as a file (EXR, with its sums and sample counts), to go on with later: the
 * result has the same bits. Loading gives FIRN_BAD_SCENE when the file is of another picture, and
 * FIRN_NO_INPUT when there is none; the picture is then as before. */
firn_status firn_picture_save(const firn_picture *picture, const char *path);
firn_status firn_picture_load(firn_picture *picture, const char *path);

/* Whether the file is this very picture, finished with so many samples. */
bool firn_picture_is_written(const firn_picture *picture, const char *path, int samples);

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
    const firn_camera *camera; /* [the scene's, framed on all of them]; borrowed. 2D frames are seen
                                  from the front, as wide as it sees them */
    const double *range; /* two numbers: ends of the colour scale [of these frames]; borrowed */
    const char *const *labels; /* one a frame, under its time; lines end with \n [none]; borrowed */
    const firn_scene *const *scenes; /* one a frame, whose colliders it shows ['scene']; borrowed */
    int threads;                     /* 0 = as many as the machine offers */
} firn_preview_options;

/* The ends that the colour scale of these frames would have. Frames may be thinned. */
firn_status firn_preview_range(const firn_frame *frames, size_t count, firn_colour colour,
                               const firn_scene *scene, double range[2]);

/* One or more frames side by side in one PNG, seen by one camera that holds all of them, each labelled
 * with its time. `columns` 0 = as many as look good. */
firn_status firn_preview_sheet(const firn_frame *frames, size_t count, int columns,
                               const firn_preview_options *options, const char *png_path);

#ifdef __cplusplus
}
#endif
#endif
