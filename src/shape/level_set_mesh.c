/*
 * Meshes to level sets. OpenVDB finds what the outside cannot reach, so it fills cavities. A part
 * that faces inward says that it is one: parts are taken in the order of their volume, each joined
 * to what the larger ones left or cut out of it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/vdb.h"
#include "shape/level_set_blocks.h"
#include "shape/level_set_refine.h"
#include "shape/mesh_edges.h"
#include "status.h"

/* More than this and the mistake is the voxel. */
static const double MOST_VOXELS = 4e9;

/* Voxels on either side of the surface that OpenVDB fills; the rest of the band is ours. */
static const double OPENVDB_BAND = 3;

typedef struct part {
    double volume;
    uint32_t root;
} part;

static int by_volume(const void *a, const void *b)
{
    const part *p = a, *q = b;
    double x = fabs(p->volume), y = fabs(q->volume);
    if (x != y)
        return x > y ? -1 : 1;
    return p->root < q->root ? -1 : p->root > q->root;
}

static double corner_volume(const triangle_mesh *m, size_t t)
{
    const double *o = m->vertices[0], *a = m->vertices[m->triangles[t][0]],
                 *b = m->vertices[m->triangles[t][1]], *c = m->vertices[m->triangles[t][2]];
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        int u = (i + 1) % 3, v = (i + 2) % 3;
        sum += (a[i] - o[i]) * ((b[u] - o[u]) * (c[v] - o[v]) - (b[v] - o[v]) * (c[u] - o[u]));
    }
    return sum / 6;
}

/* The rank of each triangle's part by volume in `rank`, and the parts in that order; owned by the
 * caller. Returns their number, 0 when memory is out. */
static size_t rank_parts(const triangle_mesh *m, part **out, uint32_t *rank)
{
    mesh_edges e = {0};
    joined_sets sets = {0};
    size_t count = 0;
    part *parts = calloc(m->triangle_count + 1, sizeof *parts);
    if (parts && edges_create(m, &e) && sets_create(m->triangle_count, &sets)) {
        uint8_t turned;
        for (size_t n = 1; n < e.count; n++)
            if (e.uses[n].low == e.uses[n - 1].low && e.uses[n].high == e.uses[n - 1].high)
                sets_join(&sets, e.uses[n].triangle, e.uses[n - 1].triangle, 0);
        for (size_t t = 0; t < m->triangle_count; t++) {
            uint32_t root = sets_root(&sets, (uint32_t)t, &turned);
            if (root == t) { /* the smallest number: seen before the others */
                rank[root] = (uint32_t)count;
                parts[count++].root = root;
            }
            rank[t] = rank[root];
            parts[rank[t]].volume += corner_volume(m, t);
        }
        qsort(parts, count, sizeof *parts, by_volume);
        for (size_t p = 0; p < count; p++)
            rank[parts[p].root] = (uint32_t)p;
        for (size_t t = 0; t < m->triangle_count; t++)
            rank[t] = rank[sets_root(&sets, (uint32_t)t, &turned)];
    }
    sets_clear(&sets);
    edges_clear(&e);
    *out = parts;
    return count;
}

/* Neighbours in rank that do the same are one layer. */
static firn_status convert_parts(const triangle_mesh *m, vdb_mesh_request *request,
                                 level_set_blocks *blocks)
{
    uint32_t *rank = malloc((m->triangle_count + 1) * sizeof *rank);
    part *parts = NULL;
    size_t count = rank ? rank_parts(m, &parts, rank) : 0;
    vdb_layer *layers = malloc((count + 1) * sizeof *layers);
    uint32_t(*sorted)[3] = malloc((m->triangle_count + 1) * sizeof *sorted);
    firn_status status = FIRN_OK;
    if (count == 0 || !layers || !sorted) {
        status = fail(FIRN_NO_MEMORY, "not enough memory for a mesh");
    } else {
        size_t layer_count = 0, sorted_count = 0;
        for (size_t p = 0; p < count;) {
            bool cavity = parts[p].volume < 0;
            size_t end = p;
            while (end < count && (parts[end].volume < 0) == cavity)
                end++;
            layers[layer_count] = (vdb_layer){.first = sorted_count, .cavity = cavity};
            for (size_t t = 0; t < m->triangle_count; t++)
                if (rank[t] >= p && rank[t] < end)
                    memcpy(sorted[sorted_count++], m->triangles[t], sizeof *sorted);
            layers[layer_count].count = sorted_count - layers[layer_count].first;
            layer_count++;
            p = end;
        }
        request->triangles = (const uint32_t(*)[3])sorted;
        request->layers = layers;
        request->layer_count = layer_count;
        status = vdb_from_mesh(request, blocks);
    }
    free(rank);
    free(parts);
    free(layers);
    free(sorted);
    return status;
}

static firn_status check_size(const mesh_report *r, double voxel, double half_width)
{
    double leaves = 1;
    for (int i = 0; i < 3; i++)
        leaves *= (r->high[i] - r->low[i] + 2 * half_width) / (voxel * LEAF_WIDTH) + 2;
    double voxels = r->area / (voxel * voxel) * (2 * half_width / voxel);
    if (leaves < MOST_LEAVES && voxels < MOST_VOXELS)
        return FIRN_OK;
    return fail(
        FIRN_BAD_SCENE,
        "a mesh of %g x %g x %g m is too large for a level set of %g m voxels: use a larger "
        "`voxel` (or cell_size), or check the scale",
        r->high[0] - r->low[0], r->high[1] - r->low[1], r->high[2] - r->low[2], voxel);
}

firn_status level_set_from_tree(const triangle_mesh *mesh, const mesh_tree *tree, double voxel,
                                double band, double shell, level_set **out)
{
    *out = NULL;
    mesh_report report;
    if (!mesh_check(mesh, &report))
        return fail(FIRN_NO_MEMORY, "not enough memory for a mesh");
    double half_width = band + 2 * voxel; /* see level_set_build */
    firn_status status = check_size(&report, voxel, half_width + shell / 2);
    if (status != FIRN_OK)
        return status;
    vdb_mesh_request request = {
        .vertex_count = mesh->vertex_count,
        .vertices = (const double(*)[3])mesh->vertices,
        .voxel = voxel,
        .half_width = OPENVDB_BAND * voxel,
        .shell = shell,
        .origin = {report.low[0], report.low[1], report.low[2]},
    };
    level_set_blocks blocks = {0};
    if (shell > 0) {
        vdb_layer all = {.count = mesh->triangle_count};
        request.triangles = (const uint32_t(*)[3])mesh->triangles;
        request.layers = &all;
        request.layer_count = 1;
        status = vdb_from_mesh(&request, &blocks);
    } else {
        status = convert_parts(mesh, &request, &blocks);
    }
    if (status == FIRN_OK && !level_set_refine(&blocks, tree, half_width, shell))
        status = fail(FIRN_NO_MEMORY, "not enough memory for a level set");
    if (status == FIRN_OK)
        status = level_set_build(&blocks, out);
    level_set_blocks_clear(&blocks);
    return status;
}

firn_status level_set_from_mesh(const triangle_mesh *mesh, double voxel, double band, double shell,
                                level_set **out)
{
    *out = NULL;
    mesh_tree *tree = mesh_tree_create(mesh);
    if (!tree)
        return fail(FIRN_NO_MEMORY, "not enough memory for a mesh");
    firn_status status = level_set_from_tree(mesh, tree, voxel, band, shell, out);
    mesh_tree_destroy(&tree);
    return status;
}
