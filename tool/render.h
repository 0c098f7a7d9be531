/* What the parts of `firn render` share: the options, what is drawn, and where to. */
#ifndef FIRN_TOOL_RENDER_H
#define FIRN_TOOL_RENDER_H

#include "arguments.h"
#include "firn/io.h"
#include "firn/render.h"

typedef struct render_options {
    const char *output;
    bool preview, sheet, draft;
    const char *scene, *grid;
    argument_list sets;
    int64_t frame, first, last, every; /* -1 = not given */
    const char *size;
    int64_t samples; /* -1 = the scene's */
    double time;     /* s; 0 = no limit */
    const char *film;
    double fps; /* 0 = the scene's */
    int64_t threads;
    int64_t columns, moments;
    int colour; /* in the order of firn_colour */
    /* Values of the scene, under short names: */
    const char *position, *target, *azimuth, *elevation, *zoom, *view, *aperture, *focus, *shutter;
    const char *sun, *environment, *exposure, *seed, *denoise;
    bool quiet, verbose;
    bool several; /* whether more than one operand was given */
} render_options;

/* Frames as files in the order of their numbers, or the snow of a scene at its start. */
typedef struct render_input {
    size_t count;
    char **paths;        /* owned; not used for a scene */
    unsigned attributes; /* that frames are read with */
    const char *grid;    /* of volumes; borrowed; NULL: density */
    bool is_scene;       /* one frame: what the scene starts with */
    bool has_scene;      /* whether `scene` is more than a place for the options */
    firn_scene *scene;   /* never NULL once open */
} render_input;

/* Functions that can fail tell the user why and return the exit code, 0 when all is well. */

int render_input_open(render_input *in, const argument_list *operands, const render_options *o);
void render_input_close(render_input *in);
int input_read(const render_input *in, size_t index, firn_frame *frame);

/* Keep the frames that the options choose for one picture, for a film, or for a sheet. */
int input_choose(render_input *in, const render_options *o, bool one);
int input_choose_moments(render_input *in, int moments);

/* One camera for all frames, and the ends of the colour scale. */
int input_frame(const render_input *in, const render_options *o, int width, int height,
                firn_camera *camera, double range[2]);

/* What one picture is drawn with. */
typedef struct render_job {
    const render_options *options;
    const render_input *input;
    int width, height, samples;
    firn_camera camera;
    double range[2];
    bool has_camera;    /* else each frame is framed by itself */
    bool has_range;     /* of the colours; else each frame has its own */
    bool continues;     /* whether a picture that is there and finished is left alone */
    size_t done, count; /* pictures of a film */
} render_job;

/* Set width, height and samples by the options and the scene. */
void render_job_size(render_job *job);

/* Draw a frame into a file: traced or as a preview. */
int render_frame(render_job *job, const firn_frame *frame, const char *path);

#endif
