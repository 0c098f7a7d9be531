#include "render/film.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/exr.h"
#include "status.h"

static size_t pixel_count(const film *f)
{
    return (size_t)f->sums.width * (size_t)f->sums.height;
}

firn_status film_create(film *f, int width, int height)
{
    size_t count = (size_t)width * (size_t)height;
    *f = (film){.sums = {width, height, calloc(count, sizeof(trace_pixel))},
                .done = calloc((size_t)height, sizeof *f->done),
                .backup = malloc(count * sizeof *f->backup)};
    if (f->sums.pixels && f->done && f->backup)
        return FIRN_OK;
    film_clear(f);
    return fail(FIRN_NO_MEMORY, "no memory for a picture of %d x %d pixels", width, height);
}

void film_clear(film *f)
{
    free(f->sums.pixels);
    free(f->done);
    free(f->backup);
    *f = (film){0};
}

/* ---- what is next ---------------------------------------------------------------------------- */

uint32_t film_samples(const film *f)
{
    uint32_t least = UINT32_MAX;
    for (int y = 0; y < f->sums.height; y++)
        least = f->done[y] < least ? f->done[y] : least;
    return least;
}

bool film_next(const film *f, uint32_t wanted, int rows, uint32_t samples, film_band *band)
{
    uint32_t least = film_samples(f);
    if (least >= wanted)
        return false;
    int y = 0;
    while (f->done[y] != least)
        y++;
    band->y0 = y;
    while (y < f->sums.height && y - band->y0 < rows && f->done[y] == least)
        y++;
    band->y1 = y;
    band->first = least;
    band->count = wanted - least < samples ? wanted - least : samples;
    return true;
}

static trace_pixel *band_pixels(const film *f, const film_band *band, size_t *bytes)
{
    *bytes = (size_t)(band->y1 - band->y0) * (size_t)f->sums.width * sizeof(trace_pixel);
    return f->sums.pixels + (size_t)band->y0 * (size_t)f->sums.width;
}

void film_begin(film *f, const film_band *band)
{
    size_t bytes;
    const trace_pixel *pixels = band_pixels(f, band, &bytes);
    memcpy(f->backup, pixels, bytes);
}

void film_end(film *f, const film_band *band, bool complete)
{
    size_t bytes;
    trace_pixel *pixels = band_pixels(f, band, &bytes);
    if (!complete)
        memcpy(pixels, f->backup, bytes);
    for (int y = band->y0; y < band->y1 && complete; y++)
        f->done[y] = band->first + band->count;
}

/* ---- the file -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t offset;
} parts[] = {
    {"light.R", offsetof(trace_pixel, light.x)},   {"light.G", offsetof(trace_pixel, light.y)},
    {"light.B", offsetof(trace_pixel, light.z)},   {"albedo.R", offsetof(trace_pixel, albedo.x)},
    {"albedo.G", offsetof(trace_pixel, albedo.y)}, {"albedo.B", offsetof(trace_pixel, albedo.z)},
    {"normal.X", offsetof(trace_pixel, normal.x)}, {"normal.Y", offsetof(trace_pixel, normal.y)},
    {"normal.Z", offsetof(trace_pixel, normal.z)}, {"depth.Z", offsetof(trace_pixel, depth)},
    {"cover.A", offsetof(trace_pixel, cover)},     {"squares.Y", offsetof(trace_pixel, squares)},
};
enum { PARTS = sizeof parts / sizeof *parts };

/* Counts are exact as floats: no picture has so many samples. */
enum { MOST_SAMPLES = 1 << 24 };

static float *counts_as_floats(const film *f)
{
    size_t width = (size_t)f->sums.width, count = pixel_count(f);
    float *counts = malloc(2 * count * sizeof *counts);
    for (size_t i = 0; counts && i < count; i++) {
        counts[i] = (float)f->sums.pixels[i].count;
        counts[count + i] = (float)f->done[i / width];
    }
    return counts;
}

firn_status film_save(const film *f, uint64_t identity, const char *path)
{
    float *counts = counts_as_floats(f);
    if (!counts)
        return fail(FIRN_NO_MEMORY, "no memory to write %s", path);
    exr_channel channels[PARTS + 2] = {{"count.Y", counts, 1, false},
                                       {"done.Y", counts + pixel_count(f), 1, false}};
    for (size_t i = 0; i < PARTS; i++)
        channels[i + 2] = (exr_channel){
            parts[i].name,
            (const float *)(const void *)((const char *)f->sums.pixels + parts[i].offset),
            sizeof(trace_pixel) / sizeof(float), false};
    char name[32], samples[32];
    snprintf(name, sizeof name, "%016" PRIx64, identity);
    snprintf(samples, sizeof samples, "%" PRIu32, film_samples(f));
    const exr_note notes[] = {{"firn.film", name},
                              {"firn.samples", samples},
                              {"comments", "sums over samples of an unfinished picture"}};
    firn_status status =
        exr_write(path, f->sums.width, f->sums.height, channels, PARTS + 2, notes, 3);
    free(counts);
    return status;
}

