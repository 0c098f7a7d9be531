/* Bodies and the snow that meets them (METHOD section 5). */
#include "shape/cmocka_all.h"

#include "shape/make_shape.h"

#include "body_plan.h"
#include "collider/collider.h"
#include "method/time_step.h"

static void check_velocity(const double v[3], double x, double y, double z)
{
    const double expected[3] = {x, y, z};
    for (int i = 0; i < 3; i++)
        if (!(fabs(v[i] - expected[i]) <= 1e-12))
            fail_msg("velocity (%g %g %g) is not (%g %g %g)", v[0], v[1], v[2], x, y, z);
}

/* Snow of velocity v at x and time 0 meets some bodies. */
static bool meet_all(int dimensions, size_t count, const collider *items, const double x[3],
                     double v[3])
{
    collider_set set;
    assert_int_equal(collider_set_create(dimensions, 0.1, items, count, &set), FIRN_OK);
    bool touched = collide_velocity(&set, COLLIDER_ALL, x, v);
    collider_set_clear(&set);
    return touched;
}

/* Snow of velocity v at x and time 0 meets one body, which is then destroyed. */
static bool meet(collider c, const double x[3], double v[3])
{
    bool touched = meet_all(3, 1, &c, x, v);
    shape_destroy(&c.shape);
    return touched;
}

static void moving_bodies_carry_their_distance(void **state)
{
    (void)state;
    collider c = {.shape = sphere(1), .motion.velocity = {2, -1, 0.5}};
    double gradient[3], velocity[3];
    const double x[3] = {8, -3, 1.5};
    collider_pose pose;
    collider_pose_at(&c, 3, &pose);
    assert_true(fabs(collider_distance(&c, &pose, x, gradient, velocity) - 1) < 1e-15);
    check_velocity(gradient, 1, 0, 0);
    check_velocity(velocity, 2, -1, 0.5);
    collider_pose_at(&c, 0, &pose);
    assert_true(collider_distance(&c, &pose, x, NULL, NULL) > 7);
    shape_destroy(&c.shape);
}

static void the_surface_is_inside(void **state)
{
    (void)state;
    const collider ground = {.shape = NULL, .friction = 0};
    collider c = ground;
    double v[3] = {1, -2, 0};
    c.shape = halfspace();
    assert_true(meet(c, (double[3]){5, 0, 5}, v));
    check_velocity(v, 1, 0, 0);
    c.shape = halfspace();
    v[1] = -2;
    assert_false(meet(c, (double[3]){5, 1e-12, 5}, v));
    check_velocity(v, 1, -2, 0);
}

/* Planes have a way of their own: grown, turned and moving, they must be where any shape would be. */
static void planes_are_met_where_they_are(void **state)
{
    (void)state;
    collider c = {.shape = moved(turned(halfspace(), 2, 0.7), 0.2, -0.1, 0),
                  .motion = {.pivot = {0.1, 0.3, 0},
                             .velocity = {1, -2, 0.5},
                             .angular_velocity = {0.4, 0, -1.5}}};
    shape_grow(c.shape, 0.3);
    collider_set set;
    assert_int_equal(collider_set_create(3, 0.1, &c, 1, &set), FIRN_OK);
    assert_int_equal(collider_set_move(&set, 0.6), FIRN_OK);
    int met = 0;
    for (int n = 0; n < 125; n++) {
        const double x[3] = {n % 5 - 2, n / 5 % 5 - 3, n / 25 - 2};
        double gradient[3], velocity[3], v[3];
        double phi = collider_distance(&set.items[0], &set.poses[0], x, gradient, velocity);
        for (int i = 0; i < 3; i++)
            v[i] = velocity[i] - gradient[i];
        assert_int_equal(collide_velocity(&set, COLLIDER_ALL, x, v), phi <= 0);
        met += phi <= 0;
        if (phi <= 0)
            check_velocity(v, velocity[0], velocity[1], velocity[2]);
    }
    assert_true(met > 20 && met < 105);
    collider_set_clear(&set);
    shape_destroy(&c.shape);
}

static void separating_snow_is_left_alone(void **state)
{
    (void)state;
    double v[3] = {3, 0.5, -1};
    assert_true(meet((collider){.shape = halfspace(), .friction = 9}, (double[3]){0, -1, 0}, v));
    check_velocity(v, 3, 0.5, -1);
}

