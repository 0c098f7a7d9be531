/* Rigid motion: poses between keys, and velocities that are their exact derivatives. */
#include "shape/cmocka_all.h"

#include <stdlib.h>

#include "collider/motion.h"
#include "shape/sample.h"

static const motion_point tumbling[] = {
    {0.0, {0, 0, 0}, {0, 0, 1}, 0},         {0.5, {1, 0.3, -0.2}, {1, 2, -0.5}, 70},
    {0.8, {1.5, 0.1, 0.4}, {0, 1, 0}, 150}, {1.7, {0.2, 0.1, 0.9}, {-1, 1, 0.3}, 110},
    {2.0, {0, 0, 1}, {1, 0, 0}, 20},
};
enum { TUMBLING = sizeof tumbling / sizeof *tumbling };

static motion keyed(const motion_point *points, size_t count, bool smooth)
{
    motion m = {.smooth = smooth, .key_count = count};
    m.keys = motion_keys_create(points, count, smooth);
    assert_non_null(m.keys);
    return m;
}

/* Where the shape's point p is at a time. */
static void place(const motion *m, double time, const double p[3], double x[3])
{
    motion_pose pose;
    motion_pose_at(m, time, &pose);
    const double r[3] = {p[0] - pose.pivot[0], p[1] - pose.pivot[1], p[2] - pose.pivot[2]};
    for (int i = 0; i < 3; i++)
        x[i] = pose.place[i] + dot3(pose.rotation[i], r);
}

static void assert_vector(const double v[3], const double w[3], double tolerance, const char *what)
{
    for (int i = 0; i < 3; i++)
        if (!(fabs(v[i] - w[i]) <= tolerance))
            fail_msg("%s: (%.12g %.12g %.12g) is not (%.12g %.12g %.12g)", what, v[0], v[1], v[2],
                     w[0], w[1], w[2]);
}

/* At a hundred times and points, the velocity against the difference of two places. */
static void check_derivative(const motion *m, double from, double to)
{
    const double small = 1e-5;
    for (uint64_t n = 0; n < 100; n++) {
        double time = from + 2 * small + (to - from - 4 * small) * random_unit(3, n);
        double p[3], x[3], before[3], after[3], v[3], w[3];
        for (int i = 0; i < 3; i++)
            p[i] = 4 * random_unit(4, 3 * n + (uint64_t)i) - 2;
        motion_pose pose;
        motion_pose_at(m, time, &pose);
        place(m, time, p, x);
        place(m, time - small, p, before);
        place(m, time + small, p, after);
        for (int i = 0; i < 3; i++)
            w[i] = (after[i] - before[i]) / (2 * small);
        motion_pose_velocity(&pose, x, v);
        assert_vector(v, w, 1e-6, "velocity");
        double back[3];
        motion_pose_inverse(&pose, x, back);
        assert_vector(back, p, 1e-13, "place in the shape");
    }
}

static void constant_rotation_is_omega_cross_r(void **state)
{
    (void)state;
    const motion m = {
        .pivot = {1, -2, 0.5}, .velocity = {3, 0, -1}, .angular_velocity = {2, -5, 7}};
    for (uint64_t n = 0; n < 100; n++) {
        double time = 10 * random_unit(1, n), x[3], v[3], expected[3];
        motion_pose pose;
        motion_pose_at(&m, time, &pose);
        for (int i = 0; i < 3; i++)
            x[i] = 20 * random_unit(2, 3 * n + (uint64_t)i) - 10;
        const double r[3] = {x[0] - 1 - 3 * time, x[1] + 2, x[2] - 0.5 + time};
        cross3(m.angular_velocity, r, expected);
        for (int i = 0; i < 3; i++)
            expected[i] += m.velocity[i];
        motion_pose_velocity(&pose, x, v);
        assert_vector(v, expected, 1e-10, "v + omega x r");
    }
    check_derivative(&m, 0, 2);
}

static void velocities_are_derivatives(void **state)
{
    (void)state;
    for (int smooth = 0; smooth < 2; smooth++) {
        motion m = keyed(tumbling, TUMBLING, smooth);
        m.pivot[0] = 0.3;
        m.velocity[1] = -0.7;
        m.angular_velocity[2] = 4;
        for (size_t k = 0; k + 1 < TUMBLING; k++)
            check_derivative(&m, tumbling[k].time, tumbling[k + 1].time);
        free(m.keys);
    }
}

