/* Settled snow that sleeps: what it saves, what wakes it, that nothing goes another way for it, and that
 * a run can be stopped while it does. */
#include "physics.h"

#define SLEEP "  sleep: {speed: 0.02, after: 0.1}\n"

/* A flat heap on the ground, and a ball that falls on it at 0.55 s. */
static firn_scene *heap(method m, const char *sleep)
{
    const bool deep = m.dimensions == 3;
    return make_scene(m,
                      "  cell_size: 0.03\n  fps: 20\n  cfl: 0.4\n%s"
                      "snow:\n"
                      "  - shape: {box: {center: [0, 0.06%s], size: [%s]}}\n"
                      "    sampling: {particles_per_cell: 4}\n"
                      "  - shape: {sphere: {center: [0.2, 1.85%s], radius: 0.08}}\n"
                      "    velocity: [0, -0.5%s]\n"
                      "    sampling: {particles_per_cell: 4}\n"
                      "colliders:\n"
                      "  - {shape: {plane: {point: [0, 0%s], normal: [0, 1%s]}}, sticky: true}\n",
                      sleep, deep ? ", 0" : "", deep ? "1.2, 0.12, 0.12" : "2.4, 0.12",
                      deep ? ", 0" : "", deep ? ", 0" : "", deep ? ", 0" : "", deep ? ", 0" : "");
}

static void advance(firn_sim *sim, int frames)
{
    for (int n = 0; n < frames; n++)
        assert_int_equal(firn_sim_advance_frame(sim, NULL, NULL), FIRN_OK);
}

static const method heaps[] = {
    {2, "cubic", FLIP_95}, {2, "quadratic", APIC}, {3, "quadratic", FLIP_95}};

/* The reference takes its time; test_agreement compares it with the other in 3D. */
static int heap_count(void)
{
    return strcmp(backend_options().backend, "ref") ? 3 : 1;
}

/* The root mean square distance between the positions of two clouds. */
static double distance(const cloud *x, const cloud *y)
{
    double sum = 0;
    for (size_t k = 0; k < x->count * (size_t)x->dimensions; k++)
        sum += pow(x->values[FIRN_POSITION][k] - y->values[FIRN_POSITION][k], 2);
    return sqrt(sum / (double)x->count);
}

/* While only the ball flies, only the ball costs; then it wakes what it falls on and nothing else, and
 * all ends where it would have ended. */
static void test_ball(void **state)
{
    (void)state;
    for (int k = 0; k < heap_count(); k++) {
        firn_sim *never = make_sim(heap(heaps[k], "")), *some = make_sim(heap(heaps[k], SLEEP));
        cloud start = cloud_of(never);
        advance(never, 9);
        advance(some, 9);
        double all = (double)stats_of(never).active_nodes;
        double flying = (double)stats_of(some).active_nodes;
        at_most(flying / all, 0.25, "%s: nodes while the ball flies", method_name(heaps[k]));
        advance(never, 4); /* it has hit */
        advance(some, 4);
        double struck = (double)stats_of(some).active_nodes;
        print_message("    nodes after it hit: %.3f\n", struck / all);
        assert_true(struck > 2 * flying);
        assert_true(stats_of(some).J_P_min < 0.99);
        advance(never, 12);
        advance(some, 12);
        at_most((double)stats_of(some).active_nodes, 0, "nodes at the end");
        at_most(stats_of(some).max_speed, 0, "speed at the end");
        cloud a = cloud_of(never), b = cloud_of(some);
        at_most(distance(&a, &b) / distance(&start, &a), 0.01, "way apart, of the way gone");
        cloud_free(&start);
        cloud_free(&a);
        cloud_free(&b);
        firn_sim_destroy(&never);
        firn_sim_destroy(&some);
    }
}

/* Stopped and resumed before the heap has fallen asleep, while it sleeps, and while it is being woken; on
 * one thread and on three; explicitly and semi-implicitly. */
static void test_resume(void **state)
{
    (void)state;
    const char *const integrators[] = {SLEEP, SLEEP "  integrator: semi_implicit\n"};
    const char *path = own_file("sleep.h5"), *backend = backend_options().backend;
    for (int n = 0; n < 2; n++)
        for (int frames = 2; frames <= 12; frames += 5) {
            use_options((firn_sim_options){.backend = backend, .threads = 1});
            firn_sim *a = make_sim(heap(heaps[n], integrators[n])), *b;
            advance(a, frames);
            steps(a, 7);
            assert_int_equal(firn_sim_save(a, path), FIRN_OK);
            firn_sim_options three = {.backend = backend, .threads = 3};
            firn_scene *scene = heap(heaps[n], integrators[n]);
            assert_int_equal(firn_sim_create_from_checkpoint(scene, &three, path, &b), FIRN_OK);
            firn_scene_destroy(&scene);
            remove(path);
            advance(a, 4);
            advance(b, 4);
            assert_true(stats_of(a).active_nodes == stats_of(b).active_nodes);
            assert_true(same_bits(a, b));
            firn_sim_destroy(&a);
            firn_sim_destroy(&b);
        }
    use_options((firn_sim_options){.backend = backend});
}