static void friction_has_a_cone(void **state)
{
    (void)state;
    const double x[3] = {0, -0.1, 0};
    double outside[3] = {3, -2, 4}; /* |v_t| = 5 > 0.5 * 2: slides, slowed by 1 */
    meet((collider){.shape = halfspace(), .friction = 0.5}, x, outside);
    check_velocity(outside, 3 * 0.8, 0, 4 * 0.8);
    double within[3] = {0.6, -2, 0.7}; /* |v_t| = 0.92 < 1: holds */
    meet((collider){.shape = halfspace(), .friction = 0.5}, x, within);
    check_velocity(within, 0, 0, 0);
    double edge[3] = {0.6, -2, 0.8}; /* |v_t| = 1 */
    meet((collider){.shape = halfspace(), .friction = 0.5}, x, edge);
    check_velocity(edge, 0, 0, 0);
    double straight[3] = {0, -2, 0};
    meet((collider){.shape = halfspace(), .friction = 0.5}, x, straight);
    check_velocity(straight, 0, 0, 0);
}

static void moving_bodies_push_and_drag(void **state)
{
    (void)state;
    /* A wall comes at 2 m/s; snow at rest is approaching in its frame. */
    double v[3] = {0, 0, 0};
    meet((collider){.shape = turned(halfspace(), 2, -M_PI / 2), .motion.velocity = {2, 0, 0}},
         (double[3]){-0.5, 0, 0}, v);
    check_velocity(v, 2, 0, 0);
    /* A belt under falling snow drags it along by the friction it can give. */
    double falling[3] = {0, -1, 0};
    meet((collider){.shape = halfspace(), .motion.velocity = {5, 0, 0}, .friction = 0.3},
         (double[3]){0, -0.5, 0}, falling);
    check_velocity(falling, 0.3, 0, 0);
}

static void sticky_bodies_hold_whatever_touches_them(void **state)
{
    (void)state;
    double v[3] = {3, 4, 5};
    meet((collider){.shape = halfspace(), .motion.velocity = {1, 0, 0}, .sticky = true},
         (double[3]){0, -1, 0}, v);
    check_velocity(v, 1, 0, 0);
}

static void bodies_act_in_order(void **state)
{
    (void)state;
    collider items[2] = {{.shape = halfspace()}, {.shape = halfspace(), .sticky = true}};
    items[1].motion.velocity[0] = 7;
    double v[3] = {1, -1, 0};
    assert_true(meet_all(3, 2, items, (double[3]){0, 0, 0}, v));
    check_velocity(v, 7, 0, 0);

    collider swapped[2] = {items[1], items[0]};
    swapped[0].motion.velocity[1] = -1; /* pulls down; the second then stops that */
    double w[3] = {1, -1, 0};
    assert_true(meet_all(3, 2, swapped, (double[3]){0, -1, 0}, w));
    check_velocity(w, 7, 0, 0);
    double u[3] = {1, -1, 0};
    assert_true(meet_all(3, 2, (collider[2]){swapped[1], swapped[0]}, (double[3]){0, -1, 0}, u));
    check_velocity(u, 7, -1, 0);
    shape_destroy(&items[0].shape);
    shape_destroy(&items[1].shape);

    assert_false(meet_all(3, 0, NULL, (double[3]){0, 0, 0}, u));
}

/* The slice of a body that is not upright in z: its normal leans out of the plane, snow must
 * not. */
static void normals_lie_in_the_plane_in_2d(void **state)
{
    (void)state;
    collider c = {.shape = moved(sphere(1), 0, 0, 0.8)};
    double v[3] = {-1, -1, 0};
    assert_true(meet_all(2, 1, &c, (double[3]){0.5, 0, 0}, v));
    check_velocity(v, 0, -1, 0);
    shape_destroy(&c.shape);
    c.shape = box(5, 5, 0.1); /* the nearest way out is across the plane: up instead */
    double w[3] = {1, -1, 0};
    assert_true(meet_all(2, 1, &c, (double[3]){0, 0, 0}, w));
    check_velocity(w, 1, 0, 0);
    shape_destroy(&c.shape);
}

static double thickness_of(shape *s, int dimensions)
{
    double thickness = collider_thickness(s, dimensions, 1);
    shape_destroy(&s);
    return thickness;
}

