#include "scene/yaml.h"

#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

/* ---- The tree -------------------------------------------------------------------------------- */

yaml_node *yaml_create(yaml_kind kind, mark at)
{
    yaml_node *node = allocate(1, sizeof *node);
    node->kind = kind;
    node->at = node->key_at = at;
    return node;
}

void yaml_destroy(yaml_node **node)
{
    if (!*node)
        return;
    for (size_t i = 0; i < (*node)->count; i++)
        yaml_destroy(&(*node)->items[i]);
    free((*node)->items);
    free((*node)->key);
    free((*node)->text);
    free(*node);
    *node = NULL;
}

void yaml_append(yaml_node *parent, yaml_node *item)
{
    bool full = (parent->count & (parent->count - 1)) == 0; /* 0, 1, 2, 4, 8, ... */
    if (full) {
        size_t room = parent->count ? 2 * parent->count : 1;
        parent->items = realloc(parent->items, room * sizeof *parent->items);
        if (!parent->items)
            abort();
    }
    parent->items[parent->count++] = item;
}

void yaml_remove(yaml_node *parent, size_t index)
{
    yaml_destroy(&parent->items[index]);
    parent->count--;
    for (size_t i = index; i < parent->count; i++)
        parent->items[i] = parent->items[i + 1];
}

yaml_node *yaml_copy(const yaml_node *node)
{
    yaml_node *copy = yaml_create(node->kind, node->at);
    copy->key = node->key ? text_copy(node->key) : NULL;
    copy->key_at = node->key_at;
    copy->text = node->text ? text_copy(node->text) : NULL;
    copy->quoted = node->quoted;
    for (size_t i = 0; i < node->count; i++)
        yaml_append(copy, yaml_copy(node->items[i]));
    return copy;
}

yaml_node *yaml_find(const yaml_node *mapping, const char *key)
{
    for (size_t i = 0; i < mapping->count; i++)
        if (mapping->items[i]->key && strcmp(mapping->items[i]->key, key) == 0)
            return mapping->items[i];
    return NULL;
}

bool yaml_is_null(const yaml_node *node)
{
    return node->kind == YAML_SCALAR && !node->quoted &&
           (!*node->text || strcmp(node->text, "~") == 0 || strcasecmp(node->text, "null") == 0);
}

char *yaml_describe(const yaml_node *node)
{
    if (node->kind == YAML_LIST)
        return text_copy("a list");
    if (node->kind == YAML_MAPPING)
        return text_copy("a mapping");
    if (yaml_is_null(node))
        return text_copy("nothing");
    char *shown = printable(node->text);
    char *text = text_format(node->quoted ? "the text \"%s\"" : "'%s'", shown);
    free(shown);
    return text;
}

/* ---- Building it from events ----------------------------------------------------------------- */

typedef struct builder {
    const source *source;
    struct fy_parser *parser;
    yaml_node *root;
    yaml_node *open[YAML_MAX_DEPTH]; /* lists and mappings that have not ended; borrowed */
    char *open_anchor[YAML_MAX_DEPTH];
    int depth;
    char *key; /* read, its value still to come */
    mark key_at;
    size_t node_count;
    size_t anchor_count;
    struct {
        char *name;
        const yaml_node *node; /* borrowed from the tree */
    } * anchors;
} builder;

static char *token_text(struct fy_token *token)
{
    size_t length = 0;
    const char *text = token ? fy_token_get_text(token, &length) : NULL;
    return text ? text_format("%.*s", (int)length, text) : NULL;
}

/* Tokens of quoted text and aliases begin after their first character. */
static int marked_late(struct fy_event *event)
{
    if (event->type == FYET_ALIAS)
        return 1;
    struct fy_token *token = event->type == FYET_SCALAR ? event->scalar.value : NULL;
    enum fy_scalar_style style = token ? fy_token_scalar_style(token) : FYSS_PLAIN;
    return style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
}

static mark event_mark(const builder *b, struct fy_event *event)
{
    const struct fy_mark *start = fy_event_start_mark(event);
    if (!start)
        return b->key ? b->key_at : (mark){b->source, 1, 1};
    int column = start->column + 1 - marked_late(event);
    return (mark){b->source, start->line + 1, column > 0 ? column : 1};
}

static void remember_anchor(builder *b, char *name, const yaml_node *node)
{
    b->anchors = realloc(b->anchors, (b->anchor_count + 1) * sizeof *b->anchors);
    if (!b->anchors)
        abort();
    b->anchors[b->anchor_count].name = name;
    b->anchors[b->anchor_count++].node = node;
}

static size_t tree_size(const yaml_node *node)
{
    size_t size = 1;
    for (size_t i = 0; i < node->count; i++)
        size += tree_size(node->items[i]);
    return size;
}

