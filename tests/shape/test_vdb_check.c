/* VDB files that are whole, cut short or changed: OpenVDB sees only the first. */
#include "shape/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "io/vdb.h"
#include "io/vdb_check.h"

static const char *const names[] = {"level_set_blosc", "fog_tiles", "half_zip", "plain"};
enum { FILES = sizeof names / sizeof *names };

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, SOURCE_DIR "/tests/shape/corpus/vdb/%s.vdb", name);
    return path;
}

static input open_file(const char *name)
{
    input in;
    assert_int_equal(input_open(path_of(name), &in), FIRN_OK);
    return in;
}

static void test_whole(void **state)
{
    (void)state;
    for (int k = 0; k < FILES; k++) {
        input in = open_file(names[k]);
        if (vdb_check(names[k], in.data, in.size) != FIRN_OK)
            fail_msg("%s", firn_last_error());
        input_close(&in);
        vdb_source grid;
        if (vdb_read(path_of(names[k]), NULL, 0.5, &grid) != FIRN_OK)
            fail_msg("%s", firn_last_error());
        assert_true(grid.is_level_set ? grid.blocks.leaf_count > 0 : grid.mesh.triangle_count > 0);
        vdb_source_clear(&grid);
    }
}

static void test_cut(void **state)
{
    (void)state;
    for (int k = 0; k < FILES; k++) {
        input in = open_file(names[k]);
        for (size_t size = 0; size < in.size; size += 1 + size / 64) {
            assert_int_equal(vdb_check("cut.vdb", in.data, size), FIRN_BAD_SCENE);
            assert_non_null(strstr(firn_last_error(), "cut.vdb"));
        }
        input_close(&in);
    }
}

/* Every byte before the masks of the first node, which is all that sizes and counts have, with all its bits
 * turned over: seen, or of no matter to where things are. Never a look beyond the file, which a copy in
 * memory of its own size lets a sanitizer see. */
static void test_changed(void **state)
{
    (void)state;
    size_t seen = 0, all = 0;
    for (int k = 0; k < FILES; k++) {
        input in = open_file(names[k]);
        char *copy = malloc(in.size);
        assert_non_null(copy);
        memcpy(copy, in.data, in.size);
        for (size_t at = 0; at < in.size; at += at < 2000 ? 1 : 37) {
            copy[at] = (char)~copy[at];
            seen += vdb_check("changed.vdb", copy, in.size) != FIRN_OK;
            all++;
            copy[at] = (char)~copy[at];
        }
        free(copy);
        input_close(&in);
    }
    print_message("    of %zu changes %zu are seen\n", all, seen);
    assert_true(seen > all / 8);
}

/* A file with `size` bytes at `at` replaced is refused with these words. */
static void refuse(const char *name, size_t at, const void *bytes, size_t size, const char *words)
{
    input in = open_file(name);
    char *copy = malloc(in.size);
    assert_non_null(copy);
    memcpy(copy, in.data, in.size);
    memcpy(copy + at, bytes, size);
    assert_int_equal(vdb_check("changed.vdb", copy, in.size), FIRN_BAD_SCENE);
    if (!strstr(firn_last_error(), words))
        fail_msg("'%s' does not say '%s'", firn_last_error(), words);
    free(copy);
    input_close(&in);
}

static size_t find(const char *name, const char *word)
{
    input in = open_file(name);
    const char *found = memmem(in.data, in.size, word, strlen(word));
    assert_non_null(found);
    size_t at = (size_t)(found - in.data);
    input_close(&in);
    return at;
}

static void test_words(void **state)
{
    (void)state;
    const uint32_t much = 0xfffffff0u, old = 200;
    const char *name = "plain", *float_type = "Tree_float_5_4_3";
    refuse(name, 0, "no", 2, "not a VDB file");
    refuse(name, 8, &old, sizeof old, "VDB format 200; 222 to 224");
    refuse(name, 20, "", 1, "no table of grids");
    refuse(name, 57, &much, sizeof much, "ends too early");
    size_t type = find(name, float_type), offsets = type + strlen(float_type) + 4;
    refuse(name, type - 4, &much, sizeof much, "ends too early");
    refuse(name, offsets, &much, sizeof much, "lies outside");
    refuse(name, offsets + 24, &much, sizeof much, "unknown way");
    refuse(name, find(name, "UniformScale"), "x", 1, "transform");
    const uint8_t all_on = 0xff;
    refuse("half_zip", find("half_zip", "bool") + 8, &all_on, 1, "yes nor no");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