static void keys_are_met(void **state)
{
    (void)state;
    for (int smooth = 0; smooth < 2; smooth++) {
        motion m = keyed(tumbling, TUMBLING, smooth);
        for (size_t k = 0; k < TUMBLING; k++) {
            motion_pose pose, one;
            motion_pose_at(&m, tumbling[k].time, &pose);
            motion alone = keyed(&tumbling[k], 1, smooth);
            motion_pose_at(&alone, 0, &one);
            assert_vector(pose.place, tumbling[k].translate, 1e-14, "place at a key");
            for (int i = 0; i < 3; i++)
                assert_vector(pose.rotation[i], one.rotation[i], 1e-14, "turn at a key");
            free(alone.keys);
        }
        free(m.keys);
    }
}

/* The end of one span moves as the start of the next. */
static void smooth_motion_has_no_jumps(void **state)
{
    (void)state;
    motion m = keyed(tumbling, TUMBLING, true);
    const double none[3] = {0}, small = 1e-9;
    for (size_t k = 0; k < TUMBLING; k++) {
        motion_pose before, after;
        motion_pose_at(&m, tumbling[k].time - small, &before);
        motion_pose_at(&m, tumbling[k].time + small, &after);
        assert_vector(before.velocity, after.velocity, 1e-6, "velocity across a key");
        assert_vector(before.spin, after.spin, 1e-6, "spin across a key");
        if (k == 0 || k + 1 == TUMBLING)
            assert_vector(after.spin, none, 1e-6, "spin at the ends");
    }
    free(m.keys);
}

/* A body that holds between two equal keys stays there, and none is passed. */
static void smooth_motion_does_not_overshoot(void **state)
{
    (void)state;
    const motion_point holding[] = {{0, {0}, {0, 0, 1}, 0},
                                    {1, {2, 0, 0}, {0, 0, 1}, 90},
                                    {2, {2, 0, 0}, {0, 0, 1}, 90},
                                    {2.1, {3, 0, 0}, {0, 0, 1}, 400}};
    motion m = keyed(holding, 4, true);
    double last = 0;
    for (double time = 0; time <= 2.2; time += 0.01) {
        motion_pose pose;
        motion_pose_at(&m, time, &pose);
        assert_true(pose.place[0] >= last - 1e-12);
        assert_true(time > 2 || pose.place[0] <= 2 + 1e-12);
        assert_true(pose.spin[2] >= -1e-12);
        if (time > 1 && time < 2)
            assert_true(fabs(pose.rotation[1][0] - 1) < 1e-12);
        last = pose.place[0];
    }
    free(m.keys);
}

/* Slerp between two axes: half the time is half the angle, at constant speed. */
static void linear_turns_are_slerp(void **state)
{
    (void)state;
    const motion_point points[] = {{1, {0}, {1, 0, 0}, 40}, {3, {4, 0, 2}, {0, 1, 0}, 100}};
    motion m = keyed(points, 2, false);
    motion_pose first, later;
    motion_pose_at(&m, 1, &first);
    double speed = sqrt(dot3(first.spin, first.spin));
    quaternion a = quaternion_exp((double[3]){1, 0, 0}, 40 * acos(-1) / 180);
    quaternion b = quaternion_exp((double[3]){0, 1, 0}, 100 * acos(-1) / 180);
    double between[3];
    quaternion_log(quaternion_product(b, quaternion_inverse(a)), between);
    assert_true(fabs(speed - sqrt(dot3(between, between)) / 2) < 1e-12);
    for (double time = 1; time < 3; time += 0.1) {
        motion_pose_at(&m, time, &later);
        assert_vector(later.spin, first.spin, 1e-12, "spin");
    }
    motion_pose_at(&m, 2, &later);
    assert_vector(later.place, (double[3]){2, 0, 1}, 1e-15, "halfway");
    motion_pose_at(&m, 99, &later);
    assert_vector(later.place, points[1].translate, 0, "after the last key");
    assert_vector(later.velocity, (double[3]){0}, 0, "velocity after the last key");
    free(m.keys);
}

static void whole_turns_count(void **state)
{
    (void)state;
    const motion_point turns[] = {{0, {0}, {0, 0, 1}, 0}, {2, {0}, {0, 0, -2}, -720}};
    for (int smooth = 0; smooth < 2; smooth++) {
        motion m = keyed(turns, 2, smooth);
        double angle = 0, step = 1e-4;
        for (double time = step / 2; time < 2; time += step) {
            motion_pose pose;
            motion_pose_at(&m, time, &pose);
            angle += step * pose.spin[2];
        }
        assert_true(fabs(angle - 4 * acos(-1)) < 1e-6);
        free(m.keys);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_rotation_is_omega_cross_r),
        cmocka_unit_test(velocities_are_derivatives),
        cmocka_unit_test(keys_are_met),
        cmocka_unit_test(smooth_motion_has_no_jumps),
        cmocka_unit_test(smooth_motion_does_not_overshoot),
        cmocka_unit_test(linear_turns_are_slerp),
        cmocka_unit_test(whole_turns_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
