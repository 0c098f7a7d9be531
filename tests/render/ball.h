/* A snowball that moves over a checked ground, small enough to trace in a test. */
#ifndef FIRN_TESTS_RENDER_BALL_H
#define FIRN_TESTS_RENDER_BALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "firn/render.h"

/* size: the settings of a picture's width and height; more: the end of the scene's text. */
static inline firn_scene *ball_scene(const char *const size[2], const char *more)
{
    char text[1024];
    snprintf(
        text, sizeof text,
        "simulation: {cell_size: 0.03}\n"
        "snow:\n  - {shape: {sphere: {center: [0, 0.1, 0], radius: 0.09}}, velocity: [2, 0, 0]}\n"
        "colliders:\n  - shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}\n"
        "    surface: {checker: 0.5}\n%s",
        more);
    firn_scene *scene;
    if (firn_scene_parse(text, "t.yaml", size, 2, &scene) != FIRN_OK)
        fail_msg("%s", firn_last_error());
    return scene;
}

/* What it starts with. */
static inline firn_frame ball_frame(const firn_scene *scene)
{
    firn_sim *sim;
    firn_frame frame = {0};
    assert_int_equal(firn_sim_create(scene, NULL, &sim), FIRN_OK);
    assert_int_equal(firn_frame_capture(sim, FIRN_BASIC_ATTRIBUTES, &frame), FIRN_OK);
    firn_sim_destroy(&sim);
    return frame;
}

#endif
