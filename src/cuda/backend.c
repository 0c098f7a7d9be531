/* The backend `cuda` as sim.c knows it. */
#include "cuda/cuda.h"

const backend_ops cuda_backend = {
    .name = "cuda",
    .is_double = false,
    .has_solver = true,
    .create = cuda_create,
    .destroy = cuda_destroy,
    .resize = cuda_resize,
    .reshape = cuda_reshape,
    .set = cuda_set,
    .get = cuda_get,
    .step = cuda_step,
    .limits = cuda_limits,
    .bounds = cuda_bounds,
    .memory = cuda_memory,
};

batch_fn *batch_of(const backend_ops *ops)
{
    return ops == &cuda_backend ? cuda_steps : NULL;
}

freeze_fn *freeze_of(const backend_ops *ops)
{
    return ops == &cuda_backend ? cuda_freeze : NULL;
}

search_fn *search_of(const backend_ops *ops)
{
    return ops == &cuda_backend ? cuda_search : NULL;
}
