#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/h5.h"
#include "status.h"

/* Deflate makes nothing smaller than this, so a small file cannot ask for endless memory. */
enum { MAX_COMPRESSION = 1032 };

firn_status h5_refuse(const h5_reader *r, const char *format, ...)
{
    char reason[512];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    return fail(FIRN_BAD_SCENE, "%s is not %s that can be used: %s; %s", r->path, r->expect, reason,
                r->advice);
}

firn_status h5_reader_open(h5_reader *r, const char *path, const char *expect, const char *advice)
{
    *r = (h5_reader){.expect = expect, .advice = advice, .file = -1};
    int fd;
    firn_status status = file_open_input(path, &fd, &r->bytes);
    if (status)
        return status;
    close(fd);
    r->path = text_copy(path);
    H5_SCOPED access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    /* Whole files never change, and some file systems have no locks. */
    H5Pset_file_locking(access, false, true);
    if (H5Fis_hdf5(path) <= 0)
        status = h5_refuse(r, r->bytes ? "it is not an HDF5 file" : "it is empty");
    else if ((r->file = H5Fopen(path, H5F_ACC_RDONLY, access)) < 0)
        status = h5_refuse(r, "%s", h5_last_reason().text);
    if (status)
        h5_reader_close(r);
    return status;
}

void h5_reader_close(h5_reader *r)
{
    if (r->file >= 0)
        H5Fclose(r->file);
    free(r->path);
    *r = (h5_reader){.file = -1};
}

/* ---- Attributes ------------------------------------------------------------------------------ */

bool h5_has(const h5_reader *r, const char *path)
{
    char part[128];
    const char *slash = strchr(path, '/');
    if (slash) { /* HDF5 calls a missing folder on the way an error */
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        if (H5Lexists(r->file, part, H5P_DEFAULT) <= 0)
            return false;
    }
    return H5Lexists(r->file, path, H5P_DEFAULT) > 0;
}

bool h5_has_attribute(const h5_reader *r, const char *name)
{
    return H5Aexists(r->file, name) > 0;
}

typedef struct attribute {
    hid_t id, type;
    H5T_class_t kind;
} attribute;

static void attribute_close(attribute *a)
{
    h5_release(&a->type);
    h5_release(&a->id);
}
#define ATTRIBUTE_SCOPED __attribute__((cleanup(attribute_close))) attribute

/* A single value under this name on the root. */
static firn_status attribute_open(const h5_reader *r, const char *name, attribute *a)
{
    if (!h5_has_attribute(r, name))
        return h5_refuse(r, "the root attribute %s is missing", name);
    a->id = H5Aopen(r->file, name, H5P_DEFAULT);
    if (a->id < 0 || (a->type = H5Aget_type(a->id)) < 0)
        return h5_refuse(r, "the root attribute %s: %s", name, h5_last_reason().text);
    H5_SCOPED space = H5Aget_space(a->id);
    if (H5Sget_simple_extent_npoints(space) != 1)
        return h5_refuse(r, "the root attribute %s is not a single value", name);
    a->kind = H5Tget_class(a->type);
    return FIRN_OK;
}

firn_status h5_get_double(const h5_reader *r, const char *name, double *value)
{
    ATTRIBUTE_SCOPED a = {-1, -1, H5T_NO_CLASS};
    firn_status status = attribute_open(r, name, &a);
    if (status)
        return status;
    if (a.kind != H5T_FLOAT && a.kind != H5T_INTEGER)
        return h5_refuse(r, "the root attribute %s is not a number", name);
    if (H5Aread(a.id, H5T_NATIVE_DOUBLE, value) < 0)
        return h5_refuse(r, "the root attribute %s: %s", name, h5_last_reason().text);
    return FIRN_OK;
}

firn_status h5_get_uint(const h5_reader *r, const char *name, uint64_t *value)
{
    ATTRIBUTE_SCOPED a = {-1, -1, H5T_NO_CLASS};
    firn_status status = attribute_open(r, name, &a);
    if (status)
        return status;
    if (a.kind != H5T_INTEGER)
        return h5_refuse(r, "the root attribute %s is not a whole number", name);
    bool is_signed = H5Tget_sign(a.type) != H5T_SGN_NONE;
    if (H5Aread(a.id, is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64, value) < 0)
        return h5_refuse(r, "the root attribute %s: %s", name, h5_last_reason().text);
    if (is_signed && *value > INT64_MAX)
        return h5_refuse(r, "the root attribute %s is negative", name);
    return FIRN_OK;
}

