#include "collider/collider.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"

#define FIRN_DIM 3
#define REAL_DOUBLE
#include "collider/meet.h"

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

/* A body that is one level set and nothing else. */
static bool is_sampled(const collider *c)
{
    if (c->deform || c->shape->count != 1 || c->shape->ops[0].kind != SHAPE_FIELD)
        return false;
    const shape_op *op = &c->shape->ops[0];
    return op->sampled && op->offset == 0 && op->field->level_set;
}

static bool is_plane(const collider *c)
{
    return !c->deform && c->shape->count == 1 && c->shape->ops[0].kind == SHAPE_HALFSPACE;
}

/* Columns of `rotation` are axes of the inner frame, which stands at `origin`: out = rotation^T (in - origin),
 * for the map that `rows` are. */
static void map_into(double rows[3][4], const double rotation[3][3], const double origin[3])
{
    double from[3][4];
    memcpy(from, rows, sizeof from);
    for (int i = 0; i < 3; i++)
        from[i][3] -= origin[i];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++)
            rows[i][k] = rotation[0][i] * from[0][k] + rotation[1][i] * from[1][k] +
                         rotation[2][i] * from[2][k];
}

/* From places to the own frame of the one primitive that a body is. */
static void know_rows(const collider *c, collider_pose *pose)
{
    const shape_op *op = &c->shape->ops[0];
    double rows[3][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}};
    if (pose->at.turned)
        map_into(rows, pose->at.rotation, pose->at.place);
    for (int i = 0; i < 3; i++)
        rows[i][3] += pose->at.turned ? pose->at.pivot[i] : -pose->at.shift[i];
    map_into(rows, op->rotation, op->origin);
    memcpy(pose->cells, rows, sizeof rows);
}

static void know_cells(const collider *c, collider_pose *pose)
{
    const shape_op *op = &c->shape->ops[0];
    const level_set *set = op->field->level_set;
    know_rows(c, pose);
    pose->cell = op->scale * set->voxel;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++)
            pose->cells[i][k] /= pose->cell;
        pose->cells[i][3] -= set->origin[i] / set->voxel;
    }
}

void collider_pose_at(const collider *c, double time, collider_pose *pose)
{
    motion_pose_at(&c->motion, time, &pose->at);
    pose->deform = (deform_pose){0};
    if (c->deform)
        deform_bounds(c->deform, time, pose->low, pose->high);
    else
        shape_bounds(c->shape, 3, pose->low, pose->high);
    if (pose->at.turned)
        turn_box(&pose->at, pose->low, pose->high);
    const double rounding = 1e-9;
    for (int i = 0; i < 3; i++) {
        double shift = pose->at.turned ? 0 : pose->at.shift[i];
        pose->low[i] += shift - rounding * (1 + fabs(pose->low[i]));
        pose->high[i] += shift + rounding * (1 + fabs(pose->high[i]));
    }
    pose->is_sampled = is_sampled(c);
    pose->is_plane = is_plane(c);
    if (pose->is_sampled) {
        know_cells(c, pose);
    } else if (pose->is_plane) {
        know_rows(c, pose);
        pose->cells[1][3] -= c->shape->ops[0].offset;
    }
}

firn_status collider_stand(const collider *c, double time, collider_pose *pose)
{
    collider_pose_at(c, time, pose);
    return c->deform ? deform_hold(c->deform, time, &pose->deform) : FIRN_OK;
}

void collider_leave(const collider *c, collider_pose *pose)
{
    if (c->deform)
        deform_let_go(c->deform, &pose->deform);
}

bool collider_moves(const collider *c)
{
    return c->deform || motion_moves(&c->motion);
}

static void know_shape(collider *c, const shape *s, int dimensions, double enough)
{
    c->thickness = collider_thickness(s, dimensions, enough);
    c->slack = shape_slack(s);
}

/* Fill thickness and slack. A shape that changes is taken for what it begins with. */
static firn_status know_body(collider *c, int dimensions, double enough)
{
    if (!c->deform) {
        know_shape(c, c->shape, dimensions, enough);
        return FIRN_OK;
    }
    deform_pose pose;
    firn_status status = deform_hold(c->deform, -INFINITY, &pose);
    if (status != FIRN_OK)
        return status;
    shape_field *field = field_from_level_set(level_set_share(pose.from->set));
    shape *first = field ? shape_from_field(field) : NULL;
    if (first)
        know_shape(c, first, dimensions, enough);
    else
        status = fail(FIRN_NO_MEMORY, "out of memory for a collider");
    shape_destroy(&first);
    deform_let_go(c->deform, &pose);
    return status;
}

