#include "shape/level_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps between neighbouring samples of a block. */
static const int STEP[3] = {1, LEVEL_SET_WIDTH, LEVEL_SET_WIDTH *LEVEL_SET_WIDTH};

level_set *level_set_share(level_set *set)
{
    __atomic_add_fetch(&set->shares, 1, __ATOMIC_RELAXED);
    return set;
}

void level_set_release(level_set **set)
{
    level_set *s = *set;
    *set = NULL;
    if (!s || __atomic_sub_fetch(&s->shares, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(s->table);
    free(s->far);
    free(s->depth);
    free(s->place);
    free(s->samples);
    free(s);
}

/* ---- Where ----------------------------------------------------------------------------------- */

/* The block of x and the place within it, in cells; false beyond the table. */
static bool find_block(const level_set *set, const double x[3], int32_t place[3], double in[3])
{
    for (int i = 0; i < 3; i++) {
        double cells = (x[i] - set->origin[i]) / set->voxel;
        if (!(cells >= 0 && cells < (double)set->size[i] * LEVEL_SET_CELLS))
            return false;
        place[i] = (int32_t)cells / LEVEL_SET_CELLS;
        in[i] = cells - place[i] * LEVEL_SET_CELLS;
    }
    return true;
}

static size_t table_index(const level_set *set, const int32_t place[3])
{
    return ((size_t)place[2] * (size_t)set->size[1] + (size_t)place[1]) * (size_t)set->size[0] +
           (size_t)place[0];
}

static level_set_cell cell_in_block(int32_t block, const double in[3])
{
    level_set_cell cell = {.block = block};
    for (int i = 0; i < 3; i++) {
        int32_t low = (int32_t)in[i];
        cell.weight[i] = in[i] - low;
        cell.sample += (low + 1) * STEP[i];
    }
    return cell;
}

level_set_cell level_set_locate(const level_set *set, const double x[3])
{
    int32_t place[3];
    double in[3];
    if (!find_block(set, x, place, in) || set->table[table_index(set, place)] < 0)
        return (level_set_cell){.block = -1};
    return cell_in_block(set->table[table_index(set, place)], in);
}

/* ---- Far ------------------------------------------------------------------------------------- */

static void unit_or_up(double g[3])
{
    double length = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    for (int i = 0; i < 3; i++)
        g[i] = length > 0 ? g[i] / length : i == 1;
}

/* Beyond the table: the box around the inside stands for it. */
static double beyond_distance(const level_set *set, const double x[3], double gradient[3])
{
    double to[3], square = 0;
    for (int i = 0; i < 3; i++) {
        to[i] = x[i] < set->low[i] ? x[i] - set->low[i] : fmax(x[i] - set->high[i], 0);
        square += to[i] * to[i];
    }
    if (gradient) {
        memcpy(gradient, to, sizeof to);
        unit_or_up(gradient);
    }
    return fmax(sqrt(square), set->band);
}

/* The estimate at the middle of a block beside this one, or of this one where the table ends. */
static double depth_beside(const level_set *set, const int32_t place[3], int axis, int step)
{
    int32_t at[3] = {place[0], place[1], place[2]};
    at[axis] += step;
    if (at[axis] < 0 || at[axis] >= set->size[axis])
        at[axis] -= step;
    return set->depth[table_index(set, at)];
}

static void far_gradient(const level_set *set, const int32_t place[3], double gradient[3])
{
    for (int i = 0; i < 3; i++)
        gradient[i] = depth_beside(set, place, i, 1) - depth_beside(set, place, i, -1);
    unit_or_up(gradient);
}

/* A distance changes by no more than the way: from the block's middle to x. */
static double far_distance(const level_set *set, const int32_t place[3], const double in[3],
                           double gradient[3])
{
    double square = 0, far = set->far[table_index(set, place)];
    for (int i = 0; i < 3; i++) {
        double off = in[i] - LEVEL_SET_CELLS / 2;
        square += off * off;
    }
    if (gradient)
        far_gradient(set, place, gradient);
    return copysign(fmax(fabs(far) - set->voxel * sqrt(square), set->band), far);
}

/* ---- Near ------------------------------------------------------------------------------------ */

static double mix(double a, double b, double weight)
{
    return a + weight * (b - a);
}

static double mix_corners(const double v[8], const double w[3])
{
    return mix(mix(mix(v[0], v[1], w[0]), mix(v[2], v[3], w[0]), w[1]),
               mix(mix(v[4], v[5], w[0]), mix(v[6], v[7], w[0]), w[1]), w[2]);
}

/* Central differences, mixed. Beyond the band samples are all alike: there blocks decide. */
static double near_distance(const level_set *set, const int32_t place[3],
                            const level_set_cell *cell, double gradient[3])
{
    const float *s = set->samples + (size_t)cell->block * LEVEL_SET_BLOCK + cell->sample;
    double v[8];
    for (int c = 0; c < 8; c++)
        v[c] = s[(c & 1) * STEP[0] + (c >> 1 & 1) * STEP[1] + (c >> 2) * STEP[2]];
    double distance = mix_corners(v, cell->weight);
    if (!gradient)
        return distance;
    double square = 0; /* of twice the voxel where the distance is exact */
    for (int i = 0; i < 3; i++) {
        for (int c = 0; c < 8; c++) {
            const float *at = s + (c & 1) * STEP[0] + (c >> 1 & 1) * STEP[1] + (c >> 2) * STEP[2];
            v[c] = (double)at[STEP[i]] - (double)at[-STEP[i]];
        }
        gradient[i] = mix_corners(v, cell->weight);
        square += gradient[i] * gradient[i];
    }
    if (square > set->voxel * set->voxel)
        unit_or_up(gradient);
    else
        far_gradient(set, place, gradient);
    return distance;
}

double level_set_distance(const level_set *set, const double x[3], double gradient[3])
{
    int32_t place[3];
    double in[3];
    if (!find_block(set, x, place, in))
        return beyond_distance(set, x, gradient);
    int32_t block = set->table[table_index(set, place)];
    if (block < 0)
        return far_distance(set, place, in, gradient);
    level_set_cell cell = cell_in_block(block, in);
    return near_distance(set, place, &cell, gradient);
}

int level_set_side(const level_set *set, const double x[3])
{
    level_set_cell cell = level_set_locate(set, x);
    if (cell.block < 0)
        return level_set_distance(set, x, NULL) < 0 ? -1 : 1;
    const float *s = set->samples + (size_t)cell.block * LEVEL_SET_BLOCK + cell.sample;
    int inside = 0;
    for (int c = 0; c < 8; c++)
        inside += s[(c & 1) * STEP[0] + (c >> 1 & 1) * STEP[1] + (c >> 2) * STEP[2]] < 0;
    return inside == 8 ? -1 : inside == 0 ? 1 : 0;
}
