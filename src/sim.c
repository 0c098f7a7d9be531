/*
 * A simulation: time, frames, ids and the choice of time step around a backend that does the steps.
 *
 * Invariants:
 * 1. Everything that decides the next step (time, frame, particles) is in a checkpoint and nothing
 *    else is, so a resumed run takes the same steps as an uninterrupted one.
 * 2. time == frame / fps exactly when a frame has just been reached.
 * 3. Rows are in id order; ids and objects are kept here, the state in the backend.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "cpu/kernels.h"
#include "io/checkpoint.h"
#include "measure.h"
#include "method/time_step.h"
#include "scene/model.h"
#include "status.h"

enum { CHUNK = 16384 }; /* rows that cross to or from the backend at a time */

struct firn_sim {
    firn_scene *scene; /* own copy */
    collider_set colliders;
    const backend_ops *ops;
    backend *state;
    size_t count;
    uint64_t *ids;
    uint32_t *objects;
    double time;
    uint64_t step;
    int frame;
    size_t active_nodes;
    bool blown_up;
    firn_progress progress;
};

const char *firn_version(void)
{
    return FIRN_VERSION;
}

const char *firn_features(void)
{
    static _Thread_local char text[128];
    snprintf(text, sizeof text, "backends: cpu ref; instruction set: %s",
             cpu_isa() ? cpu_isa() : "unknown FIRN_ISA");
    return text;
}

const backend_ops *backend_find(const char *name, int dimensions)
{
    if (!name || strcmp(name, "auto") == 0 || strcmp(name, "cpu") == 0)
        return &cpu_backend;
    if (strcmp(name, "ref") == 0)
        return dimensions == 3 ? &ref3_backend : &ref2_backend;
    fail(FIRN_USAGE, "unknown backend '%s': this build has auto, cpu and ref", name);
    return NULL;
}

/* ---- Attributes --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int rank; /* 0 scalar, 1 vector, 2 matrix */
} attributes[FIRN_ATTRIBUTES] = {
    [FIRN_POSITION] = {"position", 1},
    [FIRN_VELOCITY] = {"velocity", 1},
    [FIRN_MASS] = {"mass", 0},
    [FIRN_VOLUME] = {"volume", 0},
    [FIRN_F_E] = {"F_E", 2},
    [FIRN_J_P] = {"J_P", 0},
    [FIRN_B] = {"B", 2},
    [FIRN_MU0] = {"mu0", 0},
    [FIRN_LAMBDA0] = {"lambda0", 0},
    [FIRN_HARDENING] = {"hardening", 0},
    [FIRN_THETA_C] = {"theta_c", 0},
    [FIRN_THETA_S] = {"theta_s", 0},
    [FIRN_DENSITY] = {"density", 0},
};

const char *firn_attribute_name(firn_attribute attribute)
{
    return attributes[attribute].name;
}

int firn_attribute_components(firn_attribute attribute, int dimensions)
{
    int rank = attributes[attribute].rank;
    return rank == 0 ? 1 : rank == 1 ? dimensions : dimensions * dimensions;
}

/* ---- Creation ----------------------------------------------------------------------------------- */

void firn_sim_destroy(firn_sim **sim)
{
    if (!*sim)
        return;
    if ((*sim)->state)
        (*sim)->ops->destroy(&(*sim)->state);
    free((*sim)->colliders.items);
    free((*sim)->ids);
    free((*sim)->objects);
    firn_scene_destroy(&(*sim)->scene);
    free(*sim);
    *sim = NULL;
}

/* A simulation of this scene with `count` particles whose values are still to be set. */
static firn_status make(const firn_scene *scene, const firn_sim_options *options, size_t count,
                        firn_sim **out)
{
    int dimensions = scene->settings.dimensions;
    const backend_ops *ops = backend_find(options ? options->backend : NULL, dimensions);
    if (!ops)
        return FIRN_USAGE;
    if (options && options->threads < 0)
        return fail(FIRN_USAGE, "%d threads: give 1 or more, or 0 for all", options->threads);

    firn_sim *sim = calloc(1, sizeof *sim);
    if (!sim)
        return fail(FIRN_NO_MEMORY, "out of memory for a simulation");
    sim->ops = ops;
    sim->count = count;
    sim->scene = scene_copy(scene);
    sim->ids = malloc((count + 1) * sizeof *sim->ids);
    sim->objects = calloc(count + 1, sizeof *sim->objects);
    sim->colliders.items = calloc(scene->collider_count + 1, sizeof *sim->colliders.items);
    firn_status status = FIRN_OK;
    if (!sim->scene || !sim->ids || !sim->objects || !sim->colliders.items)
        status = fail(FIRN_NO_MEMORY, "out of memory for %zu particles", count);
    if (status == FIRN_OK) {
        sim->colliders.count = sim->scene->collider_count;
        sim->colliders.dimensions = dimensions;
        for (size_t c = 0; c < sim->colliders.count; c++)
            sim->colliders.items[c] = sim->scene->colliders[c].body;
        for (size_t r = 0; r < count; r++)
            sim->ids[r] = r;
        backend_problem problem = {.settings = &sim->scene->settings,
                                   .colliders = &sim->colliders,
                                   .threads = options ? options->threads : 0};
        status = ops->create(&problem, &sim->state);
    }
    if (status == FIRN_OK)
        status = ops->resize(sim->state, count);
    if (status != FIRN_OK) {
        firn_sim_destroy(&sim);
        return status;
    }
    firn_sim_reset_progress(sim);
    *out = sim;
    return FIRN_OK;
}

