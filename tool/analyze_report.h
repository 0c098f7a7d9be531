/*
 * The report of `firn analyze`: one HTML file that carries its figures, and conclusions.csv.
 *
 * Figures are gnuplot scripts. A script stays beside its SVG, so that anybody can change and redraw
 * it. Text given to the report is HTML.
 *
 * Does NOT do: measure. Errors are told and kept in study.code.
 */
#ifndef FIRN_TOOL_ANALYZE_REPORT_H
#define FIRN_TOOL_ANALYZE_REPORT_H

#include "analyze.h"

typedef struct report report;

/* Begin DIR/report.html and DIR/conclusions.csv under temporary names; NULL after telling why
 * not. */
report *report_begin(const char *folder, bool quick);

/* Put both in place when nothing failed (`code` 0), else remove them. Returns the exit code. */
int report_end(report **r, int code);

void report_study(report *r, study *s, const char *title);

/* A paragraph under a word in the margin: "Asked", "Done", "Answer", "The thesis". */
void report_say(report *r, const char *role, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Draw NAME.svg by the lines of a gnuplot script (see analyze_figure.h), and show it; `csv`
 * names the data for the reader: "a.csv b.csv". */
void report_figure(report *r, const char *name, int height, const char *csv, const char *caption,
                   const char *format, ...) __attribute__((format(printf, 6, 7)));

/* A number that should lie within [low, high]; its unit ("" or " m"), and what it means. */
void report_conclusion(report *r, const char *name, double value, double low, double high,
                       const char *unit, const char *meaning);

/* How many conclusions did not hold. */
int report_failures(const report *r);

/* ---- Studies --------------------------------------------------------------------------------- */

typedef struct study_kind {
    const char *name, *title;
    void (*measure)(study *s);
    void (*report)(study *s, report *r); /* of a study that is complete */
} study_kind;

extern const study_kind stability_study, limits_study, scaling_study, runtime_study;

#endif
