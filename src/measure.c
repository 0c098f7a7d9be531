#include "measure.h"

#include <math.h>
#include <stdlib.h>

#include "status.h"

/* Rows at a time: each such chunk costs a GPU one wait; and by one thread. Sums are of pieces, in order, so that
 * they do not depend on the number of threads. A few pieces are not worth a team: when it is done it waits awake for
 * more, and holds up who measures after every step, the more so where others want the processor. */
enum { CHUNK = 65536, PIECE = 512, PIECES = CHUNK / PIECE, FEW = 16 };

static void add(firn_stats *sum, const firn_stats *part)
{
    sum->mass += part->mass;
    sum->kinetic_energy += part->kinetic_energy;
    sum->elastic_energy += part->elastic_energy;
    for (int a = 0; a < 3; a++) {
        sum->momentum[a] += part->momentum[a];
        sum->angular_momentum[a] += part->angular_momentum[a];
    }
    sum->max_speed = fmax(sum->max_speed, part->max_speed);
    sum->J_P_min = fmin(sum->J_P_min, part->J_P_min);
    sum->J_P_max = fmax(sum->J_P_max, part->J_P_max);
}

static void measure_chunk(const measure_rows *rows, int d, const size_t *width, firn_stats *stats)
{
    firn_stats parts[PIECES];
    const int count = (int)((rows->count + PIECE - 1) / PIECE);
#pragma omp parallel for schedule(dynamic) if (count > FEW)
    for (int n = 0; n < count; n++) {
        const size_t first = (size_t)n * PIECE, left = rows->count - first;
        measure_rows piece = {.count = left < PIECE ? left : PIECE, .inv_D = rows->inv_D};
        for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES; a++)
            piece.values[a] = rows->values[a] + first * width[a];
        parts[n] = (firn_stats){.J_P_min = INFINITY, .J_P_max = -INFINITY};
        (d == 3 ? measure_particles3 : measure_particles2)(&piece, &parts[n]);
    }
    for (int n = 0; n < count; n++)
        add(stats, &parts[n]);
}

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
            measure_chunk(&rows, d, width, stats);
    }
    free(buffer);
    return status;
}