firn_status collider_set_create(int dimensions, double cell_size, const collider *items,
                                size_t count, collider_set *set)
{
    *set = (collider_set){
        .dimensions = dimensions, .cell_size = cell_size, .time = NAN, .count = count};
    set->items = malloc((count + 1) * sizeof *set->items);
    set->poses = calloc(count + 1, sizeof *set->poses);
    if (!set->items || !set->poses) {
        collider_set_clear(set);
        return fail(FIRN_NO_MEMORY, "out of memory for %zu colliders", count);
    }
    if (count > 0)
        memcpy(set->items, items, count * sizeof *items);
    double thick = COLLIDER_THICK * cell_size;
    firn_status status = FIRN_OK;
    for (size_t n = 0; n < count && status == FIRN_OK; n++) {
        collider *c = &set->items[n];
        status = know_body(c, dimensions, thick);
        set->moves = set->moves || collider_moves(c);
        set->limits_steps = set->limits_steps || set->moves || c->thickness < thick;
    }
    if (status == FIRN_OK)
        status = collider_set_move(set, 0);
    if (status != FIRN_OK)
        collider_set_clear(set);
    return status;
}

void collider_set_clear(collider_set *set)
{
    for (size_t n = 0; n < set->count && set->items && set->poses; n++)
        collider_leave(&set->items[n], &set->poses[n]);
    free(set->items);
    free(set->poses);
    *set = (collider_set){0};
}

static double distance_between(const double a[3], const double b[3])
{
    const double d[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
    return sqrt(dot3(d, d));
}

/* How far a rigid motion takes any point of the box that holds the body: a corner goes farthest. What has
 * no end goes any distance once it turns. */
static double rigid_travel(const collider_pose *from, const collider_pose *to)
{
    double farthest = 0;
    if (!from->at.turned && !to->at.turned)
        return distance_between(from->at.shift, to->at.shift);
    for (int corner = 0; corner < 8; corner++) {
        double x[3], own[3], there[3];
        for (int i = 0; i < 3; i++)
            x[i] = corner >> i & 1 ? from->high[i] : from->low[i];
        motion_pose_inverse(&from->at, x, own);
        for (int i = 0; i < 3; i++)
            own[i] -= to->at.pivot[i];
        for (int i = 0; i < 3; i++)
            there[i] = to->at.place[i] + dot3(to->at.rotation[i], own);
        double far = distance_between(x, there);
        farthest = isfinite(far) ? fmax(farthest, far) : INFINITY;
    }
    return farthest;
}

/* The same of any motion, from one time to another. */
static double body_travel(const collider *c, const collider_pose *from, const collider_pose *to,
                          double since, double until)
{
    if (!collider_moves(c))
        return 0;
    double travel = rigid_travel(from, to);
    if (c->deform && (from->deform.from != to->deform.from || from->deform.to != to->deform.to))
        return INFINITY; /* looked up in other samples now */
    if (c->deform)
        travel +=
            deform_speed(c->deform, fmin(since, until), fmax(since, until)) * fabs(until - since);
    return travel;
}

firn_status collider_set_move(collider_set *set, double time)
{
    const double far =
        1000 * set->cell_size; /* as good as any distance, and sums of it stay exact */
    double move = isnan(set->time) && set->count > 0 ? far : 0;
    for (size_t n = 0; n < set->count; n++) {
        collider_pose next;
        firn_status status = collider_stand(&set->items[n], time, &next);
        if (status != FIRN_OK)
            return status;
        if (!isnan(set->time))
            move = fmax(move, body_travel(&set->items[n], &set->poses[n], &next, set->time, time));
        collider_leave(&set->items[n], &set->poses[n]);
        set->poses[n] = next;
    }
    set->time = time;
    set->last_move = fmin(move, far);
    set->travel += set->last_move;
    return FIRN_OK;
}

/* ---- At a place: meet.h ---------------------------------------------------------------------- */

double collider_distance(const collider *c, const collider_pose *pose, const double x[3],
                         double gradient[3], double velocity[3])
{
    return collider_look(c, pose, x, gradient, velocity);
}

collider_bits collider_set_near(const collider_set *set, collider_bits among, const double x[3],
                                double radius)
{
    return collider_set_look(set, among, x, radius);
}

static bool meet(const collider_set *set, collider_bits near, const double x[3], double v[3],
                 collider_bond *bond, double shift[3])
{
    vec snow = {{v[0], v[1], v[2]}};
    bool touched = collider_meet(set, near, x, &snow, bond, shift);
    memcpy(v, snow.e, sizeof snow.e);
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
