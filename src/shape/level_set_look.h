/* Looks into a level set (level_set.h), for every processor. */
#ifndef FIRN_SHAPE_LEVEL_SET_LOOK_H
#define FIRN_SHAPE_LEVEL_SET_LOOK_H

#include <math.h>

#include "everywhere.h"
#include "shape/level_set.h"

/* Steps between neighbouring samples of a block along an axis. */
#define LEVEL_SET_STEP(axis)                                                                       \
    ((axis) == 0 ? 1 : (axis) == 1 ? LEVEL_SET_WIDTH : LEVEL_SET_WIDTH * LEVEL_SET_WIDTH)

/* ---- Where ----------------------------------------------------------------------------------- */

/* The block of a place in cells from the first sample, and where in it; false beyond the table. */
EVERYWHERE bool level_set_place(const level_set *set, const double cells[3], int32_t place[3],
                                double in[3])
{
    for (int i = 0; i < 3; i++) {
        if (!(cells[i] >= 0 && cells[i] < (double)set->size[i] * LEVEL_SET_CELLS))
            return false;
        place[i] = (int32_t)cells[i] / LEVEL_SET_CELLS;
        in[i] = cells[i] - place[i] * LEVEL_SET_CELLS;
    }
    return true;
}

/* The same of x. */
EVERYWHERE bool level_set_find_block(const level_set *set, const double x[3], int32_t place[3],
                                     double in[3])
{
    double cells[3];
    for (int i = 0; i < 3; i++)
        cells[i] = (x[i] - set->origin[i]) / set->voxel;
    return level_set_place(set, cells, place, in);
}

EVERYWHERE size_t level_set_index(const level_set *set, const int32_t place[3])
{
    return ((size_t)place[2] * (size_t)set->size[1] + (size_t)place[1]) * (size_t)set->size[0] +
           (size_t)place[0];
}

EVERYWHERE level_set_cell level_set_cell_in(int32_t block, const double in[3])
{
    level_set_cell cell = {.block = block};
    for (int i = 0; i < 3; i++) {
        int32_t low = (int32_t)in[i];
        cell.weight[i] = in[i] - low;
        cell.sample += (low + 1) * LEVEL_SET_STEP(i);
    }
    return cell;
}

/* ---- Far ------------------------------------------------------------------------------------- */

EVERYWHERE void level_set_unit_or_up(double g[3])
{
    double length = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    for (int i = 0; i < 3; i++)
        g[i] = length > 0 ? g[i] / length : i == 1;
}

/* Beyond the table: the box around the inside stands for it. */
EVERYWHERE double level_set_beyond_distance(const level_set *set, const double x[3],
                                            double gradient[3])
{
    double to[3], square = 0;
    for (int i = 0; i < 3; i++) {
        to[i] = x[i] < set->low[i] ? x[i] - set->low[i] : fmax(x[i] - set->high[i], 0.0);
        square += to[i] * to[i];
    }
    if (gradient) {
        for (int i = 0; i < 3; i++)
            gradient[i] = to[i];
        level_set_unit_or_up(gradient);
    }
    return fmax(sqrt(square), set->band);
}

/* The estimate at the middle of a block beside this one, or of this one where the table ends. */
EVERYWHERE double level_set_depth_beside(const level_set *set, const int32_t place[3], int axis,
                                         int step)
{
    int32_t at[3] = {place[0], place[1], place[2]};
    at[axis] += step;
    if (at[axis] < 0 || at[axis] >= set->size[axis])
        at[axis] -= step;
    return set->depth[level_set_index(set, at)];
}

EVERYWHERE void level_set_far_gradient(const level_set *set, const int32_t place[3],
                                       double gradient[3])
{
    for (int i = 0; i < 3; i++)
        gradient[i] =
            level_set_depth_beside(set, place, i, 1) - level_set_depth_beside(set, place, i, -1);
    level_set_unit_or_up(gradient);
}

/* A distance changes by no more than the way: from the block's middle to x. */
EVERYWHERE double level_set_far_distance(const level_set *set, const int32_t place[3],
                                         const double in[3], double gradient[3])
{
    double square = 0, far = set->far[level_set_index(set, place)];
    for (int i = 0; i < 3; i++) {
        double off = in[i] - LEVEL_SET_CELLS / 2;
        square += off * off;
    }
    if (gradient)
        level_set_far_gradient(set, place, gradient);
    return copysign(fmax(fabs(far) - set->voxel * sqrt(square), set->band), far);
}

/* ---- Near ------------------------------------------------------------------------------------ */

EVERYWHERE double level_set_mix(double a, double b, double weight)
{
    return a + weight * (b - a);
}

EVERYWHERE double level_set_mix_corners(const double v[8], const double w[3])
{
    return level_set_mix(
        level_set_mix(level_set_mix(v[0], v[1], w[0]), level_set_mix(v[2], v[3], w[0]), w[1]),
        level_set_mix(level_set_mix(v[4], v[5], w[0]), level_set_mix(v[6], v[7], w[0]), w[1]),
        w[2]);
}

