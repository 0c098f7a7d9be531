/* Colliders that move: what a scene says of them, tables of keys, and every way to get them wrong. */
#include <unistd.h>

#include "scene_test.h"

#define BODY(text)                                                                                 \
    "simulation: {cell_size: 0.1, fps: 10}\ncolliders:\n"                                          \
    "  - shape: {sphere: {center: [1, 2, 0], radius: 0.5}}\n" text
#define FLAT(text)                                                                                 \
    "simulation: {cell_size: 0.1, dimensions: 2}\ncolliders:\n"                                    \
    "  - shape: {sphere: {center: [1, 2], radius: 0.5}}\n" text

static double distance_at(const firn_scene *scene, double time, double x, double y, double z)
{
    return firn_scene_collider_distance(scene, 0, time, (double[3]){x, y, z});
}

static void test_constant_motion(void **state)
{
    (void)state;
    firn_scene *scene =
        parse(BODY("    velocity: [1, 0, 0]\n    angular_velocity: [0, 0, 90]\n"), NULL);
    const motion *m = &scene->colliders[0].body.motion;
    assert_near(m->pivot[0], 1, 1e-12); /* its own middle */
    assert_near(m->pivot[1], 2, 1e-12);
    assert_near(m->angular_velocity[2], acos(-1) / 2, 1e-15);
    assert_near(distance_at(scene, 3, 4, 2, 0), -0.5, 1e-12);
    firn_scene_destroy(&scene);
    /* About the origin a quarter turn takes (1, 2) to (-2, 1). */
    scene = parse(BODY("    angular_velocity: [0, 0, 90]\n    pivot: [0, 0, 0]\n"), NULL);
    assert_near(distance_at(scene, 1, -2, 1, 0), -0.5, 1e-12);
    firn_scene_destroy(&scene);
}

