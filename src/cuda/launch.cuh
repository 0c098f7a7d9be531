/*
 * Kernels close behind each other. From compute capability 9.0 on, the blocks of a kernel may come to the
 * processors while the kernel before it ends, and wait there: what lies between two kernels, some
 * microseconds, is gone (programmatic dependent launch).
 *
 * A kernel launched by launch_behind calls await_previous before it touches what others write. Until then it may
 * read what has not changed since the kernel before the last: that one has ended, or the last would not have let
 * this one come. A kernel that awaits has ended only after all those before it.
 */
#ifndef FIRN_CUDA_LAUNCH_CUH
#define FIRN_CUDA_LAUNCH_CUH

#include <cuda_runtime.h>

/* Let the next kernel come, as soon as all blocks of this one are there. */
static __device__ __forceinline__ void invite_next()
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/* Until everything before this kernel is done and can be seen. By all threads. */
static __device__ __forceinline__ void await_previous()
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
    invite_next();
}

/* Whether the code that runs here knows how to wait: not what was compiled for older GPUs. */
template <class KERNEL> static bool knows_to_wait(KERNEL kernel)
{
    cudaFuncAttributes found = {};
    return cudaFuncGetAttributes(&found, (const void *)kernel) == cudaSuccess &&
           found.ptxVersion >= 90 && found.binaryVersion >= 90;
}

/* Where it does not, as kernel<<<blocks, threads, 0, stream>>>(arguments...). */
template <class... TAKEN, class... GIVEN>
static void launch_behind(bool overlaps, void (*kernel)(TAKEN...), unsigned blocks,
                          unsigned threads, cudaStream_t stream, const GIVEN &...arguments)
{
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    const cudaLaunchConfig_t config = {dim3(blocks), dim3(threads), 0,
                                       stream,       &early,        overlaps ? 1u : 0u};
    cudaLaunchKernelEx(&config, kernel, arguments...);
}

#endif
