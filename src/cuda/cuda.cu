/* The backend `cuda`: the GPU and its memory. See state.cuh. */
#include "cuda/pace.cuh"

/* ---- The GPU ---------------------------------------------------------------------------------- */

firn_status cuda_check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return FIRN_OK;
    return fail(FIRN_NO_MEMORY, "the GPU failed while %s: %s", what, cudaGetErrorString(error));
}

firn_status device_allocate(void *pointer, size_t bytes, const char *what)
{
    void *memory = NULL;
    cudaError_t error = cudaMalloc(&memory, bytes ? bytes : 1);
    memcpy(pointer, &memory, sizeof memory);
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        return fail(
            FIRN_NO_MEMORY,
            "the GPU has no room for %.3g GB of %s (%.3g GB are free); use fewer particles or "
            "larger cells, or --backend cpu",
            1e-9 * (double)bytes, what, 1e-9 * cuda_free_memory());
    }
    return cuda_check(error, "allocating memory");
}

void device_free(void *pointer)
{
    void *memory, *none = NULL;
    memcpy(&memory, pointer, sizeof memory);
    cudaFree(memory);
    memcpy(pointer, &none, sizeof none);
}

const char *cuda_device(const char **why)
{
    static cudaDeviceProp properties;
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    int driver = 0;
    bool has_driver = cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0;
    const char *problem = !has_driver            ? "no NVIDIA driver is installed"
                          : error != cudaSuccess ? cudaGetErrorString(error)
                          : count == 0           ? "no GPU was found"
                                                 : NULL;
    if (!problem && cudaGetDeviceProperties(&properties, 0) != cudaSuccess)
        problem = "the GPU does not answer";
    if (!problem && properties.major * 10 + properties.minor < 75)
        problem = "the GPU is older than compute capability 7.5";
    cudaGetLastError();
    if (why)
        *why = problem;
    return problem ? NULL : properties.name;
}

double cuda_free_memory(void)
{
    size_t available = 0, total = 0;
    return cudaMemGetInfo(&available, &total) == cudaSuccess ? (double)available : 0;
}

/* ---- Memory ----------------------------------------------------------------------------------- */

void free_particles(backend *s)
{
    device_free(&s->pages);
    device_free(&s->key);
    device_free(&s->order);
    for (int a = 0; a < 3; a++)
        device_free(&s->start[a]);
    s->count = 0;
}

void forget_particles(backend *s)
{
    s->p = (particles_view){};
    s->home = (homes_view){};
    s->pages = NULL;
    s->key = s->order = NULL;
    s->start[0] = s->start[1] = s->start[2] = NULL;
    s->grid = s->old = (grid_view){};
    s->hash_keys = NULL;
    s->hash_values = s->cell_count = s->counters = NULL;
    s->home_capacity = s->old_capacity = s->node_capacity = 0;
}

void cuda_destroy(backend **self)
{
    backend *s = *self;
    *self = NULL;
    if (!s)
        return;
    if (s->still) {
        cuda_thaw(s, s->stream);
        return;
    }
    free_particles(s);
    sort_free(s);
    solver_free(&s->solver);
    bodies_free(&s->bodies);
    device_free(&s->out);
    device_free(&s->pace);
    device_free(&s->staging);
    cudaFreeHost(s->seen);
    cudaFreeHost(s->shown);
    cudaFreeHost(s->counted);
    free(s->host_staging);
    for (int k = 0; k < MARKS; k++)
        if (s->mark[k])
            cudaEventDestroy(s->mark[k]);
    if (s->stream)
        cudaStreamDestroy(s->stream);
    free(s);
}

static firn_status make_tools(backend *s)
{
    int processors = 0;
    firn_status status = cuda_check(
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), "starting");
    s->processors = (uint32_t)processors;
    if (status == FIRN_OK)
        status = cuda_check(cudaStreamCreate(&s->stream), "starting");
    for (int k = 0; k < MARKS && status == FIRN_OK; k++)
        status = cuda_check(cudaEventCreate(&s->mark[k]), "starting");
    if (status == FIRN_OK)
        status = cuda_check(cudaMallocHost((void **)&s->seen, sizeof *s->seen), "starting");
    if (status == FIRN_OK)
        status = cuda_check(cudaMallocHost((void **)&s->shown, sizeof *s->shown), "starting");
    if (status == FIRN_OK)
        status = cuda_check(
            cudaMallocHost((void **)&s->counted, SORT_COUNTERS * sizeof *s->counted), "starting");
    if (status == FIRN_OK)
        status = device_allocate(&s->out, sizeof *s->out, "results");
    if (status == FIRN_OK)
        status = device_allocate(&s->pace, sizeof *s->pace, "results");
    if (status == FIRN_OK)
        status = device_allocate(&s->staging, STAGING_ROWS * 9 * sizeof *s->staging, "values");
    if (status == FIRN_OK && !(s->host_staging = malloc(STAGING_ROWS * 2 * sizeof(int32_t))))
        status = fail(FIRN_NO_MEMORY, "out of memory for particle values");
    return status == FIRN_OK ? bodies_upload(s->colliders, &s->bodies) : status;
}

