/*
 * Signed distance to triangles by dual contouring (Ju et al. 2002): every cell of a grid that the surface
 * passes through has one vertex, placed where the planes met at the cell's edges agree best, so that flat
 * faces stay flat and corners sharp; every edge that the surface cuts joins the four cells around it.
 */
#include <stdlib.h>

#include "render/surface_body.h"
#include "status.h"

enum { LONGEST = 128, THINNEST = 10, MOST_NODES = 6000000, PATCH = 8 };

typedef struct contour {
    const surface_set *set;
    const surface_body *body;
    surface_mesh *mesh;
    vec3 low;         /* node (0, 0, 0) */
    float cell;       /* m */
    int size[3];      /* nodes */
    float *phi;       /* at the nodes */
    uint32_t *vertex; /* of the cell above each node, + 1; 0: none */
    uint32_t *cells;  /* of the vertices */
} contour;

static size_t node_at(const contour *c, int i, int j, int k)
{
    return ((size_t)i * (size_t)c->size[1] + (size_t)j) * (size_t)c->size[2] + (size_t)k;
}

static vec3 node_place(const contour *c, float i, float j, float k)
{
    return vec_add(c->low, vec_scale((vec3){i, j, k}, c->cell));
}

/* ---- The grid ----------------------------------------------------------------------------------- */

static void choose_grid(contour *c)
{
    double longest = 0, shortest = INFINITY, volume = 1, extent[3];
    for (int a = 0; a < 3; a++) {
        extent[a] = fmax(c->body->high[a] - c->body->low[a], 1e-6);
        longest = fmax(longest, extent[a]);
        shortest = fmin(shortest, extent[a]);
    }
    double cell = fmin(longest / LONGEST, shortest / THINNEST);
    for (int a = 0; a < 3; a++)
        volume *= extent[a] + 4 * cell;
    cell = fmax(cell, cbrt(volume / MOST_NODES));
    float *low[3] = {&c->low.x, &c->low.y, &c->low.z};
    for (int a = 0; a < 3; a++) {
        c->size[a] = (int)ceil(extent[a] / cell) + 4;
        double middle = (c->body->low[a] + c->body->high[a]) / 2 - c->set->origin[a];
        *low[a] = (float)(middle - 0.5 * (c->size[a] - 1) * cell);
    }
    c->cell = (float)cell;
}

/* Patches that the surface cannot reach are given the distance of their middle. */
static void fill_patch(contour *c, const int from[3])
{
    int to[3];
    for (int a = 0; a < 3; a++)
        to[a] = from[a] + PATCH < c->size[a] ? from[a] + PATCH : c->size[a];
    const float half = 0.5f * (PATCH - 1);
    vec3 middle =
        node_place(c, (float)from[0] + half, (float)from[1] + half, (float)from[2] + half);
    float away = (float)body_distance(c->set, c->body, middle);
    bool near = fabsf(away) < 1.8f * (half + 1) * c->cell; /* sqrt(3), and a cell more */
    for (int i = from[0]; i < to[0]; i++)
        for (int j = from[1]; j < to[1]; j++)
            for (int k = from[2]; k < to[2]; k++) {
                vec3 x = node_place(c, (float)i, (float)j, (float)k);
                c->phi[node_at(c, i, j, k)] =
                    near ? (float)body_distance(c->set, c->body, x) : away;
            }
}

static void fill_grid(contour *c)
{
    int patches[3];
    for (int a = 0; a < 3; a++)
        patches[a] = (c->size[a] + PATCH - 1) / PATCH;
    int count = patches[0] * patches[1] * patches[2];
#pragma omp parallel for schedule(dynamic, 8)
    for (int p = 0; p < count; p++) {
        const int from[3] = {p / (patches[1] * patches[2]) * PATCH,
                             p / patches[2] % patches[1] * PATCH, p % patches[2] * PATCH};
        fill_patch(c, from);
    }
}

/* ---- Vertices ----------------------------------------------------------------------------------- */

static bool is_inside(float phi)
{
    return phi <= 0;
}

static void cell_corners(const contour *c, size_t cell, int at[3], float phi[8])
{
    size_t plane = (size_t)c->size[1] * (size_t)c->size[2];
    at[0] = (int)(cell / plane);
    at[1] = (int)(cell / (size_t)c->size[2] % (size_t)c->size[1]);
    at[2] = (int)(cell % (size_t)c->size[2]);
    for (int n = 0; n < 8; n++)
        phi[n] = c->phi[node_at(c, at[0] + (n >> 2), at[1] + (n >> 1 & 1), at[2] + (n & 1))];
}

