/* Particles that come and go: the rows that stay move to fresh memory, in the order of rows, as if they
 * had just been set. Costs about as much as a step or two, so it is not for every step. */
#include <stdlib.h>
#include <string.h>

#include "cpu/sleep.h"
#include "status.h"

typedef struct moving {
    const backend *from;
    backend *to;
    const uint32_t *row; /* of the old state, by rows of the new one */
} moving;

static void move_rows(void *context, int thread, size_t begin, size_t end)
{
    const moving *m = context;
    (void)thread;
    for (size_t r = begin; r < end; r++) {
        uint32_t slot = cpu_slot_of(m->from, m->row[r]);
        int64_t base[3];
        cpu_base_of(m->from, m->row[r], base);
        for (int a = 0; a < 3; a++)
            m->to->base[r][a] = (int32_t)base[a];
        m->to->store.hot[r] = m->from->store.hot[slot];
        m->to->store.cold[r] = m->from->store.cold[slot];
        if (m->to->store.affine)
            m->to->store.affine[r] = m->from->store.affine[slot];
    }
}

firn_status cpu_reshape(backend *s, const bool *kept, size_t added)
{
    size_t count = s->store.count, stay = 0;
    uint32_t *row = malloc((count + 1) * sizeof *row);
    if (!row)
        return fail(FIRN_NO_MEMORY, "out of memory for a list of %zu rows", count);
    for (size_t r = 0; r < count; r++)
        if (!kept || kept[r])
            row[stay++] = (uint32_t)r;
    double *rest;
    firn_status status = sleep_carry(s, kept, added, &rest);
    if (status != FIRN_OK) {
        free(row);
        return status;
    }
    cpu_know_places(s);
    backend old = *s;
    s->store = (cpu_store){0};
    s->base = NULL;
    s->rest = NULL;
    status = cpu_resize(s, stay + added);
    if (status == FIRN_OK) {
        moving all = {.from = &old, .to = s, .row = row};
        team_for(s->threads, stay, 4096, move_rows, &all);
        s->places_known = false;
    }
    cpu_free_store(status == FIRN_OK ? &old.store : &s->store);
    free(status == FIRN_OK ? old.base : s->base);
    if (status == FIRN_OK) {
        free(old.rest);
        s->rest = rest;
    } else {
        *s = old;
        free(rest);
    }
    free(row);
    return status;
}
