/* The three ways of filling a shape; sample.c chooses. All append to `points`, whose count may
 * stay 0 where the shape is smaller than the spacing. `low` and `high` are the shape's finite
 * bounds. */
#ifndef FIRN_SHAPE_SAMPLE_METHODS_H
#define FIRN_SHAPE_SAMPLE_METHODS_H

#include "shape/cover.h"
#include "shape/sample.h"

/* `count` points, each uniform in the shape. */
firn_status sample_random(const sample_request *request, const shape_cover *cover, size_t count,
                          sample_points *points);

firn_status sample_lattice(const sample_request *request, const double low[3], const double high[3],
                           sample_points *points);

firn_status sample_poisson(const sample_request *request, const double low[3], const double high[3],
                           sample_points *points);

/* Add a point; `capacity` belongs to the points. */
firn_status sample_append(sample_points *points, size_t *capacity, int dimensions,
                          const double x[3]);

/* x^(1/3) and x^(1/2) by operations that are the same on every machine, unlike cbrt and pow. */
double sample_root(int dimensions, double x);

#endif