static int tree_height(const yaml_node *node)
{
    int height = 0;
    for (size_t i = 0; i < node->count; i++) {
        int below = tree_height(node->items[i]);
        height = below > height ? below : height;
    }
    return height + 1;
}

/* Put a finished scalar, or a list or mapping that just began, in its place. Takes ownership. */
static void place(builder *b, yaml_node *node)
{
    yaml_node *parent = b->depth ? b->open[b->depth - 1] : NULL;
    if (!parent) {
        b->root = node;
        return;
    }
    if (parent->kind == YAML_MAPPING) {
        free(node->key);
        node->key = b->key;
        node->key_at = b->key_at;
        b->key = NULL;
    }
    yaml_append(parent, node);
}

static bool key_is_next(const builder *b)
{
    return b->depth && b->open[b->depth - 1]->kind == YAML_MAPPING && !b->key;
}

static firn_status take_key(builder *b, struct fy_event *event)
{
    mark at = event_mark(b, event);
    char *key = event->type == FYET_SCALAR ? token_text(event->scalar.value) : NULL;
    if (!key || !*key) {
        free(key);
        return fail_at(at, "a key must be a plain word");
    }
    if (b->open[b->depth - 1]->count == YAML_MAX_KEYS) {
        free(key);
        return fail_at(at, "more than %d keys in one mapping", YAML_MAX_KEYS);
    }
    const yaml_node *twin = yaml_find(b->open[b->depth - 1], key);
    if (twin) {
        char *where = mark_where(twin->key_at), *shown = printable(key);
        fail_at(at, "key '%s' appears twice; the first is at %s", shown, where);
        free(shown);
        free(where);
        free(key);
        return FIRN_BAD_SCENE;
    }
    b->key = key;
    b->key_at = at;
    return FIRN_OK;
}

static void take_scalar(builder *b, struct fy_event *event)
{
    yaml_node *node = yaml_create(YAML_SCALAR, event_mark(b, event));
    node->text = token_text(event->scalar.value);
    if (!node->text)
        node->text = text_copy("");
    node->quoted = event->scalar.value && fy_token_scalar_style(event->scalar.value) != FYSS_PLAIN;
    char *anchor = token_text(event->scalar.anchor);
    if (anchor)
        remember_anchor(b, anchor, node);
    place(b, node);
}

static firn_status take_alias(builder *b, struct fy_event *event)
{
    mark at = event_mark(b, event);
    char *name = token_text(event->alias.anchor);
    const yaml_node *node = NULL;
    for (size_t i = 0; name && i < b->anchor_count; i++)
        if (strcmp(b->anchors[i].name, name) == 0)
            node = b->anchors[i].node; /* the last one of that name */
    firn_status status = FIRN_OK;
    if (!node) {
        char *shown = printable(name ? name : "");
        status = fail_at(at, "alias '*%s' has no anchor '&%s' before it", shown, shown);
        free(shown);
    } else if (tree_height(node) + b->depth > YAML_MAX_DEPTH) {
        status = fail_at(at, "nested more than %d deep", YAML_MAX_DEPTH);
    } else if ((b->node_count += tree_size(node)) > YAML_MAX_NODES) {
        status = fail_at(at, "more than %d values once aliases are expanded", YAML_MAX_NODES);
    } else {
        place(b, yaml_copy(node));
    }
    free(name);
    return status;
}

static firn_status begin(builder *b, struct fy_event *event, yaml_kind kind,
                         struct fy_token *anchor)
{
    mark at = event_mark(b, event);
    if (b->depth == YAML_MAX_DEPTH)
        return fail_at(at, "nested more than %d deep", YAML_MAX_DEPTH);
    yaml_node *node = yaml_create(kind, at);
    place(b, node);
    b->open_anchor[b->depth] = token_text(anchor);
    b->open[b->depth++] = node;
    return FIRN_OK;
}

/* An anchor counts from the end of its node on, so that no alias can stand inside its own node. */
static void end(builder *b)
{
    b->depth--;
    if (b->open_anchor[b->depth])
        remember_anchor(b, b->open_anchor[b->depth], b->open[b->depth]);
    b->open_anchor[b->depth] = NULL;
}

