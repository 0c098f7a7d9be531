/*
 * Everything that a scene file may say, as tables: one per mapping, one row per key. The parser,
 * the defaults, `--set`, the fingerprint, the checks of `firn check`, the JSON schema and the
 * reference page all read these rows; nothing about a key is written anywhere else.
 */
#ifndef FIRN_SCENE_OPTIONS_H
#define FIRN_SCENE_OPTIONS_H

#include "scene/model.h"
#include "scene/yaml.h"

typedef enum option_type {
    OPTION_INTEGER,   /* int */
    OPTION_SEED,      /* uint64_t */
    OPTION_REAL,      /* double */
    OPTION_BOOLEAN,   /* bool */
    OPTION_TEXT,      /* char *, owned */
    OPTION_LINES,     /* likewise, of one or more lines */
    OPTION_FILE,      /* char *, owned: a path, made relative to the scene's own folder */
    OPTION_CHOICE,    /* an enum: the index of the word in `choices` */
    OPTION_CHOICES,   /* unsigned: a list of words, bit n set for choices[n] */
    OPTION_POINT,     /* double[3]; in 2D two entries are enough, the third is then 0 */
    OPTION_VECTOR,    /* likewise, and in 2D the third must be 0 */
    OPTION_DIRECTION, /* a vector that is not zero */
    OPTION_SIZE,      /* double[3], all above 0; a third missing in 2D is without end */
    OPTION_COLOUR,    /* double[3]: linear red, green, blue; one number is a grey */
    OPTION_GROUP, /* a mapping by `table`, into the struct at `offset`; one that may be absent has a
                         size_t at `count_offset`, which tells */
    OPTION_LIST,  /* a list of mappings: an owned array at `offset`, its length at `count_offset` */
    OPTION_NAMED, /* a mapping of names to mappings, stored like a list */
    OPTION_PRESET,   /* a preset's word, which fills the scene_material that is read */
    OPTION_MATERIAL, /* the name of a material: size_t, its index in the scene */
    OPTION_SHAPE,    /* shape *, owned */
    OPTION_SHAPES,   /* a list of shapes, combined; read by shapes.c */
} option_type;

typedef struct option_table option_table;

typedef struct option {
    const char *name;
    option_type type;
    size_t offset; /* of the value in the struct that the table fills */
    size_t count_offset;
    bool required;
    bool alternative;     /* exactly one of those so marked is required */
    bool physics;         /* whether it enters the fingerprint */
    const char *fallback; /* default, as YAML; NULL: required, or as `help` says */
    const char *unit;
    double low, high;           /* allowed; of each entry for vectors */
    bool open_low;              /* `low` itself is not allowed */
    double usual[2];            /* outside of this `firn check` warns; both 0 = no opinion */
    const char *caution;        /* what happens outside of `usual` */
    const char *word;           /* OPTION_REAL: may also be this word, which stands for 0 */
    const char *const *choices; /* NULL at the end */
    const option_table *table;
    const char *help; /* NULL: that of the table */
} option;

struct option_table {
    const char *title;
    const char *help;
    const option *options;
    size_t count;
    const char
        *shorthand; /* a bare word or number in place of the mapping is the value of this key */
    /* Tables of list entries: */
    size_t size;
    size_t name_offset, mark_offset; /* a char * and a scene_mark in the entry; both 0: without */
    const char *prefix;              /* of names for entries without one: prefix1, prefix2, ... */
    /* What one row cannot say: may be NULL. */
    firn_status (*check)(firn_scene *scene, const yaml_node *node, void *entry);
};

/* What the tables of shapes are read into. */
typedef struct shape_values {
    double center[3], radius, size[3], from[3], to[3], point[3], normal[3];
    double axis[3], angle, about[3], translate[3];
    double round, offset, shell, scale;
    char *file, *grid, *font, *text; /* owned */
    double file_scale, length, voxel, iso;
    double depth, bevel, line_height;
    double height_scale, thickness, base, origin[3];
    unsigned up, align;
    bool close, smooth;
} shape_values;

extern const option_table scene_table; /* fills a firn_scene */
extern const option_table simulation_table, transfer_table, integrator_table, output_table;
extern const option_table material_table, snow_table, sampling_table, collider_table;
extern const option_table emit_table, kill_table; /* options_flow.c */
extern const option_table deform_table;           /* deforms.c */
extern const option_table path_table, key_table, vary_table, ramp_table, points_table;
extern const option_table shape_table, rotate_table;
extern const option_table camera_table, render_table, light_table,
    surface_table; /* options_picture.c */

/* Every table once, outer before inner, the scene's first. */
enum { MOST_TABLES = 64 };
size_t option_tables(const option_table *tables[MOST_TABLES]);

/* Whether a key of the shape table says what the shape is, rather than where. */
bool is_shape_kind(const option *o);

/* The third entry of a size that a 2D scene leaves out: no slice in the plane notices its end. */
#define ENDLESS_DEPTH 1e9

const option *option_find(const option_table *table, const char *name);

size_t choice_count(const option *o);
const char *option_help(const option *o);

/* "above 0 and at most 10 m"; owned by the caller. */
char *option_range(const option *o);

/* The names of the rows; the array is owned by the caller, the words are not. */
const char **option_names(const option_table *table);

/* presets.c: the materials that need no definition. */
typedef struct preset {
    scene_material values; /* its name is borrowed */
    const char *help;
} preset;
extern const char *const preset_names[];     /* NULL at the end */
const preset *preset_find(const char *name); /* NULL when there is none */

/* read.c */
firn_status read_table(firn_scene *scene, const option_table *table, const yaml_node *node,
                       void *target);
firn_status read_value(firn_scene *scene, const option *o, const yaml_node *node, void *target);
firn_status fail_type(const yaml_node *node, const char *name, const char *expected);

/* A mapping with known keys only. */
firn_status check_keys(const option_table *table, const yaml_node *node);

/* shapes.c; the shape is owned by the caller. */
firn_status read_shape(firn_scene *scene, const char *name, const yaml_node *node, shape **out);

/* options_flow.c: checks what the rows of an emitter cannot say. */
firn_status read_emit(const yaml_node *node, const scene_emit *e);

/* points.c: loads the points of a snow object that names a file. */
firn_status read_points(const firn_scene *scene, const yaml_node *node, scene_snow *snow);

/* vary.c: checks what the rows of a variation cannot say. */
firn_status read_vary(firn_scene *scene, const yaml_node *node, void *entry);

/* keys.c: what the rows of a collider cannot say: friction or sticky, where it turns, its keyframes.
 * `body` is filled. */
firn_status read_collider(firn_scene *scene, const yaml_node *node, void *entry);

/* deforms.c: reads the meshes of a collider that deforms. */
firn_status read_deform(const firn_scene *scene, const yaml_node *node, scene_collider *c);

/* override.c: set `path` to the YAML value that is the text of `value`. A value of null removes the
 * key, as if it had never been written. */
firn_status override_apply(const source *value, const char *path, yaml_node *root);

/* fingerprint.c */
uint64_t scene_fingerprint(const firn_scene *scene);

#endif
