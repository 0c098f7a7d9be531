/* One variant: rows are gathered into lanes, computed side by side, and scattered again. */
#include "variant.h"

#include "every.h"

static real gather(const double *from, size_t stride)
{
    real_scalar lanes[REAL_LANES];
    for (int i = 0; i < REAL_LANES; i++)
        lanes[i] = R(from[i * stride]);
    return real_load(lanes);
}

static void scatter(real x, double *to, size_t stride)
{
    real_scalar lanes[REAL_LANES];
    real_store(lanes, x);
    for (int i = 0; i < REAL_LANES; i++)
        to[i * stride] = (double)lanes[i];
}

static void run_every(size_t rows, const double *in, double *out)
{
    for (size_t row = 0; row < rows; row += REAL_LANES) {
        real x[EVERY_IN], y[EVERY_OUT];
        for (int k = 0; k < EVERY_IN; k++)
            x[k] = gather(in + row * EVERY_IN + k, EVERY_IN);
        every_function(x, y);
        for (int k = 0; k < EVERY_OUT; k++)
            scatter(y[k], out + row * EVERY_OUT + k, EVERY_OUT);
    }
}

static void run_exp(size_t count, const double *x, double *y)
{
    for (size_t i = 0; i < count; i += REAL_LANES)
        scatter(real_exp(gather(x + i, 1)), y + i, 1);
}

static void run_rsqrt(size_t count, const double *x, double *y)
{
    for (size_t i = 0; i < count; i += REAL_LANES)
        scatter(real_rsqrt(gather(x + i, 1)), y + i, 1);
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

extern const variant VARIANT;
const variant VARIANT = {
    .name = TEXT(VARIANT),
    .lanes = REAL_LANES,
    .is_double = sizeof(real_scalar) == sizeof(double),
    .inputs = EVERY_IN,
    .outputs = EVERY_OUT,
    .every = run_every,
    .exp = run_exp,
    .rsqrt = run_rsqrt,
};
