#include <stdlib.h>
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/solve_kernels.h"
#include "status.h"

typedef const cpu_kernels (*kernel_table)[3][2];

static const struct {
    const char *name;
    kernel_table kernels;
    const cpu_solve_kernels *solve[2]; /* [dimensions - 2][kernel] */
} sets[] = {
#ifdef FIRN_X86
    {"avx512", cpu_kernels_avx512, {cpu_solve_kernels_avx512_2d, cpu_solve_kernels_avx512_3d}},
    {"avx2", cpu_kernels_avx2, {cpu_solve_kernels_avx2_2d, cpu_solve_kernels_avx2_3d}},
#endif
    {"portable",
     cpu_kernels_portable,
     {cpu_solve_kernels_portable_2d, cpu_solve_kernels_portable_3d}},
};

static bool processor_has(const char *isa)
{
#ifdef FIRN_X86
    if (strcmp(isa, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
    if (strcmp(isa, "avx2") == 0)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#endif
    return strcmp(isa, "portable") == 0;
}

const char *cpu_isa(void)
{
    const char *wanted = getenv("FIRN_ISA");
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++)
        if (processor_has(sets[k].name) && (!wanted || strcmp(wanted, sets[k].name) == 0))
            return sets[k].name;
    return NULL;
}

const cpu_kernels *cpu_kernels_find(const firn_settings *settings)
{
    const char *isa = cpu_isa();
    for (size_t k = 0; isa && k < sizeof sets / sizeof *sets; k++)
        if (strcmp(isa, sets[k].name) == 0)
            return &sets[k].kernels[settings->kernel][settings->transfer][settings->dimensions - 2];
    fail(FIRN_USAGE, "FIRN_ISA=%s: this processor or build has no such instruction set",
         getenv("FIRN_ISA"));
    return NULL;
}

const cpu_solve_kernels *cpu_solve_kernels_find(const firn_settings *settings)
{
    const char *isa = cpu_isa();
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++)
        if (strcmp(isa, sets[k].name) == 0)
            return &sets[k].solve[settings->dimensions - 2][settings->kernel];
    return NULL;
}
