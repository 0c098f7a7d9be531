#include "shape/lattice_walk.h"

#include <math.h>
#include <string.h>

firn_status lattice_walk_range(const lattice_walk *walk, const int64_t low[3],
                               const int64_t high[3])
{
    double center[3] = {0}, square = 0;
    int longest = 0;
    for (int i = 0; i < walk->dimensions; i++) {
        if (high[i] <= low[i])
            return FIRN_OK;
        double half = walk->cell * (double)(high[i] - low[i]) / 2;
        center[i] = walk->origin[i] + walk->cell * (double)low[i] + half;
        square += half * half;
        if (high[i] - low[i] > high[longest] - low[longest])
            longest = i;
    }
    double radius = sqrt(square) * (1 + 1e-9) + shape_slack(walk->shape);
    double distance = shape_distance(walk->shape, center, NULL);
    if (distance > radius)
        return FIRN_OK;
    bool deep = distance < -radius - walk->margin;
    if (deep || high[longest] - low[longest] <= walk->block)
        return walk->visit(walk->user, low, high, deep);
    int64_t middle[3];
    memcpy(middle, high, sizeof middle);
    middle[longest] = low[longest] + (high[longest] - low[longest]) / 2;
    firn_status status = lattice_walk_range(walk, low, middle);
    if (status != FIRN_OK)
        return status;
    memcpy(middle, low, sizeof middle);
    middle[longest] = low[longest] + (high[longest] - low[longest]) / 2;
    return lattice_walk_range(walk, middle, high);
}
