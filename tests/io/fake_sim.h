/* A firn_sim that only holds arrays: the reading half of firn.h over made-up values, so that files
 * can be tested without a solver. */
#ifndef FIRN_TESTS_IO_FAKE_SIM_H
#define FIRN_TESTS_IO_FAKE_SIM_H

#include "firn/io.h"

struct firn_sim {
    size_t count;
    int dimensions;
    bool is_double;
    uint64_t *ids;
    uint32_t *objects;
    double *values[FIRN_ATTRIBUTES];
};

/* Full-mantissa values in each attribute's natural range, as the backend's precision would hold
 * them; positions around `centre`. */
firn_sim *fake_sim_create(size_t count, int dimensions, bool is_double, double centre);
void fake_sim_destroy(firn_sim **sim);

firn_checkpoint_info fake_sim_info(const firn_sim *sim, const char *transfer);

#endif
