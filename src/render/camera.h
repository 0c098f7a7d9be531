/*
 * One camera for a whole sheet: placed so that the snow of every frame, and the ground under it,
 * fill the picture.
 *
 * 3D frames are seen in perspective, from slightly above; 2D frames straight from the front,
 * without perspective ("flat"). All points are relative to `origin`, so that snow far from the
 * world's origin keeps its precision.
 */
#ifndef FIRN_RENDER_CAMERA_H
#define FIRN_RENDER_CAMERA_H

#include "render/points.h"
#include "render/surfaces.h"

typedef struct camera {
    double origin[3];
    bool flat;
    vec3 eye;             /* flat: the middle of the picture */
    vec3 right, up, back; /* unit axes of the picture; back points at the viewer */
    vec3 sky;             /* unit, against gravity */
    float width, height;  /* pixels */
    float focal;          /* pixels per unit of tangent; flat: pixels per metre */
    float distance;       /* from the eye to the middle of the snow */
} camera;

/* `margin` is the length left free around particles. `sample` is scratch. */
camera camera_fit(const firn_frame *frames, size_t count, const firn_scene *scene, int width,
                  int height, float margin, points_sample *sample);

/* Where a point falls in the picture, in pixels from the top left, how far away it is, and how many
 * pixels a metre is there. False when it is behind the camera. */
typedef struct camera_point {
    float x, y, depth, scale;
} camera_point;
bool camera_project(const camera *c, vec3 p, camera_point *out);

/* The unit direction seen at a pixel. */
vec3 camera_ray(const camera *c, float x, float y);

#endif
