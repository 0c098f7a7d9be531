#include "io/vdb.h"

/* Debian's OpenVDB is built with default visibility and crashes in initialize() when the program's
 * copies of its type information are hidden. */
#pragma GCC visibility push(default)
#include <openvdb/openvdb.h>
#pragma GCC visibility pop

const char *vdb_version(void)
{
    return openvdb::getLibraryVersionString();
}
