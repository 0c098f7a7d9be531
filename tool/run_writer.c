#include "run_writer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "console.h"
#include "firn/still.h"

enum { SLOTS = 2 };

typedef struct slot {
    firn_sim *still; /* to be copied from first; NULL: the frame is complete */
    firn_frame frame;
    unsigned formats;
    const run_folder *save_to; /* of a checkpoint; NULL: it is a frame */
    frame_cost cost;           /* of the frame under way; none when it has no steps */
} slot;

struct run_writer {
    const char *folder;
    const firn_settings *settings;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* All below belongs to who holds the lock, but a slot's frame to the one who fills or writes it. */
    slot slots[SLOTS];
    int first, count; /* slots [first, first + count) hold frames, the first being written */
    bool ending;
    firn_status status; /* of the first failure */
    char *message;      /* likewise; NULL: it has been told */
};

/* ---- Writing --------------------------------------------------------------------------------- */

/* VTKHDF frames are Firn's own record: it reads them back, so they stay in metres with y up and hold
 * what it needs. */
static firn_export export_of(const firn_settings *settings, unsigned format)
{
    firn_export how = settings->output;
    how.threads = 1; /* the simulation has the others */
    if (format == FIRN_FORMAT_VTKHDF) {
        how.attributes |= FIRN_BASIC_ATTRIBUTES;
        how.up = FIRN_UP_Y;
        how.scale = 1;
    }
    return how;
}

static firn_status write_index(const run_writer *w, unsigned format, int last)
{
    long *frames;
    size_t count = folder_list_frames(w->folder, format, last, &frames);
    firn_index_entry *entries = calloc(count + 1, sizeof *entries);
    char **names = calloc(count + 1, sizeof *names);
    if (!entries || !names)
        abort();
    for (size_t k = 0; k < count; k++) {
        names[k] = new_text("frame_%04ld", frames[k]);
        entries[k] =
            (firn_index_entry){names[k], (int)frames[k], (double)frames[k] / w->settings->fps};
    }
    const firn_export how = export_of(w->settings, format);
    firn_status status = firn_index_write(w->folder, format, entries, count, &how);
    for (size_t k = 0; k < count; k++)
        free(names[k]);
    free(names);
    free(entries);
    free(frames);
    return status;
}

static firn_status capture(const run_writer *w, slot *s, const firn_sim *sim)
{
    firn_export how = export_of(w->settings, FIRN_FORMAT_VTKHDF);
    return firn_frame_capture(sim, firn_export_attributes(s->formats, &how), &s->frame);
}

static firn_status write_slot(const run_writer *w, slot *s)
{
    const bool steps_elsewhere = s->still != NULL; /* on a GPU: all threads are free */
    firn_status status = steps_elsewhere ? capture(w, s, s->still) : FIRN_OK;
    firn_sim_destroy(&s->still);
    for (unsigned format = 1; format <= s->formats && status == FIRN_OK; format <<= 1) {
        if (!(s->formats & format))
            continue;
        firn_export how = export_of(w->settings, format);
        if (steps_elsewhere)
            how.threads = 0;
        char *path = folder_frame_path(w->folder, s->frame.frame, format);
        status = firn_frame_export(&s->frame, path, format, &how);
        free(path);
        if (status == FIRN_OK && firn_format_has_index(format))
            status = write_index(w, format, s->frame.frame);
    }
    return status;
}

/* Has told what went wrong. */
static int write_state(slot *s)
{
    int code = s->cost.work.steps > 0
                   ? frame_cost_save(s->save_to->costs, firn_sim_steps(s->still), &s->cost)
                   : 0;
    if (!code)
        code = folder_save(s->save_to, s->still);
    firn_sim_destroy(&s->still);
    return code;
}

static void *work(void *context)
{
    run_writer *w = context;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (w->count == 0 && !w->ending)
            pthread_cond_wait(&w->changed, &w->lock);
        if (w->ending)
            break;
        slot *s = &w->slots[w->first];
        pthread_mutex_unlock(&w->lock);
        const bool is_state = s->save_to != NULL;
        firn_status status = is_state ? (firn_status)write_state(s) : write_slot(w, s);
        pthread_mutex_lock(&w->lock);
        w->first = (w->first + 1) % SLOTS;
        w->count--;
        if (status != FIRN_OK) {
            w->status = status;
            w->message = is_state ? NULL : new_text("%s", firn_last_error());
            w->ending = true;
        }
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* ---- Handing over ---------------------------------------------------------------------------- */

int run_writer_create(const char *folder, const firn_settings *settings, run_writer **writer)
{
    run_writer *w = calloc(1, sizeof *w);
    if (!w)
        abort();
    w->folder = folder;
    w->settings = settings;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    if (pthread_create(&w->thread, NULL, work, w) != 0) {
        console_error("the system gives no thread to write frames");
        free(w);
        return FIRN_NO_MEMORY;
    }
    *writer = w;
    return 0;
}

/* Waits until at most `most` frames are in the queue; tells a failure. */
static int wait_for_room(run_writer *w, int most)
{
    pthread_mutex_lock(&w->lock);
    while (w->count > most && w->status == FIRN_OK)
        pthread_cond_wait(&w->changed, &w->lock);
    int code = (int)w->status;
    pthread_mutex_unlock(&w->lock);
    if (code && w->message)
        console_error("%s", w->message);
    return code;
}

/* The slot behind the last in the queue: there is room. */
static slot *next_slot(run_writer *w)
{
    pthread_mutex_lock(&w->lock);
    slot *s = &w->slots[(w->first + w->count) % SLOTS];
    pthread_mutex_unlock(&w->lock);
    return s;
}

static void hand_over(run_writer *w)
{
    pthread_mutex_lock(&w->lock);
    w->count++;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

int run_writer_put(run_writer *w, firn_sim *sim, unsigned formats)
{
    int code = wait_for_room(w, SLOTS - 1);
    if (code || !formats)
        return code;
    slot *s = next_slot(w);
    s->formats = formats;
    s->save_to = NULL;
    firn_status status = firn_sim_freeze(sim, &s->still);
    if (status == FIRN_OK && !s->still)
        status = capture(w, s, sim);
    if (status != FIRN_OK)
        return console_failure(status);
    hand_over(w);
    return 0;
}

int run_writer_save(run_writer *w, firn_sim *sim, const run_folder *folder, const frame_cost *cost,
                    bool *is_kept)
{
    int code = wait_for_room(w, SLOTS - 1);
    *is_kept = false;
    if (code)
        return code;
    slot *s = next_slot(w);
    firn_status status = firn_sim_freeze(sim, &s->still);
    if (status != FIRN_OK)
        return console_failure(status);
    if (!s->still)
        return 0;
    s->save_to = folder;
    s->cost = *cost;
    hand_over(w);
    *is_kept = true;
    return 0;
}

int run_writer_wait(run_writer *w)
{
    return wait_for_room(w, 0);
}

void run_writer_destroy(run_writer **writer)
{
    run_writer *w = *writer;
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    for (int k = 0; k < SLOTS; k++) {
        firn_sim_destroy(&w->slots[k].still);
        firn_frame_clear(&w->slots[k].frame);
    }
    free(w->message);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
    *writer = NULL;
}
