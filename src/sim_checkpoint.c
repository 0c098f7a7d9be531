/* The whole state to a file and back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/checkpoint.h"
#include "sim.h"
#include "status.h"

static const char *kernel_name(const firn_settings *s)
{
    return s->kernel == FIRN_CUBIC ? "cubic" : "quadratic";
}

static const char *transfer_name(const firn_settings *s)
{
    static const char *const names[] = {
        [FIRN_FLIP] = "flip", [FIRN_APIC] = "apic", [FIRN_MLS] = "mls"};
    return names[s->transfer];
}

static bool sleeps(const firn_sim *sim)
{
    return sim->scene->settings.sleep_speed > 0 && sim->ops->get_rest;
}

firn_status firn_sim_save(firn_sim *sim, const char *path)
{
    const firn_settings *settings = &sim->scene->settings;
    firn_checkpoint_info info = {
        .time = sim->time,
        .step = sim->step,
        .frame = sim->frame,
        .cell_size = settings->cell_size,
        .dimensions = settings->dimensions,
        .fingerprint = sim->scene->fingerprint,
        .dt_limit = sim->dt_limit,
        .next_id = sim->flow.next_id,
        .particles = sim->count,
        .is_double = sim->ops->is_double,
    };
    strncpy(info.version, FIRN_VERSION, sizeof info.version - 1);
    strncpy(info.kernel, kernel_name(settings), sizeof info.kernel - 1);
    strncpy(info.transfer, transfer_name(settings), sizeof info.transfer - 1);
    strncpy(info.backend, sim->ops->name, sizeof info.backend - 1);
    double *rest = NULL;
    firn_status status = FIRN_OK;
    if (sleeps(sim)) {
        rest = malloc((sim->count + 1) * sizeof *rest);
        status = rest ? sim->ops->get_rest(sim->state, rest)
                      : fail(FIRN_NO_MEMORY, "out of memory for %zu particles", sim->count);
    }
    if (status == FIRN_OK)
        status = checkpoint_write(path, &info, sim, rest);
    free(rest);
    return status;
}

/* A checkpoint fits a scene that could have written it, as far as the arrays can tell. */
static firn_status check_fits(const char *path, const firn_checkpoint_info *info,
                              const firn_settings *settings)
{
    if (info->dimensions != settings->dimensions)
        return fail(FIRN_BAD_SCENE, "%s: holds a %dD state, the scene is %dD", path,
                    info->dimensions, settings->dimensions);
    if (fabs(info->time - info->frame / settings->fps) > 1.0 / settings->fps)
        log_message(FIRN_LOG_WARNING,
                    "%s: frame %d at %g s does not fit the scene's %g frames a second; the next "
                    "frame is the first one after that time",
                    path, info->frame, info->time, settings->fps);
    return FIRN_OK;
}

/* For how long the snow has been still: without it everything wakes, as it does in another scene, where
 * forces and bodies may be others. */
static firn_status copy_rest(firn_sim *sim, checkpoint_reader *reader, uint64_t fingerprint)
{
    if (!sleeps(sim) || !checkpoint_has_rest(reader) || fingerprint != sim->scene->fingerprint)
        return FIRN_OK;
    double *rest = malloc((sim->count + 1) * sizeof *rest);
    if (!rest)
        return fail(FIRN_NO_MEMORY, "out of memory for %zu particles", sim->count);
    firn_status status = checkpoint_read_rest(reader, rest);
    if (status == FIRN_OK)
        status = sim->ops->set_rest(sim->state, rest);
    free(rest);
    return status;
}

static firn_status copy_state(firn_sim *sim, checkpoint_reader *reader, const char *path)
{
    double *buffer = malloc(sizeof(double[9]) * CHUNK);
    if (!buffer)
        return fail(FIRN_NO_MEMORY, "out of memory for particle values");
    firn_status status = checkpoint_read_ids(reader, sim->ids);
    if (status == FIRN_OK)
        status = checkpoint_read_objects(reader, sim->objects);
    for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES && status == FIRN_OK; a++)
        for (size_t done = 0; done < sim->count && status == FIRN_OK; done += CHUNK) {
            size_t rows = sim->count - done < CHUNK ? sim->count - done : CHUNK;
            if (a == FIRN_B && !checkpoint_has(reader, a))
                memset(buffer, 0, sizeof(double[9]) * CHUNK);
            else
                status = checkpoint_read(reader, a, done, rows, buffer);
            if (status == FIRN_OK) {
                status = sim_check_values(a, buffer, done, rows, sim->scene->settings.dimensions);
                if (status != FIRN_OK)
                    fail_within(status, "%s: ", path);
            }
            if (status == FIRN_OK)
                status = sim->ops->set(sim->state, a, done, rows, buffer);
        }
    free(buffer);
    return status;
}

firn_status firn_sim_create_from_checkpoint(const firn_scene *scene,
                                            const firn_sim_options *options, const char *path,
                                            firn_sim **sim)
{
    *sim = NULL;
    firn_checkpoint_info info;
    checkpoint_reader *reader = NULL;
    firn_status status = checkpoint_open(path, &info, &reader);
    if (status == FIRN_OK)
        status = check_fits(path, &info, &scene->settings);
    if (status == FIRN_OK)
        status = sim_make(scene, options, info.particles, sim);
    if (status == FIRN_OK)
        status = copy_state(*sim, reader, path);
    if (status == FIRN_OK)
        status = copy_rest(*sim, reader, info.fingerprint);
    checkpoint_close(&reader);
    if (status != FIRN_OK) {
        firn_sim_destroy(sim);
        return status;
    }
    (*sim)->time = info.time;
    (*sim)->step = info.step;
    (*sim)->frame = info.frame;
    (*sim)->dt_limit = info.dt_limit;
    uint64_t after = info.particles > 0 ? (*sim)->ids[info.particles - 1] + 1 : 0;
    (*sim)->flow.next_id = info.next_id > after ? info.next_id : after;
    return FIRN_OK;
}
