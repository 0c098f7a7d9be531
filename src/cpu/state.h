/* What the backend `cpu` holds: stepped in cpu.c, filled and read in values.c. */
#ifndef FIRN_CPU_STATE_H
#define FIRN_CPU_STATE_H

#include "cpu/solve.h"
#include "cpu/sort.h"
#include "cpu/team.h"

struct backend {
    const firn_settings *settings;
    const collider_set *colliders;
    team *threads;
    const cpu_kernels *kernels;
    cpu_store store;
    cpu_grid grid;
    cpu_scratch **scratch; /* one a thread */
    cpu_outcome *outcome;  /* likewise */
    bool sorted;           /* false: memory is in row order and `base` holds the cells */
    int32_t (*base)[3];
    double *rest;      /* by rows: still times that wait for the blocks to be made; or NULL */
    bool places_known; /* whether store.place tells where each row is in `order` */
    uint64_t steps;
    bool limits_known;
    step_limits limits;
    cpu_pass pass;
    cpu_solver *solver;     /* NULL until a step is semi-implicit */
    const uint32_t *colour; /* the blocks of the colour at work in P2G */
};

/* From a cell's base node to its corner, in cells. */
static inline double pass_origin(const firn_settings *settings)
{
    return settings->kernel == FIRN_CUBIC ? 1 : 0.5;
}

/* Memory for so many records, on pages that suit its size; to be freed. */
void *cpu_allocate(size_t count, size_t size);

/* Memory for so many particles, and giving it back. */
firn_status cpu_resize(backend *self, size_t count);
void cpu_free_store(cpu_store *store);

/* As backend.h says: reshape.c. */
firn_status cpu_reshape(backend *self, const bool *kept, size_t added);

/* Where particles are: to be called first, then for any row its slot in memory and its base node. */
void cpu_know_places(const backend *self);
uint32_t cpu_slot_of(const backend *self, size_t row);
void cpu_base_of(const backend *self, size_t row, int64_t base[3]);

/* Rows of one attribute, as backend.h says. */
firn_status cpu_set(backend *self, firn_attribute attribute, size_t first, size_t count,
                    const double *values);
firn_status cpu_get(const backend *self, firn_attribute attribute, size_t first, size_t count,
                    double *values);

#endif
