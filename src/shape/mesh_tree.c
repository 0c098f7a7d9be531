/*
 * Nodes stand in the order of a walk down the left: a node's left child follows it, `next` is the
 * other; a leaf has a count, and `next` is its first triangle. Boxes are in float, rounded outward.
 */
#include "shape/mesh_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shape/mesh_edges.h"

enum { LEAF = 4, DEEPEST = 64 };

typedef struct tree_node {
    float low[3], high[3];
    uint32_t next;
    uint32_t count; /* of a leaf; otherwise 0 */
} tree_node;

typedef struct tree_triangle {
    double corner[3][3];
    uint32_t number; /* in the mesh */
} tree_triangle;

struct mesh_tree {
    size_t node_count;
    tree_node *nodes;            /* owned */
    tree_triangle *triangles;    /* in the tree's order; owned */
    double (*normals)[3];        /* unit, of the mesh's triangles; owned */
    double (*corner_normals)[3]; /* of its vertices; owned */
    uint32_t (*corners)[3];      /* the mesh's triangles; owned */
    uint32_t (*beyond)[3];       /* the triangle beyond side k, from corner k to the next; owned */
};

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void subtract(const double a[3], const double b[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = a[i] - b[i];
}

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* ---- The tree -------------------------------------------------------------------------------- */

static double middle(const tree_triangle *t, int axis)
{
    return t->corner[0][axis] + t->corner[1][axis] + t->corner[2][axis];
}

/* Partly sort so that the `rank` first triangles have the least middles along the axis. */
static void select_first(tree_triangle *t, size_t count, size_t rank, int axis)
{
    while (count > 1 && rank > 0 && rank < count) {
        double pivot = middle(&t[count / 2], axis);
        size_t i = 0, j = count - 1;
        for (;;) {
            while (middle(&t[i], axis) < pivot)
                i++;
            while (middle(&t[j], axis) > pivot)
                j--;
            if (i >= j)
                break;
            tree_triangle swap = t[i];
            t[i++] = t[j];
            t[j--] = swap;
        }
        /* Now t[.. i) <= pivot <= t[i ..), and neither part is empty. */
        if (rank <= i) {
            count = i;
        } else {
            t += i;
            count -= i;
            rank -= i;
        }
    }
}

static void surround(const tree_triangle *t, uint32_t count, tree_node *n)
{
    for (int i = 0; i < 3; i++) {
        double low = INFINITY, high = -INFINITY;
        for (uint32_t k = 0; k < count; k++)
            for (int c = 0; c < 3; c++) {
                low = fmin(low, t[k].corner[c][i]);
                high = fmax(high, t[k].corner[c][i]);
            }
        n->low[i] = nextafterf((float)low, -INFINITY);
        n->high[i] = nextafterf((float)high, INFINITY);
    }
}

static void build(mesh_tree *tree, uint32_t first, uint32_t count)
{
    tree_node *n = &tree->nodes[tree->node_count++];
    *n = (tree_node){.next = first, .count = count};
    surround(tree->triangles + first, count, n);
    if (count <= LEAF)
        return;
    int axis = 0;
    for (int i = 1; i < 3; i++)
        if (n->high[i] - n->low[i] > n->high[axis] - n->low[axis])
            axis = i;
    uint32_t half = count / 2;
    select_first(tree->triangles + first, count, half, axis);
    n->count = 0;
    build(tree, first, half);
    n->next = (uint32_t)tree->node_count;
    build(tree, first + half, count - half);
}

/* ---- Normals --------------------------------------------------------------------------------- */

static void to_unit(double v[3])
{
    double length = sqrt(dot(v, v));
    for (int i = 0; i < 3; i++)
        v[i] = length > 0 ? v[i] / length : 0;
}

/* The angle of a triangle at its corner k. */
static double corner_angle(const triangle_mesh *m, const uint32_t t[3], int k)
{
    double a[3], b[3], n[3];
    subtract(m->vertices[t[(k + 1) % 3]], m->vertices[t[k]], a);
    subtract(m->vertices[t[(k + 2) % 3]], m->vertices[t[k]], b);
    cross(a, b, n);
    return atan2(sqrt(dot(n, n)), dot(a, b));
}

static void sum_normals(mesh_tree *tree, const triangle_mesh *m)
{
    for (size_t t = 0; t < m->triangle_count; t++) {
        const uint32_t *v = m->triangles[t];
        double ab[3], ac[3];
        subtract(m->vertices[v[1]], m->vertices[v[0]], ab);
        subtract(m->vertices[v[2]], m->vertices[v[0]], ac);
        cross(ab, ac, tree->normals[t]);
        to_unit(tree->normals[t]);
        for (int k = 0; k < 3; k++) {
            double angle = corner_angle(m, v, k);
            for (int i = 0; i < 3; i++)
                tree->corner_normals[v[k]][i] += angle * tree->normals[t][i];
        }
    }
}

static int side_of(const uint32_t t[3], uint32_t from, uint32_t to)
{
    for (int k = 0; k < 3; k++)
        if (t[k] == from && t[(k + 1) % 3] == to)
            return k;
    return 0;
}

/* Sides without a partner, or with several, are their own. */
static bool find_neighbours(mesh_tree *tree, const triangle_mesh *m)
{
    mesh_edges e;
    if (!edges_create(m, &e))
        return false;
    for (size_t t = 0; t < m->triangle_count; t++)
        for (int k = 0; k < 3; k++)
            tree->beyond[t][k] = (uint32_t)t;
    for (size_t n = 0, sides; n < e.count; n += sides) {
        sides = edge_sides(&e, n);
        for (size_t k = 0; k < sides && sides == 2; k++) {
            const edge_use *use = &e.uses[n + k], *other = &e.uses[n + 1 - k];
            int side = use->forward ? side_of(m->triangles[use->triangle], use->low, use->high)
                                    : side_of(m->triangles[use->triangle], use->high, use->low);
            tree->beyond[use->triangle][side] = other->triangle;
        }
    }
    edges_clear(&e);
    return true;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static bool allocate_all(mesh_tree *tree, const triangle_mesh *m)
{
    size_t count = m->triangle_count + 1;
    tree->triangles = malloc(count * sizeof *tree->triangles);
    tree->nodes = malloc(count * sizeof *tree->nodes); /* leaves hold two or more */
    tree->normals = malloc(count * sizeof *tree->normals);
    tree->corners = malloc(count * sizeof *tree->corners);
    tree->beyond = malloc(count * sizeof *tree->beyond);
    tree->corner_normals = calloc(m->vertex_count + 1, sizeof *tree->corner_normals);
    return tree->triangles && tree->nodes && tree->normals && tree->corners && tree->beyond &&
           tree->corner_normals;
}

mesh_tree *mesh_tree_create(const triangle_mesh *mesh)
{
    mesh_tree *tree = calloc(1, sizeof *tree);
    if (!tree || !allocate_all(tree, mesh) || !find_neighbours(tree, mesh)) {
        mesh_tree_destroy(&tree);
        return NULL;
    }
    sum_normals(tree, mesh);
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        memcpy(tree->corners[t], mesh->triangles[t], sizeof *tree->corners);
        tree->triangles[t].number = (uint32_t)t;
        for (int k = 0; k < 3; k++)
            memcpy(tree->triangles[t].corner[k], mesh->vertices[mesh->triangles[t][k]],
                   sizeof *mesh->vertices);
    }
    if (mesh->triangle_count)
        build(tree, 0, (uint32_t)mesh->triangle_count);
    return tree;
}

void mesh_tree_destroy(mesh_tree **tree)
{
    mesh_tree *t = *tree;
    if (t) {
        free(t->nodes);
        free(t->triangles);
        free(t->normals);
        free(t->corner_normals);
        free(t->corners);
        free(t->beyond);
    }
    free(t);
    *tree = NULL;
}

/* ---- The nearest point ----------------------------------------------------------------------- */

/* Barycentric coordinates of the point of a triangle nearest to x: a corner, a point of a side, or
 * the foot of the perpendicular (Ericson, Real-Time Collision Detection, 5.1.5). */
static void nearest_in_triangle(const double corner[3][3], const double x[3], double b[3])
{
    double ab[3], ac[3], ax[3], bx[3], cx[3];
    subtract(corner[1], corner[0], ab);
    subtract(corner[2], corner[0], ac);
    subtract(x, corner[0], ax);
    subtract(x, corner[1], bx);
    subtract(x, corner[2], cx);
    double d1 = dot(ab, ax), d2 = dot(ac, ax), d3 = dot(ab, bx), d4 = dot(ac, bx);
    double d5 = dot(ab, cx), d6 = dot(ac, cx);
    double va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
    b[0] = b[1] = b[2] = 0;
    if (d1 <= 0 && d2 <= 0) {
        b[0] = 1;
    } else if (d3 >= 0 && d4 <= d3) {
        b[1] = 1;
    } else if (d6 >= 0 && d5 <= d6) {
        b[2] = 1;
    } else if (vc <= 0 && d1 >= 0 && d3 <= 0) {
        b[1] = d1 / (d1 - d3);
        b[0] = 1 - b[1];
    } else if (vb <= 0 && d2 >= 0 && d6 <= 0) {
        b[2] = d2 / (d2 - d6);
        b[0] = 1 - b[2];
    } else if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) {
        b[2] = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        b[1] = 1 - b[2];
    } else {
        double sum = va + vb + vc;
        b[1] = vb / sum;
        b[2] = vc / sum;
        b[0] = 1 - b[1] - b[2];
    }
}

