#include "shape/mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shape/mesh_edges.h"
#include "status.h"

/* ---- Measuring ------------------------------------------------------------------------------- */

/* The area vector of a triangle: its normal, as long as its area. */
static void area_vector(const triangle_mesh *m, size_t t, double n[3])
{
    const double *a = m->vertices[m->triangles[t][0]], *b = m->vertices[m->triangles[t][1]],
                 *c = m->vertices[m->triangles[t][2]];
    for (int i = 0; i < 3; i++) {
        int u = (i + 1) % 3, v = (i + 2) % 3;
        n[i] = ((b[u] - a[u]) * (c[v] - a[v]) - (b[v] - a[v]) * (c[u] - a[u])) / 2;
    }
}

/* The signed volume of the cone from `tip` to a triangle. */
static double cone_volume(const triangle_mesh *m, size_t t, const double tip[3])
{
    double n[3], sum = 0;
    const double *a = m->vertices[m->triangles[t][0]];
    area_vector(m, t, n);
    for (int i = 0; i < 3; i++)
        sum += n[i] * (a[i] - tip[i]) / 3;
    return sum;
}

static void measure(const triangle_mesh *m, mesh_report *r)
{
    for (int i = 0; i < 3; i++) {
        r->low[i] = INFINITY;
        r->high[i] = -INFINITY;
    }
    for (size_t t = 0; t < m->triangle_count; t++)
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < 3; i++) {
                double x = m->vertices[m->triangles[t][k]][i];
                r->low[i] = fmin(r->low[i], x);
                r->high[i] = fmax(r->high[i], x);
            }
    for (size_t t = 0; t < m->triangle_count; t++) {
        double n[3];
        area_vector(m, t, n);
        double area = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        r->degenerate += !(area > 0);
        r->area += area;
        r->volume += cone_volume(m, t, r->low);
    }
}

static bool count_unused(const triangle_mesh *m, mesh_report *r)
{
    uint8_t *used = calloc(m->vertex_count + 1, 1);
    if (!used)
        return false;
    for (size_t t = 0; t < m->triangle_count; t++)
        for (int k = 0; k < 3; k++)
            used[m->triangles[t][k]] = 1;
    for (size_t v = 0; v < m->vertex_count; v++)
        r->unused_vertices += !used[v];
    free(used);
    return true;
}

static size_t count_roots(joined_sets *s, const uint8_t *counts)
{
    size_t roots = 0;
    for (size_t n = 0; n < s->count; n++)
        roots += s->parent[n] == n && (!counts || counts[n]);
    return roots;
}

/* Open edges, and how many loops they form: their vertices, joined along them. */
static bool count_boundary(const triangle_mesh *m, const mesh_edges *e, mesh_report *r)
{
    joined_sets rims;
    uint8_t *on_rim = calloc(m->vertex_count + 1, 1);
    bool ok = on_rim && sets_create(m->vertex_count, &rims);
    for (size_t n = 0, sides; n < e->count && ok; n += sides) {
        sides = edge_sides(e, n);
        if (sides > 1)
            continue;
        r->boundary_edges++;
        on_rim[e->uses[n].low] = on_rim[e->uses[n].high] = 1;
        sets_join(&rims, e->uses[n].low, e->uses[n].high, 0);
    }
    if (ok) {
        r->boundary_loops = count_roots(&rims, on_rim);
        sets_clear(&rims);
    }
    free(on_rim);
    return ok;
}

bool mesh_check(const triangle_mesh *mesh, mesh_report *report)
{
    *report = (mesh_report){0};
    mesh_edges e;
    joined_sets parts = {0};
    if (!edges_create(mesh, &e))
        return false;
    bool ok = sets_create(mesh->triangle_count, &parts) && count_unused(mesh, report) &&
              count_boundary(mesh, &e, report);
    for (size_t n = 0, sides; n < e.count && ok; n += sides) {
        sides = edge_sides(&e, n);
        report->nonmanifold_edges += sides > 2;
        report->flipped_edges += sides == 2 && e.uses[n].forward == e.uses[n + 1].forward;
        for (size_t k = 1; k < sides; k++)
            sets_join(&parts, e.uses[n].triangle, e.uses[n + k].triangle, 0);
    }
    if (ok) {
        measure(mesh, report);
        report->components = count_roots(&parts, NULL);
    }
    sets_clear(&parts);
    edges_clear(&e);
    return ok;
}

