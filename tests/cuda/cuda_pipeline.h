/* Copies to shared memory that are on their way: see machine.h. */
#ifndef FIRN_TESTS_CUDA_PIPELINE_H
#define FIRN_TESTS_CUDA_PIPELINE_H

#include "cuda_runtime.h"

static inline void __pipeline_memcpy_async(void *to, const void *from, size_t bytes)
{
    machine_copy(to, from, bytes);
}
static inline void __pipeline_commit()
{
    machine_copies_commit();
}
static inline void __pipeline_wait_prior(size_t groups)
{
    machine_copies_wait(groups);
}

#endif
