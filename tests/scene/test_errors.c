/* Every way to get a scene wrong: the status, the place, the words, and the caret. */
#include <dirent.h>
#include <unistd.h>

#include "scene_test.h"

#define SHAPE(text) "simulation: {cell_size: 0.1}\nsnow:\n  - shape: " text "\n"
#define SIMULATION(text) "simulation: {cell_size: 0.1, " text "}\n"
#define BODY(text) "simulation: {cell_size: 0.1}\ncolliders:\n  - " text "\n"

static const struct {
    const char *text;
    const char *place; /* line:column */
    const char *words[3];
} cases[] = {
    /* not a scene at all */
    {"", "1:1", {"the scene is empty"}},
    {"# a comment\n", "1:1", {"the scene is empty"}},
    {"---\n...\n", "1:1", {"the scene is empty"}},
    {"snow\n", "1:1", {"must be a mapping", "not 'snow'"}},
    {"- a\n", "1:1", {"must be a mapping", "not a list"}},
    {"name: x\x01y\n", "1:8", {"byte 0x01", "not a text file"}},
    {"name: \xff\xfe\n", "1:7", {"byte 0xFF"}},
    {"name: \xc3(\n", "1:7", {"byte 0xC3"}},
    /* YAML */
    {"simulation: {cell_size: 0.1\nsnow: 3\n", "2:5", {"YAML syntax"}},
    {"simulation:\n  cell_size: 0.1\n bad: 3\n", "3:2", {"YAML syntax", "indentation"}},
    {"simulation:\n\tcell_size: 0.1\n", "2:1", {"YAML syntax", "tab"}},
    {"a: 1\n---\nb: 2\n", "2:1", {"one document"}},
    {"? [a]\n: b\n", "1:3", {"key must be a plain word"}},
    {"a: *b\n", "1:4", {"alias '*b'"}},
    {"a: &b [*b]\n", "1:8", {"alias '*b'"}},
    {"name: a\nsimulation: {cell_size: 0.1}\nname: b\n",
     "3:1",
     {"key 'name' appears twice", "the first is at t.yaml:1:1"}},
    /* keys */
    {"simulation:\n  cellsize: 0.1\n",
     "2:3",
     {"unknown key 'cellsize' in simulation", "did you mean 'cell_size'?", "known: dimensions, "}},
    {"Snow: []\n", "1:1", {"unknown key 'Snow'", "did you mean 'snow'?"}},
    {"qqqqqqqq: 1\n", "1:1", {"unknown key 'qqqqqqqq' in scene (known: name, simulation, "}},
    {"name: x\n", "1:1", {"simulation is missing in scene"}},
    {"simulation: {fps: 24}\n", "1:13", {"cell_size is missing in simulation"}},
    {"simulation: {cell_size: 0.1}\nsnow:\n  - name: a\n", "3:5", {"shape is missing in snow"}},
    {SHAPE("{sphere: {center: [0, 1, 0]}}"), "3:21", {"radius is missing in sphere"}},
    /* types */
    {"simulation: 5\n", "1:13", {"simulation must be a mapping", "not '5'"}},
    {"simulation:\n", "1:1", {"simulation must be a mapping", "not nothing"}},
    {"simulation: {cell_size: }\n", "1:14", {"cell_size must be a number, not nothing"}},
    {"simulation: {cell_size: big}\n", "1:25", {"cell_size must be a number, not 'big'"}},
    {"simulation: {cell_size: '0.1'}\n", "1:25", {"must be a number, not the text \"0.1\""}},
    {"simulation: {cell_size: [0.1]}\n", "1:25", {"must be a number, not a list"}},
    {"simulation: {cell_size: 0.1.2}\n", "1:25", {"must be a plain number", "'0.1.2'"}},
    {"simulation: {cell_size: 1e}\n", "1:25", {"must be a plain number", "'1e'"}},
    {"simulation: {cell_size: 10 cm}\n", "1:25", {"metres (m), without the unit, not '10 cm'"}},
    {"simulation: {cell_size: 10cm}\n", "1:25", {"metres (m), without the unit, not '10cm'"}},
    {SIMULATION("frames: 1.5"), "1:38", {"frames must be a whole number, not '1.5'"}},
    {SIMULATION("frames: many"), "1:38", {"frames must be a number, not 'many'"}},
    {SIMULATION("time_step: fast"), "1:41", {"a number or the word auto, not 'fast'"}},
    {SIMULATION("kernel: cubik"), "1:38", {"unknown kernel 'cubik'", "did you mean 'cubic'?"}},
    {SIMULATION("transfer: apik"), "1:40", {"unknown type 'apik'", "known: flip, apic, mls"}},
    {SIMULATION("transfer: {type: pic}"), "1:47", {"unknown type 'pic'", "known: flip, apic, mls"}},
    {BODY("{shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}, sticky: yes}"),
     "3:69",
     {"sticky must be true or false, not 'yes'"}},
    {"name: []\nsimulation: {cell_size: 0.1}\n", "1:7", {"name must be a text, not a list"}},
    {"name: ''\nsimulation: {cell_size: 0.1}\n", "1:7", {"name is empty"}},
    {"simulation: {cell_size: 0.1}\nsnow: {}\n", "2:7", {"snow must be a list", "not a mapping"}},
    {"simulation: {cell_size: 0.1}\noutput: {formats: ply}\n",
     "2:19",
     {"formats must be a list of words"}},
    {"simulation: {cell_size: 0.1}\noutput: {formats: [gltf]}\n",
     "2:20",
     {"unknown formats 'gltf'", "known: vtkhdf, ply, vdb"}},
    /* ranges */
    {"simulation: {cell_size: 0}\n",
     "1:25",
     {"cell_size is 0 m; it must be above 0 and at most 1000 m"}},
    {"simulation: {cell_size: -1}\n", "1:25", {"cell_size is -1 m"}},
    {"simulation: {cell_size: 1e999}\n", "1:25", {"cell_size is 1e999 m", "at most 1000 m"}},
    {"simulation: {cell_size: .nan}\n", "1:25", {"cell_size must be a finite number, not '.nan'"}},
    {"simulation: {cell_size: -.inf}\n", "1:25", {"must be a finite number, not '-.inf'"}},
    {"simulation: {cell_size: NaN}\n", "1:25", {"must be a finite number, not 'NaN'"}},
    {SIMULATION("dimensions: 4"), "1:42", {"dimensions is 4; it must be at least 2 and at most 3"}},
    {SIMULATION("frames: 99999999999999999999"), "1:38", {"frames is 99999999999999999999"}},
    {SIMULATION("cfl: 0"), "1:35", {"cfl is 0; it must be above 0 and at most 1"}},
    {SIMULATION("time_step: 0"), "1:41", {"time_step is 0 s; it must be above 0"}},
    {"simulation: {cell_size: 0.1}\nmaterials: {a: {density: -4}}\n",
     "2:26",
     {"density is -4 kg/m^3; it must be above 0 and at most 100000 kg/m^3"}},
    {"simulation: {cell_size: 0.1}\nmaterials: {a: {poisson_ratio: 0.5}}\n",
     "2:32",
     {"poisson_ratio is 0.5"}},
    /* vectors */
    {SIMULATION("gravity: [0, -9.81]"), "1:39", {"gravity has 2 entries; it needs 3 in 3D"}},
    {SIMULATION("gravity: []"), "1:39", {"gravity has 0 entries"}},
    {SIMULATION("gravity: -9.81"), "1:39", {"gravity must be a list of 3 numbers"}},
    {SIMULATION("gravity: [0, x, 0]"), "1:43", {"gravity must be a number, not 'x'"}},
    {SIMULATION("dimensions: 2, gravity: [0, -9.81, 1]"), "1:65", {"third entry of gravity"}},
    {SIMULATION("dimensions: 2, gravity: [0]"), "1:54", {"1 entry; it needs 2 (or 3) in 2D"}},
    {SHAPE("{box: {center: [0, 0, 0], size: [1, 0, 1]}}"), "3:48", {"size is 0 m"}},
    /* shapes */
    {SHAPE("{}"), "3:12", {"shape needs one of sphere, box"}},
    {SHAPE("sphere"), "3:12", {"shape must be a mapping", "not 'sphere'"}},
    {SHAPE("{ball: {radius: 1}}"), "3:13", {"unknown key 'ball' in shape"}},
    {SHAPE("{sphere: {center: [0, 0, 0], radius: 1}, union: []}"),
     "3:53",
     {"has both sphere and union"}},
    {SHAPE("{union: []}"), "3:20", {"union is empty"}},
    {SHAPE("{union: {}}"), "3:20", {"union must be a list of shapes"}},
    {SHAPE("{sphere: {center: [0, 0, 0], radius: 1}, rotate: 30}"), "3:61", {"axis is missing"}},
    {SHAPE("{sphere: {center: [0, 0, 0], radius: 1}, rotate: {axis: [0, 0, 0], angle: 1}}"),
     "3:68",
     {"axis is zero"}},
    {SHAPE("{capsule: {from: [0, 0, 0], to: [0, 0, 0], radius: 1}}"), "3:22", {"the same point"}},
    {SHAPE("{plane: {point: [0, 0, 0], normal: [0, 1, 0]}}"),
     "3:12",
     {"shape of snow 'snow1' has no end"}},
    {BODY("shape: {plane: {point: [0, 0, 0], normal: [0, 0, 0]}}"), "3:47", {"normal is zero"}},
    /* lists and names */
    {"simulation: {cell_size: 0.1}\nsnow: []\n", "2:7", {"snow is empty"}},
    {"simulation: {cell_size: 0.1}\ncolliders: []\n", "2:12", {"colliders is empty"}},
    {"simulation: {cell_size: 0.1}\nmaterials: {}\n", "2:12", {"materials is empty"}},
    {"simulation: {cell_size: 0.1}\noutput: {formats: []}\n", "2:19", {"formats is empty"}},
    {BASE "    name: a\n"
          "  - name: a\n    shape: {box: {center: [3, 0, 0], size: [1, 1, 1]}}\n",
     "6:11",
     {"two entries of snow are named 'a'", "the first is at t.yaml:4:5"}},
    {BASE "    material: powdr\n",
     "5:15",
     {"unknown material 'powdr'", "did you mean 'powder'?", "known: snow, powder, "}},
    {"simulation: {cell_size: 0.1}\nmaterials: {slush: muddy}\n"
     "snow: [{shape: {sphere: {center: [0, 1, 0], radius: 1}}, material: slosh}]\n",
     "3:68",
     {"did you mean 'slush'?"}},
    {"simulation: {cell_size: 0.1}\nmaterials: {a: {preset: icee}}\n",
     "2:25",
     {"unknown preset 'icee'", "did you mean 'icy'?"}},
    {BODY("{shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}, friction: 1, sticky: true}"),
     "3:61",
     {"collider 'collider1' is sticky", "remove one of the two"}},
    {BODY("{friction: 1}"), "3:5", {"collider 'collider1' needs a shape or deform"}},
    {BODY("{shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}, deform: {file: a_##.obj}}"),
     "3:5",
     {"needs a shape or deform, not both"}},
    {BASE "    emit: {start: 1, until: 1}\n", "5:29", {"until 1 s is not after the start, 1 s"}},
    {BASE "    angular_velocity: [0, 0, 1]\n    emit: {until: 2}\n",
     "5:5",
     {"snow that emits cannot turn"}},
    {BASE "    emit: {count: 2.5}\n", "5:19", {"count must be a whole number"}},
    {BASE "kill: [{shape: {sphere: {center: [0, 1, 0], radius: 1}}, where: above}]\n",
     "5:65",
     {"unknown where 'above' (known: inside, outside)"}},
    {SIMULATION("integrator: {type: semi_implicit, newton_iterations: 4, hessian: exact}"),
     "1:83",
     {"newton_iterations is 4, which needs hessian: projected"}},
};

