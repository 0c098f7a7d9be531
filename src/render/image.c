#include "render/image.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "status.h"

static const char note_key[] = "firn";

uint8_t image_byte(float display, float dither)
{
    float value = display > 0 ? fminf(display, 1) : 0; /* and what is not a number is black */
    return (uint8_t)fminf(value * 255 + dither, 255);
}

static uint8_t to_byte(float display)
{
    return image_byte(display, 0.5f);
}

firn_status image_create(image *im, int width, int height, vec3 display)
{
    *im = (image){width, height, malloc((size_t)width * (size_t)height * 3)};
    if (!im->pixels)
        return fail(FIRN_NO_MEMORY, "no memory for an image of %d x %d pixels", width, height);
    for (size_t i = 0; i < (size_t)width * (size_t)height; i++) {
        im->pixels[3 * i] = to_byte(display.x);
        im->pixels[3 * i + 1] = to_byte(display.y);
        im->pixels[3 * i + 2] = to_byte(display.z);
    }
    return FIRN_OK;
}

void image_clear(image *im)
{
    free(im->pixels);
    *im = (image){0};
}

static float encode(float linear)
{
    return linear <= 0.0031308f ? 12.92f * linear : 1.055f * powf(linear, 1 / 2.4f) - 0.055f;
}

vec3 image_encode(vec3 linear)
{
    return (vec3){encode(linear.x), encode(linear.y), encode(linear.z)};
}

/* Straight up to the knee, then bending so that it reaches 1 at infinity with no visible edge. */
static float shoulder(float light)
{
    const float knee = 0.55f, room = 1 - knee;
    return light < knee ? fmaxf(light, 0) : 1 - room * expf((knee - light) / room);
}

vec3 image_tone(vec3 light)
{
    return image_encode((vec3){shoulder(light.x), shoulder(light.y), shoulder(light.z)});
}

/* A power below 0.22 that joins the straight part with its slope, after Uchimura (2017). */
static float toe(float light)
{
    const float end = 0.22f, power = 1.33f;
    float share = smoothstep(0, end, light), curve = end * powf(fmaxf(light, 0) / end, power);
    return (1 - share) * curve + share * light;
}

vec3 image_filmic(vec3 light)
{
    return image_tone((vec3){toe(light.x), toe(light.y), toe(light.z)});
}

static uint8_t *pixel_at(const image_view *view, int x, int y)
{
    if (x < 0 || y < 0 || x >= view->width || y >= view->height)
        return NULL;
    size_t row = (size_t)(view->y + y), column = (size_t)(view->x + x);
    return view->image->pixels + 3 * (row * (size_t)view->image->width + column);
}

void image_set(const image_view *view, int x, int y, vec3 display)
{
    image_cover(view, x, y, display, 1);
}

void image_cover(const image_view *view, int x, int y, vec3 display, float share)
{
    uint8_t *p = pixel_at(view, x, y);
    if (!p)
        return;
    vec3 old = {p[0] / 255.0f, p[1] / 255.0f, p[2] / 255.0f};
    vec3 now = vec_mix(old, display, clamp01(share));
    p[0] = to_byte(now.x), p[1] = to_byte(now.y), p[2] = to_byte(now.z);
}

static void append_png(png_structp png, png_bytep data, png_size_t size)
{
    file_append(png_get_io_ptr(png), data, size);
}

static void flush_nothing(png_structp png)
{
    (void)png;
}

/* libpng's own words would go to stderr. */
static void fail_png(png_structp png, png_const_charp message)
{
    (void)message;
    png_longjmp(png, 1);
}

static void ignore_png(png_structp png, png_const_charp message)
{
    (void)png, (void)message;
}

static bool encode_png(const image *im, const char *note, file_draft *draft)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, fail_png, ignore_png);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info || setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return false;
    }
    png_set_write_fn(png, draft, append_png, flush_nothing);
    png_set_IHDR(png, info, (png_uint_32)im->width, (png_uint_32)im->height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_set_compression_level(png, 6);
    png_text text = {
        .compression = PNG_TEXT_COMPRESSION_NONE, .key = (char *)note_key, .text = (char *)note};
    if (note)
        png_set_text(png, info, &text, 1);
    png_write_info(png, info);
    for (int y = 0; y < im->height; y++)
        png_write_row(png, im->pixels + 3 * (size_t)y * (size_t)im->width);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return true;
}

firn_status image_write_png(const image *im, const char *note, const char *path)
{
    file_draft draft;
    firn_status status = file_create(path, &draft);
    if (status != FIRN_OK)
        return status;
    if (!encode_png(im, note, &draft)) {
        file_discard(&draft);
        return fail(FIRN_NO_OUTPUT, "cannot write %s: encoding the PNG failed", path);
    }
    return file_commit(&draft);
}

static char *find_note(png_structp png, png_infop info)
{
    png_textp texts;
    int count = 0;
    png_get_text(png, info, &texts, &count);
    for (int i = 0; i < count; i++)
        if (strcmp(texts[i].key, note_key) == 0)
            return text_copy(texts[i].text);
    return NULL;
}

char *image_read_note(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *volatile note = NULL;
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, fail_png, ignore_png);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (info && !setjmp(png_jmpbuf(png))) {
        png_init_io(png, file);
        png_read_info(png, info);
        note = find_note(png, info);
    }
    png_destroy_read_struct(&png, &info, NULL);
    fclose(file);
    return note;
}
