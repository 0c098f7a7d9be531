/* Frames in VTKHDF and PLY, frames and checkpoints back into memory, and reports on files. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <hdf5.h>

#include "fake_sim.h"
#include "io/checkpoint.h"
#include "scratch.h"

/* A stored vector has three components, the third 0 in 2D. */
static void assert_floats(const float *read, const firn_sim *sim, firn_attribute a)
{
    size_t have = (size_t)firn_attribute_components(a, sim->dimensions);
    size_t want = have == 1 ? 1 : 3;
    for (size_t p = 0; p < sim->count; p++)
        for (size_t k = 0; k < want; k++) {
            float expected = k < have ? (float)sim->values[a][p * have + k] : 0;
            assert_memory_equal(&read[p * want + k], &expected, sizeof expected);
        }
}

/* Without a path: as taken from the simulation itself. */
static void assert_frame(const char *path, const firn_sim *sim)
{
    firn_frame f = {0};
    assert_int_equal(path ? firn_frame_read(path, &f)
                          : firn_frame_capture(sim, FIRN_BASIC_ATTRIBUTES, &f),
                     FIRN_OK);
    assert_int_equal(f.dimensions, sim->dimensions);
    assert_int_equal(f.count, sim->count);
    assert_true(f.time == firn_sim_time(sim));
    assert_true(f.cell_size == firn_sim_cell_size(sim));
    assert_int_equal(f.frame, firn_sim_frame(sim));
    assert_int_equal(f.step, firn_sim_steps(sim));
    assert_int_equal(f.kernel, firn_sim_kernel(sim));
    assert_memory_equal(f.id, sim->ids, sim->count * sizeof *f.id);
    assert_memory_equal(f.object, sim->objects, sim->count * sizeof *f.object);
    assert_floats(f.position, sim, FIRN_POSITION);
    assert_floats(f.velocity, sim, FIRN_VELOCITY);
    assert_floats(f.mass, sim, FIRN_MASS);
    assert_floats(f.J_P, sim, FIRN_J_P);
    for (size_t p = 0; p < sim->count; p++) {
        double rho = sim->values[FIRN_DENSITY][p];
        assert_true(fabs((double)f.density[p] - rho) <= 1e-6 * rho);
    }
    firn_frame_clear(&f);
    assert_null(f.position);
}

static void test_read_back(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 70000};
    for (size_t k = 0; k < 3; k++)
        for (int d = 2; d <= 3; d++) {
            firn_sim *sim = fake_sim_create(counts[k], d, k == 1, -3);
            firn_checkpoint_info info = fake_sim_info(sim, d == 2 ? "flip" : "apic");
            assert_int_equal(firn_frame_write(sim, scratch("f.hdf"), FIRN_FORMAT_VTKHDF), FIRN_OK);
            assert_int_equal(checkpoint_write(scratch("f.h5"), &info, sim, NULL), FIRN_OK);
            assert_frame(scratch("f.hdf"), sim);
            assert_frame(scratch("f.h5"), sim);
            assert_frame(NULL, sim);
            fake_sim_destroy(&sim);
        }
}

/* The same bytes whoever packs them and whenever: HDF5 would note the second. */
static void test_same_bytes(void **state)
{
    (void)state;
    firn_sim *sim = fake_sim_create(70000, 3, false, -3);
    firn_frame frame = {0};
    assert_int_equal(firn_frame_capture(sim, FIRN_BASIC_ATTRIBUTES, &frame), FIRN_OK);
    const char *path[2] = {scratch("one.hdf"), scratch("three.hdf")};
    char *bytes[2];
    size_t size[2];
    for (int n = 0; n < 2; n++) {
        const firn_export how = {.threads = 1 + 2 * n};
        assert_int_equal(firn_frame_export(&frame, path[n], FIRN_FORMAT_VTKHDF, &how), FIRN_OK);
        bytes[n] = scratch_get(path[n], &size[n]);
        usleep(n == 0 ? 1100000 : 0);
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(bytes[0], bytes[1], size[0]);
    for (int n = 0; n < 2; n++) {
        free(bytes[n]);
        unlink(path[n]);
    }
    firn_frame_clear(&frame);
    fake_sim_destroy(&sim);
}

static size_t point_bytes(const char *path)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t data = H5Dopen2(file, "VTKHDF/Points", H5P_DEFAULT), type = H5Dget_type(data);
    size_t bytes = H5Tget_size(type);
    H5Tclose(type);
    H5Dclose(data);
    H5Fclose(file);
    return bytes;
}

