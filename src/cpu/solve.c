/* The order of the passes of step 6. Each line of algebra is one pass over the blocks. */
#include "cpu/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/solve_kernels.h"
#include "cpu/state.h"
#include "method/solve_control.h"
#include "status.h"

/* A block of the grid with nodes that have mass. */
typedef struct summand {
    int32_t at[3];
    uint32_t block;
} summand;

struct cpu_solver {
    cpu_system system;
    const cpu_solve_kernels *kernels;
    size_t block_capacity, group_capacity;
    uint32_t *first_group;
    summand *summands; /* in the order of coordinates: that of sums */
    size_t summand_count;
    double *sums; /* [block] */
    int iterations, most;
    /* Of the pass at work. */
    float *v;
    cpu_row_pass *rows;
    cpu_particle_pass *over_particles;
};

/* ---- Memory ------------------------------------------------------------------------------------- */

static void free_fields(cpu_solver *o)
{
    cpu_system *s = &o->system;
    if (!s->preconditioned)
        s->vector[SOLVE_Z] = NULL; /* it was R */
    for (int k = 0; k < SOLVE_VECTORS; k++) {
        free(s->vector[k]);
        s->vector[k] = NULL;
    }
    free(s->nodes.m);
    free(s->nodes.active);
    free(o->first_group);
    free(o->summands);
    free(o->sums);
    s->nodes = (cpu_nodes){0};
    o->first_group = NULL;
    o->summands = NULL;
    o->sums = NULL;
    o->block_capacity = 0;
}

void cpu_solver_free(cpu_solver **solver)
{
    cpu_solver *o = *solver;
    if (!o)
        return;
    free_fields(o);
    free(o->system.place);
    free(o->system.tangents);
    free(o);
    *solver = NULL;
}

/* The vectors that these settings ask for. */
static bool is_wanted(const firn_settings *settings, int vector)
{
    bool preconditioned = settings->preconditioner != FIRN_NO_PRECONDITIONER;
    switch (vector) {
    case SOLVE_Z:
    case SOLVE_DIAGONAL:
        return preconditioned;
    case SOLVE_BESIDE:
        return settings->preconditioner == FIRN_BLOCK;
    case SOLVE_V:
    case SOLVE_U:
        return settings->newton_iterations > 1;
    default:
        return true;
    }
}

/* Fields of the grid, all 0. */
static bool make_fields(cpu_solver *o, const firn_settings *settings, size_t blocks)
{
    cpu_system *s = &o->system;
    const size_t bytes = sizeof(float[CPU_BLOCK_FLOATS]);
    free_fields(o);
    bool complete = true;
    for (int k = 0; k < SOLVE_VECTORS; k++)
        if (is_wanted(settings, k)) {
            s->vector[k] = cpu_allocate(blocks, bytes);
            complete &= s->vector[k] != NULL;
            if (s->vector[k])
                memset(s->vector[k], 0, blocks * bytes);
        }
    if (!s->preconditioned)
        s->vector[SOLVE_Z] = s->vector[SOLVE_R];
    s->nodes.m = cpu_allocate(blocks, sizeof(float[CPU_CELLS]));
    s->nodes.active = calloc(blocks, sizeof *s->nodes.active);
    o->first_group = malloc(blocks * sizeof *o->first_group);
    o->summands = malloc(blocks * sizeof *o->summands);
    o->sums = malloc(blocks * sizeof *o->sums);
    if (!complete || !s->nodes.m || !s->nodes.active || !o->first_group || !o->summands || !o->sums)
        return false;
    s->first_group = o->first_group;
    s->nodes.bond = s->vector[SOLVE_BOND];
    s->nodes.star = s->vector[SOLVE_U];
    s->nodes.change = s->vector[SOLVE_X];
    o->block_capacity = blocks;
    return true;
}

/* Room for the places and tangents of so many groups. */
static bool make_groups(cpu_solver *o, size_t groups)
{
    cpu_system *s = &o->system;
    free(s->place);
    free(s->tangents);
    s->place = cpu_allocate(groups, sizeof *s->place);
    s->tangents = cpu_allocate(groups, o->kernels->tangent_bytes);
    bool complete = s->place && s->tangents;
    o->group_capacity = complete ? groups : 0;
    return complete;
}

/* Particles of a block, by sixteens. */
static uint32_t groups_of(const cpu_block *block)
{
    return (block->count + 15) / 16;
}

static cpu_solver *make_solver(const firn_settings *settings)
{
    cpu_solver *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->kernels = cpu_solve_kernels_find(settings);
    o->system.mls = settings->transfer == FIRN_MLS;
    o->system.preconditioned = settings->preconditioner != FIRN_NO_PRECONDITIONER;
    o->system.diagonal = settings->preconditioner == FIRN_DIAGONAL;
    return o;
}

