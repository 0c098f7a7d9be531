/*
 * YAML text to a small tree that remembers where everything stood. libfyaml does the parsing; the
 * tree is ours because overrides edit it and messages need the place of every key and value.
 *
 * Limits: one document, nesting of YAML_MAX_DEPTH, YAML_MAX_KEYS in a mapping, YAML_MAX_NODES
 * after aliases are expanded. Keys are plain words and do not repeat. Tags are ignored.
 */
#ifndef FIRN_SCENE_YAML_H
#define FIRN_SCENE_YAML_H

#include "scene/source.h"

enum { YAML_MAX_DEPTH = 48, YAML_MAX_KEYS = 10000, YAML_MAX_NODES = 1 << 20 };

typedef enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAPPING } yaml_kind;

typedef struct yaml_node {
    yaml_kind kind;
    mark at;
    char *key; /* of this value in its mapping, or NULL */
    mark key_at;
    char *text; /* scalars: never NULL */
    bool quoted;
    size_t count; /* children of lists and mappings */
    struct yaml_node **items;
} yaml_node;

/* The tree is owned by the caller; its marks borrow `text`. Text without any value gives NULL and
 * FIRN_OK. */
firn_status yaml_parse(const source *text, yaml_node **root);

yaml_node *yaml_create(yaml_kind kind, mark at);
yaml_node *yaml_copy(const yaml_node *node);
void yaml_destroy(yaml_node **node);

/* The value of a key, or NULL. */
yaml_node *yaml_find(const yaml_node *mapping, const char *key);

/* Takes ownership of `item`. */
void yaml_append(yaml_node *parent, yaml_node *item);
void yaml_remove(yaml_node *parent, size_t index);

/* "a list", "the text 'abc'", "nothing"; owned by the caller. */
char *yaml_describe(const yaml_node *node);
bool yaml_is_null(const yaml_node *node);

#endif
