/*
 * Command lines from tables: one row an option, which is parser, check and help text at once.
 *
 * Options stand before, between or after the operands: `--name value`, `--name=value`, `-n value`,
 * `-nvalue`; `--` ends them. A value that starts with `--` needs the `=` form. Mistakes are told
 * with the nearest existing name and exit code 2.
 *
 * Does NOT do: abbreviations of names, bundles of letters (-qv).
 */
#ifndef FIRN_TOOL_ARGUMENTS_H
#define FIRN_TOOL_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct argument_list {
    size_t count;
    const char **items; /* the list is owned, the texts are borrowed from argv */
} argument_list;

typedef enum argument_kind {
    ARGUMENT_FLAG,    /* bool */
    ARGUMENT_TEXT,    /* const char * */
    ARGUMENT_INTEGER, /* int64_t, low..high */
    ARGUMENT_NUMBER,  /* double, low..high */
    ARGUMENT_CHOICE,  /* int: which of the words in `value`, which reads "a|b|c" */
    ARGUMENT_LIST,    /* argument_list: may be given again and again */
} argument_kind;

typedef struct argument {
    argument_kind kind;
    char letter;      /* 0 = none */
    const char *name; /* without its dashes */
    const char *value;
    const char *help;
    size_t offset; /* of the variable in the verb's options */
    double low, high;
} argument;

typedef struct command {
    const char *name;
    const char *operands; /* "SCENE" */
    size_t least, most;   /* how many operands */
    const char *summary;  /* a paragraph for --help */
    const argument *arguments;
    size_t count;
} command;

/* `options` holds the defaults. Returns ARGUMENTS_GO, or the exit code when there is nothing more
 * to do: 0 after --help, 2 after a mistake. Either way end with arguments_clear. */
enum { ARGUMENTS_GO = -1 };
int arguments_parse(const command *c, int argc, char **argv, void *options,
                    argument_list *operands);
void arguments_clear(const command *c, void *options, argument_list *operands);

/* The name most like `word`, or NULL when none is near. */
const char *nearest_name(const char *word, const char *const *names, size_t count);

#endif
