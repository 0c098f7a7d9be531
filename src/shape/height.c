#include "shape/height.h"

#include <stdlib.h>
#include <string.h>

#include "shape/array.h"
#include "shape/height_look.h"

double height_distance(const height_field *h, field_use use, const double x[3], double gradient[3])
{
    return height_look(h, use, x, gradient);
}

double height_bounds(const height_field *h, double low[3], double high[3])
{
    double flat_low[2], flat_high[2];
    outline_bounds(h->footprint, flat_low, flat_high);
    for (int i = 0; i < 2; i++) {
        low[2 * i] = flat_low[i];
        high[2 * i] = flat_high[i];
    }
    low[1] = h->body.thickness > 0 ? h->low : h->body.base;
    high[1] = h->high + h->body.thickness;
    return 0.05 * fmin(h->map.step[0], h->map.step[1]);
}

/* ---- Making ---------------------------------------------------------------------------------- */

static bool has_value(const height_map *m, int column, int row)
{
    return column >= 0 && row >= 0 && column < m->columns && row < m->rows &&
           !isnan(m->values[(size_t)row * (size_t)m->columns + (size_t)column]);
}

static bool is_cell(const height_map *m, int column, int row)
{
    return has_value(m, column, row) && has_value(m, column + 1, row) &&
           has_value(m, column, row + 1) && has_value(m, column + 1, row + 1);
}

typedef struct edge_list {
    size_t count, capacity;
    outline_segment *items; /* owned */
} edge_list;

/* An edge between two samples along `axis`, joined to the one before when that leads up to it. */
static bool add_edge(const height_map *m, edge_list *e, int column, int row, int axis)
{
    outline_segment s;
    for (int i = 0; i < 2; i++) {
        s.from[i] = m->corner[i] + m->step[i] * (i == 0 ? column : row);
        s.to[i] = m->corner[i] + m->step[i] * ((i == 0 ? column : row) + (i == axis));
    }
    outline_segment *last = e->count ? &e->items[e->count - 1] : NULL;
    if (last && last->to[0] == s.from[0] && last->to[1] == s.from[1] &&
        last->from[1 - axis] == s.from[1 - axis]) {
        memcpy(last->to, s.to, sizeof s.to);
        return true;
    }
    if (!array_grow(&e->items, &e->capacity, e->count, sizeof s))
        return false;
    e->items[e->count++] = s;
    return true;
}

/* Edges with a cell on one side only. Which way they run does not matter to what they enclose when
 * every place is crossed at most once, so they are made to: an edge with its cell to the south or
 * west runs forward, the others are turned around. */
static bool trace_footprint(const height_map *m, outline **out)
{
    edge_list all = {0};
    bool ok = true;
    for (int axis = 0; axis < 2 && ok; axis++)
        for (int sense = 0; sense < 2 && ok; sense++) {
            edge_list part = {0};
            int lines = axis ? m->columns : m->rows, along = axis ? m->rows - 1 : m->columns - 1;
            for (int line = 0; line < lines && ok; line++)
                for (int n = 0; n < along && ok; n++) {
                    int c = axis ? line : n, r = axis ? n : line;
                    bool after = is_cell(m, c, r);
                    bool before = axis ? is_cell(m, c - 1, r) : is_cell(m, c, r - 1);
                    bool forward = axis ? before : after;
                    if (after != before && forward == (sense == 0))
                        ok = add_edge(m, &part, c, r, axis);
                }
            for (size_t k = 0; k < part.count && ok; k++) {
                outline_segment s = part.items[k];
                if (sense)
                    s = (outline_segment){{s.to[0], s.to[1]}, {s.from[0], s.from[1]}};
                ok = array_grow(&all.items, &all.capacity, all.count, sizeof s);
                if (ok)
                    all.items[all.count++] = s;
            }
            free(part.items);
        }
    *out = ok ? outline_create(all.items, all.count) : NULL;
    free(all.items);
    return *out != NULL;
}

/* Whole cells to the nearest one that is none, by two passes, less the one it is in. */
static bool find_insets(const height_map *m, float **out)
{
    int columns = m->columns - 1, rows = m->rows - 1;
    float *inset = *out = malloc((size_t)columns * (size_t)rows * sizeof *inset);
    if (!inset)
        return false;
    float step = (float)fmin(m->step[0], m->step[1]);
    for (int pass = 0; pass < 2; pass++)
        for (int n = 0; n < columns * rows; n++) {
            int at = pass ? columns * rows - 1 - n : n, c = at % columns, r = at / columns;
            float least = pass ? inset[at] : is_cell(m, c, r) ? INFINITY : 0;
            for (int k = 0; k < 4 && least > 0; k++) {
                int side = pass ? -1 : 1;
                int cc = c + side * (k < 3 ? k - 1 : -1), rr = r - side * (k < 3);
                bool within = cc >= 0 && rr >= 0 && cc < columns && rr < rows;
                least = fminf(least, (within ? inset[rr * columns + cc] : 0) + step);
            }
            inset[at] = least;
        }
    for (int n = 0; n < columns * rows; n++)
        inset[n] = is_cell(m, n % columns, n / columns) ? fmaxf(inset[n] - step, 0) : -1;
    return true;
}

