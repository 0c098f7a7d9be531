/*
 * Where to stand: a camera that holds the snow of every frame, and the ground under it, unless the scene
 * says better. What a scene leaves open is chosen: the side from which colliders hide least, the
 * distance at which everything just fits.
 */
#ifndef FIRN_RENDER_CAMERA_FIT_H
#define FIRN_RENDER_CAMERA_FIT_H

#include "render/camera.h"
#include "render/points.h"

/* `margin` is the length left free around particles; `flat`: as a picture of 2D frames, from the front
 * and without the scene's camera. `sample` is scratch. FIRN_BAD_SCENE when the scene's camera stands in
 * its target. */
firn_status camera_fit(camera *c, const firn_frame *frames, size_t count, const firn_scene *scene,
                       bool flat, int width, int height, float margin, points_sample *sample);

#endif
