/* A copy of a simulation that stands still, for other threads to read. */
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "firn/still.h"
#include "sim.h"
#include "status.h"

firn_status firn_sim_freeze(firn_sim *sim, firn_sim **still)
{
    *still = NULL;
    backend *state = NULL;
    freeze_fn *freeze = freeze_of(sim->ops);
    firn_status status = freeze && !sim->is_still ? freeze(sim->state, &state) : FIRN_OK;
    if (status != FIRN_OK || !state)
        return status;
    firn_sim *copy = malloc(sizeof *copy);
    uint64_t *ids = malloc((sim->count + 1) * sizeof *ids);
    uint32_t *objects = malloc((sim->count + 1) * sizeof *objects);
    if (!copy || !ids || !objects) {
        free(copy);
        free(ids);
        free(objects);
        sim->ops->destroy(&state);
        return fail(FIRN_NO_MEMORY, "out of memory for a copy of %zu particles", sim->count);
    }
    *copy = *sim;
    copy->is_still = true;
    copy->state = state;
    copy->ids = memcpy(ids, sim->ids, sim->count * sizeof *ids);
    copy->objects = memcpy(objects, sim->objects, sim->count * sizeof *objects);
    *still = copy;
    return FIRN_OK;
}
