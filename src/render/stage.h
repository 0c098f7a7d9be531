/*
 * What a scene says of its pictures, as the path tracer takes it: snow, lights, surfaces.
 *
 * With motion blur a stage has several moments while the shutter is open, each with the snow (and moving
 * bodies) where they are then; sample after sample goes round them, widely apart ones first.
 */
#ifndef FIRN_RENDER_STAGE_H
#define FIRN_RENDER_STAGE_H

#include "render/camera.h"
#include "scene/model.h"

typedef struct stage_moment {
    double shift; /* s, from the frame's time */
    volume *snow;
    surface_set *surfaces; /* NULL: that of the first moment */
} stage_moment;

typedef struct stage {
    const firn_frame *frame; /* borrowed */
    firn_scene shown;        /* the scene without invisible colliders; borrows all but the list */
    surface_material *materials;
    trace_medium medium;
    trace_options options;
    double origin[3];
    light_set *lights;
    uint64_t light_hash; /* of what files of lights hold */
    int count;
    stage_moment *moments;
} stage;

/* `shutter` in seconds; 0: one moment. The camera tells the size of squares and where the sun stands
 * when the scene does not. */
firn_status stage_create(stage *s, const firn_frame *frame, const firn_scene *scene,
                         const camera *c, double shutter);
void stage_clear(stage *s);

/* The scene that sample number `sample` of every pixel sees. Made when it is first asked for. */
firn_status stage_scene(stage *s, uint32_t sample, trace_scene *out);

#endif
