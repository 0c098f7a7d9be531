#include "io/scan.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include "status.h"

enum { LONGEST_NUMBER = 1024, SHOWN = 24 };

/* ---- Moving on ------------------------------------------------------------------------------- */

bool scan_next_line(scan *s)
{
    const char *newline = memchr(s->at, '\n', (size_t)(s->end - s->at));
    s->at = newline ? newline + 1 : s->end;
    s->line += newline != NULL;
    return newline && s->at < s->end;
}

bool scan_skip(scan *s, char comment)
{
    for (;;) {
        bool ends = scan_line_ends(s);
        if (s->at == s->end)
            return false;
        if (!ends && !(comment && *s->at == comment))
            return true;
        if (!scan_next_line(s))
            return false;
    }
}

static size_t word_length(const scan *s)
{
    const char *c = s->at;
    while (c < s->end && !scan_is_blank(*c) && *c != '\n')
        c++;
    return (size_t)(c - s->at);
}

bool scan_word(scan *s, char *word, size_t size)
{
    if (scan_line_ends(s))
        return false;
    size_t length = word_length(s), kept = length < size ? length : size - 1;
    memcpy(word, s->at, kept);
    word[kept] = '\0';
    s->at += length;
    return true;
}

bool scan_match(scan *s, const char *word)
{
    scan_blanks(s);
    size_t length = strlen(word);
    if (word_length(s) != length || memcmp(s->at, word, length) != 0)
        return false;
    s->at += length;
    return true;
}

/* ---- Messages -------------------------------------------------------------------------------- */

firn_status scan_fail(const scan *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *message = NULL;
    if (vasprintf(&message, format, args) < 0)
        abort();
    va_end(args);
    fail(FIRN_BAD_SCENE, "%s:%zu: %s", s->name, s->line, message);
    free(message);
    return FIRN_BAD_SCENE;
}

const char *scan_found(scan *s)
{
    static _Thread_local char text[SHOWN + 40];
    if (scan_line_ends(s))
        return s->at == s->end ? "but the file ends" : "but the line ends";
    size_t length = word_length(s), shown = length < SHOWN ? length : SHOWN;
    int at = snprintf(text, sizeof text, "but '");
    for (size_t i = 0; i < shown; i++)
        text[at++] = s->at[i] >= 0x20 && s->at[i] < 0x7F ? s->at[i] : '?';
    snprintf(text + at, sizeof text - (size_t)at, "%s' stands there", length > shown ? "..." : "");
    return text;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* A decimal number taken apart: mantissa * 10^exponent. */
typedef struct decimal {
    uint64_t mantissa; /* the first 19 digits */
    int64_t exponent;
    bool negative, cut; /* digits beyond the 19th were dropped */
    const char *end;    /* NULL: not a number */
} decimal;

static bool is_digit(const char *c, const char *end)
{
    return c < end && (unsigned char)(*c - '0') < 10;
}

static const char *take_digits(const char *c, const char *end, decimal *d, bool fraction)
{
    for (; is_digit(c, end); c++) {
        if (d->mantissa < 1000000000000000000u) {
            d->mantissa = 10 * d->mantissa + (uint64_t)(*c - '0');
            d->exponent -= fraction;
        } else {
            d->cut = d->cut || *c != '0';
            d->exponent += !fraction;
        }
    }
    return c;
}

static decimal take_apart(const char *c, const char *end)
{
    decimal d = {0};
    if (c < end && (*c == '-' || *c == '+'))
        d.negative = *c++ == '-';
    const char *digits = c;
    c = take_digits(c, end, &d, false);
    size_t count = (size_t)(c - digits);
    if (c < end && *c == '.') {
        const char *fraction = c + 1;
        c = take_digits(fraction, end, &d, true);
        count += (size_t)(c - fraction);
    }
    if (count == 0)
        return d;
    if (c < end && (*c == 'e' || *c == 'E')) {
        const char *e = c + 1;
        bool down = e < end && *e == '-';
        e += e < end && (*e == '-' || *e == '+');
        int64_t power = 0;
        const char *first = e;
        for (; is_digit(e, end); e++)
            power = power < 100000 ? 10 * power + (*e - '0') : power;
        if (e > first) {
            d.exponent += down ? -power : power;
            c = e;
        }
    }
    d.end = c;
    return d;
}

static locale_t plain; /* kept for the life of the process */

static void make_plain(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static double by_strtod(const char *from, const char *end)
{
    static once_flag once = ONCE_FLAG_INIT;
    call_once(&once, make_plain);
    size_t length = (size_t)(end - from);
    char text[LONGEST_NUMBER];
    if (length >= sizeof text) /* the digits beyond cannot matter */
        length = sizeof text - 1;
    memcpy(text, from, length);
    text[length] = '\0';
    return plain ? strtod_l(text, NULL, plain) : strtod(text, NULL);
}

/* m and 10^|e| are exact, so one operation rounds once. With a 64-bit mantissa the second rounding,
 * to double, is the same unless the first result lies beside the middle of two doubles. */
static bool by_one_operation(uint64_t m, int64_t e, double *value)
{
    static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (e < -22 || e > 22)
        return false;
    double power = ten[e < 0 ? -e : e];
    if (m <= (uint64_t)1 << 53) {
        *value = e < 0 ? (double)m / power : (double)m * power;
        return true;
    }
#if LDBL_MANT_DIG == 64
    long double wide = e < 0 ? (long double)m / power : (long double)m * power;
    uint64_t bits;
    memcpy(&bits, &wide, sizeof bits);
    int64_t beside = (int64_t)(bits & 0x7FF) - 0x400;
    *value = (double)wide;
    return beside < -1 || beside > 1;
#else
    return false;
#endif
}

/* Whether a finite number stands at c; `*end` is then where it ends. */
static bool number_at(const char *c, const char *limit, double *value, const char **end)
{
    decimal d = take_apart(c, limit);
    if (!d.end)
        return false;
    *end = d.end;
    if (!d.cut && by_one_operation(d.mantissa, d.exponent, value)) {
        *value = d.negative ? -*value : *value;
        return true;
    }
    *value = by_strtod(c, d.end);
    return isfinite(*value);
}

firn_status scan_real(scan *s, double *value)
{
    const char *end;
    scan_blanks(s);
    if (!number_at(s->at, s->end, value, &end))
        return scan_fail(s, "a finite number is needed, %s", scan_found(s));
    s->at = end;
    return FIRN_OK;
}

firn_status scan_whole(scan *s, int64_t *value)
{
    scan_blanks(s);
    const char *c = s->at;
    bool negative = c < s->end && *c == '-';
    c += c < s->end && (*c == '-' || *c == '+');
    const char *first = c;
    int64_t number = 0;
    for (; is_digit(c, s->end) && number < INT64_MAX / 16; c++)
        number = 10 * number + (*c - '0');
    if (c == first || is_digit(c, s->end))
        return scan_fail(s, "a whole number is needed, %s", scan_found(s));
    *value = negative ? -number : number;
    s->at = c;
    return FIRN_OK;
}

size_t scan_reals(scan *s, double *values, size_t count)
{
    const char *end;
    for (size_t n = 0; n < count; n++) {
        scan_blanks(s);
        if (!number_at(s->at, s->end, &values[n], &end))
            return n;
        s->at = end;
    }
    return count;
}
