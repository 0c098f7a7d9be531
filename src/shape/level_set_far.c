/*
 * What a level set says beyond its band, block by block: a rigorous bound, from the distances
 * between blocks, and an estimate of the distance itself, from the equation |grad d| = 1.
 */
#include "shape/level_set_far.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t table_index(const int32_t size[3], int x, int y, int z)
{
    return ((size_t)z * (size_t)size[1] + (size_t)y) * (size_t)size[0] + (size_t)x;
}

/* ---- The bound ------------------------------------------------------------------------------- */

/* d[k] <- min over j of d[j] + (k - j)^2, along a line (Felzenszwalb and Huttenlocher 2012). */
static void square_distances(float *d, size_t stride, int count, float *values, int *vertex,
                             float *start)
{
    int top = -1;
    for (int k = 0; k < count; k++) {
        values[k] = d[(size_t)k * stride];
        if (!isfinite(values[k]))
            continue;
        float from = -INFINITY;
        while (top >= 0) {
            int v = vertex[top];
            from = (values[k] + (float)k * (float)k - values[v] - (float)v * (float)v) /
                   (float)(2 * (k - v));
            if (from > start[top])
                break;
            top--;
        }
        top++;
        vertex[top] = k;
        start[top] = top ? from : -INFINITY;
    }
    if (top < 0)
        return;
    for (int k = 0, n = 0; k < count; k++) {
        while (n < top && start[n + 1] < (float)k)
            n++;
        float step = (float)(k - vertex[n]);
        d[(size_t)k * stride] = values[vertex[n]] + step * step;
    }
}

bool far_squares(const int32_t size[3], float *d)
{
    int longest = size[0] > size[1] ? size[0] : size[1];
    longest = longest > size[2] ? longest : size[2];
    float *values = malloc((size_t)longest * sizeof *values);
    float *start = malloc((size_t)longest * sizeof *start);
    int *vertex = malloc((size_t)longest * sizeof *vertex);
    bool ok = values && start && vertex;
    for (int z = 0; z < size[2] && ok; z++)
        for (int y = 0; y < size[1]; y++)
            square_distances(d + table_index(size, 0, y, z), 1, size[0], values, vertex, start);
    for (int z = 0; z < size[2] && ok; z++)
        for (int x = 0; x < size[0]; x++)
            square_distances(d + table_index(size, x, 0, z), (size_t)size[0], size[1], values,
                             vertex, start);
    for (int y = 0; y < size[1] && ok; y++)
        for (int x = 0; x < size[0]; x++)
            square_distances(d + table_index(size, x, y, 0), (size_t)size[0] * (size_t)size[1],
                             size[2], values, vertex, start);
    free(values);
    free(start);
    free(vertex);
    return ok;
}

/* ---- The estimate ---------------------------------------------------------------------------- */

static double lesser_neighbour(const float *d, const int32_t size[3], const int at[3], int axis)
{
    double least = INFINITY;
    for (int step = -1; step <= 1; step += 2) {
        int to[3] = {at[0], at[1], at[2]};
        to[axis] += step;
        if (to[axis] >= 0 && to[axis] < size[axis])
            least = fmin(least, d[table_index(size, to[0], to[1], to[2])]);
    }
    return least;
}

/* The distance at a place from those of its neighbours a <= b <= c along the axes, one step away:
 * upwind differences of as many axes as make sense. */
static double solve_upwind(double a, double b, double c, double step)
{
    double d = a + step;
    if (d <= b)
        return d;
    d = (a + b + sqrt(fmax(0, 2 * step * step - (a - b) * (a - b)))) / 2;
    if (d <= c)
        return d;
    double sum = a + b + c, squares = a * a + b * b + c * c - step * step;
    return (sum + sqrt(fmax(0, sum * sum - 3 * squares))) / 3;
}

static void update(float *d, const int32_t size[3], const int at[3], double step)
{
    double v[3];
    for (int axis = 0; axis < 3; axis++)
        v[axis] = lesser_neighbour(d, size, at, axis);
    double low = fmin(fmin(v[0], v[1]), v[2]), high = fmax(fmax(v[0], v[1]), v[2]);
    if (!isfinite(low))
        return;
    double middle = fmax(fmin(v[0], v[1]), fmin(fmax(v[0], v[1]), v[2]));
    float *here = &d[table_index(size, at[0], at[1], at[2])];
    double found = solve_upwind(low, middle, high, step);
    if (found < *here)
        *here = (float)found;
}

void far_sweep(const int32_t size[3], const bool *known, float *d, double step)
{
    for (int sweep = 0; sweep < 16; sweep++) /* each of the eight directions twice */
        for (int z = 0; z < size[2]; z++)
            for (int y = 0; y < size[1]; y++)
                for (int x = 0; x < size[0]; x++) {
                    const int at[3] = {sweep & 1 ? size[0] - 1 - x : x,
                                       sweep & 2 ? size[1] - 1 - y : y,
                                       sweep & 4 ? size[2] - 1 - z : z};
                    if (!known[table_index(size, at[0], at[1], at[2])])
                        update(d, size, at, step);
                }
}