static bool is_cut(const contour *c, int i, int j, int k)
{
    int inside = 0;
    for (int n = 0; n < 8; n++)
        inside += is_inside(c->phi[node_at(c, i + (n >> 2), j + (n >> 1 & 1), k + (n & 1))]);
    return inside > 0 && inside < 8;
}

/* Numbers the cells that the surface cuts. */
static void number_cells(contour *c)
{
    size_t count = 0;
    for (int i = 0; i + 1 < c->size[0]; i++)
        for (int j = 0; j + 1 < c->size[1]; j++)
            for (int k = 0; k + 1 < c->size[2]; k++)
                if (is_cut(c, i, j, k)) {
                    size_t cell = node_at(c, i, j, k);
                    c->cells[count++] = (uint32_t)cell;
                    c->vertex[cell] = (uint32_t)count;
                }
    c->mesh->vertex_count = count;
}

/* Least squares of planes: sum n n^T, sum n (n . p), and a pull towards the middle of the points. */
typedef struct planes {
    float a[6], b[3]; /* xx xy xz yy yz zz */
    int count;
    vec3 sum;
} planes;

static void planes_add(planes *q, vec3 p, vec3 n)
{
    float along = vec_dot(n, p);
    q->a[0] += n.x * n.x, q->a[1] += n.x * n.y, q->a[2] += n.x * n.z;
    q->a[3] += n.y * n.y, q->a[4] += n.y * n.z, q->a[5] += n.z * n.z;
    q->b[0] += n.x * along, q->b[1] += n.y * along, q->b[2] += n.z * along;
    q->sum = vec_add(q->sum, p);
    q->count++;
}

static vec3 planes_meet(const planes *q)
{
    const float pull = 0.02f;
    vec3 m = vec_scale(q->sum, 1 / (float)q->count);
    float xx = q->a[0] + pull, xy = q->a[1], xz = q->a[2], yy = q->a[3] + pull, yz = q->a[4],
          zz = q->a[5] + pull;
    float bx = q->b[0] + pull * m.x, by = q->b[1] + pull * m.y, bz = q->b[2] + pull * m.z;
    float cx = yy * zz - yz * yz, cy = xz * yz - xy * zz, cz = xy * yz - xz * yy;
    float determinant = xx * cx + xy * cy + xz * cz;
    float ex = xx * zz - xz * xz, ey = xy * xz - xx * yz, ez = xx * yy - xy * xy;
    vec3 solution = {cx * bx + cy * by + cz * bz, cy * bx + ex * by + ey * bz,
                     cz * bx + ey * by + ez * bz};
    return vec_scale(solution, 1 / determinant);
}

static vec3 body_normal(const contour *c, vec3 x)
{
    static const vec3 corner[4] = {{1, -1, -1}, {-1, -1, 1}, {-1, 1, -1}, {1, 1, 1}};
    vec3 gradient = {0, 0, 0};
    for (int i = 0; i < 4; i++) {
        vec3 near = vec_add(x, vec_scale(corner[i], 0.02f * c->cell));
        float phi = (float)body_distance(c->set, c->body, near);
        gradient = vec_add(gradient, vec_scale(corner[i], phi));
    }
    float length = vec_length(gradient);
    return length > 0 ? vec_scale(gradient, 1 / length) : (vec3){0, 1, 0};
}

/* In units of the cell, from its low corner. */
static vec3 corner_of(int n)
{
    return (vec3){(float)(n >> 2), (float)(n >> 1 & 1), (float)(n & 1)};
}

static vec3 cell_vertex(const contour *c, size_t cell)
{
    static const int edge[12][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3},
                                    {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};
    int at[3];
    float phi[8];
    planes q = {.count = 0};
    cell_corners(c, cell, at, phi);
    vec3 low = node_place(c, (float)at[0], (float)at[1], (float)at[2]);
    for (int e = 0; e < 12; e++) {
        float p0 = phi[edge[e][0]], p1 = phi[edge[e][1]];
        if (is_inside(p0) == is_inside(p1))
            continue;
        vec3 p = vec_mix(corner_of(edge[e][0]), corner_of(edge[e][1]), p0 / (p0 - p1));
        planes_add(&q, p, body_normal(c, vec_add(low, vec_scale(p, c->cell))));
    }
    vec3 v = planes_meet(&q);
    v = (vec3){clamp01(v.x), clamp01(v.y), clamp01(v.z)};
    return vec_add(low, vec_scale(v, c->cell));
}

