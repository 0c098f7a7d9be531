#include "shape/cells.h"

#include <math.h>
#include <stddef.h>

#include "shape/sample.h"

/* Points keep off the faces of their cubes, so that no two are close and no cell is a splinter. A
 * cell's point is then at most two cubes away, and so are those beyond its walls near x. */
enum { REACH = 2, SIDE = 2 * REACH + 1 };
static const double margin = 0.15;

static void point_in(uint64_t seed, const double cube[3], double point[3])
{
    uint64_t key = (uint64_t)(int64_t)cube[0] * 0x9e3779b97f4a7c15u ^
                   (uint64_t)(int64_t)cube[1] * 0xc2b2ae3d27d4eb4fu ^
                   (uint64_t)(int64_t)cube[2] * 0x165667b19e3779f9u;
    uint64_t own = random_bits(seed, key);
    for (int i = 0; i < 3; i++)
        point[i] = cube[i] + margin + (1 - 2 * margin) * random_unit(own, (uint64_t)i);
}

static double square_of(const double a[3], const double b[3])
{
    double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

double cell_wall_distance(uint64_t seed, double size, const double x[3])
{
    double at[3], point[SIDE * SIDE * SIDE][3], square[SIDE * SIDE * SIDE];
    for (int i = 0; i < 3; i++)
        at[i] = x[i] / size;
    size_t count = 0, own = 0;
    for (int a = -REACH; a <= REACH; a++)
        for (int b = -REACH; b <= REACH; b++)
            for (int c = -REACH; c <= REACH; c++, count++) {
                const double cube[3] = {floor(at[0]) + a, floor(at[1]) + b, floor(at[2]) + c};
                point_in(seed, cube, point[count]);
                square[count] = square_of(at, point[count]);
                own = square[count] < square[own] ? count : own;
            }
    /* The wall to another point is half way: |x - q|^2 - |x - p|^2 = 2 |q - p| distance. */
    double nearest = INFINITY;
    for (size_t k = 0; k < count; k++)
        if (k != own)
            nearest = fmin(nearest,
                           (square[k] - square[own]) / (2 * sqrt(square_of(point[k], point[own]))));
    return size * nearest;
}
