/*
 * Snow that comes and goes: an emitter's stream has the mass, the speed and the density it should, ids
 * grow and stay unique, kill regions remove what they should and nothing else, and a run that is
 * resumed, or taken step by step, has the bits of one that was not.
 */
#include "physics.h"

#include <unistd.h>

static const double H = 0.02;

/* A jet along x through a square of 0.2 m, and what else the lines say. */
static firn_sim *jet(method m, const char *emit, const char *more)
{
    return make_sim(
        make_scene(m,
                   "  cell_size: %g\n  fps: 100\n  gravity: [0, 0, 0]\n"
                   "snow:\n  - shape: {box: {center: [0, 0, 0], size: [0.04, 0.2, 0.1]}}\n"
                   "    velocity: [4, 0, 0]\n    emit: %s\n"
                   "    sampling: {particles_per_cell: %d}\n%s",
                   H, emit, m.dimensions == 3 ? 8 : 4, more));
}

/* kg that a jet of this length weighs. */
static double jet_mass(method m, double length)
{
    return 400 * 0.2 * (m.dimensions == 3 ? 0.1 : 1) * length;
}

static void assert_ids_grow(const firn_sim *sim)
{
    const uint64_t *ids = firn_sim_ids(sim);
    for (size_t r = 1; r < firn_sim_particle_count(sim); r++)
        assert_true(ids[r] > ids[r - 1]);
}

static const method chosen[] = {
    {2, "cubic", FLIP_95}, {2, "quadratic", APIC}, {3, "cubic", FLIP_95}};
enum { CHOSEN = sizeof chosen / sizeof *chosen };

static void test_jet(void **state)
{
    (void)state;
    for (int k = 0; k < CHOSEN; k++) {
        method m = chosen[k];
        firn_sim *sim = jet(m, "{}", "");
        near_to(stats_of(sim).mass, jet_mass(m, 0.04), 0.1, "%s: mass at once", method_name(m));
        double before = stats_of(sim).mass;
        advance_to(sim, 0.06);
        firn_stats stats = stats_of(sim);
        near_to(stats.mass - before, jet_mass(m, 4 * 0.06), 0.05, "%s: mass let out",
                method_name(m));
        near_to(stats.momentum[0], 4 * stats.mass, 1e-4, "%s: momentum", method_name(m));
        /* As dense at one end as at the other, but for the ends. */
        cloud c = cloud_of(sim);
        double part[2] = {0, 0}, front = 4 * firn_sim_time(sim);
        for (size_t r = 0; r < c.count; r++) {
            double x = cloud_row(&c, FIRN_POSITION, r)[0];
            if (x > 0.04 && x < front - 0.04)
                part[x > front / 2] += *cloud_row(&c, FIRN_MASS, r);
        }
        near_to(part[0], part[1], 0.05, "%s: first half against second", method_name(m));
        cloud_free(&c);
        assert_ids_grow(sim);
        firn_sim_destroy(&sim);
    }
}

static void test_ends(void **state)
{
    (void)state;
    method m = chosen[0];
    firn_sim *sim = jet(m, "{start: 0.02, until: 0.04}", "");
    assert_int_equal(firn_sim_particle_count(sim), 0);
    steps(sim, 3);
    advance_to(sim, 0.06);
    near_to(stats_of(sim).mass, jet_mass(m, 0.04 + 4 * 0.02), 0.05, "until a time");
    firn_sim_destroy(&sim);
    sim = jet(m, "{count: 333}", "");
    advance_to(sim, 0.06);
    assert_int_equal(firn_sim_particle_count(sim), 333);
    firn_sim_destroy(&sim);
}

static void test_kill(void **state)
{
    (void)state;
    for (int k = 0; k < CHOSEN; k++) {
        method m = chosen[k];
        firn_sim *all = jet(m, "{}", "");
        firn_sim *cut =
            jet(m, "{}",
                "kill:\n  - {shape: {plane: {point: [0.1, 0, 0], normal: [-1, 0, 0]}}}\n"
                "  - {shape: {box: {center: [0, 0, 0], size: [9, 0.15, 9]}}, where: "
                "outside}\n");
        advance_to(all, 0.06);
        advance_to(cut, 0.06);
        cloud a = cloud_of(all), b = cloud_of(cut);
        size_t expected = 0;
        for (size_t r = 0; r < a.count; r++) {
            const double *x = cloud_row(&a, FIRN_POSITION, r);
            expected += x[0] < 0.1 && fabs(x[1]) < 0.075;
        }
        for (size_t r = 0; r < b.count; r++) {
            const double *x = cloud_row(&b, FIRN_POSITION, r);
            assert_true(x[0] < 0.1 && fabs(x[1]) <= 0.075);
        }
        near_to((double)b.count, (double)expected, 0.03, "%s: what is left", method_name(m));
        assert_ids_grow(cut);
        assert_true(firn_sim_ids(cut)[b.count - 1] > b.count); /* none was used again */
        cloud_free(&a);
        cloud_free(&b);
        firn_sim_destroy(&all);
        firn_sim_destroy(&cut);
    }
}

static const char WORLD[] =
    "  - {shape: {sphere: {center: [0.25, 0, 0], radius: 0.06}}, material: wet}\n"
    "colliders:\n  - {shape: {plane: {point: [0.32, 0, 0], normal: [-1, 0, 0]}}, friction: 0.3}\n"
    "kill:\n  - {shape: {box: {center: [-4.22, 0, 0], size: [9, 0.24, 9]}}, where: outside}\n"
    "materials:\n  wet: {vary: [{by: noise, size: 0.05, ramp: [{at: -1, scale: 0.5}, {at: 1, "
    "scale: 2}]}]}\n";

