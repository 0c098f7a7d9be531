/*
 * Reading PLY, text and binary of both byte orders, element by element, row by row. Meshes and
 * particles both come in PLY.
 *
 * A row's scalars arrive as doubles, one for each property in the order of the header. Of lists,
 * one property an element may be asked for; its items arrive beside the row.
 */
#ifndef FIRN_IO_PLY_READ_H
#define FIRN_IO_PLY_READ_H

#include "io/scan.h"

typedef enum ply_type {
    PLY_INT8,
    PLY_UINT8,
    PLY_INT16,
    PLY_UINT16,
    PLY_INT32,
    PLY_UINT32,
    PLY_FLOAT32,
    PLY_FLOAT64,
    PLY_TYPES
} ply_type;

enum { PLY_NAME = 48, PLY_MOST_ELEMENTS = 32, PLY_MOST_PROPERTIES = 256 };

typedef struct ply_property {
    char name[PLY_NAME];
    ply_type type;
    bool is_list;
    ply_type count_type;
} ply_property;

typedef struct ply_element {
    char name[PLY_NAME];
    uint64_t count;
    int property_count;
    ply_property *properties; /* owned */
} ply_element;

typedef struct ply_file {
    scan at; /* the next row */
    enum { PLY_TEXT, PLY_LITTLE, PLY_BIG } format;
    int element_count;
    ply_element elements[PLY_MOST_ELEMENTS];
    size_t list_count, list_capacity;
    double *list; /* the items of the list asked for; owned */
} ply_file;

/* Read the header; `data` is borrowed until ply_close. */
firn_status ply_open(const char *name, const char *data, size_t size, ply_file *f);
void ply_close(ply_file *f);

/* The number of an element's property, or -1. */
int ply_find(const ply_element *e, const char *name);

/* The next row of an element: `values` has room for all its properties (a list's entry is its
 * length). `list` is the property whose items go to f->list, or -1. Elements are read in order,
 * every row of each. */
firn_status ply_row(ply_file *f, const ply_element *e, int list, double *values);

/* Pass over all rows of an element. */
firn_status ply_skip(ply_file *f, const ply_element *e);

#endif
