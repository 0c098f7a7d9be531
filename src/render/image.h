/*
 * The finished picture: 8-bit RGB, from linear light through a tone curve, and out as PNG.
 */
#ifndef FIRN_RENDER_IMAGE_H
#define FIRN_RENDER_IMAGE_H

#include <stdint.h>

#include "firn/firn.h"
#include "render/vec.h"

typedef struct image {
    int width, height;
    uint8_t *pixels; /* owned; rows from the top, three bytes a pixel */
} image;

/* A part of an image that is drawn on as if it were one; borrowed. */
typedef struct image_view {
    image *image;
    int x, y, width, height;
} image_view;

firn_status image_create(image *im, int width, int height, vec3 display);
void image_clear(image *im);

/* From scene light (linear, unbounded) to display (sRGB, 0 .. 1); bright light softly saturates. */
vec3 image_tone(vec3 light);
/* The same with a toe: shadows deepen a little, as on film. */
vec3 image_filmic(vec3 light);
vec3 image_encode(vec3 linear); /* sRGB without the tone curve */

/* A byte of a pixel from a display value. `dither` in 0 .. 1, other for every pixel, hides the steps of
 * smooth gradients; 0.5 rounds. */
uint8_t image_byte(float display, float dither);

/* Set a pixel, or cover it by a share, in display values. Outside of the view nothing happens. */
void image_set(const image_view *view, int x, int y, vec3 display);
void image_cover(const image_view *view, int x, int y, vec3 display, float share);

/* Through a temporary file and a rename. `note` (may be NULL) is a text kept in the file. */
firn_status image_write_png(const image *im, const char *note, const char *path);

/* The note of a PNG file, owned by the caller; NULL when there is no such file or it has none. */
char *image_read_note(const char *path);

#endif