static double square_to_box(const tree_node *n, const double x[3])
{
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double below = n->low[i] - x[i], above = x[i] - n->high[i];
        double beyond = below > above ? below : above;
        beyond = beyond > 0 ? beyond : 0;
        sum += beyond * beyond;
    }
    return sum;
}

static void try_triangle(const tree_triangle *t, const double x[3], double *square,
                         mesh_point *best)
{
    double b[3], at[3], to[3];
    nearest_in_triangle(t->corner, x, b);
    for (int i = 0; i < 3; i++)
        at[i] = b[0] * t->corner[0][i] + b[1] * t->corner[1][i] + b[2] * t->corner[2][i];
    subtract(x, at, to);
    double found = dot(to, to);
    if (!(found < *square))
        return;
    *square = found;
    best->triangle = t->number;
    memcpy(best->x, at, sizeof at);
    memcpy(best->barycentric, b, sizeof b);
}

mesh_point mesh_tree_nearest(const mesh_tree *tree, const double x[3], double reach)
{
    mesh_point best = {.distance = INFINITY, .triangle = UINT32_MAX};
    double square = reach * reach;
    struct {
        uint32_t node;
        double square;
    } stack[DEEPEST];
    int top = tree->node_count ? 1 : 0;
    stack[0].node = 0;
    stack[0].square = 0;
    while (top > 0) {
        top--;
        if (stack[top].square > square)
            continue;
        const tree_node *n = &tree->nodes[stack[top].node];
        for (uint32_t k = 0; k < n->count; k++)
            try_triangle(&tree->triangles[n->next + k], x, &square, &best);
        if (n->count)
            continue;
        double left = square_to_box(n + 1, x), right = square_to_box(&tree->nodes[n->next], x);
        bool left_first = left <= right;
        uint32_t left_node = stack[top].node + 1;
        stack[top].node = left_first ? n->next : left_node;
        stack[top++].square = left_first ? right : left;
        stack[top].node = left_first ? left_node : n->next;
        stack[top++].square = left_first ? left : right;
    }
    if (best.triangle != UINT32_MAX)
        best.distance = sqrt(square);
    return best;
}

void mesh_tree_normal(const mesh_tree *tree, const mesh_point *at, double normal[3])
{
    const double *b = at->barycentric;
    uint32_t t = at->triangle;
    memcpy(normal, tree->normals[t], sizeof *tree->normals);
    for (int k = 0; k < 3; k++) {
        bool after = b[(k + 1) % 3] > 0, last = b[(k + 2) % 3] > 0;
        if (!after && !last)
            memcpy(normal, tree->corner_normals[tree->corners[t][k]], sizeof *tree->normals);
        else if (!(b[k] > 0) && after && last)
            for (int i = 0; i < 3; i++)
                normal[i] += tree->normals[tree->beyond[t][(k + 1) % 3]][i];
    }
}
