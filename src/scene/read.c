/* Walks a YAML mapping by an option table and fills a struct, or says what is wrong and where. */
#include "scene/options.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 100 };

firn_status fail_type(const yaml_node *node, const char *name, const char *expected)
{
    char *found = yaml_describe(node);
    fail_at(node->at, "%s must be %s, not %s", name, expected, found);
    free(found);
    return FIRN_BAD_SCENE;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The length of a decimal number at the start of the text, 0 when there is none. */
static size_t number_length(const char *text)
{
    const char *c = text + (*text == '-' || *text == '+');
    size_t whole = strspn(c, "0123456789");
    c += whole;
    size_t fraction = *c == '.' ? strspn(c + 1, "0123456789") : 0;
    if (whole + fraction == 0)
        return 0;
    c += *c == '.' ? 1 + fraction : 0;
    if (*c == 'e' || *c == 'E') {
        const char *exponent = c + 1 + (c[1] == '-' || c[1] == '+');
        size_t digits = strspn(exponent, "0123456789");
        c = digits ? exponent + digits : c;
    }
    return (size_t)(c - text);
}

/* strtod that reads "0.5" whatever language the program speaks. */
static double to_double(const char *text)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double value = plain ? strtod_l(text, NULL, plain) : strtod(text, NULL);
    if (plain)
        freelocale(plain);
    return value;
}

static bool is_named_infinity(const char *text)
{
    text += *text == '-' || *text == '+';
    text += *text == '.';
    return strcasecmp(text, "inf") == 0 || strcasecmp(text, "infinity") == 0 ||
           strcasecmp(text, "nan") == 0;
}

static firn_status fail_not_number(const option *o, const yaml_node *node)
{
    char *expected =
        text_format("a number%s%s", o->word ? " or the word " : "", o->word ? o->word : "");
    fail_type(node, o->name, expected);
    free(expected);
    return FIRN_BAD_SCENE;
}

static firn_status fail_number(const option *o, const yaml_node *node)
{
    const char *rest = node->kind == YAML_SCALAR ? node->text + number_length(node->text) : NULL;
    if (node->kind != YAML_SCALAR || node->quoted || rest == node->text)
        return fail_not_number(o, node);
    char *shown = printable(node->text);
    if (o->unit)
        fail_at(node->at, "%s must be a plain number in %s, without the unit, not '%s'", o->name,
                strcmp(o->unit, "m") == 0 ? "metres (m)" : o->unit, shown);
    else
        fail_at(node->at, "%s must be a plain number, not '%s'", o->name, shown);
    free(shown);
    return FIRN_BAD_SCENE;
}

static firn_status check_range(const option *o, const yaml_node *node, double value)
{
    if (value >= o->low && value <= o->high && !(o->open_low && value == o->low))
        return FIRN_OK;
    char *range = option_range(o);
    char *shown = printable(node->text);
    fail_at(node->at, "%s is %s%s%s; it must be %s", o->name, shown, o->unit ? " " : "",
            o->unit ? o->unit : "", range);
    free(shown);
    free(range);
    return FIRN_BAD_SCENE;
}

static firn_status read_number(const option *o, const yaml_node *node, double *value)
{
    if (node->kind == YAML_SCALAR && !node->quoted && is_named_infinity(node->text))
        return fail_at(node->at, "%s must be a finite number, not '%s'", o->name, node->text);
    size_t length = node->kind == YAML_SCALAR && !node->quoted ? number_length(node->text) : 0;
    if (length == 0 || node->text[length])
        return fail_number(o, node);
    *value = to_double(node->text);
    return check_range(o, node, *value);
}

static firn_status read_real(const option *o, const yaml_node *node, double *value)
{
    if (o->word && node->kind == YAML_SCALAR && strcmp(node->text, o->word) == 0) {
        *value = 0;
        return FIRN_OK;
    }
    return read_number(o, node, value);
}

static firn_status read_whole(const option *o, const yaml_node *node, double *value)
{
    firn_status status = read_number(o, node, value);
    if (status == FIRN_OK && *value != floor(*value))
        return fail_type(node, o->name, "a whole number");
    return status;
}

/* ---- words ----------------------------------------------------------------------------------- */

static firn_status read_boolean(const option *o, const yaml_node *node, bool *value)
{
    bool plain = node->kind == YAML_SCALAR && !node->quoted;
    if (plain && strcasecmp(node->text, "true") == 0)
        *value = true;
    else if (plain && strcasecmp(node->text, "false") == 0)
        *value = false;
    else
        return fail_type(node, o->name, "true or false");
    return FIRN_OK;
}

