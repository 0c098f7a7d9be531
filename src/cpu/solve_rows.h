/*
 * Step 6 over the nodes of one block: the algebra of vectors, four nodes of a line at a time. Sums are of
 * the mass inner product, in double.
 */
#ifndef FIRN_CPU_SOLVE_ROWS_H
#define FIRN_CPU_SOLVE_ROWS_H

#include "cpu/solve.h"
#include "cpu/stencil.h"
#include "method/mat.h"

typedef double wide_double __attribute__((vector_size(128)));

/* The lines of a block: where each begins in a field. */
#define for_each_line(block, at)                                                                   \
    for (size_t at = (size_t)(block)*CPU_BLOCK_FLOATS, end_of_##at = at + 16 * ROW_LINES;          \
         at < end_of_##at; at += 16)

enum { ROW_LINES = FIRN_DIM == 2 ? 4 : 16 };

#define ROW_VELOCITY ((lane_mask){0, -1, -1, -1, 0, -1, -1, -1, 0, -1, -1, -1, 0, -1, -1, -1})

FN real row_load(const cpu_system *s, int vector, size_t at)
{
    return real_load(s->vector[vector] + at);
}

FN void row_store(const cpu_system *s, int vector, size_t at, real x)
{
    real_store(s->vector[vector] + at, x);
}

/* v*; the grid keeps a unit in channel 0. */
FN real row_star(const cpu_system *s, size_t at)
{
    return lane_select(ROW_VELOCITY, real_load(s->pass->grid->field[0] + at), real_of(0));
}

/* Four floats, one a node, in its channels of velocity. */
FN real row_of_nodes(const float *values)
{
    four x;
    memcpy(&x, values, sizeof x);
    real spread_out = __builtin_shufflevector(x, x, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    return lane_select(ROW_VELOCITY, spread_out, real_of(0));
}

FN real row_mass(const cpu_system *s, size_t at)
{
    return row_of_nodes(s->nodes.m + at / 4);
}

/* beta dt^2 / m, and 0 where nothing is */
FN real row_scale(const cpu_system *s, size_t at)
{
    real m = row_mass(s, at);
    lane_mask active = m > R(0);
    return lane_select(active, s->scale / lane_select(active, m, real_of(1)), real_of(0));
}

/* <a, b> of a line, to be added up */
FN wide_double row_dot(const cpu_system *s, size_t at, real a, real b)
{
    return __builtin_convertvector(row_mass(s, at), wide_double) *
           __builtin_convertvector(a, wide_double) * __builtin_convertvector(b, wide_double);
}

FN double row_sum(wide_double x)
{
    double sum = 0;
    for (int k = 0; k < 16; k++)
        sum += x[k];
    return sum;
}

/* Each channel of a node replaced by the sum of all. */
FN real row_node_sums(real x)
{
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    return x + __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
}

/* Q a: see step06_free_part */
FN real row_free_part(const cpu_system *s, uint32_t block, size_t at, real a)
{
    if (!s->pass->grid->blocks[block].near_bodies)
        return a;
    real bond = row_load(s, SOLVE_BOND, at), n = lane_select(ROW_VELOCITY, bond, real_of(0));
    real keep =
        __builtin_shufflevector(bond, bond, 0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
    return keep * (a - row_node_sums(a * n) * n);
}

/* (x, y, z) -> (y, z, x) and (z, x, y) in each node */
FN real row_next(real x)
{
    return __builtin_shufflevector(x, x, 0, 2, 3, 1, 4, 6, 7, 5, 8, 10, 11, 9, 12, 14, 15, 13);
}

FN real row_last(real x)
{
    return __builtin_shufflevector(x, x, 0, 3, 1, 2, 4, 7, 5, 6, 8, 11, 9, 10, 12, 15, 13, 14);
}

/* Q P^-1 a */
FN real row_precondition(const cpu_system *s, uint32_t block, size_t at, real a)
{
    if (!s->preconditioned)
        return a;
    real z = row_load(s, SOLVE_DIAGONAL, at) * a;
    if (!s->diagonal) {
        real beside = row_load(s, SOLVE_BESIDE, at);
        z += row_last(beside) * row_next(a) + row_next(beside) * row_last(a);
    }
    return row_free_part(s, block, at, z);
}

/* What particles have added up, which is then forgotten. */
FN real row_take(const cpu_system *s, size_t at)
{
    real x = row_load(s, SOLVE_H, at);
    row_store(s, SOLVE_H, at, real_of(0));
    return x;
}

/* ---- The passes; solve.h says what each does -------------------------------------------------- */

static double rows_mass(const cpu_system *s, uint32_t block)
{
    double sum = 0;
    for_each_line(block, at) for (int k = 0; k < 4; k++) sum += s->nodes.m[at / 4 + (size_t)k];
    return sum;
}

static double rows_residual(const cpu_system *s, uint32_t block)
{
    wide_double sum = {0};
    for_each_line(block, at)
    {
        real r = -row_free_part(s, block, at, row_scale(s, at) * row_take(s, at));
        row_store(s, SOLVE_R, at, r);
        sum += row_dot(s, at, r, r);
    }
    return row_sum(sum);
}

/* I + beta dt^2 m^-1 H_ii of one node, inverted in place; nodes without mass get 0. */
static void invert_node(const cpu_system *s, size_t at)
{
    float *on = s->vector[SOLVE_DIAGONAL] + at, *beside = s->vector[SOLVE_BESIDE] + at;
    double m = s->nodes.m[at / 4], scale = m > 0 ? s->scale / m : 0;
    double A[3][3], inverse[3][3];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            double H = a == b ? on[1 + a] : s->diagonal ? 0 : beside[4 - a - b];
            A[a][b] = (a == b) + scale * H;
        }
    for (int a = 0; a < 3; a++) /* the inverse is symmetric: its rows are columns of cofactors */
        for (int b = 0; b < 3; b++)
            inverse[a][b] = A[(a + 1) % 3][(b + 1) % 3] * A[(a + 2) % 3][(b + 2) % 3] -
                            A[(a + 1) % 3][(b + 2) % 3] * A[(a + 2) % 3][(b + 1) % 3];
    double det = A[0][0] * inverse[0][0] + A[0][1] * inverse[0][1] + A[0][2] * inverse[0][2];
    for (int a = 0; a < 3; a++) {
        on[1 + a] = m > 0 ? (float)(inverse[a][a] / det) : 0;
        if (!s->diagonal)
            beside[1 + a] = m > 0 ? (float)(inverse[(a + 1) % 3][(a + 2) % 3] / det) : 0;
    }
}

static double rows_invert(const cpu_system *s, uint32_t block)
{
    for_each_line(block, at) for (size_t k = 0; k < 4; k++) invert_node(s, at + 4 * k);
    return 0;
}

static double rows_start(const cpu_system *s, uint32_t block)
{
    for_each_line(block, at)
    {
        row_store(s, SOLVE_X, at, real_of(0));
        row_store(s, SOLVE_P, at, real_of(0));
        row_store(s, SOLVE_AP, at, real_of(0));
        if (s->preconditioned)
            row_store(s, SOLVE_Z, at, row_precondition(s, block, at, row_load(s, SOLVE_R, at)));
    }
    return 0;
}

static double rows_product(const cpu_system *s, uint32_t block)
{
    wide_double sum = {0};
    for_each_line(block, at)
    {
        real z = row_load(s, SOLVE_Z, at);
        real Az = row_free_part(s, block, at, z + row_scale(s, at) * row_take(s, at));
        row_store(s, SOLVE_AZ, at, Az);
        sum += row_dot(s, at, z, Az);
    }
    return row_sum(sum);
}

static double rows_turn(const cpu_system *s, uint32_t block)
{
    wide_double sum = {0};
    for_each_line(block, at)
    {
        real p = row_load(s, SOLVE_Z, at) + s->beta * row_load(s, SOLVE_P, at);
        real Ap = row_load(s, SOLVE_AZ, at) + s->beta * row_load(s, SOLVE_AP, at);
        row_store(s, SOLVE_P, at, p);
        row_store(s, SOLVE_AP, at, Ap);
        sum += row_dot(s, at, Ap, row_precondition(s, block, at, Ap));
    }
    return row_sum(sum);
}

static double rows_advance(const cpu_system *s, uint32_t block)
{
    wide_double sum = {0};
    for_each_line(block, at)
    {
        real r = row_load(s, SOLVE_R, at) - s->alpha * row_load(s, SOLVE_AP, at);
        row_store(s, SOLVE_X, at, row_load(s, SOLVE_X, at) + s->alpha * row_load(s, SOLVE_P, at));
        row_store(s, SOLVE_R, at, r);
        if (s->preconditioned) /* anew: with floats, z - alpha P^-1 Ap would part from r */
            row_store(s, SOLVE_Z, at, row_precondition(s, block, at, r));
        sum += row_dot(s, at, r, r);
    }
    return row_sum(sum);
}

/* ---- Newton's method -------------------------------------------------------------------------- */

/* beta dt M^-1 f of what particles have added up */
FN real row_push(const cpu_system *s, size_t at)
{
    return row_scale(s, at) * row_take(s, at) * R(1 / s->pass->dt);
}

static double rows_inertia(const cpu_system *s, uint32_t block)
{
    for_each_line(block, at) row_store(s, SOLVE_U, at, row_load(s, SOLVE_U, at) - row_push(s, at));
    return 0;
}

static double rows_depart(const cpu_system *s, uint32_t block)
{
    for_each_line(block, at)
    {
        real star = row_star(s, at), given = star - row_free_part(s, block, at, star);
        row_store(s, SOLVE_V, at, given);
        row_store(s, SOLVE_X, at, row_load(s, SOLVE_X, at) + (star - given));
    }
    return 0;
}

static double rows_gradient(const cpu_system *s, uint32_t block)
{
    wide_double sum = {0};
    for_each_line(block, at)
    {
        real r = row_load(s, SOLVE_U, at) - row_load(s, SOLVE_V, at) + row_push(s, at);
        r = row_free_part(s, block, at, r);
        row_store(s, SOLVE_R, at, r);
        sum += row_dot(s, at, r, r);
    }
    return row_sum(sum);
}

static double rows_slope(const cpu_system *s, uint32_t block)
{
    wide_double sum = {0};
    for_each_line(block, at) sum +=
        row_dot(s, at, row_load(s, SOLVE_R, at), row_load(s, SOLVE_X, at));
    return row_sum(sum);
}

static double rows_kinetic(const cpu_system *s, uint32_t block)
{
    wide_double sum = {0};
    for_each_line(block, at)
    {
        wide_double w = __builtin_convertvector(row_load(s, SOLVE_V, at), wide_double) -
                        __builtin_convertvector(row_load(s, SOLVE_U, at), wide_double);
        sum += __builtin_convertvector(row_mass(s, at), wide_double) * w * w;
    }
    return 0.5 * row_sum(sum);
}

static double rows_walk(const cpu_system *s, uint32_t block)
{
    for_each_line(block, at)
        row_store(s, SOLVE_V, at, row_load(s, SOLVE_V, at) + s->alpha * row_load(s, SOLVE_X, at));
    return 0;
}

static double rows_arrive(const cpu_system *s, uint32_t block)
{
    for_each_line(block, at) row_store(s, SOLVE_X, at, row_load(s, SOLVE_V, at) - row_star(s, at));
    return 0;
}

#endif
