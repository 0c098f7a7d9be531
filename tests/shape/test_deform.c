/* Bodies that deform: what is between two keys, against what the body is; files and their faults. */
#include "shape/cmocka_all.h"

#include "body_plan.h"
#include "collider/collider.h"
#include "io/vdb.h"
#include "method/time_step.h"
#include "shape/make_sequence.h"
#include "shape/sample.h"

#define FIRN_DIM 3
#define REAL_DOUBLE
#include "collider/meet.h"

static const double CELL = 0.01;

static firn_status try_files(const mesh_sequence_request *request, double budget, deform **out)
{
    deform_request how = {
        .voxel = CELL / 2, .cell = CELL, .budget = budget, .shell = request->open ? CELL : 0};
    mesh_sequence *sequence;
    *out = NULL;
    firn_status status = mesh_sequence_open(request, &sequence);
    return status == FIRN_OK ? deform_create(sequence, &how, out) : status;
}

static mesh_sequence_request files_of(const char *name)
{
    return (mesh_sequence_request){.file = sequence_path(name), .fps = 10, .scale = 1};
}

static deform *body_of(const char *name, double budget)
{
    deform *d;
    mesh_sequence_request request = files_of(name);
    if (try_files(&request, budget, &d) != FIRN_OK)
        fail_msg("%s", firn_last_error());
    return d;
}

static void direction(uint64_t n, double u[3])
{
    double z = 2 * random_unit(8, 2 * n) - 1, turn = 2 * M_PI * random_unit(8, 2 * n + 1);
    double r = sqrt(1 - z * z);
    u[0] = r * cos(turn);
    u[1] = r * sin(turn);
    u[2] = z;
}

static ball between(const ball *a, const ball *b, double g)
{
    ball c = {.radius = (1 - g) * a->radius + g * b->radius};
    for (int i = 0; i < 3; i++)
        c.center[i] = (1 - g) * a->center[i] + g * b->center[i];
    return c;
}

/* The farthest that phi is from 0 on the surface of a ball, in cells: as the body is found, and by the
 * plain average of both keys. */
static void look_at_surface(deform *d, double time, const ball *b, double *advected, double *plain)
{
    deform_pose pose;
    assert_int_equal(deform_hold(d, time, &pose), FIRN_OK);
    *advected = *plain = 0;
    for (uint64_t n = 0; n < 3000; n++) {
        double u[3], x[3];
        direction(n, u);
        for (int i = 0; i < 3; i++)
            x[i] = b->center[i] + b->radius * u[i];
        double average = (1 - pose.blend) * level_set_distance(pose.from->set, x, NULL) +
                         pose.blend * level_set_distance(pose.to->set, x, NULL);
        *advected = fmax(*advected, fabs(deform_look(&pose, x, NULL, NULL)) / CELL);
        *plain = fmax(*plain, fabs(average) / CELL);
    }
    deform_let_go(d, &pose);
}

/* Two cells from frame to frame: one interval, looked at in its middle. */
static void test_halfway(void **state)
{
    (void)state;
    const ball moving[2] = {{4 * CELL, {0}}, {4 * CELL, {2 * CELL, 0, 0}}};
    const ball growing[2] = {{4 * CELL, {0}}, {6 * CELL, {0}}};
    const ball both[2] = {{4 * CELL, {0}}, {5 * CELL, {0, 0.6 * CELL, 0.8 * CELL}}};
    const ball *const kinds[3] = {moving, growing, both};
    for (int k = 0; k < 3; k++) {
        write_balls("half", kinds[k], 2, 40);
        deform *d = body_of("half_####.obj", 0);
        ball middle = between(&kinds[k][0], &kinds[k][1], 0.5);
        double advected, plain;
        look_at_surface(d, 0.05, &middle, &advected, &plain);
        printf("halfway: %.4f cells off; by averages %.4f\n", advected, plain);
        assert_true(advected < 0.1);
        assert_true(k != 0 || plain > 0.1);
        deform_release(&d);
    }
}

