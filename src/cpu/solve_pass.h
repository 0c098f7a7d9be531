/*
 * Step 6 over the particles of one block: gather the gradient of a grid vector, turn it into stresses in
 * lanes, scatter them. `width` and `depth` as in stencil.h.
 */
#ifndef FIRN_CPU_SOLVE_PASS_H
#define FIRN_CPU_SOLVE_PASS_H

#include "cpu/lines.h"
#include "cpu/newton.h"
#include "cpu/records.h"
#include "cpu/solve.h"
#include "method/step06_solve.h"

/* What a pass does between gather and scatter. */
typedef enum solve_work {
    SOLVE_APPLY,   // T = V0 dP(grad v) F_E^T
    SOLVE_PREPARE, // the tangent at F(v)
    SOLVE_FORCES,  // T = -V0 P(F(v)) F_E^T
    SOLVE_ENERGY,  // V0 Psi(F(v))
} solve_work;

/* Particles [first, end) of a batch of up to 16 are of one cell. */
typedef struct cell_run {
    int first, end, cell;
} cell_run;

/* A walk through the list of a block, cell by cell. */
typedef struct cell_walk {
    const cpu_block *block;
    int cell;
    uint32_t left; /* particles of `cell` still to come */
} cell_walk;

FN int next_runs(cell_walk *walk, int batch, cell_run runs[16])
{
    int count = 0;
    for (int i = 0; i < batch;) {
        while (walk->left == 0)
            walk->left = walk->block->cell_count[++walk->cell];
        int run = (uint32_t)(batch - i) < walk->left ? batch - i : (int)walk->left;
        runs[count++] = (cell_run){i, i + run, walk->cell};
        walk->left -= (uint32_t)run;
        i += run;
    }
    return count;
}

/* A vector to tile 0, less its value in the middle: gradients do not feel it, and rounding then is that
 * of the differences. */
FN void load_tile(const cpu_block *block, float *v, float *tile, int width, int depth)
{
    tile_move(block, v, tile, depth, false);
    const int lines = depth == 1 ? TILE_SIDE : TILE_SIDE * TILE_SIDE;
    const float *middle = tile_line(tile, 0, width - 1, depth - 1) + 4 * (width - 1);
    real shift = PER_NODE(middle[0], middle[1], middle[2], middle[3]);
    for (int k = 0; k < 2 * lines; k++)
        real_store(tile + 16 * k, real_load(tile + 16 * k) - shift);
}

/* Ask for the next group's tangents, a sixteenth for each particle of this one: the processor guesses that
 * they come, but not early enough. */
FN void prefetch_share(const step06_particle *next, int k)
{
    const char *from = (const char *)next + (size_t)k * sizeof *next / 16;
    __builtin_prefetch(from);
    __builtin_prefetch(from + 64);
}

/* The row of each particle gets (-) (dv/dx) (dv/dy) (dv/dz), per cell. */
FN void gather_gradient(cpu_scratch *s, cell_run run, const step06_particle *next, int width,
                        int depth)
{
    real L[16];
    slab_load(L, s->slab[0], run.cell, width, depth);
    for (int k = run.first; k < run.end; k++) {
        prefetch_share(next, k);
        gathered v = gather_lines(L, s, k, width, depth);
        real wx = spread(real_load(quad_of(s->wx, k)));
        real_store(s->rows[0][k], with_slopes(v.S, &v, wx, s, k, width, depth));
    }
}

/* The slabs follow the runs: x is that of the slab at hand, -1 before the first. */
FN void gather_runs(cpu_scratch *s, const cell_run *runs, int count, int *x,
                    const step06_particle *next, int width, int depth)
{
    for (int n = 0; n < count; n++) {
        if (*x != runs[n].cell / 16) {
            *x = runs[n].cell / 16;
            slab_take(s->slab[0], s->tile[0], *x, depth);
        }
        gather_gradient(s, runs[n], next, width, depth);
    }
}

