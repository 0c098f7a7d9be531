/* Semi-implicit steps: how they approach explicit ones, what they do to energy, that they come out the
 * same every time, what happens when a solve fails, and that snow ends where explicit steps put it. */
#include "physics.h"

/* ---- Orders ----------------------------------------------------------------------------------- */

/* A free elastic block, shaken; its velocities after so many steps of dt. */
static cloud shaken(int d, const char *integrator, double dt, int count)
{
    const char *z = d == 3 ? ", 0" : "";
    firn_scene *scene =
        make_scene((method){d, "cubic", APIC},
                   "  cell_size: 0.1\n  fps: 1\n  time_step: %.17g\n"
                   "  gravity: [0, 0%s]\n  integrator: %s\n"
                   "snow:\n  - shape: {box: {center: [0, 0%s], size: [0.3, 0.2%s]}}\n"
                   "    sampling: {particles_per_cell: 4, method: lattice}\n",
                   dt, z, integrator, z, d == 3 ? ", 0.2" : "");
    cloud c = sample_scene(scene);
    for (size_t r = 0; r < c.count; r++) {
        const double *x = cloud_row(&c, FIRN_POSITION, r);
        for (int a = 0; a < d; a++)
            cloud_row(&c, FIRN_VELOCITY, r)[a] = 0.1 * sin(20 * x[0] + 9 * x[1] + a);
        *cloud_row(&c, FIRN_THETA_C, r) = *cloud_row(&c, FIRN_THETA_S, r) = 0.9;
    }
    firn_sim *sim = make_sim_of(scene, &c);
    cloud_free(&c);
    steps(sim, count);
    c = cloud_of(sim);
    firn_sim_destroy(&sim);
    return c;
}

/* The root mean square difference of velocities between an integrator and the explicit one. */
static double apart(int d, const char *integrator, double dt, int count)
{
    cloud a = shaken(d, integrator, dt, count), b = shaken(d, "explicit", dt, count);
    double sum = 0;
    for (size_t k = 0; k < a.count * (size_t)d; k++)
        sum += pow(a.values[FIRN_VELOCITY][k] - b.values[FIRN_VELOCITY][k], 2);
    sum /= (double)a.count;
    cloud_free(&a);
    cloud_free(&b);
    return sqrt(sum);
}

/*
 * One step differs from an explicit one by -beta dt^2 M^-1 H v*: order 2, and twice as much for beta = 1 as
 * for 1/2. Over a fixed time that is a damping by beta dt H: order 1, with the same ratio in the limit.
 */
static void test_orders(void **state)
{
    (void)state;
    if (!has_solver())
        skip();
    const char *const integrators[] = {
        "{type: semi_implicit, beta: 0.5, tolerance: 1e-11, hessian: exact}",
        "{type: semi_implicit, beta: 1, tolerance: 1e-11, hessian: exact}"};
    for (int d = 2; d <= 3; d++)
        for (int whole = 0; whole < 2; whole++) {
            double last[2] = {0};
            for (int k = 0; k < 2; k++) {
                double coarse = 0, fine = 0, order = 0, dt = whole ? 1.0 / 8192 : 1.0 / 4096;
                for (int n = 0; n < 3; n++, dt /= 2) {
                    coarse = fine;
                    fine = apart(d, integrators[k], dt, whole ? 16 << n : 1);
                    order = log2(coarse / fine);
                    if (n > 0)
                        print_message("    %dD, beta %g, %s: order %.3f\n", d, k ? 1 : 0.5,
                                      whole ? "fixed time" : "one step", order);
                }
                at_most(fabs(order - (whole ? 1 : 2)), 0.1, "%dD: order, off by", d);
                last[k] = fine;
            }
            near_to(last[1] / last[0], 2, 0.05, "%dD: beta 1 against 1/2", d);
        }
}

/* ---- Energy ----------------------------------------------------------------------------------- */

/* An elastic block alone in space that starts in disorder, or spins about z a third of a radian a step. */
typedef enum start { DISORDER, SPIN } start;

