#include "cpu/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

/* Looks at a changing number before going to sleep; some ten microseconds. */
enum { PATIENCE = 1000 };

/* The gate of a loop: open or not, and how many workers are inside. */
enum { OPEN = 1 << 30, INSIDE = OPEN - 1 };

struct team {
    int threads;
    pthread_t *workers; /* threads - 1; the caller is thread 0 */
    /* The loop at hand; written by the caller before `epoch` changes. */
    size_t count, grain;
    size_t pieces; /* of `grain` indices; the rest goes in quarters, so that all end together */
    team_body *body;
    void *context;
    atomic_size_t next; /* first piece not handed out */
    atomic_uint epoch;  /* counts loops; a change is the call to work */
    atomic_int gate;    /* who comes when it is closed has missed the loop, and is not waited for */
    atomic_int numbering; /* hands each worker its number */
    atomic_bool ending;
    atomic_int sleeping; /* threads in pthread_cond_wait */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Wake those who sleep, after a change they wait for. */
static void announce(team *t)
{
    if (atomic_load(&t->sleeping) == 0)
        return;
    pthread_mutex_lock(&t->mutex);
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->mutex);
}

/* The sleeper counts itself before it looks a last time, and the announcer looks for sleepers after its
 * change: no call is missed. */
#define WAIT_WHILE(t, condition)                                                                   \
    do {                                                                                           \
        int patience = PATIENCE;                                                                   \
        while ((condition) && patience-- > 0)                                                      \
            relax();                                                                               \
        if (!(condition))                                                                          \
            break;                                                                                 \
        pthread_mutex_lock(&(t)->mutex);                                                           \
        atomic_fetch_add(&(t)->sleeping, 1);                                                       \
        while (condition)                                                                          \
            pthread_cond_wait(&(t)->changed, &(t)->mutex);                                         \
        atomic_fetch_sub(&(t)->sleeping, 1);                                                       \
        pthread_mutex_unlock(&(t)->mutex);                                                         \
    } while (0)

static void work(team *t, int thread)
{
    const size_t quarter = (t->grain + 3) / 4;
    for (;;) {
        size_t piece = atomic_fetch_add(&t->next, 1),
               over = piece < t->pieces ? 0 : piece - t->pieces;
        size_t begin = (piece - over) * t->grain + over * quarter;
        if (begin >= t->count)
            return;
        size_t end = begin + (piece < t->pieces ? t->grain : quarter);
        t->body(t->context, thread, begin, end < t->count ? end : t->count);
    }
}

static bool enter(team *t)
{
    int gate = atomic_load(&t->gate);
    while (gate & OPEN)
        if (atomic_compare_exchange_weak(&t->gate, &gate, gate + 1))
            return true;
    return false;
}

static void leave(team *t)
{
    if (atomic_fetch_sub(&t->gate, 1) == 1) /* closed, and nobody else is inside */
        announce(t);
}

static void *worker(void *argument)
{
    team *t = argument;
    int thread = 1 + atomic_fetch_add(&t->numbering, 1);
    unsigned seen = 0;
    for (;;) {
        WAIT_WHILE(t, atomic_load(&t->epoch) == seen);
        seen = atomic_load(&t->epoch);
        if (atomic_load(&t->ending))
            return NULL;
        if (!enter(t))
            continue;
        work(t, thread);
        leave(t);
    }
}

void team_for(team *t, size_t count, size_t grain, team_body *body, void *context)
{
    if (t->threads == 1 || count <= grain) {
        if (count > 0)
            body(context, 0, 0, count);
        return;
    }
    t->count = count;
    t->grain = grain;
    size_t rest = grain * (size_t)t->threads;
    t->pieces = count > rest ? (count - rest) / grain : 0;
    t->body = body;
    t->context = context;
    atomic_store(&t->next, 0);
    atomic_store(&t->gate, OPEN);
    atomic_fetch_add(&t->epoch, 1);
    announce(t);
    work(t, 0);
    atomic_fetch_and(&t->gate, INSIDE);
    WAIT_WHILE(t, atomic_load(&t->gate) > 0);
}

static int processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

team *team_create(int threads)
{
    team *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    int wanted = threads > 0 ? threads : processors();
    t->threads = 1;
    t->workers = calloc((size_t)wanted, sizeof *t->workers);
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->changed, NULL);
    while (t->workers && t->threads < wanted &&
           pthread_create(&t->workers[t->threads - 1], NULL, worker, t) == 0)
        t->threads++;
    if (t->threads < wanted)
        team_destroy(&t);
    return t;
}

void team_destroy(team **team_pointer)
{
    team *t = *team_pointer;
    if (!t)
        return;
    atomic_store(&t->ending, true);
    atomic_fetch_add(&t->epoch, 1);
    announce(t);
    for (int k = 0; k < t->threads - 1; k++)
        pthread_join(t->workers[k], NULL);
    pthread_mutex_destroy(&t->mutex);
    pthread_cond_destroy(&t->changed);
    free(t->workers);
    free(t);
    *team_pointer = NULL;
}

int team_threads(const team *t)
{
    return t->threads;
}
