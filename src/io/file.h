/*
 * Output files that are whole or not there: a draft under a temporary name in the same folder, then
 * fsync, rename, and fsync of the folder.
 *
 * The first failed write is kept (`error`) and later writes do nothing, so a writer may go on to
 * its end and learn from file_commit how it went. Whatever fails, the temporary file is removed and
 * an earlier file under the final name stays as it was. A killed process leaves NAME.PID-N.tmp.
 *
 * Does NOT do: buffering; hand over blocks of some size.
 */
#ifndef FIRN_IO_FILE_H
#define FIRN_IO_FILE_H

#include <stdint.h>

#include "firn/firn.h"

typedef struct file_draft {
    char *path;      /* the final name; owned */
    char *temporary; /* the name until then; owned */
    int fd;
    uint64_t size; /* where file_append writes next */
    int error;     /* errno of the first failure */
} file_draft;

/* After FIRN_OK the draft must be ended by exactly one of file_commit and file_discard. */
firn_status file_create(const char *path, file_draft *draft);
void file_append(file_draft *draft, const void *data, size_t size);
void file_write_at(file_draft *draft, uint64_t offset, const void *data, size_t size);
void file_truncate(file_draft *draft, uint64_t size);
firn_status file_commit(file_draft *draft);
void file_discard(file_draft *draft);

/* Open an existing regular file for reading; FIRN_NO_INPUT says why not. The caller closes fd. */
firn_status file_open_input(const char *path, int *fd, uint64_t *size);

#endif
