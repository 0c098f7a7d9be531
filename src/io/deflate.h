/*
 * Deflate by all threads: pieces of a fixed size are compressed independently and put together to
 * one stream that any inflater reads. The bytes do not depend on the number of threads.
 */
#ifndef FIRN_IO_DEFLATE_H
#define FIRN_IO_DEFLATE_H

#include "io/file.h"

/* Appends `data` to a raw deflate stream (RFC 1951), which `ends` with it or goes on, and to the
 * stream's CRC-32, which begins as 0. FIRN_NO_MEMORY only: what the disk says is in the draft. */
firn_status deflate_append(file_draft *draft, const void *data, size_t size, bool ends, int threads,
                           uint32_t *crc);

#endif
