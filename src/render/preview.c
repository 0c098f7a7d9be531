/* The sheet: checks what was asked, frames one camera for all, and draws panel after panel. */
#include "firn/render.h"

#include <omp.h>
#include <stdlib.h>

#include "render/camera_fit.h"
#include "render/legend.h"
#include "status.h"

enum {
    DEFAULT_WIDTH = 640,
    DEFAULT_HEIGHT = 480,
    GAP = 6,
    MOST_PIXELS = 1 << 28,
    MOST_SIDE = 8192
};
static const vec3 paper = {0.96f, 0.97f, 0.98f};

/* The sheet's shape, in panels. */
typedef struct layout {
    int width, height; /* of a panel, pixels */
    int columns, rows;
} layout;

/* As near as can be to a sheet 2.4 times as wide as it is high, with few places left empty. */
static int choose_columns(size_t count, int width, int height)
{
    int best = 1;
    float least = INFINITY;
    for (int columns = 1; (size_t)columns <= count && columns <= 64; columns++) {
        size_t rows = (count + (size_t)columns - 1) / (size_t)columns;
        float shape = (float)(columns * width) / ((float)rows * (float)height);
        float unused = (float)(rows * (size_t)columns - count) / (float)count;
        float cost = fabsf(logf(shape / 2.4f)) + unused;
        if (cost < least) {
            least = cost;
            best = columns;
        }
    }
    return best;
}

static firn_status make_layout(size_t count, int columns, const firn_preview_options *options,
                               layout *out)
{
    int width = options->width ? options->width : DEFAULT_WIDTH;
    int height = options->height ? options->height : DEFAULT_HEIGHT;
    if (width < 8 || height < 8 || width > MOST_SIDE || height > MOST_SIDE)
        return fail(FIRN_USAGE, "a picture of %d x %d pixels; each side must be 8 to %d", width,
                    height, MOST_SIDE);
    if (columns < 0)
        return fail(FIRN_USAGE, "a sheet of %d columns", columns);
    if (columns == 0)
        columns = choose_columns(count, width, height);
    else if ((size_t)columns > count)
        columns = (int)count;
    size_t rows = (count + (size_t)columns - 1) / (size_t)columns;
    double pixels = (double)(width + GAP) * columns * (double)(height + GAP) * (double)rows;
    if (pixels > MOST_PIXELS)
        return fail(FIRN_USAGE, "%zu pictures of %d x %d pixels are too many for one sheet", count,
                    width, height);
    *out = (layout){width, height, columns, (int)rows};
    return FIRN_OK;
}

static firn_status check_frames(const firn_frame *frames, size_t count)
{
    if (count == 0 || !frames)
        return fail(FIRN_USAGE, "a sheet needs at least one frame");
    for (size_t i = 0; i < count; i++) {
        if (frames[i].dimensions != 2 && frames[i].dimensions != 3)
            return fail(FIRN_USAGE, "frame %d has %d dimensions", frames[i].frame,
                        frames[i].dimensions);
        if (frames[i].dimensions != frames[0].dimensions)
            return fail(FIRN_USAGE, "2D and 3D frames cannot share a sheet");
        if (frames[i].count > 0 && !frames[i].position)
            return fail(FIRN_USAGE, "frame %d has no positions", frames[i].frame);
        if (frames[i].count > UINT32_MAX)
            return fail(FIRN_USAGE, "frame %d has more particles than a picture can tell apart",
                        frames[i].frame);
    }
    return FIRN_OK;
}

/* The camera that was given; flat pictures take its middle and its scale there. */
static firn_status follow(camera *c, const firn_preview_options *options, bool flat, int width,
                          int height)
{
    camera given;
    firn_status status =
        camera_look(&given, options->camera, c->origin, options->scene, width, height);
    if (status != FIRN_OK)
        return status;
    if (flat) {
        c->eye = vec_sub(given.eye, vec_scale(given.back, given.distance));
        c->focal = given.focal / given.distance;
        c->distance = 0.5f * fmaxf(c->width, c->height) / c->focal;
    } else {
        *c = given;
    }
    return FIRN_OK;
}

