/* Writes and reads sample files for the tests that look at them with other programs:
 *
 *     io_sample write FOLDER COUNT DIMENSIONS double|float flip|apic CENTRE
 *                                              state.h5, frame.hdf and frame.ply in FOLDER
 *     io_sample dump CHECKPOINT ATTRIBUTE      values, one row a line
 *     io_sample info FILE                      firn_file_describe
 *     io_sample time COUNT FOLDER              seconds and sizes
 *
 * Exits with the status; the message goes to stderr. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "fake_sim.h"
#include "io/checkpoint.h"

static char *in(const char *folder, const char *name)
{
    static char path[3][512];
    static int next;
    next = (next + 1) % 3;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static firn_status write_samples(char **arg)
{
    firn_sim *sim = fake_sim_create(strtoul(arg[1], NULL, 10), atoi(arg[2]),
                                    strcmp(arg[3], "double") == 0, atof(arg[5]));
    firn_checkpoint_info info = fake_sim_info(sim, arg[4]);
    firn_status status = checkpoint_write(in(arg[0], "state.h5"), &info, sim, NULL);
    if (!status)
        status = firn_frame_write(sim, in(arg[0], "frame.hdf"), FIRN_FORMAT_VTKHDF);
    if (!status)
        status = firn_frame_write(sim, in(arg[0], "frame.ply"), FIRN_FORMAT_PLY);
    fake_sim_destroy(&sim);
    return status;
}

static firn_status dump_values(checkpoint_reader *reader, const firn_checkpoint_info *info,
                               firn_attribute attribute)
{
    size_t width = (size_t)firn_attribute_components(attribute, info->dimensions);
    double *values = calloc(info->particles * width + 1, sizeof *values);
    firn_status status = checkpoint_read(reader, attribute, 0, info->particles, values);
    for (size_t k = 0; !status && k < info->particles * width; k++)
        printf("%.17g%c", values[k], (k + 1) % width ? ' ' : '\n');
    free(values);
    return status;
}

static firn_status dump_integers(checkpoint_reader *reader, size_t count)
{
    uint64_t *ids = calloc(count + 1, sizeof *ids);
    uint32_t *objects = calloc(count + 1, sizeof *objects);
    firn_status status = checkpoint_read_ids(reader, ids);
    if (!status)
        status = checkpoint_read_objects(reader, objects);
    for (size_t p = 0; !status && p < count; p++)
        printf("%" PRIu64 " %" PRIu32 "\n", ids[p], objects[p]);
    free(ids);
    free(objects);
    return status;
}

static firn_status dump(char **arg)
{
    firn_checkpoint_info info;
    checkpoint_reader *reader = NULL;
    firn_status status = checkpoint_open(arg[0], &info, &reader);
    if (!status && strcmp(arg[1], "id") == 0)
        status = dump_integers(reader, info.particles);
    for (firn_attribute a = 0; !status && a < FIRN_STATE_ATTRIBUTES; a++)
        if (strcmp(arg[1], firn_attribute_name(a)) == 0)
            status = dump_values(reader, &info, a);
    checkpoint_close(&reader);
    return status;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void report(const char *what, const char *path, size_t count, double seconds)
{
    struct stat file;
    if (stat(path, &file) == 0)
        printf("%-22s %8.3f s %8.1f MB/s %7.1f bytes a particle\n", what, seconds,
               (double)file.st_size / seconds * 1e-6, (double)file.st_size / (double)count);
}

static firn_status measure(char **arg)
{
    size_t count = strtoul(arg[0], NULL, 10);
    for (int is_double = 0; is_double < 2; is_double++) {
        firn_sim *sim = fake_sim_create(count, 3, is_double, 0);
        firn_checkpoint_info info = fake_sim_info(sim, "flip");
        char *path = in(arg[1], "time.h5");
        double start = now();
        firn_status status = checkpoint_write(path, &info, sim, NULL);
        report(is_double ? "checkpoint float64" : "checkpoint float32", path, count, now() - start);
        for (unsigned format = 1; !status && !is_double && format <= 2; format *= 2) {
            path = in(arg[1], firn_format_extension(format));
            start = now();
            status = firn_frame_write(sim, path, format);
            report(firn_format_extension(format), path, count, now() - start);
        }
        fake_sim_destroy(&sim);
        if (status)
            return status;
    }
    return FIRN_OK;
}

int main(int count, char **arg)
{
    firn_status status = FIRN_USAGE;
    if (count == 8 && strcmp(arg[1], "write") == 0)
        status = write_samples(arg + 2);
    else if (count == 4 && strcmp(arg[1], "dump") == 0)
        status = dump(arg + 2);
    else if (count == 3 && strcmp(arg[1], "info") == 0)
        status = firn_file_describe(arg[2], stdout);
    else if (count == 4 && strcmp(arg[1], "time") == 0)
        status = measure(arg + 2);
    if (status)
        fprintf(stderr, "%s\n", firn_last_error());
    return (int)status;
}
