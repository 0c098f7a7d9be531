/*
 * Invariant: the segments kept are between inside and outside, and have the inside on their left, so
 * they wind around every inside place once or more and around no other.
 */
#include "shape/outline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shape/array.h"
#include "shape/outline_look.h"

/* ---- Cutting at crossings -------------------------------------------------------------------- */

/* One segment and the places along it, 0 to 1, where others meet it. */
typedef struct cutting {
    const outline_segment *segment;
    double along[2], length;
    double tiny;
    size_t count, capacity;
    double *cuts; /* owned */
} cutting;

static bool add_cut(cutting *c, double t)
{
    if (!(t * c->length > c->tiny && (1 - t) * c->length > c->tiny))
        return true;
    if (!array_grow(&c->cuts, &c->capacity, c->count, sizeof *c->cuts))
        return false;
    c->cuts[c->count++] = t;
    return true;
}

/* Where an end of another segment touches this one. */
static bool cut_at_end(cutting *c, const double end[2])
{
    const double to[2] = {end[0] - c->segment->from[0], end[1] - c->segment->from[1]};
    double across = (c->along[0] * to[1] - c->along[1] * to[0]) / c->length;
    if (fabs(across) > c->tiny)
        return true;
    return add_cut(c, (c->along[0] * to[0] + c->along[1] * to[1]) / (c->length * c->length));
}

static bool cut_at(void *user, const outline_segment *other)
{
    cutting *c = user;
    if (!cut_at_end(c, other->from) || !cut_at_end(c, other->to))
        return false;
    const double across[2] = {other->to[0] - other->from[0], other->to[1] - other->from[1]};
    const double to[2] = {other->from[0] - c->segment->from[0],
                          other->from[1] - c->segment->from[1]};
    double cross = c->along[0] * across[1] - c->along[1] * across[0];
    if (cross == 0)
        return true;
    double s = (to[0] * c->along[1] - to[1] * c->along[0]) / cross;
    if (!(s >= 0 && s <= 1))
        return true;
    return add_cut(c, (to[0] * across[1] - to[1] * across[0]) / cross);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* ---- Keeping the boundary -------------------------------------------------------------------- */

typedef struct pieces {
    size_t count, capacity;
    outline_segment *items; /* owned */
} pieces;

/* Keep a piece that separates inside from outside, with the inside on its left. */
static bool keep_piece(const outline_tree *all, outline_segment piece, double tiny, pieces *kept)
{
    double along[2] = {piece.to[0] - piece.from[0], piece.to[1] - piece.from[1]};
    double length = hypot(along[0], along[1]), step = 8 * tiny / length;
    if (!(length > 0))
        return true;
    double left[2], right[2];
    for (int i = 0; i < 2; i++) {
        double middle = (piece.from[i] + piece.to[i]) / 2;
        double normal = i == 0 ? -along[1] : along[0];
        left[i] = middle + step * normal;
        right[i] = middle - step * normal;
    }
    bool inside_left = outline_winding(all, left) != 0;
    if (inside_left == (outline_winding(all, right) != 0))
        return true;
    if (!inside_left)
        piece = (outline_segment){{piece.to[0], piece.to[1]}, {piece.from[0], piece.from[1]}};
    if (!array_grow(&kept->items, &kept->capacity, kept->count, sizeof piece))
        return false;
    kept->items[kept->count++] = piece;
    return true;
}

/* Cut a segment where others meet it and keep what is boundary. */
static bool keep_parts(const outline_tree *all, cutting *c, pieces *kept)
{
    const outline_segment *s = c->segment;
    double low[2], high[2];
    for (int i = 0; i < 2; i++) {
        low[i] = fmin(s->from[i], s->to[i]) - c->tiny;
        high[i] = fmax(s->from[i], s->to[i]) + c->tiny;
        c->along[i] = s->to[i] - s->from[i];
    }
    c->length = hypot(c->along[0], c->along[1]);
    c->count = 0;
    if (!(c->length > 0))
        return true;
    if (!outline_tree_visit(all, low, high, cut_at, c))
        return false;
    if (c->count > 1)
        qsort(c->cuts, c->count, sizeof *c->cuts, by_value);
    outline_segment piece = {{s->from[0], s->from[1]}, {0}};
    for (size_t n = 0; n <= c->count; n++) {
        for (int i = 0; i < 2; i++)
            piece.to[i] = n < c->count ? s->from[i] + c->cuts[n] * c->along[i] : s->to[i];
        if (!keep_piece(all, piece, c->tiny, kept))
            return false;
        memcpy(piece.from, piece.to, sizeof piece.from);
    }
    return true;
}

outline *outline_create(const outline_segment *segments, size_t count)
{
    outline *o = calloc(1, sizeof *o);
    outline_tree all = {0};
    pieces kept = {0};
    cutting c = {0};
    bool ok = o && outline_tree_create(segments, count, &all);
    if (ok && count > 0) {
        const outline_node *root = &all.nodes[0];
        o->tiny = 1e-9 * fmax(root->high[0] - root->low[0], root->high[1] - root->low[1]);
    }
    c.tiny = o ? o->tiny : 0;
    for (size_t n = 0; n < count && ok; n++) {
        c.segment = &all.segments[n];
        ok = keep_parts(&all, &c, &kept);
    }
    ok = ok && outline_tree_create(kept.items, kept.count, &o->tree);
    outline_tree_clear(&all);
    free(c.cuts);
    free(kept.items);
    if (!ok)
        outline_destroy(&o);
    return o;
}

void outline_destroy(outline **o)
{
    if (*o)
        outline_tree_clear(&(*o)->tree);
    free(*o);
    *o = NULL;
}

size_t outline_size(const outline *o)
{
    return o->tree.count;
}

void outline_bounds(const outline *o, double low[2], double high[2])
{
    for (int i = 0; i < 2; i++) {
        low[i] = o->tree.count ? o->tree.nodes[0].low[i] : 0;
        high[i] = o->tree.count ? o->tree.nodes[0].high[i] : 0;
    }
}

double outline_distance(const outline *o, const double x[2], double gradient[2])
{
    return outline_look(o, x, gradient);
}
