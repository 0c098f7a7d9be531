/* A folder of its own for each test program, removed when it ends. */
#ifndef FIRN_TESTS_IO_SCRATCH_H
#define FIRN_TESTS_IO_SCRATCH_H

#include <stddef.h>

/* The full name of a file in the folder; borrowed, one of the last eight. */
const char *scratch(const char *name);

/* How many files the folder (or one below it) holds. */
size_t scratch_count(const char *folder);

void scratch_put(const char *path, const void *data, size_t size);
char *scratch_get(const char *path, size_t *size); /* owned by the caller */

#endif
