/*
 * The lines of a cell's stencil, as the transfers of the step use them: in differences from the middle.
 *
 * Along an axis the weights of a particle sum to 1 and its slopes to 0. So with the values L of the
 * nodes, node 1 the middle one, and differences D_b = L_b - L_1 of the others,
 *     sum_b w_b L_b = L_1 + sum_b w_b D_b,     sum_b w'_b L_b = sum_b w'_b D_b :
 * a product less, sums that are right to the last digit where the field is constant, and slopes that need
 * nothing but what the weights need. Differences are taken once for all particles of a cell. P2G is the
 * transpose: what belongs to node 1 is the sum over all nodes less what went to the others.
 *
 * A slab holds the lines that the cells of one x of a block reach, each in one cache line; lines of a tile
 * straddle two for three of the four x.
 */
#ifndef FIRN_CPU_LINES_H
#define FIRN_CPU_LINES_H

#include "cpu/stencil.h"
#include "method/vec.h"

/* The nodes of an axis other than the middle one: 0 2 (3), for j = 0 1 (2). */
FN int beside(int j)
{
    return j + (j > 0);
}

/* The middle level along z. */
FN int middle(int depth)
{
    return depth == 1 ? 0 : 1;
}

FN int axes_of(int depth)
{
    return depth == 1 ? 2 : 3;
}

/* What 16 particles need of one axis: weights, slopes per cell, and node minus particle times weight. */
typedef struct axis_stencil {
    real w[4], s[4], d[4];
} axis_stencil;

/* From offsets g; see method/spline.h for the splines. Small weights keep their digits, and others
 * follow from sum_b w_b = 1 and (cubic) sum_b w_b b = 1 + g. */
FN axis_stencil axis_stencil_of(real g, int width)
{
    axis_stencil t;
    real a = R(1) - g;
    if (width == 4) {
        t.w[0] = R(1 / 6.f) * a * a * a;
        t.w[3] = R(1 / 6.f) * g * g * g;
        t.w[2] = t.w[0] + (g - R(2) * t.w[3]);
        t.w[1] = R(1) - t.w[0] - t.w[2] - t.w[3];
        t.s[0] = R(-0.5) * a * a;
        t.s[3] = R(0.5) * g * g;
        t.s[2] = R(1) + t.s[0] - R(2) * t.s[3];
        t.s[1] = -(t.s[0] + t.s[2] + t.s[3]);
    } else {
        t.w[0] = R(0.5) * a * a;
        t.w[2] = R(0.5) * g * g;
        t.w[1] = R(1) - t.w[0] - t.w[2];
        t.s[0] = -a;
        t.s[2] = g;
        t.s[1] = a - g;
        t.w[3] = t.s[3] = real_of(0);
    }
    UNROLL
    for (int b = 0; b < 4; b++)
        t.d[b] = t.w[b] * (R(b) - (width == 4 ? R(1) : R(0.5)) - g);
    return t;
}

typedef struct lane_stencil {
    axis_stencil axis[3];
} lane_stencil;

FN lane_stencil lane_stencil_of(vec x, int width)
{
    lane_stencil t;
    UNROLL
    for (int a = 0; a < FIRN_DIM; a++)
        t.axis[a] = axis_stencil_of(x.e[a], width);
    return t;
}

/* MLS: the slopes of the fit in place of those of the weights. */
FN void lane_stencil_fit(lane_stencil *t, int width)
{
    UNROLL
    for (int a = 0; a < FIRN_DIM; a++)
        UNROLL
    for (int b = 0; b < 4; b++)
        t->axis[a].s[b] = inv_D_of(width) * t->axis[a].d[b];
}