/* A body that begins to move wakes the snow on it. */
static void test_body(void **state)
{
    (void)state;
    firn_sim *sim = make_sim(make_scene(
        (method){2, "cubic", FLIP_95},
        "  cell_size: 0.03\n  fps: 20\n" SLEEP
        "snow:\n  - shape: {box: {center: [0, 0.06], size: [0.6, 0.12]}}\n"
        "    sampling: {particles_per_cell: 4}\n"
        "colliders:\n  - shape: {box: {center: [0, -0.2], size: [2, 0.4]}}\n    sticky: true\n"
        "    path: {keys: [{time: 0, translate: [0, 0, 0]}, {time: 1, translate: [0, 0, 0]},\n"
        "                  {time: 1.5, translate: [0, 0.5, 0]}], interpolation: linear}\n"));
    advance(sim, 19);
    at_most((double)stats_of(sim).active_nodes, 0, "nodes before it moves");
    double before = mean_of(sim, FIRN_POSITION, 1);
    advance(sim, 11);
    near_to(mean_of(sim, FIRN_POSITION, 1) - before, 0.5, 0.1, "lifted");
    firn_sim_destroy(&sim);
}

/* What sleeps goes on sleeping in the scene that wrote the checkpoint; in one of another gravity it falls. */
static void test_forces(void **state)
{
    (void)state;
    const char *const lines = "  cell_size: 0.03\n  fps: 20\n  gravity: [0, %g]\n" SLEEP
                              "snow:\n  - shape: {box: {center: [0, 0], size: [0.3, 0.2]}}\n"
                              "    sampling: {particles_per_cell: 4}\n";
    const method m = {2, "cubic", FLIP_95};
    const char *path = own_file("sleep_forces.h5");
    firn_sim *sim = make_sim(make_scene(m, lines, 0.0));
    advance(sim, 4);
    at_most((double)stats_of(sim).active_nodes, 0, "nodes of snow that floats");
    assert_int_equal(firn_sim_save(sim, path), FIRN_OK);
    firn_sim_destroy(&sim);
    for (int n = 0; n < 2; n++) {
        firn_scene *scene = make_scene(m, lines, n ? -10.0 : 0.0);
        firn_sim_options chosen = backend_options();
        assert_int_equal(firn_sim_create_from_checkpoint(scene, &chosen, path, &sim), FIRN_OK);
        firn_scene_destroy(&scene);
        advance(sim, 1);
        if (n)
            near_to(stats_of(sim).max_speed, 0.5, 1e-3, "speed under another gravity");
        else
            at_most(stats_of(sim).max_speed, 0, "speed of what sleeps on");
        firn_sim_destroy(&sim);
    }
    remove(path);
}

/* Positions after so many frames, and the nodes at work after every other one. */
static cloud watch(const char *backend, method m, int frames, double *nodes)
{
    firn_sim_options chosen = backend_options();
    use_options((firn_sim_options){.backend = backend});
    firn_sim *sim = make_sim(heap(m, SLEEP "  time_step: 4e-4\n")); /* the same steps for both */
    use_options(chosen);
    for (int n = 0; n < frames / 2; n++) {
        advance(sim, 2);
        nodes[n] = (double)stats_of(sim).active_nodes;
    }
    cloud c = cloud_of(sim);
    firn_sim_destroy(&sim);
    return c;
}

/* The fast backend puts the same snow to sleep as the reference, and wakes it alike. */
static void test_agreement(void **state)
{
    (void)state;
    if (strcmp(backend_options().backend, "ref") == 0)
        skip();
    const int frames[] = {14, 0, 6};
    for (int k = 0; k < 3; k += 2) {
        double judge[8], nodes[8], least = INFINITY;
        cloud a = watch("ref", heaps[k], frames[k], judge);
        cloud b = watch(backend_options().backend, heaps[k], frames[k], nodes);
        for (int n = 0; n < frames[k] / 2; n++) {
            least = fmin(least, judge[n] / judge[0]);
            at_most(fabs(judge[n] - nodes[n]) / judge[0], 0.02, "frame %d: nodes apart", 2 * n + 2);
        }
        at_most(least, 0.5, "least nodes at work, of those at the start");
        at_most(distance(&a, &b) / 0.03, 1e-3, "%s: apart, in cells", method_name(heaps[k]));
        cloud_free(&a);
        cloud_free(&b);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ball),      cmocka_unit_test(test_resume),
        cmocka_unit_test(test_body),      cmocka_unit_test(test_forces),
        cmocka_unit_test(test_agreement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
