/* Step lengths: bounds, and landing on frame times without slivers. */
#include "method/time_step.h"
#include "method/steady_exp.h"
#include "numbers.h"

static void test_bounds(void **state)
{
    (void)state;
    const double wave = time_step_rounded(0.4 * 0.01 / 20);
    assert_true(time_step_stable(0.01, 20, 1, 0.4, 0.5) == wave);
    assert_true(time_step_stable(0.01, 20, 100, 0.4, 0.5) == time_step_rounded(0.5 * 0.01 / 100));
    assert_true(time_step_stable(0.01, 20, 0, 0.4, 0.5) == wave);
    assert_true(isinf(time_step_stable(0.01, 0, 0, 0.4, 0.5)));
    assert_true(isnan(time_step_stable(0.01, NAN, 1, 0.4, 0.5)));
    assert_true(isnan(time_step_stable(0.01, 1, NAN, 0.4, 0.5)));
    assert_true(time_step_stable(0.01, INFINITY, 1, 0.4, 0.5) == 0);
}

/* Never longer, never shorter by a 32nd; 32 lengths to a power of two, each its own. */
static void test_rounding(void **state)
{
    (void)state;
    int lengths = 0;
    double last = 0;
    for (double dt = 1e-4; dt < 2e-4; dt += 1e-9) {
        double r = time_step_rounded(dt);
        assert_true(r <= dt && r > dt * (1 - 1.0 / 32) && time_step_rounded(r) == r);
        lengths += r != last;
        last = r;
    }
    assert_in_range(lengths, 32, 33);
    assert_true(time_step_rounded(0x1p-14) == 0x1p-14);
    assert_true(time_step_rounded(0) == 0 && isinf(time_step_rounded(INFINITY)) &&
                isnan(time_step_rounded(NAN)));
}

/* Steps from frame to frame: how many, none above stable, none much shorter than its fellows. */
static void run_frames(double fps, double stable)
{
    double time = 0;
    for (int frame = 1; frame <= 50; frame++) {
        double frame_time = frame / fps, length = frame_time - time;
        int steps = 0, needed = (int)ceil(length / stable - 1e-6);
        for (; time != frame_time; steps++) {
            double dt = time_step_to_land(time, frame_time, stable);
            assert_true(dt <= stable * (1 + 1e-6));
            assert_near(dt, length / needed, 1e-6, dt);
            time = time_step_end(time, frame_time, dt);
            assert_true(time <= frame_time);
        }
        assert_int_equal(steps, needed);
    }
}

static void test_landing(void **state)
{
    (void)state;
    for (int k = 0; k < 2000; k++)
        run_frames(random_in(1, 120), pow(10, random_in(-4, 0)));
    for (int n = 1; n < 300; n++) {
        run_frames(24, 1.0 / 24 / n);
        run_frames(30, 1.0 / 30 / n * (1 + 1e-15));
        run_frames(25, 0.04 / n * (1 - 1e-15));
    }
}

static void test_one_step_when_nothing_limits(void **state)
{
    (void)state;
    assert_true(time_step_to_land(0.25, 0.5, INFINITY) == 0.25);
    assert_true(time_step_to_land(0.25, 0.5, 10) == 0.25);
    assert_true(isnan(time_step_to_land(0.25, 0.5, NAN)));
    for (int k = 0; k < 1000; k++) {
        double frame_time = random_in(0.5, 1), time = random_in(0, 0.2);
        double dt = time_step_to_land(time, frame_time, INFINITY);
        assert_true(time_step_end(time, frame_time, dt) == frame_time);
    }
}

/* A step that shrinks on the way (the snow hardens) still lands. */
static void test_landing_as_the_limit_changes(void **state)
{
    (void)state;
    for (int k = 0; k < 1000; k++) {
        double time = random_in(0, 10), frame_time = time + 1.0 / 24, stable = 1e-2;
        int steps = 0;
        for (; time != frame_time && steps < 10000; steps++) {
            double dt = time_step_to_land(time, frame_time, stable);
            assert_true(dt > 0);
            time = time_step_end(time, frame_time, dt);
            stable = fmax(1e-4, stable * random_in(0.7, 1.1));
        }
        assert_true(steps < 10000);
    }
}

/* Implicit steps go as far as `travel` allows, gravity included, and pay when they are long enough. */
static void test_implicit(void **state)
{
    (void)state;
    const double speeds[] = {0, 0.1, 3, 50}, accelerations[] = {0, 9.81};
    for (int v = 0; v < 4; v++)
        for (int a = 0; a < 2; a++) {
            double dt = time_step_travel(0.01, speeds[v], accelerations[a], 0.4);
            if (speeds[v] + accelerations[a] == 0)
                assert_true(isinf(dt));
            else
                assert_near(speeds[v] * dt + accelerations[a] * dt * dt, 0.0005, 1e-15, 1);
        }
    assert_true(isnan(time_step_travel(0.01, NAN, 9.81, 0.4)));
    assert_false(time_step_implicit_pays(1e-4, 1e-4));
    assert_false(time_step_implicit_pays(1e-4, 5e-4));
    assert_true(time_step_implicit_pays(1e-4, 5e-3));
    assert_false(time_step_implicit_pays(NAN, 1e-3));
}

/* A failure bounds the steps after it, less and less, and never below the floor. */
static void test_after_failure(void **state)
{
    (void)state;
    assert_true(time_step_floor(1e-3, 1e-4, 3) == 1e-4 / 8);
    assert_true(time_step_floor(1e-3, 1e-4, 100) == TIME_STEP_LEAST);
    assert_true(time_step_held_back(1e-3, 0, 1e-5) == 1e-3);
    assert_true(time_step_held_back(1e-3, 5e-4, 1e-5) == 5e-4);
    assert_true(time_step_held_back(1e-3, 1e-6, 1e-5) == 1e-5);
    int steps = 0;
    for (double limit = 5e-4; limit > 0; steps++)
        limit = time_step_recovered(1e-3, limit);
    assert_int_equal(steps, 6);
}

static void test_choice(void **state)
{
    (void)state;
    time_step_choice c = time_step_choose(1e-4, 5e-3, 0, TIME_STEP_SOLVES_WHEN_CHEAPER);
    assert_true(c.implicit && c.dt == 5e-3 && c.automatic_dt == 5e-3 && c.explicit_dt == 1e-4);
    c = time_step_choose(1e-4, 5e-3, 0, TIME_STEP_NEVER_SOLVES);
    assert_true(!c.implicit && c.dt == 1e-4);
    c = time_step_choose(1e-4, 2e-4, 3e-5, TIME_STEP_ALWAYS_SOLVES);
    assert_true(c.implicit && c.dt == 3e-5 && c.automatic_dt == 2e-4);
}

static void test_steady_exp(void **state)
{
    (void)state;
    for (int k = -7000; k <= 7000; k++) {
        double x = 0.0999 * k;
        assert_near(steady_exp(x), exp(x), 1e-15, exp(x));
    }
    assert_true(steady_exp(0) == 1);
    assert_true(steady_exp(-HUGE_VAL) == 0 && isinf(steady_exp(1e9)) && isnan(steady_exp(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_landing),
        cmocka_unit_test(test_one_step_when_nothing_limits),
        cmocka_unit_test(test_landing_as_the_limit_changes),
        cmocka_unit_test(test_implicit),
        cmocka_unit_test(test_after_failure),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_steady_exp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
