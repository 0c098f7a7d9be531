/*
 * From points to pixels and back: where a point falls in the picture, and which way a pixel looks.
 *
 * 3D pictures are seen in perspective, through a pinhole or a lens; flat ones, of 2D frames, straight
 * from the front without perspective. All points are relative to `origin`, so that snow far from the
 * world's origin keeps its precision.
 *
 * Does NOT do: decide where to stand (camera_fit.h).
 */
#ifndef FIRN_RENDER_CAMERA_H
#define FIRN_RENDER_CAMERA_H

#include "firn/render.h"
#include "render/trace.h"

typedef struct camera {
    double origin[3];
    bool flat;
    vec3 eye;             /* flat: the middle of the picture */
    vec3 right, up, back; /* unit axes of the picture; back points at the viewer */
    vec3 sky;             /* unit, against gravity */
    float width, height;  /* pixels */
    float focal;          /* pixels per unit of tangent; flat: pixels per metre */
    float distance;       /* from the eye to the middle of the snow */
    float lens;           /* radius, m */
    float focus;          /* m before the eye, the plane that is sharp */
} camera;

/* Unit, against the scene's gravity; y without any. */
vec3 camera_sky(const firn_scene *scene);

/* Set right, up and back for a view along -back; `up` only leans the picture. */
void camera_turn(camera *c, vec3 back, vec3 up);

/* A public camera seen from `origin`; the scene may be NULL. FIRN_USAGE when it makes no sense. */
firn_status camera_look(camera *c, const firn_camera *from, const double origin[3],
                        const firn_scene *scene, int width, int height);
void camera_publish(const camera *c, const firn_scene *scene, firn_camera *out);

/* Where a point falls in the picture, in pixels from the top left, how far away it is, and how many
 * pixels a metre is there. False when it is behind the camera. */
typedef struct camera_point {
    float x, y, depth, scale;
} camera_point;
bool camera_project(const camera *c, vec3 p, camera_point *out);

/* The unit direction seen at a pixel. */
vec3 camera_ray(const camera *c, float x, float y);

/* A trace_camera_fn: through the lens, spread over the pixel and its neighbours by a tent filter. */
trace_ray camera_sample(const void *camera, int x, int y, const float u[4]);

#endif
