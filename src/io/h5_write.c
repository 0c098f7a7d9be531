#include <string.h>

#include "io/h5.h"
#include "status.h"

/* Notes a failure: of HDF5 itself, or of the disk, of which only the draft knows. */
static void note(h5_writer *w, bool well, const char *name)
{
    if (!well && !w->status)
        w->status = fail(FIRN_NO_OUTPUT, "cannot write %s: %s: %s", w->draft.path, name,
                         h5_last_reason().text);
    if (w->draft.error)
        w->status = FIRN_NO_OUTPUT;
}

void h5_writer_open(h5_writer *w, const char *path)
{
    *w = (h5_writer){.file = -1};
    w->status = file_create(path, &w->draft);
    if (w->status)
        return;
    H5_SCOPED access = h5_draft_access(&w->draft);
    H5_SCOPED creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_obj_track_times(creation, false);
    w->file = H5Fcreate(w->draft.temporary, H5F_ACC_TRUNC, creation, access);
    note(w, w->file >= 0, "/");
}

void h5_put(h5_writer *w, hid_t object, const char *name, hid_t type, hsize_t count,
            const void *values)
{
    if (w->status)
        return;
    H5_SCOPED space = count ? H5Screate_simple(1, &count, NULL) : H5Screate(H5S_SCALAR);
    H5_SCOPED attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    note(w, attribute >= 0 && H5Awrite(attribute, type, values) >= 0, name);
}

void h5_put_double(h5_writer *w, const char *name, double value)
{
    h5_put(w, w->file, name, H5T_NATIVE_DOUBLE, 0, &value);
}

void h5_put_int(h5_writer *w, const char *name, int64_t value)
{
    h5_put(w, w->file, name, H5T_NATIVE_INT64, 0, &value);
}

void h5_put_uint(h5_writer *w, const char *name, uint64_t value)
{
    h5_put(w, w->file, name, H5T_NATIVE_UINT64, 0, &value);
}

/* Of fixed length, under the checksum of the object header. Text of variable length would lie in
 * the global heap, which has no checksum, and libhdf5 1.10 crashes when it reads a damaged one. */
void h5_put_text(h5_writer *w, hid_t object, const char *name, const char *value)
{
    size_t length = strlen(value);
    H5_SCOPED type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, length ? length : 1);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    h5_put(w, object, name, type, 0, value);
}

hid_t h5_make_group(h5_writer *w, hid_t parent, const char *name)
{
    if (w->status)
        return -1;
    H5_SCOPED creation = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_obj_track_times(creation, false);
    hid_t group = H5Gcreate2(parent, name, H5P_DEFAULT, creation, H5P_DEFAULT);
    note(w, group >= 0, name);
    return group;
}

/* Checksums need chunks, and chunks need rows: an empty dataset has neither. */
static bool set_layout(hid_t properties, h5_shape shape, h5_packing packing)
{
    if (shape.size[0] == 0)
        return true;
    if (shape.size[0] > H5_CHUNK_ROWS)
        shape.size[0] = H5_CHUNK_ROWS;
    return H5Pset_chunk(properties, shape.rank, shape.size) >= 0 &&
           H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER) >= 0 &&
           (packing == H5_PLAIN || (H5Pset_shuffle(properties) >= 0 &&
                                    H5Pset_deflate(properties, H5_DEFLATE_LEVEL) >= 0)) &&
           H5Pset_fletcher32(properties) >= 0;
}

hid_t h5_make_rows(h5_writer *w, hid_t group, const char *name, hid_t type, h5_shape shape,
                   h5_packing packing)
{
    if (w->status)
        return -1;
    H5_SCOPED space = H5Screate_simple(shape.rank, shape.size, NULL);
    H5_SCOPED properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(properties, false);
    hid_t rows = -1;
    if (set_layout(properties, shape, packing))
        rows = H5Dcreate2(group, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    note(w, rows >= 0, name);
    return rows;
}

void h5_write_rows(h5_writer *w, hid_t rows, hid_t type, size_t first, size_t count,
                   const void *values)
{
    if (w->status || count == 0)
        return;
    hsize_t start[3] = {first}, size[3];
    H5_SCOPED space = H5Dget_space(rows);
    H5Sget_simple_extent_dims(space, size, NULL);
    size[0] = count;
    H5_SCOPED memory = H5Screate_simple(H5Sget_simple_extent_ndims(space), size, NULL);
    note(w,
         H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL) >= 0 &&
             H5Dwrite(rows, type, memory, space, H5P_DEFAULT, values) >= 0,
         "values");
}

void h5_pack_rows(h5_writer *w, hid_t rows, hid_t type, h5_shape shape, size_t first, size_t count,
                  const void *values)
{
    if (w->status || count == 0)
        return;
    bool well = h5_write_chunks(rows, type, shape, first, count, values, w->threads);
    note(w, well, "values");
}

void h5_put_packed(h5_writer *w, hid_t group, const char *name, hid_t type, h5_shape shape,
                   const void *values)
{
    H5_SCOPED rows = h5_make_rows(w, group, name, type, shape, H5_PACKED);
    h5_pack_rows(w, rows, type, shape, 0, shape.size[0], values);
}

firn_status h5_writer_close(h5_writer *w)
{
    if (!w->draft.path)
        return w->status;
    if (w->file >= 0)
        note(w, H5Fclose(w->file) >= 0, "/");
    w->file = -1;
    /* What the disk said comes before what HDF5 made of it. */
    if (!w->status || w->draft.error)
        return file_commit(&w->draft);
    file_discard(&w->draft);
    return w->status;
}
