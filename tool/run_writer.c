#include "run_writer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "console.h"
#include "firn/still.h"

enum { SLOTS = 4, FRAMES = 2 };

typedef struct slot {
    firn_sim *still;   /* on a GPU, until it is fetched or saved */
    firn_frame *frame; /* of the writer's; NULL: not fetched yet, or a checkpoint */
    unsigned formats;
    bool steps_elsewhere;      /* on a GPU: all threads are free to pack */
    const run_folder *save_to; /* of a checkpoint; NULL: it is a frame */
    frame_cost cost;           /* of the frame under way; none when it has no steps */
} slot;

struct run_writer {
    const char *folder;
    const firn_settings *settings;
    pthread_t fetcher, writer;
    bool has_fetcher, has_writer;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* All below belongs to who holds the lock, but a slot and its frame to the one who fills or writes it. */
    slot slots[SLOTS];
    int first, count; /* slots [first, first + count) are in the queue, the first being written */
    int ready;        /* the first of them, of which all is here that the writer needs */
    firn_frame frames[FRAMES];
    bool is_taken[FRAMES];
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

static firn_status write_frame(const run_writer *w, const slot *s)
{
    firn_status status = FIRN_OK;
    for (unsigned format = 1; format <= s->formats && status == FIRN_OK; format <<= 1) {
        if (!(s->formats & format))
            continue;
        firn_export how = export_of(w->settings, format);
        if (s->steps_elsewhere)
            how.threads = 0;
        char *path = folder_frame_path(w->folder, s->frame->frame, format);
        status = firn_frame_export(s->frame, path, format, &how);
        free(path);
        if (status == FIRN_OK && firn_format_has_index(format))
            status = write_index(w, format, s->frame->frame);
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

/* ---- Two threads, with the lock held between their works -------------------------------------- */

static slot *slot_at(run_writer *w, int place)
{
    return &w->slots[(w->first + place) % SLOTS];
}

/* With the words of this thread, or none when the user has been told. The first failure counts. */
static void give_up(run_writer *w, firn_status status, bool is_told)
{
    if (w->status == FIRN_OK) {
        w->status = status;
        w->message = is_told ? NULL : new_text("%s", firn_last_error());
    }
    w->ending = true;
}

static firn_frame *free_frame(run_writer *w)
{
    for (int k = 0; k < FRAMES; k++)
        if (!w->is_taken[k])
            return &w->frames[k];
    return NULL;
}

/* A frame of the writer's gets the particles, while others work. */
static firn_status fetch(run_writer *w, slot *s, const firn_sim *sim)
{
    const firn_export how = export_of(w->settings, FIRN_FORMAT_VTKHDF);
    s->frame = free_frame(w);
    w->is_taken[s->frame - w->frames] = true;
    pthread_mutex_unlock(&w->lock);
    firn_status status =
        firn_frame_capture(sim, firn_export_attributes(s->formats, &how), s->frame);
    firn_sim_destroy(&s->still);
    pthread_mutex_lock(&w->lock);
    return status;
}

/* From a GPU, in the order of the queue, while the frame before is being packed and written. */
static void *fetch_all(void *context)
{
    run_writer *w = context;
    pthread_mutex_lock(&w->lock);
    while (!w->ending) {
        slot *s = slot_at(w, w->ready);
        if (w->ready == w->count || (!s->save_to && !free_frame(w))) {
            pthread_cond_wait(&w->changed, &w->lock);
            continue;
        }
        firn_status status = s->save_to ? FIRN_OK : fetch(w, s, s->still);
        if (status != FIRN_OK)
            give_up(w, status, false);
        w->ready++;
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void clear_slot(run_writer *w, slot *s)
{
    firn_sim_destroy(&s->still);
    if (s->frame)
        w->is_taken[s->frame - w->frames] = false;
    *s = (slot){0};
}

static void *write_all(void *context)
{
    run_writer *w = context;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (w->ready == 0 && !w->ending)
            pthread_cond_wait(&w->changed, &w->lock);
        if (w->ending)
            break;
        slot *s = slot_at(w, 0);
        pthread_mutex_unlock(&w->lock);
        const bool is_state = s->save_to != NULL;
        firn_status status = is_state ? (firn_status)write_state(s) : write_frame(w, s);
        pthread_mutex_lock(&w->lock);
        if (status != FIRN_OK)
            give_up(w, status, is_state);
        clear_slot(w, s);
        w->first = (w->first + 1) % SLOTS;
        w->count--;
        w->ready--;
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
    w->has_fetcher = pthread_create(&w->fetcher, NULL, fetch_all, w) == 0;
    w->has_writer = pthread_create(&w->writer, NULL, write_all, w) == 0;
    if (!w->has_fetcher || !w->has_writer) {
        console_error("the system gives no threads to write frames");
        run_writer_destroy(&w);
        return FIRN_NO_MEMORY;
    }
    *writer = w;
    return 0;
}

/* Waits until at most `most` are in the queue; tells a failure. */
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

/* The slot behind the last in the queue, where nobody else looks: there is room. */
static slot *next_slot(run_writer *w)
{
    pthread_mutex_lock(&w->lock);
    slot *s = slot_at(w, w->count);
    pthread_mutex_unlock(&w->lock);
    return s;
}

/* Where the simulation has no copy: once everything before is fetched, and there is a frame. After a failure
 * nothing, which the next call tells. */
static firn_status fetch_now(run_writer *w, slot *s, const firn_sim *sim)
{
    while ((w->ready < w->count || !free_frame(w)) && w->status == FIRN_OK)
        pthread_cond_wait(&w->changed, &w->lock);
    if (w->status != FIRN_OK)
        return FIRN_OK;
    firn_status status = fetch(w, s, sim);
    if (status == FIRN_OK)
        w->ready++;
    else
        clear_slot(w, s);
    return status;
}

int run_writer_put(run_writer *w, firn_sim *sim, unsigned formats)
{
    int code = wait_for_room(w, SLOTS - 1);
    if (code || !formats)
        return code;
    slot *s = next_slot(w);
    s->formats = formats;
    firn_status status = firn_sim_freeze(sim, &s->still);
    s->steps_elsewhere = s->still != NULL;
    pthread_mutex_lock(&w->lock);
    if (status == FIRN_OK && !s->still)
        status = fetch_now(w, s, sim);
    if (s->still || s->frame)
        w->count++;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return status == FIRN_OK ? 0 : console_failure(status);
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
    pthread_mutex_lock(&w->lock);
    w->count++;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
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
    if (w->has_fetcher)
        pthread_join(w->fetcher, NULL);
    if (w->has_writer)
        pthread_join(w->writer, NULL);
    for (int k = 0; k < SLOTS; k++)
        clear_slot(w, &w->slots[k]);
    for (int k = 0; k < FRAMES; k++)
        firn_frame_clear(&w->frames[k]);
    free(w->message);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
    *writer = NULL;
}