static firn_status check_name(const char *what, const char *text, mark at)
{
    if (!*text)
        return fail_at(at, "%s is empty", what);
    if (strlen(text) > LONGEST_NAME)
        return fail_at(at, "%s is longer than %d bytes", what, LONGEST_NAME);
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            return fail_at(at, "%s must be one line without control characters", what);
    return FIRN_OK;
}

static firn_status read_text(const option *o, const yaml_node *node, char **value)
{
    if (node->kind != YAML_SCALAR || yaml_is_null(node))
        return fail_type(node, o->name, "a text");
    firn_status status = check_name(o->name, node->text, node->at);
    if (status != FIRN_OK)
        return status;
    free(*value);
    *value = text_copy(node->text);
    return FIRN_OK;
}

static firn_status read_lines(const option *o, const yaml_node *node, char **value)
{
    if (node->kind != YAML_SCALAR || yaml_is_null(node) || !*node->text)
        return fail_type(node, o->name, "a text");
    for (const char *c = node->text; *c; c++)
        if (((unsigned char)*c < 0x20 && *c != '\n') || *c == 0x7F)
            return fail_at(node->at, "%s must not hold control characters", o->name);
    free(*value);
    *value = text_copy(node->text);
    return FIRN_OK;
}

/* Relative to the scene's own folder, so that a scene and its files can be moved together. */
static firn_status read_file_name(const firn_scene *scene, const option *o, const yaml_node *node,
                                  char **value)
{
    if (node->kind != YAML_SCALAR || yaml_is_null(node) || !*node->text)
        return fail_type(node, o->name, "the name of a file");
    const char *slash = *node->text == '/' ? NULL : strrchr(scene->path, '/');
    free(*value);
    *value =
        text_format("%.*s%s", slash ? (int)(slash - scene->path + 1) : 0, scene->path, node->text);
    return FIRN_OK;
}

static firn_status read_choice(const option *o, const yaml_node *node, unsigned *value)
{
    if (node->kind != YAML_SCALAR)
        return fail_type(node, o->name, "a word");
    for (*value = 0; o->choices[*value]; ++*value)
        if (strcmp(o->choices[*value], node->text) == 0)
            return FIRN_OK;
    return fail_unknown(node->at, o->name, node->text, NULL, o->choices, choice_count(o));
}

static firn_status read_choices(const option *o, const yaml_node *node, unsigned *value)
{
    if (node->kind != YAML_LIST)
        return fail_type(node, o->name, "a list of words");
    if (node->count == 0)
        return fail_at(node->at, "%s is empty; it needs at least one entry", o->name);
    *value = 0;
    for (size_t i = 0; i < node->count; i++) {
        unsigned index;
        firn_status status = read_choice(o, node->items[i], &index);
        if (status != FIRN_OK)
            return status;
        *value |= 1u << index;
    }
    return FIRN_OK;
}

/* ---- vectors --------------------------------------------------------------------------------- */

static firn_status read_vector(const firn_scene *scene, const option *o, const yaml_node *node,
                               double value[3])
{
    bool flat = scene->settings.dimensions == 2;
    if (node->kind != YAML_LIST)
        return fail_type(node, o->name, flat ? "a list of 2 numbers" : "a list of 3 numbers");
    if (node->count != 3 && !(flat && node->count == 2))
        return fail_at(node->at, "%s has %zu entr%s; it needs %s", o->name, node->count,
                       node->count == 1 ? "y" : "ies", flat ? "2 (or 3) in 2D" : "3 in 3D");
    double read[3] = {0, 0, o->type == OPTION_SIZE ? ENDLESS_DEPTH : 0};
    for (size_t i = 0; i < node->count; i++) {
        firn_status status = read_number(o, node->items[i], &read[i]);
        if (status != FIRN_OK)
            return status;
    }
    bool in_plane = o->type == OPTION_VECTOR || o->type == OPTION_DIRECTION;
    if (flat && in_plane && read[2] != 0)
        return fail_at(node->items[2]->at, "the third entry of %s must be 0 in 2D", o->name);
    if (o->type == OPTION_DIRECTION && read[0] == 0 && read[1] == 0 && read[2] == 0)
        return fail_at(node->at, "%s is zero; it needs a direction", o->name);
    memcpy(value, read, sizeof read);
    return FIRN_OK;
}

