/* Columns of snow that stand or yield, simulated. */
#ifndef FIRN_TOOL_ANALYZE_COLUMN_H
#define FIRN_TOOL_ANALYZE_COLUMN_H

#include "analyze.h"
#include "analyze_snow.h"

/* Whether a column of this height stands, and what height of snow its watched layer carries. */
bool column_stands(study *s, const snow *kind, double cell, double height, bool *stands,
                   double *carried);

/* The height of snow that is carried when the base begins to yield, to a third of a cell, with
 * the expected height divided into so many cells. NAN if it lies outside of half to 1.7 times
 * that. */
bool column_limit(study *s, const snow *kind, int cells, double *carried);

#endif
