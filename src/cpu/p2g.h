/* Steps 1 3: the particles of one block to the grid. */
#ifndef FIRN_CPU_P2G_H
#define FIRN_CPU_P2G_H

#include "cpu/lines.h"
#include "cpu/records.h"

/* Ask for a quarter of the hot records of sixteen particles to come. Spread over the staging of the sixteen
 * at work: while they are scattered, more lines would be on their way than the first cache keeps track of. */
FN void hot_prefetch(const cpu_pass *pass, const uint32_t *ahead, int quarter)
{
    UNROLL
    for (int k = 4 * quarter; k < 4 * quarter + 4; k++)
        __builtin_prefetch(&pass->hot[ahead[k]]);
}

/* Lanes to rows of 16 particles, in memory. */
FN void rows_store(float (*rows)[16], real lanes[16])
{
    transpose(lanes);
    UNROLL
    for (int k = 0; k < 16; k++)
        real_store(rows[k], lanes[k]);
}

/* t = -dt/h V0 P F_E^T, whose product with a gradient of weights per cell is dt f_i         eq (6) */
FN mat particles_impulse(const cpu_pass *pass, const particles *p)
{
    real scale = real_of(-pass->dt / (float)pass->cell_size);
    return mat_scale(particles_stress(pass, p), scale * p->V0);
}

/* FLIP: rows[0] gets (m, m v) (0, t_x) (0, t_y) (0, t_z), t by columns. */
FN void stage_flip(const cpu_pass *pass, const particles *p, cpu_scratch *s)
{
    mat t = particles_impulse(pass, p);
    real zero = real_of(0);
    real row[16] = {p->m, p->m * p->v.e[0], p->m * p->v.e[1], p->m * p->v.e[2],
                    zero, t.m[0][0],        t.m[1][0],        t.m[2][0],
                    zero, t.m[0][1],        t.m[1][1],        t.m[2][1],
                    zero, t.m[0][2],        t.m[1][2],        t.m[2][2]};
    rows_store(s->rows[0], row);
}

/* APIC and MLS, where both may go into one field, since nobody asks for the velocity before forces:
 *     (m_i, m_i v_i + dt f_i) += w_ip (m, m v + m C (x_i - x_p)) + (0, t grad w_ip).
 * What comes with the distance or the slope along axis a and node b is r_ab w w, r_ab = d_b m C_a + s_b t_a,
 * with the weights of the other two axes; with MLS, s_b = D^-1 d_b. rows[0] gets the nodes of x, r_x
 * included; the others r_y and r_z for the nodes beside the middle. Meanwhile hot records of particles
 * `ahead` are asked for. */
FN void stage_affine(const cpu_pass *pass, const uint32_t *order, const uint32_t *ahead, int count,
                     const particles *p, const lane_stencil *stencil, cpu_scratch *s, int width,
                     int depth, bool mls)
{
    /* C (x_i - x_p) = (B / h) h D^-1 h d with d in cells */
    real m_inv_D = p->m * inv_D_of(width);
    hot_prefetch(pass, ahead, 0);
    mat t = particles_impulse(pass, p);
    hot_prefetch(pass, ahead, 1);
    real B[16], zero = real_of(0);
    affine_load(pass, order, count, B);
    real r[3][4][3];
    UNROLL
    for (int a = 0; a < axes_of(depth); a++)
        UNROLL
    for (int i = 0; i < 3; i++) {
        real mC = m_inv_D * B[4 * a + 1 + i];
        real fitted = mC + inv_D_of(width) * t.m[i][a];
        UNROLL
        for (int b = 0; b < width; b++)
            r[a][b][i] = mls ? stencil->axis[a].d[b] * fitted
                             : stencil->axis[a].d[b] * mC + stencil->axis[a].s[b] * t.m[i][a];
    }
    hot_prefetch(pass, ahead, 2);
    real row[16] = {0};
    UNROLL
    for (int b = 0; b < width; b++) {
        row[4 * b] = stencil->axis[0].w[b] * p->m;
        UNROLL
        for (int i = 0; i < 3; i++)
            row[4 * b + 1 + i] = row[4 * b] * p->v.e[i] + r[0][b][i];
    }
    hot_prefetch(pass, ahead, 3);
    rows_store(s->rows[0], row);
    UNROLL
    for (int a = 1; a < axes_of(depth); a++) {
        UNROLL
        for (int j = 0; j < width - 1; j++) {
            int q = width == 3 ? 2 * (a - 1) + j : j;
            row[4 * q] = zero;
            UNROLL
            for (int i = 0; i < 3; i++)
                row[4 * q + 1 + i] = r[a][beside(j)][i];
        }
        if (width == 4 || a == axes_of(depth) - 1)
            rows_store(s->rows[width == 3 ? 1 : a], row);
    }
}

