/* Steps 7 8 9 10: the grid to the particles of one block. */
#ifndef FIRN_CPU_G2P_H
#define FIRN_CPU_G2P_H

#include "cpu/lines.h"
#include "cpu/records.h"
#include "method/step07_deformation.h"

/* The row gets (u) (dv/dx) (dv/dy) (dv/dz), with u = sum_i w_ip (v_i^{n+1} - alpha v_i) and derivatives
 * per cell. */
FN void gather_flip(const cpu_pass *pass, const uint32_t *order, cpu_scratch *s, int first, int end,
                    int cell, int width, int depth)
{
    real L[16], K[16];
    slab_load(K, s->slab[1], cell, width, depth);
    slab_load(L, s->slab[0], cell, width, depth);
    for (int k = first; k < end; k++) {
        particle_prefetch(pass, order[CPU_AHEAD + k], false);
        gathered v = gather_lines(L, s, k, width, depth), u = gather_lines(K, s, k, width, depth);
        real wx = spread(real_load(quad_of(s->wx, k)));
        real_store(s->rows[0][k], with_slopes(wx * u.S, &v, wx, s, k, width, depth));
    }
}

/* APIC and MLS: rows[0] gets S, by nodes of x; the others U and t, summed along x, as in stage_affine. */
FN void gather_affine(const cpu_pass *pass, const uint32_t *order, cpu_scratch *s, int first,
                      int end, int cell, int width, int depth)
{
    real L[16];
    slab_load(L, s->slab[0], cell, width, depth);
    for (int k = first; k < end; k++) {
        particle_prefetch(pass, order[CPU_AHEAD + k], true);
        gathered v = gather_lines(L, s, k, width, depth);
        real wx = spread(real_load(quad_of(s->wx, k))), zero = real_of(0);
        real_store(s->rows[0][k], v.S);
        if (width == 3) {
            real_store(s->rows[1][k],
                       sum_quarters(wx * v.U[0], wx * v.U[1], depth == 1 ? zero : wx * v.t[0],
                                    depth == 1 ? zero : wx * v.t[2]));
            continue;
        }
        real_store(s->rows[1][k], sum_quarters(wx * v.U[0], wx * v.U[1], wx * v.U[2], zero));
        if (depth > 1)
            real_store(s->rows[2][k], sum_quarters(wx * v.t[0], wx * v.t[2], wx * v.t[3], zero));
    }
}

FN void rows_load(float (*rows)[16], real lanes[16])
{
    UNROLL
    for (int k = 0; k < 16; k++)
        lanes[k] = real_load(rows[k]);
    transpose(lanes);
}

/* What came from the grid. */
typedef struct from_grid {
    vec v;
    mat grad_v; /* per cell */
    mat B;      /* / h; not of FLIP */
} from_grid;

FN from_grid from_grid_flip(cpu_scratch *s, const particles *p)
{
    from_grid g;
    real r[16];
    rows_load(s->rows[0], r);
    /* Channel 0 of the grid is a unit, so channel 0 here is what the weights and slopes really sum to:
     * 1 and 0 but for rounding, which would add up over thousands of steps. */
    real missing = R(1) - r[0] * R(1 / GRID_UNIT);
    UNROLL
    for (int a = 0; a < 3; a++) {
        g.v.e[a] = r[a + 1] + r[a + 1] * missing;
        real per_unit = p->v.e[a] * R(1 / GRID_UNIT);
        for (int b = 0; b < 3; b++)
            g.grad_v.m[a][b] = r[4 * b + a + 5] - r[4 * b + 4] * per_unit;
    }
    return g;
}

