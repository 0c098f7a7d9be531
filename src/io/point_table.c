#include "io/point_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "io/mesh_build.h"
#include "io/ply_read.h"
#include "shape/array.h"
#include "status.h"

void point_table_clear(point_table *t)
{
    for (int c = 0; c < t->column_count; c++)
        free(t->columns[c].values);
    *t = (point_table){0};
}

const point_column *point_table_find(const point_table *t, const char *name)
{
    for (int c = 0; c < t->column_count; c++)
        if (strcmp(t->columns[c].name, name) == 0)
            return &t->columns[c];
    return NULL;
}

point_column *point_table_add(point_table *t, const char *path, const char *name, int width)
{
    if (t->column_count == POINT_MOST_COLUMNS) {
        fail(FIRN_BAD_SCENE, "%s: more than %d columns", path, POINT_MOST_COLUMNS);
        return NULL;
    }
    point_column *c = &t->columns[t->column_count];
    *c = (point_column){.width = width};
    snprintf(c->name, sizeof c->name, "%s", name);
    c->values = calloc(t->count * (size_t)width + 1, sizeof *c->values);
    if (!c->values) {
        fail(FIRN_NO_MEMORY, "%s: not enough memory for %zu points", path, t->count);
        return NULL;
    }
    t->column_count++;
    return c;
}

/* ---- Scalars to vectors ---------------------------------------------------------------------- */

typedef struct vector_name {
    const char *name;
    int width;
    const char *parts[POINT_MOST_WIDTH];
} vector_name;

static const vector_name vectors[] = {
    {"position", 3, {"x", "y", "z"}},
    {"position", 3, {"position_x", "position_y", "position_z"}},
    {"velocity", 3, {"vx", "vy", "vz"}},
    {"velocity", 3, {"velocity_x", "velocity_y", "velocity_z"}},
    {"F_E",
     9,
     {"F_E_xx", "F_E_xy", "F_E_xz", "F_E_yx", "F_E_yy", "F_E_yz", "F_E_zx", "F_E_zy", "F_E_zz"}},
    {"B", 9, {"B_xx", "B_xy", "B_xz", "B_yx", "B_yy", "B_yz", "B_zx", "B_zy", "B_zz"}},
};

/* A vector from its parts where they are there; a last one may be missing, as in the plane. */
static firn_status gather(point_table *t, const char *path, const vector_name *v)
{
    const point_column *parts[POINT_MOST_WIDTH];
    int have = 0;
    while (have < v->width && (parts[have] = point_table_find(t, v->parts[have])))
        have++;
    bool flat = v->width == 3 && have == 2;
    if ((have < v->width && !flat) || point_table_find(t, v->name))
        return FIRN_OK;
    point_column *whole = point_table_add(t, path, v->name, v->width);
    for (int k = 0; whole && k < have; k++)
        for (size_t n = 0; n < t->count; n++)
            whole->values[n * (size_t)v->width + (size_t)k] = parts[k]->values[n];
    return whole ? FIRN_OK : FIRN_BAD_SCENE;
}

/* Positions of the plane get a third number. */
static firn_status widen_position(point_table *t, const char *path)
{
    point_column *p = (point_column *)point_table_find(t, "position");
    if (!p || (p->width != 2 && p->width != 3))
        return fail(FIRN_BAD_SCENE, "%s: there are no positions: columns x, y and z", path);
    if (p->width == 3)
        return FIRN_OK;
    double *wide = calloc(t->count * 3 + 1, sizeof *wide);
    if (!wide)
        return fail(FIRN_NO_MEMORY, "%s: not enough memory", path);
    for (size_t n = 0; n < t->count; n++)
        memcpy(wide + 3 * n, p->values + 2 * n, 2 * sizeof *wide);
    free(p->values);
    p->values = wide;
    p->width = 3;
    return FIRN_OK;
}

static firn_status finish(point_table *t, const char *path)
{
    firn_status status = t->count ? FIRN_OK : fail(FIRN_BAD_SCENE, "%s: there are no points", path);
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors && status == FIRN_OK; k++)
        status = gather(t, path, &vectors[k]);
    if (status == FIRN_OK)
        status = widen_position(t, path);
    for (int c = 0; c < t->column_count && status == FIRN_OK; c++) {
        const point_column *column = &t->columns[c];
        for (size_t n = 0; n < t->count * (size_t)column->width; n++)
            if (!isfinite(column->values[n])) {
                status = fail(FIRN_BAD_SCENE, "%s: %s of point %zu (from 0) is %g", path,
                              column->name, n / (size_t)column->width, column->values[n]);
                break;
            }
    }
    return status;
}

/* ---- PLY ------------------------------------------------------------------------------------- */

/* One column for each property that is a number. */
static firn_status read_vertices(ply_file *f, const ply_element *e, const char *name,
                                 point_table *t)
{
    double values[PLY_MOST_PROPERTIES];
    int column[PLY_MOST_PROPERTIES];
    if (e->count > (uint64_t)(f->at.end - f->at.at))
        return fail(FIRN_BAD_SCENE, "%s: %llu points do not fit into the file", name,
                    (unsigned long long)e->count);
    t->count = (size_t)e->count;
    for (int p = 0; p < e->property_count; p++) {
        column[p] = e->properties[p].is_list ? -1 : t->column_count;
        if (column[p] >= 0 && !point_table_add(t, name, e->properties[p].name, 1))
            return FIRN_BAD_SCENE;
    }
    firn_status status = FIRN_OK;
    for (size_t n = 0; n < t->count && status == FIRN_OK; n++) {
        status = ply_row(f, e, -1, values);
        for (int p = 0; p < e->property_count && status == FIRN_OK; p++)
            if (column[p] >= 0)
                t->columns[column[p]].values[n] = values[p];
    }
    return status;
}

