/* Scenes from files and text; their life and what the public header lets one see of them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene/bodies.h"
#include "transfer.h"

enum { LARGEST_FILE = 16 << 20 };

/* ---- life ------------------------------------------------------------------------------------ */

void firn_scene_destroy(firn_scene **scene)
{
    firn_scene *s = *scene;
    if (!s)
        return;
    for (size_t i = 0; i < s->material_count; i++) {
        free(s->materials[i].name);
        free(s->materials[i].mark.where);
        for (size_t k = 0; k < s->materials[i].vary_count; k++) {
            free(s->materials[i].vary[k].ramp);
            free(s->materials[i].vary[k].attribute);
        }
        free(s->materials[i].vary);
    }
    for (size_t i = 0; i < s->snow_count; i++) {
        free(s->snow[i].name);
        free(s->snow[i].mark.where);
        shape_destroy(&s->snow[i].shape);
        free(s->snow[i].points.file);
        point_set_release(&s->snow[i].points.set);
    }
    for (size_t i = 0; i < s->collider_count; i++) {
        free(s->colliders[i].name);
        free(s->colliders[i].mark.where);
        shape_destroy(&s->colliders[i].body.shape);
        free(s->colliders[i].body.motion.keys);
        free(s->colliders[i].path.points);
        free(s->colliders[i].path.file);
        deform_release(&s->colliders[i].body.deform);
        free(s->colliders[i].deform.file);
        free(s->colliders[i].deform.cache);
    }
    for (size_t i = 0; i < s->kill_count; i++) {
        free(s->kill[i].name);
        free(s->kill[i].mark.where);
        shape_destroy(&s->kill[i].shape);
    }
    free(s->kill);
    for (size_t i = 0; i < s->render.light_count; i++) {
        free(s->render.lights[i].name);
        free(s->render.lights[i].file);
        free(s->render.lights[i].mark.where);
    }
    free(s->render.lights);
    free(s->simulation_mark.where);
    free(s->materials);
    free(s->snow);
    free(s->colliders);
    free(s->name);
    free(s->path);
    free(s);
    *scene = NULL;
}

static void *copy_array(const void *from, size_t count, size_t size)
{
    void *to = allocate(count, size);
    if (count)
        memcpy(to, from, count * size);
    return to;
}

/* What a copied entry points to, copied too. */
static void copy_material(scene_material *m)
{
    m->name = text_copy(m->name);
    m->mark.where = text_copy(m->mark.where);
    m->vary = copy_array(m->vary, m->vary_count, sizeof *m->vary);
    for (size_t k = 0; k < m->vary_count; k++) {
        scene_vary *v = &m->vary[k];
        v->ramp = copy_array(v->ramp, v->ramp_count, sizeof *v->ramp);
        v->attribute = v->attribute ? text_copy(v->attribute) : NULL;
    }
}

static void copy_collider(scene_collider *c)
{
    c->name = text_copy(c->name);
    c->mark.where = text_copy(c->mark.where);
    c->body.shape = c->body.shape ? shape_copy(c->body.shape) : NULL;
    motion *m = &c->body.motion;
    m->keys = copy_array(m->keys, m->key_count, sizeof *m->keys);
    c->path.points = copy_array(c->path.points, c->path.point_count, sizeof *c->path.points);
    c->path.file = c->path.file ? text_copy(c->path.file) : NULL;
    c->body.deform = deform_share(c->body.deform);
    c->deform.file = c->deform.file ? text_copy(c->deform.file) : NULL;
    c->deform.cache = c->deform.cache ? text_copy(c->deform.cache) : NULL;
}

firn_scene *scene_copy(const firn_scene *scene)
{
    firn_scene *c = copy_array(scene, 1, sizeof *c);
    c->name = text_copy(scene->name);
    c->path = text_copy(scene->path);
    c->simulation_mark.where = text_copy(scene->simulation_mark.where);
    c->materials = copy_array(c->materials, c->material_count, sizeof *c->materials);
    for (size_t i = 0; i < c->material_count; i++)
        copy_material(&c->materials[i]);
    c->snow = copy_array(c->snow, c->snow_count, sizeof *c->snow);
    for (size_t i = 0; i < c->snow_count; i++) {
        c->snow[i].name = text_copy(c->snow[i].name);
        c->snow[i].mark.where = text_copy(c->snow[i].mark.where);
        scene_points *p = &c->snow[i].points;
        c->snow[i].shape = c->snow[i].shape ? shape_copy(c->snow[i].shape) : NULL;
        p->file = p->file ? text_copy(p->file) : NULL;
        point_set_share(p->set);
    }
    c->colliders = copy_array(c->colliders, c->collider_count, sizeof *c->colliders);
    for (size_t i = 0; i < c->collider_count; i++)
        copy_collider(&c->colliders[i]);
    c->kill = copy_array(c->kill, c->kill_count, sizeof *c->kill);
    for (size_t i = 0; i < c->kill_count; i++) {
        c->kill[i].name = text_copy(c->kill[i].name);
        c->kill[i].mark.where = text_copy(c->kill[i].mark.where);
        c->kill[i].shape = shape_copy(c->kill[i].shape);
    }
    scene_render *r = &c->render;
    r->lights = copy_array(r->lights, r->light_count, sizeof *r->lights);
    for (size_t i = 0; i < r->light_count; i++) {
        r->lights[i].name = text_copy(r->lights[i].name);
        r->lights[i].file = r->lights[i].file ? text_copy(r->lights[i].file) : NULL;
        r->lights[i].mark.where = text_copy(r->lights[i].mark.where);
    }
    return c;
}