/* Give rows [first, first + count) one value. */
static firn_status set_constant(firn_sim *sim, firn_attribute attribute, size_t first, size_t count,
                                const double *value)
{
    int width = firn_attribute_components(attribute, sim->scene->settings.dimensions);
    double *buffer = malloc(sizeof(double[9]) * CHUNK);
    if (!buffer)
        return fail(FIRN_NO_MEMORY, "out of memory for particle values");
    for (size_t r = 0; r < CHUNK && r < count; r++)
        memcpy(buffer + r * (size_t)width, value, sizeof(double) * (size_t)width);
    firn_status status = FIRN_OK;
    for (size_t done = 0; done < count && status == FIRN_OK; done += CHUNK) {
        size_t rows = count - done < CHUNK ? count - done : CHUNK;
        status = sim->ops->set(sim->state, attribute, first + done, rows, buffer);
    }
    free(buffer);
    return status;
}

/* Everything but position, velocity, mass and volume: at rest, undeformed, of this material. */
static firn_status set_fresh(firn_sim *sim, size_t first, size_t count, const scene_material *m)
{
    static const double identity2[4] = {1, 0, 0, 1}, zero[9] = {0}, one = 1;
    static const double identity3[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double mu0, lambda0;
    scene_lame(m, &mu0, &lambda0);
    const struct {
        firn_attribute attribute;
        const double *value;
    } fresh[] = {
        {FIRN_F_E, sim->scene->settings.dimensions == 3 ? identity3 : identity2},
        {FIRN_J_P, &one},
        {FIRN_B, zero},
        {FIRN_MU0, &mu0},
        {FIRN_LAMBDA0, &lambda0},
        {FIRN_HARDENING, &m->hardening},
        {FIRN_THETA_C, &m->critical_compression},
        {FIRN_THETA_S, &m->critical_stretch},
    };
    firn_status status = FIRN_OK;
    for (size_t k = 0; k < sizeof fresh / sizeof *fresh && status == FIRN_OK; k++)
        status = set_constant(sim, fresh[k].attribute, first, count, fresh[k].value);
    return status;
}

static firn_status set_object(firn_sim *sim, size_t object, size_t first,
                              const sample_points *points)
{
    const scene_snow *snow = &sim->scene->snow[object];
    const scene_material *material = &sim->scene->materials[snow->material];
    size_t count = points->count;
    double volume = points->volume / (double)count;
    double mass = material->density * volume;
    for (size_t r = 0; r < count; r++)
        sim->objects[first + r] = (uint32_t)object;
    firn_status status = sim->ops->set(sim->state, FIRN_POSITION, first, count, points->position);
    if (status == FIRN_OK)
        status = set_constant(sim, FIRN_VELOCITY, first, count, snow->velocity);
    if (status == FIRN_OK)
        status = set_constant(sim, FIRN_MASS, first, count, &mass);
    if (status == FIRN_OK)
        status = set_constant(sim, FIRN_VOLUME, first, count, &volume);
    if (status == FIRN_OK)
        status = set_fresh(sim, first, count, material);
    return status;
}

firn_status firn_sim_create(const firn_scene *scene, const firn_sim_options *options,
                            firn_sim **sim)
{
    *sim = NULL;
    if (scene->snow_count == 0)
        return fail(FIRN_BAD_SCENE, "%s: no snow: add an entry under `snow:`", scene->path);
    sample_points *points = calloc(scene->snow_count, sizeof *points);
    if (!points)
        return fail(FIRN_NO_MEMORY, "out of memory for %zu snow objects", scene->snow_count);
    firn_status status = FIRN_OK;
    size_t total = 0;
    for (size_t o = 0; o < scene->snow_count && status == FIRN_OK; o++) {
        status = scene_sample(scene, o, &points[o]);
        total += points[o].count;
    }
    if (status == FIRN_OK)
        status = make(scene, options, total, sim);
    size_t first = 0;
    for (size_t o = 0; o < scene->snow_count; o++) {
        if (status == FIRN_OK)
            status = set_object(*sim, o, first, &points[o]);
        first += points[o].count;
        sample_points_clear(&points[o]);
    }
    free(points);
    if (status != FIRN_OK)
        firn_sim_destroy(sim);
    return status;
}

/* ---- From arrays -------------------------------------------------------------------------------- */

/* The caller's array of a state attribute, or NULL. */
static const double *array_of(const firn_particles *p, firn_attribute attribute)
{
    const double *const arrays[FIRN_STATE_ATTRIBUTES] = {
        [FIRN_POSITION] = p->position,
        [FIRN_VELOCITY] = p->velocity,
        [FIRN_MASS] = p->mass,
        [FIRN_VOLUME] = p->volume,
        [FIRN_F_E] = p->F_E,
        [FIRN_J_P] = p->J_P,
        [FIRN_B] = p->B,
        [FIRN_MU0] = p->mu0,
        [FIRN_LAMBDA0] = p->lambda0,
        [FIRN_HARDENING] = p->hardening,
        [FIRN_THETA_C] = p->theta_c,
        [FIRN_THETA_S] = p->theta_s,
    };
    return arrays[attribute];
}

/* The values an attribute may have, of which every solver can be sure. */
static const struct {
    double low, high; /* both excluded */
    const char *words;
} ranges[FIRN_STATE_ATTRIBUTES] = {
    [FIRN_POSITION] = {-INFINITY, INFINITY, "finite"},
    [FIRN_VELOCITY] = {-INFINITY, INFINITY, "finite"},
    [FIRN_MASS] = {0, INFINITY, "positive"},
    [FIRN_VOLUME] = {0, INFINITY, "positive"},
    [FIRN_F_E] = {-INFINITY, INFINITY, "finite"},
    [FIRN_J_P] = {0, INFINITY, "positive"},
    [FIRN_B] = {-INFINITY, INFINITY, "finite"},
    [FIRN_MU0] = {0, INFINITY, "positive"},
    [FIRN_LAMBDA0] = {-INFINITY, INFINITY, "finite"},
    [FIRN_HARDENING] = {-DBL_MIN, INFINITY, "0 or more"},
    [FIRN_THETA_C] = {-DBL_MIN, 1, "at least 0 and below 1"},
    [FIRN_THETA_S] = {-DBL_MIN, INFINITY, "0 or more"},
};

static firn_status check_values(firn_attribute attribute, const double *values, size_t first,
                                size_t count, int dimensions)
{
    size_t width = (size_t)firn_attribute_components(attribute, dimensions);
    for (size_t k = 0; k < count * width; k++)
        if (!(values[k] > ranges[attribute].low && values[k] < ranges[attribute].high))
            return fail(FIRN_BAD_SCENE, "particle row %zu: %s is %g; it must be %s",
                        first + k / width, firn_attribute_name(attribute), values[k],
                        ranges[attribute].words);
    return FIRN_OK;
}

static firn_status check_arrays(const firn_particles *p, int dimensions)
{
    if (!p->position || !p->mass || !p->volume)
        return fail(FIRN_USAGE, "particles need the arrays position, mass and volume");
    for (size_t r = 1; p->id && r < p->count; r++)
        if (p->id[r] <= p->id[r - 1])
            return fail(FIRN_BAD_SCENE, "particle row %zu: ids must increase strictly", r);
    firn_status status = FIRN_OK;
    for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES && status == FIRN_OK; a++)
        if (array_of(p, a))
            status = check_values(a, array_of(p, a), 0, p->count, dimensions);
    return status;
}

