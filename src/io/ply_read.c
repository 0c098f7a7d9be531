#include "io/ply_read.h"

#include <stdlib.h>
#include <string.h>

#include "shape/array.h"
#include "status.h"

static const struct {
    const char *names[2];
    size_t size;
} types[PLY_TYPES] = {
    [PLY_INT8] = {{"char", "int8"}, 1},        [PLY_UINT8] = {{"uchar", "uint8"}, 1},
    [PLY_INT16] = {{"short", "int16"}, 2},     [PLY_UINT16] = {{"ushort", "uint16"}, 2},
    [PLY_INT32] = {{"int", "int32"}, 4},       [PLY_UINT32] = {{"uint", "uint32"}, 4},
    [PLY_FLOAT32] = {{"float", "float32"}, 4}, [PLY_FLOAT64] = {{"double", "float64"}, 8},
};

/* ---- The header ------------------------------------------------------------------------------ */

static firn_status take_type(scan *s, ply_type *type)
{
    for (*type = 0; *type < PLY_TYPES; ++*type)
        if (scan_match(s, types[*type].names[0]) || scan_match(s, types[*type].names[1]))
            return FIRN_OK;
    return scan_fail(s, "a PLY type (float, int, uchar, ...) is needed, %s", scan_found(s));
}

static firn_status take_name(scan *s, char name[PLY_NAME])
{
    if (!scan_word(s, name, PLY_NAME))
        return scan_fail(s, "a name is needed, %s", scan_found(s));
    return FIRN_OK;
}

static firn_status take_element(ply_file *f)
{
    if (f->element_count == PLY_MOST_ELEMENTS)
        return scan_fail(&f->at, "more than %d elements", PLY_MOST_ELEMENTS);
    ply_element *e = &f->elements[f->element_count++];
    firn_status status = take_name(&f->at, e->name);
    int64_t count = 0;
    if (status == FIRN_OK)
        status = scan_whole(&f->at, &count);
    if (status == FIRN_OK && count < 0)
        return scan_fail(&f->at, "element %s has %lld rows", e->name, (long long)count);
    e->count = (uint64_t)count;
    return status;
}

static firn_status take_property(ply_file *f)
{
    if (f->element_count == 0)
        return scan_fail(&f->at, "a property stands before the first element");
    ply_element *e = &f->elements[f->element_count - 1];
    if (e->property_count == PLY_MOST_PROPERTIES)
        return scan_fail(&f->at, "more than %d properties in element %s", PLY_MOST_PROPERTIES,
                         e->name);
    ply_property *grown =
        realloc(e->properties, ((size_t)e->property_count + 1) * sizeof *e->properties);
    if (!grown)
        return fail(FIRN_NO_MEMORY, "not enough memory for %s", f->at.name);
    e->properties = grown;
    ply_property *p = &e->properties[e->property_count++];
    *p = (ply_property){.is_list = scan_match(&f->at, "list")};
    firn_status status = p->is_list ? take_type(&f->at, &p->count_type) : FIRN_OK;
    if (status == FIRN_OK)
        status = take_type(&f->at, &p->type);
    return status == FIRN_OK ? take_name(&f->at, p->name) : status;
}

static firn_status take_format(ply_file *f)
{
    if (scan_match(&f->at, "ascii"))
        f->format = PLY_TEXT;
    else if (scan_match(&f->at, "binary_little_endian"))
        f->format = PLY_LITTLE;
    else if (scan_match(&f->at, "binary_big_endian"))
        f->format = PLY_BIG;
    else
        return scan_fail(&f->at,
                         "the format must be ascii, binary_little_endian or binary_big_endian, %s",
                         scan_found(&f->at));
    return FIRN_OK;
}

firn_status ply_open(const char *name, const char *data, size_t size, ply_file *f)
{
    *f = (ply_file){.at = scan_text(name, data, size)};
    scan *s = &f->at;
    if (!scan_match(s, "ply"))
        return scan_fail(s, "a PLY file starts with the word ply, %s", scan_found(s));
    firn_status status = FIRN_OK;
    bool format = false;
    while (status == FIRN_OK) {
        if (!scan_next_line(s))
            return scan_fail(s, "the file ends before end_header");
        if (scan_match(s, "end_header"))
            break;
        if (scan_match(s, "format")) {
            format = true;
            status = take_format(f);
        } else if (scan_match(s, "element")) {
            status = take_element(f);
        } else if (scan_match(s, "property")) {
            status = take_property(f);
        }
    }
    if (status == FIRN_OK && !format)
        return scan_fail(s, "the header has no format line");
    scan_next_line(s);
    return status;
}

