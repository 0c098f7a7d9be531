#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze.h"
#include "console.h"
#include "progress.h"
#include "run_folder.h"
#include "signals.h"

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

/* ---- Reading and writing --------------------------------------------------------------------- */

static size_t count_columns(const char *head)
{
    size_t columns = 0; /* of numbers: the label comes first */
    for (; *head; head++)
        columns += *head == ',';
    return columns;
}

static void append(table *t, const char *label, const double *values)
{
    t->labels = must(realloc(t->labels, (t->rows + 1) * sizeof *t->labels));
    t->values = must(realloc(t->values, (t->rows + 1) * t->columns * sizeof *t->values));
    t->labels[t->rows] = must(strdup(label));
    memcpy(t->values + t->rows * t->columns, values, t->columns * sizeof *values);
    t->rows++;
}

/* A line that was cut off by a kill does not count. */
static bool parse_row(table *t, char *line)
{
    double values[TABLE_COLUMNS_MAX];
    char *at = strchr(line, ','), *end = strchr(line, '\n');
    if (!at || !end || t->columns > TABLE_COLUMNS_MAX)
        return false;
    *at++ = 0;
    for (size_t k = 0; k < t->columns; k++) {
        char *stop;
        values[k] = strtod(at, &stop);
        if (stop == at || *stop != (k + 1 < t->columns ? ',' : '\n'))
            return false;
        at = stop + 1;
    }
    append(t, line, values);
    return true;
}

/* Rows of a file that begins with these two lines; the length of what was good. */
static long read_rows(table *t, const char *signature, const char *head)
{
    FILE *file = fopen(t->path, "r");
    char line[2048];
    long good = 0;
    if (file && fgets(line, sizeof line, file) && !strcmp(line, signature) &&
        fgets(line, sizeof line, file) && !strcmp(line, head)) {
        do
            good = ftell(file);
        while (fgets(line, sizeof line, file) && parse_row(t, line));
    }
    if (file)
        fclose(file);
    return good;
}

static void write_failed(table *t)
{
    console_error("%s: %s", t->path, strerror(errno));
    t->study->code = FIRN_NO_OUTPUT;
}

table *table_open(study *s, const char *name, const char *head, const char *extra)
{
    table *t = must(calloc(1, sizeof *t));
    *t = (table){.study = s,
                 .next = s->tables,
                 .path = new_text("%s/%s.csv", s->folder, name),
                 .columns = count_columns(head)};
    s->tables = t;
    char *signature = new_text("# firn %s, %s, %s%s%s\n", firn_version(), name,
                               s->quick ? "quick" : "default size", *extra ? ", " : "", extra);
    char *head_line = new_text("%s\n", head);
    long good = s->again ? 0 : read_rows(t, signature, head_line);
    if (!s->dry) {
        FILE *file = good ? NULL : fopen(t->path, "w");
        bool written = good ? truncate(t->path, good) == 0
                            : file && fprintf(file, "%s%s", signature, head_line) > 0;
        if (file && fclose(file) != 0)
            written = false;
        if (!written)
            write_failed(t);
    }
    free(signature);
    free(head_line);
    return t;
}

