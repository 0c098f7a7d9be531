/*
 * `--set key.path=value`: edits the tree before it is checked, so that an override is read,
 * defaulted and refused exactly like a line of the file. The walk follows the option tables beside
 * the tree, which is how a wrong path can say what there is instead.
 */
#include "scene/options.h"

#include <stdlib.h>
#include <string.h>

/* What the words below a value mean. */
typedef enum level_kind {
    KEYS,    /* keys of `table` */
    NAMES,   /* any names, each a mapping by `table` */
    ENTRIES, /* entries of a list, by index or by name, each a mapping by `table` */
    INDICES, /* entries of a list, by index; of shapes when there is a table, else plain values */
    NOTHING,
} level_kind;

typedef struct level {
    level_kind kind;
    const char *title;
    const option_table *table;
    yaml_node *node; /* borrowed from the tree */
} level;

static level level_below(const option *o)
{
    level below = {.title = o->name, .table = o->table};
    switch (o->type) {
    case OPTION_GROUP:
    case OPTION_SHAPE:
        below.kind = KEYS;
        break;
    case OPTION_NAMED:
        below.kind = NAMES;
        break;
    case OPTION_LIST:
        below.kind = ENTRIES;
        break;
    case OPTION_POINT:
    case OPTION_VECTOR:
    case OPTION_DIRECTION:
    case OPTION_SIZE:
    case OPTION_COLOUR:
    case OPTION_CHOICES:
    case OPTION_SHAPES:
        below.kind = INDICES;
        break;
    default:
        below.kind = NOTHING;
    }
    return below;
}

static level entry_below(const level *at)
{
    return (level){.kind = at->table ? KEYS : NOTHING,
                   .title = at->table ? at->table->title : at->title,
                   .table = at->table};
}

/* The index that a word writes out, or `count` when it is none below that. */
static size_t word_index(const char *word, size_t count)
{
    if (!*word || strlen(word) > 9 || word[strspn(word, "0123456789")])
        return count;
    size_t index = (size_t)strtoul(word, NULL, 10);
    return index < count ? index : count;
}

static char *entry_name(const level *at, size_t index)
{
    const yaml_node *said = yaml_find(at->node->items[index], "name");
    if (said && said->kind == YAML_SCALAR)
        return text_copy(said->text);
    return text_format("%s%zu", at->table->prefix, index + 1);
}

static firn_status find_entry(const level *at, const char *word, mark place, size_t *index)
{
    size_t count = at->node->count;
    const char **names = allocate(count, sizeof *names);
    *index = count;
    for (size_t i = count; i-- > 0;) {
        names[i] = entry_name(at, i);
        if (strcmp(names[i], word) == 0)
            *index = i;
    }
    if (*index == count)
        *index = word_index(word, count);
    if (*index == count)
        fail_unknown(place, "entry", word, at->title, names, count);
    for (size_t i = 0; i < count; i++)
        free((char *)names[i]);
    free(names);
    return *index == count ? FIRN_BAD_SCENE : FIRN_OK;
}

/* Find `word` at this level: its index in the level's node (the count when it is to be added) and
 * what lies below it. */
static firn_status look_up(const level *at, const char *word, mark place, size_t *index,
                           level *below)
{
    firn_status status = FIRN_OK;
    *index = at->node->count;
    if (at->kind == NOTHING)
        return fail_at(place, "%s is a single value; there is no '%s' in it", at->title, word);
    if (at->kind == KEYS) {
        const option *o = option_find(at->table, word);
        if (!o) {
            const char **names = option_names(at->table);
            status = fail_unknown(place, "key", word, at->title, names, at->table->count);
            free(names);
            return status;
        }
        *below = level_below(o);
    } else {
        *below = entry_below(at);
    }
    if (at->kind == ENTRIES) {
        status = find_entry(at, word, place, index);
    } else if (at->kind == INDICES) {
        *index = word_index(word, at->node->count);
        if (*index == at->node->count)
            status = fail_at(place, "%s has %zu entries; there is no '%s'", at->title,
                             at->node->count, word);
    } else {
        for (size_t i = 0; i < at->node->count; i++)
            if (strcmp(at->node->items[i]->key, word) == 0)
                *index = i;
    }
    return status;
}

/* Put a value in the place of entry `index`, or after the last. Takes ownership. */
static void put(yaml_node *parent, size_t index, const char *word, yaml_node *value)
{
    if (parent->kind == YAML_MAPPING)
        value->key = text_copy(word);
    if (index == parent->count) {
        yaml_append(parent, value);
    } else {
        yaml_destroy(&parent->items[index]);
        parent->items[index] = value;
    }
}

/* `transfer: flip` becomes `transfer: {type: flip}`. */
static void write_out_shorthand(yaml_node *parent, size_t index, const char *key, mark place)
{
    yaml_node *bare = yaml_copy(parent->items[index]);
    free(bare->key);
    bare->key = text_copy(key);
    yaml_node *mapping = yaml_create(YAML_MAPPING, place);
    yaml_append(mapping, bare);
    char *word = text_copy(parent->items[index]->key ? parent->items[index]->key : "");
    put(parent, index, word, mapping);
    free(word);
}

/* Make sure that the value at `index` can be walked into, and enter it. */
static firn_status enter(level *at, size_t index, const char *word, mark place, level below)
{
    bool mapping = below.kind == KEYS || below.kind == NAMES;
    if (index == at->node->count) {
        if (!mapping)
            return fail_at(place, "the scene has no %s yet; set the whole of it", word);
        put(at->node, index, word, yaml_create(YAML_MAPPING, place));
    }
    const char *shorthand = below.kind == KEYS ? below.table->shorthand : NULL;
    if (shorthand && at->node->items[index]->kind == YAML_SCALAR)
        write_out_shorthand(at->node, index, shorthand, place);
    below.node = at->node->items[index];
    if (below.kind != NOTHING && below.node->kind != (mapping ? YAML_MAPPING : YAML_LIST))
        return fail_at(place, "%s is not a %s in the scene", word, mapping ? "mapping" : "list");
    *at = below;
    return FIRN_OK;
}

static firn_status assign(level *at, size_t index, const char *word, const source *place)
{
    yaml_node *value;
    firn_status status = yaml_parse(place, &value);
    if (status != FIRN_OK)
        return status;
    if (!value)
        return fail_at((mark){place, 1, 1}, "there is no value after the =");
    if (!yaml_is_null(value)) {
        put(at->node, index, word, value);
        return FIRN_OK;
    }
    yaml_destroy(&value);
    if (index < at->node->count)
        yaml_remove(at->node, index);
    return FIRN_OK;
}

firn_status override_apply(const source *place, const char *path, yaml_node *root)
{
    mark here = {place, 1, 1};
    level at = {.kind = KEYS, .title = scene_table.title, .table = &scene_table, .node = root};
    char *words = text_copy(path), *word = words, *dot;
    firn_status status = FIRN_OK;
    do {
        level below = {0};
        size_t index = 0;
        dot = strchr(word, '.');
        if (dot)
            *dot = '\0';
        if (!*word)
            status = fail_at(here, "the path has an empty part");
        if (status == FIRN_OK)
            status = look_up(&at, word, here, &index, &below);
        if (status == FIRN_OK)
            status = dot ? enter(&at, index, word, here, below) : assign(&at, index, word, place);
        word = dot ? dot + 1 : NULL;
    } while (status == FIRN_OK && dot);
    free(words);
    return status;
}