static firn_status prepare(panel_style *style, const firn_frame *frames, size_t count,
                           const firn_preview_options *options, const layout *l)
{
    float spacing = points_spacing(frames, count, &style->sample);
    style->scene = options->scene;
    style->spacing = spacing;
    style->radius = (frames[0].dimensions == 2 ? 0.7f : 0.6f) * spacing;
    bool flat = frames[0].dimensions == 2;
    int width = PANEL_PARTS * l->width, height = PANEL_PARTS * l->height;
    camera *c = &style->camera;
    firn_status status = camera_fit(c, frames, count, options->scene, flat, width, height,
                                    4 * spacing, &style->sample);
    if (status == FIRN_OK && options->camera)
        status = follow(c, options, flat, width, height);
    if (status != FIRN_OK)
        return status;
    float view_width = c->flat ? c->width / c->focal : c->distance * c->width / c->focal;
    style->square = legend_round(view_width / 12);
    status = colour_choose(frames, count, options->colour, options->scene, &style->sample,
                           &style->colour);
    if (options->range)
        style->colour.low = (float)options->range[0], style->colour.high = (float)options->range[1];
    return status;
}

static firn_status draw_sheet(panel_style *style, const firn_frame *frames, size_t count,
                              const firn_preview_options *options, const layout *l, image *sheet)
{
    int decimals = legend_decimals(frames, count);
    for (size_t i = 0; i < count; i++) {
        int column = (int)(i % (size_t)l->columns), row = (int)(i / (size_t)l->columns);
        image_view view = {sheet, column * (l->width + GAP), row * (l->height + GAP), l->width,
                           l->height};
        if (options->scenes)
            style->scene = options->scenes[i];
        firn_status status = panel_draw(style, &frames[i], &view);
        if (status != FIRN_OK)
            return status;
        legend_time(&view, frames[i].time, decimals);
        if (options->labels)
            legend_lines(&view, options->labels[i]);
        if (i > 0)
            continue;
        legend_colours(&view, style);
        if (style->scene && firn_scene_collider_count(style->scene) > 0)
            legend_squares(&view, style->square);
    }
    return FIRN_OK;
}

firn_status firn_preview_sheet(const firn_frame *frames, size_t count, int columns,
                               const firn_preview_options *options, const char *png_path)
{
    const firn_preview_options defaults = {0};
    layout l = {0};
    if (!options)
        options = &defaults;
    if (!png_path)
        return fail(FIRN_USAGE, "a sheet needs a file name");
    firn_status status = check_frames(frames, count);
    if (status == FIRN_OK)
        status = make_layout(count, columns, options, &l);
    if (status != FIRN_OK)
        return status;
    panel_style *style = calloc(1, sizeof *style);
    if (!style)
        return fail(FIRN_NO_MEMORY, "no memory to draw a picture");
    image sheet = {0};
    int threads_before = omp_get_max_threads();
    if (options->threads > 0)
        omp_set_num_threads(options->threads);
    status = prepare(style, frames, count, options, &l);
    if (status == FIRN_OK)
        status = image_create(&sheet, l.columns * (l.width + GAP) - GAP,
                              l.rows * (l.height + GAP) - GAP, paper);
    if (status == FIRN_OK)
        status = draw_sheet(style, frames, count, options, &l, &sheet);
    if (status == FIRN_OK)
        status = image_write_png(&sheet, NULL, png_path);
    omp_set_num_threads(threads_before);
    image_clear(&sheet);
    panel_style_clear(style);
    free(style);
    return status;
}

firn_status firn_preview_range(const firn_frame *frames, size_t count, firn_colour colour,
                               const firn_scene *scene, double range[2])
{
    colour_rule rule;
    points_sample *sample = malloc(sizeof *sample);
    if (!sample)
        return fail(FIRN_NO_MEMORY, "no memory to measure frames");
    firn_status status = colour_choose(frames, count, colour, scene, sample, &rule);
    free(sample);
    range[0] = (double)rule.low;
    range[1] = (double)rule.high;
    return status;
}