void study_close(study *s)
{
    while (s->tables) {
        table *t = s->tables;
        s->tables = t->next;
        for (size_t k = 0; k < t->rows; k++)
            free(t->labels[k]);
        free(t->labels);
        free(t->values);
        free(t->path);
        free(t);
    }
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static void show_progress(const study *s)
{
    char line[160], elapsed[32];
    duration_text(clock_seconds() - s->clock_start, elapsed);
    snprintf(line, sizeof line, "%-10s measurement %zu of %zu, %s", s->name, s->done + 1, s->total,
             elapsed);
    if (console_is_live())
        console_live(line);
}

bool table_want(table *t)
{
    study *s = t->study;
    size_t at = t->at++;
    if (at < t->rows || s->code)
        return false;
    if (s->dry) {
        s->missing++;
        return false;
    }
    if (signals_asked_to_stop()) {
        s->code = FIRN_STOPPED;
        return false;
    }
    show_progress(s);
    return true;
}

void table_add(table *t, const double *values, const char *format, ...)
{
    if (t->study->code)
        return;
    char label[128];
    va_list args;
    va_start(args, format);
    vsnprintf(label, sizeof label, format, args);
    va_end(args);
    append(t, label, values);
    t->study->done++;

    FILE *file = fopen(t->path, "a");
    bool good = file && fputs(label, file) >= 0;
    for (size_t k = 0; good && k < t->columns; k++)
        good = fprintf(file, ",%.10g", values[k]) > 0;
    good = good && fputc('\n', file) != EOF;
    if ((file && fclose(file) != 0) || !good)
        write_failed(t);
}

/* ---- Numbers made of tables ------------------------------------------------------------------ */

double table_value(const table *t, size_t row, size_t column)
{
    return row < t->rows ? t->values[row * t->columns + column - 1] : NAN;
}

series table_series(const table *t, const char *label, size_t x, size_t y)
{
    series s = {.x = must(calloc(t->rows + 1, sizeof *s.x)),
                .y = must(calloc(t->rows + 1, sizeof *s.y))};
    for (size_t k = 0; k < t->rows; k++) {
        if (label && strcmp(label, t->labels[k]))
            continue;
        s.x[s.count] = table_value(t, k, x);
        s.y[s.count++] = table_value(t, k, y);
    }
    return s;
}

void series_free(series *s)
{
    free(s->x);
    free(s->y);
    *s = (series){0};
}

double series_slope(const series *s)
{
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (size_t k = 0; k < s->count; k++) {
        double x = log(s->x[k]), y = log(s->y[k]);
        n++, sx += x, sy += y, sxx += x * x, sxy += x * y;
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

double series_max(const series *s)
{
    double largest = -INFINITY;
    for (size_t k = 0; k < s->count; k++)
        largest = fmax(largest, s->y[k]);
    return largest;
}

double series_min(const series *s)
{
    double smallest = INFINITY;
    for (size_t k = 0; k < s->count; k++)
        smallest = fmin(smallest, s->y[k]);
    return smallest;
}

/* Gauss with pivots; a has `n` rows of n + 1. */
static void solve_dense(int n, double a[][8], double *x)
{
    for (int i = 0; i < n; i++) {
        int best = i;
        for (int r = i + 1; r < n; r++)
            best = fabs(a[r][i]) > fabs(a[best][i]) ? r : best;
        for (int k = 0; k <= n; k++) {
            double swap = a[i][k];
            a[i][k] = a[best][k], a[best][k] = swap;
        }
        for (int r = i + 1; r < n; r++)
            for (int k = n; k >= i; k--)
                a[r][k] -= a[i][k] * a[r][i] / a[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        x[i] = a[i][n];
        for (int k = i + 1; k < n; k++)
            x[i] -= a[i][k] * x[k];
        x[i] /= a[i][i];
    }
}

double fit_linear(size_t rows, int terms, const double *x, const double *y, double *c)
{
    double a[7][8] = {{0}}, squares = 0;
    for (size_t r = 0; r < rows; r++)
        for (int i = 0; i < terms; i++) {
            for (int j = 0; j < terms; j++)
                a[i][j] += x[r * (size_t)terms + (size_t)i] * x[r * (size_t)terms + (size_t)j] /
                           (y[r] * y[r]);
            a[i][terms] += x[r * (size_t)terms + (size_t)i] / y[r];
        }
    solve_dense(terms, a, c);
    for (size_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < terms; i++)
            sum += c[i] * x[r * (size_t)terms + (size_t)i];
        squares += (sum / y[r] - 1) * (sum / y[r] - 1);
    }
    return sqrt(squares / (double)rows);
}
