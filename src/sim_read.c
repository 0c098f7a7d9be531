/* Reading a simulation back: attributes by rows, and what the snow is doing now. */
#include <math.h>
#include <stdlib.h>

#include "measure.h"
#include "sim.h"
#include "status.h"

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
    stats->stable_dt = sim_stable_dt(sim);
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