static void stir(cloud *c, start how, double dt)
{
    int d = c->dimensions;
    for (size_t r = 0; r < c->count; r++) {
        const double *x = cloud_row(c, FIRN_POSITION, r);
        double *v = cloud_row(c, FIRN_VELOCITY, r);
        for (int a = 0; a < d; a++)
            v[a] = how == SPIN ? 0.33 / dt * (double[]){-x[1], x[0], 0}[a]
                               : 3 * sin(30 * x[(a + 1) % d] + a);
        for (int k = 0; how == DISORDER && k < d * d; k++)
            cloud_row(c, FIRN_F_E, r)[k] += 0.1 * noise(9 * r + (uint64_t)k);
        *cloud_row(c, FIRN_THETA_C, r) = *cloud_row(c, FIRN_THETA_S, r) = 0.9;
        *cloud_row(c, FIRN_HARDENING, r) = 0;
        *cloud_row(c, FIRN_MU0, r) *= how == SPIN ? 100 : 1;
        *cloud_row(c, FIRN_LAMBDA0, r) *= how == SPIN ? 100 : 1;
    }
}

/* The most that its energy grows in one of 40 steps, as a part of what it had. */
static double growth(method m, start how, double dt, int newton_iterations)
{
    const char *z = m.dimensions == 3 ? ", 0" : "";
    firn_scene *scene =
        make_scene(m,
                   "  cell_size: 0.1\n  fps: 1\n  time_step: %g\n  gravity: [0, 0%s]\n"
                   "  rest_volume: sampled\n"
                   "  integrator: {type: semi_implicit, newton_iterations: %d, tolerance: 1e-6,\n"
                   "               max_iterations: 5000}\n"
                   "snow:\n  - shape: {box: {center: [0, 0%s], size: [0.3, 0.3%s]}}\n"
                   "    sampling: {particles_per_cell: 4}\n",
                   dt, z, newton_iterations, z, m.dimensions == 3 ? ", 0.2" : "");
    cloud c = sample_scene(scene);
    stir(&c, how, dt);
    firn_sim *sim = make_sim_of(scene, &c);
    cloud_free(&c);
    const double none[3] = {0};
    double before = 0, first = 0, most = 0;
    for (int n = 0; n < 40; n++) {
        double after = total_energy(sim, none);
        first = n == 0 ? after : first;
        most = n > 0 ? fmax(most, (after - before) / first) : most;
        before = after;
        step(sim);
    }
    print_message("    %s, dt %g, %s: energy %.3g to %.3g J, most growth %.3g\n", method_name(m),
                  dt, how == SPIN ? "spinning" : "in disorder", first, before, most);
    firn_sim_destroy(&sim);
    return most;
}

/* Energy never grows when the forces are those at the end of the step; with (9) alone it may. */
static void test_energy(void **state)
{
    (void)state;
    if (!has_solver())
        skip();
    const method tame[] = {
        {2, "cubic", APIC}, {2, "quadratic", PIC}, {3, "quadratic", APIC}, {2, "quadratic", MLS}};
    for (size_t k = 0; k < sizeof tame / sizeof *tame; k++)
        for (start how = DISORDER; how <= SPIN; how++)
            for (double dt = 2e-3; dt < 0.03; dt *= 3)
                at_most(growth(tame[k], how, dt, 100), 1e-9, "growth of energy in a step");
    assert_true(growth(tame[0], SPIN, 6e-3, 1) > 0.1);
}

/* ---- Sameness --------------------------------------------------------------------------------- */

static const char *const impact_lines =
    "  cell_size: 0.02\n  fps: 100\n  time_step: 0.5e-3\n"
    "  integrator: {type: semi_implicit%s}\n"
    "snow:\n  - shape: {sphere: {center: [0, 0.05, 0], radius: 0.04}}\n"
    "    velocity: [1, -3, 0]\n"
    "colliders:\n  - shape: {plane: {point: [0, 0, 0], normal: [0.2, 1, 0]}}\n    friction: 0.3\n";

