/* Checkpoints: what is written comes back to the last bit, and what is damaged is refused. */
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

/* ---- There and back -------------------------------------------------------------------------- */

static void assert_same_values(checkpoint_reader *reader, const firn_sim *sim, firn_attribute a,
                               size_t part)
{
    size_t width = (size_t)firn_attribute_components(a, sim->dimensions);
    double *values = malloc((part * width + 1) * sizeof *values);
    for (size_t at = 0; at < sim->count; at += part) {
        size_t n = sim->count - at < part ? sim->count - at : part;
        assert_int_equal(checkpoint_read(reader, a, at, n, values), FIRN_OK);
        assert_memory_equal(values, sim->values[a] + at * width, n * width * sizeof *values);
    }
    free(values);
}

static void assert_same_info(const firn_checkpoint_info *a, const firn_checkpoint_info *b)
{
    assert_string_equal(a->version, b->version);
    assert_true(a->time == b->time && a->cell_size == b->cell_size);
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->frame, b->frame);
    assert_int_equal(a->dimensions, b->dimensions);
    assert_string_equal(a->kernel, b->kernel);
    assert_string_equal(a->transfer, b->transfer);
    assert_string_equal(a->backend, b->backend);
    assert_int_equal(a->fingerprint, b->fingerprint);
    assert_true(a->dt_limit == b->dt_limit);
    assert_int_equal(a->next_id, b->next_id);
    assert_int_equal(a->particles, b->particles);
    assert_int_equal(a->is_double, b->is_double);
}

static void assert_round_trip(size_t count, int d, bool is_double, const char *transfer,
                              double centre)
{
    const char *path = scratch("state.h5");
    firn_sim *sim = fake_sim_create(count, d, is_double, centre);
    firn_checkpoint_info wrote = fake_sim_info(sim, transfer), read = {0}, again = {0};
    checkpoint_reader *reader = NULL;
    assert_int_equal(checkpoint_write(path, &wrote, sim, NULL), FIRN_OK);
    assert_int_equal(checkpoint_open(path, &read, &reader), FIRN_OK);
    assert_same_info(&read, &wrote);
    assert_int_equal(firn_checkpoint_read_info(path, &again), FIRN_OK);
    assert_same_info(&again, &wrote);

    bool affine = strcmp(transfer, "flip") != 0;
    assert_int_equal(checkpoint_has(reader, FIRN_B), affine);
    for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES; a++)
        if (a != FIRN_B || affine)
            assert_same_values(reader, sim, a, count > 1000 ? 30011 : 3);
    uint64_t *ids = malloc((count + 1) * sizeof *ids);
    uint32_t *objects = malloc((count + 1) * sizeof *objects);
    assert_int_equal(checkpoint_read_ids(reader, ids), FIRN_OK);
    assert_int_equal(checkpoint_read_objects(reader, objects), FIRN_OK);
    assert_memory_equal(ids, sim->ids, count * sizeof *ids);
    assert_memory_equal(objects, sim->objects, count * sizeof *objects);
    free(ids);
    free(objects);
    checkpoint_close(&reader);
    assert_null(reader);
    fake_sim_destroy(&sim);
}

static void test_round_trip(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 7, 8192, 8193};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int variant = 0; variant < 8; variant++)
            assert_round_trip(counts[k], variant & 1 ? 2 : 3, variant & 2,
                              variant & 4 ? "apic" : "flip", (variant - 4) * 1e5);
    assert_round_trip(100000, 3, true, "apic", -12345.678);
    assert_round_trip(100000, 2, false, "flip", 1e7);
    assert_round_trip(100, 3, false, "mls", 0);
}

