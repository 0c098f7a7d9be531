/* The index of USD layers; see usda.c. */
#ifndef FIRN_IO_USDA_H
#define FIRN_IO_USDA_H

#include "firn/io.h"

firn_status usda_write_index(const char *path, const char *folder, const firn_index_entry *entries,
                             size_t count, const firn_export *how);

#endif