/* One thread, several threads, and stopped in the middle: the same bits. */
static void test_same_bits(void **state)
{
    (void)state;
    if (!has_solver())
        skip();
    const char *path = own_file("semi_implicit.h5");
    for (int k = 0; k < FEW_METHODS; k++) {
        const char *more = k % 2 ? ", newton_iterations: 5" : ", preconditioner: block";
        firn_sim_options chosen = backend_options();
        firn_sim *sims[3];
        for (int n = 0; n < 2; n++) {
            use_options((firn_sim_options){.backend = chosen.backend, .threads = 1 + 2 * n});
            sims[n] = make_sim(make_scene(few_methods[k], impact_lines, more));
            steps(sims[n], 12);
        }
        use_options(chosen);
        assert_int_equal(firn_sim_save(sims[0], path), FIRN_OK);
        firn_scene *scene = make_scene(few_methods[k], impact_lines, more);
        assert_int_equal(firn_sim_create_from_checkpoint(scene, &chosen, path, &sims[2]), FIRN_OK);
        firn_scene_destroy(&scene);
        remove(path);
        for (int n = 0; n < 3; n++)
            steps(sims[n], 12);
        assert_true(stats_of(sims[0]).J_P_min < 0.99); /* it did hit */
        assert_true(same_bits(sims[0], sims[1]));
        assert_true(same_bits(sims[0], sims[2]));
        for (int n = 0; n < 3; n++)
            firn_sim_destroy(&sims[n]);
    }
}

/* ---- Failure ---------------------------------------------------------------------------------- */

/* Too few iterations for the step that is asked for: smaller ones do, and without retries it is told. */
static void test_no_convergence(void **state)
{
    (void)state;
    if (!has_solver())
        skip();
    const char *const lines = "  cell_size: 0.02\n  fps: 100\n  time_step: 1e-3\n  retries: %d\n"
                              "  integrator: {type: semi_implicit, max_iterations: 3}\n"
                              "snow:\n  - shape: {sphere: {center: [0, 0.05], radius: 0.04}}\n"
                              "    velocity: [1, -3]\n"
                              "colliders:\n  - {shape: {plane: {point: [0, 0], normal: [0, 1]}}}\n";
    firn_sim *sim = make_sim(make_scene((method){2, "cubic", FLIP_95}, lines, 10));
    steps(sim, 40);
    firn_progress p = firn_sim_progress(sim);
    assert_true(p.retries > 0);
    assert_int_equal(p.implicit_steps, p.steps);
    assert_true(p.solver_iterations <= 3 * (p.steps + p.retries));
    firn_sim_destroy(&sim);

    sim = make_sim(make_scene((method){2, "cubic", FLIP_95}, lines, 0));
    firn_status status = FIRN_OK;
    for (int n = 0; n < 40 && status == FIRN_OK; n++)
        status = firn_sim_step(sim);
    assert_int_equal(status, FIRN_BLOWUP);
    print_message("    %s\n", firn_last_error());
    assert_non_null(strstr(firn_last_error(), "did not converge"));
    assert_non_null(strstr(firn_last_error(), "particle "));
    firn_sim_destroy(&sim);
}

/* ---- Where the snow goes ---------------------------------------------------------------------- */