firn_status firn_sim_create_from_particles(const firn_scene *scene, const firn_sim_options *options,
                                           const firn_particles *particles, firn_sim **sim)
{
    *sim = NULL;
    firn_status status = check_arrays(particles, scene->settings.dimensions);
    if (status == FIRN_OK)
        status = make(scene, options, particles->count, sim);
    if (status != FIRN_OK)
        return status;

    size_t count = particles->count;
    if (particles->id)
        memcpy((*sim)->ids, particles->id, count * sizeof *particles->id);
    if (particles->object)
        memcpy((*sim)->objects, particles->object, count * sizeof *particles->object);
    scene_material material = scene_default_material();
    const double zero[3] = {0};
    status = set_fresh(*sim, 0, count, &material);
    if (status == FIRN_OK)
        status = set_constant(*sim, FIRN_VELOCITY, 0, count, zero);
    for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES && status == FIRN_OK; a++)
        if (array_of(particles, a))
            status = (*sim)->ops->set((*sim)->state, a, 0, count, array_of(particles, a));
    if (status != FIRN_OK)
        firn_sim_destroy(sim);
    return status;
}

/* ---- Checkpoints -------------------------------------------------------------------------------- */

static const char *kernel_name(const firn_settings *s)
{
    return s->kernel == FIRN_CUBIC ? "cubic" : "quadratic";
}

