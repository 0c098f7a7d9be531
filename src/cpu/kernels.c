/*
 * The passes over blocks for every kernel, transfer and dimension, for one instruction set. Compiled
 * once per instruction set; CPU_ISA names it.
 */
#include "cpu/kernels.h"
#include "cpu/g2p.h"
#include "cpu/grid_pass.h"
#include "cpu/p2g.h"
#include "method/step02_volume.h"

/* Step 2: V0 = m / rho from the masses in field 0. Once a run, so one particle at a time. */
FN void volumes_block(const cpu_pass *pass, uint32_t index, cpu_scratch *scratch, cpu_cold *cold,
                      int width, int depth)
{
    const cpu_block *block = &pass->grid->blocks[index];
    double cell_volume = pass->cell_size * pass->cell_size * (depth == 1 ? 1 : pass->cell_size);
    tile_move(block, pass->grid->field[0], scratch->tile[0], depth, false);
    uint32_t at = block->first;
    for (int cell = 0; cell < CPU_CELLS; cell++)
        for (uint32_t n = 0; n < block->cell_count[cell]; n++, at++) {
            uint32_t slot = pass->order[at];
            stencil_rows at_particle = stencil_rows_of(real_load(pass->hot[slot].x), width, false);
            const float *w = at_particle.w;
            double mass = 0;
            for (int c = 0; c < depth; c++)
                for (int b = 0; b < width; b++)
                    for (int a = 0; a < width; a++)
                        mass += (double)w[a] * w[4 + b] * (depth == 1 ? 1 : w[8 + c]) *
                                tile_line(scratch->tile[0], cell, b, c)[4 * a];
            cold[slot].V0 = (float)(cold[slot].m * cell_volume / mass);
            cpu_know_wave(&cold[slot]);
        }
}

static void limits_range(const cpu_pass *pass, size_t first, size_t count, cpu_outcome *outcome)
{
    for (size_t done = 0; done < count; done += 16) {
        uint32_t slots[16] = {0};
        int some = count - done < 16 ? (int)(count - done) : 16;
        for (int k = 0; k < some; k++)
            slots[k] = (uint32_t)(first + done) + (uint32_t)k;
        particles p = particles_load(pass, slots, some, false);
        limits_of(&p, lanes_below(some), outcome);
    }
}

#define TRANSFER(name, width, depth, transfer)                                                     \
    static void p2g_##name(const cpu_pass *pass, uint32_t block, uint32_t next,                    \
                           cpu_scratch *scratch)                                                   \
    {                                                                                              \
        p2g_block(pass, block, next, scratch, width, depth, transfer);                             \
    }                                                                                              \
    static void g2p_##name(const cpu_pass *pass, uint32_t block, cpu_scratch *scratch,             \
                           cpu_outcome *outcome)                                                   \
    {                                                                                              \
        g2p_block(pass, block, scratch, outcome, width, depth, transfer);                          \
    }

#define VOLUMES(name, width, depth)                                                                \
    static void volumes_##name(const cpu_pass *pass, uint32_t block, cpu_scratch *scratch,         \
                               cpu_cold *cold)                                                     \
    {                                                                                              \
        volumes_block(pass, block, scratch, cold, width, depth);                                   \
    }

#define KERNEL(kernel, dim, width, depth)                                                          \
    TRANSFER(kernel##_flip_##dim, width, depth, FIRN_FLIP)                                         \
    TRANSFER(kernel##_apic_##dim, width, depth, FIRN_APIC)                                         \
    TRANSFER(kernel##_mls_##dim, width, depth, FIRN_MLS)                                           \
    VOLUMES(kernel##_##dim, width, depth)

#define GRID(name, depth, affine)                                                                  \
    static void grid_##name(const cpu_pass *pass, uint32_t block, cpu_outcome *outcome)            \
    {                                                                                              \
        grid_block_pass(pass, block, outcome, depth, affine);                                      \
    }                                                                                              \
    static void solved_##name(const cpu_pass *pass, uint32_t block, cpu_outcome *outcome)          \
    {                                                                                              \
        solved_block_pass(pass, block, outcome, depth, affine);                                    \
    }

#define TABLE(kernel, transfer, nodes, dim)                                                        \
    {                                                                                              \
        .scratch_bytes = sizeof(cpu_scratch), .p2g = p2g_##kernel##_##transfer##_##dim,            \
        .g2p = g2p_##kernel##_##transfer##_##dim, .volumes = volumes_##kernel##_##dim,             \
        .grid = grid_##nodes##_##dim, .solved = solved_##nodes##_##dim, .limits = limits_range     \
    }

#define TABLES(kernel)                                                                             \
    {                                                                                              \
        [FIRN_FLIP] = {TABLE(kernel, flip, flip, 2d), TABLE(kernel, flip, flip, 3d)},              \
        [FIRN_APIC] = {TABLE(kernel, apic, affine, 2d), TABLE(kernel, apic, affine, 3d)},          \
        [FIRN_MLS] = {TABLE(kernel, mls, affine, 2d), TABLE(kernel, mls, affine, 3d)},             \
    }

KERNEL(cubic, 2d, 4, 1)
KERNEL(cubic, 3d, 4, 4)
KERNEL(quadratic, 2d, 3, 1)
KERNEL(quadratic, 3d, 3, 3)
GRID(flip_2d, 1, false)
GRID(flip_3d, 4, false)
GRID(affine_2d, 1, true)
GRID(affine_3d, 4, true)

const cpu_kernels CPU_KERNELS_OF(CPU_ISA)[2][3][2] = {
    [FIRN_CUBIC] = TABLES(cubic),
    [FIRN_QUADRATIC] = TABLES(quadratic),
};
