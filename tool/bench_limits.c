#include "bench_limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"

enum { TRIES = 5, CHAINS = 12, ROUNDS = 1 << 20 };
static const size_t COPY_BYTES = (size_t)192 << 20; /* of all threads together */

/* ---- Arithmetic -------------------------------------------------------------------------------- */

/* CHAINS independent FMAs of `lanes` floats, over and over: enough of them to hide how long one takes. */
#define FMA_CHAINS(name, target_set, lanes)                                                        \
    target_set static float name(float factor)                                                     \
    {                                                                                              \
        typedef float wide __attribute__((vector_size(sizeof(float) * (lanes))));                  \
        wide sum[CHAINS], f = (wide){0} + factor;                                                  \
        for (int c = 0; c < CHAINS; c++)                                                           \
            sum[c] = (wide){0} + (float)c;                                                         \
        for (int k = 0; k < ROUNDS; k++)                                                           \
            for (int c = 0; c < CHAINS; c++)                                                       \
                sum[c] = sum[c] * f + f;                                                           \
        float all = 0;                                                                             \
        for (int c = 0; c < CHAINS; c++)                                                           \
            all += sum[c][0];                                                                      \
        return all;                                                                                \
    }

FMA_CHAINS(chains_portable, , 4)
#ifdef __x86_64__
FMA_CHAINS(chains_avx2, __attribute__((target("avx2,fma"))), 8)
FMA_CHAINS(chains_avx512, __attribute__((target("avx512f"))), 16)
#endif

typedef struct fma_code {
    float (*run)(float factor);
    int lanes;
} fma_code;

static fma_code widest_code(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f"))
        return (fma_code){chains_avx512, 16};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (fma_code){chains_avx2, 8};
#endif
    return (fma_code){chains_portable, 4};
}

static double measure_flops(int threads)
{
    fma_code code = widest_code();
    double best = INFINITY;
    volatile float kept = 0;
    for (int t = 0; t < TRIES; t++) {
        double begin = clock_seconds();
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int n = 0; n < threads; n++)
            kept = code.run(0.5f);
        best = fmin(best, clock_seconds() - begin);
    }
    (void)kept;
    return 2.0 * code.lanes * CHAINS * ROUNDS * threads / best;
}

/* ---- Memory ------------------------------------------------------------------------------------- */

static double measure_copy(int threads)
{
    char *from = malloc(COPY_BYTES), *to = malloc(COPY_BYTES);
    double best = INFINITY;
    size_t share = COPY_BYTES / (size_t)threads;
    for (int t = 0; from && to && t < TRIES + 1; t++) {
        double begin = clock_seconds();
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int n = 0; n < threads; n++) {
            size_t at = (size_t)n * share;
            if (t == 0) /* the first touch makes the pages */
                memset(from + at, n, share);
            memcpy(to + at, from + at, share);
        }
        if (t > 0)
            best = fmin(best, clock_seconds() - begin);
    }
    free(from);
    free(to);
    return 2 * (double)(share * (size_t)threads) / best;
}

bench_limits bench_limits_measure(int threads)
{
    return (bench_limits){.flops = measure_flops(threads), .copy_bytes = measure_copy(threads)};
}
