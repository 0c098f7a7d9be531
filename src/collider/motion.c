#include "collider/motion.h"

#include <stdlib.h>
#include <string.h>

static const quaternion identity = {1, {0, 0, 0}};

/* ---- Keys ------------------------------------------------------------------------------------ */

static quaternion rotation_of(const motion_point *p)
{
    double length = sqrt(dot3(p->axis, p->axis));
    if (p->angle == 0 || length == 0)
        return identity;
    return quaternion_exp(p->axis, p->angle * acos(-1) / 180 / length);
}

/* Whether two points turn about one line, and then by how much from a to b. */
static bool turn_about_one_axis(const motion_point *a, const motion_point *b, double turn[3])
{
    const double *axis = b->angle != 0 ? b->axis : a->axis;
    double across[3], length = sqrt(dot3(axis, axis)), other = sqrt(dot3(a->axis, a->axis));
    cross3(a->axis, axis, across);
    bool parallel = a->angle == 0 || sqrt(dot3(across, across)) <= 1e-9 * length * other;
    if (!parallel || length == 0)
        return false;
    double sign = a->angle == 0 || dot3(a->axis, axis) > 0 ? 1 : -1;
    double angle = (b->angle - sign * a->angle) * acos(-1) / 180;
    for (int i = 0; i < 3; i++)
        turn[i] = angle * axis[i] / length;
    return true;
}

/* The rotation vector from one key to the next, in the body's frame. */
static void turn_between(const motion_point *points, const motion_key *keys, double turn[3])
{
    if (!turn_about_one_axis(&points[0], &points[1], turn))
        quaternion_log(quaternion_product(quaternion_inverse(keys[0].rotate), keys[1].rotate),
                       turn);
}

/* The rate at a key between two spans with these mean rates: that of the parabola through the three
 * keys, held back so that no value passes a key and comes back (Steffen 1990). */
static double rate_at_key(double before, double after, double span_before, double span_after)
{
    if (before * after <= 0)
        return 0;
    double parabola = (before * span_after + after * span_before) / (span_before + span_after);
    double most = 2 * fmin(fabs(before), fabs(after));
    return copysign(fmin(fabs(parabola), most), before);
}

/*
 * Smooth rotation over a span: q(u) = q0 exp(b1(u) first) exp(b2(u) middle) exp(b3(u) last) with the
 * cumulative Bernstein functions b1 = 1 - (1-u)^3, b2 = 3u^2 - 2u^3, b3 = u^3. Its angular velocities
 * at the ends are 3 first / span and 3 last / span, as for a Bezier curve.
 */
static void smooth_keys(motion_key *keys, size_t count, const double (*turn)[3])
{
    for (size_t k = 1; k + 1 < count; k++) {
        double before = keys[k].time - keys[k - 1].time, after = keys[k + 1].time - keys[k].time;
        for (int i = 0; i < 3; i++) {
            const double x[3] = {keys[k - 1].translate[i], keys[k].translate[i],
                                 keys[k + 1].translate[i]};
            keys[k].velocity[i] =
                rate_at_key((x[1] - x[0]) / before, (x[2] - x[1]) / after, before, after);
            double spin = rate_at_key(turn[k - 1][i] / before, turn[k][i] / after, before, after);
            keys[k - 1].last[i] = spin * before / 3;
            keys[k].first[i] = spin * after / 3;
        }
    }
    for (size_t k = 0; k + 1 < count; k++) {
        double guess[3];
        for (int i = 0; i < 3; i++)
            guess[i] = turn[k][i] - keys[k].first[i] - keys[k].last[i];
        quaternion between =
            quaternion_product(quaternion_inverse(keys[k].rotate), keys[k + 1].rotate);
        between = quaternion_product(quaternion_exp(keys[k].first, -1), between);
        between = quaternion_product(between, quaternion_exp(keys[k].last, -1));
        quaternion_log_near(between, guess, keys[k].middle);
    }
}

motion_key *motion_keys_create(const motion_point *points, size_t count, bool smooth)
{
    motion_key *keys = calloc(count, sizeof *keys);
    double(*turn)[3] = calloc(count, sizeof *turn);
    if (!keys || !turn) {
        free(keys);
        free(turn);
        return NULL;
    }
    for (size_t k = 0; k < count; k++) {
        keys[k].time = points[k].time;
        memcpy(keys[k].translate, points[k].translate, sizeof keys[k].translate);
        keys[k].rotate = rotation_of(&points[k]);
    }
    for (size_t k = 0; k + 1 < count; k++)
        turn_between(&points[k], &keys[k], turn[k]);
    if (smooth)
        smooth_keys(keys, count, (const double(*)[3])turn);
    for (size_t k = 0; k < count && !smooth; k++)
        memcpy(keys[k].middle, turn[k], sizeof keys[k].middle);
    free(turn);
    return keys;
}