FN from_grid from_grid_affine(cpu_scratch *s, const lane_stencil *stencil, int width, int depth,
                              bool mls)
{
    from_grid g;
    real r[16];
    rows_load(s->rows[0], r);
    UNROLL
    for (int i = 0; i < 3; i++) {
        g.v.e[i] = r[4 + 1 + i];
        g.grad_v.m[i][0] = g.grad_v.m[i][2] = g.B.m[i][0] = g.B.m[i][2] = real_of(0);
        UNROLL
        for (int j = 0; j < width - 1; j++) {
            int b = beside(j);
            real D = r[4 * b + 1 + i] - r[4 + 1 + i];
            g.v.e[i] += stencil->axis[0].w[b] * D;
            g.grad_v.m[i][0] += stencil->axis[0].s[b] * D;
            g.B.m[i][0] += stencil->axis[0].d[b] * D;
        }
    }
    UNROLL
    for (int a = 1; a < axes_of(depth); a++) {
        if (a == 1 || width == 4)
            rows_load(s->rows[width == 3 ? 1 : a], r);
        int q = width == 3 ? 2 * (a - 1) : 0;
        UNROLL
        for (int i = 0; i < 3; i++) {
            g.grad_v.m[i][a] = g.B.m[i][a] = real_of(0);
            UNROLL
            for (int j = 0; j < width - 1; j++) {
                g.grad_v.m[i][a] += stencil->axis[a].s[beside(j)] * r[4 * (q + j) + 1 + i];
                g.B.m[i][a] += stencil->axis[a].d[beside(j)] * r[4 * (q + j) + 1 + i];
            }
        }
    }
    if (mls)
        g.grad_v = mat_scale(g.B, real_of(inv_D_of(width)));
    return g;
}

FN void keep_affine(const cpu_pass *pass, const uint32_t *order, int count, mat B)
{
    real zero = real_of(0);
    real columns[16] = {zero,      B.m[0][0], B.m[1][0], B.m[2][0], zero,      B.m[0][1],
                        B.m[1][1], B.m[2][1], zero,      B.m[0][2], B.m[1][2], B.m[2][2],
                        zero,      zero,      zero,      zero};
    affine_store(pass, order, count, columns);
}

/* What bounds the next step. The stepping pass and the pass after loading must round alike, or a resumed
 * run would choose another dt; hence the explicit fused operations. */
FN void limits_of(const particles *p, lane_mask counts, cpu_outcome *outcome)
{
    real exponent = snow_harden_exponent(p->xi, p->J_P);
    real log_wave2 = lane_select(counts, p->log_wave2 + exponent, real_of(-FLT_MAX));
    real speed2 = p->v.e[0] * p->v.e[0];
    for (int a = 1; a < 3; a++)
        speed2 = fused(p->v.e[a], p->v.e[a], speed2);
    speed2 = lane_select(counts, speed2, real_of(0));
    real_store(outcome->max_log_wave2, real_max(real_load(outcome->max_log_wave2), log_wave2));
    real_store(outcome->max_speed2, real_max(real_load(outcome->max_speed2), speed2));
}

FN lane_mask lanes_below(int count)
{
    return (lane_int){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} < count;
}

/* Step 9, for particles of a block that a collider may reach: x and v of up to 16. */
static __attribute__((noinline)) void collide_lanes(const cpu_pass *pass, const cpu_block *block,
                                                    const uint8_t *cell, int count, vec *at,
                                                    vec *velocity)
{
    for (int k = 0; k < count; k++) {
        int part = (at->e[0][k] >= 0.5f) + 2 * (at->e[1][k] >= 0.5f) + 4 * (at->e[2][k] >= 0.5f);
        if (!(block->near_parts[cell[k]] >> part & 1))
            continue;
        double x[3] = {0}, v[3], shift[3] = {0};
        for (int a = 0; a < pass->grid->dimensions; a++) {
            int base = 4 * block->at[a] + cpu_cell_at(cell[k], a);
            x[a] = (base + pass->origin + at->e[a][k]) * pass->cell_size;
        }
        for (int a = 0; a < 3; a++)
            v[a] = velocity->e[a][k];
        if (!collide_particle(pass->colliders, block->near_bodies, x, v, shift))
            continue;
        for (int a = 0; a < 3; a++) {
            velocity->e[a][k] = (float)v[a];
            at->e[a][k] += (float)(shift[a] / pass->cell_size);
        }
    }
}

/* The same with copies: what a function out of line has the address of cannot stay in registers. */
FN void collide_particles(const cpu_pass *pass, const cpu_block *block, const uint8_t *cell,
                          int count, particles *p, cpu_outcome *outcome)
{
    uint64_t wanted = 0;
    for (int k = 0; k < count; k++)
        wanted |= block->near_cells >> cell[k];
    if (!(wanted & 1))
        return;
    uint64_t since = body_clock();
    vec x = p->x, v = p->v;
    collide_lanes(pass, block, cell, count, &x, &v);
    p->x = x;
    p->v = v;
    outcome->body_ticks += body_clock() - since;
}

/* To the nearest multiple of 2^-26, for x in [0, 1). */
FN real offset_rounded(real x)
{
    real y = R(0x1p26f) * x;
    return R(0x1p-26f) * lane_select(y < R(0x1p23f), (y + R(0x1p23f)) - R(0x1p23f), y);
}

