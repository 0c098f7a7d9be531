/* Steps 1 3: the particles of one block to the grid. */
#ifndef FIRN_CPU_P2G_H
#define FIRN_CPU_P2G_H

#include "cpu/records.h"
#include "cpu/stencil.h"

/*
 * Stage what `count` <= BATCH particles bring: per particle the row
 *     (m, m v)  (0, t_x)  (0, t_y)  (0, t_z),   t = -dt/h V0 P F_E^T, columns            eq (6)
 * and its weights.
 */
FN void p2g_stage(const cpu_pass *pass, const uint32_t *order, int count, cpu_scratch *scratch,
                  int width, bool apic)
{
    real scale = real_of(-pass->dt / (float)pass->cell_size);
    for (int k = 0; k < count; k += 16) {
        particles p = particles_load(pass, order + k, count - k, true);
        mat t = mat_scale(particles_stress(pass, &p), scale * p.V0);
        real zero = real_of(0);
        real row[16] = {p.m,  p.m * p.v.e[0], p.m * p.v.e[1], p.m * p.v.e[2],
                        zero, t.m[0][0],      t.m[1][0],      t.m[2][0],
                        zero, t.m[0][1],      t.m[1][1],      t.m[2][1],
                        zero, t.m[0][2],      t.m[1][2],      t.m[2][2]};
        transpose(row);
        for (int i = 0; i < 16; i++)
            real_store(scratch->row[k + i], row[i]);
    }
    for (int k = 0; k < count; k++)
        stencil_stage(scratch, k, pass->hot[order[k]].x, width, apic);
}

/* (m_i, m_i v_i) += w_ip (m, m v)                                                              step 1 */
FN void scatter_mass(const cpu_pass *pass, const uint32_t *order, cpu_scratch *s, int first,
                     int end, int cell, int width, int depth)
{
    real acc[16];
    lines_load(acc, s->tile[0], cell, width, depth);
    for (int k = first; k < end; k++) {
        particles_prefetch(pass, order + k, false);
        const float *w = s->w[k];
        real X = spread_x(w) * REPEAT_QUARTER(real_load(s->row[k]), 0);
        UNROLL
        for (int b = 0; b < width; b++) {
            real P = w[4 + b] * X;
            UNROLL
            for (int c = 0; c < depth; c++)
                acc[4 * c + b] += depth == 1 ? P : w[8 + c] * P;
        }
    }
    lines_store(acc, s->tile[0], cell, width, depth);
}

/*
 * Both at once into one field, since APIC needs no velocity before forces:
 * (m_i, m_i v_i + dt f_i) += w_ip (m, m v + m C (x_i - x_p)) + (0, t grad w_ip)              steps 1 3
 */
FN void scatter_affine(const cpu_pass *pass, const uint32_t *order, cpu_scratch *s, int first,
                       int end, int cell, int width, int depth)
{
    /* C (x_i - x_p) = (B / h) h D^-1 h d with d in cells, D = h^2/3 (cubic) or h^2/4 */
    real inv_D = width == 4 ? PER_NODE(0, 3, 3, 3) : PER_NODE(0, 4, 4, 4);
    real acc[16];
    lines_load(acc, s->tile[0], cell, width, depth);
    for (int k = first; k < end; k++) {
        particles_prefetch(pass, order + k, true);
        const float *w = s->w[k], *g = s->s[k], *d = s->d[k];
        real wx = spread_x(w), t = real_load(s->row[k]);
        real B = s->row[k][0] * (inv_D * affine_load(&pass->affine[order[k]]));
        real X = wx * REPEAT_QUARTER(t, 0);
        X += spread_x(d) * REPEAT_QUARTER(B, 0);
        X += spread_x(g) * REPEAT_QUARTER(t, 1);
        real By = wx * REPEAT_QUARTER(B, 1), ty = wx * REPEAT_QUARTER(t, 2);
        real Bz = wx * REPEAT_QUARTER(B, 2), tz = wx * REPEAT_QUARTER(t, 3);
        real Z[4];
        UNROLL
        for (int c = 0; c < depth; c++)
            Z[c] = d[8 + c] * Bz + g[8 + c] * tz;
        UNROLL
        for (int b = 0; b < width; b++) {
            real P = w[4 + b] * X + d[4 + b] * By + g[4 + b] * ty;
            UNROLL
            for (int c = 0; c < depth; c++) {
                acc[4 * c + b] += depth == 1 ? P : w[8 + c] * P;
                if (depth > 1)
                    acc[4 * c + b] += w[4 + b] * Z[c];
            }
        }
    }
    lines_store(acc, s->tile[0], cell, width, depth);
}

FN void p2g_block(const cpu_pass *pass, uint32_t index, cpu_scratch *scratch, int width, int depth,
                  bool apic)
{
    const cpu_block *block = &pass->grid->blocks[index];
    const uint32_t *order = pass->order + block->first;
    memset(scratch->tile, 0, sizeof scratch->tile[0] * (apic ? 1 : 2));
    uint32_t staged = 0, batch = 0; /* particles [staged - batch, staged) are in scratch */
    uint32_t at = 0;
    for (int cell = 0; cell < CPU_CELLS; cell++) {
        uint32_t end = at + block->cell_count[cell];
        while (at < end) {
            if (at == staged) {
                batch = block->count - staged < BATCH ? block->count - staged : BATCH;
                p2g_stage(pass, order + staged, (int)batch, scratch, width, apic);
                staged += batch;
            }
            uint32_t start = staged - batch, stop = end < staged ? end : staged;
            int i = (int)(at - start), j = (int)(stop - start);
            if (apic) {
                scatter_affine(pass, order + start, scratch, i, j, cell, width, depth);
            } else {
                scatter_mass(pass, order + start, scratch, i, j, cell, width, depth);
                scatter_force(scratch, i, j, cell, width, depth);
            }
            at = stop;
        }
    }
    tile_move(block, pass->grid->field[0], scratch->tile[0], depth, true);
    if (!apic)
        tile_move(block, pass->grid->field[1], scratch->tile[1], depth, true);
}

#endif