static firn_status read_colour(const option *o, const yaml_node *node, double value[3])
{
    bool grey = node->kind == YAML_SCALAR && !yaml_is_null(node);
    if (!grey && (node->kind != YAML_LIST || node->count != 3))
        return fail_type(node, o->name, "three numbers, [red, green, blue], or one for a grey");
    double read[3];
    for (size_t i = 0; i < 3; i++) {
        firn_status status = read_number(o, grey ? node : node->items[i], &read[i]);
        if (status != FIRN_OK)
            return status;
    }
    memcpy(value, read, sizeof read);
    return FIRN_OK;
}

/* ---- materials ------------------------------------------------------------------------------- */

static firn_status read_preset(const option *o, const yaml_node *node, scene_material *material)
{
    const preset *base = preset_find(material->name);
    if (node) {
        unsigned index;
        firn_status status = read_choice(o, node, &index);
        if (status != FIRN_OK)
            return status;
        base = preset_find(o->choices[index]);
    }
    scene_material filled = base ? base->values : scene_default_material();
    filled.name = material->name;
    filled.mark = material->mark;
    *material = filled;
    return FIRN_OK;
}

static void add_preset(firn_scene *scene, const preset *from, mark at)
{
    size_t count = scene->material_count;
    scene->materials = realloc(scene->materials, (count + 1) * sizeof *scene->materials);
    if (!scene->materials)
        abort();
    scene->materials[count] = from->values;
    scene->materials[count].name = text_copy(from->values.name);
    scene->materials[count].mark.where = mark_where(at);
    scene->material_count++;
}

static firn_status fail_material(const firn_scene *scene, const yaml_node *node)
{
    size_t count = scene->material_count;
    const char **known = allocate(count + 16, sizeof *known);
    for (size_t i = 0; i < count; i++)
        known[i] = scene->materials[i].name;
    for (size_t p = 0; preset_names[p]; p++) {
        bool listed = false;
        for (size_t i = 0; i < scene->material_count; i++)
            listed |= strcmp(scene->materials[i].name, preset_names[p]) == 0;
        if (!listed)
            known[count++] = preset_names[p];
    }
    fail_unknown(node->at, "material", node->text, NULL, known, count);
    free(known);
    return FIRN_BAD_SCENE;
}

