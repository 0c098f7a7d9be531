/* How colliders move: constant velocities, and keyframes from the scene or from a table. */
#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene/options.h"

/* ---- A table of keys: CSV -------------------------------------------------------------------- */

enum { TIME, FRAME, X, Y, Z, QW, QX, QY, QZ, RX, RY, RZ, COLUMNS };
static const char *const column_names[COLUMNS] = {"time", "frame", "x",  "y",  "z",  "qw",
                                                  "qx",   "qy",    "qz", "rx", "ry", "rz"};

typedef struct table {
    const char *file;
    int line;
    locale_t plain; /* reads 0.5 whatever language the program speaks */
    double fps;
    bool flat; /* 2D */
    bool has[COLUMNS];
    int column_count;
    int column[2 * COLUMNS]; /* what stands in it */
} table;

static char *trimmed(char *word)
{
    while (isspace((unsigned char)*word))
        word++;
    char *end = word + strlen(word);
    while (end > word && isspace((unsigned char)end[-1]))
        *--end = 0;
    return word;
}

static firn_status check_header(const table *t)
{
    bool four = t->has[QW] || t->has[QX] || t->has[QY] || t->has[QZ];
    bool euler = t->has[RX] || t->has[RY] || t->has[RZ];
    if (t->has[TIME] == t->has[FRAME])
        return fail(FIRN_BAD_SCENE,
                    "%s:%d: the first line must name either a column `time` or a "
                    "column `frame`",
                    t->file, t->line);
    if (four && !(t->has[QW] && t->has[QX] && t->has[QY] && t->has[QZ]))
        return fail(FIRN_BAD_SCENE, "%s:%d: a quaternion needs all of qw, qx, qy, qz", t->file,
                    t->line);
    if (four && euler)
        return fail(FIRN_BAD_SCENE, "%s:%d: the turn is said twice, as qw.. and as rx..", t->file,
                    t->line);
    return FIRN_OK;
}

static firn_status read_header(table *t, char *line)
{
    for (char *word; (word = strsep(&line, ","));) {
        char *name = trimmed(word);
        int c = 0;
        while (c < COLUMNS && strcasecmp(column_names[c], name) != 0)
            c++;
        if (c == COLUMNS || t->has[c]) {
            char *shown = printable(name);
            fail(FIRN_BAD_SCENE,
                 "%s:%d: %s column '%s'; the columns are time or frame, x, y, z, and "
                 "qw, qx, qy, qz or rx, ry, rz",
                 t->file, t->line, c == COLUMNS ? "unknown" : "a second", shown);
            free(shown);
            return FIRN_BAD_SCENE;
        }
        t->has[c] = true;
        t->column[t->column_count++] = c;
    }
    return check_header(t);
}

static firn_status read_row(const table *t, char *line, double value[COLUMNS])
{
    int count = 0;
    for (char *word; (word = strsep(&line, ",")); count++) {
        char *text = trimmed(word), *end;
        if (count == t->column_count)
            return fail(FIRN_BAD_SCENE, "%s:%d: more than the %d columns of the first line",
                        t->file, t->line, t->column_count);
        double number = strtod_l(text, &end, t->plain);
        if (end == text || *end || !isfinite(number)) {
            char *shown = printable(text);
            fail(FIRN_BAD_SCENE, "%s:%d: %s must be a number, not '%s'", t->file, t->line,
                 column_names[t->column[count]], shown);
            free(shown);
            return FIRN_BAD_SCENE;
        }
        value[t->column[count]] = number;
    }
    if (count < t->column_count)
        return fail(FIRN_BAD_SCENE, "%s:%d: %d of %d columns", t->file, t->line, count,
                    t->column_count);
    return FIRN_OK;
}

/* The turn of a row as a quaternion of length 1. */
static firn_status row_turn(const table *t, const double value[COLUMNS], quaternion *turn)
{
    const double degree = acos(-1) / 180;
    *turn = (quaternion){1, {0, 0, 0}};
    for (int a = 0; a < 3; a++) {
        double axis[3] = {a == 0, a == 1, a == 2};
        *turn = quaternion_product(quaternion_exp(axis, degree * value[RX + a]), *turn);
    }
    if (t->has[QW]) {
        *turn = (quaternion){value[QW], {value[QX], value[QY], value[QZ]}};
        double length = sqrt(turn->w * turn->w + dot3(turn->v, turn->v));
        if (!(fabs(length - 1) < 1e-2))
            return fail(FIRN_BAD_SCENE, "%s:%d: the quaternion has length %g instead of 1", t->file,
                        t->line, length);
        turn->w /= length;
        for (int i = 0; i < 3; i++)
            turn->v[i] /= length;
    }
    return FIRN_OK;
}

static firn_status row_point(const table *t, const double value[COLUMNS], motion_point *p)
{
    quaternion turn;
    firn_status status = row_turn(t, value, &turn);
    if (status != FIRN_OK)
        return status;
    const double flat = 1e-6;
    if (t->flat && (value[Z] != 0 || fabs(turn.v[0]) > flat || fabs(turn.v[1]) > flat))
        return fail(FIRN_BAD_SCENE, "%s:%d: leaves the plane z = 0 of a 2D scene", t->file,
                    t->line);
    p->time = t->has[TIME] ? value[TIME] : value[FRAME] / t->fps;
    memcpy(p->translate, &value[X], sizeof p->translate);
    quaternion_log(turn, p->axis);
    p->angle = sqrt(dot3(p->axis, p->axis)) * 180 / acos(-1);
    return FIRN_OK;
}

