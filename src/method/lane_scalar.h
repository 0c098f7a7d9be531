/* One lane: libm on the processor, the device functions of the same names in CUDA. See lane.h. */
#ifndef FIRN_METHOD_LANE_SCALAR_H
#define FIRN_METHOD_LANE_SCALAR_H

typedef real_scalar real;
typedef int lane_mask;
typedef lane_int_scalar lane_int;

#ifdef REAL_DOUBLE
#define REAL_MATH(name) name
#else
#define REAL_MATH(name) name##f
#endif

FN real real_of(real_scalar x)
{
    return x;
}

FN real lane_select(lane_mask mask, real a, real b)
{
    return mask ? a : b;
}

FN lane_mask lane_not(lane_mask mask)
{
    return !mask;
}

FN int lane_any(lane_mask mask)
{
    return mask != 0;
}

FN int lane_all(lane_mask mask)
{
    return mask != 0;
}

FN real real_load(const real_scalar *from)
{
    return *from;
}

FN void real_store(real_scalar *to, real x)
{
    *to = x;
}

FN real real_min(real a, real b)
{
    return a < b ? a : b;
}

FN real real_max(real a, real b)
{
    return a > b ? a : b;
}

FN real real_abs(real x)
{
    return REAL_MATH(fabs)(x);
}

FN real real_sqrt(real x)
{
    return REAL_MATH(sqrt)(x);
}

FN real real_rsqrt(real x)
{
#ifdef __CUDA_ARCH__
    return REAL_MATH(rsqrt)(x);
#else
    return R(1) / REAL_MATH(sqrt)(x);
#endif
}

FN real real_floor(real x)
{
    return REAL_MATH(floor)(x);
}

FN real real_exp(real x)
{
    return REAL_MATH(exp)(x);
}

#endif
