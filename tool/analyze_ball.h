/* A snowball that hits the ground: what kind of snow it was is seen from what is left. */
#ifndef FIRN_TOOL_ANALYZE_BALL_H
#define FIRN_TOOL_ANALYZE_BALL_H

#include "analyze.h"
#include "analyze_snow.h"

typedef struct ball_result {
    double rest_height; /* on flat ground: of the pile (95 % of its particles), in diameters */
    double rebound;     /* there: fastest rise of the centre of mass, of the speed of impact */
    double loose;       /* on the ridge: share of the snow outside of the largest piece */
    double pieces;      /* there: of at least one part in 500 */
    double dt;          /* the smallest step, s */
    double finished;    /* 1, or 0: too many steps, or none that leads on */
} ball_result;

/* A ball of 0.2 m in two dimensions meets flat ground at 4 m/s, and once more a ridge at 8 m/s.
 * Both are watched for 0.35 s. */
bool ball_drop(study *s, const snow *kind, double cell, ball_result *result);

/* The paper's snow on flat ground, sampled with a seed: what is left after the same time. */
typedef struct ball_outline {
    double lowest;                /* m: centre of mass, in the first tenth of a second */
    double height, centre, front; /* at the end: of the pile, of its mass, and half of its width */
} ball_outline;
bool ball_settle(study *s, double cell, int seed, ball_outline *outline);

/* The height below which 95 % of particles in two dimensions are. */
double pile_height(const double *position, size_t count);

#endif
