/* Meshes: what is said of broken ones, repairs, the tree. */
#include "shape/cmocka_all.h"

#include "shape/make_mesh.h"
#include "shape/mesh_tree.h"
#include "shape/sample.h"

static mesh_report report_of(const triangle_mesh *m)
{
    mesh_report r;
    assert_true(mesh_check(m, &r));
    return r;
}

static void test_clean_mesh(void **state)
{
    (void)state;
    triangle_mesh m = ball_mesh(40, 0.5);
    mesh_report r = report_of(&m);
    assert_int_equal(r.boundary_edges + r.nonmanifold_edges + r.flipped_edges + r.degenerate, 0);
    assert_int_equal(r.components, 1);
    assert_close(r.volume, 4 * M_PI / 3 * 0.125, 0.003);
    assert_close(r.area, M_PI, 0.01);
    assert_close(r.high[1], 0.5, 0);
    assert_int_equal(mesh_require_closed("ball", &r), FIRN_OK);
    mesh_clear(&m);
}

static void test_open_mesh(void **state)
{
    (void)state;
    triangle_mesh m = box_mesh(1, 1, 1);
    m.triangle_count -= 2; /* one side */
    mesh_report r = report_of(&m);
    assert_int_equal(r.boundary_edges, 4);
    assert_int_equal(r.boundary_loops, 1);
    assert_int_equal(mesh_require_closed("lidless.obj", &r), FIRN_BAD_SCENE);
    assert_non_null(strstr(firn_last_error(), "lidless.obj"));
    assert_non_null(strstr(firn_last_error(), "4 boundary edges around 1 hole;"));
    mesh_clear(&m);
}

static void test_nonmanifold_mesh(void **state)
{
    (void)state;
    triangle_mesh m = mesh_room(9, 13); /* a box with a fin on one edge */
    triangle_mesh b = box_mesh(1, 1, 1);
    memcpy(m.vertices, b.vertices, 8 * sizeof *m.vertices);
    memcpy(m.triangles, b.triangles, 12 * sizeof *m.triangles);
    m.vertex_count = 8;
    m.triangle_count = 12;
    add_point(&m, 3, 3, 3);
    add_face(&m, 6, 7, 8);
    mesh_report r = report_of(&m);
    assert_int_equal(r.nonmanifold_edges, 1);
    assert_int_equal(r.boundary_edges, 2);
    assert_int_equal(mesh_require_closed("finned.obj", &r), FIRN_BAD_SCENE);
    assert_non_null(strstr(firn_last_error(), "1 non-manifold edge"));
    mesh_clear(&m);
    mesh_clear(&b);
}

static void test_counts(void **state)
{
    (void)state;
    triangle_mesh m = both_meshes(ball_mesh(5, 1), ball_mesh(5, 0.5), true);
    m.triangles[0][1] ^= m.triangles[0][2]; /* swap two corners of one triangle */
    m.triangles[0][2] ^= m.triangles[0][1];
    m.triangles[0][1] ^= m.triangles[0][2];
    mesh_report r = report_of(&m);
    assert_int_equal(r.components, 2);
    assert_int_equal(r.flipped_edges, 3);
    assert_int_equal(mesh_repair(&m, false), FIRN_OK);
    r = report_of(&m);
    assert_int_equal(r.flipped_edges, 0);
    assert_true(r.volume > 0);
    mesh_clear(&m);
}

static void test_inside_out(void **state)
{
    (void)state;
    triangle_mesh m = box_mesh(1, 2, 3);
    for (size_t t = 0; t < m.triangle_count; t++) {
        uint32_t swap = m.triangles[t][0];
        m.triangles[t][0] = m.triangles[t][1];
        m.triangles[t][1] = swap;
    }
    assert_close(report_of(&m).volume, -48, 1e-9);
    assert_int_equal(mesh_repair(&m, false), FIRN_OK);
    assert_close(report_of(&m).volume, 48, 1e-9);
    mesh_clear(&m);
}

