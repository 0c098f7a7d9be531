/*
 * HDF5 with our manners: one message with path and reason instead of an error stack, ids that close
 * themselves, files that appear whole.
 *
 * A writer remembers its first failure and does nothing afterwards, so writing code reads as a list
 * of what the file holds; h5_writer_close tells how it went. A reader's functions each return a
 * status. Every public function that comes here opens with H5_QUIET.
 *
 * Files hold no times of day: the same content gives the same bytes.
 *
 * A torn file is never read as good: all metadata carries HDF5's checksums, and a mark while a
 * writer has the file open (superblock 3); datasets carry Fletcher checksums, and h5_open_rows
 * refuses datasets with parts that were never written.
 *
 * Does NOT do: know what a checkpoint or a frame is.
 */
#ifndef FIRN_IO_H5_H
#define FIRN_IO_H5_H

#include <hdf5.h>

#include "io/file.h"

enum {
    H5_CHUNK_ROWS =
        8192, /* of a dataset: the widest chunk (9 doubles) fits HDF5's cache of 1 MiB */
    H5_BLOCK_ROWS = 65536, /* that cross between simulation and file at a time */
    H5_MAX_COMPONENTS = 9,
    H5_DEFLATE_LEVEL = 1,
};

/* ---- Scopes ---------------------------------------------------------------------------------- */

void h5_release(hid_t *id);
#define H5_SCOPED __attribute__((cleanup(h5_release))) hid_t

typedef struct h5_printer {
    H5E_auto2_t print;
    void *data;
} h5_printer;
h5_printer h5_silence(void);
void h5_unsilence(h5_printer *saved);
/* Until the end of the scope HDF5 prints no errors, and is ours alone: it may have been built without
 * threads in mind, so frames and checkpoints of different threads take turns. Then what the host
 * program had set returns. */
#define H5_QUIET                                                                                   \
    __attribute__((cleanup(h5_unsilence), unused)) h5_printer h5_saved_printer = h5_silence()

/* Why the last call of this thread failed, in the words of HDF5's deepest layer. */
typedef struct h5_reason {
    char text[256];
} h5_reason;
h5_reason h5_last_reason(void);

/* A scalar, vector or matrix a row: rank 1, 2 or 3. */
typedef struct h5_shape {
    int rank;
    hsize_t size[3];
} h5_shape;

h5_shape h5_rows_of(size_t rows, int components, int dimensions);

/* ---- Writing --------------------------------------------------------------------------------- */

typedef struct h5_writer {
    file_draft draft;
    hid_t file;
    firn_status status; /* of the first failure */
    int threads;        /* that pack chunks; 0 = as many as the machine offers */
} h5_writer;

/* Ended by h5_writer_close whatever happened, also when this failed. */
void h5_writer_open(h5_writer *w, const char *path);

/* `count` 0 makes a scalar. */
void h5_put(h5_writer *w, hid_t object, const char *name, hid_t type, hsize_t count,
            const void *values);
void h5_put_double(h5_writer *w, const char *name, double value);
void h5_put_int(h5_writer *w, const char *name, int64_t value);
void h5_put_uint(h5_writer *w, const char *name, uint64_t value);
void h5_put_text(h5_writer *w, hid_t object, const char *name, const char *value);

typedef enum h5_packing { H5_PLAIN, H5_PACKED } h5_packing; /* PACKED: shuffled and deflated */

/* Group and dataset; negative, and good for nothing but being closed, after a failure. */
hid_t h5_make_group(h5_writer *w, hid_t parent, const char *name);
hid_t h5_make_rows(h5_writer *w, hid_t group, const char *name, hid_t type, h5_shape shape,
                   h5_packing packing);
void h5_write_rows(h5_writer *w, hid_t rows, hid_t type, size_t first, size_t count,
                   const void *values);

/* Rows of a packed dataset of this type and shape. `first` is a multiple of H5_BLOCK_ROWS, and so is `count`, or they
 * are the last. */
void h5_pack_rows(h5_writer *w, hid_t rows, hid_t type, h5_shape shape, size_t first, size_t count,
                  const void *values);

/* The dataset and all of them. */
void h5_put_packed(h5_writer *w, hid_t group, const char *name, hid_t type, h5_shape shape,
                   const void *values);

/* h5_pack.c: the same. */
bool h5_write_chunks(hid_t rows, hid_t type, h5_shape shape, size_t from, size_t total,
                     const void *values, int threads);

/* The whole file under its final name, or no trace of it and the reason. */
firn_status h5_writer_close(h5_writer *w);

/* The driver that writes into a draft. A file access property list, owned by the caller. */
hid_t h5_draft_access(file_draft *draft);

/* ---- Reading --------------------------------------------------------------------------------- */

typedef struct h5_reader {
    char *path;         /* owned */
    const char *expect; /* what the file should be, for messages: "a Firn checkpoint" */
    const char *advice; /* what to do when it is not */
    hid_t file;
    uint64_t bytes;
} h5_reader;

/* FIRN_NO_INPUT when there is no file to read, FIRN_BAD_SCENE when it is not a whole HDF5 file. */
firn_status h5_reader_open(h5_reader *r, const char *path, const char *expect, const char *advice);
void h5_reader_close(h5_reader *r);

/* FIRN_BAD_SCENE with path, the given reason and the advice. */
firn_status h5_refuse(const h5_reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

bool h5_has(const h5_reader *r, const char *path);
bool h5_has_attribute(const h5_reader *r, const char *name);

/* Attributes of the root. */
firn_status h5_get_double(const h5_reader *r, const char *name, double *value);
firn_status h5_get_uint(const h5_reader *r, const char *name, uint64_t *value);
firn_status h5_get_text(const h5_reader *r, const char *name, char *value, size_t size);

/* A dataset that has been checked: its shape, its class, and that all of it is there. */
typedef struct h5_rows {
    hid_t id; /* owned; h5_rows_close */
    const char *path;
    h5_shape shape;
    size_t width; /* bytes of a number */
} h5_rows;

enum { H5_ANY_ROWS = -1 };

/* `path` is borrowed and must outlive the rows. shape.size[0] may be H5_ANY_ROWS. */
firn_status h5_open_rows(const h5_reader *r, const char *path, H5T_class_t kind, h5_shape shape,
                         h5_rows *rows);
firn_status h5_read_rows(const h5_reader *r, const h5_rows *rows, hid_t type, size_t first,
                         size_t count, void *values);
void h5_rows_close(h5_rows *rows);

#endif
