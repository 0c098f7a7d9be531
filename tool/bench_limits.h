/* What this machine can do at most, to hold the solver against: arithmetic and memory. */
#ifndef FIRN_TOOL_BENCH_LIMITS_H
#define FIRN_TOOL_BENCH_LIMITS_H

typedef struct bench_limits {
    double flops;      /* a second: float32, an FMA counts as two */
    double copy_bytes; /* a second, read and written bytes together, arrays that no cache holds */
} bench_limits;

/* The best of a few tries on so many threads. */
bench_limits bench_limits_measure(int threads);

#endif
