#include "run_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "console.h"
#include "json.h"
#include "names.h"
#include "run_folder.h"

static int output_failed(const char *path)
{
    console_error("%s: %s", path, strerror(errno));
    return FIRN_NO_OUTPUT;
}

/* ---- Costs ----------------------------------------------------------------------------------- */

frame_cost frame_cost_sum(const frame_cost *a, const frame_cost *b)
{
    frame_cost sum = *b;
    if (a->work.steps > 0) {
        bool b_is_empty = b->work.steps == 0;
        sum.work.dt_min =
            b_is_empty || a->work.dt_min < b->work.dt_min ? a->work.dt_min : b->work.dt_min;
        sum.work.dt_max =
            b_is_empty || a->work.dt_max > b->work.dt_max ? a->work.dt_max : b->work.dt_max;
    }
    sum.work.steps += a->work.steps;
    sum.work.retries += a->work.retries;
    sum.work.implicit_steps += a->work.implicit_steps;
    sum.work.solver_iterations += a->work.solver_iterations;
    sum.work.newton_iterations += a->work.newton_iterations;
    if (a->work.solver_residual > sum.work.solver_residual)
        sum.work.solver_residual = a->work.solver_residual;
    for (int s = 0; s < FIRN_STAGES; s++)
        sum.work.stage_ms[s] += a->work.stage_ms[s];
    sum.io_ms += a->io_ms;
    sum.seconds += a->seconds;
    return sum;
}

static void cost_write(FILE *out, uint64_t step, const frame_cost *c)
{
    const double *ms = c->work.stage_ms;
    fprintf(out,
            "{\"step\":%" PRIu64 ",\"steps\":%" PRIu64 ",\"retries\":%" PRIu64
            ",\"dt_min\":%.17g,\"dt_max\":%.17g,"
            "\"implicit_steps\":%" PRIu64 ",\"solver_iterations\":%" PRIu64
            ",\"newton_iterations\":%" PRIu64 ",\"solver_residual\":%.17g,"
            "\"ms\":[%.17g,%.17g,%.17g,%.17g,%.17g,%.17g],\"seconds\":%.17g}\n",
            step, c->work.steps, c->work.retries, c->work.dt_min, c->work.dt_max,
            c->work.implicit_steps, c->work.solver_iterations, c->work.newton_iterations,
            c->work.solver_residual, ms[FIRN_STAGE_SORT], ms[FIRN_STAGE_P2G], ms[FIRN_STAGE_GRID],
            ms[FIRN_STAGE_SOLVE], ms[FIRN_STAGE_G2P], c->io_ms, c->seconds);
}

static bool cost_read(FILE *in, uint64_t *step, frame_cost *c)
{
    double *ms = c->work.stage_ms;
    return fscanf(in,
                  " {\"step\":%" SCNu64 ",\"steps\":%" SCNu64 ",\"retries\":%" SCNu64
                  ",\"dt_min\":%lg,\"dt_max\":%lg,"
                  "\"implicit_steps\":%" SCNu64 ",\"solver_iterations\":%" SCNu64
                  ",\"newton_iterations\":%" SCNu64 ",\"solver_residual\":%lg,"
                  "\"ms\":[%lg,%lg,%lg,%lg,%lg,%lg],\"seconds\":%lg}",
                  step, &c->work.steps, &c->work.retries, &c->work.dt_min, &c->work.dt_max,
                  &c->work.implicit_steps, &c->work.solver_iterations, &c->work.newton_iterations,
                  &c->work.solver_residual, &ms[FIRN_STAGE_SORT], &ms[FIRN_STAGE_P2G],
                  &ms[FIRN_STAGE_GRID], &ms[FIRN_STAGE_SOLVE], &ms[FIRN_STAGE_G2P], &c->io_ms,
                  &c->seconds) == 16;
}

enum { COSTS_KEPT = 3 };

/* The newest costs in the file, oldest first. */
static int costs_read(const char *path, uint64_t steps[COSTS_KEPT], frame_cost costs[COSTS_KEPT])
{
    int count = 0;
    uint64_t step;
    frame_cost cost;
    FILE *in = fopen(path, "r");
    while (in && cost_read(in, &step, &cost)) {
        if (count == COSTS_KEPT) {
            memmove(steps, steps + 1, (COSTS_KEPT - 1) * sizeof *steps);
            memmove(costs, costs + 1, (COSTS_KEPT - 1) * sizeof *costs);
            count--;
        }
        steps[count] = step;
        costs[count++] = cost;
    }
    if (in)
        fclose(in);
    return count;
}

int frame_cost_save(const char *path, uint64_t step, const frame_cost *cost)
{
    uint64_t steps[COSTS_KEPT];
    frame_cost costs[COSTS_KEPT];
    int count = costs_read(path, steps, costs);
    char *temporary = new_text("%s.tmp", path);
    FILE *out = fopen(temporary, "w");
    bool good = out;
    if (out) {
        for (int k = count == COSTS_KEPT; k < count; k++)
            if (steps[k] != step)
                cost_write(out, steps[k], &costs[k]);
        cost_write(out, step, cost);
        good = !fflush(out) && !fsync(fileno(out));
        good = !fclose(out) && good;
    }
    good = good && !rename(temporary, path);
    int code = good ? 0 : output_failed(path);
    if (!good)
        unlink(temporary);
    free(temporary);
    return code;
}

