/*
 * Study: what does a step cost? Time and memory against particles, nodes and colliders, on each
 * backend of this build. The claim is O(P C + N C) (thesis, section 4.4).
 *
 * Measured in analyze_runtime.c, told in analyze_runtime_report.c.
 */
#ifndef FIRN_TOOL_ANALYZE_RUNTIME_H
#define FIRN_TOOL_ANALYZE_RUNTIME_H

#include "analyze_report.h"

/* A backend as it is measured. */
typedef struct runner {
    const char *label, *backend;
    int threads;
    bool by_wall;   /* timed by the clock on the wall, not the processor's */
    bool on_gpu;    /* holds its particles in the memory of a GPU */
    bool brief;     /* against particles only */
    int scale;      /* sides of its blocks, in those that suit one thread */
    int largest;    /* side of the largest block */
    double settled; /* particles from which fixed costs no longer show */
} runner;

enum { RUNNERS = 4 };
size_t list_runners(const study *s, runner runners[RUNNERS]);

typedef struct runtime_tables {
    table *particles, *filling, *spread, *bodies;
} runtime_tables;
runtime_tables open_runtime_tables(study *s);

/* Sides of the blocks that are filled (in cells) and spread (in particles), times `scale`. */
static const int FILLING_SIDES[2] = {6, 12}, SPREAD_SIDES[2] = {8, 16};

static inline int cube(int n)
{
    return n * n * n;
}

void measure_runtime(study *s);

#endif
