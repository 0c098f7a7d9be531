#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "console.h"
#include "firn/firn.h"
#include "tool.h"

typedef struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *operands;
    const char *summary;
} verb;

static const verb verbs[] = {
    {"run", verb_run, "SCENE", "simulate a scene; the same command continues a stopped run"},
    {"check", verb_check, "SCENE", "validate a scene; particles, memory, time step, expected cost"},
    {"info", verb_info, "FILE...", "what frames and checkpoints hold"},
    {"measure", verb_measure, "DIR|FRAME|SCENE", "pieces, spread, packing and contact of the snow"},
    {"wedge", verb_wedge, "SCENE", "a study: many runs of a scene with other values"},
    {"convert", verb_convert, "DIR|FRAME...", "frames as volumes and particles of other programs"},
    {"render", verb_render, "DIR|FRAME|SCENE", "light through the snow: pictures, films, sheets"},
    {"analyze", verb_analyze, "[STUDY]", "what holds of the method, measured, as a report"},
    {"bench", verb_bench, "", "measure the solvers on this machine"},
    {"schema", verb_schema, "", "the JSON schema of scene files, for editors"},
    {"reference", verb_reference, "", "every option of scene files, as a page"},
};
enum { VERBS = sizeof verbs / sizeof *verbs };

static const verb *find_verb(const char *name)
{
    for (size_t k = 0; k < VERBS; k++)
        if (!strcmp(name, verbs[k].name))
            return &verbs[k];
    return NULL;
}

static void print_help(FILE *out)
{
    fprintf(out, "Usage: firn VERB [arguments]\n\nFirn simulates snow by the Material Point "
                 "Method.\n\nVerbs:\n");
    for (size_t k = 0; k < VERBS; k++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", verbs[k].name, verbs[k].operands);
        fprintf(out, "  %-24s%s\n", left, verbs[k].summary);
    }
    fprintf(out, "\n  firn VERB --help        the options of a verb\n"
                 "  firn --version          the version and what it was built with\n");
}

static int unknown_verb(const char *name)
{
    const char *names[VERBS];
    for (size_t k = 0; k < VERBS; k++)
        names[k] = verbs[k].name;
    const char *near = name[0] == '-' ? NULL : nearest_name(name, names, VERBS);
    const char *what = name[0] == '-' ? "option" : "verb";
    if (near)
        console_error("firn: unknown verb '%s'; did you mean '%s'?\nSee: firn --help", name, near);
    else
        console_error("firn: unknown %s '%s'\nSee: firn --help", what, name);
    return 2;
}

static int dispatch(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (!*word) {
        print_help(stderr);
        return 2;
    }
    if (!strcmp(word, "--version")) {
        printf("firn %s\n%s\n", firn_version(), firn_features());
        return 0;
    }
    if (!strcmp(word, "--help") || !strcmp(word, "-h") || (!strcmp(word, "help") && argc == 2)) {
        print_help(stdout);
        return 0;
    }
    if (!strcmp(word, "help")) {
        const verb *asked = find_verb(argv[2]);
        char *arguments[] = {argv[2], "--help", NULL};
        return asked ? asked->run(2, arguments) : unknown_verb(argv[2]);
    }
    const verb *v = find_verb(word);
    return v ? v->run(argc - 1, argv + 1) : unknown_verb(word);
}

int main(int argc, char **argv)
{
    /* A reader that goes away, and a file-size limit, are errors of a write, not deaths. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    console_setup(CONSOLE_NORMAL);
    int code = dispatch(argc, argv);
    if ((fflush(stdout) || ferror(stdout)) && code == 0) {
        console_error("standard output: could not be written");
        code = FIRN_NO_OUTPUT;
    }
    return code;
}
