/* Surfaces: where rays meet them, what they are made of, and light that neither grows nor is lost. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "render/phase.h"
#include "render/surface_body.h"
#include "render/surface_scatter.h"
#include "render/trace.h"

static const double origin[3] = {10, -3, 2}; /* pictures do not live at the world's origin */
static const surface_material white = {.kind = SURFACE_DIFFUSE, .colour = {1, 1, 1}};

/* A ball of radius 0.5 at the origin of the picture. */
static double ball_distance(const void *user, const double world[3])
{
    (void)user;
    double x = world[0] - origin[0], y = world[1] - origin[1], z = world[2] - origin[2];
    return sqrt(x * x + y * y + z * z) - 0.5;
}

/* A box of half sides 0.6, 0.25, 0.4 there. */
static double box_distance(const void *user, const double world[3])
{
    (void)user;
    const double half[3] = {0.6, 0.25, 0.4};
    double outside = 0, inside = -INFINITY;
    for (int a = 0; a < 3; a++) {
        double d = fabs(world[a] - origin[a]) - half[a];
        outside += d > 0 ? d * d : 0;
        inside = fmax(inside, d);
    }
    return outside > 0 ? sqrt(outside) : inside;
}

static surface_set *make_body(surface_distance_fn *distance, double reach,
                              const surface_material *material)
{
    surface_set *set = NULL;
    double low[3], high[3];
    for (int a = 0; a < 3; a++)
        low[a] = origin[a] - reach, high[a] = origin[a] + reach;
    assert_int_equal(surface_set_create(origin, &set), FIRN_OK);
    assert_int_equal(surface_add_distance(set, distance, NULL, low, high, material), FIRN_OK);
    assert_int_equal(surface_commit(set), FIRN_OK);
    return set;
}

static vec3 random_direction(trace_random *r)
{
    float u[2];
    random_pair(r, u);
    return frame_direction((vec3){0, 0, 1}, 2 * u[0] - 1, u[1]);
}

/* ---- Where -------------------------------------------------------------------------------------- */

static float ball_meets(vec3 start, vec3 d)
{
    float along = -vec_dot(start, d), room = 0.25f - vec_dot(start, start) + along * along;
    return room < 0 || along < 0 ? INFINITY : along - sqrtf(room);
}

/* By slabs; also the axis of the face. */
static float box_meets(vec3 start, vec3 d, int *face)
{
    const float half[3] = {0.6f, 0.25f, 0.4f}, x[3] = {start.x, start.y, start.z},
                v[3] = {d.x, d.y, d.z};
    float near = 0, far = INFINITY;
    for (int a = 0; a < 3; a++) {
        float t0 = (-half[a] - x[a]) / v[a], t1 = (half[a] - x[a]) / v[a];
        if (fminf(t0, t1) > near)
            near = fminf(t0, t1), *face = a;
        far = fminf(far, fmaxf(t0, t1));
    }
    return near < far ? near : INFINITY;
}

/* Bounded bodies (meshed, with Embree) and unbounded ones (stepped) against closed forms. */
static void test_bodies_are_where_they_are(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        bool box = kind & 1, bounded = kind & 2;
        surface_set *set = make_body(box ? box_distance : ball_distance,
                                     bounded ? (box ? 0.6 : 0.5) : INFINITY, &white);
        trace_random r = random_start(1, (uint64_t)kind, 0);
        int missed = 0, wrong = 0, turned = 0, hits = 0;
        float farthest = 0;
        for (int i = 0; i < 20000; i++) {
            vec3 start = vec_scale(random_direction(&r), 2);
            vec3 target = vec_scale(random_direction(&r), 0.5f * random_float(&r));
            vec3 d = vec_unit(vec_sub(target, start));
            int face = 0;
            float expected = box ? box_meets(start, d, &face) : ball_meets(start, d);
            surface_hit hit;
            bool met = surface_meet(set, start, d, INFINITY, &hit);
            bool blocked = surface_passes(set, start, d, INFINITY).x == 0;
            assert_true(met == blocked);
            if (met != (expected < INFINITY)) {
                missed++; /* only at the very rim */
                continue;
            }
            if (!met)
                continue;
            hits++;
            vec3 x = vec_add(start, vec_scale(d, hit.t));
            float off = fabsf(hit.t - expected) * fabsf(vec_dot(d, hit.normal));
            farthest = fmaxf(farthest, off);
            wrong += off > 1e-3f;
            const float n[3] = {fabsf(hit.normal.x), fabsf(hit.normal.y), fabsf(hit.normal.z)};
            turned += box ? n[face] < 0.999f : vec_dot(hit.normal, vec_unit(x)) < 0.999f;
            assert_false(surface_meet(set, start, d, hit.t * 0.99f, &hit));
        }
        printf("%s %s: %d hits, %d missed, farthest off %.1e m, %d normals off\n",
               bounded ? "bounded" : "unbounded", box ? "box" : "ball", hits, missed,
               (double)farthest, turned);
        assert_true(hits > 15000 && missed < 10 && wrong < hits / 500 && turned < hits / 300);
        assert_true(farthest < 2e-3f); /* a fifth of the mesh's cells, at the box's corners */
        surface_set_destroy(&set);
    }
}

