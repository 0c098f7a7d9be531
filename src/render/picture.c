/*
 * A traced picture: the stage, the camera, and the film that light falls on.
 *
 * Invariants:
 * 1. A pixel's samples are added in order, each with random numbers of its own; how they are shared out
 *    in bands, calls and threads never shows.
 * 2. A band that was interrupted is put back as it was.
 */
#include "render/picture.h"

#include <omp.h>
#include <stdlib.h>
#include <time.h>

#include "render/camera_fit.h"
#include "status.h"

static const double band_seconds = 0.4; /* about as long as a request to stop may wait for a band */

int picture_begin(const firn_picture *p)
{
    int before = omp_get_max_threads();
    if (p->threads > 0)
        omp_set_num_threads(p->threads);
    return before;
}

void picture_end(int threads_before)
{
    omp_set_num_threads(threads_before);
}

/* ---- life ------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t h, const void *bytes, size_t count)
{
    for (const unsigned char *b = bytes; count--; b++)
        h = (h ^ *b) * 0x100000001b3u;
    return h;
}

/* The frame's snow, what is around it and who looks; not how the result is finished. */
static uint64_t identify(const firn_picture *p, const firn_scene *scene)
{
    firn_scene plain = *scene;
    plain.render.samples = 0;
    plain.render.exposure = 0;
    plain.render.tone = SCENE_FILMIC;
    plain.render.denoise = SCENE_DENOISE_AUTO;
    plain.render.precision = SCENE_HALF;
    uint64_t from[3] = {scene_picture_fingerprint(&plain), p->stage.light_hash, p->frame->count};
    uint64_t h = mix(0xcbf29ce484222325u, from, sizeof from);
    h = mix(h, &p->frame->time, sizeof p->frame->time);
    h = mix(h, &p->view, sizeof p->view);
    h = mix(h, p->frame->position, 3 * p->frame->count * sizeof(float));
    if (p->frame->mass)
        h = mix(h, p->frame->mass, p->frame->count * sizeof(float));
    if (p->frame->velocity && p->view.shutter > 0)
        h = mix(h, p->frame->velocity, 3 * p->frame->count * sizeof(float));
    return mix(h, FIRN_VERSION, sizeof FIRN_VERSION);
}

static firn_status prepare(firn_picture *p, const firn_scene *scene,
                           const firn_picture_options *options)
{
    const scene_render *r = &scene->render;
    firn_status status = FIRN_OK;
    if (p->frame->count == 0 || !p->frame->position)
        return fail(FIRN_BAD_SCENE, "frame %d has no %s: there is nothing to show", p->frame->frame,
                    p->frame->is_grid ? "voxel with density" : "particles");
    if (!p->frame->mass)
        return fail(FIRN_BAD_SCENE, "frame %d has no masses to make snow of", p->frame->frame);
    if (options->camera)
        p->view = *options->camera;
    else
        status = firn_camera_frame(p->frame, 1, scene, r->width, r->height, &p->view);
    double origin[3];
    points_origin(p->frame, 1, origin);
    if (status == FIRN_OK)
        status = camera_look(&p->camera, &p->view, origin, scene, r->width, r->height);
    if (status == FIRN_OK)
        status = film_create(&p->film, r->width, r->height);
    double shutter = p->view.shutter / scene->settings.fps;
    if (status == FIRN_OK)
        status = stage_create(&p->stage, p->frame, scene, &p->camera, shutter);
    if (status == FIRN_OK)
        p->identity = identify(p, scene);
    return status;
}

firn_status firn_picture_create(const firn_frame *frame, const firn_scene *scene,
                                const firn_picture_options *options, firn_picture **picture)
{
    const firn_picture_options defaults = {0};
    *picture = NULL;
    if (!options)
        options = &defaults;
    firn_picture *p = calloc(1, sizeof *p);
    if (!p)
        return fail(FIRN_NO_MEMORY, "no memory for a picture");
    p->frame = frame;
    p->render = &scene->render;
    p->denoise = scene->render.denoise == SCENE_DENOISE_ON ||
                 (scene->render.denoise == SCENE_DENOISE_AUTO && options->draft);
    p->threads = options->threads;
    int before = picture_begin(p);
    firn_status status = prepare(p, scene, options);
    picture_end(before);
    if (status != FIRN_OK)
        firn_picture_destroy(&p);
    *picture = p;
    return status;
}

void firn_picture_destroy(firn_picture **picture)
{
    firn_picture *p = *picture;
    if (!p)
        return;
    stage_clear(&p->stage);
    film_clear(&p->film);
    free(p);
    *picture = NULL;
}

/* ---- light ----------------------------------------------------------------------------------- */

typedef struct stop_request {
    firn_picture_stop_fn *ask;
    const firn_picture *picture;
    void *user;
} stop_request;

static bool ask_to_stop(void *user)
{
    const stop_request *r = user;
    return r->ask && r->ask(r->picture, r->user);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* As many rows and samples as take about the time that a stop may wait. */
static void choose_size(const firn_picture *p, int *rows, uint32_t *samples)
{
    int height = p->film.sums.height;
    double whole = p->row_seconds * height;
    *rows = height;
    *samples = 1;
    if (whole > band_seconds)
        *rows = (int)(band_seconds / p->row_seconds) + 1;
    else if (whole > 0 && p->stage.count == 1)
        *samples = (uint32_t)fmin(band_seconds / whole, 64) + 1;
    if (p->row_seconds == 0) /* the first band finds out how long one takes */
        *rows = height / 16 + 1;
}

static firn_status trace_band(firn_picture *p, const film_band *band, stop_request *stop)
{
    trace_scene scene;
    firn_status status = stage_scene(&p->stage, band->first, &scene);
    if (status != FIRN_OK)
        return status;
    double begin = now();
    trace_tile tile = {0, band->y0, p->film.sums.width, band->y1};
    film_begin(&p->film, band);
    status = trace_render(&scene, camera_sample, &p->camera, tile, band->first, band->count,
                          &p->film.sums, ask_to_stop, stop);
    film_end(&p->film, band, status == FIRN_OK);
    double seconds = (now() - begin) / ((band->y1 - band->y0) * (double)band->count);
    if (status == FIRN_OK)
        p->row_seconds = p->row_seconds > 0 ? 0.5 * (p->row_seconds + seconds) : seconds;
    return status;
}

firn_status firn_picture_trace(firn_picture *p, int samples, firn_picture_stop_fn *ask, void *user)
{
    if (samples < 1)
        return fail(FIRN_USAGE, "%d samples for a picture; it needs at least 1", samples);
    stop_request stop = {ask, p, user};
    firn_status status = FIRN_OK;
    int before = picture_begin(p);
    for (film_band band; status == FIRN_OK;) {
        int rows;
        uint32_t at_once;
        choose_size(p, &rows, &at_once);
        if (!film_next(&p->film, (uint32_t)samples, rows, at_once, &band))
            break;
        status = ask_to_stop(&stop) ? FIRN_STOPPED : trace_band(p, &band, &stop);
    }
    picture_end(before);
    return status;
}

int firn_picture_samples(const firn_picture *p)
{
    return (int)film_samples(&p->film);
}

double firn_picture_sample_sum(const firn_picture *p)
{
    double sum = 0;
    for (int y = 0; y < p->film.sums.height; y++)
        sum += (double)p->film.done[y] * p->film.sums.width;
    return sum;
}

firn_status firn_picture_save(const firn_picture *p, const char *path)
{
    return film_save(&p->film, p->identity, path);
}

firn_status firn_picture_load(firn_picture *p, const char *path)
{
    return film_load(&p->film, p->identity, path);
}
