#include "analyze_flight.h"

#include <math.h>
#include <stdlib.h>

const char *const method_names[METHODS] = {"textbook float", "textbook double", "cpu (float)",
                                           "ref (double)"};
static const char *const BACKENDS[METHODS] = {NULL, NULL, "cpu", "ref"};

bool has_method(method m)
{
    return !BACKENDS[m] || has_backend(BACKENDS[m]);
}

static firn_sim *solver(study *s, method m, const textbook_setup *setup)
{
    size_t n = setup->count;
    double *block = calloc(11 * n, sizeof *block);
    if (!block)
        abort();
    double *mass = block, *volume = block + n, *F = block + 2 * n;
    for (size_t k = 0; k < n; k++) {
        volume[k] = textbook_particle_volume(setup->cell);
        mass[k] = 400 * volume[k];
        for (int a = 0; a < 3; a++)
            F[9 * k + 4 * (size_t)a] = 1 + setup->strain;
    }
    firn_scene *scene =
        study_scene(s,
                    "simulation: {cell_size: %.17g, fps: 0.001, gravity: [0, 0, 0], "
                    "rest_volume: sampled, time_step: %.17g, retries: 0}\n",
                    setup->cell, setup->dt);
    const firn_particles particles = {.count = n,
                                      .position = setup->position,
                                      .velocity = setup->velocity,
                                      .mass = mass,
                                      .volume = volume,
                                      .F_E = F};
    const firn_sim_options options = {.backend = BACKENDS[m], .threads = 1};
    firn_sim *sim = NULL;
    firn_status status =
        scene ? firn_sim_create_from_particles(scene, &options, &particles, &sim) : FIRN_OK;
    if (status != FIRN_OK)
        study_fail(s, status);
    firn_scene_destroy(&scene);
    free(block);
    return sim;
}

/* Largest entry of F_E^T F_E - I. */
static double strain_of(const double *F)
{
    double largest = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double sum = i == j ? -1 : 0;
            for (int k = 0; k < 3; k++)
                sum += F[3 * k + i] * F[3 * k + j];
            largest = fmax(largest, fabs(sum));
        }
    return largest;
}

/* Nodes are not the public interface's: `kick` is NAN. The velocity gradient is what moved F_E. */
static bool solver_run(study *s, method m, const textbook_setup *setup, size_t steps,
                       textbook_step *history)
{
    firn_sim *sim = solver(s, m, setup);
    double start = 1 + setup->strain;
    for (size_t n = 0; n < steps && sim && !s->code; n++) {
        bool gave_up;
        firn_stats stats;
        history[n] = (textbook_step){.kinetic = INFINITY, .strain = INFINITY, .kick = NAN};
        uint64_t done = firn_sim_steps(sim);
        if (!study_advance(s, sim, INFINITY, done + 1, &gave_up) || firn_sim_steps(sim) == done)
            continue;
        double *F = study_read(s, sim, FIRN_F_E);
        study_stats(s, sim, &stats);
        history[n].kinetic = stats.kinetic_energy;
        history[n].strain = 0;
        for (size_t k = 0; k < setup->count; k++)
            history[n].strain = fmax(history[n].strain, strain_of(F + 9 * k));
        for (size_t k = 0; k < 9 * setup->count && n == 0; k++)
            history[n].gradient =
                fmax(history[n].gradient,
                     fabs(F[k] - (k % 9 % 4 == 0 ? start : 0)) / (start * setup->dt));
        free(F);
    }
    firn_sim_destroy(&sim);
    return !s->code;
}

bool fly(study *s, method m, const textbook_setup *setup, size_t steps, textbook_step *history)
{
    if (m == TEXTBOOK_FLOAT)
        textbook_run_float(setup, steps, history);
    else if (m == TEXTBOOK_DOUBLE)
        textbook_run_double(setup, steps, history);
    else
        return solver_run(s, m, setup, steps, history);
    return true;
}
