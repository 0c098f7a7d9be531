/*
 * Kernels with a mistake each, and the same without it: what watches the emulated GPU's memory has to tell the two
 * apart. Run as `faults MISTAKE`, which ends with WATCH_FOUND, or `faults none`.
 */
#include "cuda/launch.cuh"

#include <cstdio>
#include <cuda_pipeline.h>

enum { THREADS = 64, BLOCKS = 3 };

enum mistake {
    NONE,
    NO_BARRIER,
    NO_WARP_BARRIER,
    NO_ATOMIC,
    NO_WAIT,
    NO_AWAIT,
    EARLY_COPY,
    NO_FENCE,
    NOT_WRITTEN,
    MISTAKES
};
static const char *const names[MISTAKES] = {"none",       "no_barrier", "no_warp_barrier",
                                            "no_atomic",  "no_wait",    "no_await",
                                            "early_copy", "no_fence",   "not_written"};

/* Each thread reads what its neighbour wrote. */
static __global__ void pass_on(int *values, mistake m)
{
    __shared__ int shared[THREADS];
    shared[threadIdx.x] = (int)(threadIdx.x + blockIdx.x);
    if (m != NO_BARRIER)
        __syncthreads();
    values[blockIdx.x * THREADS + threadIdx.x] = shared[(threadIdx.x + 33) % THREADS];
}

static __global__ void pass_on_in_warp(int *values, mistake m)
{
    __shared__ int shared[THREADS];
    shared[threadIdx.x] = values[blockIdx.x * THREADS + threadIdx.x];
    if (m != NO_WARP_BARRIER)
        __syncwarp();
    values[blockIdx.x * THREADS + threadIdx.x] = shared[threadIdx.x ^ 1];
}

static __global__ void count(int *total, mistake m)
{
    if (m == NO_ATOMIC)
        *total += 1;
    else
        atomicAdd(total, 1);
}

/* Reads what the kernel before has written. */
static __global__ void follow(const int *values, int *copies, mistake m)
{
    const unsigned k = blockIdx.x * THREADS + threadIdx.x;
    int value = m == NO_AWAIT ? values[k] : 0;
    await_previous();
    if (m != NO_AWAIT)
        value = values[k];
    copies[k] = value;
}

/* The same by a copy to shared memory. */
static __global__ void fetch(const int *values, int *copies, mistake m)
{
    __shared__ int shared[THREADS];
    const unsigned k = blockIdx.x * THREADS + threadIdx.x;
    if (m != EARLY_COPY)
        await_previous();
    __pipeline_memcpy_async(&shared[threadIdx.x], &values[k], sizeof(int));
    __pipeline_commit();
    if (m == EARLY_COPY)
        await_previous();
    if (m != NO_WAIT)
        __pipeline_wait_prior(0);
    __syncthreads();
    if (m == NO_WAIT)
        copies[k] = shared[threadIdx.x ^ 1];
    __pipeline_wait_prior(0);
    copies[k] = shared[threadIdx.x];
}

/* The last block adds up what all have found. */
static __global__ void add_up(int *found, int *sum, int *ticket, mistake m)
{
    if (threadIdx.x != 0)
        return;
    found[blockIdx.x] = (int)blockIdx.x;
    if (m != NO_FENCE)
        __threadfence();
    if (atomicAdd(ticket, 1) != BLOCKS - 1)
        return;
    if (m != NO_FENCE)
        __threadfence();
    *sum = 0;
    for (int n = 0; n < BLOCKS; n++)
        *sum += found[n];
}

static int *ints(size_t count, bool written)
{
    void *memory = nullptr;
    cudaMalloc(&memory, count * sizeof(int));
    if (written)
        cudaMemset(memory, 0, count * sizeof(int));
    return (int *)memory;
}

int main(int count_of, char **words)
{
    int chosen = 0;
    while (chosen < MISTAKES && (count_of != 2 || strcmp(words[1], names[chosen]) != 0))
        chosen++;
    if (chosen == MISTAKES)
        return 2;
    const mistake m = (mistake)chosen;
    int *values = ints(BLOCKS * THREADS, m != NOT_WRITTEN), *copies = ints(BLOCKS * THREADS, false),
        *total = ints(1, true), *ticket = ints(1, true), *sum = ints(1, true),
        *found = ints(BLOCKS, false);
    launch_behind(false, pass_on_in_warp, BLOCKS, THREADS, nullptr, values, m);
    launch_behind(false, pass_on, BLOCKS, THREADS, nullptr, values, m);
    launch_behind(true, follow, BLOCKS, THREADS, nullptr, values, copies, m);
    launch_behind(true, fetch, BLOCKS, THREADS, nullptr, copies, values, m);
    launch_behind(false, count, BLOCKS, THREADS, nullptr, total, m);
    launch_behind(false, add_up, BLOCKS, THREADS, nullptr, found, sum, ticket, m);
    const int right = *total == BLOCKS * THREADS && *sum == BLOCKS * (BLOCKS - 1) / 2;
    printf("%d threads, a sum of %d\n", *total, *sum);
    return right ? 0 : 1;
}
