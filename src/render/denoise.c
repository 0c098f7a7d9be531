#include "render/denoise.h"

#include <stdlib.h>
#include <string.h>

#include "status.h"

enum {
    REACH = 9, /* pixels that are asked, to each side */
    PATCH = 2, /* pixels that are compared, to each side */
    PAD = REACH + PATCH,
    BAND = 16,   /* rows that a thread takes */
    FEATURES = 7 /* albedo, normal, depth */
};
static const float strictness = 0.75f;   /* k of the light: smaller keeps more noise and detail */
static const float feature_bound = 0.6f; /* k of the features */
static const float outlier = 1.6f;       /* brighter than all neighbours by this is a firefly */
static const float farthest = 8;         /* less alike than this counts nothing */

/* Planes of one number a pixel, with a border that repeats the edge. */
typedef struct guide {
    int width, height;
    size_t stride, size;
    float *memory;   /* all planes; owned */
    float *light[3]; /* without fireflies */
    float *variance; /* smoothed */
    float *feature[FEATURES];
    float *tolerance[3]; /* of albedo, normal and depth: 1 / (k^2 max(floor, slope^2)) */
} guide;

static float luminance(vec3 c)
{
    return 0.2126f * c.x + 0.7152f * c.y + 0.0722f * c.z;
}

static int clampi(int x, int high)
{
    return x < 0 ? 0 : x >= high ? high - 1 : x;
}

static size_t pixel(const film_layers *l, int x, int y)
{
    return (size_t)clampi(y, l->height) * (size_t)l->width + (size_t)clampi(x, l->width);
}

static size_t place(const guide *g, int x, int y)
{
    return (size_t)(y + PAD) * g->stride + (size_t)(x + PAD);
}

/* ---- guides ---------------------------------------------------------------------------------- */

static bool guide_allocate(guide *g, int width, int height)
{
    *g = (guide){.width = width, .height = height, .stride = (size_t)width + 2 * PAD};
    g->size = g->stride * ((size_t)height + 2 * PAD);
    g->memory = malloc((3 + 1 + FEATURES + 3) * g->size * sizeof *g->memory);
    float *next = g->memory;
    for (int k = 0; k < 3; k++, next += g->size)
        g->light[k] = next;
    g->variance = next, next += g->size;
    for (int k = 0; k < FEATURES; k++, next += g->size)
        g->feature[k] = next;
    for (int k = 0; k < 3; k++, next += g->size)
        g->tolerance[k] = next;
    return g->memory;
}

/* The second brightest of the eight around (x, y): one firefly does not excuse another. */
static float bright_neighbour(const film_layers *l, int x, int y)
{
    float first = 0, second = 0;
    for (int k = 0; k < 9; k++) {
        float light = k == 4 ? 0 : luminance(l->light[pixel(l, x + k % 3 - 1, y + k / 3 - 1)]);
        second = light > first ? first : fmaxf(second, light);
        first = fmaxf(first, light);
    }
    return second;
}

/* Light as it is; variance and features through a tent over 3 x 3 pixels. */
static void fill_place(guide *g, const film_layers *l, int x, int y)
{
    size_t at = place(g, x, y), own = pixel(l, x, y);
    float light = luminance(l->light[own]), limit = outlier * bright_neighbour(l, x, y);
    vec3 kept = light > limit ? vec_scale(l->light[own], limit / light) : l->light[own];
    vec3 albedo = {0, 0, 0}, normal = {0, 0, 0};
    float variance = 0, depth = 0;
    for (int k = 0; k < 9; k++) {
        int i = k % 3 - 1, j = k / 3 - 1;
        float share = (float)((2 - abs(i)) * (2 - abs(j))) / 16;
        size_t from = pixel(l, x + i, y + j);
        albedo = vec_add(albedo, vec_scale(l->albedo[from], share));
        normal = vec_add(normal, vec_scale(l->normal[from], share));
        variance += share * l->variance[from];
        depth += share * l->depth[from];
    }
    const float values[FEATURES] = {albedo.x, albedo.y, albedo.z, normal.x,
                                    normal.y, normal.z, depth};
    for (int k = 0; k < FEATURES; k++)
        g->feature[k][at] = values[k];
    g->light[0][at] = kept.x, g->light[1][at] = kept.y, g->light[2][at] = kept.z;
    g->variance[at] = variance;
}

