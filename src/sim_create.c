/* Simulations from scenes and from arrays. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"
#include "status.h"

void firn_sim_destroy(firn_sim **sim)
{
    if (!*sim)
        return;
    if ((*sim)->state)
        (*sim)->ops->destroy(&(*sim)->state);
    free((*sim)->ids);
    free((*sim)->objects);
    if (!(*sim)->is_still) {
        collider_set_clear(&(*sim)->colliders);
        flow_clear(&(*sim)->flow);
        firn_scene_destroy(&(*sim)->scene);
    }
    free(*sim);
    *sim = NULL;
}

static firn_status make_backend(const firn_sim *sim, backend **state)
{
    backend_problem problem = {
        .settings = &sim->scene->settings, .colliders = &sim->colliders, .threads = sim->threads};
    firn_status status = sim->ops->create(&problem, state);
    if (status == FIRN_OK)
        status = sim->ops->resize(*state, sim->count);
    return status;
}

static void warn_of_colliders(const firn_sim *sim)
{
    char **remarks;
    size_t count = collider_remarks(sim->scene, &sim->colliders, 0, &remarks);
    for (size_t k = 0; k < count; k++) {
        log_message(FIRN_LOG_WARNING, "%s", remarks[k]);
        free(remarks[k]);
    }
    free(remarks);
}

firn_status sim_make(const firn_scene *scene, const firn_sim_options *options, size_t count,
                     firn_sim **out)
{
    const backend_ops *ops = backend_find(options ? options->backend : NULL, scene, count);
    if (!ops)
        return FIRN_USAGE;
    if (scene->settings.integrator == FIRN_SEMI_IMPLICIT && !ops->has_solver)
        return fail(FIRN_USAGE,
                    "backend %s has no solver for simulation.integrator.type semi_implicit; use "
                    "--backend cpu or ref, or the integrator explicit",
                    ops->name);
    if (options && options->threads < 0)
        return fail(FIRN_USAGE, "%d threads: give 1 or more, or 0 for all", options->threads);

    firn_sim *sim = calloc(1, sizeof *sim);
    if (!sim)
        return fail(FIRN_NO_MEMORY, "out of memory for a simulation");
    sim->ops = ops;
    sim->count = count;
    sim->threads = options ? options->threads : 0;
    sim->scene = scene_copy(scene);
    sim->cfl = scene_cfl(scene);
    sim->ids = malloc((count + 1) * sizeof *sim->ids);
    sim->objects = calloc(count + 1, sizeof *sim->objects);
    firn_status status = FIRN_OK;
    if (!sim->scene || !sim->ids || !sim->objects)
        status = fail(FIRN_NO_MEMORY, "out of memory for %zu particles", count);
    if (status == FIRN_OK)
        status = scene_colliders(sim->scene, &sim->colliders);
    if (status == FIRN_OK)
        status = flow_create(sim->scene, &sim->flow);
    if (status == FIRN_OK) {
        for (size_t r = 0; r < count; r++)
            sim->ids[r] = r;
        sim->flow.next_id = count;
        status = make_backend(sim, &sim->state);
    }
    if (status != FIRN_OK) {
        firn_sim_destroy(&sim);
        return status;
    }
    warn_of_colliders(sim);
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

/* What differs from particle to particle when the material does. */
enum { VARIED = 6 };
static const firn_attribute varied[VARIED] = {FIRN_MASS,      FIRN_MU0,     FIRN_LAMBDA0,
                                              FIRN_HARDENING, FIRN_THETA_C, FIRN_THETA_S};

static void varied_values(const scene_material *m, double volume, double value[VARIED])
{
    value[0] = m->density * volume;
    scene_lame(m, &value[1], &value[2]);
    value[3] = m->hardening;
    value[4] = m->critical_compression;
    value[5] = m->critical_stretch;
}

