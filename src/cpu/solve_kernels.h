/* The instruction sets and dimensions that step 6 is compiled for, and the choice among them. */
#ifndef FIRN_CPU_SOLVE_KERNELS_H
#define FIRN_CPU_SOLVE_KERNELS_H

#include "cpu/solve.h"

#define CPU_SOLVE_KERNELS_PASTE(isa, dim) cpu_solve_kernels_##isa##_##dim##d
#define CPU_SOLVE_KERNELS(isa, dim) CPU_SOLVE_KERNELS_PASTE(isa, dim)

/* [kernel] */
extern const cpu_solve_kernels cpu_solve_kernels_portable_2d[2], cpu_solve_kernels_portable_3d[2];
#ifdef FIRN_X86
extern const cpu_solve_kernels cpu_solve_kernels_avx2_2d[2], cpu_solve_kernels_avx2_3d[2];
extern const cpu_solve_kernels cpu_solve_kernels_avx512_2d[2], cpu_solve_kernels_avx512_3d[2];
#endif

/* For the instruction set that cpu_isa names, which is to be had. */
const cpu_solve_kernels *cpu_solve_kernels_find(const firn_settings *settings);

#endif
