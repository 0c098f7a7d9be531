#include "fake_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[FIRN_ATTRIBUTES] = {
    "position", "velocity", "mass",      "volume",  "F_E",     "J_P",     "B",
    "mu0",      "lambda0",  "hardening", "theta_c", "theta_s", "density", "stress",
};

const char *firn_attribute_name(firn_attribute attribute)
{
    return names[attribute];
}

int firn_attribute_components(firn_attribute attribute, int dimensions)
{
    switch (attribute) {
    case FIRN_POSITION:
    case FIRN_VELOCITY:
        return dimensions;
    case FIRN_F_E:
    case FIRN_B:
        return dimensions * dimensions;
    case FIRN_STRESS:
        return 6;
    default:
        return 1;
    }
}

const char *firn_version(void)
{
    return "0.1.0";
}

/* splitmix64, scaled to [-1, 1). */
static double noise(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

static double make_value(firn_attribute attribute, size_t component, int d, double centre,
                         uint64_t *state)
{
    double r = noise(state);
    switch (attribute) {
    case FIRN_POSITION:
        return centre + r;
    case FIRN_F_E:
        return (component % (size_t)(d + 1) == 0) + 0.02 * r;
    case FIRN_MASS:
    case FIRN_VOLUME:
        return 1e-5 * (1.5 + r);
    case FIRN_J_P:
        return 1 + 0.1 * r;
    case FIRN_MU0:
    case FIRN_LAMBDA0:
        return 1e5 * (1.5 + r);
    default:
        return 10 * r;
    }
}

static double determinant(const double *F, int d)
{
    if (d == 2)
        return F[0] * F[3] - F[1] * F[2];
    return F[0] * (F[4] * F[8] - F[5] * F[7]) - F[1] * (F[3] * F[8] - F[5] * F[6]) +
           F[2] * (F[3] * F[7] - F[4] * F[6]);
}

firn_sim *fake_sim_create(size_t count, int dimensions, bool is_double, double centre)
{
    firn_sim *sim = calloc(1, sizeof *sim);
    *sim = (firn_sim){.count = count, .dimensions = dimensions, .is_double = is_double};
    uint64_t state = count * 31 + (uint64_t)dimensions;
    sim->ids = calloc(count + 1, sizeof *sim->ids);
    sim->objects = calloc(count + 1, sizeof *sim->objects);
    for (size_t p = 0; p < count; p++) {
        sim->ids[p] = 3 * p + 1;
        sim->objects[p] = (uint32_t)(p % 3);
    }
    for (firn_attribute a = 0; a < FIRN_ATTRIBUTES; a++) {
        size_t width = (size_t)firn_attribute_components(a, dimensions);
        double *values = sim->values[a] = calloc(count * width + 1, sizeof *values);
        for (size_t k = 0; k < count * width; k++) {
            values[k] = make_value(a, k % width, dimensions, centre, &state);
            if (!is_double && a != FIRN_POSITION)
                values[k] = (double)(float)values[k];
        }
    }
    for (size_t p = 0; p < count; p++) {
        const double *F = sim->values[FIRN_F_E] + p * (size_t)(dimensions * dimensions);
        double J = determinant(F, dimensions) * sim->values[FIRN_J_P][p];
        sim->values[FIRN_DENSITY][p] =
            sim->values[FIRN_MASS][p] / (sim->values[FIRN_VOLUME][p] * J);
    }
    return sim;
}

void fake_sim_destroy(firn_sim **sim)
{
    for (firn_attribute a = 0; a < FIRN_ATTRIBUTES; a++)
        free((*sim)->values[a]);
    free((*sim)->ids);
    free((*sim)->objects);
    free(*sim);
    *sim = NULL;
}

firn_checkpoint_info fake_sim_info(const firn_sim *sim, const char *transfer)
{
    firn_checkpoint_info info = {
        .version = "0.1.0",
        .time = firn_sim_time(sim),
        .step = firn_sim_steps(sim),
        .frame = firn_sim_frame(sim),
        .cell_size = firn_sim_cell_size(sim),
        .dimensions = sim->dimensions,
        .kernel = "quadratic",
        .backend = "ref",
        .fingerprint = 0xfedcba9876543210u,
        .dt_limit = 1.0 / 3,
        .next_id = 0xfffffffff1u,
        .particles = sim->count,
        .is_double = sim->is_double,
    };
    snprintf(info.transfer, sizeof info.transfer, "%s", transfer);
    return info;
}

size_t firn_sim_particle_count(const firn_sim *sim)
{
    return sim->count;
}

int firn_sim_dimensions(const firn_sim *sim)
{
    return sim->dimensions;
}

double firn_sim_cell_size(const firn_sim *sim)
{
    (void)sim;
    return 0.01;
}

firn_kernel firn_sim_kernel(const firn_sim *sim)
{
    (void)sim;
    return FIRN_QUADRATIC;
}

double firn_sim_time(const firn_sim *sim)
{
    (void)sim;
    return 1.0 / 3;
}

uint64_t firn_sim_steps(const firn_sim *sim)
{
    (void)sim;
    return 5000000000;
}

int firn_sim_frame(const firn_sim *sim)
{
    (void)sim;
    return 8;
}

bool firn_sim_is_double(const firn_sim *sim)
{
    return sim->is_double;
}

firn_status firn_sim_read(const firn_sim *sim, firn_attribute attribute, size_t first, size_t count,
                          double *out)
{
    size_t width = (size_t)firn_attribute_components(attribute, sim->dimensions);
    memcpy(out, sim->values[attribute] + first * width, count * width * sizeof *out);
    return FIRN_OK;
}

const uint64_t *firn_sim_ids(const firn_sim *sim)
{
    return sim->ids;
}

const uint32_t *firn_sim_objects(const firn_sim *sim)
{
    return sim->objects;
}
