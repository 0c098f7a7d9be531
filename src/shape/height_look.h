/* The distance to terrain (height.h), for every processor. */
#ifndef FIRN_SHAPE_HEIGHT_LOOK_H
#define FIRN_SHAPE_HEIGHT_LOOK_H

#include <math.h>

#include "everywhere.h"
#include "shape/height.h"
#include "shape/outline_look.h"

enum { HEIGHT_LEVELS = 31 };

/* The steepest slope (rise over run) in each tile of so many cells and the eight around it. */
typedef struct height_level {
    int columns, rows;
    float *slope; /* owned */
} height_level;

struct height_field {
    height_map map; /* values owned; those without one hold what their neighbours suggest */
    height_body body;
    outline *footprint; /* of the cells with four values, in x and z; owned */
    float *
        inset; /* of each cell: at least so far from the footprint's edge, m; below 0: none; owned */
    double low, high; /* of the surface */
    int levels;
    height_level steepest[HEIGHT_LEVELS]; /* for tiles of 1, 2, 4, ... cells */
};

/* ---- The surface ----------------------------------------------------------------------------- */

typedef struct height_point {
    double height, slope[2];
} height_point;

EVERYWHERE float height_value_at(const height_field *h, int column, int row)
{
    const height_map *m = &h->map;
    column = column < 0 ? 0 : column >= m->columns ? m->columns - 1 : column;
    row = row < 0 ? 0 : row >= m->rows ? m->rows - 1 : row;
    return m->values[(size_t)row * (size_t)m->columns + (size_t)column];
}

/* Weights of the four samples around t in [0, 1] between the middle two, and their derivatives. */
EVERYWHERE void height_cubic_weights(double t, double w[4], double dw[4])
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

EVERYWHERE void height_linear_weights(double t, double w[4], double dw[4])
{
    w[0] = w[3] = dw[0] = dw[3] = 0;
    w[1] = 1 - t;
    w[2] = t;
    dw[1] = -1;
    dw[2] = 1;
}

/* The cell that holds a place, the nearest one beyond the raster, and the place in it. */
EVERYWHERE void height_locate(const height_field *h, const double at[2], int cell[2], double t[2])
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
EVERYWHERE void height_samples_around(const height_field *h, const int cell[2], float v[4][4])
{
    const height_map *m = &h->map;
    bool inside = cell[0] > 0 && cell[1] > 0 && cell[0] + 2 < m->columns && cell[1] + 2 < m->rows;
    const float *first = m->values + (ptrdiff_t)(cell[1] - 1) * m->columns + cell[0] - 1;
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++)
            v[r][c] = inside ? first[(ptrdiff_t)r * m->columns + c]
                             : height_value_at(h, cell[0] + c - 1, cell[1] + r - 1);
}