static void assert_same(const firn_sim *a, const firn_sim *b)
{
    cloud x = cloud_of(a), y = cloud_of(b);
    assert_int_equal(x.count, y.count);
    assert_memory_equal(firn_sim_ids(a), firn_sim_ids(b), x.count * sizeof(uint64_t));
    assert_memory_equal(firn_sim_objects(a), firn_sim_objects(b), x.count * sizeof(uint32_t));
    for (firn_attribute t = 0; t < FIRN_STATE_ATTRIBUTES; t++)
        assert_memory_equal(x.values[t], y.values[t],
                            x.count * sizeof(double) *
                                (size_t)firn_attribute_components(t, x.dimensions));
    cloud_free(&x);
    cloud_free(&y);
}

/* A jet, a ball, a wall, and an edge that cuts the ball. */
static firn_scene *busy_scene(method m)
{
    return make_scene(m,
                      "  cell_size: %g\n  fps: 100\n"
                      "snow:\n  - shape: {box: {center: [0, 0, 0], size: [0.04, 0.2, 0.1]}}\n"
                      "    velocity: [4, 0, 0]\n    emit: {until: 0.08}\n    material: wet\n%s",
                      H, WORLD);
}

static double busy_time(method m)
{
    return m.dimensions == 2 ? 0.05 : 0.02;
}

/* Stopped in the middle of the jet, between two frames, and continued. */
static void test_resume(void **state)
{
    (void)state;
    for (int k = 0; k < CHOSEN; k++) {
        method m = chosen[k];
        char path[] = "/tmp/firn_flow_XXXXXX";
        int file = mkstemp(path);
        assert_true(file >= 0);
        close(file);
        firn_scene *scene = busy_scene(m);
        firn_sim_options options = backend_options();
        firn_sim *whole, *resumed;
        assert_int_equal(firn_sim_create(scene, &options, &whole), FIRN_OK);
        advance_to(whole, busy_time(m));
        steps(whole, 3);
        assert_int_equal(firn_sim_save(whole, path), FIRN_OK);
        if (firn_sim_create_from_checkpoint(scene, &options, path, &resumed) != FIRN_OK)
            fail_msg("%s", firn_last_error());
        assert_same(whole, resumed);
        while (firn_sim_time(whole) < 2 * busy_time(m)) {
            step(whole);
            step(resumed);
        }
        assert_same(whole, resumed);
        size_t count = firn_sim_particle_count(whole);
        assert_true(firn_sim_ids(whole)[count - 1] > count); /* some were removed */
        firn_sim_destroy(&whole);
        firn_sim_destroy(&resumed);
        firn_scene_destroy(&scene);
        unlink(path);
    }
}

/* As many steps at a time as the backend likes, or one: among streams that begin, pause and end between frames. */
static void test_in_a_row(void **state)
{
    (void)state;
    for (int k = 0; k < CHOSEN; k++) {
        method m = chosen[k];
        firn_scene *scene =
            make_scene(m,
                       "  cell_size: %g\n  fps: 50\n"
                       "snow:\n  - shape: {box: {center: [0, 0, 0], size: [0.04, 0.2, 0.1]}}\n"
                       "    velocity: [4, 0, 0]\n    emit: {until: 0.013}\n"
                       "  - shape: {box: {center: [0.1, 0.3, 0], size: [0.1, 0.04, 0.1]}}\n"
                       "    velocity: [0, -9, 0]\n    emit: {start: 0.0271, count: 300}\n    "
                       "material: wet\n%s",
                       H, WORLD);
        firn_sim_options options = backend_options();
        firn_sim *rows, *single;
        assert_int_equal(firn_sim_create(scene, &options, &rows), FIRN_OK);
        assert_int_equal(firn_sim_create(scene, &options, &single), FIRN_OK);
        for (int frame = 1; frame <= 2; frame++) {
            assert_int_equal(firn_sim_advance_frame(rows, NULL, NULL), FIRN_OK);
            while (firn_sim_time(single) < firn_sim_time(rows))
                step(single);
            assert_int_equal(firn_sim_steps(rows), firn_sim_steps(single));
            assert_same(rows, single);
        }
        firn_sim_destroy(&rows);
        firn_sim_destroy(&single);
        firn_scene_destroy(&scene);
    }
}

static void test_threads(void **state)
{
    (void)state;
    method m = chosen[2];
    firn_scene *scene = busy_scene(m);
    firn_sim_options options = backend_options();
    firn_sim *one, *many;
    options.threads = 1;
    assert_int_equal(firn_sim_create(scene, &options, &one), FIRN_OK);
    options.threads = 3;
    assert_int_equal(firn_sim_create(scene, &options, &many), FIRN_OK);
    advance_to(one, busy_time(m));
    advance_to(many, busy_time(m));
    assert_same(one, many);
    firn_sim_destroy(&one);
    firn_sim_destroy(&many);
    firn_scene_destroy(&scene);
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jet),      cmocka_unit_test(test_ends),
        cmocka_unit_test(test_kill),     cmocka_unit_test(test_resume),
        cmocka_unit_test(test_in_a_row), cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