FN void scatter_runs(cpu_scratch *s, const cell_run *runs, int count, int *x, int width, int depth)
{
    for (int n = 0; n < count; n++) {
        if (*x != runs[n].cell / 16) {
            if (*x >= 0)
                slab_give(s->slab[1], s->tile[1], *x, depth);
            *x = runs[n].cell / 16;
        }
        scatter_impulse(s, runs[n].first, runs[n].end, runs[n].cell, width, depth);
    }
}

FN mat rows_to_gradient(float (*rows)[16])
{
    real r[16];
    UNROLL
    for (int k = 0; k < 16; k++)
        r[k] = real_load(rows[k]);
    transpose(r);
    mat grad;
    for (int a = 0; a < FIRN_DIM; a++)
        for (int b = 0; b < FIRN_DIM; b++)
            grad.m[a][b] = r[4 * b + a + 5];
    return grad;
}

FN void stresses_to_rows(mat T, float (*rows)[16])
{
    real r[16];
    for (int k = 0; k < 16; k++)
        r[k] = real_of(0);
    for (int a = 0; a < FIRN_DIM; a++)
        for (int b = 0; b < FIRN_DIM; b++)
            r[4 * b + a + 5] = T.m[a][b];
    transpose(r);
    UNROLL
    for (int k = 0; k < 16; k++)
        real_store(rows[k], r[k]);
}

/* Lame values times V0 */
FN lame hardened(const particles *p)
{
    return snow_harden(p->mu0 * p->V0, p->lambda0 * p->V0, p->xi, p->J_P);
}

/* The tangent at F of particles whose gradients are per cell. */
FN step06_particle tangent_at(const cpu_system *s, const particles *p, mat F)
{
    real per_cell = real_of(1 / (float)(s->pass->cell_size * s->pass->cell_size));
    lame hard = hardened(p);
    hard.mu *= per_cell;
    hard.lambda *= per_cell;
    svd d = svd_of(F);
    return s->positive ? step06_prepare(d, p->F_E, hard, 1) : step06_prepare(d, p->F_E, hard, 0);
}

/* Newton's quantities, in double. */
FN double newton_lanes(const cpu_system *s, const uint32_t *order, int count, mat grad,
                       float (*rows)[16], solve_work what)
{
    particles p = particles_load(s->pass, order, count, true);
    lame hard = hardened(&p);
    newton_input in = {.step = s->pass->dt / s->pass->cell_size};
    memcpy(in.F_E, &p.F_E, sizeof in.F_E);
    memcpy(in.grad, &grad, sizeof in.grad);
    real_store(in.mu, hard.mu);
    real_store(in.lambda, hard.lambda);
    double sum = 0;
    if (what == SOLVE_ENERGY) {
        double energy[16];
        CPU_NEWTON(energy)(&in, energy);
        for (int k = 0; k < count && k < 16; k++)
            sum += energy[k];
    } else {
        float T[FIRN_DIM * FIRN_DIM][16];
        CPU_NEWTON(stress)(&in, -1 / s->pass->cell_size, T);
        mat stress;
        memcpy(&stress, T, sizeof stress);
        stresses_to_rows(stress, rows);
    }
    return sum;
}

/* Between gather and scatter: 16 particles, from their gradients to their stresses. */
FN double solve_lanes(const cpu_system *s, step06_particle *tangent, const uint32_t *order,
                      int count, float (*rows)[16], solve_work what)
{
    mat grad = rows_to_gradient(rows);
    if (what == SOLVE_APPLY) {
        stresses_to_rows(step06_apply(tangent, grad), rows);
    } else if (what == SOLVE_PREPARE) {
        particles p = particles_load(s->pass, order, count, true);
        real step = real_of((float)(s->pass->dt / s->pass->cell_size));
        *tangent = tangent_at(s, &p, mat_mad(p.F_E, step, mat_mul(grad, p.F_E)));
    } else {
        return newton_lanes(s, order, count, grad, rows, what);
    }
    return 0;
}

