/*
 * What the studies of `firn analyze` share: tables of measurements that survive an interruption,
 * simulations from a few lines of scene, and numbers made of tables.
 *
 * A study measures into tables and reports from them, so a report can be made again from the CSV
 * files alone. Every row is written as soon as it is measured. A study walks its cases in a fixed
 * order and asks table_want before each: rows that are in the file already are not measured again.
 *
 * Errors are told where they happen and kept in study.code, after which nothing more is wanted.
 * Does NOT do: draw or explain (analyze_report.h), know any study.
 */
#ifndef FIRN_TOOL_ANALYZE_H
#define FIRN_TOOL_ANALYZE_H

#include <stdbool.h>
#include <stddef.h>

#include "firn/firn.h"
#include "firn/scene.h"

typedef struct table table;

typedef struct study {
    const char *folder;
    const char *name;
    bool quick; /* smaller cases, for a look and for tests */
    bool dry;   /* only count what is missing */
    bool again; /* forget earlier measurements */
    size_t missing;
    size_t done, total; /* rows of this run */
    double clock_start;
    int code;      /* exit code; 0 = go on */
    table *tables; /* that it has opened; owned */
} study;

/* ---- Tables: a text and numbers a row -------------------------------------------------------- */

enum { TABLE_COLUMNS_MAX = 64 };
struct table {
    study *study; /* borrowed */
    table *next;  /* of the same study */
    char *path;
    size_t columns, rows, at;
    char **labels;
    double *values;
};

/* The table NAME.csv of a study, with what an earlier run measured for the same signature: the
 * size of the study, the version, and `extra` (may be ""). `head` names the columns:
 * "backend,particles,s". It stays open until study_close. */
table *table_open(study *s, const char *name, const char *head, const char *extra);
void study_close(study *s);

/* Whether the next row must be measured; then table_add must follow. */
bool table_want(table *t);
void table_add(table *t, const double *values, const char *label, ...)
    __attribute__((format(printf, 3, 4)));
#define ROW(...) ((const double[]){__VA_ARGS__})

double table_value(const table *t, size_t row, size_t column); /* column 1 is the first number */

/* Rows whose label is `label` (NULL: all): two columns as arrays, owned by the caller. */
typedef struct series {
    size_t count;
    double *x, *y;
} series;
series table_series(const table *t, const char *label, size_t x, size_t y);
void series_free(series *s);

/* ---- Numbers --------------------------------------------------------------------------------- */

/* The slope of log y against log x: the exponent of a power law. */
double series_slope(const series *s);
double series_max(const series *s);
double series_min(const series *s);

/* Least squares for y = sum_k c[k] x[k], by the normal equations; each row weighs by 1 / y, so that
 * relative errors count. Returns the root mean square of the relative errors. */
double fit_linear(size_t rows, int terms, const double *x, const double *y, double *c);

/* ---- Simulations ----------------------------------------------------------------------------- */

/* Scene text by printf; NULL after telling why not. Owned. */
firn_scene *study_scene(study *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
firn_sim *study_sim(study *s, const firn_scene *scene, const char *backend, int threads);

/* Tell the library's last error and end the study. Returns false. */
bool study_fail(study *s, firn_status status);

/* Step until a time, or until asked to stop. False when the study is to end. Where `gave_up` is
 * not NULL, a blow-up or more than `most` steps are no error: it tells. */
bool study_advance(study *s, firn_sim *sim, double time, uint64_t most, bool *gave_up);
bool study_steps(study *s, firn_sim *sim, size_t count);
bool study_stats(study *s, firn_sim *sim, firn_stats *stats);

/* An attribute of all particles, owned by the caller. */
double *study_read(study *s, const firn_sim *sim, firn_attribute attribute);

/* The backends of this build, as `firn --version` tells them: "cpu ref". */
bool has_backend(const char *name);

#endif