static void test_keys(void **state)
{
    (void)state;
    const char *text =
        BODY("    path: {interpolation: linear, keys: [{time: 1},\n"
             "      {time: 2, translate: [0, 0, 4], angle: 90}]}\n    pivot: [0, 0, 0]\n");
    firn_scene *scene = parse(text, NULL), *copy = scene_copy(scene);
    uint64_t fingerprint = firn_scene_fingerprint(scene);
    firn_scene_destroy(&scene);
    assert_near(distance_at(copy, 0, 1, 2, 0), -0.5, 1e-12);
    assert_near(distance_at(copy, 2, -2, 1, 4), -0.5, 1e-12);
    assert_near(distance_at(copy, 9, -2, 1, 4), -0.5, 1e-12);
    double s = sqrt(0.5);
    assert_near(distance_at(copy, 1.5, s * 1 - s * 2, s * 1 + s * 2, 2), -0.5, 1e-12);
    firn_scene_destroy(&copy);
    scene = parse(text, "colliders.0.path.keys.1.angle=91");
    assert_true(firn_scene_fingerprint(scene) != fingerprint);
    firn_scene_destroy(&scene);
    scene = parse(text, "colliders.0.path.interpolation=smooth");
    assert_true(firn_scene_fingerprint(scene) != fingerprint);
    firn_scene_destroy(&scene);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* A scene in a folder of its own, with this table beside it. */
static firn_status load_table(const char *csv, firn_scene **scene)
{
    char folder[] = "/tmp/firn_paths_XXXXXX", path[2][64];
    assert_non_null(mkdtemp(folder));
    snprintf(path[0], sizeof path[0], "%s/scene.yaml", folder);
    snprintf(path[1], sizeof path[1], "%s/keys.csv", folder);
    const char *const text[2] = {
        BODY("    path: {interpolation: linear, file: keys.csv}\n    pivot: [0, 0, 0]\n"), csv};
    for (int k = 0; k < 2; k++) {
        if (!text[k])
            continue;
        FILE *out = fopen(path[k], "w");
        assert_non_null(out);
        fputs(text[k], out);
        fclose(out);
    }
    firn_status status = firn_scene_load(path[0], NULL, 0, scene);
    for (int k = 0; k < 2; k++)
        unlink(path[k]);
    rmdir(folder);
    return status;
}

static void test_tables(void **state)
{
    (void)state;
    const char *const same[] = {
        "# exported\ntime, x, y, z, qw, qx, qy, qz\n1,0,0,0, 1,0,0,0\n\n"
        "2,0,0,4, 0.7071067811865476,0,0,0.7071067811865476\n",
        "frame,z,rz\r\n10,0,0\r\n20,4,90\r\n",
        "RZ,TIME,Z\n0,1,0\n90,2,4\n",
    };
    uint64_t fingerprint = 0;
    for (int k = 0; k < 3; k++) {
        firn_scene *scene;
        firn_status status = load_table(same[k], &scene);
        if (status != FIRN_OK)
            fail_msg("table %d: %s", k, firn_last_error());
        assert_near(distance_at(scene, 2, -2, 1, 4), -0.5, 1e-9);
        double s = sqrt(0.5);
        assert_near(distance_at(scene, 1.5, s * 1 - s * 2, s * 1 + s * 2, 2), -0.5, 1e-9);
        if (k == 2) /* the order of columns is nothing, nor is frame or time */
            assert_true(firn_scene_fingerprint(scene) == fingerprint);
        fingerprint = firn_scene_fingerprint(scene);
        firn_scene_destroy(&scene);
    }
}

/* x, then y, then z: the x axis goes through 90 about y to -z, and stays there under z. */
static void test_order_of_angles(void **state)
{
    (void)state;
    firn_scene *scene;
    assert_int_equal(load_table("time,rx,ry,rz\n0,90,90,0\n", &scene), FIRN_OK);
    /* (1, 2, 0): about x by 90 to (1, 0, 2), about y by 90 to (2, 0, -1). */
    assert_near(distance_at(scene, 0, 2, 0, -1), -0.5, 1e-12);
    firn_scene_destroy(&scene);
}

static void test_bad_tables(void **state)
{
    (void)state;
    static const struct {
        const char *csv;
        firn_status status;
        const char *words[2];
    } cases[] = {
        {NULL, FIRN_NO_INPUT, {"collider 'collider1'", "keys.csv: No such file"}},
        {"", FIRN_BAD_SCENE, {"keys.csv: no rows"}},
        {"time,x\n", FIRN_BAD_SCENE, {"keys.csv: no rows"}},
        {"x,y\n1,2\n", FIRN_BAD_SCENE, {"keys.csv:1:", "`time`"}},
        {"time,frame\n1,2\n", FIRN_BAD_SCENE, {"either a column `time` or"}},
        {"time,q\n1,2\n", FIRN_BAD_SCENE, {"unknown column 'q'"}},
        {"time,x,x\n1,2,3\n", FIRN_BAD_SCENE, {"a second column 'x'"}},
        {"time,qx\n1,2\n", FIRN_BAD_SCENE, {"all of qw, qx, qy, qz"}},
        {"time,rx,qw,qx,qy,qz\n1,2,1,0,0,0\n", FIRN_BAD_SCENE, {"said twice"}},
        {"time,qw,qx,qy,qz\n1,1,1,0,0\n", FIRN_BAD_SCENE, {"keys.csv:2:", "length 1.41"}},
        {"time,x\n1,a\n", FIRN_BAD_SCENE, {"keys.csv:2: x must be a number, not 'a'"}},
        {"time,x\n1,nan\n", FIRN_BAD_SCENE, {"x must be a number, not 'nan'"}},
        {"time,x\n1\n", FIRN_BAD_SCENE, {"1 of 2 columns"}},
        {"time,x\n1,2,3\n", FIRN_BAD_SCENE, {"more than the 2 columns"}},
        {"time,x\n1,2\n# and\n1,3\n", FIRN_BAD_SCENE, {"keys.csv:4: time 1 s is not after 1 s"}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        firn_scene *scene;
        assert_int_equal(load_table(cases[k].csv, &scene), cases[k].status);
        assert_null(scene);
        for (int w = 0; w < 2 && cases[k].words[w]; w++)
            assert_has(firn_last_error(), cases[k].words[w]);
    }
}

static void test_bad_keys(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place, *words;
    } cases[] = {
        {BODY("    path: {}\n"), "4:11", "either keys or a file"},
        {BODY("    path: {file: a.csv, keys: [{time: 0}]}\n"), "4:11", "either keys or a file"},
        {BODY("    path: {keys: []}\n"), "4:18", "keys is empty"},
        {BODY("    path: {keys: [{angle: 1}]}\n"), "4:19", "time is missing in keys"},
        {BODY("    path: {keys: [{time: 1}, {time: 1}]}\n"), "4:37", "is not after 1 s"},
        {BODY("    path: {keys: [{time: 1, axis: [0, 0, 0]}]}\n"), "4:35", "axis is zero"},
        {BODY("    path: {keys: [{time: 1, turn: 3}]}\n"), "4:29", "unknown key 'turn' in keys"},
        {FLAT("    angular_velocity: [1, 0, 0]\n"), "4:23", "must be [0, 0, speed] in 2D"},
        {FLAT("    path: {keys: [{time: 1, axis: [1, 0, 0]}]}\n"), "4:35", "[0, 0, 1] in 2D"},
        {FLAT("    path: {keys: [{time: 1, translate: [1, 0, 2]}]}\n"), "4:47", "0 in 2D"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        firn_scene *scene;
        char place[32];
        snprintf(place, sizeof place, "t.yaml:%s:", cases[k].place);
        assert_int_equal(firn_scene_parse(cases[k].text, "t.yaml", NULL, 0, &scene),
                         FIRN_BAD_SCENE);
        assert_has(firn_last_error(), place);
        assert_has(firn_last_error(), cases[k].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant_motion), cmocka_unit_test(test_keys),
        cmocka_unit_test(test_tables),          cmocka_unit_test(test_order_of_angles),
        cmocka_unit_test(test_bad_tables),      cmocka_unit_test(test_bad_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
