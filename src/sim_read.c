/* Reading a simulation back: attributes by rows, and what the snow is doing now. */
#include <math.h>

#include "derived.h"
#include "measure.h"
#include "sim.h"
#include "status.h"

static const struct {
    const char *name;
    int rank; /* 0 scalar, 1 vector, 2 matrix, 3 the six numbers of a symmetric one */
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
    [FIRN_STRESS] = {"stress", 3},
};

const char *firn_attribute_name(firn_attribute attribute)
{
    return attributes[attribute].name;
}

int firn_attribute_components(firn_attribute attribute, int dimensions)
{
    const int components[] = {1, dimensions, dimensions * dimensions, 6};
    return components[attributes[attribute].rank];
}

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

firn_kernel firn_sim_kernel(const firn_sim *sim)
{
    return sim->scene->settings.kernel;
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

static firn_status read_state(const void *from, firn_attribute attribute, size_t first,
                              size_t count, double *out)
{
    const firn_sim *sim = from;
    return sim->ops->get(sim->state, attribute, first, count, out);
}

firn_status firn_sim_read(const firn_sim *sim, firn_attribute attribute, size_t first, size_t count,
                          double *out)
{
    if (first > sim->count || count > sim->count - first || attribute >= FIRN_ATTRIBUTES)
        return fail(FIRN_USAGE, "rows %zu to %zu of %s: the simulation has %zu particles", first,
                    first + count,
                    attribute < FIRN_ATTRIBUTES ? attributes[attribute].name : "nothing",
                    sim->count);
    if (attribute < FIRN_STATE_ATTRIBUTES)
        return read_state(sim, attribute, first, count, out);
    return derived_read(attribute, sim->scene->settings.dimensions, first, count, read_state, sim,
                        out);
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
    stats->stable_dt = sim_choose(sim).automatic_dt;
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