/* Twelve cells from frame to frame are cut into intervals; anywhere between them. */
static void test_far(void **state)
{
    (void)state;
    const ball far[3] = {
        {6 * CELL, {0}}, {9 * CELL, {9 * CELL, 0, 0}}, {12 * CELL, {18 * CELL, 0, 0}}};
    write_balls("far", far, 3, 40);
    deform *d = body_of("far_####.obj", 0);
    for (double g = 0; g < 1; g += 0.0703125) {
        ball now = between(&far[0], &far[1], g);
        double advected, plain;
        look_at_surface(d, g / 10, &now, &advected, &plain);
        assert_true(advected < 0.1);
    }
    assert_true(fabs(deform_speed(d, 0, 0.2) - 1.2) < 1e-3);
    assert_true(deform_speed(d, 0.2, 1) == 0 && deform_speed(d, -1, -0.1) == 0);
    deform_release(&d);
}

/* Anywhere about a body: the right side, never farther than the surface is; near it the normal and
 * the velocity. */
static void test_around(void **state)
{
    (void)state;
    const ball frames[2] = {{6 * CELL, {0}}, {8 * CELL, {1 * CELL, 0, 0}}};
    write_balls("around", frames, 2, 40);
    deform *d = body_of("around_####.obj", 0);
    const double g = 0.3, tiny = 0.02 * CELL;
    ball now = between(&frames[0], &frames[1], g);
    deform_pose pose;
    assert_int_equal(deform_hold(d, g / 10, &pose), FIRN_OK);
    for (uint64_t n = 0; n < 20000; n++) {
        double u[3], x[3], normal[3], v[3], away = (12 * random_unit(3, n) - 6) * CELL;
        direction(n, u);
        for (int i = 0; i < 3; i++)
            x[i] = now.center[i] + (now.radius + away) * u[i];
        double phi = deform_look(&pose, x, normal, v);
        assert_true(fabs(away) < tiny || phi == 0 || (phi < 0) == (away < 0));
        assert_true(fabs(phi) <= fabs(away) + 0.1 * CELL);
        if (fabs(away) > 1.5 * CELL)
            continue;
        assert_true(fabs(phi - away) < 0.1 * CELL);
        double along = 0, error = 0, grows = (frames[1].radius - frames[0].radius) * 10;
        for (int i = 0; i < 3; i++) {
            double exact = 10 * frames[1].center[i] + grows * u[i];
            along += normal[i] * u[i];
            error += (v[i] - exact) * (v[i] - exact);
        }
        assert_true(along > cos(2 * M_PI / 180));
        assert_true(sqrt(error) < 0.05 * grows);
    }
    deform_let_go(d, &pose);
    deform_release(&d);
}

/* ---- Momentum -------------------------------------------------------------------------------- */

/* Grains of snow around a ball that moves or grows for a second, each of them pushed by it: by keys, or
 * by the ball as it is. Returns the momentum that they get, outward, and along x. */
