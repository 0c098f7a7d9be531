/* Meshes in PLY: the elements vertex (x, y, z) and face (vertex_indices). */
#include <math.h>
#include <string.h>

#include "io/mesh_build.h"
#include "io/ply_read.h"
#include "status.h"

bool is_ply(const char *data, size_t size)
{
    return size > 4 && memcmp(data, "ply", 3) == 0 && (data[3] == '\n' || data[3] == '\r');
}

static firn_status read_vertices(ply_file *f, const ply_element *e, mesh_builder *b)
{
    const int column[3] = {ply_find(e, "x"), ply_find(e, "y"), ply_find(e, "z")};
    if (column[0] < 0 || column[1] < 0 || column[2] < 0)
        return fail(FIRN_BAD_SCENE, "%s: element vertex has no x, y and z", f->at.name);
    double row[PLY_MOST_PROPERTIES];
    firn_status status = FIRN_OK;
    for (uint64_t n = 0; n < e->count && status == FIRN_OK; n++) {
        status = ply_row(f, e, -1, row);
        const double x[3] = {row[column[0]], row[column[1]], row[column[2]]};
        if (status == FIRN_OK && !(isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2])))
            return fail(FIRN_BAD_SCENE, "%s: vertex %llu (from 0) is not finite", f->at.name,
                        (unsigned long long)n);
        if (status == FIRN_OK)
            status = build_vertex(b, x);
    }
    return status;
}

static firn_status read_faces(ply_file *f, const ply_element *e, mesh_builder *b)
{
    int corners = ply_find(e, "vertex_indices");
    if (corners < 0)
        corners = ply_find(e, "vertex_index");
    if (corners < 0 || !e->properties[corners].is_list)
        return fail(FIRN_BAD_SCENE, "%s: element face has no list vertex_indices", f->at.name);
    double row[PLY_MOST_PROPERTIES];
    firn_status status = FIRN_OK;
    for (uint64_t n = 0; n < e->count && status == FIRN_OK; n++) {
        size_t line = f->format == PLY_TEXT ? f->at.line : 0;
        status = ply_row(f, e, corners, row);
        for (size_t k = 0; k < f->list_count && status == FIRN_OK; k++) {
            if (!(f->list[k] >= 0 && f->list[k] < 0x1p53))
                return fail(FIRN_BAD_SCENE, "%s: face %llu (from 0) names vertex %g", f->at.name,
                            (unsigned long long)n, f->list[k]);
            status = build_corner(b, (uint64_t)f->list[k], line);
        }
        if (status == FIRN_OK)
            status = build_polygon(b);
    }
    return status;
}

firn_status read_ply_mesh(const char *name, const char *data, size_t size, mesh_builder *b)
{
    ply_file f;
    firn_status status = ply_open(name, data, size, &f);
    for (int n = 0; n < f.element_count && status == FIRN_OK; n++) {
        const ply_element *e = &f.elements[n];
        if (strcmp(e->name, "vertex") == 0)
            status = read_vertices(&f, e, b);
        else if (strcmp(e->name, "face") == 0)
            status = read_faces(&f, e, b);
        else
            status = ply_skip(&f, e);
    }
    ply_close(&f);
    return status;
}