/* Step 10: x_p += dt v_p, as a new offset and a destination. */
FN lane_int move_particles(const cpu_pass *pass, particles *p, lane_int at)
{
    real scale = real_of(pass->dt / (float)pass->cell_size);
    lane_int destination = (lane_int){0};
    const int direction_step[3] = {64, 3 * 64, 9 * 64};
    UNROLL
    for (int a = 0; a < 3; a++) {
        real x = p->x.e[a] + scale * p->v.e[a];
        real shift = real_floor(x);
        x = offset_rounded(x - shift);
        lane_mask carried = x >= R(1);
        p->x.e[a] = lane_select(carried, real_of(0), x);
        /* A mask is -1 where it holds. */
        lane_int moved =
            (at >> cpu_cell_shift[a] & 3) + __builtin_convertvector(shift, lane_int) - carried;
        destination += (1 + (moved < 0) - (moved > 3)) * direction_step[a];
        destination += (moved & 3) << cpu_cell_shift[a];
    }
    return destination;
}

/* The lanes in which a solver cannot go on. */
FN lane_mask particles_bad(const cpu_pass *pass, const particles *p)
{
    float limit = (float)pass->cell_size / pass->dt;
    lane_mask good = (vec_norm2(p->v) <= R(limit) * R(limit)) & (p->J_P > R(0)) &
                     (p->J_P <= R(FLT_MAX)) & (mat_dot(p->F_E, p->F_E) <= R(FLT_MAX));
    return ~good;
}

/* Note the first of them, and bring them to rest so that nothing runs wild before the step ends. */
static __attribute__((noinline)) vec stop_lanes(vec v, real stretch, real J_P, lane_mask bad,
                                                uint32_t position, cpu_outcome *outcome)
{
    for (int k = 15; k >= 0; k--) {
        if (!bad[k])
            continue;
        if (position + (uint32_t)k < outcome->bad_position) {
            outcome->bad_position = position + (uint32_t)k;
            outcome->bad_speed = real_sqrt(vec_norm2(v))[k];
            outcome->bad_stretch = stretch[k];
            outcome->bad_J_P = J_P[k];
        }
        for (int a = 0; a < 3; a++)
            v.e[a][k] = 0;
    }
    return v;
}

/* The return map for the lanes that yield. In 2D the third row and column stay those of the identity: it would give
 * them back rounded, and they are not saved. */
FN void return_particles(particles *p, lane_mask yields, mat E, real det, int dimensions)
{
    lane_mask near = step07_is_near(E, det);
    deformation after = step07_return_near(p->F_E, E, p->J_P, p->theta_c, p->theta_s);
    if (__builtin_expect(lane_any(yields & lane_not(near)), 0)) {
        deformation far = step07_return(p->F_E, p->J_P, p->theta_c, p->theta_s);
        after.F_E = mat_select(near, after.F_E, far.F_E);
        after.J_P = lane_select(near, after.J_P, far.J_P);
    }
    for (int i = 0; i < dimensions; i++)
        for (int j = 0; j < dimensions; j++)
            p->F_E.m[i][j] = lane_select(yields, after.F_E.m[i][j], p->F_E.m[i][j]);
    p->J_P = lane_select(yields, after.J_P, p->J_P);
}

/* List the lanes that changed cell, particles number `first` and on of the block's list. */
static __attribute__((noinline)) void list_movers(const cpu_pass *pass, cpu_block *block,
                                                  uint32_t first, lane_int to, lane_mask moved)
{
    for (int k = 0; k < 16; k++) {
        if (!moved[k])
            continue;
        uint32_t at = block->first + block->moved++;
        pass->mover[at] = first + (uint32_t)k;
        pass->mover_slot[at] = pass->order[block->first + first + (uint32_t)k];
        pass->destination[at] = (cpu_destination)to[k];
        block->leaving[to[k] >> 6]++;
    }
}