firn_status h5_get_text(const h5_reader *r, const char *name, char *value, size_t size)
{
    ATTRIBUTE_SCOPED a = {-1, -1, H5T_NO_CLASS};
    firn_status status = attribute_open(r, name, &a);
    if (status)
        return status;
    if (a.kind != H5T_STRING)
        return h5_refuse(r, "the root attribute %s is not text", name);
    char fixed[256] = "";
    char *variable = NULL;
    bool is_variable = H5Tis_variable_str(a.type) > 0;
    if (!is_variable && H5Tget_size(a.type) >= sizeof fixed)
        return h5_refuse(r, "the root attribute %s is too long", name);
    if (H5Aread(a.id, a.type, is_variable ? (void *)&variable : fixed) < 0)
        return h5_refuse(r, "the root attribute %s: %s", name, h5_last_reason().text);
    int length = snprintf(value, size, "%s", !is_variable ? fixed : variable ? variable : "");
    H5free_memory(variable);
    if (length < 0 || (size_t)length >= size)
        return h5_refuse(r, "the root attribute %s is too long", name);
    return FIRN_OK;
}

/* ---- Datasets -------------------------------------------------------------------------------- */

/* Whether every part of the dataset was written, and here rather than in some other file. */
static firn_status check_storage(const h5_reader *r, const h5_rows *rows, hid_t space)
{
    H5_SCOPED properties = H5Dget_create_plist(rows->id);
    H5D_layout_t layout = H5Pget_layout(properties);
    if (layout == H5D_VIRTUAL || H5Pget_external_count(properties) != 0)
        return h5_refuse(r, "/%s keeps its values in another file", rows->path);
    if ((double)rows->shape.size[0] * (double)rows->width > (double)r->bytes * MAX_COMPRESSION)
        return h5_refuse(r, "/%s claims more rows than the file can hold", rows->path);
    hsize_t chunk[3], present = 0, needed = 1;
    bool whole = H5Dget_storage_size(rows->id) > 0;
    if (layout == H5D_CHUNKED && H5Pget_chunk(properties, 3, chunk) == rows->shape.rank) {
        for (int axis = 0; axis < rows->shape.rank; axis++)
            needed *= (rows->shape.size[axis] + chunk[axis] - 1) / chunk[axis];
        whole = H5Dget_num_chunks(rows->id, space, &present) >= 0 && present == needed;
    }
    if (!whole && rows->shape.size[0] > 0)
        return h5_refuse(r, "/%s has rows that were never written", rows->path);
    return FIRN_OK;
}

static firn_status check_shape(const h5_reader *r, h5_rows *rows, hid_t space)
{
    h5_shape want = rows->shape;
    hsize_t size[3];
    bool fits = H5Sget_simple_extent_ndims(space) == want.rank &&
                H5Sget_simple_extent_dims(space, size, NULL) == want.rank;
    if (fits && want.size[0] == (hsize_t)H5_ANY_ROWS)
        want.size[0] = size[0];
    for (int axis = 0; fits && axis < want.rank; axis++)
        fits = size[axis] == want.size[axis];
    rows->shape = want;
    if (fits)
        return FIRN_OK;
    char text[96] = "N";
    if (want.size[0] != (hsize_t)H5_ANY_ROWS)
        snprintf(text, sizeof text, "%llu", (unsigned long long)want.size[0]);
    for (int axis = 1; axis < want.rank; axis++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " x %d", (int)want.size[axis]);
    return h5_refuse(r, "/%s has the wrong shape, expected %s", rows->path, text);
}

firn_status h5_open_rows(const h5_reader *r, const char *path, H5T_class_t kind, h5_shape shape,
                         h5_rows *rows)
{
    *rows = (h5_rows){.id = -1, .path = path, .shape = shape};
    if (!h5_has(r, path))
        return h5_refuse(r, "/%s is missing", path);
    if ((rows->id = H5Dopen2(r->file, path, H5P_DEFAULT)) < 0)
        return h5_refuse(r, "/%s: %s", path, h5_last_reason().text);
    H5_SCOPED space = H5Dget_space(rows->id);
    H5_SCOPED type = H5Dget_type(rows->id);
    rows->width = H5Tget_size(type);
    firn_status status = check_shape(r, rows, space);
    if (!status && H5Tget_class(type) != kind)
        status = h5_refuse(r, "/%s does not hold %s", path,
                           kind == H5T_FLOAT ? "floating-point numbers" : "integers");
    if (!status)
        status = check_storage(r, rows, space);
    if (status)
        h5_rows_close(rows);
    return status;
}

firn_status h5_read_rows(const h5_reader *r, const h5_rows *rows, hid_t type, size_t first,
                         size_t count, void *values)
{
    if (count == 0)
        return FIRN_OK;
    hsize_t start[3] = {first};
    h5_shape part = rows->shape;
    part.size[0] = count;
    H5_SCOPED space = H5Dget_space(rows->id);
    H5_SCOPED memory = H5Screate_simple(part.rank, part.size, NULL);
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, part.size, NULL) < 0 ||
        H5Dread(rows->id, type, memory, space, H5P_DEFAULT, values) < 0)
        return h5_refuse(r, "/%s from row %zu on: %s", rows->path, first, h5_last_reason().text);
    return FIRN_OK;
}

void h5_rows_close(h5_rows *rows)
{
    h5_release(&rows->id);
}
