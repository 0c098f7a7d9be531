/*
 * Step 6 of the backend `cpu`: equation (9) by conjugate residuals in float, and Newton's method beyond
 * it. src/ref/solve.c is the readable twin; the algebra is in docs/method.md.
 *
 * Vectors are fields of the grid: a node's (0, x, y, z), and 0 where nothing is. What does not change
 * between iterations is kept in the order of the particle lists, 16 particles side by side, so that an
 * iteration reads it from front to back and turns nothing into lanes but what it gathered.
 *
 * The unknown is v - v*: it starts from 0 and keeps all its digits where v* is large. Dot products are
 * summed in double, in each block and then over the blocks in the order of their coordinates, so they
 * depend neither on threads nor on which block was made first.
 */
#ifndef FIRN_CPU_SOLVE_H
#define FIRN_CPU_SOLVE_H

#include "cpu/cpu.h"

enum {
    SOLVE_X,        /* the unknown v - v*, or Newton's direction */
    SOLVE_R,        /* the residual Q (b - A v) */
    SOLVE_P,        /* direction */
    SOLVE_AP,       /* A p */
    SOLVE_AZ,       /* A z */
    SOLVE_H,        /* sums over particles: H z, forces, or diagonal blocks; 0 between passes */
    SOLVE_BOND,     /* what bodies leave free: Q */
    SOLVE_Z,        /* preconditioned residual; R without a preconditioner */
    SOLVE_DIAGONAL, /* of the inverted blocks: (-, xx, yy, zz) */
    SOLVE_BESIDE,   /* and beside it: (-, yz, xz, xy) */
    SOLVE_V,        /* Newton's velocities */
    SOLVE_U,        /* where inertia, gravity and (1 - beta) of the old forces lead */
    SOLVE_VECTORS
};

/* The system as passes over blocks see it; borrowed. */
typedef struct cpu_system {
    const cpu_pass *pass;
    cpu_nodes nodes;
    float *vector[SOLVE_VECTORS];
    const uint32_t *first_group; /* [block]: of its particles, 16 a group, in what follows */
    float (*place)[3][16];       /* offsets of particles in their cells */
    void *tangents;              /* a step06_particle for each group, times 1/h^2 */
    float scale;                 /* beta dt^2 */
    float alpha, beta;           /* of the iteration, for passes over nodes */
    bool mls;                    /* gradients are those of the fit */
    bool positive;               /* clamp H */
    bool preconditioned, diagonal;
} cpu_system;

/* Passes over the nodes of one block; the sum that they return is <., .> of the mass inner product. */
typedef double cpu_row_pass(const cpu_system *s, uint32_t block);

/* Passes over the particles of one block, for some grid vector v; they add to nodes of the block and its
 * upper neighbours. */
typedef void cpu_particle_pass(const cpu_system *s, uint32_t block, cpu_scratch *scratch, float *v);

/* For one kernel, dimension and instruction set. */
typedef struct cpu_solve_kernels {
    size_t tangent_bytes;
    cpu_particle_pass *prepare; // H of the particles at F_E, and their places; or H at F(v)
    cpu_particle_pass *apply;   // SOLVE_H += H v
    cpu_particle_pass *blocks;  // SOLVE_DIAGONAL and SOLVE_BESIDE += H_ii; v is not used
    cpu_particle_pass *forces;  // SOLVE_H += f(F(v))
    /* The sum of V0 Psi(F(v)). */
    double (*energy)(const cpu_system *s, uint32_t block, cpu_scratch *scratch, float *v);
    cpu_row_pass *mass;     // sum m_i
    cpu_row_pass *residual; // r <- -Q beta dt^2 M^-1 H v*, <r, r>
    cpu_row_pass *invert;   // the preconditioner from diagonal blocks
    cpu_row_pass *start;    // x, p, Ap <- 0, z <- P^-1 r
    cpu_row_pass *product;  // Az <- Q (z + beta dt^2 M^-1 H z), <z, Az>
    cpu_row_pass *turn;     // p <- z + beta p, Ap <- Az + beta Ap, <Ap, P^-1 Ap>
    cpu_row_pass *advance;  // x <- x + alpha p, r <- r - alpha Ap, z <- P^-1 r, <r, r>
    cpu_row_pass *inertia;  // u <- v* - beta dt M^-1 f(F_E), before bodies
    cpu_row_pass *depart;   // v <- v* - Q v*, x <- v* + x - v
    cpu_row_pass *gradient; // r <- Q (u - v + beta dt M^-1 f(F(v))), <r, r>
    cpu_row_pass *slope;    // <r, x>
    cpu_row_pass *kinetic;  // <v - u, v - u> / 2
    cpu_row_pass *walk;     // v <- v + alpha x
    cpu_row_pass *arrive;   // x <- v - v*
} cpu_solve_kernels;

typedef struct cpu_solver cpu_solver;

void cpu_solver_free(cpu_solver **solver);

/* Room for a solve on the grid as it is, and what the grid pass is to note. */
firn_status cpu_solver_prepare(backend *s);

/* From v* to the change in `nodes`. FIRN_BLOWUP when it does not converge. */
firn_status cpu_solve(backend *s, const step_plan *plan, step_report *report);

/* Bytes a particle and a block of nodes, at most. */
double cpu_solver_memory(const firn_settings *settings, size_t particles, size_t active_blocks);

#endif
