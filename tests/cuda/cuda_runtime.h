/*
 * As much of CUDA as src/cuda uses, on the processor: for tests where there is no GPU, under sanitizers too.
 *
 * Blocks run one after the other, their threads as coroutines that change places at barriers (machine.h), both in
 * an order that differs from launch to launch. What depends on the order of atomics, or reads what another thread
 * has yet to write, shows. Memory of the GPU is the heap's, full of rubbish at first.
 *
 * Does NOT do: speed, streams beside each other (all is done when a call returns), kernels that wait for other
 * blocks, rounding as a GPU has it in exp, log and cbrt.
 */
#ifndef FIRN_TESTS_CUDA_RUNTIME_H
#define FIRN_TESTS_CUDA_RUNTIME_H

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>

#include "cuda/machine.h"
#include "cuda/watch.h"

#define __CUDA_ARCH__ 900

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __shared__ static /* one grid works at a time */
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_assume(what)

/* ---- Values ----------------------------------------------------------------------------------- */

/* Blocks and grids are of one dimension. */
struct dim3 {
    unsigned x;
    dim3(unsigned x_) : x(x_)
    {
    }
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

static inline float2 make_float2(float x, float y)
{
    return {x, y};
}
static inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}
static inline int4 make_int4(int x, int y, int z, int w)
{
    return {x, y, z, w};
}
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}

template <class T> static inline T min(T a, T b)
{
    return b < a ? b : a;
}
template <class T> static inline T max(T a, T b)
{
    return a < b ? b : a;
}

static inline int __float_as_int(float x)
{
    return std::bit_cast<int>(x);
}
static inline unsigned __float_as_uint(float x)
{
    return std::bit_cast<unsigned>(x);
}
static inline float __uint_as_float(unsigned x)
{
    return std::bit_cast<float>(x);
}
static inline long long __double_as_longlong(double x)
{
    return std::bit_cast<long long>(x);
}
/* Saturated, and 0 of what is no number. */
static inline int __double2int_rn(double x)
{
    return std::isnan(x) ? 0 : (int)std::rint(std::fmin(std::fmax(x, INT32_MIN), INT32_MAX));
}
static inline int __float2int_rn(float x)
{
    return __double2int_rn(x);
}
static inline float __fadd_rn(float a, float b)
{
    return a + b;
}
static inline float __fmul_rn(float a, float b)
{
    return a * b;
}
static inline float __fmaf_rn(float a, float b, float c)
{
    return std::fmaf(a, b, c);
}
#define __logf(x) std::log((float)(x)) /* the name is taken */
static inline float rsqrtf(float x)
{
    return 1 / std::sqrt(x);
}
static inline double rsqrt(double x)
{
    return 1 / std::sqrt(x);
}
static inline int __popc(unsigned x)
{
    return std::popcount(x);
}

/* ---- Threads ---------------------------------------------------------------------------------- */

static inline void __syncthreads()
{
    machine_block_barrier(false);
}
static inline int __syncthreads_count(int predicate)
{
    return machine_block_barrier(predicate != 0);
}
static inline void __syncwarp()
{
    machine_warp_barrier(0);
}
static inline void __threadfence()
{
    machine_fence();
}

template <class T> static inline T host_of_lane(const uint64_t *values, unsigned lane)
{
    T value;
    std::memcpy(&value, &values[lane], sizeof value);
    return value;
}
template <class T> static inline uint64_t host_as_word(T value)
{
    static_assert(sizeof value <= sizeof(uint64_t));
    uint64_t word = 0;
    std::memcpy(&word, &value, sizeof value);
    return word;
}
template <class T> static inline T __shfl_sync(unsigned, T value, int lane)
{
    return host_of_lane<T>(machine_warp_barrier(host_as_word(value)), (unsigned)lane % 32);
}
template <class T> static inline T __shfl_xor_sync(unsigned, T value, int mask)
{
    return host_of_lane<T>(machine_warp_barrier(host_as_word(value)),
                           (threadIdx.x ^ (unsigned)mask) % 32);
}
static inline unsigned __ballot_sync(unsigned, int predicate)
{
    const uint64_t *values = machine_warp_barrier(predicate != 0);
    unsigned all = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        all |= (unsigned)values[lane] << lane;
    return all;
}
static inline int __any_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, predicate) != 0;
}

static inline unsigned __reduce_max_sync(unsigned, unsigned value)
{
    const uint64_t *values = machine_warp_barrier(value);
    uint64_t most = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        most = max(most, values[lane]);
    return (unsigned)most;
}

/* Threads change places at barriers only. Where memory is watched, these say what they are. */
#ifdef __SANITIZE_THREAD__
template <class T> static inline T host_load(const T *at, watch_kind kind)
{
    T value;
    watch_access(at, sizeof value, kind, nullptr);
    watch_move(&value, at, sizeof value);
    return value;
}
template <class T> static inline void host_store(T *at, T value)
{
    watch_move(at, &value, sizeof value);
}
#else
template <class T> static inline T host_load(const T *at, watch_kind)
{
    return *at;
}
template <class T> static inline void host_store(T *at, T value)
{
    *at = value;
}
#endif