static firn_status check_file(const film *f, uint64_t identity, const exr_image *image,
                              const char *path)
{
    char name[32];
    snprintf(name, sizeof name, "%016" PRIx64, identity);
    const char *found = exr_find_note(image, "firn.film");
    if (!found)
        return fail(FIRN_BAD_SCENE, "%s is not an unfinished picture", path);
    if (strcmp(found, name) || image->width != f->sums.width || image->height != f->sums.height)
        return fail(FIRN_BAD_SCENE, "%s is of another picture, or of this one before a change",
                    path);
    for (size_t i = 0; i < PARTS; i++)
        if (!exr_find(image, parts[i].name))
            return fail(FIRN_BAD_SCENE, "%s lacks the channel %s", path, parts[i].name);
    const float *counts = exr_find(image, "count.Y"), *done = exr_find(image, "done.Y");
    if (!counts || !done)
        return fail(FIRN_BAD_SCENE, "%s lacks its sample counts", path);
    for (size_t i = 0; i < pixel_count(f); i++)
        if (counts[i] != done[i] || !(counts[i] >= 0 && counts[i] < MOST_SAMPLES))
            return fail(FIRN_BAD_SCENE, "%s: pixel %zu, %zu has %g samples, its row %g", path,
                        i % (size_t)f->sums.width, i / (size_t)f->sums.width, (double)counts[i],
                        (double)done[i]);
    return FIRN_OK;
}

firn_status film_load(film *f, uint64_t identity, const char *path)
{
    exr_image image;
    firn_status status = exr_read(path, &image);
    if (status != FIRN_OK)
        return status;
    status = check_file(f, identity, &image, path);
    size_t count = status == FIRN_OK ? pixel_count(f) : 0;
    for (size_t p = 0; p < PARTS && count; p++) {
        const float *values = exr_find(&image, parts[p].name);
        for (size_t i = 0; i < count; i++)
            memcpy((char *)&f->sums.pixels[i] + parts[p].offset, &values[i], sizeof(float));
    }
    if (count) {
        const float *counts = exr_find(&image, "count.Y"), *done = exr_find(&image, "done.Y");
        for (size_t i = 0; i < count; i++)
            f->sums.pixels[i].count = (uint32_t)counts[i];
        for (int y = 0; y < f->sums.height; y++)
            f->done[y] = (uint32_t)done[(size_t)y * (size_t)f->sums.width];
    }
    exr_clear(&image);
    return status;
}

/* ---- layers ---------------------------------------------------------------------------------- */

static float or_zero(float x)
{
    return isfinite(x) ? x : 0;
}

static vec3 or_zeros(vec3 v)
{
    return (vec3){or_zero(v.x), or_zero(v.y), or_zero(v.z)};
}

static float luminance(vec3 c)
{
    return 0.2126f * c.x + 0.7152f * c.y + 0.0722f * c.z;
}

static void resolve_pixel(const trace_pixel *p, film_layers *l, size_t i)
{
    float n = (float)p->count, one = n > 0 ? 1 / n : 0;
    l->light[i] = or_zeros(vec_scale(p->light, one));
    l->albedo[i] = or_zeros(vec_scale(p->albedo, one));
    float length = vec_length(p->normal);
    l->normal[i] = length > 0 ? or_zeros(vec_scale(p->normal, 1 / length)) : (vec3){0, 0, 0};
    l->cover[i] = or_zero(p->cover * one);
    l->depth[i] = p->cover > 0 ? or_zero(p->depth / p->cover) : 0;
    float mean = luminance(l->light[i]), square = p->squares * one;
    /* With one sample nothing is known but that it is as wrong as it is bright. */
    l->variance[i] = n > 1 ? or_zero(fmaxf(square - mean * mean, 0) / (n - 1)) : mean * mean;
}

firn_status film_resolve(const film *f, film_layers *l)
{
    size_t count = pixel_count(f);
    *l = (film_layers){f->sums.width,
                       f->sums.height,
                       malloc(count * sizeof *l->light),
                       malloc(count * sizeof *l->albedo),
                       malloc(count * sizeof *l->normal),
                       malloc(count * sizeof *l->depth),
                       malloc(count * sizeof *l->cover),
                       malloc(count * sizeof *l->variance)};
    if (!l->light || !l->albedo || !l->normal || !l->depth || !l->cover || !l->variance) {
        film_layers_clear(l);
        return fail(FIRN_NO_MEMORY, "no memory for a picture of %d x %d pixels", f->sums.width,
                    f->sums.height);
    }
    for (size_t i = 0; i < count; i++)
        resolve_pixel(&f->sums.pixels[i], l, i);
    return FIRN_OK;
}

void film_layers_clear(film_layers *l)
{
    free(l->light);
    free(l->albedo);
    free(l->normal);
    free(l->depth);
    free(l->cover);
    free(l->variance);
    *l = (film_layers){0};
}
