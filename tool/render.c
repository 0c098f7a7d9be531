/* `firn render`: pictures of frames, runs and scenes; one, many, a film or a sheet. */
#include "render.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console.h"
#include "movie.h"
#include "run_folder.h"
#include "signals.h"
#include "tool.h"

#define AT(field) .offset = offsetof(render_options, field)
static const argument render_arguments[] = {
    {ARGUMENT_TEXT, 'o', "output", "FILE",
     "NAME.png, .exr or .mp4; NAME_####.png numbers frames (required)", AT(output)},
    {ARGUMENT_FLAG, 0, "preview", NULL, "shaded particles, quickly, instead of traced light",
     AT(preview)},
    {ARGUMENT_FLAG, 0, "sheet", NULL, "previews of moments side by side in one picture", AT(sheet)},
    {ARGUMENT_FLAG, 0, "draft", NULL, "few samples, denoised", AT(draft)},
    {ARGUMENT_TEXT, 0, "scene", "SCENE", "colliders, camera and lights [the run's own scene]",
     AT(scene)},
    {ARGUMENT_TEXT, 0, "grid", "NAME", "VDB files: the grid to show [density]", AT(grid)},
    {ARGUMENT_LIST, 0, "set", "KEY.PATH=VALUE", "override a value of the scene (repeatable)",
     AT(sets)},
    {ARGUMENT_INTEGER, 0, "frame", "N", "which frame of a run [the last]", AT(frame), 0, 1e9},
    {ARGUMENT_INTEGER, 0, "first", "N", "films: begin with frame N", AT(first), 0, 1e9},
    {ARGUMENT_INTEGER, 0, "last", "N", "films: end with frame N", AT(last), 0, 1e9},
    {ARGUMENT_INTEGER, 0, "every", "N", "films: every n-th frame", AT(every), 1, 1e9},
    {ARGUMENT_NUMBER, 0, "fps", "N", "films: frames a second [the scene's; 24 if it has over 60]",
     AT(fps), 0.01, 1000},
    {ARGUMENT_TEXT, 0, "size", "WxH", "pixels [the scene's; previews 640x480]", AT(size)},
    {ARGUMENT_INTEGER, 0, "samples", "N", "paths of light a pixel [the scene's; drafts 12]",
     AT(samples), 1, 1e6},
    {ARGUMENT_NUMBER, 0, "time", "SECONDS", "stop after so long; the same command adds more",
     AT(time), 1e-3, INFINITY},
    {ARGUMENT_TEXT, 0, "film", "FILE.exr", "keep what can be continued there [FILE.film.exr]",
     AT(film)},
    {ARGUMENT_TEXT, 0, "denoise", "auto|on|off", "smooth noise away [auto: only drafts]",
     AT(denoise)},
    {ARGUMENT_TEXT, 0, "position", "X,Y,Z", "where the camera stands", AT(position)},
    {ARGUMENT_TEXT, 0, "target", "X,Y,Z", "what it looks at", AT(target)},
    {ARGUMENT_TEXT, 0, "azimuth", "DEGREES", "without a position: the side to look from",
     AT(azimuth)},
    {ARGUMENT_TEXT, 0, "elevation", "DEGREES", "without a position: how far from above",
     AT(elevation)},
    {ARGUMENT_TEXT, 0, "zoom", "N", "without a position: 2 is twice as near", AT(zoom)},
    {ARGUMENT_TEXT, 0, "view", "DEGREES", "field of view", AT(view)},
    {ARGUMENT_TEXT, 0, "aperture", "M", "diameter of the lens: blurs what is not in focus",
     AT(aperture)},
    {ARGUMENT_TEXT, 0, "focus", "M", "distance that is sharp", AT(focus)},
    {ARGUMENT_TEXT, 0, "shutter", "SHARE", "motion blur: share of a frame's time, such as 0.5",
     AT(shutter)},
    {ARGUMENT_TEXT, 0, "sun", "ELEVATION[,AZIMUTH]", "where the sun stands, in degrees", AT(sun)},
    {ARGUMENT_TEXT, 0, "environment", "FILE.exr", "a picture all around as the light",
     AT(environment)},
    {ARGUMENT_TEXT, 0, "exposure", "STOPS", "brightness; 1 is twice", AT(exposure)},
    {ARGUMENT_TEXT, 0, "seed", "N", "another noise", AT(seed)},
    {ARGUMENT_CHOICE, 0, "colour", "snow|speed|density|J_P|object|material|id",
     "previews: what colours show [snow]", AT(colour)},
    {ARGUMENT_INTEGER, 0, "moments", "N", "sheets: frames, evenly spaced [6]", AT(moments), 1,
     1000},
    {ARGUMENT_INTEGER, 0, "columns", "N", "sheets: pictures in a row [what looks good]",
     AT(columns), 1, 1000},
    {ARGUMENT_INTEGER, 0, "threads", "N", "threads [all]", AT(threads), 1, 4096},
    {ARGUMENT_FLAG, 'q', "quiet", NULL, "say nothing but errors", AT(quiet)},
    {ARGUMENT_FLAG, 'v', "verbose", NULL, "say more", AT(verbose)},
};
#undef AT
static const command render_command = {
    .name = "render",
    .operands = "DIR|FRAME...|VDB...|SCENE",
    .least = 1,
    .most = SIZE_MAX,
    .summary =
        "Trace light through the snow of a frame (.hdf, .h5), of a run folder, of a scene at its\n"
        "start, or of a density volume of any program (.vdb). Ctrl-C writes what is there, and "
        "the\n"
        "same command goes on. Values of the scene's camera and render blocks can be given here\n"
        "too; docs/scene.md explains them.",
    .arguments = render_arguments,
    .count = sizeof render_arguments / sizeof *render_arguments,
};