/* cell_size is 0.01: float32 is too coarse once its spacing passes 1e-5, at 84 m. */
static void test_far_from_origin(void **state)
{
    (void)state;
    static const struct {
        double centre;
        size_t bytes;
    } cases[] = {{0, 4}, {-80, 4}, {90, 8}, {-1e6, 8}};
    for (size_t k = 0; k < 4; k++) {
        firn_sim *sim = fake_sim_create(100, 3, false, cases[k].centre);
        assert_int_equal(firn_frame_write(sim, scratch("far.hdf"), FIRN_FORMAT_VTKHDF), FIRN_OK);
        assert_int_equal(point_bytes(scratch("far.hdf")), cases[k].bytes);
        assert_frame(scratch("far.hdf"), sim);
        fake_sim_destroy(&sim);
    }
}

static void test_formats(void **state)
{
    (void)state;
    firn_sim *sim = fake_sim_create(1, 3, true, 0);
    assert_string_equal(firn_format_extension(FIRN_FORMAT_VTKHDF), "hdf");
    assert_string_equal(firn_format_extension(FIRN_FORMAT_PLY), "ply");
    assert_null(firn_format_extension(3));
    assert_int_equal(firn_frame_write(sim, scratch("none"), 3), FIRN_USAGE);
    assert_int_equal(access(scratch("none"), F_OK), -1);
    fake_sim_destroy(&sim);
}

