#include "io/vdb_check.h"

#include <stdlib.h>
#include <string.h>

#include "shape/array.h"
#include "status.h"

enum {
    FORMAT_OLDEST = 222, /* the first with masks of active values in every node */
    FORMAT_NEWEST = 224,
    COMPRESS_ZIP = 1,
    COMPRESS_ACTIVE = 2, /* values of inactive places are left out */
    COMPRESS_BLOSC = 4,
    ALL_VALUES = 6, /* of the kinds of buffers: none is left out after all */
    ROOT_WIDTH = 4096,
    LEAF_VALUES = 512,
};

typedef struct span {
    const uint8_t *data;
    size_t size;
} span;

typedef struct walk {
    const char *name;
    const uint8_t *data;
    size_t size, at;
    bool broken;  /* and a message was left */
    span *floats; /* names of grids of floats so far; owned */
    size_t float_count, float_capacity;
    /* Of the grid at hand. */
    uint32_t compression;
    bool is_half, is_level_set;
    double tile_voxels;     /* active ones that are not in leaves */
    const uint8_t **leaves; /* masks of active values in file order; owned */
    size_t leaf_count, leaf_capacity;
} walk;

static void broken(walk *w, const char *what)
{
    if (!w->broken)
        fail(FIRN_BAD_SCENE, "%s: a damaged VDB file: %s (byte %zu of %zu)", w->name, what, w->at,
             w->size);
    w->broken = true;
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

/* The next bytes, or NULL. */
static const uint8_t *take(walk *w, uint64_t bytes)
{
    if (!w->broken && bytes > w->size - w->at)
        broken(w, "it ends too early");
    if (w->broken)
        return NULL;
    const uint8_t *here = w->data + w->at;
    w->at += bytes;
    return here;
}

/* A number of so many bytes, least first, as the machines that Firn runs on have them; 0 when broken. */
static uint64_t number(walk *w, size_t bytes)
{
    uint64_t value = 0;
    const uint8_t *from = take(w, bytes);
    if (from)
        memcpy(&value, from, bytes);
    return value;
}

static int32_t integer(walk *w)
{
    return (int32_t)(uint32_t)number(w, 4);
}

static span text(walk *w)
{
    size_t size = number(w, 4);
    return (span){take(w, size), size};
}

static bool is_text(span s, const char *other)
{
    return s.data && s.size == strlen(other) && memcmp(s.data, other, s.size) == 0;
}

static size_t bits_on(const uint8_t *mask, size_t count)
{
    size_t on = 0;
    for (size_t k = 0; k < count / 8; k++)
        on += (size_t)__builtin_popcount(mask[k]);
    return on;
}

/* ---- Metadata and transform ------------------------------------------------------------------ */

/* Size of a value, for types that do not ask the file for it. */
static size_t size_of_type(span type)
{
    static const struct {
        const char *name;
        size_t size;
    } types[] = {{"bool", 1},   {"int32", 4},  {"int64", 8},  {"float", 4},
                 {"double", 8}, {"vec2i", 8},  {"vec2s", 8},  {"vec2d", 16},
                 {"vec3i", 12}, {"vec3s", 12}, {"vec3d", 24}, {"vec4i", 16},
                 {"vec4s", 16}, {"vec4d", 32}, {"mat4s", 64}, {"mat4d", 128}};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        if (is_text(type, types[k].name))
            return types[k].size;
    return 0;
}

static void check_metadata(walk *w)
{
    w->is_half = w->is_level_set = false;
    for (uint64_t left = number(w, 4); left > 0 && !w->broken; left--) {
        span name = text(w), type = text(w);
        size_t size = number(w, 4), expected = size_of_type(type);
        const uint8_t *value = take(w, size);
        if (expected && size != expected)
            broken(w, "a value has not the size of its type");
        if (!w->broken && is_text(name, "is_saved_as_half_float")) {
            if (!is_text(type, "bool") || *value > 1)
                broken(w, "whether numbers are halves is neither yes nor no");
            w->is_half = !w->broken && *value;
        }
        if (is_text(name, "class") && is_text(type, "string"))
            w->is_level_set = is_text((span){value, size}, "level set");
    }
}

/* Bytes of a linear map, or 0. */
static size_t size_of_map(span type)
{
    static const struct {
        const char *name;
        size_t vectors;
    } maps[] = {{"UniformScaleMap", 5},
                {"UniformScaleTranslateMap", 6},
                {"ScaleMap", 5},
                {"ScaleTranslateMap", 6},
                {"TranslationMap", 1}};
    for (size_t k = 0; k < sizeof maps / sizeof *maps; k++)
        if (is_text(type, maps[k].name))
            return maps[k].vectors * sizeof(double[3]);
    return is_text(type, "AffineMap") || is_text(type, "UnitaryMap") ? sizeof(double[4][4]) : 0;
}

static void check_transform(walk *w)
{
    span type = text(w);
    if (is_text(type, "NonlinearFrustumMap")) {
        take(w, sizeof(double[8])); /* box, taper, depth */
        type = text(w);
    }
    size_t size = size_of_map(type);
    if (!size)
        broken(w, "its transform is of an unknown kind");
    take(w, size);
}

/* ---- Tree ------------------------------------------------------------------------------------ */

/* The header of what Blosc packed: it trusts the sizes in there. */
static bool is_blosc(const uint8_t *packed, uint64_t packed_size, size_t size)
{
    uint32_t sizes[3]; /* of values, of a block of them, packed */
    if (packed_size < 4 + sizeof sizes)
        return false;
    memcpy(sizes, packed + 4, sizeof sizes);
    size_t largest_block = size > 0 ? size : 1;
    return sizes[0] == size && sizes[1] > 0 && sizes[1] <= largest_block &&
           sizes[2] == packed_size && packed[3] > 0;
}

/* So many bytes of values, packed or not. */
static void check_data(walk *w, size_t size)
{
    if (!(w->compression & (COMPRESS_ZIP | COMPRESS_BLOSC))) {
        take(w, size);
        return;
    }
    int64_t packed_size = (int64_t)number(w, 8);
    if (packed_size <= 0) { /* not worth packing */
        if (packed_size != -(int64_t)size)
            broken(w, "a buffer has not the size of its node");
        take(w, size);
        return;
    }
    const uint8_t *packed = take(w, (uint64_t)packed_size);
    if (packed && (w->compression & COMPRESS_BLOSC) &&
        !is_blosc(packed, (uint64_t)packed_size, size))
        broken(w, "a packed buffer has not the size of its node");
}

/* The values of a node of `count`, of which those in the mask are active. */
static void check_values(walk *w, const uint8_t *active, size_t count)
{
    static const uint8_t inactive_values[] = {0, 0, 1, 0, 1, 2, 0};
    size_t kind = number(w, 1);
    if (kind > ALL_VALUES) {
        broken(w, "a buffer is of an unknown kind");
        return;
    }
    take(w, inactive_values[kind] * sizeof(float));
    if (kind >= 3 && kind <= 5) /* which of the two inactive values */
        take(w, count / 8);
    bool leaves_out = (w->compression & COMPRESS_ACTIVE) && kind != ALL_VALUES;
    size_t stored = leaves_out ? bits_on(active, count) : count;
    if (stored > 0 || !w->is_half)
        check_data(w, stored * (w->is_half ? 2 : sizeof(float)));
}

static void note_leaf(walk *w)
{
    const uint8_t *active = take(w, LEAF_VALUES / 8);
    if (!active)
        return;
    if (array_grow(&w->leaves, &w->leaf_capacity, w->leaf_count, sizeof *w->leaves))
        w->leaves[w->leaf_count++] = active;
    else
        broken(w, "not enough memory to look at all of its leaves");
}

/* A node above leaves (height 1) or above such nodes (2). */
static void check_node(walk *w, int height)
{
    const size_t count = height == 2 ? 32 * 32 * 32 : 16 * 16 * 16;
    const double tile_voxels = height == 2 ? 128.0 * 128 * 128 : LEAF_VALUES;
    const uint8_t *children = take(w, count / 8), *active = take(w, count / 8);
    if (w->broken)
        return;
    for (size_t k = 0; k < count / 8; k++)
        if (children[k] & active[k])
            broken(w, "a place in the tree is both a value and a branch");
    w->tile_voxels += tile_voxels * (double)bits_on(active, count);
    check_values(w, active, count);
    for (size_t k = 0; k < count && !w->broken; k++)
        if (children[k / 8] >> k % 8 & 1) {
            if (height == 2)
                check_node(w, 1);
            else
                note_leaf(w);
        }
}

/* Where a branch of the root is. Coordinates must leave room to count from one end to the other. */
static void check_place(walk *w, int32_t place[3])
{
    for (int i = 0; i < 3; i++) {
        place[i] = integer(w);
        if (place[i] % ROOT_WIDTH != 0 || abs(place[i] / 2) > 1 << 28)
            broken(w, "a branch is where none can be");
    }
}

static bool comes_after(const int32_t place[3], const int32_t last[3])
{
    for (int i = 0; i < 3; i++)
        if (place[i] != last[i])
            return place[i] > last[i];
    return false;
}

static void check_root(walk *w)
{
    if (number(w, 4) != 1)
        broken(w, "its tree has other than one buffer");
    take(w, sizeof(float)); /* background */
    uint64_t tiles = number(w, 4), children = number(w, 4);
    int32_t place[3], last[3] = {INT32_MIN, 0, 0};
    for (; tiles > 0 && !w->broken; tiles--) {
        check_place(w, place);
        take(w, sizeof(float));
        uint64_t active = number(w, 1);
        if (active > 1)
            broken(w, "whether a value is active is neither yes nor no");
        w->tile_voxels += active ? (double)ROOT_WIDTH * ROOT_WIDTH * ROOT_WIDTH : 0;
    }
    for (; children > 0 && !w->broken; children--) {
        check_place(w, place);
        if (!comes_after(place, last))
            broken(w, "branches are not in order");
        memcpy(last, place, sizeof last);
        check_node(w, 2);
    }
}

static void check_tree(walk *w)
{
    w->tile_voxels = 0;
    w->leaf_count = 0;
    check_root(w);
    for (size_t k = 0; k < w->leaf_count && !w->broken; k++) {
        take(w, LEAF_VALUES / 8); /* the mask once more */
        check_values(w, w->leaves[k], LEAF_VALUES);
    }
    /* Level sets have none by their rules; in volumes what is uniform may be large. */
    const double most = w->is_level_set ? 0x1p24 : 0x1p31;
    if (w->tile_voxels > most)
        broken(w, "its uniform regions are larger than any body");
}

/* ---- The file -------------------------------------------------------------------------------- */

static void check_header(walk *w)
{
    static const uint8_t magic[8] = {' ', 'B', 'D', 'V'};
    const size_t identity = 36;
    const uint8_t *start = take(w, sizeof magic);
    if (!start || memcmp(start, magic, sizeof magic) != 0) {
        fail(FIRN_BAD_SCENE, "%s: not a VDB file", w->name);
        w->broken = true;
        return;
    }
    uint64_t format = number(w, 4);
    take(w, 2 * sizeof(uint32_t)); /* version of the library */
    uint64_t has_offsets = number(w, 1);
    take(w, identity);
    if (!w->broken && (format < FORMAT_OLDEST || format > FORMAT_NEWEST)) {
        fail(FIRN_BAD_SCENE,
             "%s: VDB format %u; %d to %d can be read: write it again with a current "
             "program",
             w->name, (unsigned)format, FORMAT_OLDEST, FORMAT_NEWEST);
        w->broken = true;
    }
    if (!has_offsets)
        broken(w, "it has no table of grids, as if it was streamed: write it to a file");
}

/* A grid that shares the tree of another needs that one among those checked. */
static void check_sharing(walk *w, span parent)
{
    bool found = false;
    for (size_t k = 0; k < w->float_count && !found; k++)
        found = w->floats[k].size == parent.size &&
                memcmp(w->floats[k].data, parent.data, parent.size) == 0;
    if (!found)
        broken(w, "a grid shares the values of one that is not there");
}

static void check_grid(walk *w)
{
    span name = text(w), type = text(w), parent = text(w);
    uint64_t begin = number(w, 8), blocks = number(w, 8), end = number(w, 8);
    if (!w->broken && (begin < w->at || blocks < begin || end < blocks || end > w->size))
        broken(w, "a grid lies outside of it");
    if (w->broken)
        return;
    bool is_float =
        is_text(type, "Tree_float_5_4_3") || is_text(type, "Tree_float_5_4_3_HalfFloat");
    w->at = begin;
    w->compression = (uint32_t)number(w, 4);
    if (w->compression > (COMPRESS_ZIP | COMPRESS_ACTIVE | COMPRESS_BLOSC))
        broken(w, "a grid is packed in an unknown way");
    check_metadata(w);
    check_transform(w);
    if (is_float && parent.size > 0)
        check_sharing(w, parent);
    else if (is_float)
        check_tree(w);
    if (w->at > end)
        broken(w, "a grid is longer than it says");
    w->at = end;
    if (is_float && !array_grow(&w->floats, &w->float_capacity, w->float_count, sizeof *w->floats))
        broken(w, "not enough memory to look at all of its grids");
    else if (is_float)
        w->floats[w->float_count++] = name;
}

firn_status vdb_check(const char *name, const void *data, size_t size)
{
    walk w = {.name = name, .data = data, .size = size};
    check_header(&w);
    check_metadata(&w);
    for (uint64_t left = number(&w, 4); left > 0 && !w.broken; left--)
        check_grid(&w);
    free(w.leaves);
    free(w.floats);
    return w.broken ? FIRN_BAD_SCENE : FIRN_OK;
}