/* The samples about a cell, mixed. */
EVERYWHERE double level_set_value(const level_set *set, const level_set_cell *cell)
{
    const float *s = set->samples + (size_t)cell->block * LEVEL_SET_BLOCK + cell->sample;
    double v[8];
    for (int c = 0; c < 8; c++)
        v[c] = s[(c & 1) * LEVEL_SET_STEP(0) + (c >> 1 & 1) * LEVEL_SET_STEP(1) +
                 (c >> 2) * LEVEL_SET_STEP(2)];
    return level_set_mix_corners(v, cell->weight);
}

/* Central differences, mixed. Beyond the band samples are all alike: there blocks decide. */
EVERYWHERE double level_set_near_distance(const level_set *set, const int32_t place[3],
                                          const level_set_cell *cell, double gradient[3])
{
    double distance = level_set_value(set, cell), v[8];
    if (!gradient)
        return distance;
    const float *s = set->samples + (size_t)cell->block * LEVEL_SET_BLOCK + cell->sample;
    double square = 0; /* of twice the voxel where the distance is exact */
    for (int i = 0; i < 3; i++) {
        for (int c = 0; c < 8; c++) {
            const float *at = s + (c & 1) * LEVEL_SET_STEP(0) + (c >> 1 & 1) * LEVEL_SET_STEP(1) +
                              (c >> 2) * LEVEL_SET_STEP(2);
            v[c] = (double)at[LEVEL_SET_STEP(i)] - (double)at[-LEVEL_SET_STEP(i)];
        }
        gradient[i] = level_set_mix_corners(v, cell->weight);
        square += gradient[i] * gradient[i];
    }
    if (square > set->voxel * set->voxel)
        level_set_unit_or_up(gradient);
    else
        level_set_far_gradient(set, place, gradient);
    return distance;
}

/* ---- Quick looks, at places in cells from the first sample ------------------------------------- */

/* Whether the distance is above 0 for sure, whatever rounding the cells went through. */
EVERYWHERE bool level_set_is_outside(const level_set *set, const double cells[3])
{
    int32_t place[3];
    double in[3];
    const double rounding = 1e-5;
    if (!level_set_place(set, cells, place, in))
        return true;
    size_t index = level_set_index(set, place);
    if (set->table[index] < 0)
        return set->far[index] > 0;
    level_set_cell cell = level_set_cell_in(set->table[index], in);
    const float *s = set->samples + (size_t)cell.block * LEVEL_SET_BLOCK + cell.sample;
    const double diagonal = 1.7321; /* a sample so far from the surface speaks for the whole cell */
    return *s > diagonal * set->voxel || level_set_value(set, &cell) > rounding * set->voxel;
}

/* The distance, or where it is not known a bound of it from below. */
EVERYWHERE double level_set_bound(const level_set *set, const double cells[3])
{
    int32_t place[3];
    double in[3];
    if (!level_set_place(set, cells, place, in))
        return 0;
    int32_t block = set->table[level_set_index(set, place)];
    if (block < 0)
        return level_set_far_distance(set, place, in, NULL);
    level_set_cell cell = level_set_cell_in(block, in);
    return level_set_value(set, &cell);
}

/* Whether any block that a box reaches, of this half width about a place, all in cells, has some inside. */
EVERYWHERE bool level_set_is_near(const level_set *set, const double cells[3], double half)
{
    int32_t low[3], high[3], at[3];
    for (int i = 0; i < 3; i++) {
        double from = cells[i] - half, to = cells[i] + half, end = LEVEL_SET_CELLS * set->size[i];
        if (to < 0)
            return false;
        low[i] = from > 0 ? (int32_t)((from < end ? from : end) / LEVEL_SET_CELLS) : 0;
        high[i] = (int32_t)((to < end ? to : end) / LEVEL_SET_CELLS);
        high[i] = high[i] < set->size[i] ? high[i] : set->size[i] - 1;
    }
    for (at[2] = low[2]; at[2] <= high[2]; at[2]++)
        for (at[1] = low[1]; at[1] <= high[1]; at[1]++)
            for (at[0] = low[0]; at[0] <= high[0]; at[0]++)
                if (set->far[level_set_index(set, at)] < 0)
                    return true;
    return false;
}

EVERYWHERE double level_set_look(const level_set *set, const double x[3], double gradient[3])
{
    int32_t place[3];
    double in[3];
    if (!level_set_find_block(set, x, place, in))
        return level_set_beyond_distance(set, x, gradient);
    int32_t block = set->table[level_set_index(set, place)];
    if (block < 0)
        return level_set_far_distance(set, place, in, gradient);
    level_set_cell cell = level_set_cell_in(block, in);
    return level_set_near_distance(set, place, &cell, gradient);
}

#endif
