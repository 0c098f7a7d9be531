/*
 * Several lanes, as a vector of the GCC/clang extensions. See lane.h.
 *
 * Everything is right at any width on any processor. Where the width is exactly that of the
 * machine's registers, LANE_ISA(op) names its intrinsic and replaces what the compilers lower
 * badly.
 */
#ifndef FIRN_METHOD_LANE_VECTOR_H
#define FIRN_METHOD_LANE_VECTOR_H

/* Every function taking a vector is inlined, so no calling convention is at stake. (gcc still
 * remarks on lanes wider than the machine's registers, without a location; -Wno-psabi silences
 * that.) */
#pragma GCC diagnostic ignored "-Wpsabi"

#define REAL_BYTES (REAL_LANES * sizeof(real_scalar))
typedef real_scalar real __attribute__((vector_size(REAL_BYTES)));
typedef lane_int_scalar lane_int __attribute__((vector_size(REAL_BYTES)));
typedef lane_uint_scalar lane_uint __attribute__((vector_size(REAL_BYTES)));
typedef lane_int lane_mask; /* 0 or -1 in each lane */

#if defined(__SSE2__)
#include <immintrin.h>
#endif
#if defined(__AVX512F__) && !defined(REAL_DOUBLE) && REAL_LANES == 16
#define LANE_ISA(op) _mm512_##op##_ps
#define LANE_RSQRT_ESTIMATE _mm512_rsqrt14_ps
#define LANE_RSQRT_BITS 14
#define LANE_ANY(mask) _mm512_test_epi32_mask((__m512i)(mask), (__m512i)(mask))
#elif defined(__AVX512F__) && defined(REAL_DOUBLE) && REAL_LANES == 8
#define LANE_ISA(op) _mm512_##op##_pd
#define LANE_ANY(mask) _mm512_test_epi64_mask((__m512i)(mask), (__m512i)(mask))
#elif defined(__AVX__) && !defined(REAL_DOUBLE) && REAL_LANES == 8
#define LANE_ISA(op) _mm256_##op##_ps
#define LANE_ANY(mask) LANE_ISA(movemask)((real)(mask))
#define LANE_RSQRT_ESTIMATE _mm256_rsqrt_ps
#define LANE_RSQRT_BITS 11
#elif defined(__AVX__) && defined(REAL_DOUBLE) && REAL_LANES == 4
#define LANE_ISA(op) _mm256_##op##_pd
#define LANE_ANY(mask) LANE_ISA(movemask)((real)(mask))
#elif defined(__SSE2__) && !defined(REAL_DOUBLE) && REAL_LANES == 4
#define LANE_ISA(op) _mm_##op##_ps
#define LANE_ANY(mask) LANE_ISA(movemask)((real)(mask))
#define LANE_RSQRT_ESTIMATE _mm_rsqrt_ps
#define LANE_RSQRT_BITS 11
#endif

FN real real_of(real_scalar x)
{
    return x - (real){0};
}

FN real lane_select(lane_mask mask, real a, real b)
{
    return (real)((mask & (lane_int)a) | (~mask & (lane_int)b));
}

FN lane_mask lane_not(lane_mask mask)
{
    return ~mask;
}

FN int lane_any(lane_mask mask)
{
#ifdef LANE_ANY
    return LANE_ANY(mask) != 0;
#else
    lane_int_scalar any = 0;
    for (int i = 0; i < REAL_LANES; i++)
        any |= mask[i];
    return any != 0;
#endif
}

FN int lane_all(lane_mask mask)
{
    return !lane_any(~mask);
}

/* No alignment is asked of the addresses. */
FN real real_load(const real_scalar *from)
{
    real x;
    memcpy(&x, from, sizeof x);
    return x;
}

FN void real_store(real_scalar *to, real x)
{
    memcpy(to, &x, sizeof x);
}

FN real real_abs(real x)
{
    return (real)((lane_uint)x & ~(lane_uint)real_of(R(-0.0)));
}