static firn_status take_event(builder *b, struct fy_event *event)
{
    bool is_value = event->type == FYET_SCALAR || event->type == FYET_ALIAS ||
                    event->type == FYET_SEQUENCE_START || event->type == FYET_MAPPING_START;
    if (is_value && key_is_next(b))
        return take_key(b, event);
    if (is_value && ++b->node_count > YAML_MAX_NODES)
        return fail_at(event_mark(b, event), "more than %d values", YAML_MAX_NODES);
    switch (event->type) {
    case FYET_DOCUMENT_START:
        if (b->root)
            return fail_at(event_mark(b, event), "a scene is one document; a second begins here");
        return FIRN_OK;
    case FYET_SCALAR:
        take_scalar(b, event);
        return FIRN_OK;
    case FYET_ALIAS:
        return take_alias(b, event);
    case FYET_SEQUENCE_START:
        return begin(b, event, YAML_LIST, event->sequence_start.anchor);
    case FYET_MAPPING_START:
        return begin(b, event, YAML_MAPPING, event->mapping_start.anchor);
    case FYET_SEQUENCE_END:
    case FYET_MAPPING_END:
        end(b);
        return FIRN_OK;
    default:
        return FIRN_OK;
    }
}

static void discard_output(struct fy_diag *diag, void *user, const char *text, size_t length)
{
    (void)diag, (void)user, (void)text, (void)length;
}

static firn_status fail_syntax(const source *text, struct fy_diag *diag)
{
    void *previous = NULL;
    struct fy_diag_error *error = fy_diag_errors_iterate(diag, &previous);
    if (!error)
        return fail_at((mark){text, 1, 1}, "this is not YAML");
    mark at = {text, error->line > 0 ? error->line : 1, error->column > 0 ? error->column : 1};
    char *message = text_copy(error->msg ? error->msg : "this is not YAML");
    message[strcspn(message, "\n")] = '\0';
    fail_at(at, "YAML syntax: %s", message);
    free(message);
    return FIRN_BAD_SCENE;
}

static firn_status take_all_events(builder *b, struct fy_diag *diag)
{
    firn_status status = FIRN_OK;
    bool ended = false;
    struct fy_event *event;
    while (status == FIRN_OK && !ended && (event = fy_parser_parse(b->parser))) {
        ended = event->type == FYET_STREAM_END;
        status = take_event(b, event);
        fy_parser_event_free(b->parser, event);
    }
    if (status == FIRN_OK && (!ended || fy_parser_get_stream_error(b->parser)))
        status = fail_syntax(b->source, diag);
    return status;
}

/* The first byte that is not text (UTF-8 without control characters), or NULL. */
static const char *first_bad_byte(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int more = *c < 0x80                 ? 0
                   : *c >= 0xC2 && *c < 0xE0 ? 1
                   : *c >= 0xE0 && *c < 0xF0 ? 2
                   : *c >= 0xF0 && *c < 0xF5 ? 3
                                             : -1;
        if (more < 0 || *c == 0x7F || (*c < 0x20 && *c != '\t' && *c != '\n' && *c != '\r'))
            return (const char *)c;
        const unsigned char *start = c++;
        for (; more; more--, c++)
            if ((*c & 0xC0) != 0x80)
                return (const char *)start;
    }
    return NULL;
}

static firn_status check_is_text(const source *text)
{
    const char *bad = first_bad_byte(text->text);
    if (!bad)
        return FIRN_OK;
    mark at = {text, 1, 1};
    for (const char *c = text->text; c < bad; c++) {
        at.column += ((unsigned char)*c & 0xC0) != 0x80;
        if (*c == '\n') {
            at.line++;
            at.column = 1;
        }
    }
    return fail_at(at, "byte 0x%02X: this is not a text file", (unsigned char)*bad);
}

firn_status yaml_parse(const source *text, yaml_node **root)
{
    *root = NULL;
    firn_status status = check_is_text(text);
    if (status != FIRN_OK)
        return status;
    struct fy_diag_cfg diag_cfg = {
        .output_fn = discard_output, .level = FYET_ERROR, .module_mask = ~0u};
    struct fy_diag *diag = fy_diag_create(&diag_cfg);
    if (!diag)
        return fail(FIRN_NO_MEMORY, "%s: no memory for the parser", text->name);
    fy_diag_set_collect_errors(diag, true);
    struct fy_parse_cfg cfg = {.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_JSON_NONE,
                               .diag = diag};
    builder b = {.source = text, .parser = fy_parser_create(&cfg)};
    if (!b.parser || fy_parser_set_string(b.parser, text->text, strlen(text->text)) != 0)
        status = fail(FIRN_NO_MEMORY, "%s: no memory for the parser", text->name);
    else
        status = take_all_events(&b, diag);

    while (b.depth)
        free(b.open_anchor[--b.depth]);
    for (size_t i = 0; i < b.anchor_count; i++)
        free(b.anchors[i].name);
    free(b.anchors);
    free(b.key);
    fy_diag_reset_error(diag); /* the collected errors hold tokens of the parser */
    if (b.parser)
        fy_parser_destroy(b.parser);
    fy_diag_unref(diag);
    if (status != FIRN_OK)
        yaml_destroy(&b.root);
    *root = b.root;
    return status;
}
