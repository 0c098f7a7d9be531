#include "render/field.h"

#include <stdlib.h>

#include "status.h"

enum { MOST_CELLS = 128 }; /* along an axis */
static const float grains_across = 2.6f;

/* Spheres of 0.6 spacings leave no way through a cell with three quarters of the grains that fit. */
static void find_buried(field *f, float spacing)
{
    const float across = f->cell / spacing;
    const uint32_t full = (uint32_t)(0.75f * across * across * across);
    const ptrdiff_t rows = f->size[0], layers = rows * f->size[1];
#pragma omp parallel for schedule(static)
    for (int z = 1; z < f->size[2] - 1; z++)
        for (int y = 1; y < f->size[1] - 1; y++)
            for (int x = 1; x < f->size[0] - 1; x++) {
                ptrdiff_t at = z * layers + y * rows + x;
                bool buried = f->counts[at] >= full;
                for (int n = 0; n < 27 && buried; n++)
                    buried =
                        f->counts[at + (n / 9 - 1) * layers + (n / 3 % 3 - 1) * rows + n % 3 - 1] >=
                        full;
                f->buried[at] = buried;
            }
}

firn_status field_build(field *f, const firn_frame *frame, const double origin[3],
                        const points_box *box, float spacing)
{
    vec3 extent = vec_sub(box->high, box->low);
    float longest = greater(extent.x, greater(extent.y, extent.z));
    f->cell = greater(grains_across * spacing, longest / (MOST_CELLS - 8));
    f->low = vec_sub(box->low, vec_scale((vec3){1, 1, 1}, 3 * f->cell));
    f->size[0] = (int)(extent.x / f->cell) + 7;
    f->size[1] = (int)(extent.y / f->cell) + 7;
    f->size[2] = (int)(extent.z / f->cell) + 7;
    size_t count = (size_t)f->size[0] * (size_t)f->size[1] * (size_t)f->size[2];
    free(f->counts);
    free(f->buried);
    f->counts = calloc(count, sizeof *f->counts);
    f->buried = calloc(count, sizeof *f->buried);
    if (!f->counts || !f->buried)
        return fail(FIRN_NO_MEMORY, "no memory to count the snow of a picture");
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < frame->count; i++) {
        vec3 p;
        if (!points_local(frame, i, origin, &p))
            continue;
        vec3 u = vec_scale(vec_sub(p, f->low), 1 / f->cell);
        if (!(u.x >= 0 && u.y >= 0 && u.z >= 0 && u.x < (float)f->size[0] &&
              u.y < (float)f->size[1] && u.z < (float)f->size[2]))
            continue;
        size_t at = ((size_t)u.z * (size_t)f->size[1] + (size_t)u.y) * (size_t)f->size[0];
        __atomic_fetch_add(&f->counts[at + (size_t)u.x], 1, __ATOMIC_RELAXED);
    }
    find_buried(f, spacing);
    return FIRN_OK;
}

void field_clear(field *f)
{
    free(f->counts);
    free(f->buried);
    *f = (field){0};
}

static float cell_count(const field *f, int x, int y, int z)
{
    if (x < 0 || y < 0 || z < 0 || x >= f->size[0] || y >= f->size[1] || z >= f->size[2])
        return 0;
    return (float)
        f->counts[((size_t)z * (size_t)f->size[1] + (size_t)y) * (size_t)f->size[0] + (size_t)x];
}

/*
 * Counts of the 4 x 4 x 4 cells around x, each weighed by the cubic spline of its distance on two
 * axes and the spline's slope on the third: a smooth gradient from rough counts.
 */
vec3 field_outward(const field *f, vec3 x)
{
    float at[3] = {(x.x - f->low.x) / f->cell - 0.5f, (x.y - f->low.y) / f->cell - 0.5f,
                   (x.z - f->low.z) / f->cell - 0.5f};
    int base[3];
    float weight[3][4], slope[3][4];
    for (int a = 0; a < 3; a++) {
        if (!(at[a] > -2 && at[a] < (float)f->size[a] + 2))
            return (vec3){0, 0, 0};
        float t = at[a] - floorf(at[a]), s = 1 - t;
        base[a] = (int)floorf(at[a]) - 1;
        weight[a][0] = s * s * s / 6, weight[a][3] = t * t * t / 6;
        weight[a][1] = 2.0f / 3 - t * t + t * t * t / 2;
        weight[a][2] = 2.0f / 3 - s * s + s * s * s / 2;
        slope[a][0] = -s * s / 2, slope[a][3] = t * t / 2;
        slope[a][1] = -2 * t + 1.5f * t * t, slope[a][2] = 2 * s - 1.5f * s * s;
    }
    vec3 gradient = {0, 0, 0};
    float total = 0;
    for (int k = 0; k < 4; k++) {
        for (int j = 0; j < 4; j++) {
            float line = 0, sloped = 0;
            for (int i = 0; i < 4; i++) {
                float n = cell_count(f, base[0] + i, base[1] + j, base[2] + k);
                line += n * weight[0][i];
                sloped += n * slope[0][i];
            }
            total += line * weight[1][j] * weight[2][k];
            gradient.x += sloped * weight[1][j] * weight[2][k];
            gradient.y += line * slope[1][j] * weight[2][k];
            gradient.z += line * weight[1][j] * slope[2][k];
        }
    }
    return total > 0 ? vec_scale(gradient, -1 / total) : (vec3){0, 0, 0};
}
