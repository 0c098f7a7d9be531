/*
 * Snow meets bodies (collider.h), for every processor. A translation unit that includes this chooses
 * the numbers of velocities (method/lane.h) with FIRN_DIM 3; places and distances are double.
 */
#ifndef FIRN_COLLIDER_MEET_H
#define FIRN_COLLIDER_MEET_H

#include <math.h>

#include "collider/collider.h"
#include "collider/deform_look.h"
#include "method/collide.h"
#include "shape/shape_look.h"

/* ---- At a place ------------------------------------------------------------------------------ */

EVERYWHERE void collider_turn(const collider_pose *pose, double v[3])
{
    const double from[3] = {v[0], v[1], v[2]};
    for (int i = 0; i < 3; i++)
        v[i] = dot3(pose->at.rotation[i], from);
}

EVERYWHERE double collider_look(const collider *c, const collider_pose *pose, const double x[3],
                                double gradient[3], double velocity[3])
{
    double there[3], own[3] = {0}; /* the same point of the shape, and how it moves in that */
    bool deforms = pose->deform.from != NULL;
    motion_pose_inverse(&pose->at, x, there);
    double phi = deforms ? deform_look(&pose->deform, there, gradient, own)
                         : shape_look(c->shape, FIELD_SURFACE, there, gradient);
    if (pose->at.turned) {
        if (gradient)
            collider_turn(pose, gradient);
        if (deforms)
            collider_turn(pose, own);
    }
    if (velocity)
        motion_pose_velocity(&pose->at, x, velocity);
    for (int i = 0; velocity && deforms && i < 3; i++)
        velocity[i] += own[i];
    return phi;
}

EVERYWHERE collider_bits collider_bit_of(size_t index)
{
    return (collider_bits)1 << (index < 63 ? index : 63);
}

/* Bits whose lowest one is for body n, from those for the body before it. */
EVERYWHERE collider_bits collider_bits_after(size_t n, collider_bits bits)
{
    return n < 64 ? bits >> 1 : bits;
}

EVERYWHERE bool collider_is_in_box(const collider_pose *pose, const double x[3], double margin)
{
    for (int i = 0; i < 3; i++)
        if (x[i] < pose->low[i] - margin || x[i] > pose->high[i] + margin)
            return false;
    return true;
}

/* m: far more than rounding makes of a place, and nothing to snow. */
#define COLLIDER_ROUNDING 1e-6

/* The distance of a body that is a plane. */
EVERYWHERE double collider_plane_look(const collider_pose *pose, const double x[3])
{
    const double *row = pose->cells[1];
    return row[0] * x[0] + row[1] * x[1] + row[2] * x[2] + row[3];
}

/* Where a place is in the level set that a body is, which is returned. */
EVERYWHERE const level_set *collider_cells(const collider *c, const collider_pose *pose,
                                           const double x[3], double cells[3])
{
    for (int i = 0; i < 3; i++) {
        const double *row = pose->cells[i];
        cells[i] = row[0] * x[0] + row[1] * x[1] + row[2] * x[2] + row[3];
    }
    return c->shape->ops[0].field->level_set;
}

/* Whether phi > 0 at x for sure, found as quickly as can be: most snow near a body does not touch it. */
EVERYWHERE bool collider_is_outside(const collider *c, const collider_pose *pose, const double x[3])
{
    double there[3];
    if (pose->is_sampled) {
        const level_set *set = collider_cells(c, pose, x, there);
        return level_set_is_outside(set, there);
    }
    motion_pose_inverse(&pose->at, x, there);
    if (!pose->deform.from)
        return shape_look(c->shape, FIELD_BOUND, there, NULL) > 0;
    return deform_is_away(&pose->deform, there) ||
           deform_look(&pose->deform, there, NULL, NULL) > 0;
}

/* A body at a place in it; phi > 0 when the place is outside, and the rest is not said. */
typedef struct collider_contact {
    double phi, gradient[3], velocity[3];
} collider_contact;

/* What is met most, soonest: a plane. */
EVERYWHERE collider_contact collider_touch_plane(const collider_pose *pose, const double x[3])
{
    collider_contact r = {collider_plane_look(pose, x), {0}, {0}};
    if (r.phi > 0)
        return r;
    for (int i = 0; i < 3; i++)
        r.gradient[i] = pose->cells[1][i];
    motion_pose_velocity(&pose->at, x, r.velocity);
    return r;
}

/* Any other body, with a shorter way for level sets near their surface. */
EVERYWHERE_APART collider_contact collider_touch_shape(const collider *c, const collider_pose *pose,
                                                       const double x[3])
{
    collider_contact r = {1, {0}, {0}};
    double there[3], in[3], g[3];
    int32_t place[3];
    if (collider_is_outside(c, pose, x))
        return r;
    const level_set *set = pose->is_sampled ? collider_cells(c, pose, x, there) : NULL;
    int32_t block = set && level_set_place(set, there, place, in)
                        ? set->table[level_set_index(set, place)]
                        : -1;
    if (block < 0) {
        r.phi = collider_look(c, pose, x, r.gradient, r.velocity);
        return r;
    }
    level_set_cell cell = level_set_cell_in(block, in);
    r.phi = level_set_near_distance(set, place, &cell, g) * (pose->cell / set->voxel);
    for (int i = 0; i < 3; i++)
        r.gradient[i] = pose->cell * (pose->cells[0][i] * g[0] + pose->cells[1][i] * g[1] +
                                      pose->cells[2][i] * g[2]);
    motion_pose_velocity(&pose->at, x, r.velocity);
    return r;
}

