/* Particles from files: what the columns of a file become, and what is refused. */
#include "scene_test.h"

#include <unistd.h>

#include "firn/firn.h"

static char folder[] = "/tmp/firn_points_XXXXXX";

static const char *written(const char *name, const char *text)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
    return path;
}

static const char *scene_of(const char *file, const char *more, const char *materials)
{
    static char text[2000];
    snprintf(text, sizeof text,
             "simulation: {cell_size: 0.1, rest_volume: sampled}\n%s\nsnow:\n"
             "  - {points: {file: '%s'%s}, material: m, velocity: [0, 1, 0]}\n",
             materials ? materials : "materials: {m: {preset: snow}}", file, more);
    return text;
}

/* Row `row` of an attribute of a simulation made from the scene. */
static void read_row(const char *text, firn_attribute a, size_t row, double *out)
{
    firn_scene *scene = parse(text, NULL);
    firn_sim *sim;
    assert_int_equal(firn_sim_create(scene, &(firn_sim_options){.backend = "ref"}, &sim), FIRN_OK);
    assert_int_equal(firn_sim_read(sim, a, row, 1, out), FIRN_OK);
    firn_sim_destroy(&sim);
    firn_scene_destroy(&scene);
}

static void refused(const char *text, firn_status expected, const char *words)
{
    firn_scene *scene;
    assert_int_equal(firn_scene_parse(text, "t.yaml", NULL, 0, &scene), expected);
    assert_has(firn_last_error(), words);
    assert_has(firn_last_error(), "t.yaml:");
}

/* Places and velocities, scaled and turned; the object's velocity is added. */
static void test_vectors(void **state)
{
    (void)state;
    const char *file = written("v.csv", "# made by hand\nx, y; z vx vy,vz\n1 2 3 4 5 6\n"
                                        "10,20,30,40,50,60\n");
    double x[3];
    read_row(scene_of(file, "", NULL), FIRN_POSITION, 1, x);
    assert_near(x[0], 10, 0);
    assert_near(x[2], 30, 0);
    read_row(scene_of(file, "", NULL), FIRN_VELOCITY, 0, x);
    assert_near(x[0], 4, 0);
    assert_near(x[1], 6, 0);
    const char *turned = ", up: z, scale: 0.1, translate: [0, 1, 0]";
    read_row(scene_of(file, turned, NULL), FIRN_POSITION, 0, x);
    assert_near(x[0], 0.1, 1e-12);
    assert_near(x[1], 1.3, 1e-12);
    assert_near(x[2], -0.2, 1e-12);
}

/* Three bare columns: volume from particles per cell, mass from the material. */
static void test_defaults(void **state)
{
    (void)state;
    const char *file = written("bare.xyz", "0 0 0\n0.05 0 0\n");
    double value;
    read_row(scene_of(file, "", NULL), FIRN_VOLUME, 1, &value);
    assert_near(value, 1e-3 / 8, 1e-15);
    read_row(scene_of(file, "", NULL), FIRN_MASS, 1, &value);
    assert_near(value, 400e-3 / 8, 1e-12);
}

static void test_values(void **state)
{
    (void)state;
    const char *file = written("m.csv", "x,y,z,volume,young_modulus,critical_stretch,J_P\n"
                                        "0,0,0,1e-4,1e5,0.01,1\n1,0,0,3e-4,2e5,0.02,0.9\n");
    double value;
    read_row(scene_of(file, "", NULL), FIRN_MASS, 1, &value);
    assert_near(value, 0.12, 1e-12);
    read_row(scene_of(file, "", NULL), FIRN_MU0, 1, &value);
    assert_near(value, 2e5 / 2.4, 1e-6);
    read_row(scene_of(file, "", NULL), FIRN_THETA_S, 1, &value);
    assert_near(value, 0.02, 0);
    read_row(scene_of(file, "", NULL), FIRN_J_P, 1, &value);
    assert_near(value, 0.9, 0);
    file = written("d.csv", "x,y,z,density\n0,0,0,100\n1,0,0,200\n");
    read_row(scene_of(file, "", NULL), FIRN_MASS, 1, &value);
    assert_near(value, 200e-3 / 8, 1e-12);
}

