/* A traced picture as a file: PNG for the eye, EXR for further work. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/exr.h"
#include "render/denoise.h"
#include "render/image.h"
#include "render/picture.h"
#include "status.h"

/* What tells a finished picture from others: its identity, its samples, and how it was finished. */
static void describe(const firn_picture *p, int samples, char text[96])
{
    const scene_render *r = p->render;
    snprintf(text, 96, "%016" PRIx64 " %d %d%d%d %.17g", p->identity, samples, p->denoise,
             (int)r->tone, (int)r->precision, r->exposure);
}

static bool has_ending(const char *path, const char *ending)
{
    size_t length = strlen(path), size = strlen(ending);
    return length > size && strcmp(path + length - size, ending) == 0;
}

/* In 0 .. 1, other for every pixel and channel. */
static float dither(size_t pixel, uint32_t channel)
{
    uint32_t h = (uint32_t)pixel * 0x9e3779b1u ^ channel * 0x85ebca77u;
    h = (h ^ h >> 16) * 0x21f0aaadu;
    h = (h ^ h >> 15) * 0x735a2d97u;
    return (float)((h ^ h >> 15) >> 8) / 16777216.0f;
}

static firn_status write_png(const firn_picture *p, const film_layers *l, const char *note,
                             const char *path)
{
    image im;
    firn_status status = image_create(&im, l->width, l->height, (vec3){0, 0, 0});
    if (status != FIRN_OK)
        return status;
    float gain = exp2f((float)p->render->exposure);
    size_t count = (size_t)l->width * (size_t)l->height;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++) {
        vec3 light = vec_scale(l->light[i], gain);
        vec3 seen = p->render->tone == SCENE_FILMIC ? image_filmic(light) : image_encode(light);
        im.pixels[3 * i] = image_byte(seen.x, dither(i, 0));
        im.pixels[3 * i + 1] = image_byte(seen.y, dither(i, 1));
        im.pixels[3 * i + 2] = image_byte(seen.z, dither(i, 2));
    }
    status = image_write_png(&im, note, path);
    image_clear(&im);
    return status;
}

static firn_status write_exr(const firn_picture *p, const film_layers *l, const char *note,
                             const char *path)
{
    bool half = p->render->precision == SCENE_HALF;
    const exr_channel channels[] = {
        {"R", &l->light[0].x, 3, half},
        {"G", &l->light[0].y, 3, half},
        {"B", &l->light[0].z, 3, half},
        {"A", l->cover, 1, half},
        {"Z", l->depth, 1, false},
        {"albedo.R", &l->albedo[0].x, 3, half},
        {"albedo.G", &l->albedo[0].y, 3, half},
        {"albedo.B", &l->albedo[0].z, 3, half},
        {"normal.X", &l->normal[0].x, 3, half},
        {"normal.Y", &l->normal[0].y, 3, half},
        {"normal.Z", &l->normal[0].z, 3, half},
        {"variance.Y", l->variance, 1, false},
    };
    char samples[32];
    snprintf(samples, sizeof samples, "%d", firn_picture_samples(p));
    const exr_note notes[] = {
        {"firn.picture", note}, {"firn.samples", samples}, {"software", "Firn " FIRN_VERSION}};
    return exr_write(path, l->width, l->height, channels, sizeof channels / sizeof *channels, notes,
                     3);
}

firn_status firn_picture_write(const firn_picture *p, const char *path)
{
    bool png = has_ending(path, ".png");
    if (!png && !has_ending(path, ".exr"))
        return fail(FIRN_USAGE, "%s: a picture's name ends in .png or .exr", path);
    if (firn_picture_sample_sum(p) == 0)
        return fail(FIRN_USAGE, "%s: the picture has no samples yet", path);
    film_layers layers;
    firn_status status = film_resolve(&p->film, &layers);
    if (status != FIRN_OK)
        return status;
    int before = picture_begin(p);
    if (p->denoise)
        status = denoise(&layers);
    char note[96];
    describe(p, firn_picture_samples(p), note);
    if (status == FIRN_OK)
        status = png ? write_png(p, &layers, note, path) : write_exr(p, &layers, note, path);
    picture_end(before);
    film_layers_clear(&layers);
    return status;
}

bool firn_picture_is_written(const firn_picture *p, const char *path, int samples)
{
    char expected[96];
    describe(p, samples, expected);
    char *found = NULL;
    if (has_ending(path, ".png")) {
        found = image_read_note(path);
    } else {
        exr_image file;
        if (exr_read(path, &file) == FIRN_OK) {
            const char *note = exr_find_note(&file, "firn.picture");
            found = note ? text_copy(note) : NULL;
            exr_clear(&file);
        }
    }
    bool same = found && strcmp(found, expected) == 0;
    free(found);
    return same;
}
