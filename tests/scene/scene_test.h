/* What the scene tests share: cmocka, and parsing with checks. */
#ifndef FIRN_TESTS_SCENE_TEST_H
#define FIRN_TESTS_SCENE_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "firn/scene.h"
#include "scene/model.h"

/* The smallest scene; tests append to its one snow object, or to the end. */
#define BASE                                                                                       \
    "simulation:\n  cell_size: 0.1\n"                                                              \
    "snow:\n  - shape: {sphere: {center: [0, 1, 0], radius: 0.5}}\n"

/* Parse with at most one override, which must succeed. Owned by the caller. */
static inline firn_scene *parse(const char *text, const char *set)
{
    firn_scene *scene;
    firn_status status = firn_scene_parse(text, "t.yaml", &set, set ? 1 : 0, &scene);
    if (status != FIRN_OK)
        print_error("%s\n", firn_last_error());
    assert_int_equal(status, FIRN_OK);
    return scene;
}

static inline void assert_has(const char *text, const char *words)
{
    if (!strstr(text, words))
        print_error("'%s' is not in:\n%s\n", words, text);
    assert_non_null(strstr(text, words));
}

/* Within a tolerance, 0 for exactly. */
#define assert_near(value, expected, tolerance)                                                    \
    do {                                                                                           \
        double value_ = (value), expected_ = (expected);                                           \
        if (!(fabs(value_ - expected_) <= (tolerance)))                                            \
            fail_msg("%s is %.17g, not %.17g", #value, value_, expected_);                         \
    } while (0)

#endif
