/*
 * The shape grammar: a mapping with exactly one kind, then what is done to it, in a fixed order.
 *
 * Every shape that is read has a middle, about which `rotate` turns it: what an artist expects of
 * an object that was placed first and is turned afterwards.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene/bodies.h"

typedef struct placed {
    shape *shape; /* owned */
    double middle[3];
} placed;

/* `scale` is what the shapes around this one will make of it. */
static firn_status read_placed(firn_scene *scene, const char *name, const yaml_node *node,
                               double scale, placed *out);

/* ---- frames ---------------------------------------------------------------------------------- */

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* To unit length; returns the old one. Scaled first: squares of tiny entries vanish. */
static double normalize(double v[3])
{
    double largest = fmax(fabs(v[0]), fmax(fabs(v[1]), fabs(v[2])));
    double unit[3] = {v[0] / largest, v[1] / largest, v[2] / largest};
    double length = sqrt(unit[0] * unit[0] + unit[1] * unit[1] + unit[2] * unit[2]);
    for (int i = 0; i < 3; i++)
        v[i] = unit[i] / length;
    return largest * length;
}

/* The frame whose y axis is the unit vector `y`; in the plane z = 0 it keeps the z axis. */
static void frame_along(const double y[3], double rotation[3][3])
{
    double side[3] = {0, 0, 1}, x[3], z[3];
    if (fabs(y[2]) > 0.9) {
        side[0] = 1;
        side[2] = 0;
    }
    cross(y, side, x);
    normalize(x);
    cross(x, y, z);
    for (int i = 0; i < 3; i++) {
        rotation[i][0] = x[i];
        rotation[i][1] = y[i];
        rotation[i][2] = z[i];
    }
}

