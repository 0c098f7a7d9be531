/* Disks that fill up, folders that are not there, processes that are killed: an earlier file under
 * the name survives, no half file takes its place, and the process goes on in good health. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <hdf5.h>

#include "fake_sim.h"
#include "io/checkpoint.h"
#include "scratch.h"

enum { CHECKPOINT, VTKHDF, PLY, WRITERS };

static firn_status write_as(int writer, const firn_sim *sim, const char *path)
{
    firn_checkpoint_info info = fake_sim_info(sim, "apic");
    switch (writer) {
    case CHECKPOINT:
        return checkpoint_write(path, &info, sim, NULL);
    case VTKHDF:
        return firn_frame_write(sim, path, FIRN_FORMAT_VTKHDF);
    default:
        return firn_frame_write(sim, path, FIRN_FORMAT_PLY);
    }
}

static firn_status read_as(int writer, const char *path)
{
    firn_frame frame = {0};
    if (writer != PLY) {
        firn_status status = firn_frame_read(path, &frame);
        firn_frame_clear(&frame);
        return status;
    }
    FILE *nowhere = fopen("/dev/null", "w");
    firn_status status = firn_file_describe(path, nowhere);
    fclose(nowhere);
    return status;
}

static void assert_write_fails(int writer, const firn_sim *sim, const char *path, const char *word)
{
    assert_int_equal(write_as(writer, sim, path), FIRN_NO_OUTPUT);
    if (!strstr(firn_last_error(), path) || !strstr(firn_last_error(), word))
        fail_msg("\"%s\" does not name %s and \"%s\"", firn_last_error(), path, word);
    assert_int_equal(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

static void set_file_limit(rlim_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_size_limit(void **state)
{
    (void)state;
    firn_sim *small = fake_sim_create(10, 3, true, 0), *large = fake_sim_create(20000, 3, true, 0);
    char folder[256], path[300];
    snprintf(folder, sizeof folder, "%s", scratch("limit"));
    snprintf(path, sizeof path, "%s/file", folder);
    mkdir(folder, 0777);
    for (int writer = 0; writer < WRITERS; writer++) {
        assert_int_equal(write_as(writer, small, path), FIRN_OK);
        size_t before, after;
        char *old = scratch_get(path, &before);
        for (rlim_t limit = 0; limit < 600000; limit += limit / 3 + 777) {
            set_file_limit(limit);
            assert_write_fails(writer, large, path, "File too large");
            set_file_limit(RLIM_INFINITY);
            assert_int_equal(scratch_count(folder), 1);
        }
        char *now = scratch_get(path, &after);
        assert_int_equal(before, after);
        assert_memory_equal(now, old, before);
        free(old);
        free(now);
        assert_int_equal(write_as(writer, large, path), FIRN_OK);
        assert_int_equal(read_as(writer, path), FIRN_OK);
    }
    fake_sim_destroy(&small);
    fake_sim_destroy(&large);
}

static void test_full_disk(void **state)
{
    (void)state;
    char folder[256], path[300];
    snprintf(folder, sizeof folder, "%s", scratch("tiny"));
    snprintf(path, sizeof path, "%s/file", folder);
    mkdir(folder, 0777);
    /* In a namespace of our own, so that nothing stays mounted however this ends. */
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", folder, "tmpfs", 0, "size=400k") != 0) {
        print_message("no right to mount a small disk; left out\n");
        skip();
    }
    firn_sim *sim = fake_sim_create(20000, 3, true, 0);
    for (int writer = 0; writer < WRITERS; writer++) {
        assert_write_fails(writer, sim, path, "No space left");
        assert_int_equal(scratch_count(folder), 0);
        assert_int_equal(write_as(writer, sim, scratch("elsewhere")), FIRN_OK);
        assert_int_equal(read_as(writer, scratch("elsewhere")), FIRN_OK);
    }
    assert_int_equal(umount(folder), 0);
    fake_sim_destroy(&sim);
}

static void test_no_place(void **state)
{
    (void)state;
    firn_sim *sim = fake_sim_create(3, 2, true, 0);
    mkdir(scratch("folder"), 0777);
    mkfifo(scratch("pipe"), 0666);
    mkdir(scratch("closed"), 0555);
    for (int writer = 0; writer < WRITERS; writer++) {
        assert_write_fails(writer, sim, scratch("nowhere/file"), "No such file or directory");
        assert_write_fails(writer, sim, scratch("folder"), "not a regular file");
        assert_write_fails(writer, sim, scratch("pipe"), "not a regular file");
        if (geteuid() != 0)
            assert_write_fails(writer, sim, scratch("closed/file"), "Permission denied");
    }
    fake_sim_destroy(&sim);
}

/* The new file gets the rights that any new file gets. */
static void test_rights(void **state)
{
    (void)state;
    firn_sim *sim = fake_sim_create(3, 2, true, 0);
    struct stat info;
    mode_t mask = umask(027);
    assert_int_equal(write_as(PLY, sim, scratch("rights")), FIRN_OK);
    umask(mask);
    assert_int_equal(stat(scratch("rights"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    fake_sim_destroy(&sim);
}

/* Whenever the writer dies, the name holds a whole file: the old one or the new one. */
static void test_killed(void **state)
{
    (void)state;
    firn_sim *sim = fake_sim_create(30000, 3, true, 0);
    const char *path = scratch("killed");
    for (int writer = 0; writer < WRITERS; writer++) {
        assert_int_equal(write_as(writer, sim, path), FIRN_OK);
        for (int round = 0; round < 8; round++) {
            pid_t child = fork();
            if (child == 0)
                for (;;)
                    write_as(writer, sim, path);
            usleep(3000 + 4000 * (useconds_t)round);
            kill(child, SIGKILL);
            waitpid(child, NULL, 0);
            assert_int_equal(read_as(writer, path), FIRN_OK);
        }
    }
    fake_sim_destroy(&sim);
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_size_limit), cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_no_place),   cmocka_unit_test(test_rights),
        cmocka_unit_test(test_killed),
    };
    int failed = cmocka_run_group_tests_name("write failure", tests, NULL, NULL);
    /* After so many failures the library must still be able to end itself. */
    return failed || H5close() < 0;
}
