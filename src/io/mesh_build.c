#include "io/mesh_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shape/array.h"
#include "status.h"

static firn_status out_of_memory(void)
{
    return fail(FIRN_NO_MEMORY, "not enough memory for a mesh");
}

firn_status build_vertex(mesh_builder *b, const double x[3])
{
    triangle_mesh *m = &b->mesh;
    if (!array_grow(&m->vertices, &b->vertex_capacity, m->vertex_count, sizeof *m->vertices))
        return out_of_memory();
    for (int i = 0; i < 3; i++)
        m->vertices[m->vertex_count][i] = x[i] + 0.0; /* -0 and 0 are one place */
    m->vertex_count++;
    return FIRN_OK;
}

firn_status build_corner(mesh_builder *b, uint64_t index, size_t line)
{
    if (index >= b->largest) {
        b->largest = index;
        b->largest_line = line;
    }
    if (!array_grow(&b->corners, &b->corner_capacity, b->corner_count, sizeof *b->corners))
        return out_of_memory();
    b->corners[b->corner_count++] = index < UINT32_MAX ? (uint32_t)index : UINT32_MAX;
    return FIRN_OK;
}

/* ---- Polygons -------------------------------------------------------------------------------- */

static firn_status add_triangle(mesh_builder *b, uint32_t i, uint32_t j, uint32_t k)
{
    triangle_mesh *m = &b->mesh;
    if (!array_grow(&m->triangles, &b->triangle_capacity, m->triangle_count, sizeof *m->triangles))
        return out_of_memory();
    memcpy(m->triangles[m->triangle_count++], (uint32_t[3]){i, j, k}, sizeof *m->triangles);
    return FIRN_OK;
}

static void newell_normal(const mesh_builder *b, double n[3])
{
    n[0] = n[1] = n[2] = 0;
    for (size_t k = 0; k < b->corner_count; k++) {
        const double *p = b->mesh.vertices[b->corners[k]];
        const double *q = b->mesh.vertices[b->corners[(k + 1) % b->corner_count]];
        for (int i = 0; i < 3; i++) {
            int u = (i + 1) % 3, v = (i + 2) % 3;
            n[i] += (p[u] - q[u]) * (p[v] + q[v]);
        }
    }
}

/* Twice the area of a triangle seen along n, positive counterclockwise. */
static double turn(const double a[3], const double b[3], const double c[3], const double n[3])
{
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        int u = (i + 1) % 3, v = (i + 2) % 3;
        sum += n[i] * ((b[u] - a[u]) * (c[v] - a[v]) - (b[v] - a[v]) * (c[u] - a[u]));
    }
    return sum;
}

/* Whether corner k can be cut off: it turns the right way and no other corner lies in it. */
static bool is_ear(const mesh_builder *b, size_t k, const double n[3])
{
    size_t count = b->corner_count;
    const double(*v)[3] = (const double(*)[3])b->mesh.vertices;
    uint32_t before = b->corners[(k + count - 1) % count], here = b->corners[k],
             after = b->corners[(k + 1) % count];
    if (turn(v[before], v[here], v[after], n) <= 0)
        return false;
    for (size_t j = 0; j < count; j++) {
        uint32_t other = b->corners[j];
        if (other == before || other == here || other == after)
            continue;
        if (turn(v[before], v[here], v[other], n) >= 0 &&
            turn(v[here], v[after], v[other], n) >= 0 &&
            turn(v[after], v[before], v[other], n) >= 0)
            return false;
    }
    return true;
}

static bool is_convex(const mesh_builder *b, const double n[3])
{
    size_t count = b->corner_count;
    const double(*v)[3] = (const double(*)[3])b->mesh.vertices;
    for (size_t k = 0; k < count; k++)
        if (turn(v[b->corners[k]], v[b->corners[(k + 1) % count]], v[b->corners[(k + 2) % count]],
                 n) < 0)
            return false;
    return true;
}

static firn_status cut_fan(mesh_builder *b)
{
    firn_status status = FIRN_OK;
    for (size_t k = 2; k < b->corner_count && status == FIRN_OK; k++)
        status = add_triangle(b, b->corners[0], b->corners[k - 1], b->corners[k]);
    return status;
}

/* Ear clipping. What has no ear any more, such as a polygon that crosses itself, ends as a fan. */
static firn_status cut_ears(mesh_builder *b, const double n[3])
{
    firn_status status = FIRN_OK;
    while (b->corner_count > 3 && status == FIRN_OK) {
        size_t k = 0;
        while (k < b->corner_count && !is_ear(b, k, n))
            k++;
        if (k == b->corner_count)
            break;
        size_t count = b->corner_count;
        status = add_triangle(b, b->corners[(k + count - 1) % count], b->corners[k],
                              b->corners[(k + 1) % count]);
        memmove(b->corners + k, b->corners + k + 1, (count - k - 1) * sizeof *b->corners);
        b->corner_count--;
    }
    return status == FIRN_OK ? cut_fan(b) : status;
}

