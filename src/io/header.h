/* The root attributes that checkpoints and frames share, and blocks to copy particles through. */
#ifndef FIRN_IO_HEADER_H
#define FIRN_IO_HEADER_H

#include "firn/io.h"
#include "io/h5.h"

/* firn_version, time, step, frame, cell_size, dimensions. */
void header_put(h5_writer *w, const firn_checkpoint_info *info);
firn_status header_get(const h5_reader *r, firn_checkpoint_info *info);

/* Room for H5_BLOCK_ROWS of the widest attribute, owned by the caller; else NULL and a message. */
double *block_create(void);

/* Visit [0, count) in blocks: `for (size_t at = 0, n; (n = block_rows(at, count)); at += n)`. */
static inline size_t block_rows(size_t at, size_t count)
{
    return count - at < H5_BLOCK_ROWS ? count - at : H5_BLOCK_ROWS;
}

#endif
