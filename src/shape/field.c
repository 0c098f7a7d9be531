#include "shape/field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shape/height.h"
#include "shape/level_set_refine.h"
#include "shape/level_set_sample.h"
#include "status.h"

/* Interpolation is off by less than half a voxel, even at sharp edges. */
static const double SLACK = 0.5;

/* Voxels from the surface within which the triangles decide. */
static const double NEAR = 1.5;

shape_field *field_create(void)
{
    shape_field *f = calloc(1, sizeof *f);
    if (f)
        f->shares = 1;
    return f;
}

shape_field *field_share(shape_field *field)
{
    if (field)
        __atomic_add_fetch(&field->shares, 1, __ATOMIC_RELAXED);
    return field;
}

void field_release(shape_field **field)
{
    shape_field *f = *field;
    *field = NULL;
    if (!f || __atomic_sub_fetch(&f->shares, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    level_set_release(&f->level_set);
    mesh_tree_destroy(&f->tree);
    outline_destroy(&f->outline);
    height_destroy(&f->height);
    free(f);
}

shape_field *field_from_level_set(level_set *set)
{
    shape_field *f = field_create();
    if (!f) {
        level_set_release(&set);
        return NULL;
    }
    f->level_set = set;
    f->slack = SLACK * set->voxel;
    memcpy(f->low, set->low, sizeof f->low);
    memcpy(f->high, set->high, sizeof f->high);
    return f;
}

firn_status field_from_mesh(const triangle_mesh *mesh, double voxel, double band, double shell,
                            shape_field **out)
{
    *out = NULL;
    level_set *set = NULL;
    mesh_tree *tree = mesh_tree_create(mesh);
    firn_status status = tree ? level_set_from_tree(mesh, tree, voxel, band, shell, &set)
                              : fail(FIRN_NO_MEMORY, "not enough memory for a mesh");
    if (status == FIRN_OK && !(*out = field_from_level_set(set)))
        status = fail(FIRN_NO_MEMORY, "not enough memory for a mesh");
    if (status != FIRN_OK) {
        mesh_tree_destroy(&tree);
        return status;
    }
    (*out)->tree = tree;
    (*out)->shell = shell;
    return FIRN_OK;
}

/* ---- Meshes ---------------------------------------------------------------------------------- */

/* Away from the surface, or along its normal when x lies on it. */
static void away_from(const shape_field *f, const mesh_point *p, const double x[3], double sign,
                      double gradient[3])
{
    const double tiny = 1e-9 * f->level_set->voxel;
    double to[3], length = 0;
    mesh_tree_normal(f->tree, p, to);
    for (int i = 0; i < 3; i++) {
        to[i] = p->distance > tiny ? sign * (x[i] - p->x[i]) : to[i];
        length += to[i] * to[i];
    }
    length = sqrt(length);
    for (int i = 0; i < 3; i++)
        gradient[i] = length > 0 ? to[i] / length : i == 1;
}

/* Where the samples around x do not agree, the pseudonormal tells the side. */
static double side_of(const shape_field *f, const mesh_point *p, const double x[3])
{
    int side = level_set_side(f->level_set, x);
    if (side != 0)
        return side;
    double normal[3], along = 0;
    mesh_tree_normal(f->tree, p, normal);
    for (int i = 0; i < 3; i++)
        along += normal[i] * (x[i] - p->x[i]);
    return along <= 0 ? -1 : 1;
}

static double mesh_distance(const shape_field *f, const double x[3], double sampled,
                            double gradient[3])
{
    const level_set *set = f->level_set;
    bool known = fabs(sampled) < set->band;
    double reach = known ? fabs(sampled) + f->shell / 2 + 2 * set->voxel : INFINITY;
    mesh_point p = mesh_tree_nearest(f->tree, x, reach);
    if (!isfinite(p.distance))
        return sampled;
    if (f->shell > 0) {
        if (gradient)
            away_from(f, &p, x, 1, gradient);
        return p.distance - f->shell / 2;
    }
    /* A triangle much nearer than the surface lies inside the body. */
    if (p.distance < fabs(sampled) - set->voxel)
        return sampled;
    double side = side_of(f, &p, x);
    if (gradient)
        away_from(f, &p, x, side, gradient);
    return side * p.distance;
}

/* ---- Outlines -------------------------------------------------------------------------------- */

static double outline_body_distance(const shape_field *f, const double x[3], double gradient[3])
{
    double flat[2], weight[2];
    double side = outline_distance(f->outline, x, gradient ? flat : NULL);
    double distance = extrusion_distance(&f->extrude, side, x[2], weight);
    if (gradient) {
        gradient[0] = weight[0] * flat[0];
        gradient[1] = weight[0] * flat[1];
        gradient[2] = copysign(weight[1], x[2]);
    }
    return distance;
}

static double sample_outline(const void *user, const double x[3])
{
    return outline_body_distance(user, x, NULL);
}

firn_status field_from_outline(outline *figure, const extrusion *extrude, double voxel, double band,
                               shape_field **out)
{
    shape_field whole = {.outline = figure, .extrude = *extrude};
    /* Without end, the slice at z = 0 and a little to both sides of it is enough. */
    double half_depth = isfinite(extrude->half_depth) ? extrude->half_depth : 4 * voxel;
    sampled_body body = {sample_outline, &whole, .low = {0, 0, -half_depth}, {0, 0, half_depth}};
    outline_bounds(figure, body.low, body.high);
    level_set *set;
    *out = NULL;
    firn_status status = level_set_from_body(&body, voxel, band, &set);
    if (status == FIRN_OK && !(*out = field_from_level_set(set)))
        status = fail(FIRN_NO_MEMORY, "not enough memory for an outline");
    if (status != FIRN_OK) {
        outline_destroy(&figure);
        return status;
    }
    (*out)->outline = figure;
    (*out)->extrude = *extrude;
    memcpy((*out)->low, body.low, sizeof body.low);
    memcpy((*out)->high, body.high, sizeof body.high);
    return FIRN_OK;
}

/* ---- Terrain --------------------------------------------------------------------------------- */

shape_field *field_from_height(height_field *height)
{
    shape_field *f = field_create();
    if (!f) {
        height_destroy(&height);
        return NULL;
    }
    f->height = height;
    f->slack = height_bounds(height, f->low, f->high);
    return f;
}

/* ---- All ------------------------------------------------------------------------------------- */

double field_distance(const shape_field *f, field_use use, const double x[3], double gradient[3])
{
    if (f->height)
        return height_distance(f->height, use, x, gradient);
    const level_set *set = f->level_set;
    double sampled = level_set_distance(set, x, gradient);
    bool near = fabs(sampled) < NEAR * set->voxel;
    bool has_source = f->tree || f->outline;
    if (!has_source || use == FIELD_SAMPLED || (use != FIELD_EXACT && !near))
        return sampled;
    if (f->outline)
        return outline_body_distance(f, x, gradient);
    return mesh_distance(f, x, sampled, gradient);
}