static void test_closing(void **state)
{
    (void)state;
    triangle_mesh m = ball_mesh(30, 1);
    size_t kept = 0;
    for (size_t t = 0; t < m.triangle_count; t++) { /* cut off both caps */
        const uint32_t *v = m.triangles[t];
        double y = (m.vertices[v[0]][1] + m.vertices[v[1]][1] + m.vertices[v[2]][1]) / 3;
        if (fabs(y) < 0.8)
            memmove(m.triangles[kept++], v, sizeof *m.triangles);
    }
    m.triangle_count = kept;
    assert_int_equal(report_of(&m).boundary_loops, 2);
    assert_int_equal(mesh_repair(&m, true), FIRN_OK);
    mesh_report r = report_of(&m);
    assert_int_equal(r.boundary_edges + r.nonmanifold_edges + r.flipped_edges, 0);
    assert_true(r.volume > 0.9 * 2 * M_PI * (0.8 - 0.8 * 0.8 * 0.8 / 3) && r.volume < 4 * M_PI / 3);
    mesh_clear(&m);
}

/* The tree against every triangle in turn. */
static void test_nearest(void **state)
{
    (void)state;
    triangle_mesh m = torus_mesh(24, 1, 0.4);
    mesh_tree *tree = mesh_tree_create(&m);
    for (uint64_t n = 0; n < 2000; n++) {
        double x[3];
        for (int i = 0; i < 3; i++)
            x[i] = 3 * random_unit(5, 3 * n + (uint64_t)i) - 1.5;
        mesh_point p = mesh_tree_nearest(tree, x, INFINITY);
        double best = INFINITY;
        for (size_t t = 0; t < m.triangle_count; t++) {
            triangle_mesh one = {m.vertex_count, m.vertices, 1, &m.triangles[t], 0};
            mesh_tree *alone = n % 100 ? NULL : mesh_tree_create(&one);
            if (alone)
                best = fmin(best, mesh_tree_nearest(alone, x, INFINITY).distance);
            mesh_tree_destroy(&alone);
        }
        if (n % 100 == 0)
            assert_close(p.distance, best, 1e-14);
        double square = 0;
        for (int i = 0; i < 3; i++) {
            double at = 0;
            for (int k = 0; k < 3; k++)
                at += p.barycentric[k] * m.vertices[m.triangles[p.triangle][k]][i];
            assert_close(at, p.x[i], 1e-12);
            square += (x[i] - at) * (x[i] - at);
        }
        assert_close(sqrt(square), p.distance, 1e-12);
        assert_true(isinf(mesh_tree_nearest(tree, x, 0.99 * p.distance).distance));
    }
    mesh_tree_destroy(&tree);
    mesh_clear(&m);
}

/* Also beside the sharp edges and corners of a box, where single normals lie. */
static void test_sides(void **state)
{
    (void)state;
    triangle_mesh m = box_mesh(1, 0.5, 0.25);
    mesh_tree *tree = mesh_tree_create(&m);
    for (uint64_t n = 0; n < 20000; n++) {
        double x[3], n3[3], out = 0;
        for (int i = 0; i < 3; i++)
            x[i] = 2.4 * random_unit(6, 3 * n + (uint64_t)i) - 1.2;
        mesh_point p = mesh_tree_nearest(tree, x, INFINITY);
        mesh_tree_normal(tree, &p, n3);
        for (int i = 0; i < 3; i++)
            out += n3[i] * (x[i] - p.x[i]);
        bool inside = fabs(x[0]) < 1 && fabs(x[1]) < 0.5 && fabs(x[2]) < 0.25;
        assert_true(inside == (out < 0));
    }
    mesh_tree_destroy(&tree);
    mesh_clear(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean_mesh),       cmocka_unit_test(test_open_mesh),
        cmocka_unit_test(test_nonmanifold_mesh), cmocka_unit_test(test_counts),
        cmocka_unit_test(test_inside_out),       cmocka_unit_test(test_closing),
        cmocka_unit_test(test_nearest),          cmocka_unit_test(test_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
