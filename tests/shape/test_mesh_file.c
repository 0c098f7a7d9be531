/* Readers of meshes: every format in text and binary, and what they say of bad files. */
#include "shape/cmocka_all.h"

#include <locale.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "io/scan.h"
#include "shape/make_mesh.h"
#include "shape/sample.h"

/* ---- numbers --------------------------------------------------------------------------------- */

static double read_number(const char *text)
{
    scan s = scan_text("test", text, strlen(text));
    double value = NAN;
    scan_real(&s, &value);
    return value;
}

/* The same bits as strtod, for short and long mantissas and all exponents. */
static void test_numbers(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 300000; n++) {
        char text[64];
        uint64_t bits = random_bits(3, n);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        if (n % 4)
            value = ldexp(random_unit(4, n) - 0.5, (int)(bits % 60) - 30);
        snprintf(text, sizeof text, "%.*g", (int)(1 + bits % 20), value);
        double expected = strtod(text, NULL), found = read_number(text);
        if (isfinite(expected) && memcmp(&found, &expected, sizeof found) != 0)
            fail_msg("%s: %.17g instead of %.17g", text, found, expected);
    }
    assert_close(read_number("+.5"), 0.5, 0);
    assert_close(read_number("  5.e-1x"), 0.5, 0);
    assert_close(read_number("1e"), 1, 0);
    assert_close(read_number("0000000000000000000000000000001"), 1, 0);
    assert_close(read_number("0.1e-400"), 0, 0);
    static const char *const wrong[] = {"", "-", ".", "e5", "nan", "inf", "1e999", "-1e400", "\n1"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        assert_true(isnan(read_number(wrong[k])) || isinf(read_number(wrong[k])));
}

/* ---- formats --------------------------------------------------------------------------------- */

static triangle_mesh parse(const char *name, const void *data, size_t size)
{
    triangle_mesh m;
    if (mesh_parse(name, data, size, &m) != FIRN_OK)
        fail_msg("%s", firn_last_error());
    return m;
}

static triangle_mesh parse_text(const char *name, const char *text)
{
    return parse(name, text, strlen(text));
}

/* Every file below is the same tetrahedron, a corner of the unit cube. */
static void expect_tetrahedron(triangle_mesh m)
{
    mesh_report r;
    assert_int_equal(m.vertex_count, 4);
    assert_int_equal(m.triangle_count, 4);
    assert_true(mesh_check(&m, &r));
    assert_int_equal(r.boundary_edges + r.nonmanifold_edges + r.flipped_edges, 0);
    assert_close(r.volume, 1.0 / 6, 1e-12);
    mesh_clear(&m);
}