void ply_close(ply_file *f)
{
    for (int e = 0; e < f->element_count; e++)
        free(f->elements[e].properties);
    free(f->list);
    *f = (ply_file){0};
}

int ply_find(const ply_element *e, const char *name)
{
    for (int p = 0; p < e->property_count; p++)
        if (strcmp(e->properties[p].name, name) == 0)
            return p;
    return -1;
}

/* ---- The rows -------------------------------------------------------------------------------- */

static double number_in_bytes(const unsigned char *at, ply_type type, bool big)
{
    uint64_t bits = 0;
    size_t size = types[type].size;
    for (size_t k = 0; k < size; k++)
        bits |= (uint64_t)at[k] << (8 * (big ? size - 1 - k : k));
    uint32_t low = (uint32_t)bits;
    float single;
    double value;
    switch (type) {
    case PLY_INT8:
        return (int8_t)bits;
    case PLY_INT16:
        return (int16_t)bits;
    case PLY_INT32:
        return (int32_t)low;
    case PLY_FLOAT32:
        memcpy(&single, &low, sizeof single);
        return single;
    case PLY_FLOAT64:
        memcpy(&value, &bits, sizeof value);
        return value;
    default:
        return (double)bits;
    }
}

static firn_status take_number(ply_file *f, const ply_element *e, ply_type type, double *value)
{
    if (f->format == PLY_TEXT) {
        if (scan_reals(&f->at, value, 1) == 1)
            return FIRN_OK;
        return scan_fail(&f->at, "element %s: a finite number is needed, %s", e->name,
                         scan_found(&f->at));
    }
    if ((size_t)(f->at.end - f->at.at) < types[type].size)
        return fail(FIRN_BAD_SCENE, "%s: the file ends in the middle of element %s", f->at.name,
                    e->name);
    *value = number_in_bytes((const unsigned char *)f->at.at, type, f->format == PLY_BIG);
    f->at.at += types[type].size;
    return FIRN_OK;
}

static firn_status take_list(ply_file *f, const ply_element *e, const ply_property *p, bool wanted,
                             double *length)
{
    firn_status status = take_number(f, e, p->count_type, length);
    if (status == FIRN_OK && !(*length >= 0))
        return fail(FIRN_BAD_SCENE, "%s: element %s: a list %s of %g items", f->at.name, e->name,
                    p->name, *length);
    for (double n = 0; n < *length && status == FIRN_OK; n++) {
        double value;
        status = take_number(f, e, p->type, &value);
        if (status != FIRN_OK || !wanted)
            continue;
        if (!array_grow(&f->list, &f->list_capacity, f->list_count, sizeof *f->list))
            return fail(FIRN_NO_MEMORY, "not enough memory for %s", f->at.name);
        f->list[f->list_count++] = value;
    }
    return status;
}

firn_status ply_row(ply_file *f, const ply_element *e, int list, double *values)
{
    firn_status status = FIRN_OK;
    f->list_count = 0;
    if (f->format == PLY_TEXT && !scan_skip(&f->at, 0))
        return scan_fail(&f->at, "the file ends before the %llu rows of element %s",
                         (unsigned long long)e->count, e->name);
    for (int p = 0; p < e->property_count && status == FIRN_OK; p++) {
        const ply_property *property = &e->properties[p];
        status = property->is_list ? take_list(f, e, property, p == list, &values[p])
                                   : take_number(f, e, property->type, &values[p]);
    }
    if (f->format == PLY_TEXT)
        scan_next_line(&f->at);
    return status;
}

firn_status ply_skip(ply_file *f, const ply_element *e)
{
    double values[PLY_MOST_PROPERTIES];
    firn_status status = FIRN_OK;
    for (uint64_t n = 0; n < e->count && e->property_count && status == FIRN_OK; n++)
        status = ply_row(f, e, -1, values);
    return status;
}
