/*
 * Triangle meshes: read from a file, checked, repaired as far as asked.
 *
 * Formats by content and extension: OBJ, PLY, STL, OFF, text and binary where the format has both.
 * Polygons become fans of triangles. Vertices are kept in double, as the file has them; STL's
 * triangles, which share none, are joined where corners are equal to the last bit.
 *
 * Does NOT do: materials, textures, normals (they follow from the triangles); remeshing.
 */
#ifndef FIRN_SHAPE_MESH_H
#define FIRN_SHAPE_MESH_H

#include <stdint.h>

#include "firn/firn.h"

typedef struct triangle_mesh {
    size_t vertex_count;
    double (*vertices)[3]; /* m; owned */
    size_t triangle_count;
    uint32_t (*triangles)[3]; /* counterclockwise seen from outside; owned */
    uint64_t faces;           /* a hash of the polygons that the file lists, by their vertices */
} triangle_mesh;

/* What keeps a mesh from having an inside. */
typedef struct mesh_report {
    size_t boundary_edges;    /* with one triangle: the rim of a hole */
    size_t boundary_loops;    /* holes, by their rims */
    size_t nonmanifold_edges; /* with three triangles or more */
    size_t flipped_edges;     /* whose two triangles disagree on what is outside */
    size_t degenerate;        /* triangles without area */
    size_t unused_vertices;
    size_t components;      /* parts that share no edge */
    double low[3], high[3]; /* box around the triangles */
    double area;            /* m^2 */
    double volume;          /* m^3, signed: negative when the triangles face inward */
} mesh_report;

/* Read a mesh. FIRN_NO_INPUT: cannot be opened; FIRN_BAD_SCENE: file and line (or byte) of what is
 * wrong, among it no triangles, an index out of range, a coordinate that is not finite. */
firn_status mesh_load(const char *path, triangle_mesh *mesh);

/* The same from memory; `name` stands in messages, and its extension helps to tell the format. */
firn_status mesh_parse(const char *name, const void *data, size_t size, triangle_mesh *mesh);

/* The same without joining vertices: they are numbered as the file numbers them. */
firn_status mesh_parse_apart(const char *name, const void *data, size_t size, triangle_mesh *mesh);

/* Join vertices that are equal to the last bit; `now` (NULL, or one entry a vertex) gets their new
 * numbers, which grow with the old ones. False when memory is out. */
bool mesh_join(triangle_mesh *mesh, uint32_t *now);

void mesh_clear(triangle_mesh *mesh);

/* False when memory is out. */
bool mesh_check(const triangle_mesh *mesh, mesh_report *report);

/* FIRN_BAD_SCENE, with counts, when the triangles enclose no volume: open rims, edges with three
 * triangles or more. Flipped triangles and those without area do no harm. */
firn_status mesh_require_closed(const char *name, const mesh_report *report);

/* Turn triangles so that neighbours agree, the smaller number giving way, and so that the whole
 * faces outward; a part that faces the other way than the rest is a cavity. With `close` every hole
 * is filled with a fan around its rim's middle. Triangles that name a vertex twice are dropped. */
firn_status mesh_repair(triangle_mesh *mesh, bool close);

/* The part of mesh_repair that fills holes. False when memory is out. */
bool mesh_fill_holes(triangle_mesh *mesh);

/* The middles of filled holes, which are the vertices from `first` on, for other places `x` of the rest:
 * the mean of the rim, its sides weighted by their length. False when memory is out. */
bool mesh_place_middles(const triangle_mesh *mesh, size_t first, double (*x)[3]);

#endif
