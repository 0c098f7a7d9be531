#include "arguments.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"

enum { LONGEST_NAME = 63, HELP_COLUMN = 30 };

/* ---- Suggestions ----------------------------------------------------------------------------- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, changes and swaps of neighbours that turn a into b. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[3][LONGEST_NAME + 1];
    size_t m = strlen(a), n = strlen(b);
    if (m > LONGEST_NAME || n > LONGEST_NAME)
        return LONGEST_NAME;
    size_t *before = row[0], *last = row[1], *now = row[2];
    for (size_t j = 0; j <= n; j++)
        last[j] = j;
    for (size_t i = 1; i <= m; i++) {
        now[0] = i;
        for (size_t j = 1; j <= n; j++) {
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
        size_t *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[n];
}

const char *nearest_name(const char *word, const char *const *names, size_t count)
{
    const char *best = NULL;
    size_t best_distance = 1 + strlen(word) / 3;
    for (size_t k = 0; k < count; k++) {
        bool is_start = strlen(word) >= 3 && !strncmp(word, names[k], strlen(word));
        size_t distance = is_start ? 1 : edit_distance(word, names[k]);
        if (distance < best_distance || (!best && distance == best_distance)) {
            best = names[k];
            best_distance = distance;
        }
    }
    return best;
}

/* ---- Mistakes and help ----------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static int mistake(const command *c, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    console_error("firn %s: %s\nSee: firn %s --help", c->name, text, c->name);
    return 2;
}

static int unknown_option(const command *c, const char *given)
{
    const char *names[64] = {"help"};
    size_t count = 1;
    for (size_t k = 0; k < c->count && count < 64; k++)
        names[count++] = c->arguments[k].name;
    char word[LONGEST_NAME + 1];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(given, "="), given);
    const char *near = given[1] == '-' ? nearest_name(word + 2, names, count) : NULL;
    if (near)
        return mistake(c, "unknown option '%s'; did you mean '--%s'?", word, near);
    return mistake(c, "unknown option '%s'", word);
}

static void print_help(const command *c)
{
    printf("Usage: firn %s%s%s%s\n\n%s\n", c->name, *c->operands ? " " : "", c->operands,
           c->count ? " [options]" : "", c->summary);
    if (c->count)
        printf("\nOptions:\n");
    for (size_t k = 0; k < c->count; k++) {
        const argument *a = &c->arguments[k];
        char left[128];
        char letter[8] = "    ";
        if (a->letter)
            snprintf(letter, sizeof letter, "-%c, ", a->letter);
        snprintf(left, sizeof left, "  %s--%s%s%s", letter, a->name, a->value ? " " : "",
                 a->value ? a->value : "");
        if (strlen(left) + 2 > HELP_COLUMN)
            printf("%s\n%*s%s\n", left, HELP_COLUMN, "", a->help);
        else
            printf("%-*s%s\n", HELP_COLUMN, left, a->help);
    }
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void append(argument_list *list, const char *text)
{
    const char **items = realloc(list->items, (list->count + 1) * sizeof *items);
    if (!items)
        abort();
    list->items = items;
    list->items[list->count++] = text;
}

static int range_mistake(const command *c, const argument *a, const char *text)
{
    if (isinf(a->high))
        return mistake(c, "--%s must be at least %g, not %s", a->name, a->low, text);
    return mistake(c, "--%s must be from %g to %g, not %s", a->name, a->low, a->high, text);
}

static int set_integer(const command *c, const argument *a, const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end)
        return mistake(c, "--%s takes a whole number, not '%s'", a->name, text);
    if (errno || (double)value < a->low || (double)value > a->high)
        return range_mistake(c, a, text);
    *out = value;
    return ARGUMENTS_GO;
}

static int set_number(const command *c, const argument *a, const char *text, double *out)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value))
        return mistake(c, "--%s takes a number, not '%s'", a->name, text);
    if (value < a->low || value > a->high)
        return range_mistake(c, a, text);
    *out = value;
    return ARGUMENTS_GO;
}

static int set_choice(const command *c, const argument *a, const char *text, int *out)
{
    size_t length = strlen(text);
    int index = 0;
    for (const char *word = a->value;; word += strcspn(word, "|") + 1, index++) {
        size_t size = strcspn(word, "|");
        if (size == length && !strncmp(word, text, size)) {
            *out = index;
            return ARGUMENTS_GO;
        }
        if (!word[size])
            return mistake(c, "--%s is one of %s, not '%s'", a->name, a->value, text);
    }
}

static int set_value(const command *c, const argument *a, const char *text, void *options)
{
    void *target = (char *)options + a->offset;
    switch (a->kind) {
    case ARGUMENT_FLAG:
        *(bool *)target = true;
        break;
    case ARGUMENT_TEXT:
        if (!*text)
            return mistake(c, "--%s takes %s, not an empty text", a->name, a->value);
        *(const char **)target = text;
        break;
    case ARGUMENT_INTEGER:
        return set_integer(c, a, text, target);
    case ARGUMENT_NUMBER:
        return set_number(c, a, text, target);
    case ARGUMENT_CHOICE:
        return set_choice(c, a, text, target);
    case ARGUMENT_LIST:
        append(target, text);
        break;
    }
    return ARGUMENTS_GO;
}

/* ---- Parsing --------------------------------------------------------------------------------- */