/* The material of rows from `first` on, by the places of these points. */
static firn_status set_varied(firn_sim *sim, const scene_snow *snow, size_t first,
                              const sample_points *points, const scene_place *places)
{
    const scene_material *material = &sim->scene->materials[snow->material];
    size_t d = (size_t)sim->scene->settings.dimensions;
    double volume = points->volume / (double)points->count;
    double(*values)[CHUNK] = malloc(sizeof(double[VARIED][CHUNK]));
    if (!values)
        return fail(FIRN_NO_MEMORY, "out of memory for particle values");
    firn_status status = FIRN_OK;
    for (size_t done = 0; done < points->count && status == FIRN_OK; done += CHUNK) {
        size_t rows = points->count - done < CHUNK ? points->count - done : CHUNK;
#pragma omp parallel for
        for (size_t r = 0; r < rows; r++) {
            double x[3] = {0}, value[VARIED];
            memcpy(x, points->position + (done + r) * d, d * sizeof *x);
            scene_place place =
                places ? places[done + r] : scene_place_in(sim->scene, snow, x, done + r);
            scene_material here = scene_material_at(material, &place);
            varied_values(&here, volume, value);
            for (int k = 0; k < VARIED; k++)
                values[k][r] = value[k];
        }
        for (int k = 0; k < VARIED && status == FIRN_OK; k++)
            status = sim->ops->set(sim->state, varied[k], first + done, rows, values[k]);
    }
    free(values);
    return status;
}

/* Where points of a file have volumes but no masses, the material's density times each. */
static firn_status set_masses(firn_sim *sim, size_t first, const sample_points *points,
                              const double *volumes)
{
    double *mass = malloc(points->count * sizeof *mass);
    firn_status status = mass ? FIRN_OK : fail(FIRN_NO_MEMORY, "out of memory for particle values");
    if (status == FIRN_OK)
        status = sim->ops->get(sim->state, FIRN_MASS, first, points->count, mass);
    for (size_t r = 0; r < points->count && status == FIRN_OK; r++)
        mass[r] *= volumes[r] * (double)points->count / points->volume;
    if (status == FIRN_OK)
        status = sim->ops->set(sim->state, FIRN_MASS, first, points->count, mass);
    free(mass);
    return status;
}

static bool snow_turns(const scene_snow *snow)
{
    const double *w = snow->angular_velocity;
    return w[0] != 0 || w[1] != 0 || w[2] != 0;
}

/* The gradient of the velocity of an object that turns, row by row; 0 in all dimensions beyond `d`. */
static void turn_gradient(const scene_snow *snow, size_t d, double C[9])
{
    double w[3];
    for (int i = 0; i < 3; i++)
        w[i] = snow->angular_velocity[i] * acos(-1) / 180;
    const double all[3][3] = {{0, -w[2], w[1]}, {w[2], 0, -w[0]}, {-w[1], w[0], 0}};
    for (size_t i = 0; i < d * d; i++)
        C[i] = all[i / d][i % d];
}

/* The object's velocity, its turn about the middle of its particles, and what a file says of each. */
static firn_status set_velocities(firn_sim *sim, const scene_snow *snow, size_t first,
                                  const sample_points *points)
{
    const double *told = snow->points.set ? snow->points.set->state[FIRN_VELOCITY] : NULL;
    const size_t d = (size_t)sim->scene->settings.dimensions;
    if (!told && !snow_turns(snow))
        return set_constant(sim, FIRN_VELOCITY, first, points->count, snow->velocity);
    double C[9], middle[3] = {0}, *buffer = malloc(sizeof(double[3]) * CHUNK);
    if (!buffer)
        return fail(FIRN_NO_MEMORY, "out of memory for particle values");
    turn_gradient(snow, d, C);
    for (size_t k = 0; k < points->count * d; k++)
        middle[k % d] += points->position[k] / (double)points->count;
    firn_status status = FIRN_OK;
    for (size_t done = 0; done < points->count && status == FIRN_OK; done += CHUNK) {
        size_t rows = points->count - done < CHUNK ? points->count - done : CHUNK;
        for (size_t k = 0; k < rows * d; k++) {
            const double *x = points->position + (done + k / d) * d, *row = C + k % d * d;
            buffer[k] = snow->velocity[k % d] + (told ? told[done * d + k] : 0);
            for (size_t i = 0; i < d; i++)
                buffer[k] += row[i] * (x[i] - middle[i]);
        }
        status = sim->ops->set(sim->state, FIRN_VELOCITY, first + done, rows, buffer);
    }
    free(buffer);
    return status;
}

