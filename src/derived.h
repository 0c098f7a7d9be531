/* Attributes that follow from a particle's state: density and stress. One code for simulations and
 * for files. */
#ifndef FIRN_SRC_DERIVED_H
#define FIRN_SRC_DERIVED_H

#include "firn/firn.h"

/* Gives rows of a state attribute, as firn_sim_read does. */
typedef firn_status derived_source(const void *from, firn_attribute attribute, size_t first,
                                   size_t count, double *out);

/* Rows of FIRN_DENSITY or FIRN_STRESS of d dimensions, from the state that `source` gives. */
firn_status derived_read(firn_attribute attribute, int d, size_t first, size_t count,
                         derived_source *source, const void *from, double *out);

#endif
