/*
 * An HDF5 file driver over a draft.
 *
 * Why not HDF5's own: when a write fails while a file is being closed, libhdf5 1.10 leaves a
 * half-destroyed file behind and crashes when the process ends. This driver never reports a failed
 * write; the draft keeps the first error, drops what follows, and file_commit refuses. Reads happen
 * only for metadata that HDF5 itself wrote and evicted from its cache.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/h5.h"

typedef struct draft_file {
    H5FD_t base; /* must come first: HDF5 owns it */
    file_draft *draft;
    haddr_t allocated; /* HDF5's "end of allocation" */
    haddr_t written;   /* HDF5's "end of file" */
} draft_file;

typedef struct draft_info {
    file_draft *draft;
} draft_info;

static H5FD_t *draft_open(const char *name, unsigned flags, hid_t access, haddr_t max_address)
{
    (void)name;
    (void)flags;
    (void)max_address;
    const draft_info *info = H5Pget_driver_info(access);
    draft_file *file = info ? calloc(1, sizeof *file) : NULL;
    if (!file)
        return NULL;
    file->draft = info->draft;
    return &file->base;
}

static herr_t draft_close(H5FD_t *file)
{
    free(file);
    return 0;
}

static int draft_compare(const H5FD_t *a, const H5FD_t *b)
{
    return (a > b) - (a < b);
}

static herr_t draft_query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

static haddr_t draft_get_allocated(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const draft_file *)file)->allocated;
}

static herr_t draft_set_allocated(H5FD_t *file, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    ((draft_file *)file)->allocated = address;
    return 0;
}

static haddr_t draft_get_written(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const draft_file *)file)->written;
}

static herr_t draft_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address,
                         size_t size, void *buffer)
{
    (void)type;
    (void)transfer;
    file_draft *draft = ((draft_file *)file)->draft;
    ssize_t got = pread(draft->fd, buffer, size, (off_t)address);
    size_t have = got > 0 ? (size_t)got : 0;
    memset((char *)buffer + have, 0, size - have);
    return 0;
}

static herr_t draft_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address,
                          size_t size, const void *buffer)
{
    (void)type;
    (void)transfer;
    draft_file *self = (draft_file *)file;
    file_write_at(self->draft, address, buffer, size);
    if (address + size > self->written)
        self->written = address + size;
    return 0;
}

static herr_t draft_truncate(H5FD_t *file, hid_t transfer, hbool_t closing)
{
    (void)transfer;
    (void)closing;
    draft_file *self = (draft_file *)file;
    if (self->written != self->allocated)
        file_truncate(self->draft, self->allocated);
    self->written = self->allocated;
    return 0;
}

static const H5FD_class_t draft_class = {
    .name = "firn_draft",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG, /* closing the file closes whatever is still open in it */
    .fapl_size = sizeof(draft_info),
    .open = draft_open,
    .close = draft_close,
    .cmp = draft_compare,
    .query = draft_query,
    .get_eoa = draft_get_allocated,
    .set_eoa = draft_set_allocated,
    .get_eof = draft_get_written,
    .read = draft_read,
    .write = draft_write,
    .truncate = draft_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

hid_t h5_draft_access(file_draft *draft)
{
    H5_SCOPED driver = H5FDregister(&draft_class);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (H5Pset_driver(access, driver, &(draft_info){draft}) < 0 ||
        H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110) < 0)
        h5_release(&access);
    return access;
}
