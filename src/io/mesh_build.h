/* What the readers of mesh formats share: a mesh that grows, and bytes of either order. */
#ifndef FIRN_IO_MESH_BUILD_H
#define FIRN_IO_MESH_BUILD_H

#include "io/scan.h"
#include "shape/mesh.h"

typedef struct mesh_builder {
    triangle_mesh mesh; /* owned */
    size_t vertex_capacity, triangle_capacity;
    uint64_t largest; /* index that a face has named, and the line (0: none) it stood in */
    size_t largest_line;
    size_t corner_count, corner_capacity;
    uint32_t *corners; /* of the polygon being read; owned */
} mesh_builder;

firn_status build_vertex(mesh_builder *b, const double x[3]);

/* A polygon corner by corner, then whole: triangles that do not overlap, also of a polygon that is
 * not convex when its vertices are already known. Fewer than three corners make nothing. `line`
 * may be 0 where the format has none. Whether the indices exist is checked at the end. */
firn_status build_corner(mesh_builder *b, uint64_t index, size_t line);
firn_status build_polygon(mesh_builder *b);

/* Hand over the mesh: indices checked. The builder is empty afterwards, whatever the answer. */
firn_status build_finish(mesh_builder *b, const char *name, triangle_mesh *mesh);
void build_clear(mesh_builder *b);

/* The readers, one format a file. */
firn_status read_obj(const char *name, const char *data, size_t size, mesh_builder *b);
firn_status read_off(const char *name, const char *data, size_t size, mesh_builder *b);
firn_status read_stl(const char *name, const char *data, size_t size, mesh_builder *b);
firn_status read_ply_mesh(const char *name, const char *data, size_t size, mesh_builder *b);

bool is_off(const char *data, size_t size);
bool is_stl(const char *data, size_t size);
bool is_ply(const char *data, size_t size);

/* Numbers in bytes of a known order. */
uint32_t bytes_u32(const char *at, bool big_endian);
float bytes_f32(const char *at, bool big_endian);

#endif
