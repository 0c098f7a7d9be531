/* Snow on a map of heights, near its end and a hole in it: fast backends against the reference. */
#include "physics.h"

static const char *map_path;

/* Hills of 0.2 m, 41 x 41 samples 0.05 m apart, with a hole beside the middle. */
static void write_map(void)
{
    map_path = own_file("terrain.asc");
    FILE *file = fopen(map_path, "w");
    assert_non_null(file);
    fprintf(file, "ncols 41\nnrows 41\nxllcorner 0\nyllcorner 0\ncellsize 0.05\n"
                  "NODATA_value -9999\n");
    for (int row = 0; row < 41; row++)
        for (int column = 0; column < 41; column++) {
            bool is_hole = row >= 18 && row <= 22 && column >= 22 && column <= 26;
            double height = 0.1 * sin(0.31 * column + 0.2) * cos(0.27 * row) + 0.004 * column;
            fprintf(file, "%.5f ", is_hole ? -9999 : height + 1);
        }
    fclose(file);
}

/* Three balls thrown at the slopes, the hole and the wall at the end. */
static firn_sim *throw_balls(method m, const char *backend, const char *more)
{
    use_options((firn_sim_options){.backend = backend, .threads = 2});
    firn_sim *sim =
        make_sim(make_scene(m,
                            "  cell_size: 0.04\n  fps: 10\n  integrator: explicit\n"
                            "snow:\n"
                            "  - {shape: {sphere: {center: [-0.4, 0.26, 0.1], radius: 0.07}},\n"
                            "     velocity: [2, -3, 0]}\n"
                            "  - {shape: {sphere: {center: [0.13, 0.26, 0.01], radius: 0.07}},\n"
                            "     velocity: [1.5, -3, 0]}\n"
                            "  - {shape: {sphere: {center: [1.08, 0.05, -0.3], radius: 0.07}},\n"
                            "     velocity: [-4, 0, 0]}\n"
                            "colliders:\n"
                            "  - {shape: {terrain: {file: %s%s}}, friction: 0.3}\n",
                            map_path, more));
    steps(sim, 100);
    return sim;
}

static void test_against_reference(void **state)
{
    const char *backend = *state;
    const struct {
        method m;
        const char *more;
    } cases[] = {{{3, "cubic", FLIP_95}, ""},
                 {{3, "quadratic", APIC}, ", smooth: false"},
                 {{3, "quadratic", FLIP_95}, ", thickness: 0.05"}};
    write_map();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        firn_sim *ref = throw_balls(cases[k].m, "ref", cases[k].more);
        firn_sim *fast = throw_balls(cases[k].m, backend, cases[k].more);
        cloud a = cloud_of(ref), b = cloud_of(fast);
        double worst = 0, way = 0;
        for (size_t n = 0; n < 3 * a.count; n++)
            worst = fmax(worst, fabs(a.values[FIRN_POSITION][n] - b.values[FIRN_POSITION][n]));
        for (size_t r = 0; r < a.count; r++)
            way = fmax(way, cloud_row(&a, FIRN_VELOCITY, r)[1] + 3);
        assert_true(way > 2); /* the ground did stop it */
        assert_true(stats_of(ref).J_P_min < 0.999);
        at_most(worst / 0.04, 1e-3, "%s%s: cells from the reference", method_name(cases[k].m),
                cases[k].more);
        cloud_free(&a);
        cloud_free(&b);
        firn_sim_destroy(&ref);
        firn_sim_destroy(&fast);
    }
    remove(map_path);
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_against_reference, (void *)(uintptr_t)argv[1]),
    };
    return cmocka_run_group_tests_name("terrain", tests, NULL, NULL);
}