/* The row that "--name", "--name=value", "-n" or "-nvalue" speaks of, and the value it brings. */
static const argument *find(const command *c, const char *text, const char **value)
{
    for (size_t k = 0; k < c->count; k++) {
        const argument *a = &c->arguments[k];
        size_t length = strlen(a->name);
        *value = NULL;
        if (text[1] == '-' && !strncmp(text + 2, a->name, length)) {
            if (text[2 + length] == '=')
                *value = text + 3 + length;
            if (*value || !text[2 + length])
                return a;
        }
        if (text[1] != '-' && text[1] == a->letter) {
            if (text[2] && a->kind == ARGUMENT_FLAG)
                return NULL;
            *value = text[2] ? text + 2 : NULL;
            return a;
        }
    }
    return NULL;
}

/* Takes the option at argv[*at], and its value, moving *at to the last word taken. */
static int take_option(const command *c, int argc, char **argv, int *at, void *options)
{
    const char *text = argv[*at], *value;
    const argument *a = find(c, text, &value);
    if (!a)
        return unknown_option(c, text);
    if (a->kind == ARGUMENT_FLAG && value)
        return mistake(c, "--%s takes no value", a->name);
    if (a->kind != ARGUMENT_FLAG && !value) {
        if (*at + 1 >= argc || !strncmp(argv[*at + 1], "--", 2))
            return mistake(c, "--%s needs a value: %s", a->name, a->value);
        value = argv[++*at];
    }
    return set_value(c, a, value, options);
}

int arguments_parse(const command *c, int argc, char **argv, void *options, argument_list *operands)
{
    bool only_operands = false;
    for (int at = 1; at < argc; at++) {
        const char *text = argv[at];
        if (only_operands || text[0] != '-' || !text[1]) {
            append(operands, text);
        } else if (!strcmp(text, "--")) {
            only_operands = true;
        } else if (!strcmp(text, "--help") || !strcmp(text, "-h")) {
            print_help(c);
            return 0;
        } else {
            int code = take_option(c, argc, argv, &at, options);
            if (code != ARGUMENTS_GO)
                return code;
        }
    }
    if (operands->count < c->least)
        return mistake(c, "missing argument: %s", c->operands);
    if (operands->count > c->most)
        return mistake(c, "unexpected argument '%s'", operands->items[c->most]);
    return ARGUMENTS_GO;
}

void arguments_clear(const command *c, void *options, argument_list *operands)
{
    for (size_t k = 0; k < c->count; k++)
        if (c->arguments[k].kind == ARGUMENT_LIST)
            free(((argument_list *)((char *)options + c->arguments[k].offset))->items);
    free(operands->items);
    *operands = (argument_list){0};
}
