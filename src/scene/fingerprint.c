/*
 * Fingerprints: 64-bit FNV-1a hashes of the values that the option tables mark as physics, or of all
 * that pictures are made of, walked in the order of the tables. Values are hashed after defaults, so it does not matter
 * whether they were written; names, comments and the order of keys never enter.
 */
#include "scene/options.h"

#include <string.h>

typedef uint64_t hash;

static void hash_bytes(hash *h, const void *bytes, size_t count)
{
    for (const unsigned char *b = bytes; count--; b++)
        *h = (*h ^ *b) * 0x100000001b3u;
}

/* Integers as eight bytes, lowest first, on every machine. */
static void hash_integer(hash *h, uint64_t value)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    hash_bytes(h, bytes, sizeof bytes);
}

static void hash_reals(hash *h, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double value = values[i] + 0.0; /* -0 and 0 are one number */
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        hash_integer(h, bits);
    }
}

static void hash_shape(hash *h, const shape *s)
{
    hash_integer(h, s->count);
    for (size_t i = 0; i < s->count; i++) {
        const shape_op *op = &s->ops[i];
        hash_integer(h, (uint64_t)op->kind);
        hash_reals(h, op->params, 4);
        hash_reals(h, op->origin, 3);
        hash_reals(h, &op->rotation[0][0], 9);
        if (op->offset != 0)
            hash_reals(h, &op->offset, 1);
        if (op->field) {
            hash_reals(h, &op->scale, 1);
            hash_integer(h, op->field->fingerprint);
        }
    }
}

/* What enters: physics alone, or everything. */
typedef enum scope { PHYSICS, EVERYTHING } scope;

static void hash_table(hash *h, const firn_scene *scene, const option_table *table,
                       const char *target, scope what);

static void hash_list(hash *h, const firn_scene *scene, const option *o, const char *target,
                      scope what)
{
    const char *items = *(char *const *)(target + o->offset);
    size_t count = *(const size_t *)(target + o->count_offset);
    hash_integer(h, count);
    for (size_t i = 0; i < count; i++)
        hash_table(h, scene, o->table, items + i * o->table->size, what);
}

static void hash_value(hash *h, const firn_scene *scene, const option *o, const char *target,
                       scope what)
{
    const char *value = target + o->offset;
    switch (o->type) {
    case OPTION_INTEGER:
    case OPTION_CHOICE:
    case OPTION_CHOICES:
        hash_integer(h, *(const unsigned *)value);
        break;
    case OPTION_SEED:
        hash_integer(h, *(const uint64_t *)value);
        break;
    case OPTION_BOOLEAN:
        hash_integer(h, *(const bool *)value);
        break;
    case OPTION_REAL:
        hash_reals(h, (const double *)value, 1);
        break;
    case OPTION_POINT:
    case OPTION_VECTOR:
    case OPTION_DIRECTION:
    case OPTION_SIZE:
    case OPTION_COLOUR:
        hash_reals(h, (const double *)value, 3);
        break;
    case OPTION_GROUP:
        if (o->count_offset)
            hash_integer(h, *(const size_t *)(target + o->count_offset));
        hash_table(h, scene, o->table, value, what);
        break;
    case OPTION_LIST:
    case OPTION_NAMED:
        hash_list(h, scene, o, target, what);
        break;
    case OPTION_MATERIAL: /* by its values: names are free */
        hash_table(h, scene, o->table, (const char *)&scene->materials[*(const size_t *)value],
                   what);
        break;
    case OPTION_SHAPE:
        if (*(shape *const *)value)
            if (*(shape *const *)value)
                hash_shape(h, *(shape *const *)value);
        break;
    case OPTION_TEXT:
    case OPTION_LINES:
    case OPTION_FILE: /* what was read from it counts */
    case OPTION_PRESET:
    case OPTION_SHAPES:
        break;
    }
}

static void hash_table(hash *h, const firn_scene *scene, const option_table *table,
                       const char *target, scope what)
{
    for (size_t i = 0; i < table->count; i++)
        if (what == EVERYTHING || table->options[i].physics)
            hash_value(h, scene, &table->options[i], target, what);
}

/* What was read from the files of bodies that deform. */
static void hash_deforms(hash *h, const firn_scene *scene)
{
    for (size_t i = 0; i < scene->collider_count; i++)
        if (scene->colliders[i].body.deform) {
            hash_integer(h, i);
            hash_integer(h, deform_fingerprint(scene->colliders[i].body.deform));
        }
}

uint64_t scene_fingerprint(const firn_scene *scene)
{
    hash h = 0xcbf29ce484222325u;
    hash_table(&h, scene, &scene_table, (const char *)scene, PHYSICS);
    for (size_t i = 0; i < scene->snow_count; i++)
        if (scene->snow[i].points.set)
            hash_integer(&h, scene->snow[i].points.set->fingerprint);
    for (size_t i = 0; i < scene->material_count; i++)
        for (size_t k = 0; k < scene->materials[i].vary_count; k++)
            if (scene->materials[i].vary[k].attribute)
                hash_bytes(&h, scene->materials[i].vary[k].attribute,
                           strlen(scene->materials[i].vary[k].attribute));
    hash_deforms(&h, scene);
    return h;
}

uint64_t scene_picture_fingerprint(const firn_scene *scene)
{
    hash h = 0xcbf29ce484222325u;
    hash_table(&h, scene, &camera_table, (const char *)&scene->camera, EVERYTHING);
    hash_table(&h, scene, &render_table, (const char *)&scene->render, EVERYTHING);
    hash_integer(&h, scene->collider_count);
    for (size_t i = 0; i < scene->collider_count; i++)
        hash_table(&h, scene, &collider_table, (const char *)&scene->colliders[i], EVERYTHING);
    hash_deforms(&h, scene);
    return h;
}
