#include "collider/collider.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"

#define FIRN_DIM 3
#define REAL_DOUBLE
#include "method/collide.h"

/* ---- Standing somewhere ---------------------------------------------------------------------- */

/* The box around a turned box. Sides without end stay so, except along axes they do not lean to. */
static void turn_box(const motion_pose *at, double low[3], double high[3])
{
    const double parallel = 1e-12;
    double from[2][3];
    memcpy(from[0], low, sizeof from[0]);
    memcpy(from[1], high, sizeof from[1]);
    for (int i = 0; i < 3; i++) {
        low[i] = high[i] = at->place[i];
        for (int j = 0; j < 3; j++) {
            double R = at->rotation[i][j];
            if (fabs(R) < parallel)
                continue;
            double a = R * (from[0][j] - at->pivot[j]), b = R * (from[1][j] - at->pivot[j]);
            low[i] += fmin(a, b);
            high[i] += fmax(a, b);
        }
    }
}

void collider_pose_at(const collider *c, double time, collider_pose *pose)
{
    motion_pose_at(&c->motion, time, &pose->at);
    shape_bounds(c->shape, 3, pose->low, pose->high);
    if (pose->at.turned)
        turn_box(&pose->at, pose->low, pose->high);
    const double rounding = 1e-9;
    for (int i = 0; i < 3; i++) {
        double shift = pose->at.turned ? 0 : pose->at.shift[i];
        pose->low[i] += shift - rounding * (1 + fabs(pose->low[i]));
        pose->high[i] += shift + rounding * (1 + fabs(pose->high[i]));
    }
}

firn_status collider_set_create(int dimensions, double cell_size, const collider *items,
                                size_t count, collider_set *set)
{
    *set = (collider_set){.dimensions = dimensions, .cell_size = cell_size, .count = count};
    set->items = malloc((count + 1) * sizeof *set->items);
    set->poses = malloc((count + 1) * sizeof *set->poses);
    if (!set->items || !set->poses) {
        collider_set_clear(set);
        return fail(FIRN_NO_MEMORY, "out of memory for %zu colliders", count);
    }
    if (count > 0)
        memcpy(set->items, items, count * sizeof *items);
    double thick = COLLIDER_THICK * cell_size;
    for (size_t n = 0; n < count; n++) {
        collider *c = &set->items[n];
        c->thickness = collider_thickness(c->shape, dimensions, thick);
        set->limits_steps = set->limits_steps || motion_moves(&c->motion) || c->thickness < thick;
    }
    return collider_set_move(set, 0);
}

void collider_set_clear(collider_set *set)
{
    free(set->items);
    free(set->poses);
    *set = (collider_set){0};
}

firn_status collider_set_move(collider_set *set, double time)
{
    for (size_t n = 0; n < set->count; n++)
        collider_pose_at(&set->items[n], time, &set->poses[n]);
    return FIRN_OK;
}

/* ---- At a place ------------------------------------------------------------------------------ */

double collider_distance(const collider *c, const collider_pose *pose, const double x[3],
                         double gradient[3], double velocity[3])
{
    double there[3]; /* the same point of the shape */
    motion_pose_inverse(&pose->at, x, there);
    double phi = shape_distance(c->shape, there, gradient);
    if (gradient && pose->at.turned) {
        const double g[3] = {gradient[0], gradient[1], gradient[2]};
        for (int i = 0; i < 3; i++)
            gradient[i] = dot3(pose->at.rotation[i], g);
    }
    if (velocity)
        motion_pose_velocity(&pose->at, x, velocity);
    return phi;
}

static collider_bits bit_of(size_t index)
{
    return (collider_bits)1 << (index < 63 ? index : 63);
}

static bool is_in_box(const collider_pose *pose, const double x[3], double margin)
{
    for (int i = 0; i < 3; i++)
        if (x[i] < pose->low[i] - margin || x[i] > pose->high[i] + margin)
            return false;
    return true;
}

collider_bits collider_set_near(const collider_set *set, const double x[3], double radius)
{
    collider_bits near = 0;
    for (size_t n = 0; n < set->count; n++)
        if (is_in_box(&set->poses[n], x, radius) &&
            collider_distance(&set->items[n], &set->poses[n], x, NULL, NULL) <= radius)
            near |= bit_of(n);
    return near;
}

/* The part of a normal that lies in the plane z = 0, of length 1. A body whose nearest face is
 * parallel to the plane says nothing about ways out within it: then up. */
static void flatten(double n[3])
{
    double length = sqrt(n[0] * n[0] + n[1] * n[1]);
    const double none = 1e-9;
    n[0] = length > none ? n[0] / length : 0;
    n[1] = length > none ? n[1] / length : 1;
    n[2] = 0;
}

/* How far out a particle at this depth is to be moved in one step. */
static double way_out(const collider_set *set, const collider *c, double phi)
{
    double h = set->cell_size, allowed = fmin(h, c->thickness) / 4;
    return fmin(fmax(-phi - allowed, 0), h / 20);
}

/* One more body: `before` and `after` are the velocities of snow about it. Two bodies on which a node
 * slides in different directions hold it. */
static void bind(collider_bond *bond, vec before, vec after, vec normal, bool sticky)
{
    if (vec_dot(before, normal) >= 0 && !sticky)
        return;
    vec other;
    memcpy(other.e, bond->normal, sizeof other.e);
    bool slides_elsewhere = vec_norm2(other) > 0 && fabs(vec_dot(other, normal)) < 1 - 1e-9;
    if (vec_norm2(after) == 0 || slides_elsewhere)
        *bond = (collider_bond){.held = true};
    else if (!bond->held)
        memcpy(bond->normal, normal.e, sizeof bond->normal);
}

/* Meet the bodies in order; `bond` and `shift` tell the rest of it. */
static bool meet(const collider_set *set, collider_bits near, const double x[3], double v[3],
                 collider_bond *bond, double shift[3])
{
    bool touched = false;
    vec snow = {{v[0], v[1], v[2]}};
    for (size_t n = 0; n < set->count; n++) {
        const collider *c = &set->items[n];
        const collider_pose *pose = &set->poses[n];
        vec normal, body;
        double phi;
        if (!(near & bit_of(n)) || !is_in_box(pose, x, 0) ||
            (phi = collider_distance(c, pose, x, normal.e, body.e)) > 0)
            continue;
        if (set->dimensions == 2) {
            flatten(normal.e);
            body.e[2] = 0;
        }
        vec met = collide_response(snow, body, normal, c->friction, c->sticky);
        bind(bond, vec_sub(snow, body), vec_sub(met, body), normal, c->sticky);
        snow = met;
        double way = way_out(set, c, phi);
        for (int i = 0; i < 3; i++)
            shift[i] += way * normal.e[i];
        touched = true;
    }
    for (int i = 0; i < 3; i++)
        v[i] = snow.e[i];
    return touched;
}

bool collide_velocity(const collider_set *set, collider_bits near, const double x[3], double v[3])
{
    double unused[3] = {0};
    return meet(set, near, x, v, &(collider_bond){0}, unused);
}

bool collide_and_bind(const collider_set *set, collider_bits near, const double x[3], double v[3],
                      collider_bond *bond)
{
    double unused[3] = {0};
    *bond = (collider_bond){0};
    return meet(set, near, x, v, bond, unused);
}

bool collide_particle(const collider_set *set, collider_bits near, const double x[3], double v[3],
                      double shift[3])
{
    return meet(set, near, x, v, &(collider_bond){0}, shift);
}
