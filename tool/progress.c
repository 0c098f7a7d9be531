#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "console.h"

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void duration_text(double seconds, char text[32])
{
    if (!(seconds >= 0 && seconds < 1e9)) {
        snprintf(text, 32, "?");
        return;
    }
    long total = (long)(seconds + 0.5);
    if (total < 3600)
        snprintf(text, 32, "%ld:%02ld", total / 60, total % 60);
    else
        snprintf(text, 32, "%ld:%02ld:%02ld", total / 3600, total / 60 % 60, total % 60);
}

progress progress_start(const firn_sim *sim, int last_frame, uint64_t last_step, double fps)
{
    return (progress){
        .last_frame = last_frame,
        .last_step = last_step,
        .end_time = last_frame / fps,
        .clock_start = clock_seconds(),
        .time_start = firn_sim_time(sim),
        .step_start = firn_sim_steps(sim),
    };
}

/* The part of the whole run that was done when it stood at this time or step. */
static double part_done(const progress *p, double time, uint64_t step)
{
    double part = p->last_step      ? (double)step / (double)p->last_step
                  : p->end_time > 0 ? time / p->end_time
                                    : 1;
    return part < 1 ? part : 1;
}

static double seconds_left(const progress *p, const firn_sim *sim)
{
    double begun = part_done(p, p->time_start, p->step_start);
    double done = part_done(p, firn_sim_time(sim), firn_sim_steps(sim));
    double elapsed = clock_seconds() - p->clock_start;
    return done > begun ? elapsed * (1 - done) / (done - begun) : -1;
}

/* "frame 3/96", or "step 40/100" for a run that ends by steps. */
static void place_text(const progress *p, const firn_sim *sim, char text[64])
{
    if (p->last_step)
        snprintf(text, 64, "frame %d  step %" PRIu64 "/%" PRIu64, firn_sim_frame(sim),
                 firn_sim_steps(sim), p->last_step);
    else
        snprintf(text, 64, "frame %d/%d  step %" PRIu64, firn_sim_frame(sim), p->last_frame,
                 firn_sim_steps(sim));
}

/* Particle steps a second, in millions. */
static double speed(const progress *p, const firn_sim *sim)
{
    double elapsed = clock_seconds() - p->clock_start;
    double steps = (double)(firn_sim_steps(sim) - p->step_start);
    return elapsed > 0 ? 1e-6 * steps * (double)firn_sim_particle_count(sim) / elapsed : 0;
}

static void note_dt(progress *p, const firn_sim *sim)
{
    firn_progress work = firn_sim_progress(sim);
    if (work.steps > 0)
        p->dt = work.dt_min;
}

/* "  12 iterations a step, 3 retries": what the frame under way has had of them, or nothing. */
static void effort_text(const firn_sim *sim, char text[96])
{
    firn_progress work = firn_sim_progress(sim);
    int used = 0;
    text[0] = 0;
    if (work.solver_iterations > 0 && work.steps > 0)
        used = snprintf(text, 96, "  %.3g iterations a step",
                        (double)work.solver_iterations / (double)work.steps);
    if (work.retries > 0)
        snprintf(text + used, 96 - (size_t)used, "  %" PRIu64 " retries", work.retries);
}

void progress_step(progress *p, const firn_sim *sim)
{
    if (!console_is_live() || clock_seconds() - p->clock_drawn < 0.1)
        return;
    p->clock_drawn = clock_seconds();
    enum { WIDTH = 10 };
    char bar[WIDTH + 1], place[64], left[32], effort[96], line[384];
    int filled = (int)(WIDTH * part_done(p, firn_sim_time(sim), firn_sim_steps(sim)));
    for (int k = 0; k < WIDTH; k++)
        bar[k] = k < filled ? '#' : '.';
    bar[WIDTH] = 0;
    place_text(p, sim, place);
    duration_text(seconds_left(p, sim), left);
    note_dt(p, sim);
    effort_text(sim, effort);
    snprintf(line, sizeof line, "[%s] %s  ETA %s  dt %.2g s%s  %zu particles  %.2g M/s", bar, place,
             left, p->dt, effort, firn_sim_particle_count(sim), speed(p, sim));
    console_live(line);
}

void progress_frame(progress *p, const firn_sim *sim, double seconds)
{
    note_dt(p, sim);
    if (console_is_live())
        return;
    char place[64], left[32], effort[96];
    place_text(p, sim, place);
    duration_text(seconds_left(p, sim), left);
    effort_text(sim, effort);
    console_note("%s  time %.6g s  dt %.3g s%s  %zu particles  %.3g M/s  %.2f s  ETA %s", place,
                 firn_sim_time(sim), p->dt, effort, firn_sim_particle_count(sim), speed(p, sim),
                 seconds, left);
}