static void test_ranges(void **state)
{
    (void)state;
    firn_sim *sim = fake_sim_create(10, 3, true, 0);
    firn_checkpoint_info info = fake_sim_info(sim, "flip");
    checkpoint_reader *reader = NULL;
    double values[30];
    assert_int_equal(checkpoint_write(scratch("state.h5"), &info, sim, NULL), FIRN_OK);
    assert_int_equal(checkpoint_open(scratch("state.h5"), &info, &reader), FIRN_OK);
    assert_int_equal(checkpoint_read(reader, FIRN_POSITION, 10, 0, values), FIRN_OK);
    assert_int_equal(checkpoint_read(reader, FIRN_POSITION, 8, 3, values), FIRN_USAGE);
    assert_int_equal(checkpoint_read(reader, FIRN_POSITION, 11, 0, values), FIRN_USAGE);
    assert_int_equal(checkpoint_read(reader, FIRN_MASS, 1, SIZE_MAX, values), FIRN_USAGE);
    assert_int_equal(checkpoint_read(reader, FIRN_B, 0, 1, values), FIRN_USAGE);
    checkpoint_close(&reader);
    fake_sim_destroy(&sim);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

/* Reads every value of a checkpoint as a resuming simulation would. */
static firn_status read_all(const char *path)
{
    firn_checkpoint_info info;
    checkpoint_reader *reader = NULL;
    firn_status status = checkpoint_open(path, &info, &reader);
    if (status)
        return status;
    size_t count = info.particles;
    double *values = malloc((count * 9 + 1) * sizeof *values);
    uint64_t *ids = malloc((count + 1) * sizeof *ids);
    status = checkpoint_read_ids(reader, ids);
    for (firn_attribute a = 0; !status && a < FIRN_STATE_ATTRIBUTES; a++)
        if (checkpoint_has(reader, a))
            status = checkpoint_read(reader, a, 0, count, values);
    if (!status)
        status = checkpoint_read_objects(reader, (uint32_t *)ids);
    free(values);
    free(ids);
    checkpoint_close(&reader);
    return status;
}

static void assert_refused(const char *path, firn_status status, const char *word)
{
    assert_int_equal(read_all(path), status);
    if (!strstr(firn_last_error(), path) || !strstr(firn_last_error(), word))
        fail_msg("\"%s\" does not name %s and \"%s\"", firn_last_error(), path, word);
    assert_int_equal(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

static void write_small(const char *path, size_t count)
{
    firn_sim *sim = fake_sim_create(count, 2, true, 0);
    firn_checkpoint_info info = fake_sim_info(sim, "apic");
    assert_int_equal(checkpoint_write(path, &info, sim, NULL), FIRN_OK);
    fake_sim_destroy(&sim);
}

static void test_not_a_checkpoint(void **state)
{
    (void)state;
    const char *path = scratch("other");
    assert_refused(path, FIRN_NO_INPUT, "No such file");
    assert_refused("/", FIRN_NO_INPUT, "not a regular file");
    scratch_put(path, "", 0);
    assert_refused(path, FIRN_BAD_SCENE, "empty");
    scratch_put(path, "name: a scene\n", 14);
    assert_refused(path, FIRN_BAD_SCENE, "not an HDF5 file");
    hid_t foreign = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(foreign);
    assert_refused(path, FIRN_BAD_SCENE, "firn_version is missing");
}

static void put_number(hid_t file, const char *name, hid_t type, const void *value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    H5Adelete(file, name);
    hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, value);
    H5Aclose(attribute);
    H5Sclose(space);
}

static void put_text(hid_t file, const char *name, const char *value)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, strlen(value));
    put_number(file, name, type, value);
    H5Tclose(type);
}

static void put_ones(hid_t file, const char *name, hid_t type, const hsize_t shape[3], bool written)
{
    int rank = shape[2] ? 3 : shape[1] ? 2 : 1;
    hid_t space = H5Screate_simple(rank, shape, NULL);
    H5Ldelete(file, name, H5P_DEFAULT);
    hid_t data = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    float ones[64];
    for (int k = 0; k < 64; k++)
        ones[k] = 1;
    if (written)
        H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, ones);
    H5Dclose(data);
    H5Sclose(space);
}

static void put_value(hid_t file, const char *name, size_t index, double value)
{
    double values[64];
    hid_t data = H5Dopen2(file, name, H5P_DEFAULT);
    H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    values[index] = value;
    H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(data);
}

typedef enum harm {
    NO_ATTRIBUTE,
    REAL,
    WHOLE,
    TEXT,
    NO_DATASET,
    FLOATS,
    INTEGERS,
    UNWRITTEN,
    VALUE
} harm;

/* One way to damage a good file of 5 particles in 2D, and what the refusal must say. */
typedef struct damage {
    harm harm;
    const char *name;
    const char *says;
    double value;
    size_t index;
    hsize_t shape[3];
    const char *text;
} damage;

