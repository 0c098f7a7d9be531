/*
 * Functions that every processor runs: one source for C and for CUDA kernels, in headers.
 */
#ifndef FIRN_SRC_EVERYWHERE_H
#define FIRN_SRC_EVERYWHERE_H

#ifdef __CUDACC__
#define EVERYWHERE static inline __host__ __device__
#else
#define EVERYWHERE static inline
#endif

#endif
