#include "io/vdb.h"

#include "status.h"

const char *vdb_version(void)
{
    return "none";
}

firn_status vdb_write(const vdb_file *file, file_draft *draft)
{
    (void)file;
    return fail(FIRN_NO_OUTPUT, "cannot write %s: this build has no OpenVDB", draft->path);
}
