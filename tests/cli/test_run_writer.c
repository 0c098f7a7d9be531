/*
 * The queue between a simulation and its files: frames are the same whether a simulation leaves copies that stand
 * still, as it does on a GPU, or none, or both by turns; checkpoints come between them; and a failure ends it.
 * The copies here come from checkpoints, in place of firn_sim_freeze.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../tool/run_writer.h"

/* Frames 0 .. LAST, and a checkpoint behind one of them. */
enum { LAST = 11, SAVED = 4, ASKED = LAST + 2 };
static const firn_sim_options options = {.backend = "cpu", .threads = 1};
static char folder[] = "/tmp/firn_writer_XXXXXX";
static firn_scene *scene;
static firn_sim *copies[ASKED]; /* made beforehand, so that the queue is always full */
static int asked;

/* What run_writer.c calls firn_sim_freeze here. */
firn_status stand_still(firn_sim *sim, firn_sim **still);
firn_status stand_still(firn_sim *sim, firn_sim **still)
{
    (void)sim;
    *still = copies[asked];
    copies[asked++] = NULL;
    return FIRN_OK;
}

static const char *state_path(int frame)
{
    static char path[80];
    snprintf(path, sizeof path, "%s/state_%d.h5", folder, frame);
    return path;
}

static firn_sim *load(const char *path)
{
    firn_sim *sim;
    if (firn_sim_create_from_checkpoint(scene, &options, path, &sim) != FIRN_OK)
        fail_msg("%s", firn_last_error());
    return sim;
}

/* Checkpoints of all frames. */
static int save_states(void **state)
{
    (void)state;
    firn_sim *sim;
    if (firn_sim_create(scene, &options, &sim) != FIRN_OK)
        return -1;
    bool good = true;
    for (int frame = 0; frame <= LAST && good; frame++)
        good = firn_sim_save(sim, state_path(frame)) == FIRN_OK &&
               firn_sim_advance_frame(sim, NULL, NULL) == FIRN_OK;
    firn_sim_destroy(&sim);
    return good ? 0 : -1;
}

/* Of each that will be asked for, but every so many times none. */
static void make_copies(int none_each)
{
    asked = 0;
    for (int k = 0; k < ASKED; k++)
        copies[k] = (k + 1) % none_each ? load(state_path(k <= SAVED ? k : k - 1)) : NULL;
}

static void drop_copies(void)
{
    for (int k = 0; k < ASKED; k++)
        firn_sim_destroy(&copies[k]);
}

/* The bytes of a file, with a 0 behind them. */
static char *read_all(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("no %s", path);
    char *bytes = calloc(1, 1 << 22);
    *size = fread(bytes, 1, (1 << 22) - 1, file);
    fclose(file);
    return bytes;
}

static void assert_same_files(const char *a, const char *b)
{
    size_t sizes[2];
    char *bytes[2] = {read_all(a, &sizes[0]), read_all(b, &sizes[1])};
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    free(bytes[0]);
    free(bytes[1]);
}

/* All frames into a folder. */
static run_folder write_run(const char *name, int none_each)
{
    char path[80];
    run_folder to;
    run_writer *writer;
    firn_sim *sims[LAST + 1];
    for (int frame = 0; frame <= LAST; frame++)
        sims[frame] = load(state_path(frame));
    make_copies(none_each);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(folder_open(&to, path), 0);
    assert_int_equal(run_writer_create(to.path, firn_scene_settings(scene), &writer), 0);
    for (int frame = 0; frame <= LAST; frame++) {
        assert_int_equal(run_writer_put(writer, sims[frame], FIRN_FORMAT_VTKHDF), 0);
        if (frame == SAVED) {
            const bool is_there = copies[asked] != NULL;
            bool is_kept;
            const frame_cost none = {0};
            assert_int_equal(run_writer_save(writer, sims[frame], &to, &none, &is_kept), 0);
            assert_int_equal(is_kept, is_there);
        }
    }
    assert_int_equal(run_writer_wait(writer), 0);
    run_writer_destroy(&writer);
    for (int frame = 0; frame <= LAST; frame++)
        firn_sim_destroy(&sims[frame]);
    return to;
}

static void test_same_frames(void **state)
{
    (void)state;
    run_folder plain = write_run("plain", 1);
    const int turns[] = {1000, 4, 5}; /* each with a copy for the checkpoint, which comes sixth */
    for (size_t k = 0; k < sizeof turns / sizeof *turns; k++) {
        char name[20];
        snprintf(name, sizeof name, "copies_%d", turns[k]);
        run_folder other = write_run(name, turns[k]);
        for (int frame = 0; frame <= LAST; frame++) {
            char *a = folder_frame_path(plain.path, frame, FIRN_FORMAT_VTKHDF);
            char *b = folder_frame_path(other.path, frame, FIRN_FORMAT_VTKHDF);
            assert_same_files(a, b);
            free(a);
            free(b);
        }
        firn_sim *saved = load(other.checkpoint);
        assert_int_equal(firn_sim_frame(saved), SAVED);
        firn_sim_destroy(&saved);
        folder_close(&other);
    }
    folder_close(&plain);
}

/* Nothing hangs when frames cannot be written, and every later call says so. */
static void test_failure(void **state)
{
    (void)state;
    for (int none_each = 1; none_each <= 3; none_each++) {
        run_writer *writer;
        firn_sim *sim = load(state_path(0));
        make_copies(none_each);
        assert_int_equal(run_writer_create("/nowhere", firn_scene_settings(scene), &writer), 0);
        int code = 0;
        for (int k = 0; k < ASKED && !code; k++)
            code = run_writer_put(writer, sim, FIRN_FORMAT_VTKHDF);
        assert_int_equal(code, FIRN_NO_OUTPUT);
        assert_int_equal(run_writer_wait(writer), FIRN_NO_OUTPUT);
        run_writer_destroy(&writer);
        firn_sim_destroy(&sim);
        drop_copies();
    }
}

int main(void)
{
    const char *text = "name: w\nsimulation: {dimensions: 2, cell_size: 0.01, frames: 20}\n"
                       "snow: [{shape: {sphere: {center: [0, 0.3, 0], radius: 0.2}}}]\n"
                       "colliders: [{shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}}]\n";
    if (!mkdtemp(folder) || firn_scene_parse(text, "w.yaml", NULL, 0, &scene) != FIRN_OK) {
        fprintf(stderr, "%s\n", firn_last_error());
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_frames),
        cmocka_unit_test(test_failure),
    };
    int failed = cmocka_run_group_tests(tests, save_states, NULL);
    firn_scene_destroy(&scene);
    char clean[100];
    snprintf(clean, sizeof clean, "rm -rf '%s'", folder);
    return system(clean) != 0 || failed;
}