template <class T, class CHANGE> static inline T host_change(T *at, CHANGE change)
{
    const T old = host_load(at, WATCH_MARKED_WRITE);
    host_store(at, (T)change(old));
    return old;
}
template <class T, class U> static inline T atomicAdd(T *at, U value)
{
    return host_change(at, [=](T old) { return (uint64_t)old + (uint64_t)value; });
}
template <class T, class U> static inline T atomicMax(T *at, U value)
{
    return host_change(at, [=](T old) { return max(old, (T)value); });
}
template <class T, class U> static inline T atomicMin(T *at, U value)
{
    return host_change(at, [=](T old) { return min(old, (T)value); });
}
template <class T, class U> static inline T atomicExch(T *at, U value)
{
    return host_change(at, [=](T) { return value; });
}
template <class T, class U, class V> static inline T atomicCAS(T *at, U expected, V value)
{
    return host_change(at, [=](T old) { return old == (T)expected ? (T)value : old; });
}
template <class T> static inline T __ldcg(const T *at)
{
    return host_load(at, WATCH_MARKED_READ);
}

/* ---- Launches --------------------------------------------------------------------------------- */

typedef struct host_stream *cudaStream_t; /* all there is comes at once */

template <class... TAKEN> struct host_launch {
    void (*kernel)(TAKEN...);
    dim3 blocks, threads;
    bool early;

    template <class... GIVEN> void operator()(const GIVEN &...given) const
    {
        std::tuple<void (*)(TAKEN...), std::tuple<std::remove_cv_t<TAKEN>...>> call(kernel,
                                                                                    {given...});
        machine_run(
            blocks.x, threads.x, early,
            [](void *p) {
                auto *q = static_cast<decltype(call) *>(p);
                std::apply(std::get<0>(*q), std::get<1>(*q));
            },
            &call);
    }
};

/* What kernel<<<...>>> becomes (CMakeLists.txt). */
template <class... TAKEN>
static inline host_launch<TAKEN...> host_launch_of(void (*kernel)(TAKEN...), dim3 blocks,
                                                   dim3 threads, size_t = 0, cudaStream_t = nullptr)
{
    return {kernel, blocks, threads, false};
}

/* ---- The GPU and its memory -------------------------------------------------------------------- */

enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaDeviceAttr { cudaDevAttrMemoryPoolsSupported, cudaDevAttrMultiProcessorCount };
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold };
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };
typedef struct host_pool *cudaMemPool_t;

struct cudaDeviceProp {
    char name[256];
    int major, minor;
};

static inline cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}
static inline const char *cudaGetErrorString(cudaError_t)
{
    return "out of memory";
}
static inline cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}
static inline cudaError_t cudaDriverGetVersion(int *version)
{
    *version = 1;
    return cudaSuccess;
}
static inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int)
{
    *properties = {"a GPU that this processor emulates", 9, 0};
    return cudaSuccess;
}
static inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int)
{
    *value = 1;
    return cudaSuccess;
}
static inline cudaError_t cudaDeviceSynchronize()
{
    return cudaSuccess;
}

static inline cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    *memory = machine_allocate(bytes);
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}
static inline cudaError_t cudaFree(void *memory)
{
    machine_free(memory);
    return cudaSuccess;
}
static inline cudaError_t cudaMallocAsync(void **memory, size_t bytes, cudaStream_t)
{
    return cudaMalloc(memory, bytes);
}
static inline cudaError_t cudaFreeAsync(void *memory, cudaStream_t)
{
    return cudaFree(memory);
}
static inline cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    *memory = std::malloc(bytes);
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}
static inline cudaError_t cudaFreeHost(void *memory)
{
    std::free(memory);
    return cudaSuccess;
}
static inline cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    *available = machine_bytes_left();
    *total = MACHINE_BYTES;
    return cudaSuccess;
}
static inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int)
{
    *pool = nullptr;
    return cudaSuccess;
}
static inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *)
{
    return cudaSuccess;
}
static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
    if (bytes > 0)
        std::memcpy(to, from, bytes);
    machine_fill(to, bytes);
    return cudaSuccess;
}
static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                          cudaMemcpyKind kind, cudaStream_t)
{
    return cudaMemcpy(to, from, bytes, kind);
}
static inline cudaError_t cudaMemset(void *memory, int value, size_t bytes)
{
    if (bytes > 0)
        std::memset(memory, value, bytes);
    machine_fill(memory, bytes);
    return cudaSuccess;
}
static inline cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t)
{
    return cudaMemset(memory, value, bytes);
}

static inline cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    *stream = nullptr;
    return cudaSuccess;
}
static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    return cudaStreamCreate(stream);
}
static inline cudaError_t cudaStreamDestroy(cudaStream_t)
{
    return cudaSuccess;
}
static inline cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    return cudaSuccess;
}

/* A point in time. */
typedef double *cudaEvent_t;

static inline cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = new double(0);
    return cudaSuccess;
}
static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    return cudaEventCreate(event);
}
static inline cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}
static inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t)
{
    *event = machine_time();
    return cudaSuccess;
}
static inline cudaError_t cudaEventSynchronize(cudaEvent_t)
{
    return cudaSuccess;
}
static inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned)
{
    return cudaSuccess;
}
static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    *ms = (float)(1000 * (*to - *from));
    return cudaSuccess;
}

/* ---- Kernels close behind each other ----------------------------------------------------------- */

enum cudaLaunchAttributeID { cudaLaunchAttributeProgrammaticStreamSerialization };
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    struct {
        int programmaticStreamSerializationAllowed;
    } val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};
struct cudaFuncAttributes {
    int ptxVersion, binaryVersion;
};

static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *)
{
    *attributes = {90, 90};
    return cudaSuccess;
}
static inline void cudaGridDependencySynchronize()
{
    machine_await();
}
static inline void cudaTriggerProgrammaticLaunchCompletion()
{
}

template <class... TAKEN, class... GIVEN>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
                                             void (*kernel)(TAKEN...), const GIVEN &...given)
{
    host_launch<TAKEN...>{kernel, config->gridDim, config->blockDim,
                          config->numAttrs > 0}(given...);
    return cudaSuccess;
}

#endif
