#include "derived.h"

#include <math.h>
#include <stdlib.h>

#include "status.h"
#define REAL_DOUBLE
#define FIRN_DIM 3
#include "method/snow_law.h"
#include "method/svd.h"

enum { CHUNK = 32768, WIDEST = 9 }; /* rows at a time: from a GPU, each attribute costs a wait */

typedef struct state_rows {
    size_t count;
    int dimensions;
    double *values[FIRN_STATE_ATTRIBUTES];
} state_rows;

/* The deformation of a row; that of two dimensions is plane strain, with 1 at the end. */
static mat deformation(const state_rows *rows, size_t r)
{
    mat F = mat_identity();
    size_t d = (size_t)rows->dimensions;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            F.m[i][j] = rows->values[FIRN_F_E][(r * d + i) * d + j];
    return F;
}

/* det F_E J_P: how much a particle's volume has changed. States given from outside may be crushed flat or
 * inside out: then the size of the number counts, and never nothing, so that what is divided by it is finite. */
static double volume_ratio(mat F, double J_P)
{
    return fmax(fabs(mat_det(F) * J_P), 1e-12);
}

/* rho = m / (V0 det F_E J_P) */
static void derive_density(const state_rows *rows, size_t r, double *out)
{
    double J = volume_ratio(deformation(rows, r), rows->values[FIRN_J_P][r]);
    *out = rows->values[FIRN_MASS][r] / (rows->values[FIRN_VOLUME][r] * J);
}

/* sigma = P F_E^T / (det F_E J_P): V sigma = V0 P F_E^T, with V as the density sees it      eq (6) */
static void derive_stress(const state_rows *rows, size_t r, double *out)
{
    double J_P = rows->values[FIRN_J_P][r];
    mat F = deformation(rows, r);
    svd s = svd_of(F);
    lame hard = snow_harden(rows->values[FIRN_MU0][r], rows->values[FIRN_LAMBDA0][r],
                            rows->values[FIRN_HARDENING][r], J_P);
    mat t = mat_scale(snow_kirchhoff(s.U, s.sigma, hard), 1 / volume_ratio(F, J_P));
    const double six[] = {t.m[0][0], t.m[1][1], t.m[2][2], t.m[0][1], t.m[1][2], t.m[0][2]};
    memcpy(out, six, sizeof six);
}

/* The state attributes that a derived one is made of, as bits. */
static unsigned needs(firn_attribute attribute)
{
    unsigned both = 1u << FIRN_F_E | 1u << FIRN_J_P;
    return attribute == FIRN_DENSITY
               ? both | 1u << FIRN_MASS | 1u << FIRN_VOLUME
               : both | 1u << FIRN_MU0 | 1u << FIRN_LAMBDA0 | 1u << FIRN_HARDENING;
}

firn_status derived_read(firn_attribute attribute, int d, size_t first, size_t count,
                         derived_source *source, const void *from, double *out)
{
    bool is_density = attribute == FIRN_DENSITY;
    size_t width = (size_t)firn_attribute_components(attribute, d);
    const size_t chunk = count < CHUNK ? count : CHUNK;
    double *buffer = malloc(sizeof(double) * (chunk + 1) * (WIDEST + 4));
    if (!buffer)
        return fail(FIRN_NO_MEMORY, "out of memory for %s", firn_attribute_name(attribute));
    state_rows rows = {.dimensions = d};
    double *next = buffer;
    for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES; a++)
        if (needs(attribute) >> a & 1) {
            rows.values[a] = next;
            next += chunk * (a == FIRN_F_E ? WIDEST : 1);
        }
    firn_status status = FIRN_OK;
    for (size_t done = 0; done < count && status == FIRN_OK; done += rows.count) {
        rows.count = count - done < CHUNK ? count - done : CHUNK;
        for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES && status == FIRN_OK; a++)
            if (rows.values[a])
                status = source(from, a, first + done, rows.count, rows.values[a]);
        for (size_t r = 0; r < rows.count && status == FIRN_OK; r++)
            (is_density ? derive_density : derive_stress)(&rows, r, out + (done + r) * width);
    }
    free(buffer);
    return status;
}