/* Squared change of features `from` up to `to` across a pixel. */
static float slope(const guide *g, int from, int to, size_t at)
{
    float sum = 0;
    for (int k = from; k < to; k++) {
        const float *f = g->feature[k];
        float dx = f[at + 1] - f[at - 1], dy = f[at + g->stride] - f[at - g->stride];
        sum += (dx * dx + dy * dy) / 4;
    }
    return sum;
}

static void guide_fill(guide *g, const film_layers *l)
{
#pragma omp parallel for schedule(static)
    for (int y = -PAD; y < g->height + PAD; y++)
        for (int x = -PAD; x < g->width + PAD; x++)
            fill_place(g, l, x, y);
    const float k = feature_bound * feature_bound;
#pragma omp parallel for schedule(static)
    for (int y = 0; y < g->height; y++) {
        for (int x = 0; x < g->width; x++) {
            size_t at = place(g, x, y);
            float depth = g->feature[6][at], near = 1e-4f * depth * depth + 1e-12f;
            g->tolerance[0][at] = 1 / (k * fmaxf(1e-3f, slope(g, 0, 3, at)));
            g->tolerance[1][at] = 1 / (k * fmaxf(1e-2f, slope(g, 3, 6, at)));
            g->tolerance[2][at] = 1 / (k * fmaxf(near, slope(g, 6, 7, at)));
        }
    }
}

/* ---- comparing pixels ------------------------------------------------------------------------ */

/* Room for a band of rows: distances of pixels, with a border of PATCH, then their sums along rows,
 * and what is gathered. */
typedef struct scratch {
    float *line, *across, *sum[3], *weight;
    float *memory; /* owned */
} scratch;

static bool scratch_allocate(scratch *s, int width)
{
    size_t wide = (size_t)width, rows = BAND + 2 * PATCH;
    s->memory = malloc((wide + 2 * PATCH + rows * wide + 4 * BAND * wide) * sizeof *s->memory);
    s->line = s->memory;
    s->across = s->line + wide + 2 * PATCH;
    s->weight = s->across + rows * wide;
    for (size_t k = 0; k < 3; k++)
        s->sum[k] = s->weight + (k + 1) * BAND * wide;
    return s->memory;
}

static float squared(float x)
{
    return x * x;
}

/* How unlike light is, beyond what noise explains, of `count` pixels from p on and those `shift` away. */
static void compare_light(const guide *g, size_t p, ptrdiff_t shift, int count, float *restrict out)
{
    const float *restrict r = g->light[0] + p, *restrict gr = g->light[1] + p;
    const float *restrict b = g->light[2] + p, *restrict v = g->variance + p;
    const float scale = strictness * strictness;
    for (ptrdiff_t i = 0; i < count; i++) {
        ptrdiff_t q = i + shift;
        float d = squared(r[i] - r[q]) + squared(gr[i] - gr[q]) + squared(b[i] - b[q]);
        float least = v[i] < v[q] ? v[i] : v[q];
        out[i] = (d * (1.0f / 3) - (v[i] + least)) / (1e-8f + scale * (v[i] + v[q]));
    }
}

/* Patches: the pixels' distances summed along rows, for rows y0 - PATCH on. */
static void compare_band(const guide *g, int y0, int rows, ptrdiff_t shift, scratch *s)
{
    for (int j = 0; j < rows + 2 * PATCH; j++) {
        compare_light(g, place(g, -PATCH, y0 + j - PATCH), shift, g->width + 2 * PATCH, s->line);
        float *restrict sums = s->across + (size_t)j * (size_t)g->width;
        const float *restrict line = s->line;
        for (int x = 0; x < g->width; x++)
            sums[x] = line[x] + line[x + 1] + line[x + 2] + line[x + 3] + line[x + 4];
    }
}

