/*
 * The committed reference and schema are what the code writes; every committed scene parses.
 * `test_scene_reference --write` brings the committed files up to date.
 */
#include <dirent.h>

#include "scene_test.h"

static const struct {
    const char *path;
    void (*write)(FILE *out);
} pages[] = {
    {SOURCE_DIR "/docs/scene.md", firn_scene_write_reference},
    {SOURCE_DIR "/docs/scene.schema.json", firn_scene_write_schema},
};

static char *rest_of(FILE *file)
{
    char *text = calloc(1, 1 << 20);
    size_t length = fread(text, 1, (1 << 20) - 1, file);
    assert_true(length > 0);
    fclose(file);
    return text;
}

static char *written(void (*write)(FILE *))
{
    FILE *out = tmpfile();
    assert_non_null(out);
    write(out);
    rewind(out);
    return rest_of(out);
}

static char *committed(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        print_error("%s is missing; run test_scene_reference --write\n", path);
    assert_non_null(file);
    return rest_of(file);
}

static void test_committed_pages(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        char *now = written(pages[i].write), *then = committed(pages[i].path);
        if (strcmp(now, then) != 0)
            print_error("%s is out of date; run test_scene_reference --write\n", pages[i].path);
        assert_string_equal(now, then);
        free(now);
        free(then);
    }
}

static void test_committed_scenes(void **state)
{
    (void)state;
    DIR *folder = opendir(SOURCE_DIR "/scenes");
    assert_non_null(folder);
    int seen = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".yaml") != 0)
            continue;
        char path[1024];
        snprintf(path, sizeof path, SOURCE_DIR "/scenes/%s", entry->d_name);
        firn_scene *scene;
        firn_status status = firn_scene_load(path, NULL, 0, &scene);
        if (status != FIRN_OK)
            print_error("%s\n", firn_last_error());
        assert_int_equal(status, FIRN_OK);
        assert_true(firn_scene_object_count(scene) > 0);
        firn_scene_destroy(&scene);
        seen++;
    }
    closedir(folder);
    assert_true(seen >= 3);
}

/* The example that the design gives, as it stands. */
static void test_design_example(void **state)
{
    (void)state;
    firn_scene *scene;
    firn_status status =
        firn_scene_load(SOURCE_DIR "/tests/scene/corpus/example.yaml", NULL, 0, &scene);
    if (status != FIRN_OK)
        print_error("%s\n", firn_last_error());
    assert_int_equal(status, FIRN_OK);
    assert_string_equal(firn_scene_name(scene), "snowball drop");
    assert_string_equal(scene->materials[scene->snow[0].material].name, "packed");
    assert_near(scene->snow[0].velocity[1], -3, 0);
    assert_near(scene->colliders[0].body.friction, 0.4, 0);
    firn_scene_destroy(&scene);
}

/* The example in the page is a scene too. */
static void test_example(void **state)
{
    (void)state;
    char *page = written(firn_scene_write_reference);
    char *start = strstr(page, "```yaml\n") + 8;
    *strstr(start, "```") = '\0';
    firn_scene *scene = parse(start, NULL);
    assert_int_equal(firn_scene_object_count(scene), 2);
    assert_string_equal(firn_scene_name(scene), "snowball drop");
    firn_scene_destroy(&scene);
    free(page);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--write") == 0) {
        for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
            FILE *out = fopen(pages[i].path, "w");
            if (!out)
                return perror(pages[i].path), 1;
            pages[i].write(out);
            fclose(out);
        }
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_committed_pages),
        cmocka_unit_test(test_committed_scenes),
        cmocka_unit_test(test_design_example),
        cmocka_unit_test(test_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