frame_cost frame_cost_load(const char *path, uint64_t step)
{
    uint64_t steps[COSTS_KEPT];
    frame_cost costs[COSTS_KEPT];
    int count = costs_read(path, steps, costs);
    for (int k = 0; k < count; k++)
        if (steps[k] == step)
            return costs[k];
    return (frame_cost){0};
}

/* ---- The log --------------------------------------------------------------------------------- */

static void copy_lines_until(FILE *in, FILE *out, int last_frame)
{
    char *line = NULL;
    size_t room = 0;
    for (ssize_t length; (length = getline(&line, &room, in)) > 0;) {
        int frame;
        bool is_whole = line[length - 1] == '\n' && sscanf(line, "{\"frame\":%d,", &frame) == 1;
        if (is_whole && frame <= last_frame)
            fwrite(line, 1, (size_t)length, out);
    }
    free(line);
}

static int drop_later_frames(const char *path, int last_frame)
{
    FILE *in = fopen(path, "r");
    if (!in)
        return errno == ENOENT ? 0 : output_failed(path);
    char *temporary = new_text("%s.tmp", path);
    FILE *out = fopen(temporary, "w");
    bool good = out;
    if (out) {
        copy_lines_until(in, out, last_frame);
        good = !ferror(in) && !fflush(out) && !fsync(fileno(out));
        good = !fclose(out) && good;
    }
    fclose(in);
    good = good && !rename(temporary, path);
    int code = good ? 0 : output_failed(path);
    if (!good)
        unlink(temporary);
    free(temporary);
    return code;
}

int run_log_open(run_log *log, const char *path, int last_frame)
{
    struct stat status;
    bool is_stdout = !strcmp(path, "-");
    *log = (run_log){.path = new_text("%s", path), .fd = -1};
    log->is_file = !is_stdout && (stat(path, &status) != 0 || S_ISREG(status.st_mode));
    int code = log->is_file ? drop_later_frames(path, last_frame) : 0;
    if (code)
        return code;
    log->fd = is_stdout ? dup(STDOUT_FILENO)
                        : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    return log->fd < 0 ? output_failed(path) : 0;
}

static void write_stats(json *j, const firn_stats *s)
{
    json_integer(j, "particles", s->particles);
    json_integer(j, "active_nodes", s->active_nodes);
    json_number(j, "mass", s->mass);
    json_numbers(j, "momentum", s->momentum, 3);
    json_numbers(j, "angular_momentum", s->angular_momentum, 3);
    json_number(j, "kinetic_energy", s->kinetic_energy);
    json_number(j, "elastic_energy", s->elastic_energy);
    json_number(j, "max_speed", s->max_speed);
    json_number(j, "wave_speed", s->wave_speed);
    json_number(j, "J_P_min", s->J_P_min);
    json_number(j, "J_P_max", s->J_P_max);
}

/* The object as a line in fresh memory, owned by the caller. */
static char *frame_line(firn_sim *sim, const firn_stats *stats, const frame_cost *cost,
                        size_t *size)
{
    char *text = NULL;
    json j = {.out = open_memstream(&text, size)};
    if (!j.out)
        abort();
    const firn_progress *work = &cost->work;
    json_open(&j, NULL, '{');
    json_integer(&j, "frame", (uint64_t)firn_sim_frame(sim));
    json_number(&j, "time", firn_sim_time(sim));
    json_integer(&j, "step", firn_sim_steps(sim));
    json_integer(&j, "steps", work->steps);
    json_integer(&j, "retries", work->retries);
    json_number(&j, "dt_min", work->steps ? work->dt_min : 0);
    json_number(&j, "dt_max", work->steps ? work->dt_max : 0);
    write_stats(&j, stats);
    json_integer(&j, "implicit_steps", work->implicit_steps);
    json_integer(&j, "solver_iterations", work->solver_iterations);
    json_integer(&j, "newton_iterations", work->newton_iterations);
    json_number(&j, "solver_residual", work->solver_residual);
    json_open(&j, "ms", '{');
    for (int s = 0; s < FIRN_STAGES; s++)
        json_number(&j, stage_name(s), work->stage_ms[s]);
    json_number(&j, "io", cost->io_ms);
    json_close(&j, '}');
    json_number(&j, "seconds", cost->seconds);
    json_close(&j, '}');
    fputc('\n', j.out);
    if (fclose(j.out))
        abort();
    return text;
}

static bool write_all(int fd, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, text, size);
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0) {
            text += written;
            size -= (size_t)written;
        }
    }
    return true;
}

int run_log_frame(run_log *log, firn_sim *sim, const frame_cost *cost)
{
    firn_stats stats;
    firn_status status = firn_sim_stats(sim, &stats);
    if (status != FIRN_OK)
        return console_failure(status);
    size_t size;
    char *line = frame_line(sim, &stats, cost, &size);
    struct stat before = {0};
    int code = 0;
    if (fstat(log->fd, &before) || !write_all(log->fd, line, size)) {
        code = output_failed(log->path);
        if (log->is_file && ftruncate(log->fd, before.st_size))
            console_warning("%s: its last line is broken", log->path);
    }
    free(line);
    return code;
}

void run_log_sync(const run_log *log)
{
    if (log->is_file)
        fsync(log->fd);
}

void run_log_close(run_log *log)
{
    if (!log->path)
        return;
    if (log->fd >= 0)
        close(log->fd);
    free(log->path);
    *log = (run_log){0};
}