static firn_status read_material(firn_scene *scene, const option *o, const yaml_node *node,
                                 size_t *index)
{
    if (node->kind != YAML_SCALAR)
        return fail_type(node, o->name, "the name of a material");
    for (*index = 0; *index < scene->material_count; ++*index)
        if (strcmp(scene->materials[*index].name, node->text) == 0)
            return FIRN_OK;
    const preset *known = preset_find(node->text);
    if (!known)
        return fail_material(scene, node);
    add_preset(scene, known, node->at);
    return FIRN_OK;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Two entries with one name: an error that shows both places. */
static firn_status check_unique(const option_table *table, const yaml_node *node, const char *items,
                                size_t index)
{
    const char *name = *(char *const *)(items + index * table->size + table->name_offset);
    for (size_t i = 0; i < index; i++) {
        const char *other = items + i * table->size;
        if (strcmp(*(char *const *)(other + table->name_offset), name) != 0)
            continue;
        const yaml_node *said = yaml_find(node, "name");
        return fail_at(said ? said->at : node->at,
                       "two entries of %s are named '%s'; the first is at %s", table->title, name,
                       ((const scene_mark *)(other + table->mark_offset))->where);
    }
    return FIRN_OK;
}

static firn_status read_list(firn_scene *scene, const option *o, const yaml_node *node,
                             char *target)
{
    const option_table *table = o->table;
    bool named = o->type == OPTION_NAMED, has_name = table->mark_offset > 0;
    if (node->kind != (named ? YAML_MAPPING : YAML_LIST))
        return fail_type(node, o->name,
                         named ? "a mapping of names" : "a list (each entry after -)");
    if (node->count == 0)
        return fail_at(node->at, "%s is empty; add an entry or remove the key", o->name);
    char *items = allocate(node->count, table->size);
    size_t *count = (size_t *)(target + o->count_offset);
    *(void **)(target + o->offset) = items;
    for (*count = 0; *count < node->count;) {
        const yaml_node *item = node->items[*count];
        char *entry = items + *count * table->size;
        if (has_name) {
            ((scene_mark *)(entry + table->mark_offset))->where =
                mark_where(named ? item->key_at : item->at);
            char **name = (char **)(entry + table->name_offset);
            *name = named ? text_copy(item->key) : text_format("%s%zu", table->prefix, *count + 1);
        }
        ++*count;
        firn_status status = named ? check_name("the name", item->key, item->key_at) : FIRN_OK;
        if (status == FIRN_OK)
            status = read_table(scene, table, item, entry);
        if (status == FIRN_OK && has_name && !named)
            status = check_unique(table, item, items, *count - 1);
        if (status != FIRN_OK)
            return status;
    }
    return FIRN_OK;
}

/* ---- mappings -------------------------------------------------------------------------------- */

firn_status read_value(firn_scene *scene, const option *o, const yaml_node *node, void *target)
{
    char *value = (char *)target + o->offset;
    double number = 0;
    firn_status status = FIRN_OK;
    switch (o->type) {
    case OPTION_INTEGER:
        status = read_whole(o, node, &number);
        if (status == FIRN_OK)
            *(int *)value = (int)number;
        return status;
    case OPTION_SEED:
        status = read_whole(o, node, &number);
        if (status == FIRN_OK)
            *(uint64_t *)value = (uint64_t)number;
        return status;
    case OPTION_REAL:
        return read_real(o, node, (double *)value);
    case OPTION_BOOLEAN:
        return read_boolean(o, node, (bool *)value);
    case OPTION_TEXT:
        return read_text(o, node, (char **)value);
    case OPTION_LINES:
        return read_lines(o, node, (char **)value);
    case OPTION_FILE:
        return read_file_name(scene, o, node, (char **)value);
    case OPTION_CHOICE:
        return read_choice(o, node, (unsigned *)value);
    case OPTION_CHOICES:
        return read_choices(o, node, (unsigned *)value);
    case OPTION_POINT:
    case OPTION_VECTOR:
    case OPTION_DIRECTION:
    case OPTION_SIZE:
        return read_vector(scene, o, node, (double *)value);
    case OPTION_COLOUR:
        return read_colour(o, node, (double *)value);
    case OPTION_GROUP:
        if (o->count_offset)
            *(size_t *)((char *)target + o->count_offset) = 1;
        return read_table(scene, o->table, node, value);
    case OPTION_LIST:
    case OPTION_NAMED:
        return read_list(scene, o, node, target);
    case OPTION_PRESET:
        return read_preset(o, node, target);
    case OPTION_MATERIAL:
        return read_material(scene, o, node, (size_t *)value);
    case OPTION_SHAPE:
    case OPTION_SHAPES:
        return read_shape(scene, o->name, node, (shape **)value);
    }
    return FIRN_OK;
}

static firn_status read_fallback(firn_scene *scene, const option *o, void *target)
{
    source text = {.name = o->name, .text = o->fallback};
    yaml_node *node;
    firn_status status = yaml_parse(&text, &node);
    if (status == FIRN_OK)
        status = read_value(scene, o, node, target);
    yaml_destroy(&node);
    return status;
}

static firn_status read_absent(firn_scene *scene, const option *o, const option_table *table,
                               mark at, void *target)
{
    if (o->required)
        return fail_at(at, "%s is missing in %s", o->name, table->title);
    if (o->fallback)
        return read_fallback(scene, o, target);
    if (o->type == OPTION_PRESET)
        return read_preset(o, NULL, target);
    if (o->type == OPTION_GROUP && !o->count_offset)
        return read_table(scene, o->table, &(yaml_node){.kind = YAML_MAPPING, .at = at},
                          (char *)target + o->offset);
    return FIRN_OK;
}

firn_status check_keys(const option_table *table, const yaml_node *node)
{
    if (node->kind != YAML_MAPPING)
        return fail_type(node, node->key ? node->key : table->title, "a mapping (key: value)");
    for (size_t i = 0; i < node->count; i++) {
        const yaml_node *item = node->items[i];
        if (option_find(table, item->key))
            continue;
        const char **names = option_names(table);
        fail_unknown(item->key_at, "key", item->key, table->title, names, table->count);
        free(names);
        return FIRN_BAD_SCENE;
    }
    return FIRN_OK;
}

firn_status read_table(firn_scene *scene, const option_table *table, const yaml_node *node,
                       void *target)
{
    const yaml_node *bare = NULL;
    if (table->shorthand && node->kind == YAML_SCALAR && !yaml_is_null(node))
        bare = node;
    firn_status status = bare ? FIRN_OK : check_keys(table, node);
    /* In the order of the table: dimensions before vectors, materials before the snow that names
     * them, a preset before the values that replace its own. */
    for (size_t i = 0; i < table->count && status == FIRN_OK; i++) {
        const option *o = &table->options[i];
        const yaml_node *item = bare ? NULL : yaml_find(node, o->name);
        if (bare && strcmp(o->name, table->shorthand) == 0)
            item = bare;
        status = item ? read_value(scene, o, item, target)
                      : read_absent(scene, o, table, node->at, target);
    }
    return status == FIRN_OK && table->check ? table->check(scene, node, target) : status;
}