/* Whether the message shows the line of the text, with the caret under the column. */
static bool shows_caret(const char *message, const char *text, int line, int column)
{
    for (int n = 1; n < line; n++)
        text = strchr(text, '\n') + 1;
    size_t length = strcspn(text, "\n");
    if (length == 0 || length > 90)
        return true;
    const char *shown = strchr(message, '\n');
    const char *caret = shown ? strchr(shown + 1, '\n') : NULL;
    return caret && strlen(caret + 1) == (size_t)column && caret[column] == '^';
}

static bool is_reported(const char *text, const char *place, const char *const words[3])
{
    firn_scene *scene;
    if (firn_scene_parse(text, "t.yaml", NULL, 0, &scene) != FIRN_BAD_SCENE || scene) {
        firn_scene_destroy(&scene);
        return false;
    }
    char where[64];
    int line, column;
    snprintf(where, sizeof where, "t.yaml:%s: ", place);
    sscanf(place, "%d:%d", &line, &column);
    const char *message = firn_last_error();
    bool right =
        strncmp(message, where, strlen(where)) == 0 && shows_caret(message, text, line, column);
    for (int w = 0; w < 3 && words[w]; w++)
        right &= strstr(message, words[w]) != NULL;
    return right;
}

static void test_every_error(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!is_reported(cases[i].text, cases[i].place, cases[i].words)) {
            print_error("expected %s %s\n     got %s\n", cases[i].place, cases[i].words[0],
                        firn_last_error());
            wrong++;
        }
    assert_int_equal(wrong, 0);
}

