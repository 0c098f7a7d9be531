/*
 * Step 6 for both kernels, for one dimension (FIRN_DIM) and one instruction set (CPU_ISA); compiled once
 * for each.
 */
#include "cpu/solve_kernels.h"
#include "cpu/solve_pass.h"
#include "cpu/solve_rows.h"

#define PASS(name, body)                                                                           \
    static void name(const cpu_system *s, uint32_t block, cpu_scratch *scratch, float *v)          \
    {                                                                                              \
        body;                                                                                      \
    }

#define KERNELS(name, width, depth)                                                                \
    PASS(prepare_##name, v ? (void)solve_block(s, block, scratch, v, SOLVE_PREPARE, width, depth)  \
                           : prepare_block(s, block))                                              \
    PASS(apply_##name, solve_block(s, block, scratch, v, SOLVE_APPLY, width, depth))               \
    PASS(forces_##name, solve_block(s, block, scratch, v, SOLVE_FORCES, width, depth))             \
    PASS(blocks_##name, (void)v; blocks_block(s, block, scratch, width, depth))                    \
    static double energy_##name(const cpu_system *s, uint32_t block, cpu_scratch *scratch,         \
                                float *v)                                                          \
    {                                                                                              \
        return solve_block(s, block, scratch, v, SOLVE_ENERGY, width, depth);                      \
    }

#define TABLE(name)                                                                                \
    {                                                                                              \
        .tangent_bytes = sizeof(step06_particle), .prepare = prepare_##name,                       \
        .apply = apply_##name, .blocks = blocks_##name, .forces = forces_##name,                   \
        .energy = energy_##name, .mass = rows_mass, .residual = rows_residual,                     \
        .invert = rows_invert, .start = rows_start, .product = rows_product, .turn = rows_turn,    \
        .advance = rows_advance, .inertia = rows_inertia, .depart = rows_depart,                   \
        .gradient = rows_gradient, .slope = rows_slope, .kinetic = rows_kinetic,                   \
        .walk = rows_walk, .arrive = rows_arrive                                                   \
    }

KERNELS(cubic, 4, FIRN_DIM == 2 ? 1 : 4)
KERNELS(quadratic, 3, FIRN_DIM == 2 ? 1 : 3)

const cpu_solve_kernels CPU_SOLVE_KERNELS(CPU_ISA, FIRN_DIM)[2] = {
    [FIRN_CUBIC] = TABLE(cubic),
    [FIRN_QUADRATIC] = TABLE(quadratic),
};