/* What an affine transfer carries of a turn: B = C D. */
static firn_status set_affine(firn_sim *sim, const scene_snow *snow, size_t first, size_t count)
{
    const firn_settings *s = &sim->scene->settings;
    const double D = s->cell_size * s->cell_size / (s->kernel == FIRN_CUBIC ? 3 : 4);
    double B[9];
    if (!transfer_is_affine(s->transfer) || !snow_turns(snow))
        return FIRN_OK;
    turn_gradient(snow, (size_t)s->dimensions, B);
    for (int k = 0; k < s->dimensions * s->dimensions; k++)
        B[k] *= D;
    return set_constant(sim, FIRN_B, first, count, B);
}

/* What a file says of each particle, over what the material and the object say of all. */
static firn_status set_from_file(firn_sim *sim, const scene_snow *snow, size_t first,
                                 const sample_points *points)
{
    const point_set *set = snow->points.set;
    size_t count = points->count;
    firn_status status = FIRN_OK;
    if (set->state[FIRN_VOLUME] && !set->state[FIRN_MASS])
        status = set_masses(sim, first, points, set->state[FIRN_VOLUME]);
    for (firn_attribute a = FIRN_POSITION + 1; a < FIRN_STATE_ATTRIBUTES && status == FIRN_OK; a++)
        if (set->state[a] && a != FIRN_VELOCITY)
            status = sim->ops->set(sim->state, a, first, count, set->state[a]);
    return status;
}

firn_status sim_fill(firn_sim *sim, size_t object, size_t first, const sample_points *points,
                     const scene_place *places)
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
        status = set_velocities(sim, snow, first, points);
    if (status == FIRN_OK)
        status = set_constant(sim, FIRN_MASS, first, count, &mass);
    if (status == FIRN_OK)
        status = set_constant(sim, FIRN_VOLUME, first, count, &volume);
    if (status == FIRN_OK)
        status = set_fresh(sim, first, count, material);
    if (status == FIRN_OK)
        status = set_affine(sim, snow, first, count);
    if (status == FIRN_OK && material->vary_count > 0)
        status = set_varied(sim, snow, first, points, places);
    if (status == FIRN_OK && snow->points.set)
        status = set_from_file(sim, snow, first, points);
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
        if (!scene->snow[o].emits)
            status = scene_sample(scene, o, &points[o]);
        total += points[o].count;
    }
    if (status == FIRN_OK)
        status = sim_make(scene, options, total, sim);
    size_t first = 0;
    for (size_t o = 0; o < scene->snow_count; o++) {
        if (status == FIRN_OK && points[o].count > 0)
            status = sim_fill(*sim, o, first, &points[o], NULL);
        first += points[o].count;
        sample_points_clear(&points[o]);
    }
    free(points);
    if (status == FIRN_OK)
        status = flow_update(*sim, -1);
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

firn_status sim_check_values(firn_attribute attribute, const double *values, size_t first,
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
    for (size_t r = 1; p->id && r < p->count; r++)
        if (p->id[r] <= p->id[r - 1])
            return fail(FIRN_BAD_SCENE, "particle row %zu: ids must increase strictly", r);
    firn_status status = FIRN_OK;
    for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES && status == FIRN_OK; a++)
        if (array_of(p, a))
            status = sim_check_values(a, array_of(p, a), 0, p->count, dimensions);
    return status;
}

