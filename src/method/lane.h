/*
 * The number the method computes with. A translation unit chooses it before including anything
 * here:
 *
 *     REAL_LANES   1 (default), 4, 8 or 16 particles side by side
 *     REAL_DOUBLE  defined: double; not defined: float
 *
 * `real` is then a scalar or a vector of the GCC/clang vector extensions, and everything built on
 * it is written once: + - * / and comparisons work as they are, the rest is below. Comparisons give
 * a lane_mask; there are no branches on values, only lane_select. CUDA compiles the scalar case.
 *
 * NaN: real_min and real_max return their second argument when either is NaN, at every width, so
 * real_clamp lets a NaN through.
 *
 * Does NOT do: two number types in one translation unit; the same last bit on every instruction set
 * (real_rsqrt and real_exp of lanes are within 2 ulp of the scalar ones, the others are exact).
 */
#ifndef FIRN_METHOD_LANE_H
#define FIRN_METHOD_LANE_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef REAL_LANES
#define REAL_LANES 1
#endif

/* Inlined without exception, so that lanes stay in registers; but not under a debugger or
 * AddressSanitizer, where it would only make compilers slow. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define LANE_SANITIZED
#endif
#endif
#if defined(__CUDACC__)
#define FN static __host__ __device__ __forceinline__
#elif defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(LANE_SANITIZED)
#define FN static inline __attribute__((always_inline))
#else
#define FN static inline
#endif

#ifdef REAL_DOUBLE
typedef double real_scalar;
typedef int64_t lane_int_scalar;
typedef uint64_t lane_uint_scalar;
#define REAL_EPSILON DBL_EPSILON
#define REAL_TINY DBL_MIN /* the smallest number with all its digits */
#else
typedef float real_scalar;
typedef int32_t lane_int_scalar;
typedef uint32_t lane_uint_scalar;
#define REAL_EPSILON FLT_EPSILON
#define REAL_TINY FLT_MIN
#endif

/* A constant, as in R(0.5) * x. */
#define R(x) ((real_scalar)(x))

#if REAL_LANES == 1
#include "method/lane_scalar.h"
#else
#include "method/lane_vector.h"
#endif

/* x within [low, high]; NaN stays NaN. */
FN real real_clamp(real x, real low, real high)
{
    return real_min(high, real_max(low, x));
}

#endif