static void test_clearance_is_safe(void **state)
{
    (void)state;
    surface_set *set = make_body(box_distance, 0.6, &white);
    assert_int_equal(surface_add_plane(set, (vec3){0, -0.4f, 0}, (vec3){0, 1, 0}, &white), FIRN_OK);
    trace_random r = random_start(8, 0, 0);
    double total = 0;
    for (int i = 0; i < 20000; i++) {
        vec3 x = vec_scale(random_direction(&r), 1.2f * random_float(&r));
        float clear = surface_clearance(set, x);
        surface_hit hit;
        if (clear > 0)
            assert_false(surface_meet(set, x, random_direction(&r), clear, &hit));
        total += clear;
    }
    assert_true(total / 20000 > 0.1);
    surface_set_destroy(&set);
}

/* A path that leaves a surface does not meet it again at once. */
static void test_leaving_a_surface(void **state)
{
    (void)state;
    surface_set *set = make_body(ball_distance, 0.5, &white);
    trace_random r = random_start(3, 0, 0);
    int again = 0;
    for (int i = 0; i < 20000; i++) {
        vec3 start = vec_scale(random_direction(&r), 1.5f);
        vec3 d = vec_unit(vec_sub(vec_scale(random_direction(&r), 0.4f), start));
        surface_hit hit, second;
        if (!surface_meet(set, start, d, INFINITY, &hit))
            continue;
        vec3 out = random_direction(&r);
        if (vec_dot(out, hit.normal) < 0.05f)
            continue;
        again += surface_meet(set, surface_leave(&hit, start, d, out), out, INFINITY, &second);
    }
    assert_int_equal(again, 0);
    surface_set_destroy(&set);
}

