/*
 * Words on pictures, in a small stroke font of letters, digits and the signs that units need.
 *
 * A `^` raises the sign after it. A sign the font does not have is drawn as a box.
 */
#ifndef FIRN_RENDER_LABEL_H
#define FIRN_RENDER_LABEL_H

#include "render/image.h"

/* Draw with the left end of the base line at (x, y) in pixels, capitals `size` pixels high, with a
 * soft dark edge so that it reads on any ground. Returns the width. */
float label_draw(const image_view *view, float x, float y, float size, const char *text,
                 vec3 display);
float label_width(float size, const char *text);

#endif
