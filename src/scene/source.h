/*
 * Where in the input something stands, and failing there: "file:line:column: message", the line, a
 * caret under it. Also the words of such messages: suggestions for misspelt names, text made safe
 * for a terminal.
 */
#ifndef FIRN_SCENE_SOURCE_H
#define FIRN_SCENE_SOURCE_H

#include "status.h"

/* A text that was parsed. Kept alive by whoever parses, for as long as its marks are in use. */
typedef struct source {
    const char *name; /* "snow.yaml", or "--set key=value" */
    const char *text;
    bool is_override; /* then `name` is the whole place, without line and column */
} source;

typedef struct mark {
    const source *source;
    int line, column; /* from 1; columns count characters, not bytes */
} mark;

/* "snow.yaml:12:5"; owned by the caller. */
char *mark_where(mark at);

/* Record FIRN_BAD_SCENE at a place. */
firn_status fail_at(mark at, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Record that `word` is none of the `known` ones: which was meant, and what there is. `what` is
 * "key", "material", ...; `within` may be NULL. */
firn_status fail_unknown(mark at, const char *what, const char *word, const char *within,
                         const char *const *known, size_t count);

/* The known word that differs least from `word`, or NULL when none is close. */
const char *nearest_word(const char *word, const char *const *known, size_t count);

/* At most 40 characters of `text`, with bytes that a terminal would act on replaced; owned by the
 * caller. */
char *printable(const char *text);

/* Zeroed memory for small things, like text_copy never NULL. */
void *allocate(size_t count, size_t size);

#endif