firn_status build_polygon(mesh_builder *b)
{
    enum { MOST_EARS = 1000 }; /* corners: their cost grows with the cube of their number */
    bool known = true;
    uint64_t *faces = &b->mesh.faces;
    for (size_t k = 0; k < b->corner_count; k++) {
        known = known && b->corners[k] < b->mesh.vertex_count;
        *faces = (*faces ^ b->corners[k]) * 0x100000001b3u;
    }
    *faces = (*faces ^ b->corner_count << 32) * 0x100000001b3u;
    double n[3];
    firn_status status = FIRN_OK;
    if (b->corner_count > 3 && b->corner_count <= MOST_EARS && known) {
        newell_normal(b, n);
        status = is_convex(b, n) ? cut_fan(b) : cut_ears(b, n);
    } else {
        status = cut_fan(b);
    }
    b->corner_count = 0;
    return status;
}

/* ---- Finishing ------------------------------------------------------------------------------- */

static uint64_t place_hash(const double x[3])
{
    uint64_t bits[3];
    memcpy(bits, x, sizeof bits);
    uint64_t h = bits[0] * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29 ^ bits[1]) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 32 ^ bits[2]) * 0x94d049bb133111ebu;
    return h ^ h >> 29;
}

/* Formats without shared vertices, and seams. */
bool mesh_join(triangle_mesh *m, uint32_t *numbers)
{
    size_t slots = 1;
    while (slots < 2 * m->vertex_count)
        slots *= 2;
    uint32_t *table = malloc(slots * sizeof *table), kept = 0;
    uint32_t *now = malloc((m->vertex_count + 1) * sizeof *now);
    if (!table || !now) {
        free(table);
        free(now);
        return false;
    }
    memset(table, 0xFF, slots * sizeof *table);
    for (size_t v = 0; v < m->vertex_count; v++) {
        size_t slot = place_hash(m->vertices[v]) & (slots - 1);
        while (table[slot] != UINT32_MAX &&
               memcmp(m->vertices[table[slot]], m->vertices[v], sizeof *m->vertices) != 0)
            slot = (slot + 1) & (slots - 1);
        if (table[slot] == UINT32_MAX) {
            memmove(m->vertices[kept], m->vertices[v], sizeof *m->vertices);
            table[slot] = kept++;
        }
        now[v] = table[slot];
    }
    for (size_t t = 0; t < m->triangle_count; t++)
        for (int k = 0; k < 3; k++)
            m->triangles[t][k] = now[m->triangles[t][k]];
    if (numbers)
        memcpy(numbers, now, m->vertex_count * sizeof *now);
    m->vertex_count = kept;
    free(table);
    free(now);
    return true;
}

static firn_status check_indices(const mesh_builder *b, const char *name)
{
    size_t vertices = b->mesh.vertex_count;
    if (vertices >= UINT32_MAX || b->mesh.triangle_count >= UINT32_MAX)
        return fail(FIRN_BAD_SCENE, "%s: more than 4 billion vertices or triangles", name);
    if (b->mesh.triangle_count == 0)
        return fail(FIRN_BAD_SCENE, "%s: no triangles: the file has %zu vertices and no face", name,
                    vertices);
    if (b->largest < vertices)
        return FIRN_OK;
    if (b->largest_line == 0)
        return fail(FIRN_BAD_SCENE, "%s: a face names vertex %llu (from 0), but there are only %zu",
                    name, (unsigned long long)b->largest, vertices);
    return fail(FIRN_BAD_SCENE, "%s:%zu: a face names vertex %llu (from 0), but there are only %zu",
                name, b->largest_line, (unsigned long long)b->largest, vertices);
}

firn_status build_finish(mesh_builder *b, const char *name, triangle_mesh *mesh)
{
    firn_status status = check_indices(b, name);
    if (status == FIRN_OK) {
        *mesh = b->mesh;
        b->mesh = (triangle_mesh){0};
    }
    build_clear(b);
    return status;
}

void build_clear(mesh_builder *b)
{
    mesh_clear(&b->mesh);
    free(b->corners);
    *b = (mesh_builder){0};
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

uint32_t bytes_u32(const char *at, bool big_endian)
{
    const unsigned char *b = (const unsigned char *)at;
    if (big_endian)
        return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    return (uint32_t)b[3] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
}

float bytes_f32(const char *at, bool big_endian)
{
    uint32_t bits = bytes_u32(at, big_endian);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
