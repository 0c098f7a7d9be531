/* What a traced picture is inside. Made and traced in picture.c, written in picture_write.c. */
#ifndef FIRN_RENDER_PICTURE_H
#define FIRN_RENDER_PICTURE_H

#include "render/film.h"
#include "render/stage.h"

struct firn_picture {
    const firn_frame *frame;    /* borrowed */
    const scene_render *render; /* borrowed */
    bool denoise;
    int threads; /* 0: all */
    firn_camera view;
    camera camera;
    stage stage;
    film film;
    uint64_t identity;
    double row_seconds; /* about what a sample of a row takes; 0: not known */
};

/* Around work that OpenMP shares out: the picture's number of threads, and back. */
int picture_begin(const firn_picture *p);
void picture_end(int threads_before);

#endif