static const char *transfer_name(const firn_settings *s)
{
    return s->transfer == FIRN_APIC ? "apic" : "flip";
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
        .particles = sim->count,
        .is_double = sim->ops->is_double,
    };
    strncpy(info.version, FIRN_VERSION, sizeof info.version - 1);
    strncpy(info.kernel, kernel_name(settings), sizeof info.kernel - 1);
    strncpy(info.transfer, transfer_name(settings), sizeof info.transfer - 1);
    strncpy(info.backend, sim->ops->name, sizeof info.backend - 1);
    if (sim->blown_up)
        return fail(FIRN_BLOWUP, "%s: not written: the simulation blew up", path);
    return checkpoint_write(path, &info, sim);
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
                status = check_values(a, buffer, done, rows, sim->scene->settings.dimensions);
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
        status = make(scene, options, info.particles, sim);
    if (status == FIRN_OK)
        status = copy_state(*sim, reader, path);
    checkpoint_close(&reader);
    if (status != FIRN_OK) {
        firn_sim_destroy(sim);
        return status;
    }
    (*sim)->time = info.time;
    (*sim)->step = info.step;
    (*sim)->frame = info.frame;
    return FIRN_OK;
}

/* ---- Stepping ----------------------------------------------------------------------------------- */

static double stable_dt(firn_sim *sim, const step_limits *limits)
{
    const firn_settings *s = &sim->scene->settings;
    return time_step_stable(s->cell_size, limits->max_wave_speed, limits->max_speed, s->cfl,
                            s->travel);
}

/* The first frame time after now. */
static int next_frame(const firn_sim *sim)
{
    int next = sim->frame + 1;
    while (next / sim->scene->settings.fps <= sim->time)
        next++;
    return next;
}

static firn_status report_blowup(firn_sim *sim, const step_report *report, double dt)
{
    sim->blown_up = true;
    step_limits limits;
    sim->ops->limits(sim->state, &limits);
    const double *x = report->bad_position;
    bool automatic = sim->scene->settings.time_step == 0;
    return fail(
        FIRN_BLOWUP, "step %llu (time %g s, dt %g s): particle %llu at (%g, %g, %g): %s %g; %s",
        (unsigned long long)sim->step, sim->time, dt, (unsigned long long)sim->ids[report->bad_row],
        x[0], x[1], x[2], report->bad_what, report->bad_value,
        automatic ? "lower simulation.cfl and simulation.travel"
                  : "lower simulation.time_step, or set it to auto");
}

firn_status firn_sim_step(firn_sim *sim)
{
    const firn_settings *settings = &sim->scene->settings;
    if (sim->blown_up)
        return fail(FIRN_BLOWUP, "the simulation blew up at step %llu and cannot go on",
                    (unsigned long long)sim->step);
    int next = next_frame(sim);
    double frame_time = next / settings->fps;
    double step = settings->time_step;
    if (step == 0) {
        step_limits limits;
        sim->ops->limits(sim->state, &limits);
        step = stable_dt(sim, &limits);
    }
    double dt = time_step_to_land(sim->time, frame_time, step);

    step_report report;
    firn_status status = sim->ops->step(sim->state, sim->time, dt, sim->step == 0, &report);
    if (status == FIRN_BLOWUP)
        return report_blowup(sim, &report, dt);
    if (status != FIRN_OK)
        return status;

    sim->time = time_step_end(sim->time, frame_time, dt);
    sim->frame = sim->time == frame_time ? next : sim->frame;
    sim->step++;
    sim->active_nodes = report.active_nodes;
    firn_progress *progress = &sim->progress;
    progress->steps++;
    progress->dt_min = fmin(progress->dt_min, dt);
    progress->dt_max = fmax(progress->dt_max, dt);
    progress->solver_iterations += report.solver_iterations;
    for (int k = 0; k < FIRN_STAGES; k++)
        progress->stage_ms[k] += report.stage_ms[k];
    return FIRN_OK;
}

