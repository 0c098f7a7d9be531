#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The number of bytes of the UTF-8 character at s, or 0 when there is none. */
static size_t utf8_length(const unsigned char *s)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
    for (size_t n = 0; n < 4; n++) {
        if ((s[0] & forms[n].mask) != forms[n].lead)
            continue;
        uint32_t code = s[0] & (unsigned char)~forms[n].mask;
        for (size_t k = 1; k <= n; k++) {
            if ((s[k] & 0xC0) != 0x80)
                return 0;
            code = code << 6 | (s[k] & 0x3F);
        }
        bool is_surrogate = code >= 0xD800 && code < 0xE000;
        return code >= forms[n].least && code <= 0x10FFFF && !is_surrogate ? n + 1 : 0;
    }
    return 0;
}

static void write_text(FILE *out, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    fputc('"', out);
    while (*s) {
        size_t length = utf8_length(s);
        if (!length)
            fputs("\\ufffd", out);
        else if (*s == '"' || *s == '\\')
            fprintf(out, "\\%c", *s);
        else if (*s < 0x20)
            fprintf(out, "\\u%04x", *s);
        else
            fwrite(s, 1, length, out);
        s += length ? length : 1;
    }
    fputc('"', out);
}

static void write_number(FILE *out, double value)
{
    if (!isfinite(value)) {
        fputs("null", out);
        return;
    }
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    fputs(digits, out);
}

static void begin(json *j, const char *name)
{
    if (j->comma)
        fputc(',', j->out);
    if (name) {
        write_text(j->out, name);
        fputc(':', j->out);
    }
    j->comma = true;
}

void json_open(json *j, const char *name, char bracket)
{
    begin(j, name);
    fputc(bracket, j->out);
    j->comma = false;
}

void json_close(json *j, char bracket)
{
    fputc(bracket, j->out);
    j->comma = true;
}

void json_text(json *j, const char *name, const char *value)
{
    begin(j, name);
    write_text(j->out, value);
}

void json_number(json *j, const char *name, double value)
{
    begin(j, name);
    write_number(j->out, value);
}

void json_integer(json *j, const char *name, uint64_t value)
{
    begin(j, name);
    fprintf(j->out, "%" PRIu64, value);
}

void json_numbers(json *j, const char *name, const double *values, size_t count)
{
    json_open(j, name, '[');
    for (size_t k = 0; k < count; k++)
        json_number(j, NULL, values[k]);
    json_close(j, ']');
}

void json_null(json *j, const char *name)
{
    json_number(j, name, NAN);
}