static const damage damages[] = {
    {NO_ATTRIBUTE, "cell_size", "cell_size is missing", .value = 0},
    {REAL, "cell_size", "cell_size is -1", .value = -1},
    {REAL, "time", "time is nan", .value = NAN},
    {WHOLE, "dimensions", "dimensions is 4", .value = 4},
    {REAL, "dimensions", "dimensions is not a whole number", .value = 2},
    {WHOLE, "step", "step is negative", .value = -1},
    {TEXT, "kernel", "kernel is \"gaussian\"", .text = "gaussian"},
    {TEXT, "transfer", "transfer is \"pic\"", .text = "pic"},
    {TEXT, "time", "time is not a number", .text = "noon"},
    {TEXT, "kernel", "kernel is too long", .text = "cubic, only with a long name"},
    {WHOLE, "kernel", "kernel is not text", .value = 3},
    {NO_DATASET, "particles", "/particles/id is missing", .value = 0},
    {NO_DATASET, "particles/mass", "/particles/mass is missing", .value = 0},
    {NO_DATASET, "particles/B", "/particles/B is missing", .value = 0},
    {FLOATS, "particles/J_P", "J_P has the wrong shape, expected 5;", .shape = {4}},
    {FLOATS, "particles/velocity", "has the wrong shape, expected 5 x 2;", .shape = {5, 3}},
    {FLOATS, "particles/F_E", "has the wrong shape, expected 5 x 2 x 2;", .shape = {5, 4}},
    {INTEGERS, "particles/object", "object has the wrong shape", .shape = {3}},
    {INTEGERS, "particles/mu0", "mu0 does not hold floating-point", .shape = {5}},
    {FLOATS, "particles/id", "id does not hold integers", .shape = {5}},
    {UNWRITTEN, "particles/mu0", "mu0 has rows that were never written", .shape = {5}},
    {UNWRITTEN, "particles/mu0", "mu0 has the wrong shape", .shape = {(hsize_t)1 << 40}},
    {INTEGERS, "particles/id", "id must increase, but row 1 is 1 after 1", .shape = {5}},
    {VALUE, "particles/velocity", "velocity in row 2 is nan", .value = NAN, .index = 5},
    {VALUE, "particles/position", "position in row 4 is -inf", .value = -INFINITY, .index = 9},
    {VALUE, "particles/mass", "mass in row 3 is 0", .value = 0, .index = 3},
    {VALUE, "particles/volume", "volume in row 0 is -1e-09", .value = -1e-9},
    {VALUE, "particles/J_P", "J_P in row 4 is -0.5", .value = -0.5, .index = 4},
};

static void do_damage(hid_t file, const damage *d)
{
    int64_t whole = isfinite(d->value) ? (int64_t)d->value : 0;
    switch (d->harm) {
    case NO_ATTRIBUTE:
        H5Adelete(file, d->name);
        return;
    case REAL:
        put_number(file, d->name, H5T_NATIVE_DOUBLE, &d->value);
        return;
    case WHOLE:
        put_number(file, d->name, H5T_NATIVE_INT64, &whole);
        return;
    case TEXT:
        put_text(file, d->name, d->text);
        return;
    case NO_DATASET:
        H5Ldelete(file, d->name, H5P_DEFAULT);
        return;
    case FLOATS:
    case UNWRITTEN:
        put_ones(file, d->name, H5T_NATIVE_FLOAT, d->shape, d->harm == FLOATS);
        return;
    case INTEGERS:
        put_ones(file, d->name, H5T_NATIVE_INT64, d->shape, true);
        return;
    case VALUE:
        put_value(file, d->name, d->index, d->value);
        return;
    }
}

static void test_damaged(void **state)
{
    (void)state;
    const char *path = scratch("damaged.h5");
    for (size_t k = 0; k < sizeof damages / sizeof *damages; k++) {
        write_small(path, 5);
        assert_int_equal(read_all(path), FIRN_OK);
        hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        do_damage(file, &damages[k]);
        assert_true(H5Fclose(file) >= 0);
        assert_refused(path, FIRN_BAD_SCENE, damages[k].says);
        assert_non_null(strstr(firn_last_error(), "take an earlier checkpoint"));
    }
}

