#include "shape/height.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shape/array.h"

enum { MOST_LEVELS = 31 };

/* The steepest slope (rise over run) in each tile of so many cells. */
typedef struct slope_level {
    int columns, rows;
    float *slope; /* owned */
} slope_level;

struct height_field {
    height_map map; /* values owned; those without one hold what their neighbours suggest */
    height_body body;
    outline *footprint; /* of the cells with four values, in x and z; owned */
    float *
        inset; /* of each cell: at least so far from the footprint's edge, m; below 0: none; owned */
    double low, high; /* of the surface */
    int levels;
    slope_level steepest[MOST_LEVELS]; /* for tiles of 1, 2, 4, ... cells */
};

/* ---- The surface ----------------------------------------------------------------------------- */

typedef struct slope_point {
    double height, slope[2];
} slope_point;

static float value_at(const height_field *h, int column, int row)
{
    const height_map *m = &h->map;
    column = column < 0 ? 0 : column >= m->columns ? m->columns - 1 : column;
    row = row < 0 ? 0 : row >= m->rows ? m->rows - 1 : row;
    return m->values[(size_t)row * (size_t)m->columns + (size_t)column];
}

/* Weights of the four samples around t in [0, 1] between the middle two, and their derivatives. */
static void cubic_weights(double t, double w[4], double dw[4])
{
    double t2 = t * t, t3 = t2 * t;
    w[0] = (-t3 + 2 * t2 - t) / 2;
    w[1] = (3 * t3 - 5 * t2 + 2) / 2;
    w[2] = (-3 * t3 + 4 * t2 + t) / 2;
    w[3] = (t3 - t2) / 2;
    dw[0] = (-3 * t2 + 4 * t - 1) / 2;
    dw[1] = (9 * t2 - 10 * t) / 2;
    dw[2] = (-9 * t2 + 8 * t + 1) / 2;
    dw[3] = (3 * t2 - 2 * t) / 2;
}

static void linear_weights(double t, double w[4], double dw[4])
{
    memcpy(w, (double[4]){0, 1 - t, t, 0}, 4 * sizeof *w);
    memcpy(dw, (double[4]){0, -1, 1, 0}, 4 * sizeof *dw);
}

/* The cell that holds a place, the nearest one beyond the raster, and the place in it. */
static void locate(const height_field *h, const double at[2], int cell[2], double t[2])
{
    const int size[2] = {h->map.columns, h->map.rows};
    for (int i = 0; i < 2; i++) {
        double u = (at[i] - h->map.corner[i]) / h->map.step[i];
        u = u > 0 ? u : 0;
        u = u < size[i] - 1 ? u : size[i] - 1;
        cell[i] = (int)u < size[i] - 2 ? (int)u : size[i] - 2;
        t[i] = u - cell[i];
    }
}

/* The 4 x 4 samples around a cell; at the edge of the raster its own go on. */
static void samples_around(const height_field *h, const int cell[2], float v[4][4])
{
    const height_map *m = &h->map;
    bool inside = cell[0] > 0 && cell[1] > 0 && cell[0] + 2 < m->columns && cell[1] + 2 < m->rows;
    const float *first = m->values + (ptrdiff_t)(cell[1] - 1) * m->columns + cell[0] - 1;
    for (int r = 0; r < 4; r++)
        if (inside)
            memcpy(v[r], first + (ptrdiff_t)r * m->columns, sizeof v[r]);
        else
            for (int c = 0; c < 4; c++)
                v[r][c] = value_at(h, cell[0] + c - 1, cell[1] + r - 1);
}

