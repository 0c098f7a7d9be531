#include "render/splat.h"

#include <stdlib.h>
#include <string.h>

#include "status.h"

firn_status splat_reset(splat_buffer *b, int width, int height)
{
    size_t count = (size_t)width * (size_t)height;
    if (count > b->capacity) {
        uint64_t *pixels = realloc(b->pixels, count * sizeof *pixels);
        if (!pixels)
            return fail(FIRN_NO_MEMORY, "no memory for a picture of %d x %d pixels", width, height);
        b->pixels = pixels;
        b->capacity = count;
    }
    b->width = width;
    b->height = height;
    memset(b->pixels, 0xff, count * sizeof *b->pixels);
    return FIRN_OK;
}

void splat_clear(splat_buffer *b)
{
    free(b->pixels);
    *b = (splat_buffer){0};
}

/* Depths are positive, and the bits of positive floats are in the order of their values. */
static uint64_t make_pixel(float depth, uint32_t index)
{
    union {
        float value;
        uint32_t bits;
    } d = {.value = depth};
    return (uint64_t)d.bits << 32 | index;
}

static void lower(uint64_t *pixel, uint64_t value)
{
    uint64_t old = __atomic_load_n(pixel, __ATOMIC_RELAXED);
    while (value < old && !__atomic_compare_exchange_n(pixel, &old, value, true, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED))
        ;
}

/* The first and the last pixel whose middle lies beyond, and before, a place. */
static int first_pixel(float x)
{
    float from = greater(x - 0.5f, 0);
    int pixel = (int)from;
    return pixel + ((float)pixel < from);
}

static int last_pixel(float x, int count)
{
    float to = lesser(x + 0.5f, (float)count);
    return (int)to - 1;
}

void splat_draw(splat_buffer *b, const splat_sphere *s, uint32_t index)
{
    float reach = splat_reach(s);
    if (!(s->x > -reach && s->x < (float)b->width + reach && s->y > -reach &&
          s->y < (float)b->height + reach && s->depth - s->bulge > 0))
        return;
    int left = first_pixel(s->x - reach), right = last_pixel(s->x + reach, b->width);
    int top = first_pixel(s->y - reach), bottom = last_pixel(s->y + reach, b->height);
    float scale = 1 / reach;
    uint64_t nearest = make_pixel(s->depth - s->bulge, 0);
    for (int y = top; y <= bottom; y++) {
        float v = ((float)y + 0.5f - s->y) * scale;
        uint64_t *row = b->pixels + (size_t)y * (size_t)b->width;
        for (int x = left; x <= right; x++) {
            /* Most spheres lie behind others: see that before anything is worked out. */
            if (__atomic_load_n(&row[x], __ATOMIC_RELAXED) < nearest)
                continue;
            float u = ((float)x + 0.5f - s->x) * scale, front = 1 - u * u - v * v;
            if (front > 0)
                lower(&row[x], make_pixel(s->depth - s->bulge * sqrtf(front), index));
        }
    }
}

void splat_frame(splat_buffer *b, const firn_frame *frame, const camera *c, float radius,
                 const field *f)
{
#pragma omp parallel for schedule(dynamic, 4096)
    for (size_t i = 0; i < frame->count; i++) {
        vec3 p;
        camera_point at;
        if (!points_local(frame, i, c->origin, &p) || (f && field_hides(f, p)) ||
            !camera_project(c, p, &at))
            continue;
        splat_sphere sphere = {at.x, at.y, radius * at.scale, at.depth, radius};
        splat_draw(b, &sphere, (uint32_t)i);
    }
}