/* Four values of each of 16 particles to memory, those of a particle together: where is quad_of. */
FN void quads_store(float (*quads)[4], const real v[4])
{
    real a = WIDE_LOW(v[0], v[1], 1), b = WIDE_HIGH(v[0], v[1], 1);
    real c = WIDE_LOW(v[2], v[3], 1), d = WIDE_HIGH(v[2], v[3], 1);
    real_store(quads[0], WIDE_LOW(a, c, 2));
    real_store(quads[4], WIDE_HIGH(a, c, 2));
    real_store(quads[8], WIDE_LOW(b, d, 2));
    real_store(quads[12], WIDE_HIGH(b, d, 2));
}

FN const float *quad_of(const float (*quads)[4], int k)
{
    return quads[(k & 3) * 4 + (k >> 2)];
}

/* Leave for the transfers what they take one particle at a time. */
FN void lane_stencil_stage(cpu_scratch *s, const lane_stencil *t, int width, int depth, bool slopes)
{
    quads_store(s->wx, t->axis[0].w);
    if (slopes)
        quads_store(s->sx, t->axis[0].s);
    UNROLL
    for (int a = 1; a < axes_of(depth); a++)
        UNROLL
    for (int j = 0; j < width - 1; j++) {
        real_store(s->weight[a - 1][j], t->axis[a].w[beside(j)]);
        if (slopes)
            real_store(s->slope[a - 1][j], t->axis[a].s[beside(j)]);
    }
}

/* L <-> L_1 and D, for all lines of a cell. */
FN void lines_differ(real L[16], int width, int depth)
{
    UNROLL
    for (int c = 0; c < depth; c++)
        UNROLL
    for (int j = 0; j < width - 1; j++)
        L[4 * c + beside(j)] -= L[4 * c + 1];
    if (depth == 1)
        return;
    UNROLL
    for (int j = 0; j < width - 1; j++)
        UNROLL
    for (int b = 0; b < width; b++)
        L[4 * beside(j) + b] -= L[4 + b];
}

/* The transpose: sums for all nodes and for the others become sums for each. */
FN void lines_divide(real L[16], int width, int depth)
{
    UNROLL
    for (int c = 0; c < depth; c++)
        UNROLL
    for (int j = 0; j < width - 1; j++)
        L[4 * c + 1] -= L[4 * c + beside(j)];
    if (depth == 1)
        return;
    UNROLL
    for (int j = 0; j < width - 1; j++)
        UNROLL
    for (int b = 0; b < width; b++)
        L[4 + b] -= L[4 * beside(j) + b];
}

FN float *slab_line(float (*slab)[16], int cell, int b, int c)
{
    return slab[(cpu_cell_at(cell, 2) + c) * TILE_SIDE + cpu_cell_at(cell, 1) + b];
}

FN void slab_load(real L[16], float (*slab)[16], int cell, int width, int depth)
{
    UNROLL
    for (int c = 0; c < depth; c++)
        UNROLL
    for (int b = 0; b < width; b++)
        L[4 * c + b] = real_load(slab_line(slab, cell, b, c));
    lines_differ(L, width, depth);
}

FN void slab_add(real L[16], float (*slab)[16], int cell, int width, int depth)
{
    lines_divide(L, width, depth);
    UNROLL
    for (int c = 0; c < depth; c++)
        UNROLL
    for (int b = 0; b < width; b++) {
        float *line = slab_line(slab, cell, b, c);
        real_store(line, real_load(line) + L[4 * c + b]);
    }
}

/* The slab of the cells at x, from the tile; or added to the tile and emptied. */
FN void slab_take(float (*slab)[16], const float *tile, int x, int depth)
{
    for (int l = 0; l < (depth == 1 ? TILE_SIDE : TILE_LINES); l++)
        real_store(slab[l], real_load(tile + l * TILE_LINE + 4 * x));
}

FN void slab_give(float (*slab)[16], float *tile, int x, int depth)
{
    for (int l = 0; l < (depth == 1 ? TILE_SIDE : TILE_LINES); l++) {
        float *line = tile + l * TILE_LINE + 4 * x;
        real_store(line, real_load(line) + real_load(slab[l]));
        real_store(slab[l], real_of(0));
    }
}

