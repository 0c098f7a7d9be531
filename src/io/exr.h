/*
 * Pictures of linear light: OpenEXR files with any number of named channels.
 *
 * Writing: one part, scan lines, ZIP, each channel as half or float, through a temporary file and a
 * rename. Values that are not finite are written as 0, and what a half cannot hold as its largest number,
 * so no file ever has a NaN or an infinity.
 * Reading: the first part of any flat file, scan lines or tiles, every channel as float.
 *
 * Does NOT do: deep data, further parts, mip levels, channels at reduced resolution.
 */
#ifndef FIRN_IO_EXR_H
#define FIRN_IO_EXR_H

#include "firn/firn.h"

/* A value for every pixel, rows from the top. */
typedef struct exr_channel {
    const char *name;    /* "R", "albedo.R": a layer before the dot */
    const float *values; /* of the first pixel; borrowed */
    size_t stride;       /* floats from one pixel to the next */
    bool half;
} exr_channel;

/* A text in the file's header. */
typedef struct exr_note {
    const char *name, *text;
} exr_note;

/* Channels and notes in any order. */
firn_status exr_write(const char *path, int width, int height, const exr_channel *channels,
                      size_t channel_count, const exr_note *notes, size_t note_count);

typedef struct exr_image {
    int width, height;
    size_t channel_count;
    char **names;     /* owned, as all below */
    float **channels; /* a plane each */
    size_t note_count;
    char **note_names, **notes;
} exr_image;

firn_status exr_read(const char *path, exr_image *image);
void exr_clear(exr_image *image);

/* Borrowed; NULL when the file has no such channel or note. */
const float *exr_find(const exr_image *image, const char *channel);
const char *exr_find_note(const exr_image *image, const char *name);

const char *exr_version(void); /* of the library; "none" in builds without it */

#endif
