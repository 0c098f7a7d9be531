/*
 * A few particles in free flight or at rest, by one of four programs: the solvers, and the method
 * as one would first write it down (textbook.h), in float and double.
 */
#ifndef FIRN_TOOL_ANALYZE_FLIGHT_H
#define FIRN_TOOL_ANALYZE_FLIGHT_H

#include "analyze.h"
#include "textbook.h"

typedef enum method {
    TEXTBOOK_FLOAT,
    TEXTBOOK_DOUBLE,
    SOLVER_FLOAT,
    SOLVER_DOUBLE,
    METHODS
} method;

extern const char *const method_names[METHODS];
bool has_method(method m); /* whether this build has its backend */

/* Steps of fixed length, never retried. After a blow-up energy and strain are infinite. Of the
 * solvers `kick` is NAN, since nodes are not public, and `gradient` is told for the first step
 * alone, from F_E. */
bool fly(study *s, method m, const textbook_setup *setup, size_t steps, textbook_step *history);

#endif
