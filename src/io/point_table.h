/*
 * Points with attributes from files: PLY, VTKHDF (.hdf), Firn's checkpoints (.h5), and text with one
 * point a line.
 *
 * A table of named columns of one or more numbers a point. What formats spell as x, y, z becomes one
 * column `position`, vx, vy, vz (or velocity_x, ...) `velocity`, F_E_xx ... `F_E`; positions always
 * have three numbers.
 *
 * Text: the first line that is no comment (#) names the columns, separated by commas, semicolons or
 * blanks, as the numbers are. Without names three columns are x, y, z and six are followed by the
 * velocity.
 *
 * Does NOT do: units, axes, what attributes mean (src/scene/points.c).
 */
#ifndef FIRN_IO_POINT_TABLE_H
#define FIRN_IO_POINT_TABLE_H

#include "firn/firn.h"

enum { POINT_NAME = 48, POINT_MOST_COLUMNS = 128, POINT_MOST_WIDTH = 9 };

typedef struct point_column {
    char name[POINT_NAME];
    int width;
    double *values; /* count x width; owned */
} point_column;

typedef struct point_table {
    size_t count;
    int column_count;
    point_column columns[POINT_MOST_COLUMNS];
} point_table;

/* FIRN_NO_INPUT: cannot be read. FIRN_BAD_SCENE: file, line or dataset, and what is wrong: no points,
 * no position, a number that is not finite. */
firn_status point_table_load(const char *path, point_table *table);

/* The same for PLY and text from memory; the name tells which. */
firn_status point_table_parse(const char *name, const void *data, size_t size, point_table *table);
void point_table_clear(point_table *table);

/* NULL when there is no such column. */
const point_column *point_table_find(const point_table *table, const char *name);

/* What the readers share: a new column of zeros for the table's points, or NULL with a failure. */
point_column *point_table_add(point_table *table, const char *path, const char *name, int width);

/* point_h5.c */
firn_status point_table_load_h5(const char *path, point_table *table);

#endif
