/*
 * Energies and stresses at F(v) = (I + dt grad v) F_E in double, for Newton's method: its line search
 * compares energies that agree in all but their last digits.
 *
 * Sixteen particles at a time; values cross as floats, one array of 16 for each entry of a matrix.
 */
#ifndef FIRN_CPU_NEWTON_H
#define FIRN_CPU_NEWTON_H

typedef struct newton_input {
    float F_E[FIRN_DIM * FIRN_DIM][16], grad[FIRN_DIM * FIRN_DIM][16]; /* row major */
    float mu[16], lambda[16];                                          /* hardened, times V0 */
    double step; /* dt by the length that `grad` is per */
} newton_input;

#define CPU_NEWTON_PASTE(what, isa, dim) cpu_newton_##what##_##isa##_##dim##d
#define CPU_NEWTON_NAME(what, isa, dim) CPU_NEWTON_PASTE(what, isa, dim)
#define CPU_NEWTON(what) CPU_NEWTON_NAME(what, CPU_ISA, FIRN_DIM)

/* V0 Psi(F(v)) */
void CPU_NEWTON(energy)(const newton_input *in, double energy[16]);

/* scale V0 P(F(v)) F_E^T */
void CPU_NEWTON(stress)(const newton_input *in, double scale, float T[FIRN_DIM * FIRN_DIM][16]);

#endif
