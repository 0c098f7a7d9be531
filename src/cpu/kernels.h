/* The instruction sets the passes are compiled for, and the choice among them. */
#ifndef FIRN_CPU_KERNELS_H
#define FIRN_CPU_KERNELS_H

#include "cpu/cpu.h"

#define CPU_KERNELS_PASTE(isa) cpu_kernels_##isa
#define CPU_KERNELS_OF(isa) CPU_KERNELS_PASTE(isa)

/* [kernel][transfer][dimensions - 2] */
extern const cpu_kernels cpu_kernels_portable[2][3][2];
#ifdef FIRN_X86
extern const cpu_kernels cpu_kernels_avx2[2][3][2];
extern const cpu_kernels cpu_kernels_avx512[2][3][2];
#endif

/* The widest instruction set this processor has, or the one that the environment variable FIRN_ISA names
 * (avx512, avx2, portable); NULL when that is not to be had. */
const char *cpu_isa(void);

/* Its passes for a simulation; NULL and a message likewise. */
const cpu_kernels *cpu_kernels_find(const firn_settings *settings);

#endif