/* An automatic cfl rests on the Poisson's ratio of the scene's snow: nu = lambda / (2 (lambda + mu)). */
static firn_status check_ratios(const firn_scene *scene, const firn_particles *p)
{
    double most = scene_poisson_ratio(scene), mu0, lambda0;
    scene_material material = scene_default_material();
    scene_lame(&material, &mu0, &lambda0);
    for (size_t r = 0; scene->settings.cfl == 0 && r < p->count; r++) {
        double mu = p->mu0 ? p->mu0[r] : mu0, lambda = p->lambda0 ? p->lambda0[r] : lambda0;
        double ratio = lambda / (2 * (lambda + mu));
        if (ratio > most + 1e-6)
            return fail(FIRN_BAD_SCENE,
                        "particle row %zu: its Poisson's ratio is %g, above the %g of the scene's "
                        "snow on which an automatic simulation.cfl rests; give a number there",
                        r, ratio, most);
    }
    return FIRN_OK;
}

firn_status firn_sim_create_from_particles(const firn_scene *scene, const firn_sim_options *options,
                                           const firn_particles *particles, firn_sim **sim)
{
    *sim = NULL;
    if (!particles->position || !particles->mass || !particles->volume)
        return fail(FIRN_USAGE, "particles need the arrays position, mass and volume");
    firn_status status = check_arrays(particles, scene->settings.dimensions);
    if (status == FIRN_OK)
        status = check_ratios(scene, particles);
    if (status == FIRN_OK)
        status = sim_make(scene, options, particles->count, sim);
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
    if (count > 0)
        (*sim)->flow.next_id = (*sim)->ids[count - 1] + 1;
    if (status == FIRN_OK)
        status = flow_update(*sim, -1);
    if (status != FIRN_OK)
        firn_sim_destroy(sim);
    return status;
}

/* ---- Changes ------------------------------------------------------------------------------------ */

/* From one backend to another of the same kind, which holds exactly what the first gave. */
static firn_status copy_attribute(const firn_sim *sim, firn_attribute attribute, backend *to)
{
    double *buffer = malloc(sizeof(double[9]) * CHUNK);
    if (!buffer)
        return fail(FIRN_NO_MEMORY, "out of memory for particle values");
    firn_status status = FIRN_OK;
    for (size_t done = 0; done < sim->count && status == FIRN_OK; done += CHUNK) {
        size_t rows = sim->count - done < CHUNK ? sim->count - done : CHUNK;
        status = sim->ops->get(sim->state, attribute, done, rows, buffer);
        if (status == FIRN_OK)
            status = sim->ops->set(to, attribute, done, rows, buffer);
    }
    free(buffer);
    return status;
}

/* Into a fresh backend, so that those that sort their particles need no second way in. */
firn_status firn_sim_set_particles(firn_sim *sim, const firn_particles *changes)
{
    if (sim->is_still)
        return fail(FIRN_USAGE, "this copy of a simulation stands still and cannot be changed");
    if (sim->blown_up)
        return fail(FIRN_BLOWUP, "the simulation blew up at step %llu and cannot be changed",
                    (unsigned long long)sim->step);
    if (changes->count != sim->count || changes->id)
        return fail(FIRN_USAGE,
                    "changes for %zu particles%s: the simulation has %zu, whose ids stay",
                    changes->count, changes->id ? " with ids" : "", sim->count);
    firn_status status = check_arrays(changes, sim->scene->settings.dimensions);
    if (status == FIRN_OK && changes->mu0 && changes->lambda0)
        status = check_ratios(sim->scene, changes);
    if (status != FIRN_OK)
        return status;

    backend *fresh = NULL;
    status = make_backend(sim, &fresh);
    for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES && status == FIRN_OK; a++) {
        const double *values = array_of(changes, a);
        status =
            values ? sim->ops->set(fresh, a, 0, sim->count, values) : copy_attribute(sim, a, fresh);
    }
    backend *leaving = status == FIRN_OK ? sim->state : fresh;
    if (status == FIRN_OK)
        sim->state = fresh;
    if (status == FIRN_OK && changes->object)
        memcpy(sim->objects, changes->object, sim->count * sizeof *changes->object);
    if (leaving)
        sim->ops->destroy(&leaving);
    return status;
}
