/*
 * One picture: traced until it has its samples, is told to stop, or its time is up.
 *
 * Invariant: whatever ends a traced picture, either it is finished, or its film is on the disk and the
 * same command goes on from there. After a kill, at most a minute of work is lost.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console.h"
#include "progress.h"
#include "render.h"
#include "run_folder.h"
#include "signals.h"

static const double seconds_between_saves = 60;

typedef struct exposure {
    const render_job *job;
    double clock_start, clock_drawn, clock_saved;
    double sum_start; /* samples that were there before */
    pthread_t thread; /* which may speak */
    bool time_is_up, save;
} exposure;

/* ---- Progress -------------------------------------------------------------------------------- */

static void show_progress(exposure *e, const firn_picture *picture)
{
    double now = clock_seconds();
    if (!console_is_live() || now - e->clock_drawn < 0.2)
        return;
    e->clock_drawn = now;
    const render_job *job = e->job;
    double pixels = (double)job->width * job->height, sum = firn_picture_sample_sum(picture);
    double share = job->samples > 0 ? sum / (pixels * job->samples) : 0;
    double seconds = now - e->clock_start, speed = (sum - e->sum_start) / fmax(seconds, 1e-9);
    if (job->options->time > 0)
        share = fmax(share, seconds / job->options->time);
    enum { WIDTH = 20 };
    char bar[WIDTH + 1], left[32], line[256], film[48] = "";
    for (int k = 0; k < WIDTH; k++)
        bar[k] = k < (int)(WIDTH * share) ? '#' : '.';
    bar[WIDTH] = 0;
    duration_text(share > 0 && sum > e->sum_start ? seconds * (1 - share) / share : -1, left);
    if (job->count > 1)
        snprintf(film, sizeof film, "picture %zu/%zu  ", job->done + 1, job->count);
    snprintf(line, sizeof line, "[%s] %s%.1f samples  %.3g M samples/s  ETA %s", bar, film,
             sum / pixels, 1e-6 * speed, left);
    console_live(line);
}

/* Asked by several threads. */
static bool ask_to_stop(const firn_picture *picture, void *user)
{
    exposure *e = user;
    if (pthread_equal(pthread_self(), e->thread))
        show_progress(e, picture);
    double now = clock_seconds(), limit = e->job->options->time;
    bool up = limit > 0 && now - e->clock_start >= limit && firn_picture_samples(picture) > 0;
    bool save = now - e->clock_saved >= seconds_between_saves;
    if (up)
        __atomic_store_n(&e->time_is_up, true, __ATOMIC_RELAXED);
    if (save)
        __atomic_store_n(&e->save, true, __ATOMIC_RELAXED);
    return up || save || signals_asked_to_stop();
}

/* ---- Traced ---------------------------------------------------------------------------------- */

/* Go on with what an earlier call left. */
static int load_film(const render_job *job, firn_picture *picture, const char *film)
{
    if (access(film, F_OK) != 0)
        return 0;
    firn_status status = firn_picture_load(picture, film);
    if (status == FIRN_OK)
        console_note("going on with %s: %d samples", film, firn_picture_samples(picture));
    else if (job->options->film)
        return console_failure(status);
    else
        console_warning("%s; starting over", firn_last_error());
    return 0;
}

/* Until it has its samples (0), must stop (75) or fails. */
static int expose(exposure *e, firn_picture *picture, const char *film)
{
    for (;;) {
        e->save = e->time_is_up = false;
        firn_status status = firn_picture_trace(picture, e->job->samples, ask_to_stop, e);
        if (status != FIRN_STOPPED)
            return status == FIRN_OK ? 0 : console_failure(status);
        if (signals_asked_to_stop() || e->time_is_up)
            return FIRN_STOPPED;
        status = firn_picture_save(picture, film);
        if (status != FIRN_OK)
            return console_failure(status);
        e->clock_saved = clock_seconds();
    }
}

static void tell_result(const firn_picture *picture, const char *path, double seconds, bool stopped)
{
    char took[32];
    duration_text(seconds, took);
    console_note("%s: %d samples in %s%s", path, firn_picture_samples(picture), took,
                 !stopped ? "" : "; the same command goes on");
}

/* Write the picture, and its film when there is more to come or the user wants to keep it. */
static int finish(const render_job *job, const firn_picture *picture, const char *path,
                  const char *film, bool stopped)
{
    firn_status status = FIRN_OK;
    bool begun = firn_picture_sample_sum(picture) > 0;
    if (begun && (stopped || job->options->film))
        status = firn_picture_save(picture, film);
    if (status == FIRN_OK && begun)
        status = firn_picture_write(picture, path);
    if (status != FIRN_OK)
        return console_failure(status);
    if (!stopped && !job->options->film)
        unlink(film);
    return 0;
}

static int trace_picture(render_job *job, firn_picture *picture, const char *path, const char *film)
{
    int code = load_film(job, picture, film);
    if (code)
        return code;
    exposure e = {
        .job = job, .thread = pthread_self(), .sum_start = firn_picture_sample_sum(picture)};
    e.clock_start = e.clock_saved = clock_seconds();
    code = expose(&e, picture, film);
    if (code && code != FIRN_STOPPED)
        return code;
    int end = finish(job, picture, path, film, code == FIRN_STOPPED);
    console_live("");
    if (end)
        return end;
    tell_result(picture, path, clock_seconds() - e.clock_start, code == FIRN_STOPPED);
    return code == FIRN_STOPPED && e.time_is_up && !signals_asked_to_stop() ? 0 : code;
}

static int render_traced(render_job *job, const firn_frame *frame, const char *path)
{
    const firn_picture_options options = {.camera = job->has_camera ? &job->camera : NULL,
                                          .draft = job->options->draft,
                                          .threads = (int)job->options->threads};
    firn_picture *picture;
    firn_status status = firn_picture_create(frame, job->input->scene, &options, &picture);
    if (status != FIRN_OK)
        return console_failure(status);
    char *film =
        job->options->film ? new_text("%s", job->options->film) : new_text("%s.film.exr", path);
    int code = 0;
    if (job->continues && firn_picture_is_written(picture, path, job->samples))
        console_note("%s: is there", path);
    else
        code = trace_picture(job, picture, path, film);
    free(film);
    firn_picture_destroy(&picture);
    return code;
}

/* ---- Previews -------------------------------------------------------------------------------- */

static int render_preview(const render_job *job, const firn_frame *frame, const char *path)
{
    const render_options *o = job->options;
    const firn_preview_options preview = {
        .width = job->width,
        .height = job->height,
        .colour = (firn_colour)o->colour,
        .scene = job->input->has_scene ? job->input->scene : NULL,
        .camera = job->has_camera ? &job->camera : NULL,
        .range = job->has_range ? job->range : NULL,
        .threads = (int)o->threads,
    };
    firn_status status = firn_preview_sheet(frame, 1, 1, &preview, path);
    if (status != FIRN_OK)
        return console_failure(status);
    return signals_asked_to_stop() ? FIRN_STOPPED : 0;
}

int render_frame(render_job *job, const firn_frame *frame, const char *path)
{
    return job->options->preview ? render_preview(job, frame, path)
                                 : render_traced(job, frame, path);
}
