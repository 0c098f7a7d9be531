/* The report of a run that no smaller step can save: step, particle, place, and what grew. */
#include <math.h>
#include <stdlib.h>

#include "sim.h"
#include "status.h"

static const char *remedy(const firn_sim *sim)
{
    const firn_settings *s = &sim->scene->settings;
    return s->time_step > 0 ? "lower simulation.time_step, or set it to auto"
                            : "lower simulation.cfl and simulation.travel";
}

firn_status sim_report_failure(firn_sim *sim, const step_report *report, double dt, int halvings)
{
    sim->blown_up = true;
    const double *x = report->bad_position;
    char halved[64] = "";
    if (halvings > 0)
        snprintf(halved, sizeof halved, ", halved %d times", halvings);
    return fail(FIRN_BLOWUP,
                "step %llu (time %g s, dt %g s%s): particle %llu at (%g, %g, %g): %s %g; %s",
                (unsigned long long)sim->step, sim->time, dt, halved,
                (unsigned long long)sim->ids[report->bad_row], x[0], x[1], x[2], report->bad_what,
                report->bad_value, remedy(sim));
}

/* The number that makes a particle's step small: its speed or its hardened wave speed, both squared. */
static double rush(const double *const values[FIRN_STATE_ATTRIBUTES], size_t r, int dimensions)
{
    double speed2 = 0;
    for (int a = 0; a < dimensions; a++)
        speed2 += pow(values[FIRN_VELOCITY][r * (size_t)dimensions + (size_t)a], 2);
    double stiffness = values[FIRN_LAMBDA0][r] + 2 * values[FIRN_MU0][r];
    double harder = exp(values[FIRN_HARDENING][r] * (1 - values[FIRN_J_P][r]));
    return fmax(speed2, stiffness * harder * values[FIRN_VOLUME][r] / values[FIRN_MASS][r]);
}

/* The row of the particle that keeps the step smallest, and how fast it or its waves are. */
static firn_status find_fastest(const firn_sim *sim, size_t *row, double *speed)
{
    int d = sim->scene->settings.dimensions;
    double *buffer = malloc(sizeof(double[FIRN_STATE_ATTRIBUTES][9]) * CHUNK);
    if (!buffer)
        return fail(FIRN_NO_MEMORY, "out of memory for a report");
    const double *values[FIRN_STATE_ATTRIBUTES];
    double largest = -1;
    firn_status status = FIRN_OK;
    for (size_t done = 0; done < sim->count && status == FIRN_OK; done += CHUNK) {
        size_t rows = sim->count - done < CHUNK ? sim->count - done : CHUNK;
        for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES && status == FIRN_OK; a++) {
            values[a] = buffer + (size_t)a * 9 * CHUNK;
            status = sim->ops->get(sim->state, a, done, rows, buffer + (size_t)a * 9 * CHUNK);
        }
        for (size_t r = 0; r < rows && status == FIRN_OK; r++)
            if (rush(values, r, d) > largest) {
                largest = rush(values, r, d);
                *row = done + r;
            }
    }
    free(buffer);
    *speed = sqrt(largest);
    return status;
}

firn_status sim_report_tiny_step(firn_sim *sim, double dt, double floor)
{
    sim->blown_up = true;
    size_t row = 0;
    double speed = 0, x[3] = {0}, J_P = 0;
    firn_status status = find_fastest(sim, &row, &speed);
    if (status == FIRN_OK)
        status = sim->ops->get(sim->state, FIRN_POSITION, row, 1, x);
    if (status == FIRN_OK)
        status = sim->ops->get(sim->state, FIRN_J_P, row, 1, &J_P);
    if (status != FIRN_OK)
        return status;
    return fail(FIRN_BLOWUP,
                "step %llu (time %g s): the automatic step is %g s, less than %g s: particle %llu "
                "at (%g, %g, %g), J_P %g: it or its waves reach %g m/s; lower the hardening or the "
                "young_modulus of the material",
                (unsigned long long)sim->step, sim->time, dt, floor,
                (unsigned long long)sim->ids[row], x[0], x[1], x[2], J_P, speed);
}