/* A material scaled by a column, as it is and through a ramp. */
static void test_attribute(void **state)
{
    (void)state;
    const char *file = written("a.csv", "x,y,z,wet\n0,0,0,0.5\n1,0,0,2\n");
    double value;
    read_row(scene_of(file, "", "materials: {m: {vary: [{by: attribute, attribute: wet}]}}"),
             FIRN_MU0, 1, &value);
    assert_near(value, 2 * 1.4e5 / 2.4, 1e-6);
    read_row(scene_of(file, "",
                      "materials: {m: {vary: [{by: attribute, attribute: wet, values: [density], "
                      "ramp: [{at: 0, scale: 1}, {at: 1, scale: 3}]}]}}"),
             FIRN_MASS, 0, &value);
    assert_near(value, 2 * 400e-3 / 8, 1e-12);
    refused(scene_of(file, "", "materials: {m: {vary: [{by: attribute, attribute: wat}]}}"),
            FIRN_BAD_SCENE, "did you mean 'wet'");
    refused(scene_of(file, "", "materials: {m: {vary: [{by: depth, ramp: [{at: 0, scale: 2}]}]}}"),
            FIRN_BAD_SCENE, "varies by depth");
    refused(
        "simulation: {cell_size: 0.1}\nmaterials: {m: {vary: [{by: attribute, attribute: a}]}}\n"
        "snow: [{shape: {sphere: {center: [0, 0, 0], radius: 1}}, material: m}]\n",
        FIRN_BAD_SCENE, "only `points` from a file have");
}

/* A checkpoint of one scene is the snow of another, to the last bit. */
static void test_checkpoint(void **state)
{
    (void)state;
    char path[200];
    snprintf(path, sizeof path, "%s/state.h5", folder);
    firn_scene *scene = parse(BASE "    velocity: [0, -3, 1]\n", "simulation.cell_size=0.2");
    firn_sim *sim, *again;
    assert_int_equal(firn_sim_create(scene, &(firn_sim_options){.backend = "ref"}, &sim), FIRN_OK);
    assert_int_equal(firn_sim_step(sim), FIRN_OK);
    assert_int_equal(firn_sim_save(sim, path), FIRN_OK);
    firn_scene_destroy(&scene);
    scene = parse(scene_of(path, "", NULL), "snow.0.velocity=[0, 0, 0]");
    assert_int_equal(firn_sim_create(scene, &(firn_sim_options){.backend = "ref"}, &again),
                     FIRN_OK);
    size_t count = firn_sim_particle_count(sim);
    assert_int_equal(firn_sim_particle_count(again), count);
    for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES; a++) {
        double one[9], other[9];
        for (size_t r = 0; r < count && a != FIRN_B; r += 7) {
            assert_int_equal(firn_sim_read(sim, a, r, 1, one), FIRN_OK);
            assert_int_equal(firn_sim_read(again, a, r, 1, other), FIRN_OK);
            assert_memory_equal(one, other,
                                sizeof(double) * (size_t)firn_attribute_components(a, 3));
        }
    }
    firn_sim_destroy(&sim);
    firn_sim_destroy(&again);
    firn_scene_destroy(&scene);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "there are no points"},
        {"x,y,z\n", "there are no points"},
        {"a,b\n1,2\n", "no positions"},
        {"x,y,z\n1,2\n", "bad.csv:2: 2 numbers where 3 are needed"},
        {"x,y,z\n1,2,abc\n", "bad.csv:2: a finite number is needed"},
        {"x,y,z\n1,2,nan\n", "bad.csv:2"},
        {"x,y,x\n1,2,3\n", "two columns are named 'x'"},
        {"1 2 3 4\n", "4 columns without names"},
        {"x,y,z\n1,2,1e9\n", "beyond 1e+06 m"},
        {"x,y,z,mass\n1,2,3,-1\n", "mass is -1; it must be positive"},
        {"ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\nend_header\n1\n", "bad.csv"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        refused(scene_of(written("bad.csv", cases[k].text), "", NULL), FIRN_BAD_SCENE,
                cases[k].words);
    refused(scene_of("none.ply", "", NULL), FIRN_NO_INPUT, "none.ply");
    refused("simulation: {cell_size: 0.1}\nsnow: [{material: snow}]\n", FIRN_BAD_SCENE,
            "shape is missing");
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),    cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_values),     cmocka_unit_test(test_attribute),
        cmocka_unit_test(test_checkpoint), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