firn_status cpu_solver_prepare(backend *b)
{
    if (!b->solver && !(b->solver = make_solver(b->settings)))
        return fail(FIRN_NO_MEMORY, "out of memory for the solver");
    cpu_solver *o = b->solver;
    size_t blocks = b->grid.count, groups = 0;
    for (size_t k = 0; k < blocks; k++)
        groups += groups_of(&b->grid.blocks[k]);
    bool complete =
        (blocks <= o->block_capacity || make_fields(o, b->settings, blocks + blocks / 4)) &&
        (groups <= o->group_capacity || make_groups(o, groups + groups / 4));
    if (!complete)
        return fail(FIRN_NO_MEMORY, "out of memory to solve for %zu blocks of nodes", blocks);
    uint32_t first = 0;
    for (size_t k = 0; k < blocks; k++) {
        o->first_group[k] = first;
        first += groups_of(&b->grid.blocks[k]);
    }
    o->system.pass = &b->pass;
    b->pass.nodes = &o->system.nodes;
    return FIRN_OK;
}

double cpu_solver_memory(const firn_settings *settings, size_t particles, size_t active_blocks)
{
    double vectors = 0;
    for (int k = 0; k < SOLVE_VECTORS; k++)
        vectors += is_wanted(settings, k);
    double block = vectors * sizeof(float[CPU_BLOCK_FLOATS]) + sizeof(float[CPU_CELLS]) +
                   sizeof(bool) + sizeof(uint32_t) + sizeof(summand) + sizeof(double);
    double group = sizeof(float[3][16]) + (double)cpu_solve_kernels_find(settings)->tangent_bytes;
    return group / 16 * (1.25 * (double)particles + 7.5 * (double)active_blocks) +
           1.25 * block * (double)active_blocks;
}

/* ---- Passes ------------------------------------------------------------------------------------- */

static void particle_blocks(void *context, int thread, size_t begin, size_t end)
{
    backend *b = context;
    const cpu_solver *o = b->solver;
    for (size_t k = begin; k < end; k++)
        o->over_particles(&o->system, b->colour[k], b->scratch[thread], o->v);
}

/* A pass that adds to nodes: colour by colour, so that no two blocks at work share one. */
static void scatter(backend *b, cpu_particle_pass *pass, float *v)
{
    b->solver->over_particles = pass;
    b->solver->v = v;
    for (int c = 0; c < 8; c++) {
        b->colour = b->grid.colour[c];
        team_for(b->threads, b->grid.colour_count[c], 4, particle_blocks, b);
    }
}

static void row_blocks(void *context, int thread, size_t begin, size_t end)
{
    backend *b = context;
    cpu_solver *o = b->solver;
    (void)thread;
    for (size_t k = begin; k < end; k++)
        o->sums[k] = o->system.nodes.active[k] ? o->rows(&o->system, (uint32_t)k) : 0;
}

static double total(const cpu_solver *o)
{
    double sum = 0;
    for (size_t k = 0; k < o->summand_count; k++)
        sum += o->sums[o->summands[k].block];
    return sum;
}

/* A pass over nodes, and its sum over all blocks. */
static double rows(backend *b, cpu_row_pass *pass)
{
    b->solver->rows = pass;
    team_for(b->threads, b->grid.count, 16, row_blocks, b);
    return total(b->solver);
}

/* Whether the particles of a block are part of the system. */
static bool is_in_system(const backend *b, size_t block)
{
    const cpu_block *k = &b->grid.blocks[block];
    return k->count > 0 && (k->takes_part || b->settings->sleep_speed == 0);
}

static void energy_blocks(void *context, int thread, size_t begin, size_t end)
{
    backend *b = context;
    cpu_solver *o = b->solver;
    for (size_t k = begin; k < end; k++)
        o->sums[k] = is_in_system(b, k)
                         ? o->kernels->energy(&o->system, (uint32_t)k, b->scratch[thread],
                                              o->system.vector[SOLVE_V])
                         : 0;
}

static int by_place(const void *a, const void *b)
{
    const summand *x = a, *y = b;
    for (int k = 0; k < 3; k++)
        if (x->at[k] != y->at[k])
            return x->at[k] < y->at[k] ? -1 : 1;
    return 0;
}

/* Blocks without mass are no part of the system: stencils may touch them, with weights of 0. */
static void clear_blocks(void *context, int thread, size_t begin, size_t end)
{
    backend *b = context;
    const cpu_system *s = &b->solver->system;
    (void)thread;
    for (size_t k = begin; k < end; k++)
        for (int v = 0; v < SOLVE_VECTORS; v++)
            if (s->vector[v] && (v == SOLVE_H || !s->nodes.active[k]))
                memset(s->vector[v] + k * CPU_BLOCK_FLOATS, 0, sizeof(float[CPU_BLOCK_FLOATS]));
}

