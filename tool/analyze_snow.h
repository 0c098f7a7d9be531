/* The six numbers of a kind of snow, and the values of each that studies go through. */
#ifndef FIRN_TOOL_ANALYZE_SNOW_H
#define FIRN_TOOL_ANALYZE_SNOW_H

#include <stddef.h>

enum { THETA_C, THETA_S, XI, YOUNG, POISSON, DENSITY, PARAMETERS };

typedef struct snow {
    double value[PARAMETERS];
} snow;

enum { SWEEP_MAX = 10 };
typedef struct parameter {
    const char *label;  /* in tables: "theta_c" */
    const char *symbol; /* for gnuplot: "θ_c" */
    const char *title;  /* with its unit */
    double usual;       /* table 2 of the paper */
    double low, high;   /* as the thesis or the paper propose them */
    size_t count;
    double sweep[SWEEP_MAX]; /* over and past these */
} parameter;
extern const parameter parameters[PARAMETERS];

snow snow_usual(void);
snow snow_with(int which, double value);

/* lambda + 2 mu, Pa: stiffness against compression without room sideways. */
double snow_modulus(const snow *s);

/* The tallest column that does not yield at its base: theta_c (lambda + 2 mu) / (rho g), m. */
double snow_standing_height(const snow *s);

#endif