static void assert_thickness(double found, double expected)
{
    if (!(fabs(found - expected) <= 2e-3))
        fail_msg("thickness %g is not %g", found, expected);
}

/* Walls count, wherever they are; edges of thick bodies do not. */
static void thin_walls_are_found(void **state)
{
    (void)state;
    assert_thickness(thickness_of(halfspace(), 3), 1);
    assert_thickness(thickness_of(turned(halfspace(), 0, 0.4), 2), 1);
    assert_thickness(thickness_of(box(5, 5, 5), 3), 1);
    assert_thickness(thickness_of(box(5, 0.1, 5), 3), 0.2);
    assert_thickness(thickness_of(tumbled(box(5, 0.1, 5)), 3), 0.2);
    assert_thickness(thickness_of(box(5, 0.1, INFINITY), 2), 0.2);
    assert_thickness(thickness_of(box(5, 5, 0.1), 2), 1); /* its slice is a large square */
    assert_thickness(thickness_of(sphere(0.15), 3), 0.3);
    assert_thickness(thickness_of(without(sphere(2), sphere(1.9)), 3), 0.1);
    assert_thickness(thickness_of(joined(sphere(1), box(3, 0.05, 3)), 3), 0.1);
    /* A roof: a right angle between two faces that are far apart elsewhere. */
    assert_thickness(thickness_of(common(turned(box(4, 4, 9), 2, M_PI / 4), halfspace()), 3), 1);
    shape *slab =
        common(moved(halfspace(), 0, 0.05, 0), moved(turned(halfspace(), 0, M_PI), 0, 0, 0));
    assert_thickness(thickness_of(slab, 3), 0.05);
}

/* A body at 50 m/s may go 0.4 of a cell in a step, and none is taken from those far away. */
static void fast_bodies_shorten_steps(void **state)
{
    (void)state;
    collider fast = {.shape = box(1, 1, 1), .motion.velocity = {50, 0, 0}};
    collider_set set;
    const double low[3] = {1.05, 0, 0}, high[3] = {3, 1, 1}, away[3] = {9, 9, 9};
    assert_int_equal(collider_set_create(3, 0.1, &fast, 1, &set), FIRN_OK);
    assert_true(set.limits_steps);
    assert_true(fabs(collider_set_step(&set, 0, low, high, 3, 0.4, 1e-2) - 0.04 / 50) < 1e-15);
    assert_true(collider_set_step(&set, 0, away, away, 3, 0.4, 1e-2) == 1e-2);
    collider_set_clear(&set);
    /* A wheel's rim at 2 m, as far as it is in the snow: up to y = 1 here. */
    collider wheel = {.shape = box(0.5, 2, 0.5), .motion.angular_velocity = {0, 0, 10}};
    const double below[3] = {-9, -9, -9}, upto[3] = {9, 0.8, 9};
    assert_int_equal(collider_set_create(3, 0.1, &wheel, 1, &set), FIRN_OK);
    double rim = 10 * hypot(0.5, 2), dt = collider_set_step(&set, 0, below, upto, 0, 0.4, 1e-6);
    assert_true(dt == 1e-6);
    dt = collider_set_step(&set, 0, below, upto, 0, 0.4, 1);
    assert_true(dt <= 0.04 / rim && dt > 0.03 / 20);
    collider_set_clear(&set);
    /* A wall of half a cell: snow and wall together go less than half of it. */
    collider thin = {.shape = box(0.025, 4, 4)};
    assert_int_equal(collider_set_create(3, 0.1, &thin, 1, &set), FIRN_OK);
    assert_true(set.limits_steps);
    dt = collider_set_step(&set, 0, below, upto, 8, 0.4, 1);
    assert_true(fabs(dt * 8 / 0.05 - 0.4) < 0.02);
    collider_set_clear(&set);
    shape_destroy(&thin.shape);
    shape_destroy(&wheel.shape);
    shape_destroy(&fast.shape);
}

