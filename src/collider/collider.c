#include "collider/collider.h"

#include <math.h>
#include <string.h>

#define FIRN_DIM 3
#define REAL_DOUBLE
#include "method/collide.h"

double collider_distance(const collider *c, double time, const double x[3], double gradient[3],
                         double velocity[3])
{
    double at_start[3]; /* the same point of the body at time 0 */
    for (int i = 0; i < 3; i++) {
        at_start[i] = x[i] - time * c->velocity[i];
        if (velocity)
            velocity[i] = c->velocity[i];
    }
    return shape_distance(c->shape, at_start, gradient);
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

bool collide_velocity(const collider_set *set, double time, const double x[3], double v[3])
{
    collider_bond unused;
    return collide_and_bind(set, time, x, v, &unused);
}

bool collide_and_bind(const collider_set *set, double time, const double x[3], double v[3],
                      collider_bond *bond)
{
    bool touched = false;
    *bond = (collider_bond){0};
    vec snow = {{v[0], v[1], v[2]}};
    for (size_t n = 0; n < set->count; n++) {
        const collider *c = &set->items[n];
        vec normal, body;
        if (collider_distance(c, time, x, normal.e, body.e) > 0)
            continue;
        if (set->dimensions == 2) {
            flatten(normal.e);
            body.e[2] = 0;
        }
        vec met = collide_response(snow, body, normal, c->friction, c->sticky);
        bind(bond, vec_sub(snow, body), vec_sub(met, body), normal, c->sticky);
        snow = met;
        touched = true;
    }
    for (int i = 0; i < 3; i++)
        v[i] = snow.e[i];
    return touched;
}
