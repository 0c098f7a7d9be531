#include "io/raster_png.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"

bool is_png(const void *data, size_t size)
{
    return size >= 8 && png_sig_cmp(data, 0, 8) == 0;
}

/* What libpng's callbacks share. */
typedef struct png_source {
    const char *name;
    const unsigned char *at;
    size_t left;
} png_source;

static void take_bytes(png_structp png, png_bytep to, size_t count)
{
    png_source *from = png_get_io_ptr(png);
    if (count > from->left)
        png_error(png, "the file ends too early");
    memcpy(to, from->at, count);
    from->at += count;
    from->left -= count;
}

static void on_error(png_structp png, png_const_charp words)
{
    const png_source *from = png_get_error_ptr(png);
    fail(FIRN_BAD_SCENE, "%s: %s", from->name, words);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp words)
{
    (void)png;
    (void)words;
}

/* 16 bits a sample, big endian, grey and alpha, whatever the file has. */
static void ask_for_grey(png_structp png, png_infop info)
{
    int type = png_get_color_type(png, info);
    if (type & PNG_COLOR_MASK_COLOR)
        png_error(png, "a coloured picture; heights are grey (16 bits are best)");
    if (png_get_bit_depth(png, info) < 8)
        png_set_expand_gray_1_2_4_to_8(png);
    if (png_get_valid(png, info, PNG_INFO_tRNS))
        png_set_tRNS_to_alpha(png);
    png_set_expand_16(png);
    if (!(type & PNG_COLOR_MASK_ALPHA))
        png_set_add_alpha(png, 0xFFFF, PNG_FILLER_AFTER);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
}

static float grey_value(const unsigned char *pixel)
{
    unsigned grey = (unsigned)pixel[0] << 8 | pixel[1], alpha = (unsigned)pixel[2] << 8 | pixel[3];
    return alpha ? (float)(grey / 65535.0) : NAN;
}

/* Everything that libpng's jumps may pass over lives in `r`, `pixels` and `lines`, owned by the
 * caller. */
typedef struct png_work {
    unsigned char *pixels, **lines;
} png_work;

static firn_status decode(png_structp png, png_infop info, const char *name, png_work *work,
                          raster *r)
{
    if (setjmp(png_jmpbuf(png)))
        return FIRN_BAD_SCENE;
    png_set_user_limits(png, 1 << 20, 1 << 20);
    png_read_info(png, info);
    ask_for_grey(png, info);
    size_t columns = png_get_image_width(png, info), rows = png_get_image_height(png, info);
    size_t width = png_get_rowbytes(png, info);
    if (width != 4 * columns)
        png_error(png, "not a grey picture");
    firn_status status = raster_allocate(name, (double)columns, (double)rows, r);
    if (status != FIRN_OK)
        return status;
    work->pixels = malloc(width * rows);
    work->lines = malloc(rows * sizeof *work->lines);
    if (!work->pixels || !work->lines)
        return fail(FIRN_NO_MEMORY, "%s: not enough memory", name);
    for (size_t n = 0; n < rows; n++)
        work->lines[n] = work->pixels + n * width;
    png_read_image(png, work->lines);
    png_read_end(png, NULL);
    for (size_t n = 0; n < columns * rows; n++)
        r->values[n] = grey_value(work->pixels + 4 * n);
    return FIRN_OK;
}

firn_status read_png(const char *name, const void *data, size_t size, raster *r)
{
    png_source from = {name, data, size};
    png_work work = {0};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &from, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    firn_status status;
    if (info) {
        png_set_read_fn(png, &from, take_bytes);
        status = decode(png, info, name, &work, r);
    } else {
        status = fail(FIRN_NO_MEMORY, "%s: not enough memory", name);
    }
    png_destroy_read_struct(&png, &info, NULL);
    free(work.pixels);
    free(work.lines);
    memcpy(r->step, (double[2]){1, 1}, sizeof r->step);
    r->is_picture = true;
    return status;
}
