/*
 * Bodies that deform against snow: a mesh of a ball that moves from key to key does to a block of snow
 * what the ball itself does; one that grows does the same whether it is told by few keys or by many; one whose
 * keys have ended rests; and resumed runs have the same bits.
 */
#include "physics.h"

#include "io/vdb.h"
#include "shape/make_sequence.h"

static const double H = 0.02, SPEED = 2, RADIUS = 0.08;

/* A block above a body that these lines tell. */
static firn_scene *block(method m, const char *format, ...) __attribute__((format(printf, 2, 3)));
static firn_scene *block(method m, const char *format, ...)
{
    char body[600];
    va_list values;
    va_start(values, format);
    vsnprintf(body, sizeof body, format, values);
    va_end(values);
    return make_scene(m,
                      "  cell_size: %g\n  fps: 50\n  gravity: [0, 0, 0]\n"
                      "snow:\n  - shape: {box: {center: [0, 0.1, 0], size: [0.24, 0.2, 0.16]}}\n"
                      "    sampling: {method: lattice, particles_per_cell: %d}\n"
                      "colliders:\n  - friction: 0.3\n%s",
                      H, m.dimensions == 3 ? 8 : 4, body);
}

static const method chosen[] = {{2, "cubic", FLIP_95}, {3, "quadratic", APIC}};
enum { CHOSEN = sizeof chosen / sizeof *chosen };

/* From just below the block up into it, two frames every tenth of a second. */
static void write_moving(void)
{
    const ball frames[3] = {{RADIUS, {0, -RADIUS, 0}},
                            {RADIUS, {0, -RADIUS + SPEED * 0.04, 0}},
                            {RADIUS, {0, -RADIUS + SPEED * 0.08, 0}}};
    write_balls("moving", frames, 3, 40);
}

static void test_moving(void **state)
{
    (void)state;
    write_moving();
    for (int k = 0; k < CHOSEN; k++) {
        firn_sim *exact = make_sim(block(
            chosen[k],
            "    shape: {sphere: {center: [0, %g, 0], radius: %g}}\n    velocity: [0, %g, 0]\n",
            -RADIUS, RADIUS, SPEED));
        firn_sim *keys = make_sim(block(chosen[k], "    deform: {file: %s, fps: 25}\n",
                                        sequence_path("moving_####.obj")));
        const char *name = method_name(chosen[k]);
        for (int frame = 0; frame < 3; frame++) {
            double time = 0.02 * (frame + 1);
            advance_to(exact, time);
            advance_to(keys, time);
            firn_stats a = stats_of(exact), b = stats_of(keys);
            near_to(b.momentum[1], a.momentum[1], 0.05, "%s: momentum at %g s", name, time);
            near_to(b.kinetic_energy, a.kinetic_energy, 0.1, "%s: energy at %g s", name, time);
        }
        firn_sim_destroy(&exact);
        firn_sim_destroy(&keys);
    }
}

/* Upward momentum that a ball growing at the block's foot gives it. */
static double grown(method m, int keys)
{
    ball frames[64];
    for (int k = 0; k < keys; k++)
        frames[k] = (ball){0.06 + 0.06 * k / (keys - 1), {0, -0.06, 0}};
    char word[40], pattern[60];
    snprintf(word, sizeof word, "grown%d", keys);
    snprintf(pattern, sizeof pattern, "%s_####.obj", word);
    write_balls(word, frames, keys, 40);
    firn_sim *sim = make_sim(block(m, "    deform: {file: %s, fps: %.17g}\n",
                                   sequence_path(pattern), (keys - 1) / 0.06));
    advance_to(sim, 0.06);
    firn_stats stats = stats_of(sim);
    firn_sim_destroy(&sim);
    return stats.momentum[1];
}

static void test_growing(void **state)
{
    (void)state;
    double few = grown(chosen[0], 2), many = grown(chosen[0], 31);
    assert_true(many > 0);
    near_to(few, many, 0.05, "momentum by 2 keys against 31");
}

/* A ball that comes up from below, and stays where its keys end: the snow that it has thrown flies on. */
static void test_at_rest(void **state)
{
    (void)state;
    const ball frames[2] = {{RADIUS, {0, -RADIUS, 0}}, {RADIUS, {0, -RADIUS + SPEED * 0.02, 0}}};
    write_balls("halts", frames, 2, 40);
    for (int k = 0; k < CHOSEN; k++) {
        firn_sim *sim = make_sim(
            block(chosen[k], "    deform: {file: %s, fps: 50}\n", sequence_path("halts_####.obj")));
        advance_to(sim, 0.02);
        double thrown = stats_of(sim).momentum[1];
        assert_true(thrown > 0);
        advance_to(sim, 0.04);
        near_to(stats_of(sim).momentum[1], thrown, 0.01, "%s: momentum once the ball rests",
                method_name(chosen[k]));
        firn_sim_destroy(&sim);
    }
}

static void test_resume(void **state)
{
    (void)state;
    write_moving();
    const char *path = sequence_path("state.h5");
    firn_scene *scene = block(chosen[0],
                              "    deform: {file: %s, fps: 25, memory: 0}\n"
                              "    angular_velocity: [0, 0, 90]\n",
                              sequence_path("moving_####.obj"));
    firn_sim_options options = backend_options();
    firn_sim *whole, *resumed;
    assert_int_equal(firn_sim_create(scene, &options, &whole), FIRN_OK);
    advance_to(whole, 0.03);
    assert_int_equal(firn_sim_save(whole, path), FIRN_OK);
    if (firn_sim_create_from_checkpoint(scene, &options, path, &resumed) != FIRN_OK)
        fail_msg("%s", firn_last_error());
    advance_to(whole, 0.06);
    advance_to(resumed, 0.06);
    cloud a = cloud_of(whole), b = cloud_of(resumed);
    assert_int_equal(firn_sim_steps(whole), firn_sim_steps(resumed));
    assert_memory_equal(a.values[FIRN_VELOCITY], b.values[FIRN_VELOCITY],
                        a.count * 2 * sizeof(double));
    cloud_free(&a);
    cloud_free(&b);
    firn_sim_destroy(&whole);
    firn_sim_destroy(&resumed);
    firn_scene_destroy(&scene);
}

/* One by one and as many at once as the backend likes, over several keys and frames. */
static void test_at_once(void **state)
{
    (void)state;
    write_moving();
    for (int k = 0; k < CHOSEN; k++) {
        firn_sim *one = make_sim(block(chosen[k], "    deform: {file: %s, fps: 25}\n",
                                       sequence_path("moving_####.obj")));
        firn_sim *all = make_sim(block(chosen[k], "    deform: {file: %s, fps: 25}\n",
                                       sequence_path("moving_####.obj")));
        advance_to(one, 0.03);
        steps(all, (int)firn_sim_steps(one));
        assert_true(firn_sim_time(one) == firn_sim_time(all));
        cloud a = cloud_of(one), b = cloud_of(all);
        assert_memory_equal(a.values[FIRN_VELOCITY], b.values[FIRN_VELOCITY],
                            a.count * (size_t)a.dimensions * sizeof(double));
        cloud_free(&a);
        cloud_free(&b);
        firn_sim_destroy(&one);
        firn_sim_destroy(&all);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    if (strcmp(vdb_version(), "none") == 0)
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moving),  cmocka_unit_test(test_growing),
        cmocka_unit_test(test_at_rest), cmocka_unit_test(test_resume),
        cmocka_unit_test(test_at_once),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sequence_cleanup();
    return failed;
}