/* The larger of two distances: of the patches around them and of what was met. */
static void weigh_row(const guide *g, size_t p, ptrdiff_t shift, const float *restrict above,
                      float *restrict out)
{
    const float patch = 1.0f / ((2 * PATCH + 1) * (2 * PATCH + 1));
    const ptrdiff_t w = g->width;
    for (ptrdiff_t i = 0; i < w; i++) {
        size_t a = p + (size_t)i, q = (size_t)((ptrdiff_t)a + shift);
        float d = patch * (above[i] + above[i + w] + above[i + 2 * w] + above[i + 3 * w] +
                           above[i + 4 * w]);
        float albedo = 0, normal = 0;
        for (int k = 0; k < 3; k++) {
            albedo += squared(g->feature[k][a] - g->feature[k][q]);
            normal += squared(g->feature[k + 3][a] - g->feature[k + 3][q]);
        }
        float depth = squared(g->feature[6][a] - g->feature[6][q]);
        float f = albedo * g->tolerance[0][a], n = normal * g->tolerance[1][a];
        float z = depth * g->tolerance[2][a];
        d = d > 0 ? d : 0;
        d = d > f ? d : f;
        d = d > n ? d : n;
        d = d > z ? d : z;
        /* (1 - d/8)^8 is exp(-d) that ends: cheap, and the same everywhere. */
        float left = 1 - d / farthest;
        left = left > 0 ? left : 0;
        out[i] = squared(squared(squared(left)));
    }
}

static void add_band(const guide *g, int y0, int rows, int dx, int dy, scratch *s)
{
    ptrdiff_t shift = dy * (ptrdiff_t)g->stride + dx;
    int from = dx < 0 ? -dx : 0, to = g->width - (dx > 0 ? dx : 0);
    for (int j = 0; j < rows; j++) {
        int y = y0 + j;
        if (y + dy < 0 || y + dy >= g->height) /* beyond the edge is nothing of its own */
            continue;
        size_t row = (size_t)j * (size_t)g->width;
        weigh_row(g, place(g, 0, y), shift, s->across + row, s->line);
        for (int k = 0; k < 3; k++) {
            const float *restrict light = g->light[k] + place(g, 0, y) + shift;
            float *restrict sum = s->sum[k] + row;
            for (int x = from; x < to; x++)
                sum[x] += s->line[x] * light[x];
        }
        for (int x = from; x < to; x++)
            s->weight[row + (size_t)x] += s->line[x];
    }
}

static void filter_band(const guide *g, int y0, scratch *s, vec3 *out)
{
    int rows = y0 + BAND < g->height ? BAND : g->height - y0;
    size_t count = (size_t)rows * (size_t)g->width;
    memset(s->weight, 0, 4 * BAND * (size_t)g->width * sizeof *s->weight);
    for (int dy = -REACH; dy <= REACH; dy++) {
        for (int dx = -REACH; dx <= REACH; dx++) {
            compare_band(g, y0, rows, dy * (ptrdiff_t)g->stride + dx, s);
            add_band(g, y0, rows, dx, dy, s);
        }
    }
    for (size_t k = 0; k < count; k++) { /* a pixel is like itself: the weight is at least 1 */
        float one = 1 / s->weight[k];
        out[(size_t)y0 * (size_t)g->width + k] =
            (vec3){s->sum[0][k] * one, s->sum[1][k] * one, s->sum[2][k] * one};
    }
}

firn_status denoise(film_layers *layers)
{
    guide g;
    bool failed = !guide_allocate(&g, layers->width, layers->height);
    if (!failed) {
        guide_fill(&g, layers);
#pragma omp parallel
        {
            scratch s;
            bool lacking = !scratch_allocate(&s, g.width);
            if (lacking) {
#pragma omp atomic write
                failed = true;
            }
#pragma omp for schedule(dynamic)
            for (int y = 0; y < g.height; y += BAND)
                if (!lacking)
                    filter_band(&g, y, &s, layers->light);
            free(s.memory);
        }
    }
    free(g.memory);
    return failed ? fail(FIRN_NO_MEMORY, "no memory to denoise a picture") : FIRN_OK;
}
