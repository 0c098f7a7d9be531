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

static firn_status missing(const char *what)
{
    return fail(FIRN_BAD_SCENE, "%s needs OpenVDB, which this build of Firn does not have", what);
}

firn_status vdb_from_mesh(const vdb_mesh_request *request, level_set_blocks *blocks)
{
    (void)request;
    (void)blocks;
    return missing("a mesh as a collider");
}

firn_status vdb_read(const char *path, const char *grid, double iso, vdb_source *out)
{
    (void)grid;
    (void)iso;
    *out = (vdb_source){0};
    return missing(path);
}

void vdb_source_clear(vdb_source *grid)
{
    *grid = (vdb_source){0};
}

firn_status vdb_read_density(const char *path, const char *grid, vdb_density *out)
{
    (void)grid;
    *out = (vdb_density){0};
    return missing(path);
}

void vdb_density_clear(vdb_density *density)
{
    *density = (vdb_density){0};
}