/* What came from the grid to up to 16 particles makes their new state. */
FN void update_particles(const cpu_pass *pass, cpu_block *block, uint32_t first,
                         const uint8_t *cell, particles *p, const from_grid *g, int count,
                         cpu_outcome *outcome, int dimensions, bool affine)
{
    const uint32_t *order = pass->order + block->first + first;
    real inv_h = real_of(1 / (float)pass->cell_size);
    p->F_E = mat_mad(p->F_E, inv_h * pass->dt, mat_mul(g->grad_v, p->F_E));
    mat E = strain_of(p->F_E);
    real det = mat_det(p->F_E);
    lane_mask yields = step07_beyond(E, det, p->theta_c, p->theta_s);
    if (lane_any(yields))
        return_particles(p, yields, E, det, dimensions);
    for (int a = 0; a < 3; a++)
        p->v.e[a] = affine ? g->v.e[a] : g->v.e[a] + pass->blend * p->v.e[a];
    if (block->near_cells)
        collide_particles(pass, block, cell, count, p, outcome);

    lane_mask counts = lanes_below(count), bad = particles_bad(pass, p) & counts;
    if (__builtin_expect(lane_any(bad), 0))
        p->v =
            stop_lanes(p->v, mat_dot(p->F_E, p->F_E), p->J_P, bad, block->first + first, outcome);
    if (pass->trial)
        return;
    limits_of(p, counts, outcome);

    typedef uint8_t bytes __attribute__((vector_size(16)));
    bytes cell_bytes;
    memcpy(&cell_bytes, cell, sizeof cell_bytes);
    lane_int was = __builtin_convertvector(cell_bytes, lane_int);
    lane_int to = move_particles(pass, p, was);
    particles_store_hot(pass, order, count, p);
    if (affine)
        keep_affine(pass, order, count, g->B);
    lane_mask moved = (to != was + CPU_STAY * CPU_CELLS) & counts;
    if (lane_any(moved))
        list_movers(pass, block, first, to, moved);
}

/* Take room in the neighbours' lists of arrivals. In what order blocks do so does not matter: the lists
 * are sorted. */
static __attribute__((noinline)) void place_movers(const cpu_grid *grid, cpu_block *block,
                                                   cpu_outcome *outcome)
{
    for (int d = 0; d < CPU_DIRECTIONS; d++) {
        uint32_t near = block->near[d];
        if (block->leaving[d] == 0)
            continue;
        block->directions |= 1u << d;
        if (near == CPU_NONE)
            block->unplaced |= 1u << d;
        else
            block->leaving[d] = __atomic_fetch_add(&grid->blocks[near].arriving, block->leaving[d],
                                                   __ATOMIC_RELAXED);
    }
    outcome->unplaced |= block->unplaced != 0;
}

FN void g2p_block(const cpu_pass *pass, uint32_t index, cpu_scratch *scratch, cpu_outcome *outcome,
                  int width, int depth, firn_transfer transfer)
{
    cpu_block *block = &pass->grid->blocks[index];
    const uint32_t *order = pass->order + block->first;
    uint8_t cells[16] = {0};
    const bool affine = transfer_is_affine(transfer);
    int fields = affine ? 1 : 2;
    for (int f = 0; f < fields; f++)
        tile_move(block, pass->grid->field[f], scratch->tile[f], depth, false);
    memset(block->leaving, 0, sizeof block->leaving);
    block->moved = block->directions = 0;
    int cell = 0, x = -1;                 /* whose slab it is */
    uint32_t left = block->cell_count[0]; /* particles of `cell` still to come */
    for (uint32_t start = 0; start < block->count; start += 16) {
        int batch = (int)(block->count - start < 16 ? block->count - start : 16);
        particles p = particles_load(pass, order + start, batch, false);
        lane_stencil stencil = lane_stencil_of(p.x, width);
        lane_stencil_stage(scratch, &stencil, width, depth, !affine);
        for (int i = 0; i < batch;) {
            while (left == 0)
                left = block->cell_count[++cell];
            if (x != cell / 16) {
                x = cell / 16;
                for (int f = 0; f < fields; f++)
                    slab_take(scratch->slab[f], scratch->tile[f], x, depth);
            }
            int run = (uint32_t)(batch - i) < left ? batch - i : (int)left;
            if (affine)
                gather_affine(pass, order + start, scratch, i, i + run, cell, width, depth);
            else
                gather_flip(pass, order + start, scratch, i, i + run, cell, width, depth);
            memset(cells + i, cell, (size_t)run);
            i += run;
            left -= (uint32_t)run;
        }
        from_grid g = affine
                          ? from_grid_affine(scratch, &stencil, width, depth, transfer == FIRN_MLS)
                          : from_grid_flip(scratch, &p);
        update_particles(pass, block, start, cells, &p, &g, batch, outcome, depth == 1 ? 2 : 3,
                         affine);
    }
    if (block->moved > 0)
        place_movers(pass->grid, block, outcome);
}

#endif