/* Height and slope above (x, z) = `at`; beyond the raster, those of its edge. */
EVERYWHERE height_point height_surface_at(const height_field *h, const double at[2])
{
    int cell[2];
    float v[4][4];
    double t[2], w[2][4], dw[2][4];
    height_locate(h, at, cell, t);
    for (int i = 0; i < 2; i++)
        if (h->body.smooth)
            height_cubic_weights(t[i], w[i], dw[i]);
        else
            height_linear_weights(t[i], w[i], dw[i]);
    height_samples_around(h, cell, v);
    height_point p = {0, {0, 0}};
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
EVERYWHERE double height_descend(const height_field *h, const double x[3], double at[2],
                                 height_point *p)
{
    enum { MOST_STEPS = 8 };
    const double longest = fmin(h->map.step[0], h->map.step[1]);
    double best = INFINITY, next[2] = {at[0], at[1]};
    for (int k = 0; k < MOST_STEPS; k++) {
        height_point q = k > 0 ? height_surface_at(h, next) : *p;
        const double to[3] = {x[0] - next[0], x[1] - q.height, x[2] - next[1]};
        double square = to[0] * to[0] + to[1] * to[1] + to[2] * to[2];
        if (!(square < best))
            break;
        best = square;
        at[0] = next[0];
        at[1] = next[1];
        *p = q;
        double along = (to[1] - q.slope[0] * to[0] - q.slope[1] * to[2]) /
                       (1 + q.slope[0] * q.slope[0] + q.slope[1] * q.slope[1]);
        const double step[2] = {to[0] + along * q.slope[0], to[2] + along * q.slope[1]};
        double length = sqrt(step[0] * step[0] + step[1] * step[1]);
        if (length < 1e-3 * longest)
            break;
        for (int i = 0; i < 2; i++)
            next[i] = at[i] + step[i] * fmin(1.0, longest / length);
    }
    return best;
}

/* The best of a few places around the one straight below, for starts that Newton's method alone
 * would not leave. */
EVERYWHERE height_point height_search(const height_field *h, const double x[3], double above,
                                      double at[2])
{
    enum { REACH = 6 };
    const double from[2] = {x[0], x[2]};
    double stride[2], best = INFINITY;
    for (int i = 0; i < 2; i++)
        stride[i] = fmax(above / REACH, h->map.step[i] / 2);
    for (int n = 0; n < (2 * REACH + 1) * (2 * REACH + 1); n++) {
        const double there[2] = {from[0] + stride[0] * (n % (2 * REACH + 1) - REACH),
                                 from[1] + stride[1] * (n / (2 * REACH + 1) - REACH)};
        const double to[3] = {x[0] - there[0], x[1] - height_surface_at(h, there).height,
                              x[2] - there[1]};
        double square = to[0] * to[0] + to[1] * to[1] + to[2] * to[2];
        if (square < best) {
            best = square;
            at[0] = there[0];
            at[1] = there[1];
        }
    }
    return height_surface_at(h, at);
}

/* The steepest slope within `reach` of a place. */
EVERYWHERE double height_steepest_near(const height_field *h, const double at[2], double reach)
{
    int cell[2], k = 0;
    double t[2], cells = reach / fmin(h->map.step[0], h->map.step[1]);
    height_locate(h, at, cell, t);
    while (k + 1 < h->levels && (double)(1 << k) < cells)
        k++;
    const height_level *level = &h->steepest[k];
    return level->slope[(cell[1] >> k) * level->columns + (cell[0] >> k)];
}

/* To the surface shifted up by `lift`: positive above. */
EVERYWHERE double height_to_surface(const height_field *h, field_use use, double lift,
                                    const double place[3], double gradient[3])
{
    const bool exact = use == FIELD_EXACT;
    const double x[3] = {place[0], place[1] - lift, place[2]};
    double at[2] = {x[0], x[2]};
    height_point p = height_surface_at(h, at);
    double above = x[1] - p.height, slope = height_steepest_near(h, at, fabs(above));
    double distance = fabs(above) / sqrt(1 + slope * slope);
    const double sign = above > 0 ? 1 : -1;
    bool near = use != FIELD_BOUND && distance <= h->body.near;
    if (exact && !near)
        p = height_search(h, x, fabs(above), at);
    if (exact || near)
        distance = sqrt(height_descend(h, x, at, &p));
    if (!gradient)
        return sign * distance;
    double to[3] = {sign * (x[0] - at[0]), sign * (x[1] - p.height), sign * (x[2] - at[1])};
    double length = sqrt(to[0] * to[0] + to[1] * to[1] + to[2] * to[2]);
    if (!(exact || near) || length < 0.05 * h->map.step[0]) { /* the normal */
        to[0] = -p.slope[0];
        to[1] = 1;
        to[2] = -p.slope[1];
        length = sqrt(1 + p.slope[0] * p.slope[0] + p.slope[1] * p.slope[1]);
    }
    for (int i = 0; i < 3; i++)
        gradient[i] = to[i] / length;
    return sign * distance;
}

/* ---- The body -------------------------------------------------------------------------------- */

/* The larger of two distances, with its gradient. */
EVERYWHERE double height_meet(double a, double b, double gradient[3], const double b_gradient[3])
{
    if (b <= a)
        return a;
    for (int i = 0; gradient && i < 3; i++)
        gradient[i] = b_gradient[i];
    return b;
}

/* To the walls where the surface ends, unless they are farther than `nearer` for sure. */
EVERYWHERE double height_to_walls(const height_field *h, const double x[3], double nearer,
                                  double gradient[3])
{
    const double at[2] = {x[0], x[2]};
    const height_map *m = &h->map;
    int cell[2];
    double t[2], flat[2] = {0, 0};
    height_locate(h, at, cell, t);
    bool within = true;
    const int size[2] = {m->columns, m->rows};
    for (int i = 0; i < 2; i++)
        within =
            within && at[i] >= m->corner[i] && at[i] <= m->corner[i] + m->step[i] * (size[i] - 1);
    double inset = h->inset[(size_t)cell[1] * (size_t)(m->columns - 1) + (size_t)cell[0]];
    if (within && inset > 0 && -inset <= nearer)
        return -INFINITY;
    double distance = outline_look(h->footprint, at, flat);
    gradient[0] = flat[0];
    gradient[1] = 0;
    gradient[2] = flat[1];
    return distance;
}

EVERYWHERE_APART double height_look(const height_field *h, field_use use, const double x[3],
                                    double gradient[3])
{
    const double down[3] = {0, -1, 0};
    double other[3];
    double d = height_to_surface(h, use, h->body.thickness, x, gradient);
    if (h->body.thickness > 0 && d < 0) {
        double under = -height_to_surface(h, use, 0, x, other);
        for (int i = 0; i < 3; i++)
            other[i] = -other[i];
        d = height_meet(d, under, gradient, other);
    } else if (!(h->body.thickness > 0)) {
        d = height_meet(d, h->body.base - x[1], gradient, down);
    }
    double walls = height_to_walls(h, x, d, other);
    return height_meet(d, walls, gradient, other);
}

#endif
