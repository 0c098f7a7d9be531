/* `firn analyze`: studies of the method, measured with the solvers and explained in one page. */
#include <stdlib.h>
#include <string.h>

#include "analyze_figure.h"
#include "analyze_report.h"
#include "arguments.h"
#include "console.h"
#include "progress.h"
#include "run_folder.h"
#include "signals.h"
#include "tool.h"

typedef struct analyze_options {
    const char *output;
    bool quick, again, quiet;
} analyze_options;

#define AT(field) .offset = offsetof(analyze_options, field)
static const argument analyze_arguments[] = {
    {ARGUMENT_TEXT, 'o', "output", "DIR", "folder for the report, figures and data [analysis]",
     AT(output)},
    {ARGUMENT_FLAG, 0, "quick", NULL, "smaller cases: seconds instead of minutes", AT(quick)},
    {ARGUMENT_FLAG, 0, "again", NULL, "measure again what the folder holds already", AT(again)},
    {ARGUMENT_FLAG, 'q', "quiet", NULL, "say nothing but errors", AT(quiet)},
};
#undef AT
static const command analyze_command = {
    .name = "analyze",
    .operands = "[stability|limits|scaling|runtime|all]...",
    .most = 8,
    .summary =
        "Study the method by running it: is it stable, which snow can it do, do results depend on\n"
        "the resolution, what does a step cost? Writes report.html, which carries its figures, "
        "and\n"
        "the data of every figure as CSV. The same command continues where it was stopped.",
    .arguments = analyze_arguments,
    .count = sizeof analyze_arguments / sizeof *analyze_arguments,
};

static const study_kind *const kinds[] = {&stability_study, &limits_study, &scaling_study,
                                          &runtime_study};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Which studies the operands name, as bits; -1 after telling what is wrong. */
static int choose(const argument_list *operands)
{
    int chosen = operands->count ? 0 : (1 << KINDS) - 1;
    for (size_t n = 0; n < operands->count; n++) {
        const char *names[KINDS + 1], *word = operands->items[n];
        int found = strcmp(word, "all") ? 0 : (1 << KINDS) - 1;
        for (int k = 0; k < KINDS; k++) {
            names[k] = kinds[k]->name;
            found |= strcmp(word, names[k]) ? 0 : 1 << k;
        }
        names[KINDS] = "all";
        if (!found) {
            const char *near = nearest_name(word, names, KINDS + 1);
            console_error("firn analyze: unknown study '%s'%s%s%s\nSee: firn analyze --help", word,
                          near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
            return -1;
        }
        chosen |= found;
    }
    return chosen;
}

static study study_of(const analyze_options *o, const study_kind *kind, bool dry)
{
    return (study){.folder = o->output,
                   .name = kind->name,
                   .quick = o->quick,
                   .dry = dry,
                   .again = o->again && !dry,
                   .clock_start = clock_seconds()};
}

/* How many measurements are missing. */
static size_t count_missing(const analyze_options *o, const study_kind *kind)
{
    study s = study_of(o, kind, true);
    kind->measure(&s);
    study_close(&s);
    return s.missing;
}

static int measure(const analyze_options *o, const study_kind *kind)
{
    study s = study_of(o, kind, false);
    s.total = o->again ? 0 : count_missing(o, kind);
    kind->measure(&s);
    study_close(&s);
    console_live("");
    if (!s.code && s.done) {
        char took[32];
        duration_text(clock_seconds() - s.clock_start, took);
        console_note("%-10s %zu measurements, %s", kind->name, s.done, took);
    }
    return s.code;
}

/* Of every study that is complete, whichever run measured it. */
static int write_report(const analyze_options *o)
{
    report *r = report_begin(o->output, o->quick);
    int code = r ? 0 : FIRN_NO_OUTPUT;
    for (int k = 0; k < KINDS && !code; k++) {
        if (count_missing(o, kinds[k]))
            continue;
        study s = study_of(o, kinds[k], true);
        report_study(r, &s, kinds[k]->title);
        kinds[k]->report(&s, r);
        study_close(&s);
        code = s.code;
    }
    int failures = code ? 0 : report_failures(r);
    code = report_end(&r, code);
    if (!code && failures)
        console_warning("%d of the conclusions did not hold here: see %s/report.html", failures,
                        o->output);
    else if (!code)
        console_note("%s/report.html", o->output);
    return code;
}

static int analyze(const analyze_options *o, int chosen)
{
    int code = figure_check();
    if (!code)
        code = folder_make(o->output);
    signals_catch();
    for (int k = 0; k < KINDS && !code; k++)
        if (chosen & 1 << k)
            code = measure(o, kinds[k]);
    if (code == FIRN_STOPPED)
        console_note("stopped; the same command goes on from here");
    return code ? code : write_report(o);
}

int verb_analyze(int argc, char **argv)
{
    analyze_options options = {.output = "analysis"};
    argument_list operands = {0};
    int code = arguments_parse(&analyze_command, argc, argv, &options, &operands);
    if (code == ARGUMENTS_GO) {
        if (options.quiet)
            console_setup(CONSOLE_QUIET);
        int chosen = choose(&operands);
        code = chosen < 0 ? 2 : analyze(&options, chosen);
    }
    arguments_clear(&analyze_command, &options, &operands);
    return code;
}
