/* Sixteen particles at a time, from their records in memory to lanes and back. */
#ifndef FIRN_CPU_RECORDS_H
#define FIRN_CPU_RECORDS_H

#include "cpu/cpu.h"
#include "cpu/wide.h"
#include "method/snow_law.h"
#include "method/stress_series.h"
#include "method/svd.h"

typedef struct particles {
    vec x, v; /* x: offset in cells */
    mat F_E;
    real J_P;
    real xi, theta_c, theta_s, log_wave2;
    real m, V0, mu0, lambda0; /* when loaded whole */
} particles;

/* Two halves of eight fields each become eight registers of sixteen lanes. */
FN void cold_load(const cpu_cold *cold, const uint32_t slot[16], real field[8])
{
    real r[8];
    UNROLL
    for (int k = 0; k < 8; k++) {
        eight low, high;
        memcpy(&low, &cold[slot[k]], sizeof low);
        memcpy(&high, &cold[slot[k + 8]], sizeof high);
        r[k] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14,
                                       15);
    }
    /* r[k] is now (a0-3 of k, a0-3 of k+8, a4-7 of k, a4-7 of k+8). */
    real t[8];
    UNROLL
    for (int k = 0; k < 8; k += 4) {
        real a = WIDE_LOW(r[k], r[k + 1], 1), b = WIDE_HIGH(r[k], r[k + 1], 1);
        real c = WIDE_LOW(r[k + 2], r[k + 3], 1), d = WIDE_HIGH(r[k + 2], r[k + 3], 1);
        t[k] = WIDE_LOW(a, c, 2);
        t[k + 1] = WIDE_HIGH(a, c, 2);
        t[k + 2] = WIDE_LOW(b, d, 2);
        t[k + 3] = WIDE_HIGH(b, d, 2);
    }
    /* t[i]: (field i of 0-3, of 8-11, field i + 4 of 0-3, of 8-11); t[i + 4] the same of 4-7, 12-15. */
    UNROLL
    for (int i = 0; i < 4; i++) {
        field[i] = __builtin_shufflevector(t[i], t[i + 4], 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7,
                                           20, 21, 22, 23);
        field[i + 4] = __builtin_shufflevector(t[i], t[i + 4], 8, 9, 10, 11, 24, 25, 26, 27, 12, 13,
                                               14, 15, 28, 29, 30, 31);
    }
}

/* The first four fields only. */
FN void cold_load_first(const cpu_cold *cold, const uint32_t slot[16], real field[8])
{
    real r[4];
    UNROLL
    for (int k = 0; k < 4; k++) {
        four a, b, c, d;
        memcpy(&a, &cold[slot[k]], sizeof a);
        memcpy(&b, &cold[slot[k + 4]], sizeof b);
        memcpy(&c, &cold[slot[k + 8]], sizeof c);
        memcpy(&d, &cold[slot[k + 12]], sizeof d);
        eight ab = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
        eight cd = __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7);
        r[k] =
            __builtin_shufflevector(ab, cd, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    }
    /* r[k]: the four fields of k, k + 4, k + 8, k + 12, a quarter each. */
    real a = WIDE_LOW(r[0], r[1], 1), b = WIDE_HIGH(r[0], r[1], 1);
    real c = WIDE_LOW(r[2], r[3], 1), d = WIDE_HIGH(r[2], r[3], 1);
    field[0] = WIDE_LOW(a, c, 2);
    field[1] = WIDE_HIGH(a, c, 2);
    field[2] = WIDE_LOW(b, d, 2);
    field[3] = WIDE_HIGH(b, d, 2);
}

/* Ask for the records of a particle of a batch to come: memory is nearly in the order of passes, but not so
 * nearly that the processor guesses them. This is all but the hot one. */
FN void rest_prefetch(const cpu_pass *pass, uint32_t slot, bool affine)
{
    __builtin_prefetch(&pass->cold[slot]);
    if (affine) { /* a record of 48 bytes may lie in two cache lines */
        __builtin_prefetch(&pass->affine[slot].column[0][0]);
        __builtin_prefetch(&pass->affine[slot].column[2][3]);
    }
}

FN void particle_prefetch(const cpu_pass *pass, uint32_t slot, bool affine)
{
    __builtin_prefetch(&pass->hot[slot]);
    rest_prefetch(pass, slot, affine);
}