/* All datasets agree on a count that would take all memory, and none of it was written. */
static void test_absurd_count(void **state)
{
    (void)state;
    const char *path = scratch("absurd.h5");
    write_small(path, 5);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    put_ones(file, "particles/id", H5T_NATIVE_INT64, (hsize_t[3]){(hsize_t)1 << 40}, false);
    H5Fclose(file);
    assert_refused(path, FIRN_BAD_SCENE, "id claims more rows than the file can hold");
}

static void test_truncated(void **state)
{
    (void)state;
    const char *path = scratch("short.h5");
    write_small(path, 2);
    size_t size;
    free(scratch_get(path, &size));
    while (size-- > 0) {
        assert_int_equal(truncate(path, (off_t)size), 0);
        assert_int_equal(read_all(path), FIRN_BAD_SCENE);
    }
}

/* A file that its writer still had open: HDF5 marks it, whatever its length. */
static void test_half_written(void **state)
{
    (void)state;
    const char *path = scratch("open.h5");
    write_small(path, 5);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    size_t size;
    char *bytes = scratch_get(path, &size);
    scratch_put(scratch("torn.h5"), bytes, size);
    free(bytes);
    H5Fclose(file);
    assert_refused(scratch("torn.h5"), FIRN_BAD_SCENE, "open for write");
    assert_int_equal(read_all(path), FIRN_OK);
}

static bool same_rows(const firn_frame *a, const firn_frame *b)
{
    size_t n = a->count;
    return a->count == b->count && a->dimensions == b->dimensions && a->time == b->time &&
           a->cell_size == b->cell_size && a->frame == b->frame && a->step == b->step &&
           !memcmp(a->id, b->id, n * 8) && !memcmp(a->object, b->object, n * 4) &&
           !memcmp(a->position, b->position, n * 12) && !memcmp(a->velocity, b->velocity, n * 12) &&
           !memcmp(a->mass, b->mass, n * 4) && !memcmp(a->density, b->density, n * 4) &&
           !memcmp(a->J_P, b->J_P, n * 4);
}

/* One wrong byte anywhere either is refused or changes no value. */
static void test_flipped_bytes(void **state)
{
    (void)state;
    const char *path = scratch("good.h5"), *flipped = scratch("flipped.h5");
    write_small(path, 40);
    firn_frame good, bad;
    assert_int_equal(firn_frame_read(path, &good), FIRN_OK);
    size_t size, refused = 0, tried = 0;
    char *bytes = scratch_get(path, &size);
    for (size_t at = 0; at < size; at += 1 + at % 29, tried++) {
        char kept = bytes[at];
        bytes[at] ^= (char)(1 << at % 8);
        scratch_put(flipped, bytes, size);
        if (firn_frame_read(flipped, &bad) != FIRN_OK) {
            refused++;
        } else {
            if (!same_rows(&good, &bad))
                fail_msg("byte %zu changed a value unnoticed", at);
            firn_frame_clear(&bad);
        }
        bytes[at] = kept;
    }
    print_message("%zu flips in %zu bytes, %zu refused\n", tried, size, refused);
    assert_true(refused > tried / 2);
    free(bytes);
    firn_frame_clear(&good);
}

/* A state that could not be resumed is not written over one that can. */
static void test_blown_up(void **state)
{
    (void)state;
    const char *path = scratch("kept.h5");
    write_small(path, 5);
    firn_sim *sim = fake_sim_create(5, 3, false, 0);
    firn_checkpoint_info info = fake_sim_info(sim, "flip");
    sim->values[FIRN_VELOCITY][7] = NAN;
    assert_int_equal(checkpoint_write(path, &info, sim, NULL), FIRN_BLOWUP);
    assert_non_null(strstr(firn_last_error(), "velocity of particle 7 is nan"));
    assert_int_equal(firn_checkpoint_read_info(path, &info), FIRN_OK);
    assert_int_equal(info.dimensions, 2);
    fake_sim_destroy(&sim);
}

int main(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),       cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_not_a_checkpoint), cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_absurd_count),     cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_half_written),     cmocka_unit_test(test_flipped_bytes),
        cmocka_unit_test(test_blown_up),
    };
    return cmocka_run_group_tests_name("checkpoint", tests, NULL, NULL);
}
