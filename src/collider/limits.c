/* How thin a body is, how fast, and what that means for the length of a step. */
#include <math.h>
#include <stdlib.h>

#include "collider/collider.h"
#include "shape/sample.h"

/* ---- Thickness ------------------------------------------------------------------------------- */

enum { PROBES = 1000, TOWARD_SURFACE = 24, THROUGH_WALL = 64 };

/* The distance and the normal, in the plane in 2D. */
static double probe(const shape *s, int dimensions, const double x[3], double n[3])
{
    double phi = shape_distance(s, x, n);
    if (dimensions == 2)
        n[2] = 0;
    double length = sqrt(dot3(n, n));
    for (int i = 0; i < 3; i++)
        n[i] = length > 0 ? n[i] / length : 0;
    return phi;
}

/* Straight through the body from a point of its surface: how far, if the other face is parallel, as
 * those of a wall are and those of an edge are not. Otherwise `enough`. */
static double wall_at(const shape *s, int dimensions, double x[3], double enough)
{
    double n[3], start[3], across[3], phi = 0;
    for (int k = 0; k < TOWARD_SURFACE; k++) {
        phi = probe(s, dimensions, x, n);
        for (int i = 0; i < 3; i++)
            x[i] -= phi * n[i];
    }
    double tiny = 1e-4 * enough, t = tiny;
    if (fabs(phi) > tiny)
        return enough;
    for (int i = 0; i < 3; i++)
        start[i] = x[i];
    for (int k = 0; k < THROUGH_WALL && t < enough; k++) {
        for (int i = 0; i < 3; i++)
            x[i] = start[i] - t * n[i];
        phi = probe(s, dimensions, x, across);
        if (phi >= 0)
            return k > 0 && dot3(n, across) < -0.9 ? fmin(t - phi, enough) : enough;
        t += fmax(-phi, tiny);
    }
    return enough;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double collider_thickness(const shape *s, int dimensions, double enough)
{
    double low[3], high[3], wall[PROBES];
    shape_bounds(s, 3, low, high);
    for (int i = 0; i < 3; i++) { /* what has no end is alike everywhere */
        const double some = 1;
        low[i] = isfinite(low[i]) ? low[i] : isfinite(high[i]) ? high[i] - some : -some;
        high[i] = isfinite(high[i]) ? high[i] : low[i] + 2 * some;
    }
    for (int k = 0; k < PROBES; k++) {
        double x[3] = {0};
        for (int i = 0; i < dimensions; i++)
            x[i] = low[i] + (high[i] - low[i]) * random_unit(1, (uint64_t)(3 * k + i));
        wall[k] = wall_at(s, dimensions, x, enough);
    }
    qsort(wall, PROBES, sizeof *wall, ascending);
    return wall[PROBES / 100];
}

/* ---- Steps ----------------------------------------------------------------------------------- */

double collider_speed(const collider_pose *pose, const double low[3], const double high[3])
{
    double speed = 0;
    for (int corner = 0; corner < 8; corner++) {
        double x[3], v[3];
        for (int i = 0; i < 3; i++)
            x[i] = corner >> i & 1 ? fmin(high[i], pose->high[i]) : fmax(low[i], pose->low[i]);
        motion_pose_velocity(&pose->at, x, v);
        speed = fmax(speed, sqrt(dot3(v, v)));
    }
    return speed;
}

static bool boxes_meet(const collider_pose *pose, const double low[3], const double high[3])
{
    bool meet = true;
    for (int i = 0; i < 3; i++)
        meet = meet && pose->low[i] <= high[i] && pose->high[i] >= low[i];
    return meet;
}

/* What one body allows, but for its thin walls. Looked at where it is and where it will be: keys may set it off in
 * between. */
static double step_of(const collider_set *set, const collider *c, double time, const double low[3],
                      const double high[3], double travel, double dt, collider_wall *wall,
                      size_t *walls)
{
    double speed = 0;
    bool near = false;
    for (int end = 0; end < 2; end++) {
        collider_pose pose;
        collider_pose_at(c, time + end * dt, &pose);
        if (boxes_meet(&pose, low, high)) {
            speed = fmax(speed, collider_speed(&pose, low, high));
            near = true;
        }
    }
    if (near && c->deform)
        speed += deform_speed(c->deform, time, time + dt);
    const double before_middle = 0.4;
    if (near && c->thickness < COLLIDER_THICK * set->cell_size)
        wall[(*walls)++] = (collider_wall){before_middle * c->thickness, speed};
    return speed > 0 ? fmin(dt, travel * set->cell_size / speed) : dt;
}

/* A box and two cells around it. */
typedef struct reach {
    double low[3], high[3];
} reach;

static reach reach_of(const collider_set *set, const double low[3], const double high[3])
{
    reach r;
    for (int a = 0; a < 3; a++) {
        r.low[a] = low[a] - 2 * set->cell_size;
        r.high[a] = high[a] + 2 * set->cell_size;
    }
    return r;
}

double collider_set_step_but_walls(const collider_set *set, double time, const double low[3],
                                   const double high[3], double travel, double dt,
                                   collider_wall *wall, size_t *walls)
{
    const reach r = reach_of(set, low, high);
    double allowed = dt;
    *walls = 0;
    for (size_t n = 0; n < set->count; n++)
        allowed = fmin(allowed,
                       step_of(set, &set->items[n], time, r.low, r.high, travel, dt, wall, walls));
    return allowed;
}

double collider_set_step(const collider_set *set, double time, const double low[3],
                         const double high[3], double snow_speed, double travel, double dt)
{
    const reach r = reach_of(set, low, high);
    double allowed = dt;
    for (size_t n = 0; n < set->count; n++) {
        collider_wall wall;
        size_t walls = 0;
        allowed = fmin(
            allowed, step_of(set, &set->items[n], time, r.low, r.high, travel, dt, &wall, &walls));
        allowed = collider_walls_step(&wall, walls, snow_speed, allowed);
    }
    return allowed;
}
