/*
 * Pictures of a run while it goes on: picture_0012.png beside each frame that is written.
 *
 * The camera is placed before the run, by foresight; the simulation is only read. Functions that can fail
 * tell the user why and return the exit code: 75 when a signal came, and then the same command finishes
 * the picture.
 */
#ifndef FIRN_TOOL_RUN_RENDER_H
#define FIRN_TOOL_RUN_RENDER_H

#include "render.h"

typedef struct run_render {
    bool is_on;
    render_options options;
    render_input input; /* borrows the scene of the run */
    render_job job;
} run_render;

typedef enum render_style { RENDER_PREVIEW, RENDER_DRAFT, RENDER_FINAL } render_style;

int run_render_start(run_render *r, firn_scene *scene, render_style style, int threads);

/* The picture of the frame that the simulation stands at. */
int run_render_frame(run_render *r, const firn_sim *sim, const char *folder);

#endif
