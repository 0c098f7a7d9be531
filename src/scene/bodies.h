/* Shapes that come from files: found, read, checked and kept while a scene is read, so that a file
 * named twice is read once. */
#ifndef FIRN_SCENE_BODIES_H
#define FIRN_SCENE_BODIES_H

#include "scene/options.h"

/* The body that a table's values ask for; `scale` is what later makes it larger, which its samples
 * must allow for. A failure names the place in the scene. */
firn_status body_read(firn_scene *scene, const option *kind, const yaml_node *node,
                      const shape_values *values, double scale, shape **out);

/* The bodies of this scene need no longer be found again. */
void bodies_forget(firn_scene *scene);

#endif