FN real real_min(real a, real b)
{
#ifdef LANE_ISA
    return LANE_ISA(min)(a, b);
#else
    return lane_select(a < b, a, b);
#endif
}

FN real real_max(real a, real b)
{
#ifdef LANE_ISA
    return LANE_ISA(max)(a, b);
#else
    return lane_select(a > b, a, b);
#endif
}

FN real real_sqrt(real x)
{
#ifdef LANE_ISA
    return LANE_ISA(sqrt)(x);
#else
    for (int i = 0; i < REAL_LANES; i++)
        x[i] = sizeof(real_scalar) == 4 ? sqrtf((float)x[i]) : (real_scalar)sqrt(x[i]);
    return x;
#endif
}

/* 1/sqrt(x) for x in [REAL_TINY, infinity). */
FN real real_rsqrt(real x)
{
#ifdef LANE_RSQRT_ESTIMATE
    /* One step of y (1 - e)^(-1/2) from the estimate y, of second or third order: what the bits
     * need to leave nothing but rounding. */
    real y = LANE_RSQRT_ESTIMATE(x);
    real e = R(1) - (x * y) * y;
    real slope = LANE_RSQRT_BITS < 14 ? R(0.5) + R(0.375) * e : real_of(R(0.5));
    return y + (y * slope) * e;
#else
    return R(1) / real_sqrt(x);
#endif
}

/* Numbers of 2^(digits - 1) and above are whole; adding that number to smaller ones rounds them. */
#define REAL_WHOLE (R(1) / R(REAL_EPSILON))

FN real real_floor(real x)
{
#if defined(LANE_ISA) && defined(__SSE4_1__)
    return LANE_ISA(floor)(x);
#else
    real size = real_abs(x);
    real nearest = (size + REAL_WHOLE) - REAL_WHOLE;
    nearest = lane_select(x < R(0), -nearest, nearest);
    real down = lane_select(nearest > x, nearest - R(1), nearest);
    return lane_select(size < REAL_WHOLE, down, x);
#endif
}

/* 2^n for whole n in the range of normal exponents, given as the low bits of an integer. */
FN real real_exp2_of_int(lane_uint n)
{
    const int digits = sizeof(real_scalar) == 4 ? 23 : 52;
    const lane_uint_scalar bias = sizeof(real_scalar) == 4 ? 127 : 1023;
    return (real)((n + bias) << digits);
}

/*
 * exp(x) = 2^n exp(r), |r| <= ln(2)/2, exp(r) by its series. 2^n is applied in two factors, so
 * results fade through the subnormal numbers to 0 and rise to infinity as they should. The range is
 * cut where both ends are already reached; a NaN passes the cut and spoils the series, whatever n
 * becomes.
 */
FN real real_exp(real x)
{
#ifdef REAL_DOUBLE
    const double cut_low = -750, cut_high = 720;
    const double ln2_high = 0x1.62e42fefa0000p-1, ln2_low = 0x1.cf79abc9e3b3ap-40;
    const int terms = 13;
#else
    const float cut_low = -105, cut_high = 90;
    const float ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;
    const int terms = 7;
#endif
    x = real_min(real_of(cut_high), real_max(real_of(cut_low), x));
    /* Adding 1.5 * 2^(digits - 1) rounds, and leaves n in the low bits. */
    real shifted = x * R(1.4426950408889634) + R(1.5) * REAL_WHOLE;
    real n = shifted - R(1.5) * REAL_WHOLE;
    real r = (x - n * ln2_high) - n * ln2_low;
    /* 1 + r (1 + r/2 (1 + r/3 (...))) */
    real series = real_of(1);
    for (int k = terms; k > 1; k--)
        series = R(1) + (R(1) / R(k)) * r * series;
    series = R(1) + r * series;
    lane_int whole = (lane_int)shifted - (lane_int)real_of(R(1.5) * REAL_WHOLE);
    lane_int half = whole >> 1;
    return series * real_exp2_of_int((lane_uint)half) * real_exp2_of_int((lane_uint)(whole - half));
}

#endif
