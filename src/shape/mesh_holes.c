/* Holes filled by fans: from every edge of the rim a triangle to the rim's middle. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shape/array.h"
#include "shape/mesh_edges.h"

/* The rims' sides, sorted by where the filling triangle, which goes the other way, starts. */
typedef struct rim_side {
    uint32_t from, to;
    bool done;
} rim_side;

typedef struct hole_filler {
    triangle_mesh *mesh;
    size_t side_count;
    rim_side *sides; /* owned */
    size_t loop_count, loop_capacity;
    uint32_t *loop; /* vertices of the rim being followed; owned */
    size_t vertex_capacity, triangle_capacity;
} hole_filler;

static int by_start(const void *a, const void *b)
{
    const rim_side *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

static bool find_sides(hole_filler *f)
{
    mesh_edges e;
    if (!edges_create(f->mesh, &e))
        return false;
    f->sides = malloc((e.count + 1) * sizeof *f->sides);
    for (size_t n = 0, sides; n < e.count && f->sides; n += sides) {
        const edge_use *use = &e.uses[n];
        sides = edge_sides(&e, n);
        if (sides == 1)
            f->sides[f->side_count++] = use->forward ? (rim_side){use->high, use->low, false}
                                                     : (rim_side){use->low, use->high, false};
    }
    edges_clear(&e);
    if (f->sides)
        qsort(f->sides, f->side_count, sizeof *f->sides, by_start);
    return f->sides != NULL;
}

/* A side that starts at a vertex and was not followed yet, or NULL. */
static rim_side *side_from(hole_filler *f, uint32_t vertex)
{
    size_t low = 0, high = f->side_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (f->sides[middle].from < vertex)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < f->side_count && f->sides[low].from == vertex; low++)
        if (!f->sides[low].done)
            return &f->sides[low];
    return NULL;
}

static bool add_triangle(hole_filler *f, uint32_t a, uint32_t b, uint32_t c)
{
    triangle_mesh *m = f->mesh;
    if (!array_grow(&m->triangles, &f->triangle_capacity, m->triangle_count, sizeof *m->triangles))
        return false;
    memcpy(m->triangles[m->triangle_count++], (uint32_t[3]){a, b, c}, sizeof *m->triangles);
    return true;
}

/* A vertex whose place follows from the rim's, when all holes are filled. */
static bool add_middle(hole_filler *f)
{
    triangle_mesh *m = f->mesh;
    if (!array_grow(&m->vertices, &f->vertex_capacity, m->vertex_count, sizeof *m->vertices))
        return false;
    memset(m->vertices[m->vertex_count++], 0, sizeof *m->vertices);
    return true;
}

static bool fill_loop(hole_filler *f)
{
    if (f->loop_count < 3)
        return true;
    if (f->loop_count == 3)
        return add_triangle(f, f->loop[0], f->loop[1], f->loop[2]);
    bool ok = add_middle(f);
    uint32_t middle = (uint32_t)f->mesh->vertex_count - 1;
    for (size_t k = 0; k < f->loop_count && ok; k++)
        ok = add_triangle(f, f->loop[k], f->loop[(k + 1) % f->loop_count], middle);
    return ok;
}

/* Follow a rim back to its start. One that gets stuck, because its triangles disagree on what is
 * outside, is filled as if it closed. */
static bool follow(hole_filler *f, rim_side *side)
{
    f->loop_count = 0;
    while (side) {
        side->done = true;
        if (!array_grow(&f->loop, &f->loop_capacity, f->loop_count, sizeof *f->loop))
            return false;
        f->loop[f->loop_count++] = side->from;
        side = side->to == f->loop[0] ? NULL : side_from(f, side->to);
    }
    return fill_loop(f);
}

bool mesh_fill_holes(triangle_mesh *mesh)
{
    hole_filler f = {.mesh = mesh,
                     .vertex_capacity = mesh->vertex_count,
                     .triangle_capacity = mesh->triangle_count};
    size_t first = mesh->vertex_count;
    bool ok = find_sides(&f);
    for (size_t n = 0; n < f.side_count && ok; n++)
        if (!f.sides[n].done)
            ok = follow(&f, &f.sides[n]);
    free(f.sides);
    free(f.loop);
    return ok && mesh_place_middles(mesh, first, mesh->vertices);
}

/* The two other corners of a triangle of a fan, and its middle; false for triangles of the mesh. */
static bool fan_of(const uint32_t triangle[3], size_t first, uint32_t *middle, uint32_t rim[2])
{
    for (int k = 0; k < 3; k++)
        if (triangle[k] >= first) {
            *middle = triangle[k];
            rim[0] = triangle[(k + 1) % 3];
            rim[1] = triangle[(k + 2) % 3];
            return true;
        }
    return false;
}

bool mesh_place_middles(const triangle_mesh *m, size_t first, double (*x)[3])
{
    double *whole = calloc(m->vertex_count - first + 1, sizeof *whole);
    if (!whole)
        return false;
    for (size_t v = first; v < m->vertex_count; v++)
        memset(x[v], 0, sizeof *x);
    uint32_t middle, rim[2];
    for (size_t t = 0; t < m->triangle_count; t++) {
        if (!fan_of(m->triangles[t], first, &middle, rim))
            continue;
        const double *a = x[rim[0]], *b = x[rim[1]];
        double length = sqrt((b[0] - a[0]) * (b[0] - a[0]) + (b[1] - a[1]) * (b[1] - a[1]) +
                             (b[2] - a[2]) * (b[2] - a[2]));
        length = fmax(length, DBL_MIN); /* a rim that shrank to a point has its middle there */
        whole[middle - first] += length;
        for (int i = 0; i < 3; i++)
            x[middle][i] += length * (a[i] + b[i]) / 2;
    }
    for (size_t v = first; v < m->vertex_count; v++)
        for (int i = 0; i < 3; i++)
            x[v][i] /= whole[v - first];
    free(whole);
    return true;
}
