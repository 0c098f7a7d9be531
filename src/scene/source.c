#include "scene/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_WIDTH = 90, SHOWN_WORD = 40, LONGEST_WORD = 64 };

static bool continues_character(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7F;
}

void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory)
        abort();
    return memory;
}

static char *cleaned(const char *text, int most)
{
    size_t length = 0;
    for (int characters = 0; text[length]; length++)
        if (!continues_character(text[length]) && characters++ == most)
            break;
    char *shown = text_format("%.*s%s", (int)length, text, text[length] ? "..." : "");
    for (char *c = shown; *c; c++)
        if (is_control(*c))
            *c = *c == '\n' || *c == '\t' ? ' ' : '?';
    return shown;
}

char *printable(const char *text)
{
    return cleaned(text, SHOWN_WORD);
}

char *mark_where(mark at)
{
    if (at.source->is_override)
        return cleaned(at.source->name, SHOWN_WIDTH);
    return text_format("%s:%d:%d", at.source->name, at.line, at.column);
}

/* Bytes from `from` that hold at most `characters` characters of one line. */
static size_t line_bytes(const char *from, int characters)
{
    size_t bytes = 0;
    while (from[bytes] && from[bytes] != '\n' && from[bytes] != '\r') {
        if (!continues_character(from[bytes]) && characters-- == 0)
            break;
        bytes++;
    }
    return bytes;
}

/* "\n<the line>\n    ^", the part around the column when the line is long; owned by the caller. */
static char *excerpt(mark at)
{
    const char *line = at.source->text;
    for (int n = 1; n < at.line && line; n++) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (at.source->is_override || !line)
        return text_copy("");
    int skipped = at.column > SHOWN_WIDTH ? at.column - SHOWN_WIDTH / 2 : 0;
    line += line_bytes(line, skipped);
    size_t length = line_bytes(line, SHOWN_WIDTH);
    if (length == 0)
        return text_copy("");
    size_t before = line_bytes(line, at.column - 1 - skipped);

    char *indent = allocate(before + 1, 1);
    size_t width = 0;
    for (size_t i = 0; i < before; i++)
        if (!continues_character(line[i]))
            indent[width++] = line[i] == '\t' ? '\t' : ' ';
    char *text = text_format("\n%.*s\n%s^", (int)length, line, indent);
    for (char *c = text + 1; c < text + 1 + length; c++)
        if (is_control(*c) && *c != '\t')
            *c = '?';
    free(indent);
    return text;
}

firn_status fail_at(mark at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *message = NULL;
    if (vasprintf(&message, format, args) < 0)
        abort();
    va_end(args);
    char *where = mark_where(at);
    char *line = excerpt(at);
    fail(FIRN_BAD_SCENE, "%s: %s%s", where, message, line);
    free(line);
    free(where);
    free(message);
    return FIRN_BAD_SCENE;
}

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c == '-' ? '_' : c;
}

/* Edits (insert, delete, replace) that turn a into b; words beyond LONGEST_WORD are far away. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t na = strlen(a), nb = strlen(b);
    if (na > LONGEST_WORD || nb > LONGEST_WORD)
        return SIZE_MAX;
    size_t row[LONGEST_WORD + 1];
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t replaced = diagonal + (lower(a[i - 1]) != lower(b[j - 1]));
            diagonal = row[j];
            size_t shifted = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = replaced < shifted ? replaced : shifted;
        }
    }
    return row[nb];
}

const char *nearest_word(const char *word, const char *const *known, size_t count)
{
    const char *best = NULL;
    size_t least = strlen(word) / 3 + 1;
    for (size_t k = 0; k < count; k++) {
        size_t distance = edit_distance(word, known[k]);
        if (distance < strlen(known[k]) && distance <= least && (!best || distance < least)) {
            best = known[k];
            least = distance;
        }
    }
    return best;
}

firn_status fail_unknown(mark at, const char *what, const char *word, const char *within,
                         const char *const *known, size_t count)
{
    const char *meant = nearest_word(word, known, count);
    char *list = text_copy("");
    for (size_t k = 0; k < count && strlen(list) < 600; k++) {
        char *name = printable(known[k]);
        char *longer = text_format("%s%s%s", list, k ? ", " : "", name);
        free(name);
        free(list);
        list = longer;
    }
    char *shown = printable(word);
    char *near = meant ? printable(meant) : text_copy("");
    fail_at(at, "unknown %s '%s'%s%s%s%s%s (%s: %s)", what, shown, within ? " in " : "",
            within ? within : "", meant ? "; did you mean '" : "", near, meant ? "'?" : "",
            count ? "known" : "there are none", list);
    free(near);
    free(shown);
    free(list);
    return FIRN_BAD_SCENE;
}
