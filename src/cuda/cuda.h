/*
 * The backend `cuda`: the step of `cpu` on an NVIDIA GPU, for C code. Built without nvcc, the same
 * functions say so (none.c).
 *
 * Does NOT do: more than one GPU.
 */
#ifndef FIRN_CUDA_CUDA_H
#define FIRN_CUDA_CUDA_H

#include "batch.h"

/* The first GPU that can run this build, such as "NVIDIA H200"; NULL when there is none, and then
 * `why` (may be NULL) says what is missing. */
const char *cuda_device(const char **why);

/* Bytes of its memory that are free now; 0 without a GPU. */
double cuda_free_memory(void);

/* Bytes that a run needs on the GPU; and in addition while particles come or go, as all are then moved. */
double cuda_memory(const firn_settings *settings, size_t particles, size_t active_blocks);
double cuda_reshape_memory(const firn_settings *settings, size_t particles);

firn_status cuda_create(const backend_problem *problem, backend **out);
void cuda_destroy(backend **self);
firn_status cuda_resize(backend *self, size_t count);
firn_status cuda_reshape(backend *self, const bool *kept, size_t added);
firn_status cuda_set(backend *self, firn_attribute attribute, size_t first, size_t count,
                     const double *values);
firn_status cuda_get(const backend *self, firn_attribute attribute, size_t first, size_t count,
                     double *values);
firn_status cuda_step(backend *self, const step_plan *plan, step_report *report);
batch_fn cuda_steps;
freeze_fn cuda_freeze;
search_fn cuda_search;
void cuda_limits(backend *self, step_limits *limits);
void cuda_bounds(const backend *self, double low[3], double high[3]);

#endif