firn_status scene_colliders(const firn_scene *scene, collider_set *set)
{
    collider *bodies = allocate(scene->collider_count, sizeof *bodies);
    for (size_t i = 0; i < scene->collider_count; i++)
        bodies[i] = scene->colliders[i].body;
    firn_status status = collider_set_create(scene->settings.dimensions, scene->settings.cell_size,
                                             bodies, scene->collider_count, set);
    free(bodies);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

static char *file_stem(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    return text_format("%.*s", dot && dot > base ? (int)(dot - base) : (int)strlen(base), base);
}

static firn_status fill(firn_scene *scene, const source *text, const yaml_node *root)
{
    if (!root || yaml_is_null(root))
        return fail_at((mark){text, 1, 1}, "the scene is empty");
    firn_status status = read_table(scene, &scene_table, root, scene);
    if (status != FIRN_OK)
        return status;
    if (transfer_is_affine(scene->settings.transfer))
        scene->settings.blend = 0; /* its velocities are PIC's: one physics, one fingerprint */
    scene->simulation_mark.where = mark_where(yaml_find(root, "simulation")->key_at);
    scene->fingerprint = scene_fingerprint(scene);
    for (size_t i = 0; i < scene->collider_count; i++)
        if (scene->colliders[i].body.shape)
            shape_use_samples(scene->colliders[i].body.shape);
    return FIRN_OK;
}

static firn_status apply_sets(source *places, const char *const *sets, size_t set_count,
                              yaml_node *root)
{
    firn_status status = FIRN_OK;
    for (size_t i = 0; i < set_count && status == FIRN_OK; i++) {
        const char *equals = strchr(sets[i], '=');
        if (!equals) {
            char *shown = printable(sets[i]);
            status = fail(FIRN_USAGE, "--set %s: write key.path=value", shown);
            free(shown);
            break;
        }
        char *path = text_format("%.*s", (int)(equals - sets[i]), sets[i]);
        places[i] = (source){text_format("--set %s", sets[i]), equals + 1, true};
        status = override_apply(&places[i], path, root);
        free(path);
    }
    return status;
}

firn_status firn_scene_parse(const char *text, const char *name, const char *const *sets,
                             size_t set_count, firn_scene **scene)
{
    *scene = NULL;
    source file = {.name = name ? name : "scene", .text = text};
    source *places = allocate(set_count, sizeof *places);
    firn_scene *s = allocate(1, sizeof *s);
    s->path = text_copy(file.name);
    s->name = file_stem(file.name);
    yaml_node *root;
    firn_status status = yaml_parse(&file, &root);
    if (status == FIRN_OK && root && root->kind == YAML_MAPPING)
        status = apply_sets(places, sets, set_count, root);
    if (status == FIRN_OK)
        status = fill(s, &file, root);
    bodies_forget(s);
    yaml_destroy(&root);
    for (size_t i = 0; i < set_count; i++)
        free((char *)places[i].name);
    free(places);
    if (status != FIRN_OK)
        firn_scene_destroy(&s);
    *scene = s;
    return status;
}

/* The whole file with a 0 after it; owned by the caller. */
static firn_status read_file(const char *path, char **text)
{
    *text = NULL;
    FILE *file = fopen(path, "rb");
    if (!file)
        return fail(FIRN_NO_INPUT, "%s: %s", path, strerror(errno));
    *text = allocate(LARGEST_FILE + 2, 1);
    size_t length = fread(*text, 1, LARGEST_FILE + 1, file);
    firn_status status = FIRN_OK;
    if (ferror(file))
        status = fail(FIRN_NO_INPUT, "%s: %s", path, strerror(errno));
    else if (length > LARGEST_FILE)
        status =
            fail(FIRN_BAD_SCENE, "%s: larger than %d bytes; this is no scene", path, LARGEST_FILE);
    else if (memchr(*text, 0, length))
        status = fail(FIRN_BAD_SCENE, "%s: byte 0x00 at offset %zu: this is not a text file", path,
                      strlen(*text));
    fclose(file);
    if (status != FIRN_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}

firn_status firn_scene_load(const char *path, const char *const *sets, size_t set_count,
                            firn_scene **scene)
{
    *scene = NULL;
    char *text;
    firn_status status = read_file(path, &text);
    if (status != FIRN_OK)
        return status;
    status = firn_scene_parse(text, path, sets, set_count, scene);
    free(text);
    return status;
}

/* ---- looking --------------------------------------------------------------------------------- */

const char *firn_scene_name(const firn_scene *scene)
{
    return scene->name;
}

const firn_settings *firn_scene_settings(const firn_scene *scene)
{
    return &scene->settings;
}

uint64_t firn_scene_fingerprint(const firn_scene *scene)
{
    return scene->fingerprint;
}

size_t firn_scene_object_count(const firn_scene *scene)
{
    return scene->snow_count;
}

const char *firn_scene_object_name(const firn_scene *scene, size_t index)
{
    return scene->snow[index].name;
}

size_t firn_scene_collider_count(const firn_scene *scene)
{
    return scene->collider_count;
}

const char *firn_scene_collider_name(const firn_scene *scene, size_t index)
{
    return scene->colliders[index].name;
}

double firn_scene_collider_distance(const firn_scene *scene, size_t index, double time,
                                    const double x[3])
{
    const collider *body = &scene->colliders[index].body;
    collider_pose pose = {.deform = {0}};
    motion_pose_at(&body->motion, time, &pose.at);
    if (body->deform && deform_hold(body->deform, time, &pose.deform) != FIRN_OK)
        return INFINITY;
    double phi = collider_distance(body, &pose, x, NULL, NULL);
    collider_leave(body, &pose);
    return phi;
}
