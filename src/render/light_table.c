#include "render/light_table.h"

#include <stdlib.h>

#include "render/phase.h"
#include "status.h"

/* A direction that lies in the plane at right angles to up, as near to `wish` as can be. */
static vec3 level(vec3 wish, vec3 up)
{
    vec3 flat = vec_sub(wish, vec_scale(up, vec_dot(wish, up))), other;
    if (vec_length(flat) < 1e-3f)
        frame_around(up, &flat, &other);
    return vec_unit(flat);
}

firn_status light_table_create(light_table *t, int width, int height, vec3 forward, vec3 up)
{
    size_t count = (size_t)width * (size_t)height;
    *t = (light_table){.width = width, .height = height, .up = up, .forward = level(forward, up)};
    t->right = vec_cross(t->forward, up);
    t->pixels = calloc(count, sizeof *t->pixels);
    t->columns = calloc(count, sizeof *t->columns);
    t->rows = calloc((size_t)height, sizeof *t->rows);
    t->solid = calloc((size_t)height, sizeof *t->solid);
    if (t->pixels && t->columns && t->rows && t->solid)
        return FIRN_OK;
    light_table_clear(t);
    return fail(FIRN_NO_MEMORY, "no memory for a map of %d x %d pixels", width, height);
}

void light_table_clear(light_table *t)
{
    free(t->pixels);
    free(t->columns);
    free(t->rows);
    free(t->solid);
    *t = (light_table){0};
}

static vec3 pixel_at(const light_table *t, int x, int y)
{
    x = (x % t->width + t->width) % t->width;
    y = y < 0 ? 0 : y >= t->height ? t->height - 1 : y;
    return t->pixels[(size_t)y * (size_t)t->width + (size_t)x];
}

/* Integral over a pixel of the bilinear function: 1/8, 6/8, 1/8 of three along each axis. */
static vec3 pixel_integral(const light_table *t, int x, int y)
{
    static const float share[3] = {0.125f, 0.75f, 0.125f};
    vec3 sum = {0, 0, 0};
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            sum = vec_add(sum, vec_scale(pixel_at(t, x + i - 1, y + j - 1), share[i] * share[j]));
    return sum;
}

/* Sums of one row, as shares of it; returns the row's light. */
static double sum_row(light_table *t, int y, double mean[3], double *square)
{
    double row = 0, solid = t->solid[y];
    float *columns = t->columns + (size_t)y * (size_t)t->width;
    for (int x = 0; x < t->width; x++) {
        vec3 value = pixel_integral(t, x, y);
        double light = vec_luminance(value);
        row += light * solid;
        columns[x] = (float)row;
        *square += light * light * solid;
        mean[0] += value.x * solid, mean[1] += value.y * solid, mean[2] += value.z * solid;
    }
    for (int x = 0; x < t->width; x++)
        columns[x] = row > 0 ? (float)(columns[x] / row) : (float)(x + 1) / (float)t->width;
    return row;
}

firn_status light_table_finish(light_table *t)
{
    double total = 0, mean[3] = {0, 0, 0}, square = 0, angle = M_PI / t->height;
    for (int y = 0; y < t->height; y++) {
        t->solid[y] = (float)((cos(angle * y) - cos(angle * (y + 1))) * 2 * M_PI / t->width);
        total += sum_row(t, y, mean, &square);
        t->rows[y] = (float)total;
    }
    if (!(total > 0) || !isfinite(total))
        return fail(FIRN_USAGE, "a map without light");
    for (int y = 0; y < t->height; y++)
        t->rows[y] = (float)(t->rows[y] / total);
    double scale = 1 / (4 * M_PI);
    t->mean = (vec3){(float)(mean[0] * scale), (float)(mean[1] * scale), (float)(mean[2] * scale)};
    t->spread = (float)(total * total * scale / square);
    return FIRN_OK;
}

/* ---- Directions --------------------------------------------------------------------------------- */

vec3 light_table_direction(const light_table *t, float u, float v)
{
    float turn = (u - 0.5f) * 2 * PI_F, fall = v * PI_F, sine = sinf(fall);
    return vec_combine(t->forward, sine * cosf(turn), t->right, sine * sinf(turn), t->up,
                       cosf(fall));
}

/* Pixels from the left and from the top. */
static void table_place(const light_table *t, vec3 direction, float *x, float *y)
{
    float f = vec_dot(direction, t->forward), r = vec_dot(direction, t->right);
    float up = lesser(greater(vec_dot(direction, t->up), -1), 1);
    *x = (atan2f(r, f) / (2 * PI_F) + 0.5f) * (float)t->width;
    *y = acosf(up) / PI_F * (float)t->height;
}

vec3 light_table_value(const light_table *t, vec3 direction)
{
    float x, y;
    table_place(t, direction, &x, &y);
    x -= 0.5f, y -= 0.5f;
    int i = (int)floorf(x), j = (int)floorf(y);
    float a = x - (float)i, b = y - (float)j;
    return vec_mix(vec_mix(pixel_at(t, i, j), pixel_at(t, i + 1, j), a),
                   vec_mix(pixel_at(t, i, j + 1), pixel_at(t, i + 1, j + 1), a), b);
}

static float share_of(const float *sums, int index)
{
    return sums[index] - (index > 0 ? sums[index - 1] : 0);
}

/* Within a row, places are even in the cosine: even over the sphere. */
static float pixel_pdf(const light_table *t, int x, int y)
{
    const float *columns = t->columns + (size_t)y * (size_t)t->width;
    return share_of(t->rows, y) * share_of(columns, x) / t->solid[y];
}

static int clamp_index(int index, int count)
{
    return index < 0 ? 0 : index >= count ? count - 1 : index;
}

float light_table_pdf(const light_table *t, vec3 direction)
{
    float x, y;
    table_place(t, direction, &x, &y);
    return pixel_pdf(t, clamp_index((int)x, t->width), clamp_index((int)y, t->height));
}

/* The first of the sums that exceeds u. */
static int find_share(const float *sums, int count, float u)
{
    int low = 0, high = count - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sums[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

vec3 light_table_choose(const light_table *t, const float u[2], float *pdf)
{
    int y = find_share(t->rows, t->height, u[1]);
    const float *columns = t->columns + (size_t)y * (size_t)t->width;
    int x = find_share(columns, t->width, u[0]);
    float own_x = share_of(columns, x), own_y = share_of(t->rows, y);
    float a = own_x > 0 ? (u[0] - (columns[x] - own_x)) / own_x : 0.5f;
    float b = own_y > 0 ? (u[1] - (t->rows[y] - own_y)) / own_y : 0.5f;
    float angle = PI_F / (float)t->height;
    float cosine = cosf(angle * (float)y) * (1 - b) + cosf(angle * (float)(y + 1)) * b;
    *pdf = pixel_pdf(t, x, y);
    return light_table_direction(t, ((float)x + a) / (float)t->width,
                                 acosf(lesser(greater(cosine, -1), 1)) / PI_F);
}
