/* Meshes for tests. All are owned by the caller (mesh_clear). */
#ifndef FIRN_TESTS_SHAPE_MAKE_MESH_H
#define FIRN_TESTS_SHAPE_MAKE_MESH_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shape/mesh.h"

static inline triangle_mesh mesh_room(size_t vertices, size_t triangles)
{
    triangle_mesh m = {.vertices = malloc(vertices * sizeof *m.vertices),
                       .triangles = malloc(triangles * sizeof *m.triangles)};
    if (!m.vertices || !m.triangles)
        abort();
    return m;
}

static inline void add_point(triangle_mesh *m, double x, double y, double z)
{
    memcpy(m->vertices[m->vertex_count++], (double[3]){x, y, z}, sizeof *m->vertices);
}

static inline void add_face(triangle_mesh *m, uint32_t a, uint32_t b, uint32_t c)
{
    memcpy(m->triangles[m->triangle_count++], (uint32_t[3]){a, b, c}, sizeof *m->triangles);
}

/* A ball of `rings` bands of latitude: 4 rings (rings - 1) triangles. */
static inline triangle_mesh ball_mesh(uint32_t rings, double radius)
{
    uint32_t around = 2 * rings;
    triangle_mesh m = mesh_room((rings - 1) * around + 2, 2 * (rings - 1) * around);
    add_point(&m, 0, radius, 0);
    for (uint32_t i = 1; i < rings; i++)
        for (uint32_t j = 0; j < around; j++) {
            double down = M_PI * i / rings, turn = 2 * M_PI * j / around;
            add_point(&m, radius * sin(down) * sin(turn), radius * cos(down),
                      radius * sin(down) * cos(turn));
        }
    add_point(&m, 0, -radius, 0);
    for (uint32_t j = 0; j < around; j++) {
        uint32_t k = (j + 1) % around, last = 1 + (rings - 2) * around;
        add_face(&m, 0, 1 + j, 1 + k);
        for (uint32_t i = 0; i + 2 < rings; i++) {
            uint32_t a = 1 + i * around + j, b = 1 + i * around + k;
            add_face(&m, a, a + around, b);
            add_face(&m, b, a + around, b + around);
        }
        add_face(&m, last + j, (uint32_t)m.vertex_count - 1, last + k);
    }
    return m;
}

/* A tube about the y axis whose cross section is a circle: `radius` to its middle. */
static inline triangle_mesh torus_mesh(uint32_t steps, double radius, double thickness)
{
    triangle_mesh m = mesh_room(steps * steps, 2 * steps * steps);
    for (uint32_t i = 0; i < steps; i++)
        for (uint32_t j = 0; j < steps; j++) {
            double u = 2 * M_PI * i / steps, v = 2 * M_PI * j / steps;
            double out = radius + thickness * cos(v);
            add_point(&m, out * cos(u), thickness * sin(v), out * sin(u));
        }
    for (uint32_t i = 0; i < steps; i++)
        for (uint32_t j = 0; j < steps; j++) {
            uint32_t k = (i + 1) % steps, l = (j + 1) % steps;
            add_face(&m, i * steps + j, i * steps + l, k * steps + j);
            add_face(&m, k * steps + j, i * steps + l, k * steps + l);
        }
    return m;
}

/* A box of two triangles a side, low corner first. */
static inline triangle_mesh box_mesh(double x, double y, double z)
{
    static const uint32_t sides[12][3] = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6},
                                          {0, 1, 4}, {1, 5, 4}, {2, 6, 3}, {3, 6, 7},
                                          {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
    triangle_mesh m = mesh_room(8, 12);
    for (int c = 0; c < 8; c++)
        add_point(&m, c & 1 ? x : -x, c & 2 ? y : -y, c & 4 ? z : -z);
    for (int t = 0; t < 12; t++)
        add_face(&m, sides[t][0], sides[t][1], sides[t][2]);
    return m;
}

/* Both, as one mesh; the second turned inside out if asked. Takes ownership. */
static inline triangle_mesh both_meshes(triangle_mesh a, triangle_mesh b, bool turned)
{
    triangle_mesh m =
        mesh_room(a.vertex_count + b.vertex_count, a.triangle_count + b.triangle_count);
    for (size_t v = 0; v < a.vertex_count; v++)
        add_point(&m, a.vertices[v][0], a.vertices[v][1], a.vertices[v][2]);
    for (size_t v = 0; v < b.vertex_count; v++)
        add_point(&m, b.vertices[v][0], b.vertices[v][1], b.vertices[v][2]);
    for (size_t t = 0; t < a.triangle_count; t++)
        add_face(&m, a.triangles[t][0], a.triangles[t][1], a.triangles[t][2]);
    uint32_t first = (uint32_t)a.vertex_count;
    for (size_t t = 0; t < b.triangle_count; t++)
        add_face(&m, first + b.triangles[t][0], first + b.triangles[t][turned ? 2 : 1],
                 first + b.triangles[t][turned ? 1 : 2]);
    mesh_clear(&a);
    mesh_clear(&b);
    return m;
}

static inline void move_mesh(triangle_mesh *m, double x, double y, double z)
{
    for (size_t v = 0; v < m->vertex_count; v++) {
        m->vertices[v][0] += x;
        m->vertices[v][1] += y;
        m->vertices[v][2] += z;
    }
}

#endif
