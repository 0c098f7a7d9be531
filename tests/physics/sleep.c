/* Settled snow that sleeps: what it saves, what wakes it, that nothing goes another way for it, and that
 * a run can be stopped while it does. */
#include "physics.h"

#define SLEEP "  sleep: {speed: 0.02, after: 0.1}\n"

/* A flat heap on the ground, and a ball that falls on it at 0.55 s. */
static firn_scene *heap(method m, const char *sleep)
{
    const bool deep = m.dimensions == 3;
    return make_scene(m,
                      "  cell_size: 0.03\n  fps: 20\n%s"
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
enum { HEAPS = sizeof heaps / sizeof *heaps };

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
    for (int k = 0; k < HEAPS; k++) {
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
    const char *path = "sleep.h5";
    for (int n = 0; n < 2; n++)
        for (int frames = 2; frames <= 12; frames += 5) {
            use_options((firn_sim_options){.backend = "cpu", .threads = 1});
            firn_sim *a = make_sim(heap(heaps[n], integrators[n])), *b;
            advance(a, frames);
            steps(a, 7);
            assert_int_equal(firn_sim_save(a, path), FIRN_OK);
            firn_sim_options three = {.backend = "cpu", .threads = 3};
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
    use_options((firn_sim_options){.backend = "cpu"});
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

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ball),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
