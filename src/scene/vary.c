/* Materials that differ from place to place: how the values of one particle follow from where it is. */
#include <math.h>

#include "scene/options.h"
#include "shape/cells.h"
#include "shape/noise.h"

/* The ramp at a coordinate; beyond its ends it goes on level. Without a ramp, the coordinate. */
static double ramp_at(const scene_vary *v, double at)
{
    const scene_ramp *r = v->ramp;
    if (v->ramp_count == 0)
        return at;
    size_t k = 0;
    while (k + 1 < v->ramp_count && r[k + 1].at <= at)
        k++;
    if (at <= r[0].at || k + 1 == v->ramp_count || v->blend == SCENE_STEPS)
        return r[k].scale;
    double t = (at - r[k].at) / (r[k + 1].at - r[k].at);
    return r[k].scale + t * (r[k + 1].scale - r[k].scale);
}

static double coordinate(const scene_vary *v, const scene_place *p)
{
    switch (v->by) {
    case SCENE_BY_DEPTH:
        return p->depth;
    case SCENE_BY_COVER:
        return p->cover;
    case SCENE_BY_HEIGHT:
        return p->x[1];
    case SCENE_BY_NOISE:
        return noise_at(v->seed, v->size, v->octaves, p->x);
    case SCENE_BY_ATTRIBUTE:
        return point_set_value(p->points, v->attribute, p->row);
    case SCENE_BY_CELLS:
        return cell_wall_distance(v->seed, v->size, p->x);
    }
    return 0;
}

scene_material scene_material_at(const scene_material *m, const scene_place *p)
{
    scene_material at = *m;
    for (size_t k = 0; k < m->vary_count; k++) {
        double scale = ramp_at(&m->vary[k], coordinate(&m->vary[k], p));
        unsigned bit = 1;
        for (size_t i = 0; i < material_table.count; i++) {
            const option *o = &material_table.options[i];
            if (o->type != OPTION_REAL)
                continue;
            double *value = (double *)((char *)&at + o->offset);
            if (m->vary[k].values & bit)
                *value =
                    fmin(fmax(*value * scale, o->open_low ? 1e-12 * o->high : o->low), o->high);
            bit <<= 1;
        }
    }
    return at;
}

static bool varies_by(const scene_material *m, scene_vary_by by)
{
    for (size_t k = 0; k < m->vary_count; k++)
        if (m->vary[k].by == by)
            return true;
    return false;
}

/* Straight up from x to where the shape ends. */
static double cover_above(const shape *s, const double x[3])
{
    double low[3], high[3], at[3] = {x[0], x[1], x[2]};
    shape_bounds(s, 3, low, high);
    double least = 1e-4 * (high[1] - low[1]);
    while (at[1] <= high[1]) {
        double phi = shape_distance(s, at, NULL);
        if (phi > 0)
            break;
        at[1] += fmax(-phi, least);
    }
    return fmin(at[1], high[1]) - x[1];
}

scene_place scene_place_of(const scene_material *m, const shape *s, const double x[3])
{
    scene_place p = {.x = {x[0], x[1], x[2]}};
    if (varies_by(m, SCENE_BY_DEPTH))
        p.depth = -shape_distance(s, x, NULL);
    if (varies_by(m, SCENE_BY_COVER))
        p.cover = cover_above(s, x);
    return p;
}

scene_place scene_place_in(const firn_scene *scene, const scene_snow *snow, const double x[3],
                           size_t row)
{
    if (snow->shape)
        return scene_place_of(&scene->materials[snow->material], snow->shape, x);
    return (scene_place){.x = {x[0], x[1], x[2]}, .points = snow->points.set, .row = row};
}

firn_status read_vary(firn_scene *scene, const yaml_node *node, void *entry)
{
    (void)scene;
    const scene_vary *v = entry;
    const yaml_node *ramp = yaml_find(node, "ramp"), *size = yaml_find(node, "size");
    for (size_t k = 1; k < v->ramp_count; k++)
        if (!(v->ramp[k].at > v->ramp[k - 1].at))
            return fail_at(yaml_find(ramp->items[k], "at")->at, "at %g is not after %g before it",
                           v->ramp[k].at, v->ramp[k - 1].at);
    const yaml_node *attribute = yaml_find(node, "attribute");
    if (v->by != SCENE_BY_ATTRIBUTE && v->ramp_count == 0)
        return fail_at(node->at, "ramp is missing in vary");
    if (v->by == SCENE_BY_ATTRIBUTE && !attribute)
        return fail_at(node->at, "attribute is missing: the name of a column of the points");
    if (v->by != SCENE_BY_ATTRIBUTE && attribute)
        return fail_at(attribute->key_at, "attribute belongs to `by: attribute`");
    bool sized = v->by == SCENE_BY_NOISE || v->by == SCENE_BY_CELLS;
    if (sized && !size)
        return fail_at(node->at, "size is missing: how wide the features of the %s are, in m",
                       v->by == SCENE_BY_NOISE ? "noise" : "cells");
    if (!sized && size)
        return fail_at(size->key_at, "size belongs to noise and cells");
    return FIRN_OK;
}