static void push(deform *d, const ball *from, const ball *to, double friction, double sum[2])
{
    enum { GRAINS = 4000, STEPS = 400 };
    static double x[GRAINS][3], v[GRAINS][3];
    collider body = {.deform = d, .friction = friction};
    collider_set set;
    assert_int_equal(collider_set_create(3, CELL, &body, d ? 1 : 0, &set), FIRN_OK);
    for (int n = 0; n < GRAINS; n++) {
        direction((uint64_t)n, x[n]);
        double far = from->radius + (0.1 + 2.9 * random_unit(5, (uint64_t)n)) * CELL;
        for (int i = 0; i < 3; i++) {
            x[n][i] = from->center[i] + far * x[n][i];
            v[n][i] = 0.5 * CELL * (2 * random_unit(6, (uint64_t)(3 * n + i)) - 1);
        }
    }
    sum[0] = sum[1] = 0;
    for (int step = 0; step < STEPS; step++) {
        double time = (double)step / STEPS;
        ball now = between(from, to, time);
        assert_int_equal(collider_set_move(&set, time / 10), FIRN_OK);
        for (int n = 0; n < GRAINS; n++) {
            const double before[3] = {v[n][0], v[n][1], v[n][2]};
            double u[3], length = 0;
            for (int i = 0; i < 3; i++) {
                u[i] = x[n][i] - now.center[i];
                length += u[i] * u[i];
            }
            length = sqrt(length);
            if (d) {
                for (int i = 0; i < 3; i++)
                    v[n][i] *= 10; /* the keys are for a tenth of a second */
                collide_velocity(&set, COLLIDER_ALL, x[n], v[n]);
                for (int i = 0; i < 3; i++)
                    v[n][i] /= 10;
            } else if (length <= now.radius) {
                vec snow, surface, normal;
                for (int i = 0; i < 3; i++) {
                    normal.e[i] = u[i] / length;
                    snow.e[i] = v[n][i];
                    surface.e[i] =
                        to->center[i] - from->center[i] + (to->radius - from->radius) * normal.e[i];
                }
                vec met = collide_response(snow, surface, normal, friction, false);
                memcpy(v[n], met.e, sizeof met.e);
            }
            for (int i = 0; i < 3; i++) {
                sum[0] += (v[n][i] - before[i]) * u[i] / length;
                sum[1] += i == 0 ? v[n][i] - before[i] : 0;
                x[n][i] += v[n][i] / STEPS;
            }
        }
    }
    collider_set_clear(&set);
}

