/*
 * Text set in a font, as an outline: FreeType reads the font, fontconfig finds it by name.
 *
 * Lines end at newlines. The first line's baseline is y = 0; x = 0 is where lines start, have their
 * middle or end. Pairs of letters are kerned by the font's own table.
 *
 * Does NOT do: scripts whose letters join or change places (no shaping), colour, bitmap fonts.
 */
#ifndef FIRN_IO_FONT_H
#define FIRN_IO_FONT_H

#include "firn/firn.h"
#include "shape/outline.h"

typedef enum font_align { FONT_LEFT, FONT_CENTER, FONT_RIGHT } font_align;

typedef struct font_request {
    const char *name; /* of the font's file, for messages */
    const void *data; /* its bytes */
    size_t size;
    int face;           /* which of a collection */
    const char *text;   /* UTF-8 */
    double height;      /* m, of a capital letter */
    double line_height; /* times the font's own */
    font_align align;
} font_request;

/* The file of an installed font and its number in there. FIRN_NO_INPUT when there is none of that
 * name. `path` is owned by the caller. */
firn_status font_find(const char *family, char **path, int *face);

/* Owned by the caller. FIRN_BAD_SCENE when the file is no font, lacks a letter, or the text leaves
 * no mark. */
firn_status font_outline(const font_request *request, outline **out);

/* The version of FreeType, or "none". */
const char *font_version(void);

#endif
