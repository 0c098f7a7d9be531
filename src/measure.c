#include "measure.h"

#include <math.h>
#include <stdlib.h>

#include "status.h"

enum { CHUNK = 16384 }; /* rows at a time: each costs a GPU one wait */

firn_status measure(const firn_sim *sim, firn_kernel kernel, firn_stats *stats)
{
    int d = firn_sim_dimensions(sim);
    double h = firn_sim_cell_size(sim);
    size_t width[FIRN_STATE_ATTRIBUTES], total = 0;
    for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES; a++)
        total += width[a] = (size_t)firn_attribute_components(a, d);
    double *buffer = malloc(CHUNK * total * sizeof *buffer);
    if (!buffer)
        return fail(FIRN_NO_MEMORY, "out of memory for statistics");

    measure_rows rows = {.inv_D = (kernel == FIRN_CUBIC ? 3 : 4) / (h * h)};
    stats->J_P_min = INFINITY;
    stats->J_P_max = -INFINITY;
    size_t count = firn_sim_particle_count(sim);
    firn_status status = FIRN_OK;
    for (size_t first = 0; first < count && status == FIRN_OK; first += CHUNK) {
        rows.count = count - first < CHUNK ? count - first : CHUNK;
        double *values = buffer;
        for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES && status == FIRN_OK; a++) {
            rows.values[a] = values;
            status = firn_sim_read(sim, a, first, rows.count, values);
            values += CHUNK * width[a];
        }
        if (status == FIRN_OK)
            (d == 3 ? measure_particles3 : measure_particles2)(&rows, stats);
    }
    free(buffer);
    return status;
}
