#include "io/vdb.h"

#include "status.h"

const char *vdb_version(void)
{
    return "none";
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

firn_status vdb_read(const char *path, const char *grid, double iso, vdb_grid *out)
{
    (void)grid;
    (void)iso;
    *out = (vdb_grid){0};
    return missing(path);
}

void vdb_grid_clear(vdb_grid *grid)
{
    level_set_blocks_clear(&grid->blocks);
    mesh_clear(&grid->mesh);
}
