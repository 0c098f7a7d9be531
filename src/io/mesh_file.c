/* Meshes from files: which format it is, by name and by content. */
#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "io/mesh_build.h"
#include "status.h"

typedef firn_status mesh_reader(const char *name, const char *data, size_t size, mesh_builder *b);

static mesh_reader *find_reader(const char *name, const char *data, size_t size)
{
    const char *dot = strrchr(name, '.');
    dot = dot ? dot : "";
    if (is_ply(data, size) || strcasecmp(dot, ".ply") == 0)
        return read_ply_mesh;
    if (strcasecmp(dot, ".obj") == 0)
        return read_obj;
    if (strcasecmp(dot, ".stl") == 0)
        return read_stl;
    if (strcasecmp(dot, ".off") == 0 || is_off(data, size))
        return read_off;
    return is_stl(data, size) ? read_stl : NULL;
}

firn_status mesh_parse_apart(const char *name, const void *data, size_t size, triangle_mesh *mesh)
{
    *mesh = (triangle_mesh){0};
    mesh_reader *reader = find_reader(name, data, size);
    if (!reader)
        return fail(FIRN_BAD_SCENE, "%s: not a mesh: OBJ, PLY, STL and OFF files are", name);
    mesh_builder b = {0};
    firn_status status = reader(name, data, size, &b);
    if (status == FIRN_OK)
        return build_finish(&b, name, mesh);
    build_clear(&b);
    return status;
}

firn_status mesh_parse(const char *name, const void *data, size_t size, triangle_mesh *mesh)
{
    firn_status status = mesh_parse_apart(name, data, size, mesh);
    if (status != FIRN_OK || mesh_join(mesh, NULL))
        return status;
    mesh_clear(mesh);
    return fail(FIRN_NO_MEMORY, "not enough memory for a mesh");
}

firn_status mesh_load(const char *path, triangle_mesh *mesh)
{
    *mesh = (triangle_mesh){0};
    input in;
    firn_status status = input_open(path, &in);
    if (status != FIRN_OK)
        return status;
    status = mesh_parse(path, in.data, in.size, mesh);
    input_close(&in);
    return status;
}

void mesh_clear(triangle_mesh *mesh)
{
    free(mesh->vertices);
    free(mesh->triangles);
    *mesh = (triangle_mesh){0};
}