static void test_nesting(void **state)
{
    (void)state;
    char text[4096] = "name: ";
    memset(text + 6, '[', 2000);
    firn_scene *scene;
    assert_int_equal(firn_scene_parse(text, "t", NULL, 0, &scene), FIRN_BAD_SCENE);
    assert_has(firn_last_error(), "nested more than");

    /* Twenty shapes inside each other are fine. */
    char deep[8192] = "simulation: {cell_size: 0.1}\nsnow: [{shape: ";
    for (int i = 0; i < 20; i++)
        strcat(deep, "{union: [{sphere: {center: [0, 0, 0], radius: 1}}, ");
    strcat(deep, "{sphere: {center: [0, 0, 0], radius: 1}}");
    for (int i = 0; i < 20; i++)
        strcat(deep, "]}");
    strcat(deep, "}]\n");
    assert_int_equal(firn_scene_parse(deep, "t", NULL, 0, &scene), FIRN_OK);
    firn_scene_destroy(&scene);
}

static void test_alias_bomb(void **state)
{
    (void)state;
    char text[2048] = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 10; i++) {
        char line[128];
        snprintf(line, sizeof line, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i,
                 i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
        strcat(text, line);
    }
    firn_scene *scene;
    assert_int_equal(firn_scene_parse(text, "t", NULL, 0, &scene), FIRN_BAD_SCENE);
    assert_has(firn_last_error(), "aliases");
}