/* Rodrigues' formula: turn by `angle` degrees about the unit vector `axis`. */
static void turn_about(const double axis[3], double angle, double rotation[3][3])
{
    double radians = angle * (M_PI / 180), c = cos(radians), s = sin(radians);
    const double skew[3][3] = {
        {0, -axis[2], axis[1]}, {axis[2], 0, -axis[0]}, {-axis[1], axis[0], 0}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            rotation[i][j] = c * (i == j) + (1 - c) * axis[i] * axis[j] + s * skew[i][j];
}

static void move(placed *p, const double offset[3])
{
    shape_translate(p->shape, offset);
    for (int i = 0; i < 3; i++)
        p->middle[i] += offset[i];
}

/* ---- primitives ------------------------------------------------------------------------------ */

static placed place_at(shape_kind kind, const double params[4], const double middle[3])
{
    placed out = {.shape = shape_primitive(kind, params)};
    if (!out.shape)
        abort();
    memcpy(out.middle, middle, sizeof out.middle);
    return out;
}

static placed sphere(const shape_values *v)
{
    placed out = place_at(SHAPE_SPHERE, (double[4]){v->radius}, v->center);
    shape_translate(out.shape, v->center);
    return out;
}

/* Round edges: a smaller box, grown. */
static placed box(const shape_values *v)
{
    const double half[4] = {v->size[0] / 2 - v->round, v->size[1] / 2 - v->round,
                            v->size[2] / 2 - v->round};
    placed out = place_at(SHAPE_BOX, half, v->center);
    shape_grow(out.shape, v->round);
    shape_translate(out.shape, v->center);
    return out;
}

static placed plane(const shape_values *v)
{
    double normal[3], rotation[3][3];
    memcpy(normal, v->normal, sizeof normal);
    normalize(normal);
    placed out = place_at(SHAPE_HALFSPACE, (double[4]){0}, v->point);
    frame_along(normal, rotation);
    shape_rotate(out.shape, rotation);
    shape_translate(out.shape, v->point);
    return out;
}

static placed rod(shape_kind kind, const shape_values *v)
{
    double along[3], middle[3], rotation[3][3];
    for (int i = 0; i < 3; i++) {
        along[i] = v->to[i] - v->from[i];
        middle[i] = (v->to[i] + v->from[i]) / 2;
    }
    double length = normalize(along);
    placed out = place_at(kind, (double[4]){length / 2 - v->round, v->radius - v->round}, middle);
    shape_grow(out.shape, v->round);
    frame_along(along, rotation);
    shape_rotate(out.shape, rotation);
    shape_translate(out.shape, middle);
    return out;
}

static firn_status check_round(const yaml_node *node, const char *what, double round, double most)
{
    if (round <= most)
        return FIRN_OK;
    return fail_at(yaml_find(node, "round")->at,
                   "round is %g m, more than the %s allows: at most %g m", round, what, most);
}

static firn_status check_rod(const yaml_node *node, const char *name, const shape_values *v)
{
    double along[3] = {v->to[0] - v->from[0], v->to[1] - v->from[1], v->to[2] - v->from[2]};
    if (along[0] == 0 && along[1] == 0 && along[2] == 0)
        return fail_at(node->at, "%s goes from a point to the same point", name);
    return check_round(node, name, v->round, fmin(v->radius, normalize(along) / 2));
}

static firn_status place_body(firn_scene *scene, const option *kind, const yaml_node *node,
                              const shape_values *v, double scale, placed *out)
{
    firn_status status = body_read(scene, kind, node, v, scale, &out->shape);
    if (status != FIRN_OK)
        return status;
    const shape_field *field = out->shape->ops[0].field;
    double offset[3];
    bool moved = yaml_find(node, "center") != NULL;
    for (int i = 0; i < 3; i++) {
        out->middle[i] = (field->low[i] + field->high[i]) / 2;
        offset[i] = moved ? v->center[i] - out->middle[i] : 0;
    }
    move(out, offset);
    return FIRN_OK;
}

static firn_status read_primitive(firn_scene *scene, const option *kind, const yaml_node *node,
                                  double scale, placed *out)
{
    shape_values v = {.origin = {NAN, NAN, NAN}};
    const char *name = kind->name;
    firn_status status = read_table(scene, kind->table, node, &v);
    bool capsule = strcmp(name, "capsule") == 0,
         rod_like = capsule || strcmp(name, "cylinder") == 0;
    if (status == FIRN_OK && rod_like)
        status = check_rod(node, name, &v);
    if (status == FIRN_OK && strcmp(name, "box") == 0)
        status = check_round(node, "shortest edge", v.round,
                             fmin(v.size[0], fmin(v.size[1], v.size[2])) / 2);
    if (status != FIRN_OK)
        ;
    else if (rod_like)
        *out = rod(capsule ? SHAPE_CAPSULE : SHAPE_CYLINDER, &v);
    else if (strcmp(name, "sphere") == 0)
        *out = sphere(&v);
    else if (strcmp(name, "box") == 0)
        *out = box(&v);
    else if (strcmp(name, "plane") == 0)
        *out = plane(&v);
    else
        status = place_body(scene, kind, node, &v, scale, out);
    free(v.file);
    free(v.grid);
    free(v.font);
    free(v.text);
    return status;
}

/* ---- combinations ---------------------------------------------------------------------------- */

static firn_status read_combination(firn_scene *scene, const option *kind, const yaml_node *node,
                                    double scale, placed *out)
{
    shape_kind op = strcmp(kind->name, "union") == 0       ? SHAPE_UNION
                    : strcmp(kind->name, "intersect") == 0 ? SHAPE_INTERSECT
                                                           : SHAPE_SUBTRACT;
    if (node->kind != YAML_LIST)
        return fail_type(node, kind->name, "a list of shapes");
    if (node->count == 0)
        return fail_at(node->at, "%s is empty; it needs at least one shape", kind->name);
    firn_status status = read_placed(scene, kind->name, node->items[0], scale, out);
    for (size_t i = 1; i < node->count && status == FIRN_OK; i++) {
        placed next = {0};
        status = read_placed(scene, kind->name, node->items[i], scale, &next);
        if (status != FIRN_OK)
            break;
        out->shape = shape_combine(op, out->shape, next.shape);
        if (!out->shape)
            status = fail_at(node->items[i]->at, "shapes are nested too deeply (at most %d)",
                             SHAPE_MAX_DEPTH);
    }
    return status;
}

/* ---- what is done to it ---------------------------------------------------------------------- */

static firn_status check_axis(const yaml_node *node, const yaml_node *said, bool flat,
                              double axis[3])
{
    if (!said && !flat)
        return fail_at(node->at, "axis is missing in rotate; in 3D a turn needs one");
    if (!said)
        memcpy(axis, (double[3]){0, 0, 1}, 3 * sizeof *axis);
    if (axis[0] == 0 && axis[1] == 0 && axis[2] == 0)
        return fail_at(said->at, "axis is zero; it needs a direction");
    if (flat && (axis[0] != 0 || axis[1] != 0))
        return fail_at(said->at, "axis must be [0, 0, 1] in 2D, or left out");
    normalize(axis);
    return FIRN_OK;
}

static firn_status rotate(firn_scene *scene, const yaml_node *node, placed *p)
{
    shape_values v = {0};
    memcpy(v.about, p->middle, sizeof v.about);
    firn_status status = read_table(scene, &rotate_table, node, &v);
    if (status == FIRN_OK)
        status = check_axis(node, yaml_find(node, "axis"), scene->settings.dimensions == 2, v.axis);
    if (status != FIRN_OK)
        return status;
    double rotation[3][3];
    turn_about(v.axis, v.angle, rotation);
    const double there[3] = {-v.about[0], -v.about[1], -v.about[2]};
    move(p, there);
    shape_rotate(p->shape, rotation);
    double turned[3] = {0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            turned[i] += rotation[i][j] * p->middle[j];
    memcpy(p->middle, turned, sizeof turned);
    move(p, v.about);
    return FIRN_OK;
}

/* ---- the mapping ----------------------------------------------------------------------------- */

static firn_status find_kind(const char *name, const yaml_node *node, const option **kind)
{
    *kind = NULL;
    firn_status status = check_keys(&shape_table, node);
    if (status != FIRN_OK)
        return status;
    for (size_t i = 0; i < node->count; i++) {
        const option *o = option_find(&shape_table, node->items[i]->key);
        if (!is_shape_kind(o))
            continue;
        if (*kind)
            return fail_at(node->items[i]->key_at,
                           "a shape is one thing, but this has both %s and %s; "
                           "put them in a list under union, intersect or subtract",
                           (*kind)->name, o->name);
        *kind = o;
    }
    if (*kind)
        return FIRN_OK;
    return fail_at(node->at,
                   "%s needs one of sphere, box, capsule, cylinder, plane, mesh, vdb, text, "
                   "terrain, union, intersect, subtract",
                   name);
}

/* One of the plain keys beside the kind, or its default. */
static firn_status read_beside(firn_scene *scene, const yaml_node *node, const char *key,
                               shape_values *v)
{
    const option *o = option_find(&shape_table, key);
    const yaml_node *said = yaml_find(node, key);
    return said ? read_value(scene, o, said, v) : FIRN_OK;
}

/* Grow, hollow out, scale about the middle, turn, shift. */
static firn_status change(firn_scene *scene, const yaml_node *node, const shape_values *v,
                          placed *p)
{
    if (v->offset != 0)
        shape_grow(p->shape, v->offset);
    if (v->shell > 0)
        p->shape = shape_hollow(p->shape, v->shell);
    if (!p->shape)
        return fail_at(node->at, "shapes are nested too deeply (at most %d)", SHAPE_MAX_DEPTH);
    if (v->scale != 1) {
        const double middle[3] = {p->middle[0], p->middle[1], p->middle[2]};
        move(p, (double[3]){-middle[0], -middle[1], -middle[2]});
        shape_scale(p->shape, v->scale);
        move(p, middle);
    }
    const yaml_node *turn = yaml_find(node, "rotate");
    firn_status status = turn ? rotate(scene, turn, p) : FIRN_OK;
    if (status == FIRN_OK)
        move(p, v->translate);
    return status;
}

static firn_status read_placed(firn_scene *scene, const char *name, const yaml_node *node,
                               double scale, placed *out)
{
    static const char *const keys[] = {"offset", "shell", "scale", "translate"};
    const option *kind;
    shape_values v = {.scale = 1};
    firn_status status = find_kind(name, node, &kind);
    for (size_t k = 0; k < sizeof keys / sizeof *keys && status == FIRN_OK; k++)
        status = read_beside(scene, node, keys[k], &v);
    if (status == FIRN_OK) {
        const yaml_node *value = yaml_find(node, kind->name);
        scale *= v.scale;
        status = kind->type == OPTION_SHAPES ? read_combination(scene, kind, value, scale, out)
                                             : read_primitive(scene, kind, value, scale, out);
    }
    if (status == FIRN_OK)
        status = change(scene, node, &v, out);
    if (status != FIRN_OK)
        shape_destroy(&out->shape);
    return status;
}

firn_status read_shape(firn_scene *scene, const char *name, const yaml_node *node, shape **out)
{
    placed p = {0};
    firn_status status = read_placed(scene, name, node, 1, &p);
    *out = p.shape;
    return status;
}
