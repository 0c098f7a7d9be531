/* A build without nvcc: there is no GPU to speak of. */
#include "cuda/cuda.h"
#include "status.h"

const char *cuda_device(const char **why)
{
    if (why)
        *why = "not built (needs nvcc)";
    return NULL;
}

double cuda_free_memory(void)
{
    return 0;
}

double cuda_memory(const firn_settings *settings, size_t particles, size_t active_blocks)
{
    (void)settings, (void)particles, (void)active_blocks;
    return 0;
}

double cuda_reshape_memory(const firn_settings *settings, size_t particles)
{
    (void)settings, (void)particles;
    return 0;
}

/* backend_find never gives this away. */
static firn_status none_create(const backend_problem *problem, backend **out)
{
    (void)problem, (void)out;
    return fail(FIRN_USAGE, "this build has no backend cuda");
}

const backend_ops cuda_backend = {.name = "cuda", .create = none_create};

batch_fn *batch_of(const backend_ops *ops)
{
    (void)ops;
    return NULL;
}

freeze_fn *freeze_of(const backend_ops *ops)
{
    (void)ops;
    return NULL;
}

search_fn *search_of(const backend_ops *ops)
{
    (void)ops;
    return NULL;
}