static void test_momentum(void **state)
{
    (void)state;
    const ball moving[2] = {{6 * CELL, {0}}, {6 * CELL, {4 * CELL, 0, 0}}};
    const ball growing[2] = {{6 * CELL, {0}}, {9 * CELL, {0}}};
    const ball *const kinds[2] = {moving, growing};
    for (int k = 0; k < 2; k++)
        for (int rough = 0; rough < 2; rough++) {
            const ball *b = kinds[k];
            double exact[2], found[2];
            write_balls("push", b, 2, 40);
            deform *d = body_of("push_####.obj", 0);
            push(NULL, &b[0], &b[1], 0.4 * rough, exact);
            push(d, &b[0], &b[1], 0.4 * rough, found);
            printf("%s: outward %.5g, exact %.5g; along x %.5g, exact %.5g\n",
                   k ? "growing" : "moving", found[0], exact[0], found[1], exact[1]);
            assert_true(fabs(found[0] / exact[0] - 1) < 0.05);
            assert_true(k == 1 || fabs(found[1] / exact[1] - 1) < 0.05);
            deform_release(&d);
        }
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void test_memory(void **state)
{
    (void)state;
    enum { FRAMES = 12 };
    ball frames[FRAMES];
    for (int k = 0; k < FRAMES; k++)
        frames[k] = (ball){5 * CELL, {k * CELL, 0.2 * k * CELL, 0}};
    write_balls("memory", frames, FRAMES, 20);
    deform *lean = body_of("memory_####.obj", 0), *rich = body_of("memory_####.obj", 1e9);
    assert_true(deform_memory(lean) == 0); /* nothing is made before it is needed */
    assert_true(deform_fingerprint(lean) == deform_fingerprint(rich));
    double most = 0, one = 0;
    for (int way = 0; way < 2; way++)
        for (int k = 0; k <= 110; k++) {
            double time = (way ? 110 - k : k) * 0.01;
            deform_pose a, b;
            assert_int_equal(deform_hold(lean, time, &a), FIRN_OK);
            assert_int_equal(deform_hold(rich, time, &b), FIRN_OK);
            const double x[3] = {0.1, 0.01, 0.02};
            assert_true(deform_look(&a, x, NULL, NULL) == deform_look(&b, x, NULL, NULL));
            if (k == 0 && way == 0)
                one = deform_memory(lean) / 2;
            most = fmax(most, deform_memory(lean));
            deform_let_go(lean, &a);
            deform_let_go(rich, &b);
        }
    printf("a key %.0f bytes, at most %.0f at a time; all %.0f\n", one, most, deform_memory(rich));
    assert_true(most < 2.5 * one);
    assert_true(deform_memory(rich) > 10 * one);
    deform_release(&lean);
    deform_release(&rich);
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Steps are planned up to where the keys change. */
static void test_plan(void **state)
{
    (void)state;
    const ball frames[3] = {
        {5 * CELL, {0, 0, 0}}, {5 * CELL, {CELL, 0, 0}}, {5 * CELL, {2 * CELL, 0, 0}}};
    write_balls("plan", frames, 3, 20);
    deform *d = body_of("plan_####.obj", 0);
    const collider item = {.deform = d};
    const firn_settings settings = {.fps = 1, .travel = 0.4, .retries = 10};
    collider_set set;
    assert_int_equal(collider_set_create(3, CELL, &item, 1, &set), FIRN_OK);
    const body_plan_start start = {.settings = &settings,
                                   .time = 0.01,
                                   .frame_time = 1,
                                   .stable = 1e-3,
                                   .low = {-1, -1, -1},
                                   .high = {1, 1, 1}};
    body_plan plan;
    assert_int_equal(body_plan_make(&set, &start, 1000, &plan), FIRN_OK);
    assert_in_range(plan.steps, 2, 100);
    const deform_pose first = plan.poses[0].deform;
    for (size_t k = 0; k < plan.steps; k++)
        assert_true(plan.poses[k].deform.from == first.from && plan.poses[k].deform.to == first.to);
    const body_step last = plan.step[plan.steps - 1];
    double next = time_step_end(last.time, 1, time_step_to_land(last.time, 1, last.allowed));
    deform_pose after;
    assert_int_equal(deform_hold(d, next, &after), FIRN_OK);
    assert_true(after.from == first.to);
    deform_let_go(d, &after);
    body_plan_clear(&plan);
    collider_set_clear(&set);
    deform_release(&d);
}

static void put_u32(FILE *out, uint32_t value, bool big)
{
    for (int k = 0; k < 4; k++)
        fputc((int)(value >> 8 * (big ? 3 - k : k) & 0xFF), out);
}

static void put_f32(FILE *out, double value, bool big)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    put_u32(out, bits, big);
}

/* The first `samples` of these balls, of which the header claims `told`. */
static void write_cache(const char *name, bool mdd, const ball *frames, int samples, int told)
{
    FILE *out = fopen(sequence_path(name), "wb");
    triangle_mesh first = mesh_of(&frames[0], 20);
    if (!mdd) {
        fwrite("POINTCACHE2", 1, 12, out);
        put_u32(out, 1, false);
        put_u32(out, (uint32_t)first.vertex_count, false);
        put_f32(out, 1, false);
        put_f32(out, 1, false);
        put_u32(out, (uint32_t)told, false);
    } else {
        put_u32(out, (uint32_t)told, true);
        put_u32(out, (uint32_t)first.vertex_count, true);
        for (int k = 0; k < told; k++)
            put_f32(out, 7 + 0.1 * k, true);
    }
    for (int k = 0; k < samples; k++) {
        triangle_mesh m = mesh_of(&frames[k], 20);
        for (size_t v = 0; v < m.vertex_count; v++)
            for (int i = 0; i < 3; i++)
                put_f32(out, m.vertices[v][i], mdd);
        mesh_clear(&m);
    }
    mesh_clear(&first);
    fclose(out);
}

static const ball THREE[3] = {{5e-2, {0}}, {6e-2, {0.01, 0, 0}}, {6e-2, {0.01, 0.02, 0}}};

static void test_formats(void **state)
{
    (void)state;
    write_balls("ball", THREE, 3, 20);
    write_cache("ball.pc2", false, THREE, 3, 3);
    write_cache("ball.mdd", true, THREE, 3, 3);
    deform *d[3] = {body_of("ball_####.obj", 1e9)};
    for (int k = 1; k < 3; k++) {
        mesh_sequence_request request = files_of("ball_0002.obj"); /* any of them has the faces */
        request.cache = sequence_path(k == 1 ? "ball.pc2" : "ball.mdd");
        if (try_files(&request, 1e9, &d[k]) != FIRN_OK)
            fail_msg("%s", firn_last_error());
    }
    for (uint64_t n = 0; n < 3000; n++) {
        double x[3], phi[3];
        direction(n, x);
        for (int i = 0; i < 3; i++)
            x[i] *= 0.05 + 0.03 * random_unit(4, n);
        for (int k = 0; k < 3; k++) {
            deform_pose pose;
            assert_int_equal(deform_hold(d[k], 0.25 * random_unit(5, n / 300), &pose), FIRN_OK);
            phi[k] = deform_look(&pose, x, NULL, NULL);
            deform_let_go(d[k], &pose);
        }
        assert_true(fabs(phi[1] - phi[0]) < 1e-6 && fabs(phi[2] - phi[0]) < 1e-6);
    }
    for (int k = 0; k < 3; k++)
        deform_release(&d[k]);
}

/* A ball without its top: the rim is a circle, and the fan that closes it a disc that moves along. */
static void test_close(void **state)
{
    (void)state;
    const ball frames[2] = {{5 * CELL, {0}}, {6 * CELL, {CELL, 0.5 * CELL, 0}}};
    const uint32_t rings = 40, missing = 10; /* bands: an eighth of a turn from the top */
    for (int k = 0; k < 2; k++) {
        triangle_mesh whole = mesh_of(&frames[k], rings), cut = mesh_of(&frames[k], rings);
        double rim = whole.vertices[1 + (missing - 1) * 2 * rings][1] + 1e-9;
        cut.triangle_count = 0;
        for (size_t t = 0; t < whole.triangle_count; t++) {
            const uint32_t *v = whole.triangles[t];
            if (whole.vertices[v[0]][1] < rim && whole.vertices[v[1]][1] < rim &&
                whole.vertices[v[2]][1] < rim)
                add_face(&cut, v[0], v[1], v[2]);
        }
        write_obj(k == 0 ? "cut_0001.obj" : "cut_0002.obj", &cut);
        mesh_clear(&whole);
        mesh_clear(&cut);
    }
    mesh_sequence_request request = files_of("cut_####.obj");
    deform *d;
    assert_int_equal(try_files(&request, 0, &d), FIRN_BAD_SCENE);
    assert_non_null(strstr(firn_last_error(), "80 boundary edges around 1 hole"));
    assert_non_null(strstr(firn_last_error(), "close: true"));
    request.close = true;
    if (try_files(&request, 0, &d) != FIRN_OK)
        fail_msg("%s", firn_last_error());
    for (int k = 0; k <= 4; k++) {
        deform_pose pose;
        assert_int_equal(deform_hold(d, 0.025 * k, &pose), FIRN_OK);
        ball b = between(&frames[0], &frames[1], 0.25 * k);
        double top = b.center[1] + b.radius * sqrt(0.5), n[3], v[3], worst = 0;
        for (int i = -3; i <= 3; i++) {
            const double x[3] = {b.center[0] + i * 0.1 * b.radius, top, b.center[2]};
            worst = fmax(worst, fabs(deform_look(&pose, x, n, v)) / CELL);
            assert_true(n[1] > 0.99);
        }
        printf("close: a disc %.4f cells off at %g of the way\n", worst, 0.25 * k);
        assert_true(worst < 0.1);
        const double below[3] = {b.center[0], top - CELL, 0}, above[3] = {0, top + CELL, 0};
        assert_true(deform_look(&pose, below, NULL, NULL) < 0);
        assert_true(deform_look(&pose, above, NULL, NULL) > 0);
        deform_let_go(d, &pose);
    }
    deform_release(&d);
}

static void refuses(mesh_sequence_request request, firn_status status, const char *words)
{
    deform *d;
    assert_int_equal(try_files(&request, 0, &d), status);
    assert_null(d);
    if (!strstr(firn_last_error(), words))
        fail_msg("\"%s\" does not say \"%s\"", firn_last_error(), words);
}

static void test_faults(void **state)
{
    (void)state;
    refuses(files_of("nothing_####.obj"), FIRN_NO_INPUT, "no files of this name");
    refuses(files_of("ball_0001.obj"), FIRN_BAD_SCENE, "needs #### where the number");
    mesh_sequence_request gap = files_of("ball_####.obj");
    gap.has_last = true;
    gap.last = 5;
    refuses(gap, FIRN_NO_INPUT, "ball_0004.obj");
    gap.last = 1;
    refuses(gap, FIRN_BAD_SCENE, "needs two frames or more");

    write_balls("odd", THREE, 3, 20);
    triangle_mesh m = mesh_of(&THREE[1], 21);
    write_obj("odd_0002.obj", &m);
    refuses(files_of("odd_####.obj"), FIRN_BAD_SCENE, "odd_0002.obj: 842 vertices");
    mesh_clear(&m);
    m = mesh_of(&THREE[1], 20);
    m.triangles[7][0] = m.triangles[8][0];
    write_obj("odd_0002.obj", &m);
    refuses(files_of("odd_####.obj"), FIRN_BAD_SCENE, "odd_0002.obj: other faces");
    m.triangle_count--;
    write_obj("odd_0001.obj", &m);
    refuses(files_of("odd_####.obj"), FIRN_BAD_SCENE, "no clear inside");
    mesh_clear(&m);
    unlink(sequence_path("odd_0002.obj"));
    mesh_sequence_request wall = files_of("odd_####.obj");
    wall.open = true;
    refuses(wall, FIRN_NO_INPUT, "odd_0002.obj");
    mesh_sequence_request huge = files_of("ball_####.obj");
    huge.scale = 1e5;
    refuses(huge, FIRN_BAD_SCENE, "ball_0001.obj: from here to the next frame a vertex moves");
}

static void test_bad_caches(void **state)
{
    (void)state;
    mesh_sequence_request request = files_of("ball_0001.obj");
    request.cache = sequence_path("none.pc2");
    refuses(request, FIRN_NO_INPUT, "none.pc2");
    request.cache = sequence_path("bad.cache");
    for (int mdd = 0; mdd < 2; mdd++) {
        write_cache("bad.cache", mdd, THREE, 2, 3);
        refuses(request, FIRN_BAD_SCENE, "cut short");
        write_cache("bad.cache", mdd, THREE, 0, 0);
        refuses(request, FIRN_BAD_SCENE, "holds nothing");
        ball broken[3] = {THREE[0], THREE[1], THREE[2]};
        broken[2].center[1] = NAN;
        write_cache("bad.cache", mdd, broken, 3, 3);
        refuses(request, FIRN_BAD_SCENE, "point 0 of sample 2 is not finite");
    }
    mesh_sequence_request other = files_of("around_0001.obj");
    other.cache = sequence_path("ball.pc2");
    refuses(other, FIRN_BAD_SCENE, "762 points, but");
    FILE *out = fopen(sequence_path("bad.cache"), "wb");
    fputs("tiny", out);
    fclose(out);
    refuses(request, FIRN_BAD_SCENE, "neither a PC2 nor an MDD cache");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halfway), cmocka_unit_test(test_far),
        cmocka_unit_test(test_around),  cmocka_unit_test(test_momentum),
        cmocka_unit_test(test_memory),  cmocka_unit_test(test_formats),
        cmocka_unit_test(test_faults),  cmocka_unit_test(test_bad_caches),
        cmocka_unit_test(test_close),   cmocka_unit_test(test_plan),
    };
    if (strcmp(vdb_version(), "none") == 0)
        return 77;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sequence_cleanup();
    return failed;
}