/* Which blocks count, in an order that does not depend on how they came to be. */
static void order_sums(backend *b)
{
    cpu_solver *o = b->solver;
    o->summand_count = 0;
    for (uint32_t k = 0; k < b->grid.count; k++) {
        if (!o->system.nodes.active[k] && !is_in_system(b, k))
            continue;
        summand *s = &o->summands[o->summand_count++];
        memcpy(s->at, b->grid.blocks[k].at, sizeof s->at);
        s->block = k;
    }
    qsort(o->summands, o->summand_count, sizeof *o->summands, by_place);
}

/* ---- The linear system -------------------------------------------------------------------------- */

/* The preconditioner from the tangents of the moment. */
static void precondition(backend *b)
{
    cpu_solver *o = b->solver;
    const size_t bytes = b->grid.count * sizeof(float[CPU_BLOCK_FLOATS]);
    memset(o->system.vector[SOLVE_DIAGONAL], 0, bytes);
    if (!o->system.diagonal)
        memset(o->system.vector[SOLVE_BESIDE], 0, bytes);
    scatter(b, o->kernels->blocks, NULL);
    rows(b, o->kernels->invert);
}

/* What does not change between iterations: H of every particle at F_E, or at F(v). Preconditioners are
 * made of the clamped one, so that they can be inverted. */
static void differentiate(backend *b, float *v)
{
    cpu_solver *o = b->solver;
    bool positive = b->settings->hessian == FIRN_PROJECTED;
    if (o->system.preconditioned) {
        o->system.positive = true;
        scatter(b, o->kernels->prepare, v);
        precondition(b);
    }
    if (!o->system.preconditioned || !positive) {
        o->system.positive = positive;
        scatter(b, o->kernels->prepare, v);
    }
}

/* Az <- Q A z; returns <z, A z>. */
static double multiply(backend *b)
{
    const cpu_solver *o = b->solver;
    scatter(b, o->kernels->apply, o->system.vector[SOLVE_Z]);
    return rows(b, o->kernels->product);
}

/* Conjugate residuals for A x = r, from x = 0, until |r| <= target. Given and returned: |r|. */
static double conjugate_residual(backend *b, double size, double target)
{
    cpu_solver *o = b->solver;
    rows(b, o->kernels->start); // x <- 0, z <- P^-1 r
    if (size <= target)
        return size;
    double zAz = multiply(b), beta = 0;
    while (o->iterations < o->most && isfinite(size)) {
        o->system.beta = (float)beta;
        double along = rows(b, o->kernels->turn); // p <- z + beta p, <A p, P^-1 A p>
        if (!(along > 0) || zAz == 0)             // cannot go on from here
            break;
        o->iterations++;
        o->system.alpha = (float)(zAz / along);
        size = sqrt(rows(b, o->kernels->advance)); // x <- x + alpha p, r <- r - alpha A p
        if (size <= target)
            break;
        double next = multiply(b);
        beta = next / zAz;
        zAz = next;
    }
    return size;
}

/* ---- Newton's method ---------------------------------------------------------------------------- */

/* E(v) = <v - u, v - u> / 2 + beta sum_p V0 Psi(F(v)) */
static double potential(backend *b)
{
    const cpu_solver *o = b->solver;
    double kinetic = rows(b, o->kernels->kinetic);
    team_for(b->threads, b->grid.count, 4, energy_blocks, b);
    return kinetic + b->settings->beta * total(o);
}

/* r <- -Q M^-1 grad E; returns |r|. */
static double find_gradient(backend *b)
{
    const cpu_solver *o = b->solver;
    scatter(b, o->kernels->forces, o->system.vector[SOLVE_V]);
    return sqrt(rows(b, o->kernels->gradient));
}

static void walk(backend *b, double t)
{
    b->solver->system.alpha = (float)t;
    rows(b, b->solver->kernels->walk);
}

/* v <- v + t x with the first t = 1, 1/2, 1/4, ... that lowers E; false when none does. */
static bool line_search(backend *b)
{
    const double slope = -rows(b, b->solver->kernels->slope);
    const double before = potential(b), rounding = (double)FLT_EPSILON * fabs(before);
    double t = 1;
    walk(b, t);
    for (int n = 0; n < SOLVE_MOST_HALVINGS; n++) {
        if (potential(b) <= before + SOLVE_ENOUGH_DESCENT * t * slope + rounding)
            return true;
        t /= 2;
        walk(b, -t);
    }
    return false;
}