/* Height and slope above (x, z) = `at`; beyond the raster, those of its edge. */
static slope_point surface_at(const height_field *h, const double at[2])
{
    int cell[2];
    float v[4][4];
    double t[2], w[2][4], dw[2][4];
    locate(h, at, cell, t);
    for (int i = 0; i < 2; i++)
        (h->body.smooth ? cubic_weights : linear_weights)(t[i], w[i], dw[i]);
    samples_around(h, cell, v);
    slope_point p = {0};
    for (int r = 0; r < 4; r++) {
        double value = 0, slope = 0;
        for (int c = 0; c < 4; c++) {
            value += w[0][c] * v[r][c];
            slope += dw[0][c] * v[r][c];
        }
        p.height += w[1][r] * value;
        p.slope[0] += w[1][r] * slope;
        p.slope[1] += dw[1][r] * value;
    }
    for (int i = 0; i < 2; i++)
        p.slope[i] /= h->map.step[i];
    return p;
}

/* ---- The nearest point ----------------------------------------------------------------------- */

/* From the surface point `p` above `at`, the foot of x on the tangent plane, and again from there. A
 * step is at most a cell long. Returns the square of the distance to where it ends. */
static double descend(const height_field *h, const double x[3], double at[2], slope_point *p)
{
    enum { MOST_STEPS = 8 };
    const double longest = fmin(h->map.step[0], h->map.step[1]);
    double best = INFINITY, next[2] = {at[0], at[1]};
    for (int k = 0; k < MOST_STEPS; k++) {
        slope_point q = k > 0 ? surface_at(h, next) : *p;
        const double to[3] = {x[0] - next[0], x[1] - q.height, x[2] - next[1]};
        double square = to[0] * to[0] + to[1] * to[1] + to[2] * to[2];
        if (!(square < best))
            break;
        best = square;
        memcpy(at, next, sizeof next);
        *p = q;
        double along = (to[1] - q.slope[0] * to[0] - q.slope[1] * to[2]) /
                       (1 + q.slope[0] * q.slope[0] + q.slope[1] * q.slope[1]);
        const double step[2] = {to[0] + along * q.slope[0], to[2] + along * q.slope[1]};
        double length = sqrt(step[0] * step[0] + step[1] * step[1]);
        if (length < 1e-3 * longest)
            break;
        for (int i = 0; i < 2; i++)
            next[i] = at[i] + step[i] * fmin(1, longest / length);
    }
    return best;
}

/* The best of a few places around the one straight below, for starts that Newton's method alone
 * would not leave. */
static slope_point search(const height_field *h, const double x[3], double above, double at[2])
{
    enum { REACH = 6 };
    const double from[2] = {x[0], x[2]};
    double stride[2], best = INFINITY;
    for (int i = 0; i < 2; i++)
        stride[i] = fmax(above / REACH, h->map.step[i] / 2);
    for (int n = 0; n < (2 * REACH + 1) * (2 * REACH + 1); n++) {
        const double there[2] = {from[0] + stride[0] * (n % (2 * REACH + 1) - REACH),
                                 from[1] + stride[1] * (n / (2 * REACH + 1) - REACH)};
        double square = pow(x[0] - there[0], 2) + pow(x[2] - there[1], 2) +
                        pow(x[1] - surface_at(h, there).height, 2);
        if (square < best) {
            best = square;
            memcpy(at, there, sizeof there);
        }
    }
    return surface_at(h, at);
}

/* The steepest slope within `reach` of a place. */
static double steepest_near(const height_field *h, const double at[2], double reach)
{
    int cell[2], k = 0;
    double t[2], cells = reach / fmin(h->map.step[0], h->map.step[1]);
    locate(h, at, cell, t);
    while (k + 1 < h->levels && (double)(1 << k) < cells)
        k++;
    const slope_level *level = &h->steepest[k];
    float most = 0;
    for (int n = 0; n < 9; n++) {
        int c = (cell[0] >> k) + n % 3 - 1, r = (cell[1] >> k) + n / 3 - 1;
        if (c >= 0 && r >= 0 && c < level->columns && r < level->rows)
            most = fmaxf(most, level->slope[r * level->columns + c]);
    }
    return most;
}

