/*
 * A copy of the particles that stands still while steps go on: frames are read from it (`get`, `limits`, `bounds`) by
 * another thread, on a stream of its own. All its memory is one piece of the GPU's pool, which keeps it for the next.
 */
#include "cuda/state.cuh"

/* Of what is free on the GPU, a copy takes at most this part. */
static const double MOST = 0.25;

static size_t padded(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* Of particles, and their homes. */
static size_t pages_of(const backend *s)
{
    return (s->count + PAGE_SLOTS - 1) / PAGE_SLOTS * s->p.page * sizeof(float);
}

static size_t bytes_of(const backend *s)
{
    size_t arrays = s->sorted ? 1 : 4;
    return padded(pages_of(s)) + arrays * padded(s->count * sizeof(float)) +
           padded(s->grid.home_count * sizeof *s->grid.at) +
           padded(STAGING_ROWS * 9 * sizeof *s->staging);
}

/* The next piece of the memory, with a copy of `from` (NULL: of nothing) once the stream gets there. */
static void *take(char **next, const void *from, size_t bytes, cudaStream_t stream)
{
    void *to = *next;
    *next += padded(bytes);
    if (from)
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
    return to;
}

static void copy_particles(const backend *s, backend *copy)
{
    char *next = (char *)copy->still;
    const size_t bytes = s->count * sizeof(float);
    float *pages = (float *)take(&next, s->pages, pages_of(s), s->stream);
    copy->p = (particles_view){pages + (s->p.first - s->pages), s->p.page};
    copy->home.page = s->home.page;
    if (s->home.first)
        copy->home.first = (uint32_t *)pages + (s->home.first - (uint32_t *)s->pages);
    copy->order = (uint32_t *)take(&next, s->sorted ? s->order : NULL, bytes, s->stream);
    for (int a = 0; a < 3 && !s->sorted; a++)
        copy->start[a] = (int32_t *)take(&next, s->start[a], bytes, s->stream);
    copy->grid.at = (int4 *)take(&next, s->grid.home_count ? s->grid.at : NULL,
                                 s->grid.home_count * sizeof *s->grid.at, s->stream);
    copy->staging = (double *)take(&next, NULL, STAGING_ROWS * 9 * sizeof *s->staging, s->stream);
}

/* What the copy may not share with the simulation, or would end with it. */
static void forget_the_rest(backend *copy)
{
    forget_particles(copy);
    copy->bodies = (device_bodies){};
    copy->solver = NULL;
    copy->out = NULL;
    copy->pace = NULL;
    copy->seen = NULL;
    copy->shown = NULL;
    copy->counted = NULL;
    copy->host_staging = NULL;
    copy->staging = NULL;
    copy->stream = NULL;
    memset(copy->mark, 0, sizeof copy->mark);
}

/* Memory that comes and goes without a wait; NULL when there is too little, or none of this kind. */
static void *memory_for(const backend *s)
{
    int has_pools = 0;
    cudaMemPool_t pool;
    void *memory = NULL;
    uint64_t all = UINT64_MAX;
    if ((double)bytes_of(s) > MOST * cuda_free_memory() ||
        cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, 0) != cudaSuccess ||
        !has_pools || cudaDeviceGetDefaultMemPool(&pool, 0) != cudaSuccess ||
        cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all) != cudaSuccess ||
        cudaMallocAsync(&memory, bytes_of(s), s->stream) != cudaSuccess) {
        cudaGetLastError();
        return NULL;
    }
    return memory;
}

/* The copy's stream begins when the copy is complete. */
static firn_status follow(const backend *s, backend *copy)
{
    cudaEvent_t copied = NULL;
    cudaError_t error = cudaStreamCreateWithFlags(&copy->stream, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = cudaEventCreateWithFlags(&copied, cudaEventDisableTiming);
    if (error == cudaSuccess)
        error = cudaEventRecord(copied, s->stream);
    if (error == cudaSuccess)
        error = cudaStreamWaitEvent(copy->stream, copied, 0);
    if (copied)
        cudaEventDestroy(copied);
    return cuda_check(error, "copying particles");
}

firn_status cuda_freeze(backend *s, backend **out)
{
    *out = NULL;
    firn_status status = settle(s);
    if (status != FIRN_OK)
        return status;
    step_limits known;
    cuda_limits(s, &known);
    know_places(s);
    void *memory = s->count > 0 ? memory_for(s) : NULL;
    if (!memory)
        return FIRN_OK;
    backend *copy = (backend *)malloc(sizeof *copy);
    if (!copy) {
        cudaFreeAsync(memory, s->stream);
        return fail(FIRN_NO_MEMORY, "out of memory for a copy of the particles");
    }
    *copy = *s;
    forget_the_rest(copy);
    copy->still = memory;
    copy_particles(s, copy);
    status = follow(s, copy);
    if (status == FIRN_OK)
        *out = copy;
    else
        cuda_thaw(copy, s->stream);
    return status;
}

void cuda_thaw(backend *copy, cudaStream_t stream)
{
    cudaFreeAsync(copy->still, stream);
    if (copy->stream)
        cudaStreamDestroy(copy->stream);
    free(copy);
}