/* ---- From lines to particles ---------------------------------------------------------------------- */

/*
 * Sums over the stencil of one particle, of differences from the middle: along y for each level
 * of z, then along z; U[j] are those beside the middle of y, and t those of each level of z.
 */
typedef struct gathered {
    real S, U[3], t[4];
} gathered;

FN gathered gather_lines(const real L[16], const cpu_scratch *s, int k, int width, int depth)
{
    gathered g;
    int at = 4 * middle(depth);
    UNROLL
    for (int c = 0; c < depth; c++) {
        g.t[c] = L[4 * c + 1];
        UNROLL
        for (int j = 0; j < width - 1; j++)
            g.t[c] += s->weight[0][j][k] * L[4 * c + beside(j)];
    }
    g.S = g.t[middle(depth)];
    UNROLL
    for (int j = 0; j < width - 1; j++)
        g.U[j] = L[at + beside(j)];
    UNROLL
    for (int c = 0; c < depth - 1; c++) {
        float wz = s->weight[1][c][k];
        g.S += wz * g.t[beside(c)];
        UNROLL
        for (int j = 0; j < width - 1; j++)
            g.U[j] += wz * L[4 * beside(c) + beside(j)];
    }
    return g;
}

/* (first) (dv/dx) (dv/dy) (dv/dz), per cell, of one particle; wx are its weights along x. */
FN real with_slopes(real first, const gathered *v, real wx, const cpu_scratch *s, int k, int width,
                    int depth)
{
    real y = real_of(0), z = real_of(0), sx = spread(real_load(quad_of(s->sx, k)));
    UNROLL
    for (int j = 0; j < width - 1; j++) {
        y += s->slope[0][j][k] * v->U[j];
        if (depth > 1)
            z += s->slope[1][j][k] * v->t[beside(j)];
    }
    return sum_quarters(first, sx * v->S, wx * y, wx * z);
}

/* ---- From particles to lines ---------------------------------------------------------------------- */

/* What a particle adds to the sums of a cell: X to all nodes of x; Y_j, X's share included, to
 * those beside the middle of y; Z_j with X's share to those beside the middle of z. */
FN void add_particle(real acc[16], const cpu_scratch *s, int k, real X, const real Y[3],
                     const real Z[3], int width, int depth)
{
    int at = 4 * middle(depth);
    acc[at + 1] += X;
    UNROLL
    for (int j = 0; j < width - 1; j++)
        acc[at + beside(j)] += Y[j];
    UNROLL
    for (int c = 0; c < depth - 1; c++) {
        float wz = s->weight[1][c][k];
        at = 4 * beside(c);
        acc[at + 1] += wz * X;
        if (Z)
            acc[at + 1] += Z[c];
        UNROLL
        for (int j = 0; j < width - 1; j++) {
            acc[at + beside(j)] += wz * Y[j];
            if (Z)
                acc[at + beside(j)] += s->weight[0][j][k] * Z[c];
        }
    }
}

/* (0, dt f_i) += (0, t grad w_ip)                                                              step 3 */
FN void scatter_impulse(cpu_scratch *s, int first, int end, int cell, int width, int depth)
{
    real acc[16] = {0};
    for (int k = first; k < end; k++) {
        const float *row = s->rows[0][k];
        real wx = spread(real_load(quad_of(s->wx, k))), sx = spread(real_load(quad_of(s->sx, k)));
        real X = sx * repeat_four(row + 4), ty = wx * repeat_four(row + 8);
        real tz = wx * repeat_four(row + 12), Y[3], Z[3];
        UNROLL
        for (int j = 0; j < width - 1; j++) {
            Y[j] = s->weight[0][j][k] * X + s->slope[0][j][k] * ty;
            Z[j] = s->slope[1][j][k] * tz;
        }
        add_particle(acc, s, k, X, Y, Z, width, depth);
    }
    slab_add(acc, s->slab[1], cell, width, depth);
}

#endif
