/* Looks at a body between two of its keys (deform.h), for every processor. */
#ifndef FIRN_COLLIDER_DEFORM_LOOK_H
#define FIRN_COLLIDER_DEFORM_LOOK_H

#include "collider/deform.h"
#include "shape/level_set_look.h"

/* v(x) of one key; false beyond its band. */
EVERYWHERE bool deform_velocity(const deform_key *key, const double x[3], double v[3])
{
    int32_t place[3], block;
    double in[3], w[3];
    if (!level_set_find_block(key->set, x, place, in) ||
        (block = key->set->table[level_set_index(key->set, place)]) < 0)
        return false;
    const float(*s)[3] = (const float(*)[3])key->velocity + (size_t)block * DEFORM_BLOCK;
    const int step[3] = {1, DEFORM_WIDTH, DEFORM_WIDTH * DEFORM_WIDTH};
    for (int i = 0; i < 3; i++) {
        int low = (int)(in[i] / DEFORM_STEP);
        w[i] = in[i] / DEFORM_STEP - low;
        s += low * step[i];
    }
    for (int i = 0; i < 3; i++) {
        double corner[8];
        for (int c = 0; c < 8; c++)
            corner[c] = s[(c & 1) * step[0] + (c >> 1 & 1) * step[1] + (c >> 2) * step[2]][i];
        v[i] = level_set_mix_corners(corner, w);
    }
    return true;
}

/* Beyond the band of a key its surface is farther than the body moves: so is that in between. */
EVERYWHERE double deform_far(const deform_pose *p, const double x[3], double gradient[3])
{
    double a = level_set_look(p->from->set, x, NULL), b = level_set_look(p->to->set, x, NULL);
    const deform_key *far = fabs(a) > fabs(b) ? p->from : p->to;
    double phi = level_set_look(far->set, x, gradient);
    return copysign(fmax(fabs(phi) - p->travel, 0.0), phi);
}

/* Whether the surface of a key is so far that it cannot get here before the next one. */
EVERYWHERE bool deform_is_away(const deform_pose *p, const double x[3])
{
    return level_set_look(p->from->set, x, NULL) > p->travel;
}

/* phi at x; gradient and the body's velocity there (either may be NULL). */
EVERYWHERE double deform_look(const deform_pose *p, const double x[3], double gradient[3],
                              double velocity[3])
{
    double v[2][3] = {{0}}, there[2][3], n[2][3], g = p->blend;
    for (int i = 0; velocity && i < 3; i++)
        velocity[i] = 0;
    if (p->interval == 0)
        return level_set_look(p->from->set, x, gradient);
    if (!deform_velocity(p->from, x, v[0]) || !deform_velocity(p->to, x, v[1]))
        return deform_far(p, x, gradient);
    for (int i = 0; i < 3; i++) {
        double mixed = (1 - g) * v[0][i] + g * v[1][i];
        there[0][i] = x[i] - g * p->interval * mixed;
        there[1][i] = x[i] + (1 - g) * p->interval * mixed;
        if (velocity)
            velocity[i] = mixed;
    }
    double phi = (1 - g) * level_set_look(p->from->set, there[0], gradient ? n[0] : NULL) +
                 g * level_set_look(p->to->set, there[1], gradient ? n[1] : NULL);
    if (gradient) {
        for (int i = 0; i < 3; i++)
            gradient[i] = (1 - g) * n[0][i] + g * n[1][i];
        level_set_unit_or_up(gradient);
    }
    return phi;
}

#endif