typedef enum output_kind { OUTPUT_ONE, OUTPUT_MANY, OUTPUT_MOVIE } output_kind;

__attribute__((format(printf, 1, 2))) static int usage(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    console_error("firn render: %s\nSee: firn render --help", text);
    return 2;
}

/* ---- Where to -------------------------------------------------------------------------------- */

static bool has_ending(const char *path, const char *ending)
{
    size_t length = strlen(path), size = strlen(ending);
    return length > size && !strcmp(path + length - size, ending);
}

static int check_output(const render_options *o, output_kind *kind)
{
    if (!o->output)
        return usage("missing option: -o FILE.png, FILE.exr or FILE.mp4");
    bool png = has_ending(o->output, ".png"), exr = has_ending(o->output, ".exr");
    bool movie = has_ending(o->output, ".mp4");
    if (o->sheet && !png)
        return usage("-o takes a file that ends in .png for a sheet");
    if (o->preview && exr)
        return usage("previews are PNG; -o takes a file that ends in .png or .mp4");
    if (!png && !exr && !movie)
        return usage("-o takes a file that ends in .png, .exr or .mp4");
    const char *name = strrchr(o->output, '/');
    *kind = movie ? OUTPUT_MOVIE : strchr(name ? name : o->output, '#') ? OUTPUT_MANY : OUTPUT_ONE;
    return 0;
}

static bool parse_size(const char *text, int *width, int *height)
{
    char rest;
    return sscanf(text, "%5dx%5d%c", width, height, &rest) == 2 && *width >= 16 && *height >= 16 &&
           *width <= 16384 && *height <= 16384;
}

static int check_options(const render_options *o, output_kind kind)
{
    if (o->preview + o->sheet + o->draft > 1)
        return usage("--preview, --sheet and --draft exclude each other");
    if (o->film && (kind != OUTPUT_ONE || o->preview || o->sheet))
        return usage("--film goes with one traced picture");
    if (o->time > 0 && (kind != OUTPUT_ONE || o->preview || o->sheet))
        return usage("--time goes with one traced picture; use --samples");
    if (o->film && !has_ending(o->film, ".exr"))
        return usage("--film takes a file that ends in .exr");
    int width, height;
    if (o->size && !parse_size(o->size, &width, &height))
        return usage("--size is WIDTHxHEIGHT in pixels from 16 to 16384, such as 640x480");
    if (o->frame >= 0 && kind == OUTPUT_MOVIE)
        return usage("--frame chooses one picture; a film takes --first, --last and --every");
    return 0;
}

void render_job_size(render_job *job)
{
    const render_options *o = job->options;
    firn_scene_picture_size(job->input->scene, &job->width, &job->height, &job->samples);
    if (o->preview || o->sheet)
        job->width = 640, job->height = 480;
    if (o->size)
        parse_size(o->size, &job->width, &job->height);
    if (o->draft && o->samples < 0)
        job->samples = 12;
    if (o->time > 0 && o->samples < 0)
        job->samples = INT_MAX;
}

/* NAME_####.png for frame 7: NAME_0007.png. The last run of # counts. Owned by the caller. */
static char *numbered(const char *pattern, int number)
{
    const char *end = strrchr(pattern, '#') + 1, *begin = end;
    while (begin > pattern && begin[-1] == '#')
        begin--;
    return new_text("%.*s%0*d%s", (int)(begin - pattern), pattern, (int)(end - begin), number, end);
}

/* ---- Kinds of pictures ----------------------------------------------------------------------- */