static void test_scenes_become_surfaces(void **state)
{
    (void)state;
    const char *text = "simulation: {cell_size: 0.01}\n"
                       "snow: [{shape: {sphere: {center: [0, 1, 0], radius: 0.1}}}]\n"
                       "colliders:\n"
                       "  - shape: {plane: {point: [0, 0.2, 0], normal: [0, 1, 0.5]}}\n"
                       "    velocity: [0, 1, 0]\n"
                       "  - shape: {box: {center: [1, 1, 0], size: [0.4, 0.6, 0.8]}}\n"
                       "    velocity: [0, 0, 2]\n";
    firn_scene *scene = NULL;
    surface_set *set = NULL;
    const double at[3] = {0.5, 0.5, 0};
    const surface_material checker = {.colour = {1, 1, 1}, .other = {0, 0, 0}, .square = 0.25f};
    const surface_material materials[2] = {checker, white};
    if (firn_scene_parse(text, "test", NULL, 0, &scene) != FIRN_OK)
        fail_msg("%s", firn_last_error());
    assert_int_equal(surface_set_create(at, &set), FIRN_OK);
    assert_int_equal(surface_add_scene(set, scene, 0.5, materials), FIRN_OK);
    assert_int_equal(surface_commit(set), FIRN_OK);
    surface_hit hit;
    /* The plane has risen to y = 0.7 at the origin. */
    assert_true(surface_meet(set, (vec3){-0.4f, 2, 0.3f}, (vec3){0, -1, 0}, 10, &hit));
    assert_true(fabsf(0.5f + 2 - hit.t - (0.7f - 0.5f * 0.3f)) < 1e-4f);
    assert_true(fabsf(hit.normal.z / hit.normal.y - 0.5f) < 1e-4f);
    int light = 0;
    for (int i = 0; i < 4000; i++) {
        vec3 start = {-3 + 0.001f * (float)i, 5, -0.7f * 0.001f * (float)i};
        light += surface_meet(set, start, (vec3){0, -1, 0}, 20, &hit) && hit.colour.x == 1;
    }
    assert_true(light > 1700 && light < 2300);
    /* The box has gone to z = 1, its near face at 0.6. */
    assert_true(surface_meet(set, (vec3){0.5f, 0.55f, 0.2f}, (vec3){0, 0, 1}, 10, &hit));
    assert_true(fabsf(0.2f + hit.t - 0.6f) < 1e-3f && hit.normal.z < -0.99f);
    surface_set_destroy(&set);
    firn_scene_destroy(&scene);
}

/* ---- What of ------------------------------------------------------------------------------------ */

/* A way that is drawn is as likely as its pdf, and what is drawn and what is asked agree. */
static void test_scattering_is_consistent(void **state)
{
    (void)state;
    enum { N = 200000 };
    const surface_material kinds[] = {
        {.kind = SURFACE_DIFFUSE, .colour = {0.5f, 0.5f, 0.5f}, .roughness = 0.2f, .ior = 1.5f},
        {.kind = SURFACE_GLOSSY, .colour = {0.5f, 0.5f, 0.5f}, .roughness = 0.5f, .ior = 1.5f},
        {.kind = SURFACE_GLOSSY, .colour = {0, 0, 0}, .roughness = 0.9f, .ior = 2.5f}};
    for (int k = 0; k < 3; k++)
        for (int a = 0; a < 2; a++) {
            surface_hit hit = {
                .normal = {0, 1, 0}, .material = &kinds[k], .colour = kinds[k].colour};
            vec3 ray = vec_unit(a ? (vec3){0.9f, -0.5f, 0.2f} : (vec3){0.1f, -1, 0});
            trace_random r = random_start(1, (uint64_t)k, (uint64_t)a);
            double drawn = 0, even = 0, whole = 0, upper = 0, upper_pdf = 0;
            for (int i = 0; i < N; i++) {
                surface_way way;
                float pdf, u[2];
                if (surface_scatter(&hit, ray, &r, &way)) {
                    assert_true(way.direction.y > 0 && way.pdf > 0);
                    drawn += way.weight.x;
                    upper += way.direction.x > 0.5f;
                }
                random_pair(&r, u);
                vec3 d = frame_direction((vec3){0, 1, 0}, u[0], u[1]);
                even += surface_value(&hit, ray, d, &pdf).x * 2 * M_PI;
                whole += pdf * 2 * M_PI;
                upper_pdf += d.x > 0.5f ? pdf * 2 * M_PI : 0;
            }
            printf("material %d at angle %d: %.4f drawn, %.4f even, pdf %.4f\n", k, a, drawn / N,
                   even / N, whole / N);
            assert_true(fabs(drawn - even) / N < 0.01 && drawn / N < 1);
            assert_true(whole / N < 1.02 && whole / N > (k == 0 ? 0.98 : 0.85));
            assert_true(fabs(upper - upper_pdf) / N < 0.015);
        }
}

static void test_fresnel(void **state)
{
    (void)state;
    assert_true(fabsf(surface_mirror(1, 1.5f) - 0.04f) < 1e-5f);
    assert_true(fabsf(surface_mirror(1, 1 / 1.5f) - 0.04f) < 1e-5f);
    assert_true(surface_mirror(0.001f, 1.5f) > 0.98f);
    assert_true(surface_mirror(0.7f, 1 / 1.5f) == 1); /* beyond the critical angle, 48.2 degrees */
    /* Mean over polarisations at 60 degrees, from the two of them: r_s^2 = 0.1766, r_p^2 = 0.0018 */
    assert_true(fabsf(surface_mirror(0.5f, 1.5f) - 0.0892f) < 2e-4f);
}

