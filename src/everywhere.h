/*
 * Functions that every processor runs: one source for C and for CUDA kernels, in headers. Those kept
 * apart are large and seldom called: within a kernel they would take registers from all the rest.
 */
#ifndef FIRN_SRC_EVERYWHERE_H
#define FIRN_SRC_EVERYWHERE_H

#ifdef __CUDACC__
#define EVERYWHERE static inline __host__ __device__
#define EVERYWHERE_APART static __noinline__ __host__ __device__
#else
#define EVERYWHERE static inline
#define EVERYWHERE_APART static inline
#endif

#endif