/* Steps go from one to the next up to the frame, with every body where it is then. */
static void plans_lead_to_the_frame(void **state)
{
    (void)state;
    const firn_settings settings = {.fps = 50, .travel = 0.4, .retries = 10};
    const double frame_time = 0.02;
    collider items[2] = {{.shape = halfspace()},
                         {.shape = sphere(1), .motion.velocity = {50, 0, 0}}};
    collider_set set;
    assert_int_equal(collider_set_create(3, 0.1, items, 2, &set), FIRN_OK);
    body_plan_start start = {.settings = &settings,
                             .time = 0.0012,
                             .frame_time = frame_time,
                             .stable = 3e-3,
                             .low = {1.05, 0, 0},
                             .high = {3, 1, 1}};
    body_plan plan;
    assert_int_equal(body_plan_make(&set, &start, 1000, &plan), FIRN_OK);
    assert_in_range(plan.steps, 24, 999);
    double time = start.time;
    for (size_t k = 0; k < plan.steps; k++) {
        const body_step *s = &plan.step[k];
        assert_true(s->time == time && s->stable == start.stable);
        assert_true(fabs(s->allowed - 0.04 / 50) < 1e-15 && fabs(s->speed - 50) < 1e-12);
        assert_true(fabs(plan.poses[2 * k + 1].at.shift[0] - 50 * time) < 1e-12);
        double dt = time_step_to_land(time, frame_time, s->allowed);
        time = time_step_end(time, frame_time, dt);
    }
    assert_true(time == frame_time);
    body_plan_clear(&plan);
    assert_int_equal(body_plan_make(&set, &start, 3, &plan), FIRN_OK);
    assert_int_equal(plan.steps, 3);
    body_plan_clear(&plan);
    collider_set_clear(&set);
    shape_destroy(&items[0].shape);
    shape_destroy(&items[1].shape);
}

/* Before a thin wall a step depends on how fast snow is: what is planned holds for any speed, and comes to what
 * collider_set_step says. */
static void thin_walls_are_planned(void **state)
{
    (void)state;
    const firn_settings settings = {.fps = 50, .travel = 0.4, .retries = 10};
    collider items[3] = {{.shape = box(0.025, 4, 4), .motion.velocity = {2, 0, 0}},
                         {.shape = sphere(1)},
                         {.shape = box(4, 0.02, 4)}};
    collider_set set;
    assert_int_equal(collider_set_create(3, 0.1, items, 3, &set), FIRN_OK);
    body_plan_start start = {.settings = &settings,
                             .frame_time = 0.02,
                             .stable = 3e-3,
                             .snow_speed = 8,
                             .low = {0.1, 0, 0},
                             .high = {3, 1, 1}};
    body_plan plan;
    assert_int_equal(body_plan_make(&set, &start, 1000, &plan), FIRN_OK);
    assert_in_range(plan.steps, 0.02 / (0.4 * 0.04 / 8), 0.02 / (0.4 * 0.04 / 8) * 33 / 32 + 2);
    double time = 0;
    for (size_t k = 0; k < plan.steps; k++) {
        const body_step *s = &plan.step[k];
        assert_true(s->time == time && s->allowed == start.stable);
        assert_int_equal(s->walls, 2);
        for (double speed = 0; speed < 100; speed += 3.7)
            assert_true(collider_walls_step(plan.walls + 3 * k, 2, speed, s->allowed) ==
                        collider_set_step(&set, time, start.low, start.high, speed, 0.4, 3e-3));
        double dt = collider_set_step(&set, time, start.low, start.high, 8, 0.4, 3e-3);
        time = time_step_end(time, 0.02, time_step_to_land(time, 0.02, dt));
    }
    assert_true(time == 0.02);
    body_plan_clear(&plan);
    collider_set_clear(&set);
    for (int n = 0; n < 3; n++)
        shape_destroy(&items[n].shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moving_bodies_carry_their_distance),
        cmocka_unit_test(the_surface_is_inside),
        cmocka_unit_test(planes_are_met_where_they_are),
        cmocka_unit_test(separating_snow_is_left_alone),
        cmocka_unit_test(friction_has_a_cone),
        cmocka_unit_test(moving_bodies_push_and_drag),
        cmocka_unit_test(sticky_bodies_hold_whatever_touches_them),
        cmocka_unit_test(bodies_act_in_order),
        cmocka_unit_test(normals_lie_in_the_plane_in_2d),
        cmocka_unit_test(thin_walls_are_found),
        cmocka_unit_test(fast_bodies_shorten_steps),
        cmocka_unit_test(plans_lead_to_the_frame),
        cmocka_unit_test(thin_walls_are_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
