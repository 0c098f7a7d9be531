#include "cpu/undo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"

/*
 * While no component of a node's velocity exceeds `calm`, entries of dt grad v are at most 2 calm dt/h
 * (the slopes of a spline sum to 2 at most), three of them less than 1: I + dt grad v keeps its
 * orientation, and J_P its sign. And |v_p| is at most sqrt(3) calm, with FLIP more by
 * alpha (|v_p| + |v_i|). Bodies that move may add to that, and the first step meets values from
 * outside: then no speed is calm.
 */
float undo_calm_speed(const backend *s, const step_limits *limits, double dt)
{
    if (s->steps == 0)
        return -1;
    for (size_t c = 0; c < s->colliders->count; c++)
        for (int a = 0; a < 3; a++)
            if (s->colliders->items[c].velocity[a] != 0)
                return -1;
    double cell = s->settings->cell_size / dt; /* m/s: a cell in this step */
    double flip = s->settings->transfer == FIRN_APIC ? 0 : 2 * s->settings->blend;
    return (float)fmin(0.16 * cell, (cell - flip * limits->max_speed) / 1.75);
}

static void copy_records(void *context, int thread, size_t begin, size_t end)
{
    backend *s = context;
    (void)thread;
    memcpy(s->old_hot + begin, s->store.hot + begin, (end - begin) * sizeof *s->old_hot);
    if (s->store.affine)
        memcpy(s->old_affine + begin, s->store.affine + begin,
               (end - begin) * sizeof *s->old_affine);
}

firn_status undo_prepare(backend *s)
{
    size_t count = s->store.count;
    if (!s->old_hot)
        s->old_hot = malloc(count * sizeof *s->old_hot);
    if (s->store.affine && !s->old_affine)
        s->old_affine = malloc(count * sizeof *s->old_affine);
    if (!s->old_hot || (s->store.affine && !s->old_affine))
        return fail(FIRN_NO_MEMORY, "out of memory to undo a step of %zu particles", count);
    team_for(s->threads, count, 4096, copy_records, s);
    return FIRN_OK;
}

void undo_step(backend *s)
{
    memcpy(s->store.hot, s->old_hot, s->store.count * sizeof *s->old_hot);
    if (s->store.affine)
        memcpy(s->store.affine, s->old_affine, s->store.count * sizeof *s->old_affine);
}

void undo_free(backend *s)
{
    free(s->old_hot);
    free(s->old_affine);
    s->old_hot = NULL;
    s->old_affine = NULL;
}