/* The memory slots of up to 16 particles; missing ones repeat the first. */
FN void slots_of(const uint32_t *order, int count, uint32_t slot[16])
{
    for (int k = 0; k < 16; k++)
        slot[k] = order[k < count ? k : 0];
}

FN particles particles_load(const cpu_pass *pass, const uint32_t *order, int count, bool whole)
{
    uint32_t slot[16];
    slots_of(order, count, slot);
    real hot[16], cold[8];
    UNROLL
    for (int k = 0; k < 16; k++)
        memcpy(&hot[k], &pass->hot[slot[k]], sizeof hot[k]);
    transpose(hot);
    particles p; /* field by field: gcc would fill a whole one with zeros in memory first */
    if (whole) {
        cold_load(pass->cold, slot, cold);
        p.m = cold[4];
        p.V0 = cold[5];
        p.mu0 = cold[6];
        p.lambda0 = cold[7];
    } else {
        cold_load_first(pass->cold, slot, cold);
        p.m = p.V0 = p.mu0 = p.lambda0 = real_of(0);
    }
    p.J_P = hot[15];
    p.xi = cold[0];
    p.theta_c = cold[1];
    p.theta_s = cold[2];
    p.log_wave2 = cold[3];
    for (int i = 0; i < FIRN_DIM; i++) {
        p.x.e[i] = hot[i];
        p.v.e[i] = hot[3 + i];
        for (int j = 0; j < FIRN_DIM; j++)
            p.F_E.m[i][j] = hot[6 + 3 * i + j];
    }
    return p;
}

/* B of up to 16 particles: B[4 k + 1 + i] is B_ik. */
FN void affine_load(const cpu_pass *pass, const uint32_t *order, int count, real B[16])
{
    uint32_t slot[16];
    slots_of(order, count, slot);
    UNROLL
    for (int k = 0; k < 16; k++) /* and what follows in memory */
        B[k] = real_load(&pass->affine[slot[k]].column[0][0]);
    transpose(B);
}

FN void affine_store(const cpu_pass *pass, const uint32_t *order, int count, real B[16])
{
    transpose(B);
    UNROLL
    for (int k = 0; k < 16; k++) {
        if (k >= count)
            continue;
        eight first = __builtin_shufflevector(B[k], B[k], 0, 1, 2, 3, 4, 5, 6, 7);
        four last = __builtin_shufflevector(B[k], B[k], 8, 9, 10, 11);
        float *to = &pass->affine[order[k]].column[0][0];
        memcpy(to, &first, sizeof first);
        memcpy(to + 8, &last, sizeof last);
    }
}

#if FIRN_DIM == 3

FN void particles_store_hot(const cpu_pass *pass, const uint32_t *order, int count,
                            const particles *p)
{
    real hot[16];
    for (int i = 0; i < 3; i++) {
        hot[i] = p->x.e[i];
        hot[3 + i] = p->v.e[i];
        for (int j = 0; j < 3; j++)
            hot[6 + 3 * i + j] = p->F_E.m[i][j];
    }
    hot[15] = p->J_P;
    transpose(hot);
    if (count >= 16) {
        UNROLL
        for (int k = 0; k < 16; k++)
            memcpy(&pass->hot[order[k]], &hot[k], sizeof hot[k]);
    } else {
        for (int k = 0; k < count; k++)
            memcpy(&pass->hot[order[k]], &hot[k], sizeof hot[k]);
    }
}

/* P F_E^T: by the series where F_E is within its reach, by the SVD elsewhere. Which one depends on the
 * lane's own F_E alone. */
FN mat particles_stress(const cpu_pass *pass, const particles *p)
{
    lame hard = snow_harden(p->mu0, p->lambda0, p->xi, p->J_P);
    mat E = strain_of(p->F_E);
    real dilation = strain_dilation(p->F_E);
    lane_mask near = stress_series_holds(&pass->series, strain_size(E), dilation);
    mat t = stress_series(E, dilation, hard, &pass->series);
    if (__builtin_expect(!lane_all(near), 0)) {
        svd s = svd_of(p->F_E);
        mat exact = snow_kirchhoff(s.U, s.sigma, hard);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                t.m[i][j] = lane_select(near, t.m[i][j], exact.m[i][j]);
    }
    return t;
}

#endif

#endif
