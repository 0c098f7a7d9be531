#include "io/vdb.h"

const char *vdb_version(void)
{
    return "none";
}