firn_status cuda_create(const backend_problem *problem, backend **out)
{
    const char *why;
    if (!cuda_device(&why))
        return fail(FIRN_USAGE, "backend cuda: %s; use --backend cpu", why);
    backend *s = (backend *)calloc(1, sizeof *s);
    if (!s)
        return fail(FIRN_NO_MEMORY, "out of memory for the solver");
    s->settings = problem->settings;
    s->colliders = problem->colliders;
    s->affine = transfer_is_affine(s->settings->transfer);
    s->node_bytes = s->affine ? 16 : 32;
    s->array_count = s->affine ? ARRAYS_AFFINE : ARRAYS_FLIP;
    s->run = kernels_find(s->settings);
    s->overlaps = kernels_overlap();
    firn_status status = make_tools(s);
    if (status != FIRN_OK) {
        cuda_destroy(&s);
        return status;
    }
    *out = s;
    return FIRN_OK;
}

static __global__ void number_rows(particles_view p, uint32_t count)
{
    uint32_t k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= count)
        return;
    p[k].row() = k;
    p[k][F_FIRST + 8] = 1; /* plane strain in 2D */
}

/* One is enough; with more, fewer kernels do. */
int spare_arrays(size_t particles, int arrays)
{
    size_t most = SPARE_BYTES / (sizeof(float) * (particles + 1));
    return most < 1 ? 1 : most > (size_t)arrays ? arrays : (int)most;
}

firn_status cuda_resize(backend *s, size_t count)
{
    if (count >= UINT32_MAX / 2)
        return fail(FIRN_NO_MEMORY, "%zu particles: this backend numbers at most %u", count,
                    UINT32_MAX / 2 - 1);
    cudaStreamSynchronize(s->stream);
    free_particles(s);
    sort_free(s);
    size_t bytes = count * sizeof(float), pages = (count + PAGE_SLOTS - 1) / PAGE_SLOTS;
    s->spare_count = spare_arrays(count, s->array_count);
    uint32_t page = (uint32_t)(s->array_count + s->spare_count) * PAGE_SLOTS;
    firn_status status = device_allocate(&s->pages, pages * page * sizeof(float), "particles");
    if (status == FIRN_OK)
        status =
            cuda_check(cudaMemset(s->pages, 0, pages * page * sizeof(float)), "clearing memory");
    s->p = (particles_view){s->pages, page};
    s->home = (homes_view){NULL, page};
    if (status == FIRN_OK)
        status = device_allocate(&s->key, bytes, "particles");
    if (status == FIRN_OK)
        status = device_allocate(&s->order, bytes, "particles");
    for (int a = 0; a < 3 && status == FIRN_OK; a++) {
        status = device_allocate(&s->start[a], bytes, "particles");
        if (status == FIRN_OK)
            status = cuda_check(cudaMemset(s->start[a], 0, bytes), "clearing memory");
    }
    s->count = count;
    s->sorted = s->limits_known = s->places_known = s->drifted = false;
    s->steps = 0;
    s->owed = 0;
    if (status == FIRN_OK && count > 0) {
        number_rows<<<(unsigned)((count + THREADS - 1) / THREADS), THREADS>>>(s->p,
                                                                              (uint32_t)count);
        status = cuda_check(cudaDeviceSynchronize(), "numbering particles");
    }
    return status;
}

/* Sorting takes two numbers a particle; cells before the first sort, three. */
static double particle_memory(const firn_settings *settings, size_t particles)
{
    const int kept = transfer_is_affine(settings->transfer) ? ARRAYS_AFFINE : ARRAYS_FLIP;
    return 4.0 * (kept + spare_arrays(particles, kept) + 2 + 3) * (double)particles;
}

double cuda_memory(const firn_settings *settings, size_t particles, size_t active_blocks)
{
    double homes = (double)particles / 128 + 1024, blocks = 4 * homes + 4096;
    double per_home =
               reach_count(stencil_width(settings)) * 4 + BLOCK_CELLS * 4 + EIGHTHS * 4 + 4 + 2 * 8,
           per_block = 2 * 16 + 8 + 4 + 1 + 3 * 12;
    double nodes = 1.125 * (double)active_blocks * BLOCK_CELLS;
    double solving = settings->integrator == FIRN_EXPLICIT
                         ? 0
                         : solver_memory(settings, (double)particles, nodes);
    return particle_memory(settings, particles) + homes * per_home + blocks * per_block +
           nodes * (transfer_is_affine(settings->transfer) ? 16 : 32) + solving;
}

double cuda_reshape_memory(const firn_settings *settings, size_t particles)
{
    return particle_memory(settings, particles) + sizeof(uint32_t) * (double)particles;
}
