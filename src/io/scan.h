/*
 * Reading numbers and words from text in memory, fast: meshes of ten million lines are common.
 *
 * A scanner knows its line, so that every failure is "file:line: what". Blanks are space, tab,
 * carriage return; a line ends at a newline or at the end of the text. The text need not end in 0.
 *
 * Numbers are rounded correctly, like strtod in the C locale: most by one multiplication of exact
 * values, the rest by strtod itself.
 */
#ifndef FIRN_IO_SCAN_H
#define FIRN_IO_SCAN_H

#include <stdint.h>

#include "firn/firn.h"

typedef struct scan {
    const char *at, *end;
    const char *name; /* of the file, for messages; borrowed */
    size_t line;      /* from 1 */
} scan;

static inline scan scan_text(const char *name, const void *data, size_t size)
{
    const char *text = data;
    return (scan){text, text + size, name, 1};
}

static inline bool scan_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static inline void scan_blanks(scan *s)
{
    while (s->at < s->end && scan_is_blank(*s->at))
        s->at++;
}

/* Whether nothing but blanks is left in the line. */
static inline bool scan_line_ends(scan *s)
{
    scan_blanks(s);
    return s->at == s->end || *s->at == '\n';
}

/* To the start of the next line; false at the end of the text. */
bool scan_next_line(scan *s);

/* To the next thing that is neither blank, line end, nor a comment from `comment` (0: none) to the
 * end of its line; false at the end of the text. */
bool scan_skip(scan *s, char comment);

/* A word of at most size - 1 bytes, up to the next blank or line end; longer ones are cut. False:
 * the line ends here. */
bool scan_word(scan *s, char *word, size_t size);

/* Whether the next word is this one, which is then passed over. */
bool scan_match(scan *s, const char *word);

/* A finite number in this line. FIRN_BAD_SCENE with file, line and what stands there instead. */
firn_status scan_real(scan *s, double *value);
firn_status scan_whole(scan *s, int64_t *value);

/* Up to `count` numbers from this line; returns how many there were. Stops before whatever is not a
 * finite number. */
size_t scan_reals(scan *s, double *values, size_t count);

/* "file:line: message" as FIRN_BAD_SCENE. */
firn_status scan_fail(const scan *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "but 'abc' stands there" or "but the line ends": what is at this place, for messages. Lives until
 * the next call in this thread. */
const char *scan_found(scan *s);

#endif