/* To the surface shifted up by `lift`: positive above. */
static double to_surface(const height_field *h, bool exact, double lift, const double place[3],
                         double gradient[3])
{
    const double x[3] = {place[0], place[1] - lift, place[2]};
    double at[2] = {x[0], x[2]};
    slope_point p = surface_at(h, at);
    double above = x[1] - p.height, slope = steepest_near(h, at, fabs(above));
    double distance = fabs(above) / sqrt(1 + slope * slope);
    const double sign = above > 0 ? 1 : -1;
    bool near = distance <= h->body.near;
    if (exact && !near)
        p = search(h, x, fabs(above), at);
    if (exact || near)
        distance = sqrt(descend(h, x, at, &p));
    if (!gradient)
        return sign * distance;
    double to[3] = {sign * (x[0] - at[0]), sign * (x[1] - p.height), sign * (x[2] - at[1])};
    double length = sqrt(to[0] * to[0] + to[1] * to[1] + to[2] * to[2]);
    if (!(exact || near) || length < 0.05 * h->map.step[0]) { /* the normal */
        memcpy(to, (double[3]){-p.slope[0], 1, -p.slope[1]}, sizeof to);
        length = sqrt(1 + p.slope[0] * p.slope[0] + p.slope[1] * p.slope[1]);
    }
    for (int i = 0; i < 3; i++)
        gradient[i] = to[i] / length;
    return sign * distance;
}

/* ---- The body -------------------------------------------------------------------------------- */

/* The larger of two distances, with its gradient. */
static double meet(double a, double b, double gradient[3], const double b_gradient[3])
{
    if (b <= a)
        return a;
    if (gradient)
        memcpy(gradient, b_gradient, 3 * sizeof *gradient);
    return b;
}

/* To the walls where the surface ends, unless they are farther than `nearer` for sure. */
static double to_walls(const height_field *h, const double x[3], double nearer, double gradient[3])
{
    const double at[2] = {x[0], x[2]};
    const height_map *m = &h->map;
    int cell[2];
    double t[2], flat[2];
    locate(h, at, cell, t);
    bool within = true;
    const int size[2] = {m->columns, m->rows};
    for (int i = 0; i < 2; i++)
        within =
            within && at[i] >= m->corner[i] && at[i] <= m->corner[i] + m->step[i] * (size[i] - 1);
    double inset = h->inset[(size_t)cell[1] * (size_t)(m->columns - 1) + (size_t)cell[0]];
    if (within && inset > 0 && -inset <= nearer)
        return -INFINITY;
    double distance = outline_distance(h->footprint, at, flat);
    memcpy(gradient, (double[3]){flat[0], 0, flat[1]}, 3 * sizeof *gradient);
    return distance;
}

double height_distance(const height_field *h, bool exact, const double x[3], double gradient[3])
{
    static const double down[3] = {0, -1, 0};
    double other[3];
    double d = to_surface(h, exact, h->body.thickness, x, gradient);
    if (h->body.thickness > 0 && d < 0) {
        double under = -to_surface(h, exact, 0, x, other);
        for (int i = 0; i < 3; i++)
            other[i] = -other[i];
        d = meet(d, under, gradient, other);
    } else if (!(h->body.thickness > 0)) {
        d = meet(d, h->body.base - x[1], gradient, down);
    }
    double walls = to_walls(h, x, d, other);
    return meet(d, walls, gradient, other);
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
            slope_point p = surface_at(h, at);
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
static void coarsen(const slope_level *finer, slope_level *level)
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

/* Until one tile is all. */
static bool find_slopes(height_field *h)
{
    int columns = h->map.columns - 1, rows = h->map.rows - 1;
    bool all = false;
    while (!all) {
        slope_level *level = &h->steepest[h->levels++];
        *level =
            (slope_level){columns, rows, malloc(sizeof(float) * (size_t)columns * (size_t)rows)};
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
        for (int k = 0; k < MOST_LEVELS; k++)
            free((*h)->steepest[k].slope);
        outline_destroy(&(*h)->footprint);
    }
    free(*h);
    *h = NULL;
}
