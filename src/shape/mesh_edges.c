#include "shape/mesh_edges.h"

#include <stdlib.h>
#include <string.h>

/* ---- Sides, sorted --------------------------------------------------------------------------- */

enum { DIGIT = 11, DIGITS = 1 << DIGIT };

/* One pass of a stable radix sort by DIGIT bits of a vertex. */
static void sort_pass(const edge_use *from, edge_use *to, size_t count, bool by_low, int shift)
{
    size_t first[DIGITS + 1] = {0};
    for (size_t n = 0; n < count; n++)
        first[((by_low ? from[n].low : from[n].high) >> shift & (DIGITS - 1)) + 1]++;
    for (int d = 0; d < DIGITS; d++)
        first[d + 1] += first[d];
    for (size_t n = 0; n < count; n++)
        to[first[(by_low ? from[n].low : from[n].high) >> shift & (DIGITS - 1)]++] = from[n];
}

static size_t list_sides(const triangle_mesh *m, edge_use *uses)
{
    size_t count = 0;
    for (size_t t = 0; t < m->triangle_count; t++) {
        const uint32_t *v = m->triangles[t];
        if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0])
            continue;
        for (int k = 0; k < 3; k++) {
            uint32_t a = v[k], b = v[(k + 1) % 3];
            uses[count++] = (edge_use){a < b ? a : b, a < b ? b : a, (uint32_t)t, a < b};
        }
    }
    return count;
}

bool edges_create(const triangle_mesh *mesh, mesh_edges *edges)
{
    edge_use *uses = malloc((3 * mesh->triangle_count + 1) * sizeof *uses);
    edge_use *spare = malloc((3 * mesh->triangle_count + 1) * sizeof *spare);
    if (!uses || !spare) {
        free(uses);
        free(spare);
        return false;
    }
    size_t count = list_sides(mesh, uses);
    for (int pass = 0; pass < 2; pass++)
        for (int shift = 0; shift < 32 && mesh->vertex_count >> shift; shift += DIGIT) {
            sort_pass(uses, spare, count, pass == 1, shift);
            edge_use *sorted = spare;
            spare = uses;
            uses = sorted;
        }
    free(spare);
    *edges = (mesh_edges){count, uses};
    return true;
}

void edges_clear(mesh_edges *edges)
{
    free(edges->uses);
    *edges = (mesh_edges){0};
}

/* ---- Sets ------------------------------------------------------------------------------------ */

bool sets_create(size_t count, joined_sets *sets)
{
    *sets = (joined_sets){count, malloc((count + 1) * sizeof *sets->parent),
                          calloc(count + 1, sizeof *sets->turned)};
    if (!sets->parent || !sets->turned) {
        sets_clear(sets);
        return false;
    }
    for (size_t n = 0; n < count; n++)
        sets->parent[n] = (uint32_t)n;
    return true;
}

void sets_clear(joined_sets *sets)
{
    free(sets->parent);
    free(sets->turned);
    *sets = (joined_sets){0};
}

/* Halves the path to the root as it goes. */
uint32_t sets_root(joined_sets *s, uint32_t member, uint8_t *turned)
{
    uint8_t sum = 0;
    while (s->parent[member] != member) {
        uint32_t up = s->parent[member];
        s->turned[member] ^= s->turned[up];
        s->parent[member] = s->parent[up];
        sum ^= s->turned[member];
        member = s->parent[member];
    }
    *turned = sum;
    return member;
}

void sets_join(joined_sets *s, uint32_t a, uint32_t b, uint8_t turned)
{
    uint8_t a_turned, b_turned;
    uint32_t a_root = sets_root(s, a, &a_turned), b_root = sets_root(s, b, &b_turned);
    if (a_root == b_root)
        return;
    /* The smaller number is the root, so that the answer does not depend on the order of joins. */
    uint32_t root = a_root < b_root ? a_root : b_root, other = a_root < b_root ? b_root : a_root;
    s->parent[other] = root;
    s->turned[other] = a_turned ^ b_turned ^ turned;
}