static const float corners[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
static const uint32_t sides[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};

typedef struct bytes {
    size_t size;
    char data[2048];
} bytes;

static void put(bytes *b, const void *data, size_t size, bool swapped)
{
    for (size_t k = 0; k < size; k++)
        b->data[b->size++] = ((const char *)data)[swapped ? size - 1 - k : k];
}

static void put_text(bytes *b, const char *text)
{
    put(b, text, strlen(text), false);
}

static void test_obj(void **state)
{
    (void)state;
    expect_tetrahedron(parse_text("t.obj",
                                  "# a comment\r\nmtllib x.mtl\nv 0 0 0\nv 1 0 0 0.5 0.5 1\n"
                                  "vn 0 0 1\nvt 0 0\nv 0 1.0 0\n  v 0 0 1e0\ng part\n"
                                  "f 1 3 2\nf 1/1 2/1 4/1\nf -4//1 -1//1 \\\n -2//1\n"
                                  "f 2/1/1 3/1/1 4/1/1"));
    /* A polygon that is not convex: fanned, it would cover ground outside of itself. */
    triangle_mesh m =
        parse_text("arrow.obj", "v 0 0 0\nv 2 0 0\nv 2 2 0\nv 1 0.5 0\nv 0 2 0\nf 1 2 3 4 5\n");
    mesh_report r;
    assert_true(mesh_check(&m, &r));
    assert_int_equal(m.triangle_count, 3);
    assert_close(r.area, 4 - 1.5, 1e-12);
    mesh_clear(&m);
}

static void test_off(void **state)
{
    (void)state;
    const char *rows = "0 0 0\n1 0 0 # x\n\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3 255 0 0\n3 0 3 2\n"
                       "3 1 2 3\n";
    char text[512];
    snprintf(text, sizeof text, "# comment\nOFF\n4 4 6\n%s", rows);
    expect_tetrahedron(parse_text("t.off", text));
    snprintf(text, sizeof text, "OFF 4 4 6\n%s", rows);
    expect_tetrahedron(parse_text("noextension", text));
    bytes b = {0};
    put_text(&b, "OFF BINARY\n");
    put(&b, (uint32_t[]){4}, 4, true);
    put(&b, (uint32_t[]){4}, 4, true);
    put(&b, (uint32_t[]){6}, 4, true);
    for (int k = 0; k < 12; k++)
        put(&b, &corners[k / 3][k % 3], 4, true);
    for (int t = 0; t < 4; t++) {
        put(&b, (uint32_t[]){3}, 4, true);
        for (int k = 0; k < 3; k++)
            put(&b, &sides[t][k], 4, true);
        put(&b, (uint32_t[]){1}, 4, true);
        put(&b, (float[]){0.5}, 4, true); /* a colour */
    }
    expect_tetrahedron(parse("b.off", b.data, b.size));
}

static void test_stl(void **state)
{
    (void)state;
    bytes text = {0}, b = {0};
    put_text(&text, "solid thing\n");
    char header[80] = "solid, but binary";
    put(&b, header, sizeof header, false);
    put(&b, (uint32_t[]){4}, 4, false);
    for (int t = 0; t < 4; t++) {
        char line[64];
        put_text(&text, "facet normal 0 0 0\n outer loop\n");
        put(&b, (float[3]){0}, 12, false);
        for (int k = 0; k < 3; k++) {
            const float *x = corners[sides[t][k]];
            snprintf(line, sizeof line, "  vertex %g %g %g\n", x[0], x[1], x[2]);
            put_text(&text, line);
            put(&b, x, 12, false);
        }
        put_text(&text, " endloop\nendfacet\n");
        put(&b, (uint16_t[]){0}, 2, false);
    }
    put_text(&text, "endsolid thing\n");
    expect_tetrahedron(parse("t.stl", text.data, text.size));
    expect_tetrahedron(parse("b.stl", b.data, b.size));
    expect_tetrahedron(parse("noextension", b.data, b.size));
}

static void test_ply(void **state)
{
    (void)state;
    const char *header = "ply\nformat %s 1.0\ncomment made here\nelement vertex 4\n"
                         "property float x\nproperty float y\nproperty float z\n"
                         "property uchar red\nelement edge 1\nproperty list uchar int ends\n"
                         "element face 4\nproperty list uchar uint vertex_indices\n"
                         "property short tag\nend_header\n%s";
    char text[1024];
    snprintf(text, sizeof text, header, "ascii",
             "0 0 0 1\n1 0 0 2\n0 1 0 3\n0 0 1 4\n2 0 1\n3 0 2 1 7\n3 0 1 3 7\n3 0 3 2 7\n"
             "3 1 2 3 7\n");
    expect_tetrahedron(parse_text("t.ply", text));
    for (int big = 0; big < 2; big++) {
        bytes b = {0};
        snprintf(text, sizeof text, header, big ? "binary_big_endian" : "binary_little_endian", "");
        put_text(&b, text);
        for (int v = 0; v < 4; v++) {
            for (int i = 0; i < 3; i++)
                put(&b, &corners[v][i], 4, big);
            put(&b, "\1", 1, false);
        }
        put(&b, "\2", 1, false);
        put(&b, (int32_t[]){0}, 4, big);
        put(&b, (int32_t[]){1}, 4, big);
        for (int t = 0; t < 4; t++) {
            put(&b, "\3", 1, false);
            for (int k = 0; k < 3; k++)
                put(&b, &sides[t][k], 4, big);
            put(&b, (int16_t[]){7}, 2, big);
        }
        expect_tetrahedron(parse("b.ply", b.data, b.size));
        b.size -= 9;
        triangle_mesh m;
        assert_int_equal(mesh_parse("b.ply", b.data, b.size, &m), FIRN_BAD_SCENE);
        assert_non_null(strstr(firn_last_error(), "b.ply: the file ends"));
    }
}

/* ---- bad files ------------------------------------------------------------------------------- */

static void test_bad_files(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *says;
    } bad[] = {
        {"a.obj", "v 0 0 0\nv 1 0\n", "a.obj:2: a vertex needs three finite numbers, but the line"},
        {"a.obj", "v 0 0 0\nv 1 nan 0\n",
         "a.obj:2: a vertex needs three finite numbers, but 'nan'"},
        {"a.obj", "v 0 0 1e999\n", "a.obj:1: a vertex needs three finite numbers"},
        {"a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\n\nf 1 2 4\n",
         "a.obj:5: a face names vertex 3 (from 0)"},
        {"a.obj", "v 0 0 0\nf 0 1 1\n", "a.obj:2: a face names vertex 0"},
        {"a.obj", "v 0 0 0\nf -2 1 1\n", "a.obj:2: a face names vertex -2"},
        {"a.obj", "v 0 0 0\nf 1 1\n", "a.obj:2: a face needs three vertices, not 2"},
        {"a.obj", "v 0 0 0\nf a b c\n", "a.obj:2: a whole number is needed, but 'a'"},
        {"a.obj", "v 0 0 0\nv 1 0 0\n", "a.obj: no triangles: the file has 2 vertices"},
        {"a.obj", "", "a.obj: no triangles"},
        {"a.off", "PFF\n", "a.off:1: an OFF file starts with the word OFF, but 'PFF'"},
        {"a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n", "a.off:5: the file ends after 2 of 3 vertices"},
        {"a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 9\n", "a.off:6: a face names vertex 9"},
        {"a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n-3 0 1 9\n", "a.off:6: a face has -3"},
        {"a.ply", "plx\n", "a.ply:1: a PLY file starts with the word ply"},
        {"a.ply", "ply\nformat ascii 1.0\nelement vertex 2\n", "a.ply:4: the file ends before"},
        {"a.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n1\n",
         "a.ply: element vertex has no x, y and z"},
        {"a.ply", "ply\nformat ascii 1.0\nproperty float x\nend_header\n", "a.ply:3: a property"},
        {"a.ply", "ply\nformat wax 1.0\nend_header\n", "a.ply:2: the format must be"},
        {"a.ply", "ply\nformat ascii 1.0\nelement vertex -1\nend_header\n", "a.ply:3: element"},
        {"a.stl", "solid x\nvertex 0 0 0\nendloop\n", "a.stl:3: a facet needs three vertices"},
        {"a.stl", "solid x\nvertex 0 0\n", "a.stl:2: a vertex needs three finite numbers"},
        {"a.stl", "sol", "a.stl: not an STL file"},
        {"a.xyz", "hello", "a.xyz: not a mesh"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        triangle_mesh m;
        assert_int_equal(mesh_parse(bad[k].name, bad[k].text, strlen(bad[k].text), &m),
                         FIRN_BAD_SCENE);
        assert_null(m.vertices);
        if (!strstr(firn_last_error(), bad[k].says))
            fail_msg("'%s' does not say '%s'", firn_last_error(), bad[k].says);
    }
    triangle_mesh m;
    assert_int_equal(mesh_load("/nowhere/a.obj", &m), FIRN_NO_INPUT);
    assert_non_null(strstr(firn_last_error(), "/nowhere/a.obj"));
}

/* ---- speed ----------------------------------------------------------------------------------- */

/* A text OBJ of a million lines: half a second of processor time, or a crowded machine's several. */
static void test_speed(void **state)
{
    (void)state;
    enum { SIDE = 578 }; /* vertices along a grid: about 334,000 and twice as many triangles */
    char *text = malloc((size_t)80 * SIDE * SIDE * 3), *at = text;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            at += sprintf(at, "v %.6f %.6f %.6f\n", i * 0.001, sin(i * 0.01) * cos(j * 0.02),
                          j * 0.001);
    size_t lines = SIDE * SIDE;
    for (int i = 0; i + 1 < SIDE; i++)
        for (int j = 0; j + 1 < SIDE; j++, lines += 2) {
            int a = i * SIDE + j + 1, b = a + SIDE;
            at += sprintf(at, "f %d/%d/%d %d/%d/%d %d/%d/%d\nf %d %d %d\n", a, a, a, a + 1, a, a, b,
                          b, b, b, a + 1, b + 1);
        }
    clock_t start = clock();
    triangle_mesh m = parse("large.obj", text, (size_t)(at - text));
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    printf("%zu lines, %.0f MB in %.2f s of processor time\n", lines, (double)(at - text) * 1e-6,
           seconds);
    assert_int_equal(m.vertex_count, SIDE * SIDE);
    assert_true(seconds < 5);
    mesh_clear(&m);
    free(text);
}

int main(void)
{
    setlocale(LC_ALL, "");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_obj),
        cmocka_unit_test(test_off),     cmocka_unit_test(test_stl),
        cmocka_unit_test(test_ply),     cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
