/*
 * Whether a VDB file is put together as the format says, before OpenVDB is let near it: OpenVDB believes
 * every count, size and offset that it reads, and takes memory for it, or writes beyond what it has.
 *
 * All grids have their metadata and transform checked; those of floats, which alone are read, also every
 * node of the tree and the size of every buffer. What is found is named with the byte where it is.
 *
 * Does NOT do: unpack values; old files (before OpenVDB 2.0, format 222); files without offsets, which
 * only streams have.
 */
#ifndef FIRN_IO_VDB_CHECK_H
#define FIRN_IO_VDB_CHECK_H

#include "firn/firn.h"

/* FIRN_BAD_SCENE says what is wrong with the bytes of the file called `name`. */
firn_status vdb_check(const char *name, const void *data, size_t size);

#endif