/* ---- Triangles ---------------------------------------------------------------------------------- */

static void add_quad(contour *c, const uint32_t v[4], bool flip)
{
    uint32_t(*t)[3] = c->mesh->triangles + c->mesh->triangle_count;
    for (int n = 0; n < 2; n++) {
        t[n][0] = v[0] - 1;
        t[n][1] = v[flip ? 2 + n : 1 + n] - 1;
        t[n][2] = v[flip ? 1 + n : 2 + n] - 1;
    }
    c->mesh->triangle_count += 2;
}

/* The edge that leaves a node along `axis`, if the surface cuts it, joins the cells around it. The
 * margin keeps such edges away from the first nodes. */
static void join_edge(contour *c, const int at[3], int axis)
{
    int other[3] = {at[0], at[1], at[2]};
    other[axis]++;
    if (other[axis] >= c->size[axis])
        return;
    bool inside = is_inside(c->phi[node_at(c, at[0], at[1], at[2])]);
    if (inside == is_inside(c->phi[node_at(c, other[0], other[1], other[2])]))
        return;
    int u = (axis + 1) % 3, w = (axis + 2) % 3;
    if (at[u] == 0 || at[w] == 0)
        return;
    uint32_t v[4];
    for (int n = 0; n < 4; n++) {
        int cell[3] = {at[0], at[1], at[2]};
        cell[u] -= n == 0 || n == 3;
        cell[w] -= n == 0 || n == 1;
        v[n] = c->vertex[node_at(c, cell[0], cell[1], cell[2])];
    }
    if (v[0] && v[1] && v[2] && v[3])
        add_quad(c, v, !inside);
}

static firn_status make_triangles(contour *c)
{
    surface_mesh *m = c->mesh;
    size_t room = 6 * m->vertex_count + 1; /* a cell owns three edges, an edge two triangles */
    m->triangles = malloc(room * sizeof *m->triangles);
    if (!m->triangles)
        return fail(FIRN_NO_MEMORY, "no memory for the surfaces of a picture");
    for (size_t n = 0; n < m->vertex_count; n++) {
        int at[3];
        float phi[8];
        cell_corners(c, c->cells[n], at, phi);
        for (int axis = 0; axis < 3; axis++)
            join_edge(c, at, axis);
    }
    return FIRN_OK;
}

static firn_status contour_body(contour *c)
{
    size_t nodes = (size_t)c->size[0] * (size_t)c->size[1] * (size_t)c->size[2];
    c->phi = malloc(nodes * sizeof *c->phi);
    c->vertex = calloc(nodes, sizeof *c->vertex);
    c->cells = malloc(nodes * sizeof *c->cells);
    if (!c->phi || !c->vertex || !c->cells)
        return fail(FIRN_NO_MEMORY, "no memory for the surfaces of a picture");
    fill_grid(c);
    number_cells(c);
    surface_mesh *m = c->mesh;
    m->vertices = malloc((m->vertex_count + 1) * sizeof *m->vertices);
    if (!m->vertices)
        return fail(FIRN_NO_MEMORY, "no memory for the surfaces of a picture");
#pragma omp parallel for schedule(dynamic, 64)
    for (size_t n = 0; n < m->vertex_count; n++)
        m->vertices[n] = cell_vertex(c, c->cells[n]);
    return make_triangles(c);
}

firn_status surface_mesh_create(const surface_set *set, const surface_body *body,
                                surface_mesh *mesh)
{
    contour c = {.set = set, .body = body, .mesh = mesh};
    *mesh = (surface_mesh){0};
    choose_grid(&c);
    mesh->cell = c.cell;
    firn_status status = contour_body(&c);
    free(c.phi);
    free(c.vertex);
    free(c.cells);
    if (status != FIRN_OK)
        surface_mesh_clear(mesh);
    return status;
}

void surface_mesh_clear(surface_mesh *mesh)
{
    free(mesh->vertices);
    free(mesh->triangles);
    *mesh = (surface_mesh){0};
}
