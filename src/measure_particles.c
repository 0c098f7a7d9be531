#include "measure.h"
#include "method/snow_law.h"
#include "method/svd.h"

#define PASTE(dim) measure_particles##dim
#define NAME(dim) PASTE(dim)

static vec row_vec(const measure_rows *rows, firn_attribute a, size_t r)
{
    vec x;
    memcpy(&x, rows->values[a] + r * FIRN_DIM, sizeof x);
    return x;
}

static mat row_mat(const measure_rows *rows, firn_attribute a, size_t r)
{
    mat x;
    memcpy(&x, rows->values[a] + r * FIRN_DIM * FIRN_DIM, sizeof x);
    return x;
}

/* V0 Psi                                                                                    eq (1) */
static double elastic_energy(const measure_rows *rows, size_t r)
{
    mat F = row_mat(rows, FIRN_F_E, r);
    lame hard = snow_harden(rows->values[FIRN_MU0][r], rows->values[FIRN_LAMBDA0][r],
                            rows->values[FIRN_HARDENING][r], rows->values[FIRN_J_P][r]);
    return rows->values[FIRN_VOLUME][r] * snow_energy(F, svd_polar(svd_of(F)), hard);
}

/* x x v, plus what B carries: eps : B^T. */
static void add_angular_momentum(double m, vec x, vec v, mat B, double L[3])
{
    double x3[3] = {0}, v3[3] = {0}, B3[3][3] = {{0}};
    memcpy(x3, x.e, sizeof x.e);
    memcpy(v3, v.e, sizeof v.e);
    for (int a = 0; a < FIRN_DIM; a++)
        memcpy(B3[a], B.m[a], sizeof B.m[a]);
    for (int a = 0; a < 3; a++) {
        int b = (a + 1) % 3, c = (a + 2) % 3;
        L[a] += m * (x3[b] * v3[c] - x3[c] * v3[b] + B3[c][b] - B3[b][c]);
    }
}

void NAME(FIRN_DIM)(const measure_rows *rows, firn_stats *stats)
{
    for (size_t r = 0; r < rows->count; r++) {
        double m = rows->values[FIRN_MASS][r], J_P = rows->values[FIRN_J_P][r];
        vec x = row_vec(rows, FIRN_POSITION, r), v = row_vec(rows, FIRN_VELOCITY, r);
        mat B = row_mat(rows, FIRN_B, r);
        stats->mass += m;
        for (int a = 0; a < FIRN_DIM; a++)
            stats->momentum[a] += m * v.e[a];
        add_angular_momentum(m, x, v, B, stats->angular_momentum);
        /* The affine part of APIC and MLS moves too: half m B : B D^-1. */
        stats->kinetic_energy += 0.5 * m * (vec_norm2(v) + rows->inv_D * mat_dot(B, B));
        stats->elastic_energy += elastic_energy(rows, r);
        stats->max_speed = fmax(stats->max_speed, vec_norm(v));
        stats->J_P_min = fmin(stats->J_P_min, J_P);
        stats->J_P_max = fmax(stats->J_P_max, J_P);
    }
}