static int render_one(render_job *job)
{
    firn_frame frame;
    int code = input_read(job->input, 0, &frame);
    if (code)
        return code;
    code = render_frame(job, &frame, job->options->output);
    firn_frame_clear(&frame);
    return code;
}

/* Every frame into a file of its own. */
static int render_many(render_job *job, const char *pattern)
{
    int code =
        input_frame(job->input, job->options, job->width, job->height, &job->camera, job->range);
    job->has_camera = job->has_range = job->continues = true;
    job->count = job->input->count;
    for (; job->done < job->count && !code; job->done++) {
        firn_frame frame;
        code = input_read(job->input, job->done, &frame);
        if (code)
            break;
        char *path = numbered(pattern, frame.frame);
        code = render_frame(job, &frame, path);
        free(path);
        firn_frame_clear(&frame);
    }
    return code;
}

/* In real time; what was simulated in slow motion is shown in slow motion. */
static double usual_fps(const firn_scene *scene, double every)
{
    double fps = firn_scene_settings(scene)->fps / every;
    return fps <= 60 ? fps : 24;
}

/* The pictures of a film are kept beside it until it is whole, so that it can be continued. */
static int render_movie(render_job *job)
{
    const render_options *o = job->options;
    int code = movie_check();
    if (code)
        return code;
    char *folder = new_text("%s.frames", o->output), *pattern = new_text("%s/####.png", folder);
    code = movie_folder(folder);
    if (!code)
        code = render_many(job, pattern);
    double fps = o->fps > 0 ? o->fps : usual_fps(job->input->scene, (double)o->every);
    if (!code)
        code = movie_encode(folder, job->input->count, fps, o->output);
    if (!code)
        movie_remove_folder(folder);
    free(pattern);
    free(folder);
    return code;
}

static int render_sheet(render_job *job)
{
    const render_input *in = job->input;
    firn_frame *frames = calloc(in->count, sizeof *frames);
    if (!frames)
        abort();
    int code = 0;
    size_t read = 0;
    while (read < in->count && !(code = input_read(in, read, &frames[read])))
        read++;
    if (!code) {
        const firn_preview_options preview = {.width = job->width,
                                              .height = job->height,
                                              .colour = (firn_colour)job->options->colour,
                                              .scene = in->has_scene ? in->scene : NULL,
                                              .threads = (int)job->options->threads};
        firn_status status = firn_preview_sheet(frames, in->count, (int)job->options->columns,
                                                &preview, job->options->output);
        code = status == FIRN_OK ? 0 : console_failure(status);
    }
    for (size_t k = 0; k < read; k++)
        firn_frame_clear(&frames[k]);
    free(frames);
    return code;
}

static int draw(const render_options *o, render_input *in, output_kind kind)
{
    render_job job = {.options = o, .input = in, .count = 1};
    render_job_size(&job);
    if (in->count > 1 && kind == OUTPUT_ONE && !o->sheet && o->several)
        return usage("several frames make a sheet (--sheet), a film (-o FILE.mp4) or numbered "
                     "pictures (-o NAME_####.png)");
    int code = o->sheet ? input_choose_moments(in, (int)o->moments)
                        : input_choose(in, o, kind == OUTPUT_ONE);
    if (!code)
        code = o->sheet               ? render_sheet(&job)
               : kind == OUTPUT_MOVIE ? render_movie(&job)
               : kind == OUTPUT_MANY  ? render_many(&job, o->output)
                                      : render_one(&job);
    return code;
}

static int render(const argument_list *operands, render_options *o)
{
    output_kind kind = OUTPUT_ONE;
    int code = check_output(o, &kind);
    if (!code)
        code = check_options(o, kind);
    if (!code && kind != OUTPUT_MOVIE)
        code = output_file_check(o->output);
    if (code)
        return code;
    o->several = operands->count > 1;
    render_input in = {0};
    code = render_input_open(&in, operands, o);
    if (!code)
        code = draw(o, &in, kind);
    render_input_close(&in);
    return code;
}

int verb_render(int argc, char **argv)
{
    render_options options = {
        .frame = -1, .first = -1, .last = -1, .every = 1, .samples = -1, .moments = 6};
    argument_list operands = {0};
    int code = arguments_parse(&render_command, argc, argv, &options, &operands);
    if (code == ARGUMENTS_GO) {
        console_setup(options.quiet     ? CONSOLE_QUIET
                      : options.verbose ? CONSOLE_VERBOSE
                                        : CONSOLE_NORMAL);
        signals_catch();
        code = render(&operands, &options);
    }
    console_live("");
    arguments_clear(&render_command, &options, &operands);
    return code;
}