static firn_status read_ply(const char *name, const char *data, size_t size, point_table *t)
{
    ply_file f;
    firn_status status = ply_open(name, data, size, &f);
    bool found = false;
    for (int e = 0; status == FIRN_OK && e < f.element_count && !found; e++) {
        found = strcmp(f.elements[e].name, "vertex") == 0;
        status = found ? read_vertices(&f, &f.elements[e], name, t) : ply_skip(&f, &f.elements[e]);
    }
    ply_close(&f);
    return status;
}

/* ---- Text ------------------------------------------------------------------------------------ */

typedef struct text_rows {
    size_t count, capacity;
    double *values; /* row after row; owned */
    int width;
} text_rows;

/* Past blanks and at most one separator. */
static void skip_separator(scan *s)
{
    scan_blanks(s);
    if (s->at < s->end && (*s->at == ',' || *s->at == ';'))
        s->at++;
    scan_blanks(s);
}

static bool is_name(char c)
{
    return !scan_is_blank(c) && c != ',' && c != ';' && c != '\n' && c != '"';
}

static firn_status read_names(scan *s, char names[][POINT_NAME], int *count)
{
    while (!scan_line_ends(s)) {
        size_t length = 0;
        if (*count == POINT_MOST_COLUMNS)
            return scan_fail(s, "more than %d columns", POINT_MOST_COLUMNS);
        s->at += *s->at == '"';
        for (; s->at < s->end && is_name(*s->at); s->at++)
            if (length + 1 < POINT_NAME)
                names[*count][length++] = *s->at;
        names[*count][length] = '\0';
        s->at += s->at < s->end && *s->at == '"';
        if (length == 0)
            return scan_fail(s, "a column has no name");
        for (int k = 0; k < *count; k++)
            if (strcmp(names[k], names[*count]) == 0)
                return scan_fail(s, "two columns are named '%s'", names[k]);
        ++*count;
        skip_separator(s);
    }
    return FIRN_OK;
}

static firn_status read_text_row(scan *s, text_rows *rows)
{
    int width = 0;
    while (!scan_line_ends(s)) {
        double value;
        firn_status status = scan_real(s, &value);
        if (status != FIRN_OK)
            return status;
        if (!array_grow(&rows->values, &rows->capacity, rows->count, sizeof value))
            return fail(FIRN_NO_MEMORY, "%s: not enough memory", s->name);
        rows->values[rows->count++] = value;
        width++;
        skip_separator(s);
    }
    if (rows->width == 0)
        rows->width = width;
    if (width != rows->width)
        return scan_fail(s, "%d numbers where %d are needed", width, rows->width);
    return FIRN_OK;
}

static firn_status take_rows(const scan *s, const text_rows *rows, char names[][POINT_NAME],
                             point_table *t)
{
    t->count = rows->width ? rows->count / (size_t)rows->width : 0;
    for (int c = 0; c < rows->width; c++) {
        point_column *column = point_table_add(t, s->name, names[c], 1);
        if (!column)
            return FIRN_BAD_SCENE;
        for (size_t n = 0; n < t->count; n++)
            column->values[n] = rows->values[n * (size_t)rows->width + (size_t)c];
    }
    return FIRN_OK;
}

static firn_status read_text(const char *name, const char *data, size_t size, point_table *t)
{
    static const char usual[6][POINT_NAME] = {"x", "y", "z", "vx", "vy", "vz"};
    char(*names)[POINT_NAME] = calloc(POINT_MOST_COLUMNS, sizeof *names);
    scan s = scan_text(name, data, size);
    text_rows rows = {0};
    int count = 0;
    firn_status status = names ? FIRN_OK : fail(FIRN_NO_MEMORY, "%s: not enough memory", name);
    if (status == FIRN_OK && scan_skip(&s, '#') && !strchr("+-.0123456789", *s.at)) {
        status = read_names(&s, names, &count);
        rows.width = count;
    }
    while (status == FIRN_OK && scan_skip(&s, '#'))
        status = read_text_row(&s, &rows);
    if (status == FIRN_OK && count == 0 && rows.width != 0) {
        if (rows.width != 3 && rows.width != 6)
            status = fail(FIRN_BAD_SCENE,
                          "%s: %d columns without names: name them in the first line (x, y, z, "
                          "...), or give 3 or 6",
                          name, rows.width);
        else
            memcpy(names, usual, (size_t)rows.width * sizeof *names);
    }
    if (status == FIRN_OK)
        status = take_rows(&s, &rows, names, t);
    free(rows.values);
    free(names);
    return status;
}

/* ---- Either ---------------------------------------------------------------------------------- */

firn_status point_table_parse(const char *name, const void *data, size_t size, point_table *t)
{
    *t = (point_table){0};
    firn_status status =
        is_ply(data, size) ? read_ply(name, data, size, t) : read_text(name, data, size, t);
    if (status == FIRN_OK)
        status = finish(t, name);
    if (status != FIRN_OK)
        point_table_clear(t);
    return status;
}

static bool is_hdf5(const input *in)
{
    return in->size >= 8 && memcmp(in->data, "\x89HDF\r\n\x1a\n", 8) == 0;
}

firn_status point_table_load(const char *path, point_table *t)
{
    *t = (point_table){0};
    input in;
    firn_status status = input_open(path, &in);
    if (status != FIRN_OK)
        return status;
    if (is_hdf5(&in)) {
        status = point_table_load_h5(path, t);
        if (status == FIRN_OK)
            status = finish(t, path);
        if (status != FIRN_OK)
            point_table_clear(t);
    } else {
        status = point_table_parse(path, in.data, in.size, t);
    }
    input_close(&in);
    return status;
}