static firn_status read_rows(table *t, FILE *file, scene_path *path)
{
    firn_status status = FIRN_OK;
    char *line = NULL;
    size_t size = 0, capacity = 0;
    for (t->line = 1; status == FIRN_OK && getline(&line, &size, file) >= 0; t->line++) {
        char *text = trimmed(line);
        if (!*text || *text == '#')
            continue;
        if (t->column_count == 0) {
            status = read_header(t, text);
            continue;
        }
        double value[COLUMNS] = {0};
        status = read_row(t, text, value);
        if (path->point_count == capacity) {
            capacity = 2 * capacity + 16;
            path->points = realloc(path->points, capacity * sizeof *path->points);
            if (!path->points)
                abort();
        }
        motion_point *p = &path->points[path->point_count];
        if (status == FIRN_OK)
            status = row_point(t, value, p);
        if (status == FIRN_OK && path->point_count > 0 && !(p->time > p[-1].time))
            status = fail(FIRN_BAD_SCENE, "%s:%d: time %g s is not after %g s of the row before",
                          t->file, t->line, p->time, p[-1].time);
        path->point_count += status == FIRN_OK;
    }
    if (status == FIRN_OK && path->point_count == 0)
        status = fail(FIRN_BAD_SCENE, "%s: no rows", t->file);
    free(line);
    return status;
}

static firn_status read_key_file(const firn_scene *scene, scene_path *path)
{
    FILE *file = fopen(path->file, "r");
    if (!file)
        return fail(FIRN_NO_INPUT, "%s: %s", path->file, strerror(errno));
    table t = {.file = path->file,
               .plain = newlocale(LC_ALL_MASK, "C", (locale_t)0),
               .fps = scene->settings.fps,
               .flat = scene->settings.dimensions == 2};
    firn_status status = read_rows(&t, file, path);
    freelocale(t.plain);
    fclose(file);
    return status;
}

/* ---- Keys in the scene ----------------------------------------------------------------------- */

static bool is_zero(const double v[3])
{
    return v[0] == 0 && v[1] == 0 && v[2] == 0;
}

static firn_status check_keys_of(const firn_scene *scene, const yaml_node *keys,
                                 const scene_path *path)
{
    for (size_t k = 0; k < path->point_count; k++) {
        const motion_point *p = &path->points[k];
        const yaml_node *axis = yaml_find(keys->items[k], "axis");
        if (k > 0 && !(p->time > p[-1].time))
            return fail_at(yaml_find(keys->items[k], "time")->at,
                           "time %g s is not after %g s of the key before", p->time, p[-1].time);
        if (axis && is_zero(p->axis))
            return fail_at(axis->at, "axis is zero; it needs a direction");
        if (scene->settings.dimensions == 2 && (p->axis[0] != 0 || p->axis[1] != 0))
            return fail_at(axis->at, "axis must be [0, 0, 1] in 2D, or left out");
    }
    return FIRN_OK;
}

static firn_status read_path(const firn_scene *scene, const yaml_node *node, scene_collider *c)
{
    const yaml_node *keys = yaml_find(node, "keys"), *file = yaml_find(node, "file");
    if (!keys == !file)
        return fail_at(node->at, "a path needs either keys or a file");
    firn_status status = keys ? check_keys_of(scene, keys, &c->path) : FIRN_OK;
    if (file) {
        status = read_key_file(scene, &c->path);
        if (status != FIRN_OK)
            fail_within(status, "%s: collider '%s': ", c->mark.where, c->name);
    }
    if (status != FIRN_OK)
        return status;
    motion *m = &c->body.motion;
    m->smooth = c->path.interpolation == SCENE_SMOOTH;
    m->key_count = c->path.point_count;
    m->keys = motion_keys_create(c->path.points, m->key_count, m->smooth);
    if (!m->keys)
        abort();
    return FIRN_OK;
}

/* ---- Colliders ------------------------------------------------------------------------------- */

/* The middle of the shape's box, where it has one. */
static void default_pivot(const firn_scene *scene, const collider *c, double pivot[3])
{
    double low[3], high[3];
    bool finite = c->deform || shape_bounds(c->shape, scene->settings.dimensions, low, high);
    if (c->deform)
        deform_bounds(c->deform, -INFINITY, low, high);
    for (int i = 0; i < 3; i++)
        pivot[i] = finite && i < scene->settings.dimensions ? (low[i] + high[i]) / 2 : 0;
}

firn_status read_collider(firn_scene *scene, const yaml_node *node, void *entry)
{
    scene_collider *c = entry;
    const yaml_node *friction = yaml_find(node, "friction"), *path = yaml_find(node, "path");
    const yaml_node *turn = yaml_find(node, "angular_velocity");
    if (c->body.sticky && friction)
        return fail_at(friction->key_at,
                       "collider '%s' is sticky, so friction has no meaning; remove one of the two",
                       c->name);
    if (scene->settings.dimensions == 2 &&
        (c->angular_velocity[0] != 0 || c->angular_velocity[1] != 0))
        return fail_at(turn->at, "angular_velocity must be [0, 0, speed] in 2D");
    for (int i = 0; i < 3; i++)
        c->body.motion.angular_velocity[i] = c->angular_velocity[i] * acos(-1) / 180;
    const yaml_node *deforms = yaml_find(node, "deform");
    if (!c->body.shape == !deforms)
        return fail_at(node->at, "collider '%s' needs a shape or deform%s", c->name,
                       deforms ? ", not both" : "");
    firn_status status = deforms ? read_deform(scene, deforms, c) : FIRN_OK;
    if (status != FIRN_OK)
        return status;
    if (!yaml_find(node, "pivot"))
        default_pivot(scene, &c->body, c->body.motion.pivot);
    return path ? read_path(scene, path, c) : FIRN_OK;
}