/* From the solution of (9) in x to a minimum of E. Returns |r|. */
static double newton(backend *b, double target, step_report *report)
{
    cpu_solver *o = b->solver;
    float *v = o->system.vector[SOLVE_V];
    memset(v, 0, b->grid.count * sizeof(float[CPU_BLOCK_FLOATS]));
    scatter(b, o->kernels->forces, v); // f(F_E)
    rows(b, o->kernels->inertia);
    rows(b, o->kernels->depart); // the first direction leads from rest to the solution of (9)
    double size = INFINITY;
    for (int n = 1;; n++) {
        find_gradient(b);
        if (!line_search(b))
            return INFINITY;
        size = find_gradient(b);
        report->newton_iterations++;
        if (size <= target || n == b->settings->newton_iterations || !isfinite(size))
            break;
        differentiate(b, v);
        o->most = o->iterations + b->settings->max_iterations;
        conjugate_residual(b, size, fmax(0.5 * target, SOLVE_NEWTON_PART * size));
    }
    rows(b, o->kernels->arrive);
    return size;
}

/* ---- Step 6 ------------------------------------------------------------------------------------- */

/* The node with the largest residual: its block, and its number there. */
static uint32_t worst_block(const backend *b, int *node)
{
    const cpu_solver *o = b->solver;
    double largest = -1;
    uint32_t worst = 0;
    for (size_t n = 0; n < o->summand_count; n++)
        for (int k = 0; k < CPU_CELLS; k++) {
            uint32_t block = o->summands[n].block;
            const float *r = o->system.vector[SOLVE_R] + (size_t)block * CPU_BLOCK_FLOATS + 4 * k;
            double m = o->system.nodes.m[(size_t)block * CPU_CELLS + (size_t)k];
            double size = m * ((double)r[1] * r[1] + (double)r[2] * r[2] + (double)r[3] * r[3]);
            if ((k < 16 || b->settings->dimensions == 3) && m > 0 && !(size <= largest)) {
                largest = size;
                worst = block;
                *node = k;
            }
        }
    return worst;
}

/* Whether the stencils of a block's cell reach a node of another. */
static bool reaches(const backend *b, const cpu_block *from, int cell, const cpu_block *to,
                    int node)
{
    int width = b->settings->kernel == FIRN_CUBIC ? 4 : 3;
    for (int a = 0; a < b->settings->dimensions; a++) {
        int way = 4 * (to->at[a] - from->at[a]) + (node >> 2 * a & 3) - cpu_cell_at(cell, a);
        if (way < 0 || way >= width)
            return false;
    }
    return true;
}

/* Names the first particle at the node with the largest residual. */
static firn_status report_stall(backend *b, step_report *report)
{
    int node = 0;
    const cpu_block *worst = &b->grid.blocks[worst_block(b, &node)];
    uint32_t row = CPU_NONE;
    for (const cpu_block *from = b->grid.blocks; from < b->grid.blocks + b->grid.count; from++)
        for (uint32_t cell = 0, k = from->first; cell < CPU_CELLS; k += from->cell_count[cell++])
            for (uint32_t n = k;
                 n < k + from->cell_count[cell] && reaches(b, from, (int)cell, worst, node); n++) {
                uint32_t candidate = b->store.row[b->store.order[n]];
                row = candidate < row ? candidate : row;
            }
    report->bad_row = row == CPU_NONE ? 0 : row;
    report->bad_what = "the solve did not converge; its residual is so many times the first one:";
    report->bad_value = report->solver_residual;
    firn_status status = cpu_get(b, FIRN_POSITION, report->bad_row, 1, report->bad_position);
    return status != FIRN_OK ? status
                             : fail(FIRN_BLOWUP, "particle row %zu: %s %g", report->bad_row,
                                    report->bad_what, report->bad_value);
}

firn_status cpu_solve(backend *b, const step_plan *plan, step_report *report)
{
    cpu_solver *o = b->solver;
    const firn_settings *settings = b->settings;
    o->system.scale = (float)(settings->beta * plan->dt * plan->dt);
    o->iterations = 0;
    o->most = settings->max_iterations;
    team_for(b->threads, b->grid.count, 64, clear_blocks, b);
    order_sums(b);
    differentiate(b, NULL);
    scatter(b, o->kernels->apply, b->grid.field[0]); // H v*
    double first = sqrt(rows(b, o->kernels->residual)), mass = rows(b, o->kernels->mass);
    double target = solve_target(first, mass, settings->cell_size, plan->dt, settings->tolerance);
    double size = conjugate_residual(b, first, target);
    if (settings->newton_iterations > 1 && size <= target)
        size = newton(b, target, report);
    report->solver_iterations = (uint64_t)o->iterations;
    report->solver_residual = first > 0 ? size / first : 0;
    report->converged = size <= target;
    return report->converged ? FIRN_OK : report_stall(b, report);
}
