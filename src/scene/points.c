#include "scene/points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "scene/options.h"
#include "sim.h"

static const double FARTHEST = 1e6; /* m: as for coordinates in the scene */

point_set *point_set_share(point_set *set)
{
    if (set)
        __atomic_add_fetch(&set->shares, 1, __ATOMIC_RELAXED);
    return set;
}

void point_set_release(point_set **set)
{
    point_set *s = *set;
    *set = NULL;
    if (!s || __atomic_sub_fetch(&s->shares, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    point_table_clear(&s->table);
    for (int a = 0; a < FIRN_STATE_ATTRIBUTES; a++)
        free(s->state[a]);
    free(s);
}

double point_set_value(const point_set *set, const char *column, size_t row)
{
    const point_column *c = point_table_find(&set->table, column);
    return c && c->width == 1 ? c->values[row] : 0;
}

/* ---- What the columns mean ------------------------------------------------------------------- */

/* One number a particle, under one of two names; NULL when neither is there. */
static const double *scalar(const point_set *s, const char *name, const char *other)
{
    const point_column *c = point_table_find(&s->table, name);
    if (!c && other)
        c = point_table_find(&s->table, other);
    return c && c->width == 1 ? c->values : NULL;
}

static double *state_array(point_set *s, firn_attribute a, int dimensions)
{
    size_t width = (size_t)firn_attribute_components(a, dimensions);
    s->state[a] = allocate(s->table.count * width + 1, sizeof(double));
    return s->state[a];
}

/* From the file's axes to ours: z up becomes y up. */
static void turn(bool z_up, const double from[3], double to[3])
{
    to[0] = from[0];
    to[1] = z_up ? from[2] : from[1];
    to[2] = z_up ? -from[1] : from[2];
}

static firn_status take_vectors(const scene_points *p, int dimensions, point_set *s)
{
    size_t d = (size_t)dimensions;
    const point_column *x = point_table_find(&s->table, "position"),
                       *v = point_table_find(&s->table, "velocity");
    double *position = state_array(s, FIRN_POSITION, dimensions), to[3];
    double *velocity =
        v && (v->width == 2 || v->width == 3) ? state_array(s, FIRN_VELOCITY, dimensions) : NULL;
    for (size_t n = 0; n < s->table.count; n++) {
        turn(p->up == 1, x->values + 3 * n, to);
        for (size_t i = 0; i < 3; i++) {
            to[i] = p->scale * to[i] + p->translate[i];
            if (!(fabs(to[i]) <= FARTHEST))
                return fail(FIRN_BAD_SCENE, "%s: point %zu (from 0) is at %c = %g, beyond %g m",
                            p->file, n, "xyz"[i], to[i], FARTHEST);
        }
        memcpy(position + n * d, to, d * sizeof *to);
        double from[3] = {0};
        if (velocity)
            memcpy(from, v->values + n * (size_t)v->width, (size_t)v->width * sizeof *from);
        turn(p->up == 1, from, to);
        for (size_t i = 0; velocity && i < d; i++)
            velocity[n * d + i] = p->scale * to[i];
    }
    return FIRN_OK;
}

/* F_E and J_P: how far the snow is from rest. The axes of F_E are turned with the points. */
static void take_deformation(const scene_points *p, int dimensions, point_set *s)
{
    const point_column *F = point_table_find(&s->table, "F_E");
    const double *J = scalar(s, "J_P", NULL);
    size_t count = s->table.count, d = (size_t)dimensions;
    if (J)
        memcpy(state_array(s, FIRN_J_P, dimensions), J, count * sizeof *J);
    if (!F || (F->width != 9 && F->width != dimensions * dimensions))
        return;
    double *to = state_array(s, FIRN_F_E, dimensions);
    size_t side = F->width == 9 ? 3 : 2;
    for (size_t n = 0; n < count; n++) {
        double full[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, half[3][3], turned[3][3];
        for (size_t i = 0; i < side; i++)
            memcpy(full[i], F->values + (n * side + i) * side, side * sizeof(double));
        for (int i = 0; i < 3; i++) /* the columns of F^T, then those of what that gives */
            turn(p->up == 1, full[i], half[i]);
        for (int j = 0; j < 3; j++) {
            const double column[3] = {half[0][j], half[1][j], half[2][j]};
            double out[3];
            turn(p->up == 1, column, out);
            for (int i = 0; i < 3; i++)
                turned[i][j] = out[i];
        }
        for (size_t i = 0; i < d; i++)
            memcpy(to + (n * d + i) * d, turned[i], d * sizeof *to);
    }
}

/* Volume: the file's, or what a particle of this many a cell has. Mass: the file's, or its density's;
 * otherwise the material says. */
static void take_masses(const scene_points *p, const scene_snow *snow,
                        const firn_settings *settings, point_set *s)
{
    int d = settings->dimensions;
    size_t count = s->table.count;
    const double *volume = scalar(s, "volume", NULL), *mass = scalar(s, "mass", NULL),
                 *density = scalar(s, "density", NULL);
    double each = pow(settings->cell_size, d) / snow->particles_per_cell, *to;
    s->volume = volume ? 0 : each * (double)count;
    to = volume ? state_array(s, FIRN_VOLUME, d) : NULL;
    for (size_t n = 0; n < count && to; n++) {
        to[n] = volume[n] * pow(p->scale, d);
        s->volume += to[n];
    }
    if (!mass && !density)
        return;
    double *m = state_array(s, FIRN_MASS, d);
    for (size_t n = 0; n < count; n++)
        m[n] = mass ? mass[n] : density[n] * (to ? to[n] : each);
}

static void take_material(const scene_material *base, int dimensions, point_set *s)
{
    static const struct {
        firn_attribute attribute;
        const char *name, *other;
    } plain[] = {{FIRN_MU0, "mu0", NULL},
                 {FIRN_LAMBDA0, "lambda0", NULL},
                 {FIRN_HARDENING, "hardening", NULL},
                 {FIRN_THETA_C, "theta_c", "critical_compression"},
                 {FIRN_THETA_S, "theta_s", "critical_stretch"}};
    size_t count = s->table.count;
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++) {
        const double *from = scalar(s, plain[k].name, plain[k].other);
        if (from)
            memcpy(state_array(s, plain[k].attribute, dimensions), from, count * sizeof *from);
    }
    const double *young = scalar(s, "young_modulus", NULL),
                 *poisson = scalar(s, "poisson_ratio", NULL);
    if ((!young && !poisson) || s->state[FIRN_MU0] || s->state[FIRN_LAMBDA0])
        return;
    double *mu0 = state_array(s, FIRN_MU0, dimensions),
           *lambda0 = state_array(s, FIRN_LAMBDA0, dimensions);
    for (size_t n = 0; n < count; n++) {
        scene_material here = *base;
        here.young_modulus = young ? young[n] : base->young_modulus;
        here.poisson_ratio = poisson ? poisson[n] : base->poisson_ratio;
        scene_lame(&here, &mu0[n], &lambda0[n]);
    }
}

static firn_status check_states(const scene_points *p, int dimensions, const point_set *s)
{
    for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES; a++) {
        firn_status status =
            s->state[a] ? sim_check_values(a, s->state[a], 0, s->table.count, dimensions) : FIRN_OK;
        if (status != FIRN_OK)
            return fail_within(status, "%s: ", p->file);
    }
    return FIRN_OK;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static firn_status check_vary(const scene_material *m, const yaml_node *node, const point_set *s)
{
    for (size_t k = 0; k < m->vary_count; k++) {
        const scene_vary *v = &m->vary[k];
        if (v->by == SCENE_BY_DEPTH || v->by == SCENE_BY_COVER)
            return fail_at(node->at,
                           "material '%s' varies by %s, which points from a file do not have; use "
                           "`by: attribute`, height, noise or cells",
                           m->name, v->by == SCENE_BY_DEPTH ? "depth" : "cover");
        const point_column *c =
            v->by == SCENE_BY_ATTRIBUTE ? point_table_find(&s->table, v->attribute) : NULL;
        if (v->by != SCENE_BY_ATTRIBUTE || (c && c->width == 1))
            continue;
        const char *names[POINT_MOST_COLUMNS];
        size_t count = 0;
        for (int n = 0; n < s->table.column_count; n++)
            if (s->table.columns[n].width == 1)
                names[count++] = s->table.columns[n].name;
        return fail_unknown(node->at, "attribute", v->attribute, "the file of points", names,
                            count);
    }
    return FIRN_OK;
}

static firn_status load_set(const scene_points *p, point_set *s)
{
    input in;
    firn_status status = input_open(p->file, &in);
    if (status != FIRN_OK)
        return status;
    s->fingerprint = input_hash(in.data, in.size);
    input_close(&in);
    return point_table_load(p->file, &s->table);
}

firn_status read_points(const firn_scene *scene, const yaml_node *node, scene_snow *snow)
{
    scene_points *p = &snow->points;
    int d = scene->settings.dimensions;
    const scene_material *material = &scene->materials[snow->material];
    point_set *s = allocate(1, sizeof *s);
    s->shares = 1;
    firn_status status = load_set(p, s);
    if (status == FIRN_OK)
        status = take_vectors(p, d, s);
    if (status == FIRN_OK) {
        take_deformation(p, d, s);
        take_masses(p, snow, &scene->settings, s);
        take_material(material, d, s);
        status = check_states(p, d, s);
    }
    if (status != FIRN_OK) {
        char *where = mark_where(node->at);
        fail_within(status, "%s: ", where);
        free(where);
    } else {
        status = check_vary(material, node, s);
    }
    if (status != FIRN_OK)
        point_set_release(&s);
    p->set = s;
    return status;
}
