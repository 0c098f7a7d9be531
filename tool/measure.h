/* Measurements as named numbers, for `firn measure` and the table of `firn wedge`. */
#ifndef FIRN_TOOL_MEASURE_H
#define FIRN_TOOL_MEASURE_H

#include "firn/measure.h"

enum { MEASURES = 20 };
extern const char *const measure_names[MEASURES];

/* In the order of the names. Shares are of the mass. */
void measure_values(const firn_measurement *m, double values[MEASURES]);

#endif