firn_status firn_sim_advance_frame(firn_sim *sim, firn_stop_fn *stop, void *user)
{
    firn_status status = FIRN_OK;
    for (int target = next_frame(sim); sim->frame < target && status == FIRN_OK;) {
        if (stop && stop(sim, user))
            return fail(FIRN_STOPPED, "stopped at step %llu", (unsigned long long)sim->step);
        status = firn_sim_step(sim);
    }
    return status;
}

/* ---- Reading back ------------------------------------------------------------------------------- */

size_t firn_sim_particle_count(const firn_sim *sim)
{
    return sim->count;
}

int firn_sim_dimensions(const firn_sim *sim)
{
    return sim->scene->settings.dimensions;
}

double firn_sim_cell_size(const firn_sim *sim)
{
    return sim->scene->settings.cell_size;
}

double firn_sim_time(const firn_sim *sim)
{
    return sim->time;
}

uint64_t firn_sim_steps(const firn_sim *sim)
{
    return sim->step;
}

int firn_sim_frame(const firn_sim *sim)
{
    return sim->frame;
}

const char *firn_sim_backend(const firn_sim *sim)
{
    return sim->ops->name;
}

bool firn_sim_is_double(const firn_sim *sim)
{
    return sim->ops->is_double;
}

const uint64_t *firn_sim_ids(const firn_sim *sim)
{
    return sim->ids;
}

const uint32_t *firn_sim_objects(const firn_sim *sim)
{
    return sim->objects;
}

static double determinant(const double *F, int dimensions)
{
    if (dimensions == 2)
        return F[0] * F[3] - F[1] * F[2];
    return F[0] * (F[4] * F[8] - F[5] * F[7]) - F[1] * (F[3] * F[8] - F[5] * F[6]) +
           F[2] * (F[3] * F[7] - F[4] * F[6]);
}

/* rho = m / (V0 det F_E J_P), for at most CHUNK rows. */
static firn_status read_density(const firn_sim *sim, size_t first, size_t count, double *out)
{
    int d = sim->scene->settings.dimensions;
    double *F = malloc(sizeof(double[9 + 2]) * count);
    if (!F)
        return fail(FIRN_NO_MEMORY, "out of memory for densities");
    double *V0 = F + 9 * count, *J_P = V0 + count;
    firn_status status = sim->ops->get(sim->state, FIRN_F_E, first, count, F);
    if (status == FIRN_OK)
        status = sim->ops->get(sim->state, FIRN_VOLUME, first, count, V0);
    if (status == FIRN_OK)
        status = sim->ops->get(sim->state, FIRN_J_P, first, count, J_P);
    if (status == FIRN_OK)
        status = sim->ops->get(sim->state, FIRN_MASS, first, count, out);
    for (size_t r = 0; r < count && status == FIRN_OK; r++)
        out[r] /= V0[r] * determinant(F + r * (size_t)(d * d), d) * J_P[r];
    free(F);
    return status;
}

firn_status firn_sim_read(const firn_sim *sim, firn_attribute attribute, size_t first, size_t count,
                          double *out)
{
    if (first > sim->count || count > sim->count - first || attribute >= FIRN_ATTRIBUTES)
        return fail(FIRN_USAGE, "rows %zu to %zu of %s: the simulation has %zu particles", first,
                    first + count,
                    attribute < FIRN_ATTRIBUTES ? attributes[attribute].name : "nothing",
                    sim->count);
    if (attribute != FIRN_DENSITY)
        return sim->ops->get(sim->state, attribute, first, count, out);
    firn_status status = FIRN_OK;
    for (size_t done = 0; done < count && status == FIRN_OK; done += CHUNK) {
        size_t rows = count - done < CHUNK ? count - done : CHUNK;
        status = read_density(sim, first + done, rows, out + done);
    }
    return status;
}

firn_status firn_sim_stats(firn_sim *sim, firn_stats *stats)
{
    step_limits limits;
    *stats = (firn_stats){.particles = sim->count, .active_nodes = sim->active_nodes};
    firn_status status = measure(sim, sim->scene->settings.kernel, stats);
    if (status != FIRN_OK)
        return status;
    sim->ops->limits(sim->state, &limits);
    stats->wave_speed = limits.max_wave_speed;
    stats->stable_dt = stable_dt(sim, &limits);
    return FIRN_OK;
}

firn_progress firn_sim_progress(const firn_sim *sim)
{
    firn_progress progress = sim->progress;
    if (progress.steps == 0)
        progress.dt_min = 0;
    return progress;
}

void firn_sim_reset_progress(firn_sim *sim)
{
    sim->progress = (firn_progress){.dt_min = INFINITY};
}
