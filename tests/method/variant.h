/* The method built with one number type, dimension and instruction set; VARIANT in the build names
 * it. */
#ifndef FIRN_TESTS_METHOD_VARIANT_H
#define FIRN_TESTS_METHOD_VARIANT_H

#include <stddef.h>

typedef struct variant {
    const char *name;
    int lanes;
    int is_double;
    int inputs, outputs; /* numbers in a row */
    /* `rows` is a multiple of 16. */
    void (*every)(size_t rows, const double *in, double *out);
    void (*exp)(size_t count, const double *x, double *y);
    void (*rsqrt)(size_t count, const double *x, double *y);
} variant;

#endif