typedef struct rest {
    double centre, top; /* of mass, of the pile: the mean of the highest hundredth, m */
    double iterations;  /* a step */
} rest;

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* A ball let go `fall` above the ground, until it has lain for a while. */
static rest drop(int d, const char *integrator, const char *dt, double fall)
{
    const char *z = d == 3 ? ", 0" : "";
    firn_sim *sim = make_sim(make_scene(
        (method){d, "cubic", FLIP_95},
        "  cell_size: 0.02\n  fps: 24\n  time_step: %s\n  integrator: %s\n"
        "snow:\n  - shape: {sphere: {center: [0, %g%s], radius: 0.1}}\n"
        "colliders:\n  - {shape: {plane: {point: [0, 0%s], normal: [0, 1%s]}}, friction: 0.4}\n",
        dt, integrator, 0.1 + fall, z, z, z));
    double iterations = 0, implicit = 0;
    for (int n = 0; n < 14; n++)
        assert_int_equal(firn_sim_advance_frame(sim, NULL, NULL), FIRN_OK);
    firn_progress p = firn_sim_progress(sim);
    iterations = (double)p.solver_iterations, implicit = (double)p.implicit_steps;
    rest r = {.centre = mean_of(sim, FIRN_POSITION, 1),
              .iterations = implicit > 0 ? iterations / implicit : 0};
    cloud c = cloud_of(sim);
    double *y = malloc(c.count * sizeof *y);
    assert_non_null(y);
    for (size_t k = 0; k < c.count; k++)
        y[k] = cloud_row(&c, FIRN_POSITION, k)[1];
    qsort(y, c.count, sizeof *y, descending);
    size_t few = c.count / 100 + 1;
    for (size_t k = 0; k < few; k++)
        r.top += y[k] / (double)few;
    free(y);
    cloud_free(&c);
    firn_sim_destroy(&sim);
    return r;
}

static void test_where_snow_goes(void **state)
{
    (void)state;
    if (!has_solver())
        skip();
    const double fall = 0.4;
    bool is_fast = strcmp(backend_options().backend, "ref") != 0;
    for (int d = 2; d <= (is_fast ? 3 : 2); d++) {
        rest a = drop(d, "explicit", "auto", fall);
        rest b = drop(d, "{type: semi_implicit, tolerance: 1e-4}", "0.5e-3", fall);
        print_message(
            "    %dD: centre %.4f and %.4f m, top %.4f and %.4f m, %.1f iterations a step\n", d,
            a.centre, b.centre, a.top, b.top, b.iterations);
        at_most(fabs(a.centre - b.centre) / fall, 0.02, "centres of mass apart, of the fall");
        at_most(fabs(a.top - b.top) / a.top, 0.05, "heights of the pile apart");
        at_most(b.iterations, 30, "iterations a step");
    }
}

/* ---- The automatic step ----------------------------------------------------------------------- */

static double first_step(const char *integrator, double young_modulus, bool *implicit)
{
    firn_sim *sim = make_sim(make_scene(
        (method){2, "cubic", APIC},
        "  cell_size: 0.02\n  fps: 0.01\n  integrator: %s\n"
        "materials: {m: {preset: snow, young_modulus: %g}}\n"
        "snow:\n  - {shape: {sphere: {center: [0, 0], radius: 0.05}}, material: m, velocity: [2, "
        "0]}\n",
        integrator, young_modulus));
    step(sim);
    double dt = firn_sim_time(sim);
    *implicit = firn_sim_progress(sim).implicit_steps == 1;
    firn_sim_destroy(&sim);
    return dt;
}

/* Implicit steps are as long as an eighth of `travel` allows, whatever the stiffness; `auto` takes them for hard
 * snow. */
static void test_automatic_step(void **state)
{
    (void)state;
    if (!has_solver())
        skip();
    const double way = 0.05 * 0.02, expected = 2 * way / (2 + sqrt(4 + 4 * 9.81 * way));
    bool implicit;
    for (double E = 1.4e4; E < 1e9; E *= 100) {
        near_to(first_step("semi_implicit", E, &implicit), expected, 1e-4, "E %g: dt", E);
        assert_true(implicit);
        first_step("explicit", E, &implicit);
        assert_false(implicit);
    }
    near_to(first_step("auto", 1.4e8, &implicit), expected, 1e-4, "auto, hard snow: dt");
    assert_true(implicit);
    first_step("auto", 1.4e4, &implicit); /* explicit steps are longer there */
    assert_false(implicit);
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),          cmocka_unit_test(test_energy),
        cmocka_unit_test(test_same_bits),       cmocka_unit_test(test_no_convergence),
        cmocka_unit_test(test_where_snow_goes), cmocka_unit_test(test_automatic_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