/* Samples without a value take the mean of neighbours that have or got one, first from the north-west
 * and then from the south-east: the surface goes on beyond its edge without meaning anything. */
static void fill_gaps(height_map *m)
{
    int count = m->columns * m->rows;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < count; k++) {
            int n = pass ? count - 1 - k : k, c = n % m->columns, r = n / m->columns;
            double sum = 0, known = 0;
            for (int near = 0; near < 9 && isnan(m->values[n]); near++) {
                int cc = c + near % 3 - 1, rr = r + near / 3 - 1;
                if (has_value(m, cc, rr)) {
                    sum += m->values[rr * m->columns + cc];
                    known++;
                }
            }
            if (known > 0)
                m->values[n] = (float)(sum / known);
        }
}

/* Heights of the body's cells and slopes of all, at 5 x 5 places of each. */
static void find_extremes(height_field *h)
{
    enum { PLACES = 4 };
    const height_map *m = &h->map;
    double low = INFINITY, high = -INFINITY;
#pragma omp parallel for reduction(min : low) reduction(max : high)
    for (int cell = 0; cell < (m->columns - 1) * (m->rows - 1); cell++) {
        int c = cell % (m->columns - 1), r = cell / (m->columns - 1);
        double steepest = 0;
        for (int n = 0; n < (PLACES + 1) * (PLACES + 1); n++) {
            const double at[2] = {
                m->corner[0] + m->step[0] * (c + (double)(n % (PLACES + 1)) / PLACES),
                m->corner[1] + m->step[1] * (r + (double)(n / (PLACES + 1)) / PLACES)};
            height_point p = height_surface_at(h, at);
            steepest = fmax(steepest, hypot(p.slope[0], p.slope[1]));
            if (h->inset[cell] >= 0) {
                low = fmin(low, p.height);
                high = fmax(high, p.height);
            }
        }
        h->steepest[0].slope[cell] = (float)(1.1 * steepest);
    }
    h->low = low;
    h->high = high;
}

/* The steepest of two by two tiles of the level before. */
static void coarsen(const height_level *finer, height_level *level)
{
    for (int n = 0; n < level->columns * level->rows; n++) {
        level->slope[n] = 0;
        for (int k = 0; k < 4; k++) {
            int c = 2 * (n % level->columns) + k % 2, r = 2 * (n / level->columns) + k / 2;
            if (c < finer->columns && r < finer->rows)
                level->slope[n] = fmaxf(level->slope[n], finer->slope[r * finer->columns + c]);
        }
    }
}

/* Each tile gets the steepest of itself and the eight around it. */
static bool widen(height_level *level)
{
    int columns = level->columns, rows = level->rows;
    float *wide = malloc(sizeof(float) * (size_t)columns * (size_t)rows);
    if (!wide)
        return false;
#pragma omp parallel for
    for (int n = 0; n < columns * rows; n++) {
        float most = 0;
        for (int k = 0; k < 9; k++) {
            int c = n % columns + k % 3 - 1, r = n / columns + k / 3 - 1;
            if (c >= 0 && r >= 0 && c < columns && r < rows)
                most = fmaxf(most, level->slope[r * columns + c]);
        }
        wide[n] = most;
    }
    free(level->slope);
    level->slope = wide;
    return true;
}

/* Until one tile is all. */
static bool find_slopes(height_field *h)
{
    int columns = h->map.columns - 1, rows = h->map.rows - 1;
    bool all = false;
    while (!all) {
        height_level *level = &h->steepest[h->levels++];
        *level =
            (height_level){columns, rows, malloc(sizeof(float) * (size_t)columns * (size_t)rows)};
        if (!level->slope)
            return false;
        if (h->levels == 1)
            find_extremes(h);
        else
            coarsen(level - 1, level);
        all = columns == 1 && rows == 1;
        columns = (columns + 1) / 2;
        rows = (rows + 1) / 2;
    }
    for (int k = 0; k < h->levels; k++)
        if (!widen(&h->steepest[k]))
            return false;
    return true;
}

height_field *height_create(const height_map *map, const height_body *body)
{
    height_field *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    size_t count = (size_t)map->columns * (size_t)map->rows;
    h->map = *map;
    h->body = *body;
    h->map.values = malloc(count * sizeof *map->values);
    bool ok = h->map.values && find_insets(map, &h->inset) && trace_footprint(map, &h->footprint);
    if (ok) {
        memcpy(h->map.values, map->values, count * sizeof *map->values);
        fill_gaps(&h->map);
        ok = find_slopes(h);
    }
    if (!ok) {
        height_destroy(&h);
        return NULL;
    }
    return h;
}

void height_destroy(height_field **h)
{
    if (*h) {
        free((*h)->map.values);
        free((*h)->inset);
        for (int k = 0; k < HEIGHT_LEVELS; k++)
            free((*h)->steepest[k].slope);
        outline_destroy(&(*h)->footprint);
    }
    free(*h);
    *h = NULL;
}