/* Whether the ball of this radius about x may touch the body. */
EVERYWHERE bool collider_is_near(const collider *c, const collider_pose *pose, const double x[3],
                                 double radius)
{
    if (!collider_is_in_box(pose, x, radius))
        return false;
    double there[3], reach = radius + c->slack;
    if (pose->is_sampled) {
        const level_set *set = collider_cells(c, pose, x, there);
        return level_set_is_near(set, there, radius / pose->cell) &&
               level_set_bound(set, there) * (pose->cell / set->voxel) <= reach;
    }
    if (pose->deform.from) {
        motion_pose_inverse(&pose->at, x, there);
        return level_set_look(pose->deform.from->set, there, NULL) <= pose->deform.travel + reach;
    }
    if (pose->is_plane)
        return collider_plane_look(pose, x) <= reach + COLLIDER_ROUNDING;
    motion_pose_inverse(&pose->at, x, there);
    return shape_look(c->shape, FIELD_BOUND, there, NULL) <= reach;
}

EVERYWHERE collider_bits collider_set_look(const collider_set *set, collider_bits among,
                                           const double x[3], double radius)
{
    collider_bits near = 0, rest = among;
    for (size_t n = 0; n < set->count && rest; n++, rest = collider_bits_after(n, rest))
        if ((rest & 1) && collider_is_near(&set->items[n], &set->poses[n], x, radius))
            near |= collider_bit_of(n);
    return near;
}

/* Bodies within `radius` of x, and how far the nearest is away: at most `radius`. */
EVERYWHERE collider_bits collider_set_survey(const collider_set *set, const double x[3],
                                             double radius, double *clearance)
{
    collider_bits near = 0;
    *clearance = radius;
    for (size_t n = 0; n < set->count; n++) {
        if (!collider_is_in_box(&set->poses[n], x, radius))
            continue;
        double phi = collider_look(&set->items[n], &set->poses[n], x, NULL, NULL);
        if (phi <= radius) {
            near |= collider_bit_of(n);
            *clearance = fmin(*clearance, phi);
        }
    }
    return near;
}

/* The part of a normal that lies in the plane z = 0, of length 1. A body whose nearest face is
 * parallel to the plane says nothing about ways out within it: then up. */
EVERYWHERE void collider_flatten(double n[3])
{
    double length = sqrt(n[0] * n[0] + n[1] * n[1]);
    const double none = 1e-9;
    n[0] = length > none ? n[0] / length : 0;
    n[1] = length > none ? n[1] / length : 1;
    n[2] = 0;
}

/* How far out a particle at this depth is to be moved in one step. */
EVERYWHERE double collider_way_out(const collider_set *set, const collider *c, double phi)
{
    double h = set->cell_size, allowed = (h < c->thickness ? h : c->thickness) / 4;
    double way = -phi - allowed, most = h / 20;
    return way < 0 ? 0 : way < most ? way : most;
}

/* One more body: `before` and `after` are the velocities of snow about it. Two bodies on which a node
 * slides in different directions hold it. */
EVERYWHERE void collider_bind(collider_bond *bond, vec before, vec after, vec normal, bool sticky)
{
    if (vec_dot(before, normal) >= 0 && !sticky)
        return;
    double other2 = 0, along = 0;
    for (int i = 0; i < 3; i++) {
        other2 += bond->normal[i] * bond->normal[i];
        along += bond->normal[i] * normal.e[i];
    }
    bool slides_elsewhere = other2 > 0 && fabs(along) < 1 - 4 * REAL_EPSILON;
    bond->held = bond->held || vec_norm2(after) == 0 || slides_elsewhere;
    for (int i = 0; i < 3; i++)
        bond->normal[i] = bond->held ? 0 : normal.e[i];
}

/* The same as collider_meet, of bodies that are `planes` all, as the compiler is to know. */
EVERYWHERE bool collider_meet_kind(const collider_set *set, collider_bits near, const double x[3],
                                   vec *v, collider_bond *bond, double shift[3], bool planes)
{
    bool touched = false;
    collider_bits rest = near;
    for (size_t n = 0; n < set->count && rest; n++, rest = collider_bits_after(n, rest)) {
        const collider *c = &set->items[n];
        const collider_pose *pose = &set->poses[n];
        if (!(rest & 1) || (!planes && !collider_is_in_box(pose, x, 0)))
            continue;
        collider_contact at = planes || pose->is_plane ? collider_touch_plane(pose, x)
                                                       : collider_touch_shape(c, pose, x);
        if (at.phi > 0)
            continue;
        if (set->dimensions == 2) {
            collider_flatten(at.gradient);
            at.velocity[2] = 0;
        }
        vec normal = {{R(at.gradient[0]), R(at.gradient[1]), R(at.gradient[2])}};
        vec body = {{R(at.velocity[0]), R(at.velocity[1]), R(at.velocity[2])}};
        vec met = collide_response(*v, body, normal, R(c->friction), c->sticky);
        collider_bind(bond, vec_sub(*v, body), vec_sub(met, body), normal, c->sticky);
        *v = met;
        double way = collider_way_out(set, c, at.phi);
        for (int i = 0; i < 3; i++)
            shift[i] += way * at.gradient[i];
        touched = true;
    }
    return touched;
}

/* The velocity v of snow at x meets the bodies in order; `bond` and `shift` tell the rest of it. */
EVERYWHERE bool collider_meet(const collider_set *set, collider_bits near, const double x[3],
                              vec *v, collider_bond *bond, double shift[3])
{
    return collider_meet_kind(set, near, x, v, bond, shift, false);
}

#endif