/* ---- Between keys ---------------------------------------------------------------------------- */

/* What the keys say at one time. */
typedef struct carried {
    double translate[3], velocity[3];
    quaternion rotate;
    double spin[3]; /* in the world */
} carried;

static void add_turned(quaternion by, const double v[3], double scale, double sum[3])
{
    double turned[3];
    quaternion_turn(quaternion_inverse(by), v, turned);
    for (int i = 0; i < 3; i++)
        sum[i] += scale * turned[i];
}

static void between_linear(const motion_key *k, double u, double span, carried *c)
{
    for (int i = 0; i < 3; i++) {
        c->velocity[i] = (k[1].translate[i] - k[0].translate[i]) / span;
        c->translate[i] = k[0].translate[i] + u * span * c->velocity[i];
    }
    c->rotate = quaternion_product(k->rotate, quaternion_exp(k->middle, u));
    const double rate[3] = {k->middle[0] / span, k->middle[1] / span, k->middle[2] / span};
    quaternion_turn(c->rotate, rate, c->spin);
}

static void between_smooth(const motion_key *k, double u, double span, carried *c)
{
    for (int i = 0; i < 3; i++) {
        double way = k[1].translate[i] - k[0].translate[i];
        double start = k[0].velocity[i] * span, end = k[1].velocity[i] * span;
        double square = 3 * way - 2 * start - end, cube = start + end - 2 * way;
        c->translate[i] = k[0].translate[i] + u * (start + u * (square + u * cube));
        c->velocity[i] = (start + u * (2 * square + 3 * u * cube)) / span;
    }
    double left = 1 - u;
    quaternion first = quaternion_exp(k->first, 1 - left * left * left);
    quaternion middle = quaternion_exp(k->middle, u * u * (3 - 2 * u));
    quaternion last = quaternion_exp(k->last, u * u * u), rest = quaternion_product(middle, last);
    c->rotate = quaternion_product(quaternion_product(k->rotate, first), rest);
    /* q' = q omega / 2: each factor's rate, turned by those that follow it. */
    double spin[3] = {0};
    add_turned(rest, k->first, 3 * left * left / span, spin);
    add_turned(last, k->middle, 6 * u * left / span, spin);
    add_turned(identity, k->last, 3 * u * u / span, spin);
    quaternion_turn(c->rotate, spin, c->spin);
}

/* The last key that is not after `time`; the first one if all are. */
static size_t find_key(const motion *m, double time)
{
    size_t low = 0, high = m->key_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (m->keys[middle].time <= time)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static carried carried_at(const motion *m, double time)
{
    carried c = {.rotate = identity};
    if (m->key_count == 0)
        return c;
    size_t n = find_key(m, time);
    const motion_key *k = &m->keys[n];
    if (time < k->time || n + 1 == m->key_count) {
        memcpy(c.translate, k->translate, sizeof c.translate);
        c.rotate = k->rotate;
        return c;
    }
    double span = k[1].time - k->time, u = (time - k->time) / span;
    (m->smooth ? between_smooth : between_linear)(k, u, span, &c);
    return c;
}

/* ---- Poses ----------------------------------------------------------------------------------- */

bool motion_moves(const motion *m)
{
    return m->key_count > 1 || dot3(m->velocity, m->velocity) > 0 ||
           dot3(m->angular_velocity, m->angular_velocity) > 0;
}

void motion_pose_at(const motion *m, double time, motion_pose *pose)
{
    carried c = carried_at(m, time);
    quaternion spun = quaternion_exp(m->angular_velocity, time);
    double spin[3];
    quaternion_turn(c.rotate, m->angular_velocity, spin);
    quaternion_matrix(quaternion_product(c.rotate, spun), pose->rotation);
    pose->turned = false;
    for (int i = 0; i < 3; i++) {
        pose->pivot[i] = m->pivot[i];
        pose->shift[i] = c.translate[i] + time * m->velocity[i];
        pose->place[i] = m->pivot[i] + pose->shift[i];
        pose->velocity[i] = m->velocity[i] + c.velocity[i];
        pose->spin[i] = c.spin[i] + spin[i];
        for (int j = 0; j < 3; j++)
            pose->turned = pose->turned || pose->rotation[i][j] != (i == j);
    }
}