/* (m_i, m_i v_i) += w_ip (m, m v)                                                              step 1 */
FN void scatter_mass(const cpu_pass *pass, const uint32_t *ahead, cpu_scratch *s, int first,
                     int end, int cell, int width, int depth)
{
    real acc[16] = {0};
    for (int k = first; k < end; k++) {
        particle_prefetch(pass, ahead[k], false);
        real X = spread(real_load(quad_of(s->wx, k))) * repeat_four(s->rows[0][k]), Y[3];
        UNROLL
        for (int j = 0; j < width - 1; j++)
            Y[j] = s->weight[0][j][k] * X;
        add_particle(acc, s, k, X, Y, NULL, width, depth);
    }
    slab_add(acc, s->slab[0], cell, width, depth);
}

/* Both, from the rows of stage_affine. */
FN void scatter_affine(const cpu_pass *pass, const uint32_t *ahead, cpu_scratch *s, int first,
                       int end, int cell, int width, int depth)
{
    real acc[16] = {0};
    for (int k = first; k < end; k++) {
        rest_prefetch(pass, ahead[k], true);
        real wx = spread(real_load(quad_of(s->wx, k)));
        real X = real_load(s->rows[0][k]), Y[3], Z[3];
        const float *ry = s->rows[1][k], *rz = width == 3 ? ry + 8 : s->rows[2][k];
        UNROLL
        for (int j = 0; j < width - 1; j++) {
            Y[j] = s->weight[0][j][k] * X + wx * repeat_four(ry + 4 * j);
            Z[j] = wx * repeat_four(rz + 4 * j);
        }
        add_particle(acc, s, k, X, Y, Z, width, depth);
    }
    slab_add(acc, s->slab[0], cell, width, depth);
}

/* Stage up to 16 particles. */
FN void p2g_stage(const cpu_pass *pass, const uint32_t *order, const uint32_t *ahead, int count,
                  cpu_scratch *scratch, int width, int depth, firn_transfer transfer)
{
    bool affine = transfer_is_affine(transfer);
    particles p = particles_load(pass, order, count, true);
    lane_stencil stencil = lane_stencil_of(p.x, width);
    lane_stencil_stage(scratch, &stencil, width, depth, !affine);
    if (affine)
        stage_affine(pass, order, ahead, count, &p, &stencil, scratch, width, depth,
                     transfer == FIRN_MLS);
    else
        stage_flip(pass, &p, scratch);
}

/* The particles to ask for while those from `staged` on are at work; at the end of a block the first of the
 * next one, which may be far away. */
FN const uint32_t *particles_ahead(const cpu_pass *pass, uint32_t index, uint32_t next,
                                   uint32_t staged)
{
    const cpu_block *block = &pass->grid->blocks[index];
    uint32_t at = staged + CPU_AHEAD;
    return at < block->count ? pass->order + block->first + at
                             : pass->order + pass->grid->blocks[next].first + (at - block->count);
}

/* How much earlier than the particles their numbers are asked for. */
enum { ORDER_AHEAD = 80 };

/* Ask for what is read of a block when its turn comes: up to the counts of its cells. */
FN void block_prefetch(const cpu_block *block)
{
    const char *from = (const char *)block;
    for (size_t at = 0; at < offsetof(cpu_block, moved); at += 64)
        __builtin_prefetch(from + at);
}

FN void p2g_block(const cpu_pass *pass, uint32_t index, uint32_t next, cpu_scratch *scratch,
                  int width, int depth, firn_transfer transfer)
{
    const cpu_block *block = &pass->grid->blocks[index];
    const uint32_t *order = pass->order + block->first, *ahead = order;
    const bool affine = transfer_is_affine(transfer);
    int fields = affine ? 1 : 2;
    block_prefetch(&pass->grid->blocks[next]);
    memset(scratch->tile, 0, sizeof scratch->tile[0] * (size_t)fields);
    memset(scratch->slab, 0, sizeof scratch->slab[0] * (size_t)fields);
    uint32_t staged = 0, batch = 0; /* particles [staged - batch, staged) are in scratch */
    uint32_t at = 0;
    for (int cell = 0; cell < CPU_CELLS; cell++) {
        uint32_t end = at + block->cell_count[cell];
        while (at < end) {
            if (at == staged) {
                batch = block->count - staged < 16 ? block->count - staged : 16;
                ahead = particles_ahead(pass, index, next, staged);
                __builtin_prefetch(particles_ahead(pass, index, next, staged + ORDER_AHEAD));
                p2g_stage(pass, order + staged, ahead, (int)batch, scratch, width, depth, transfer);
                for (int f = 0; f < fields; f++) /* 49 lines, and some 32 batches */
                    tile_prefetch(block, pass->grid->field[f], (int)staged / 8, 2, depth);
                staged += batch;
            }
            uint32_t start = staged - batch, stop = end < staged ? end : staged;
            int i = (int)(at - start), j = (int)(stop - start);
            if (affine) {
                scatter_affine(pass, ahead, scratch, i, j, cell, width, depth);
            } else {
                scatter_mass(pass, ahead, scratch, i, j, cell, width, depth);
                scatter_impulse(scratch, i, j, cell, width, depth);
            }
            at = stop;
        }
        if (cell % 16 == 15)
            for (int f = 0; f < fields; f++)
                slab_give(scratch->slab[f], scratch->tile[f], cell / 16, depth);
    }
    for (int f = 0; f < fields; f++)
        tile_move(block, pass->grid->field[f], scratch->tile[f], depth, true);
}

#endif