FN vec place_of(const cpu_system *s, uint32_t group)
{
    vec x;
    for (int a = 0; a < FIRN_DIM; a++)
        x.e[a] = real_load(s->place[group][a]);
    return x;
}

FN double solve_block(const cpu_system *s, uint32_t index, cpu_scratch *scratch, float *v,
                      solve_work what, int width, int depth)
{
    const cpu_block *block = &s->pass->grid->blocks[index];
    const uint32_t group = s->first_group[index];
    step06_particle *tangents = (step06_particle *)s->tangents + group;
    cell_walk walk = {.block = block, .left = block->cell_count[0]};
    bool scatters = what == SOLVE_APPLY || what == SOLVE_FORCES;
    int gathered_x = -1, scattered_x = -1;
    double sum = 0;
    load_tile(block, v, scratch->tile[0], width, depth);
    if (scatters) {
        memset(scratch->tile[1], 0, sizeof scratch->tile[1]);
        memset(scratch->slab[1], 0, sizeof scratch->slab[1]);
    }
    for (uint32_t start = 0; start < block->count; start += 16) {
        int batch = (int)(block->count - start < 16 ? block->count - start : 16);
        cell_run runs[16];
        int count = next_runs(&walk, batch, runs);
        lane_stencil stencil = lane_stencil_of(place_of(s, group + start / 16), width);
        if (s->mls)
            lane_stencil_fit(&stencil, width);
        lane_stencil_stage(scratch, &stencil, width, depth, true);
        gather_runs(scratch, runs, count, &gathered_x, tangents + start / 16 + 1, width, depth);
        sum += solve_lanes(s, tangents + start / 16, s->pass->order + block->first + start, batch,
                           scratch->rows[0], what);
        if (scatters)
            scatter_runs(scratch, runs, count, &scattered_x, width, depth);
    }
    if (scatters && scattered_x >= 0) {
        slab_give(scratch->slab[1], scratch->tile[1], scattered_x, depth);
        tile_move(block, s->vector[SOLVE_H], scratch->tile[1], depth, true);
    }
    return sum;
}

/* The tangents at F_E, and the places. */
FN void prepare_block(const cpu_system *s, uint32_t index)
{
    const cpu_block *block = &s->pass->grid->blocks[index];
    const uint32_t *order = s->pass->order + block->first;
    uint32_t group = s->first_group[index];
    for (uint32_t k = 0; k < block->count; k += 16, group++) {
        particles p = particles_load(s->pass, order + k, (int)(block->count - k), true);
        for (int a = 0; a < FIRN_DIM; a++)
            real_store(s->place[group][a], p.x.e[a]);
        ((step06_particle *)s->tangents)[group] = tangent_at(s, &p, p.F_E);
    }
}

/* ---- Diagonal blocks of H --------------------------------------------------------------------- */

/*
 * H_ii = sum_p sum_cd D_cd gw_c gw_d, where column b of the matrix D_cd is the column c of the stress
 * that the gradient e_b e_d^T makes. D_cd is scattered like forces, with products of weights:
 * gw_x gw_y = (gx wx) (gy wy) (wz wz).
 */
enum { TANGENT_PAIRS = 6, TANGENT_ROWS = 2 * TANGENT_PAIRS };

/* The pairs c, d of axes, in the order in which the scatter below wants them. */
static const int tangent_pair[TANGENT_PAIRS][2] = {{0, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}, {2, 2}};

typedef struct tangent_rows {
    /* [particle][pair]: (0, xx, yy, zz) of D_cd and (0, yz, xz, xy), what cd and dc make together */
    float diagonal[16][TANGENT_PAIRS + 2][4], beside[16][TANGENT_PAIRS + 2][4];
} tangent_rows;

