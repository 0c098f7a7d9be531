/*
 * Films: PNG pictures of a folder through the ffmpeg program into an MP4 (H.264, which plays everywhere).
 *
 * Functions that can fail tell the user why and return the exit code, 0 when all is well.
 */
#ifndef FIRN_TOOL_MOVIE_H
#define FIRN_TOOL_MOVIE_H

#include <stddef.h>

/* Whether there is an ffmpeg to be found: asked before hours of work, not after. */
int movie_check(void);

/* Make the folder for the pictures, and remove it with all of them. */
int movie_folder(const char *folder);
void movie_remove_folder(const char *folder);

/* The first `count` PNG files of the folder by name, through a temporary file and a rename. */
int movie_encode(const char *folder, size_t count, double fps, const char *path);

#endif