static void assert_unreadable(const char *path, firn_status status, const char *word)
{
    firn_frame f = {.count = 77};
    assert_int_equal(firn_frame_read(path, &f), status);
    assert_int_equal(f.count, 77); /* untouched */
    if (!strstr(firn_last_error(), path) || !strstr(firn_last_error(), word))
        fail_msg("\"%s\" does not name %s and \"%s\"", firn_last_error(), path, word);
    assert_int_equal(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

static void test_refused(void **state)
{
    (void)state;
    const char *path = scratch("bad.hdf");
    assert_unreadable(path, FIRN_NO_INPUT, "No such file");
    scratch_put(path, "solid", 5);
    assert_unreadable(path, FIRN_BAD_SCENE, "not an HDF5 file");
    H5Fclose(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    assert_unreadable(path, FIRN_BAD_SCENE, "neither /VTKHDF nor /particles");

    firn_sim *sim = fake_sim_create(20, 3, true, 0);
    assert_int_equal(firn_frame_write(sim, path, FIRN_FORMAT_VTKHDF), FIRN_OK);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(file, "VTKHDF/PointData/J_P", H5P_DEFAULT);
    H5Fclose(file);
    assert_unreadable(path, FIRN_BAD_SCENE, "/VTKHDF/PointData/J_P is missing");
    sim->values[FIRN_POSITION][3 * 17 + 1] = NAN;
    assert_int_equal(firn_frame_write(sim, path, FIRN_FORMAT_VTKHDF), FIRN_OK);
    assert_unreadable(path, FIRN_BAD_SCENE, "position in row 17 is");
    size_t size;
    free(scratch_get(path, &size));
    for (size_t length = 0; length < size; length += 97) {
        firn_frame f = {0};
        assert_int_equal(truncate(path, (off_t)(size - 1 - length)), 0);
        assert_int_equal(firn_frame_read(path, &f), FIRN_BAD_SCENE);
    }
    fake_sim_destroy(&sim);
}

/* ---- Reports --------------------------------------------------------------------------------- */

static firn_status describe(const char *path, char *text, size_t size)
{
    memset(text, 0, size);
    FILE *out = fmemopen(text, size - 1, "w");
    firn_status status = firn_file_describe(path, out);
    fclose(out);
    return status;
}

static void assert_says(const char *text, const char *const *words, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (!strstr(text, words[k]))
            fail_msg("no \"%s\" in:\n%s", words[k], text);
}

static void test_describe(void **state)
{
    (void)state;
    char text[4096];
    firn_sim *sim = fake_sim_create(4, 3, false, 0);
    firn_checkpoint_info info = fake_sim_info(sim, "flip");
    for (size_t p = 0; p < 4; p++) {
        sim->values[FIRN_MASS][p] = (double)p + 1;
        sim->values[FIRN_J_P][p] = 0.5 + 0.25 * (double)p;
        for (size_t k = 0; k < 3; k++)
            sim->values[FIRN_POSITION][3 * p + k] = (double)(p + 10 * k);
    }
    assert_int_equal(checkpoint_write(scratch("d.h5"), &info, sim, NULL), FIRN_OK);
    assert_int_equal(describe(scratch("d.h5"), text, sizeof text), FIRN_OK);
    static const char *const checkpoint_words[] = {
        "checkpoint, written by Firn 0.1.0",
        "0.333333333 s (frame 8, step 5000000000)",
        "3D, cell size 0.01 m, quadratic kernel, flip transfer",
        "ref, float32",
        "particles    4",
        "float64, x 0 to 3, y 10 to 13, z 20 to 23 m",
        "total mass   10 kg",
        "J_P                     0.5          0.875           1.25",
        "|velocity|",
        "det F_E",
        "volume",
        "mu0",
        "lambda0",
        "hardening",
        "theta_c",
        "theta_s"};
    assert_says(text, checkpoint_words, sizeof checkpoint_words / sizeof *checkpoint_words);

    sim->values[FIRN_VELOCITY][0] = NAN; /* a report must not shy away from what it should show */
    assert_int_equal(firn_frame_write(sim, scratch("d.hdf"), FIRN_FORMAT_VTKHDF), FIRN_OK);
    assert_int_equal(describe(scratch("d.hdf"), text, sizeof text), FIRN_OK);
    static const char *const frame_words[] = {"VTKHDF frame",   "float32, x 0 to 3",
                                              "(1 not finite)", "density",
                                              "kg/m^3",         "total mass   10 kg"};
    assert_says(text, frame_words, sizeof frame_words / sizeof *frame_words);

    assert_int_equal(firn_frame_write(sim, scratch("d.ply"), FIRN_FORMAT_PLY), FIRN_OK);
    assert_int_equal(describe(scratch("d.ply"), text, sizeof text), FIRN_OK);
    static const char *const ply_words[] = {"PLY", "particles 4", "frame 8", "density J_P mass id"};
    assert_says(text, ply_words, sizeof ply_words / sizeof *ply_words);
    fake_sim_destroy(&sim);
}

static void test_describe_refused(void **state)
{
    (void)state;
    char text[4096];
    const char *path = scratch("d.ply");
    size_t size;
    free(scratch_get(path, &size));
    assert_int_equal(truncate(path, (off_t)size - 1), 0);
    assert_int_equal(describe(path, text, sizeof text), FIRN_BAD_SCENE);
    assert_non_null(strstr(firn_last_error(), "damaged"));
    scratch_put(path, "ply\nformat ascii 1.0\nend_header\n", 32);
    assert_int_equal(describe(path, text, sizeof text), FIRN_BAD_SCENE);
    assert_non_null(strstr(firn_last_error(), "not one that Firn wrote"));
    scratch_put(path, "\x89PNG\r\n", 6);
    assert_int_equal(describe(path, text, sizeof text), FIRN_BAD_SCENE);
    assert_non_null(strstr(firn_last_error(), "a Firn frame (.hdf, .ply) or checkpoint (.h5)"));
    assert_int_equal(describe(scratch("missing"), text, sizeof text), FIRN_NO_INPUT);
}

int main(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_back),        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_far_from_origin),  cmocka_unit_test(test_formats),
        cmocka_unit_test(test_refused),          cmocka_unit_test(test_describe),
        cmocka_unit_test(test_describe_refused),
    };
    return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