firn_status mesh_require_closed(const char *name, const mesh_report *r)
{
    if (r->boundary_edges == 0 && r->nonmanifold_edges == 0)
        return FIRN_OK;
    char *open = r->boundary_edges
                     ? text_format("%zu boundary edges around %zu hole%s", r->boundary_edges,
                                   r->boundary_loops, r->boundary_loops == 1 ? "" : "s")
                     : text_copy("");
    char *split = r->nonmanifold_edges
                      ? text_format("%zu non-manifold edges (of three triangles or more)",
                                    r->nonmanifold_edges)
                      : text_copy("");
    fail(FIRN_BAD_SCENE,
         "%s: the mesh has no clear inside: %s%s%s; repair it, or fill what is open with `close: "
         "true`, or make it a wall with `shell: THICKNESS`",
         name, open, *open && *split ? " and " : "", split);
    free(open);
    free(split);
    return FIRN_BAD_SCENE;
}

/* ---- Repairing ------------------------------------------------------------------------------- */

static void drop_degenerate(triangle_mesh *m)
{
    size_t kept = 0;
    for (size_t t = 0; t < m->triangle_count; t++) {
        const uint32_t *v = m->triangles[t];
        if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0])
            continue;
        memmove(m->triangles[kept++], v, sizeof *m->triangles);
    }
    m->triangle_count = kept;
}

static void flip(uint32_t triangle[3])
{
    uint32_t second = triangle[1];
    triangle[1] = triangle[2];
    triangle[2] = second;
}

/* Neighbours agree when they pass their edge in opposite ways. Within a part the larger number of
 * triangles keeps its turn. */
static bool orient(triangle_mesh *m, const mesh_edges *e)
{
    joined_sets parts;
    int64_t *balance = calloc(m->triangle_count + 1, sizeof *balance);
    if (!balance || !sets_create(m->triangle_count, &parts)) {
        free(balance);
        return false;
    }
    for (size_t n = 0, sides; n < e->count; n += sides) {
        sides = edge_sides(e, n);
        if (sides == 2)
            sets_join(&parts, e->uses[n].triangle, e->uses[n + 1].triangle,
                      e->uses[n].forward == e->uses[n + 1].forward);
    }
    uint8_t turned;
    for (size_t t = 0; t < m->triangle_count; t++) {
        uint32_t root = sets_root(&parts, (uint32_t)t, &turned);
        balance[root] += turned ? -1 : 1;
    }
    for (size_t t = 0; t < m->triangle_count; t++) {
        uint32_t root = sets_root(&parts, (uint32_t)t, &turned);
        if (turned != (balance[root] < 0))
            flip(m->triangles[t]);
    }
    sets_clear(&parts);
    free(balance);
    return true;
}

static void face_outward(triangle_mesh *m)
{
    double volume = 0;
    for (size_t t = 0; t < m->triangle_count; t++)
        volume += cone_volume(m, t, m->vertices[0]);
    for (size_t t = 0; t < m->triangle_count && volume < 0; t++)
        flip(m->triangles[t]);
}

firn_status mesh_repair(triangle_mesh *mesh, bool close)
{
    drop_degenerate(mesh);
    mesh_edges e;
    bool ok = edges_create(mesh, &e);
    if (ok) {
        ok = orient(mesh, &e);
        edges_clear(&e);
    }
    if (ok && close)
        ok = mesh_fill_holes(mesh);
    if (!ok)
        return fail(FIRN_NO_MEMORY, "not enough memory to repair a mesh");
    if (mesh->vertex_count)
        face_outward(mesh);
    return FIRN_OK;
}
