/* Semi-implicit steps of a fast backend against those of the reference, and against its own, done again. */
#include "physics.h"

static const char *fast_backend; /* named on the command line */

/* The largest difference of positions. */
static double farthest_apart(const firn_sim *a, const firn_sim *b)
{
    cloud x = cloud_of(a), y = cloud_of(b);
    assert_int_equal(x.count, y.count);
    double worst = 0;
    for (size_t k = 0; k < x.count * (size_t)x.dimensions; k++)
        worst = fmax(worst, fabs(x.values[FIRN_POSITION][k] - y.values[FIRN_POSITION][k]));
    cloud_free(&x);
    cloud_free(&y);
    return worst;
}

/* A small ball that is pushed into the rough ground by a plate from above, in semi-implicit steps at which
 * explicit ones would blow up; both bodies touch it from the first step on. */
static firn_sim *press(method m, const char *integrator, const char *backend, int threads,
                       int count)
{
    const char *z = m.dimensions == 3 ? ", 0" : "";
    use_options((firn_sim_options){.backend = backend, .threads = threads});
    firn_sim *sim = make_sim(make_scene(
        m,
        "  cell_size: 0.02\n  time_step: 0.5e-3\n  fps: 1\n"
        "  integrator: {type: semi_implicit, %s}\n"
        "snow:\n"
        "  - shape: {sphere: {center: [0, 0.06%s], radius: 0.06}}\n"
        "    velocity: [0.5, -3%s]\n"
        "colliders:\n"
        "  - {shape: {plane: {point: [0, 0.0045%s], normal: [0.1, 1%s]}}, friction: 0.4}\n"
        "  - shape: {plane: {point: [0, 0.11%s], normal: [0, -1%s]}}\n"
        "    sticky: true\n    velocity: [0.2, -2%s]\n",
        integrator, z, z, z, z, z, z, z));
    steps(sim, count);
    return sim;
}

/* Every option of the solver, with some method. */
static const char *const solvers[] = {
    "tolerance: 1e-6",
    "tolerance: 1e-6, preconditioner: diagonal, beta: 0.5",
    "tolerance: 1e-6, preconditioner: block",
    "tolerance: 1e-6, hessian: exact",
    "tolerance: 1e-5, newton_iterations: 30",
    "tolerance: 1e-5, newton_iterations: 30, preconditioner: block",
};
enum { SOLVERS = sizeof solvers / sizeof *solvers };

/* Semi-implicit steps come out as the reference's. */
static void compare(const char *backend, const char *set)
{
    for (int k = 0; k < MOST_METHODS; k++) {
        const char *solver = solvers[k % SOLVERS];
        firn_sim *ref = press(methods[k], solver, "ref", 1, 16);
        firn_sim *fast = press(methods[k], solver, backend, 2, 16);
        firn_progress judge = firn_sim_progress(ref), p = firn_sim_progress(fast);
        assert_true(stats_of(fast).J_P_min < 0.99); /* it was pressed */
        assert_int_equal(p.implicit_steps, 16);
        assert_int_equal(p.retries, judge.retries);
        at_most(farthest_apart(ref, fast) / 0.06, 1e-4, "%s, %s, %s: from the reference",
                method_name(methods[k]), set, solver);
        at_most(fabs((double)p.solver_iterations - (double)judge.solver_iterations) /
                    (double)judge.solver_iterations,
                0.05, "iterations, of %d", (int)judge.solver_iterations);
        firn_sim_destroy(&fast);
        firn_sim_destroy(&ref);
    }
}

/* On the processor, for every instruction set. */
static void test_solver(void **state)
{
    (void)state;
    const char *const sets[] = {"avx512", "avx2", "portable"};
    if (strcmp(fast_backend, "cpu") != 0) {
        compare(fast_backend, "");
        return;
    }
    for (int i = 0; i < 3; i++) {
        setenv("FIRN_ISA", sets[i], 1);
        if (strstr(firn_features(), sets[i]))
            compare("cpu", sets[i]);
    }
    unsetenv("FIRN_ISA");
}

/* And the same on every run, with any number of threads. */
static void test_same_every_time(void **state)
{
    (void)state;
    for (int k = 0; k < MOST_METHODS; k++) {
        firn_sim *one = press(methods[k], solvers[k % SOLVERS], fast_backend, 1, 24);
        for (int threads = 2; threads <= 5; threads += 3) {
            firn_sim *many = press(methods[k], solvers[k % SOLVERS], fast_backend, threads, 24);
            assert_true(same_bits(one, many));
            firn_sim_destroy(&many);
        }
        firn_sim_destroy(&one);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    fast_backend = backend_options().backend;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solver),
        cmocka_unit_test(test_same_every_time),
    };
    return cmocka_run_group_tests_name("solver", tests, NULL, NULL);
}