FN void tangent_to_rows(const step06_particle *H, tangent_rows *rows)
{
    mat T[FIRN_DIM][FIRN_DIM]; /* [b][d] */
    for (int b = 0; b < FIRN_DIM; b++)
        for (int d = 0; d < FIRN_DIM; d++) {
            mat unit = mat_zero();
            unit.m[b][d] = real_of(1);
            T[b][d] = step06_apply(H, unit);
        }
    memset(rows, 0, sizeof *rows);
    for (int n = 0; n < TANGENT_PAIRS; n++) {
        int c = tangent_pair[n][0], d = tangent_pair[n][1];
        if (d >= FIRN_DIM)
            continue;
        for (int a = 0; a < FIRN_DIM; a++)
            for (int b = a; b < FIRN_DIM; b++) {
                real D = T[b][d].m[a][c];
                if (c != d)
                    D += T[b][c].m[a][d];
                for (int k = 0; k < 16; k++)
                    (a == b ? rows->diagonal : rows->beside)[k][n][1 + (a == b ? a : 3 - a - b)] =
                        D[k];
            }
    }
}

FN real particle_place(const cpu_system *s, uint32_t group, int k)
{
    real x = real_of(0);
    for (int a = 0; a < FIRN_DIM; a++)
        x[a] = s->place[group][a][k];
    return x;
}

/* One particle's part of one of the two fields. */
FN void scatter_blocks(const float (*D)[4], const stencil_rows *at, float *tile, int cell,
                       int width, int depth)
{
    const float *w = at->w, *g = at->s;
    real acc[16];
    lines_load(acc, tile, cell, width, depth);
    real wx = spread(real_load(w)), gx = spread(real_load(g)), low = real_load(D[0]),
         high = real_load(D[4]);
    real xx = gx * gx * REPEAT_QUARTER(low, 0), xy = gx * wx * REPEAT_QUARTER(low, 1);
    real yy = wx * wx * REPEAT_QUARTER(low, 2), xz = gx * wx * REPEAT_QUARTER(low, 3);
    real yz = wx * wx * REPEAT_QUARTER(high, 0), zz = wx * wx * REPEAT_QUARTER(high, 1);
    UNROLL
    for (int b = 0; b < width; b++) {
        float wy = w[4 + b], gy = g[4 + b];
        real flat = wy * wy * xx + gy * wy * xy + gy * gy * yy;
        real tilted = wy * wy * xz + gy * wy * yz, deep = wy * wy * zz;
        UNROLL
        for (int c = 0; c < depth; c++) {
            float wz = w[8 + c], gz = g[8 + c];
            acc[4 * c + b] +=
                depth == 1 ? flat : wz * wz * flat + gz * wz * tilted + gz * gz * deep;
        }
    }
    lines_store(acc, tile, cell, width, depth);
}

/* To SOLVE_DIAGONAL and SOLVE_BESIDE. */
FN void blocks_block(const cpu_system *s, uint32_t index, cpu_scratch *scratch, int width,
                     int depth)
{
    const cpu_block *block = &s->pass->grid->blocks[index];
    const uint32_t group = s->first_group[index];
    const step06_particle *tangents = (const step06_particle *)s->tangents + group;
    cell_walk walk = {.block = block, .left = block->cell_count[0]};
    tangent_rows rows;
    memset(scratch->tile, 0, sizeof scratch->tile);
    for (uint32_t start = 0; start < block->count; start += 16) {
        int batch = (int)(block->count - start < 16 ? block->count - start : 16);
        cell_run runs[16];
        int count = next_runs(&walk, batch, runs);
        tangent_to_rows(&tangents[start / 16], &rows);
        for (int n = 0; n < count; n++)
            for (int k = runs[n].first; k < runs[n].end; k++) {
                stencil_rows at =
                    stencil_rows_of(particle_place(s, group + start / 16, k), width, s->mls);
                scatter_blocks(rows.diagonal[k], &at, scratch->tile[0], runs[n].cell, width, depth);
                if (!s->diagonal)
                    scatter_blocks(rows.beside[k], &at, scratch->tile[1], runs[n].cell, width,
                                   depth);
            }
    }
    tile_move(block, s->vector[SOLVE_DIAGONAL], scratch->tile[0], depth, true);
    if (!s->diagonal)
        tile_move(block, s->vector[SOLVE_BESIDE], scratch->tile[1], depth, true);
}

#endif