static double furnace(const surface_set *set, const volume *snow, double *error)
{
    enum { N = 20000 };
    const light_source constant = {.kind = LIGHT_CONSTANT, .colour = {1, 1, 1}};
    light_set *lights = NULL;
    assert_int_equal(light_set_create(&constant, 1, &lights), FIRN_OK);
    const trace_scene scene = {
        .surfaces = set,
        .lights = lights,
        .snow = snow,
        .medium = {.custom = true, .albedo = {1, 1, 1}, .mean_cosine = 0.5f}};
    trace_random r = random_start(5, 0, 0);
    double sum = 0, square = 0;
    for (int i = 0; i < N; i++) {
        vec3 start = vec_scale(random_direction(&r), 3);
        vec3 d = vec_unit(vec_sub(vec_scale(random_direction(&r), 0.6f), start));
        float light = trace_radiance(&scene, (trace_ray){start, d}, (uint64_t)i, 0).x;
        sum += light, square += light * light;
    }
    light_set_destroy(&lights);
    *error = sqrt(fmax(square / N - sum / N * sum / N, 0) / N);
    return sum / N;
}

/* White bodies, clear glass, and snow lying on a body, in light from everywhere, cannot be seen. */
static void test_furnace_with_bodies(void **state)
{
    (void)state;
    const surface_material glass = {.kind = SURFACE_GLASS, .colour = {1, 1, 1}, .ior = 1.5f};
    double error;
    surface_set *set = make_body(box_distance, 0.6, &white);
    double value = furnace(set, NULL, &error);
    assert_true(fabs(value - 1) < 4 * error + 1e-4);
    surface_set_destroy(&set);
    set = make_body(ball_distance, 0.5, &glass);
    value = furnace(set, NULL, &error);
    assert_true(fabs(value - 1) < 4 * error + 1e-4);
    surface_set_destroy(&set);
    float nodes[20 * 20 * 20] = {0};
    for (int n = 0; n < 8000; n++)
        if (n % 20 > 1 && n % 20 < 18 && n / 20 % 20 > 1 && n / 20 % 20 < 18 && n / 400 > 1 &&
            n / 400 < 18)
            nodes[n] = 15;
    volume *snow = NULL;
    const int size[3] = {20, 20, 20};
    assert_int_equal(volume_create_from_nodes(nodes, size, (vec3){-0.5f, 0, -0.5f}, 0.05f, &snow),
                     FIRN_OK);
    set = make_body(box_distance, 0.6, &white);
    value = furnace(set, snow, &error);
    printf("furnace of snow on a box: %.4f +- %.4f\n", value, error);
    assert_true(fabs(value - 1) < 4 * error + 1e-4 && error < 0.01);
    surface_set_destroy(&set);
    volume_destroy(&snow);
}

static void test_nonsense_is_refused(void **state)
{
    (void)state;
    const surface_material bad[] = {{.colour = {2, 0, 0}},
                                    {.colour = {NAN, 0, 0}},
                                    {.square = -1},
                                    {.roughness = 3},
                                    {.ior = 0.5f}};
    surface_set *set = NULL;
    assert_int_equal(surface_set_create(origin, &set), FIRN_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(surface_add_plane(set, (vec3){0, 0, 0}, (vec3){0, 1, 0}, &bad[i]),
                         FIRN_USAGE);
    surface_set_destroy(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies_are_where_they_are),
        cmocka_unit_test(test_clearance_is_safe),
        cmocka_unit_test(test_leaving_a_surface),
        cmocka_unit_test(test_scenes_become_surfaces),
        cmocka_unit_test(test_scattering_is_consistent),
        cmocka_unit_test(test_fresnel),
        cmocka_unit_test(test_furnace_with_bodies),
        cmocka_unit_test(test_nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