/* A long line is shown in part, and the caret still stands under the fault. */
static void test_long_line(void **state)
{
    (void)state;
    char text[1024] = "simulation: {cell_size: ";
    memset(text + strlen(text), ' ', 300);
    strcat(text, "-7}\n");
    firn_scene *scene;
    assert_int_equal(firn_scene_parse(text, "t", NULL, 0, &scene), FIRN_BAD_SCENE);
    const char *shown = strchr(firn_last_error(), '\n') + 1;
    const char *caret = strchr(shown, '\n') + 1;
    assert_true(strlen(caret) < 100);
    assert_int_equal(shown[strlen(caret) - 1], '-');
}

static void test_files(void **state)
{
    (void)state;
    firn_scene *scene;
    assert_int_equal(firn_scene_load("/no/such/file.yaml", NULL, 0, &scene), FIRN_NO_INPUT);
    assert_has(firn_last_error(), "/no/such/file.yaml: No such file");
    assert_int_equal(firn_scene_load("/", NULL, 0, &scene), FIRN_NO_INPUT);
    assert_null(scene);

    char path[] = "/tmp/firn_scene_XXXXXX";
    int file = mkstemp(path);
    assert_int_equal(write(file, "name: a\0b", 9), 9);
    close(file);
    assert_int_equal(firn_scene_load(path, NULL, 0, &scene), FIRN_BAD_SCENE);
    assert_has(firn_last_error(), "byte 0x00 at offset 7");
    unlink(path);
}

/* Everything the fuzzer starts from ends in a scene or in a message. */
static void test_corpus(void **state)
{
    (void)state;
    DIR *folder = opendir(SOURCE_DIR "/tests/scene/corpus");
    assert_non_null(folder);
    int seen = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        char path[1024];
        snprintf(path, sizeof path, SOURCE_DIR "/tests/scene/corpus/%s", entry->d_name);
        firn_scene *scene;
        firn_status status = firn_scene_load(path, NULL, 0, &scene);
        assert_true(status == FIRN_OK || status == FIRN_BAD_SCENE);
        assert_true((status == FIRN_OK) == (scene != NULL));
        firn_scene_destroy(&scene);
        seen++;
    }
    closedir(folder);
    assert_true(seen >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_error), cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_alias_bomb),  cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_files),       cmocka_unit_test(test_corpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
