/*
 * 1. There are as many fibers as a block has threads, but one runs thread after thread as long as none of them waits:
 *    kernels without barriers need no other. A thread that waits keeps its fiber; another goes on with those that have not begun.
 * 2. A fiber waits in one place: a warp, or the block. Whoever comes last there wakes the others and goes on itself.
 * 3. machine_run itself is `home`: the place to return to when no fiber is awake.
 */
#undef _FORTIFY_SOURCE /* it takes a jump to another stack for a mistake */
#include "cuda/machine.h"

#include "cuda/watch.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

/* Where nothing is watched they are NULL. */
#pragma weak watch_copy
#pragma weak watch_copied
#pragma weak watch_allocate
#pragma weak watch_free
#pragma weak watch_fill
#pragma weak watch_end

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

enum { LANES = 32, MOST_THREADS = 1024, MOST_WARPS = MOST_THREADS / LANES };
enum { STACK_BYTES = 256 << 10, MOST_COPIES = 64 };

typedef struct copy {
    void *to;
    const void *from;
    size_t bytes, group;
    const void *place; /* in the program */
} copy;

typedef struct fiber {
    jmp_buf at;
    void *stack; /* NULL: not made yet; of home the program's own */
    size_t stack_bytes;
    void *fake_stack; /* of AddressSanitizer */
    unsigned thread;  /* that it runs */
    bool fenced;
    machine_moment now;
    copy copies[MOST_COPIES];
    size_t copy_count, group;
} fiber;

/* Where threads wait for each other. */
typedef struct meeting {
    unsigned live, come; /* threads */
    unsigned turn;       /* how often they have met */
    unsigned yes[2];
    fiber *waiting[MOST_THREADS];
} meeting;

typedef struct warp {
    meeting all;
    uint64_t value[2][LANES];
} warp;

/* What a block has done for all: until its barrier of this number, from FENCES_FROM on. */
enum fences { NOT_BEGUN, NO_FENCE, FENCES_FROM };

typedef struct machine {
    fiber home, fibers[MOST_THREADS];
    fiber *running, *idle[MOST_THREADS], *awake[MOST_THREADS];
    unsigned idle_count, awake_count, made;
    void (*body)(void *);
    void *arguments;
    unsigned threads, begun, ended, first, stride; /* of the block */
    unsigned launch, before;                       /* machine_moment */
    bool early, paused;
    unsigned *fences, blocks, most_blocks; /* of each block */
    meeting block;
    warp warps[MOST_WARPS];
    uint64_t random;
    ucontext_t made_context;
} machine;

__thread machine_index threadIdx, blockIdx, blockDim, gridDim;
static __thread machine *here;

/* One grid at a time, also of several machines; nor does memory come or go meanwhile. */
static pthread_mutex_t working = PTHREAD_MUTEX_INITIALIZER;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t ends;

static _Noreturn void give_up(const char *why)
{
    fprintf(stderr, "emulated GPU: %s\n", why);
    abort();
}

/* ---- Fibers ----------------------------------------------------------------------------------- */

static void leave_stack(fiber *from, const fiber *to)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_bytes);
#else
    (void)from;
    (void)to;
#endif
}

/* `from`, when it is not known yet, is the stack that we came from. */
static void come_to_stack(fiber *to, fiber *from)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(to->fake_stack, from ? (const void **)&from->stack : NULL,
                                    from ? &from->stack_bytes : NULL);
#else
    (void)to;
    (void)from;
#endif
}

static void switch_to(fiber *to)
{
    fiber *from = here->running;
    here->running = to;
    if (from == to)
        return;
    leave_stack(from, to);
    if (!_setjmp(from->at))
        _longjmp(to->at, 1);
    come_to_stack(from, NULL);
    threadIdx.x = from->thread;
}

static fiber *next_awake(void)
{
    return here->awake_count > 0 ? here->awake[--here->awake_count] : NULL;
}

static void wake_all(meeting *m)
{
    for (unsigned n = 0; n < m->come; n++)
        here->awake[here->awake_count++] = m->waiting[n];
    m->come = 0;
    m->turn++;
    m->yes[m->turn % 2] = 0;
}

static void forget_lanes(warp *w)
{
    memset(w->value[w->all.turn % 2], 0, sizeof w->value[0]);
}

/* A thread has ended: those that wait need wait for it no longer. */
static void leave(meeting *m, warp *w)
{
    m->live--;
    if (m->live == 0 || m->come < m->live)
        return;
    wake_all(m);
    if (w)
        forget_lanes(w);
}

static void run_threads(void)
{
    machine *m = here;
    fiber *self = m->running;
    while (m->begun < m->threads) {
        self->thread = threadIdx.x = (m->first + m->begun++ * m->stride) % m->threads;
        self->copy_count = self->group = 0;
        self->fenced = false;
        self->now = (machine_moment){.launch = m->launch,
                                     .before = m->before,
                                     .block = blockIdx.x,
                                     .thread = self->thread,
                                     .turn = &m->block.turn,
                                     .warp_turn = &m->warps[self->thread / LANES].all.turn,
                                     .awaited = !m->early,
                                     .stack = self->stack,
                                     .stack_bytes = STACK_BYTES};
        m->body(m->arguments);
        if (!self->now.awaited)
            give_up("a thread has ended without waiting for the grid before its own");
        warp *mine = &m->warps[self->thread / LANES];
        m->ended++;
        leave(&mine->all, mine);
        leave(&m->block, NULL);
    }
}

static void fiber_main(void)
{
    fiber *self = &here->fibers[here->made];
    come_to_stack(self, &here->home);
    leave_stack(self, &here->home);
    if (!_setjmp(self->at))
        _longjmp(here->home.at, 1);
    come_to_stack(self, NULL);
    for (;;) {
        run_threads();
        here->idle[here->idle_count++] = self;
        fiber *next = next_awake();
        switch_to(next ? next : &here->home);
    }
}

/* On a stack of its own, as far as its first switch; from home. */
static void make_fiber(void)
{
    fiber *f = &here->fibers[here->made];
    f->stack_bytes = STACK_BYTES;
    f->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (f->stack == MAP_FAILED || getcontext(&here->made_context))
        give_up("no memory for its threads");
    here->made_context.uc_stack.ss_sp = f->stack;
    here->made_context.uc_stack.ss_size = STACK_BYTES;
    here->made_context.uc_link = NULL;
    makecontext(&here->made_context, fiber_main, 0);
    leave_stack(&here->home, f);
    if (!_setjmp(here->home.at))
        setcontext(&here->made_context);
    come_to_stack(&here->home, NULL);
    here->idle[here->idle_count++] = f;
    here->made++;
}

static fiber *idle_fiber(void)
{
    return here->idle[--here->idle_count];
}

/* Until the others have come. */
static void wait_in(meeting *m)
{
    m->waiting[m->come++] = here->running;
    fiber *next = next_awake();
    if (!next && here->begun < here->threads)
        next = idle_fiber();
    switch_to(next ? next : &here->home);
}

/* ---- Barriers --------------------------------------------------------------------------------- */

int machine_block_barrier(bool yes)
{
    meeting *m = &here->block;
    const unsigned turn = m->turn % 2;
    m->yes[turn] += yes;
    if (m->come + 1 == m->live)
        wake_all(m);
    else
        wait_in(m);
    return (int)m->yes[turn];
}

const uint64_t *machine_warp_barrier(uint64_t value)
{
    warp *w = &here->warps[threadIdx.x / LANES];
    const unsigned turn = w->all.turn % 2;
    w->value[turn][threadIdx.x % LANES] = value;
    if (w->all.come + 1 == w->all.live) {
        wake_all(&w->all);
        forget_lanes(w);
    } else {
        wait_in(&w->all);
    }
    return w->value[turn];
}

/* ---- Who is behind whom ------------------------------------------------------------------------ */

const machine_moment *machine_now(void)
{
    return here && here->running != &here->home ? &here->running->now : NULL;
}

void machine_await(void)
{
    here->running->now.awaited = true;
}

void machine_fence(void)
{
    here->running->fenced = true;
    here->fences[blockIdx.x] = FENCES_FROM + here->block.turn;
}

bool machine_is_fenced(int64_t block, unsigned turn)
{
    if (!here->running->fenced)
        return false;
    const unsigned first = block == MACHINE_ALL_BLOCKS ? 0 : (unsigned)block,
                   end = block == MACHINE_ALL_BLOCKS ? here->blocks : first + 1;
    for (unsigned n = first; n < end; n++)
        if (here->fences[n] != NOT_BEGUN && here->fences[n] < FENCES_FROM + turn)
            return false;
    return true;
}

/* ---- Copies under way ------------------------------------------------------------------------- */

void machine_copy(void *to, const void *from, size_t bytes)
{
    fiber *f = here->running;
    if (f->copy_count == MOST_COPIES)
        give_up("a thread has too many copies under way");
    const void *place = __builtin_return_address(0);
    f->copies[f->copy_count++] = (copy){to, from, bytes, f->group, place};
    if (watch_copy)
        watch_copy(to, bytes, place);
}

void machine_copies_commit(void)
{
    here->running->group++;
}

static void finish_copy(const copy *c)
{
    if (watch_copied)
        watch_copied(c->to, c->from, c->bytes, c->place);
    memcpy(c->to, c->from, c->bytes);
}

void machine_copies_wait(size_t groups)
{
    fiber *f = here->running;
    size_t kept = 0;
    for (size_t n = 0; n < f->copy_count; n++) {
        const copy c = f->copies[n];
        if (c.group + groups >= f->group)
            f->copies[kept++] = c;
        else
            finish_copy(&c);
    }
    f->copy_count = kept;
}

/* ---- Grids ------------------------------------------------------------------------------------ */

static void end_machine(void *ended)
{
    machine *m = ended;
    for (unsigned n = 0; n < m->made; n++)
        munmap(m->fibers[n].stack, STACK_BYTES);
    free(m->fences);
    free(m);
}

static void make_key(void)
{
    pthread_key_create(&ends, end_machine);
}

static void make_machine(void)
{
    here = calloc(1, sizeof *here);
    if (!here)
        give_up("no memory");
    pthread_once(&once, make_key);
    pthread_setspecific(ends, here);
}

static unsigned any_number(unsigned below)
{
    here->random = here->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(here->random >> 33) % below;
}

static unsigned common_divisor(unsigned a, unsigned b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* Of some order of `count` things: where to begin, and how far to go on. */
static void choose_order(unsigned count, unsigned *first, unsigned *stride)
{
    *first = any_number(count);
    do
        *stride = 1 + any_number(count);
    while (common_divisor(count, *stride) != 1);
}

static void gather(meeting *m, unsigned threads)
{
    m->live = threads;
    m->come = m->turn = m->yes[0] = m->yes[1] = 0;
}

static void run_block(void)
{
    machine *m = here;
    m->begun = m->ended = 0;
    choose_order(m->threads, &m->first, &m->stride);
    gather(&m->block, m->threads);
    for (unsigned n = 0; n * LANES < m->threads; n++) {
        const unsigned rest = m->threads - n * LANES;
        gather(&m->warps[n].all, rest < LANES ? rest : LANES);
        memset(m->warps[n].value, 0, sizeof m->warps[n].value);
    }
    while (m->ended < m->threads) {
        fiber *next = next_awake();
        if (!next && m->begun == m->threads)
            give_up("threads of a block wait at barriers that the others do not come to");
        switch_to(next ? next : idle_fiber());
    }
}

static unsigned launches;

static void begin_grid(unsigned blocks, unsigned threads, bool early)
{
    machine *m = here;
    m->threads = threads;
    m->blocks = blocks;
    m->early = early;
    if (blocks > m->most_blocks) {
        free(m->fences);
        m->most_blocks = blocks;
        m->fences = malloc(blocks * sizeof *m->fences);
        if (!m->fences)
            give_up("no memory");
    }
    memset(m->fences, 0, blocks * sizeof *m->fences);
    while (m->made < threads)
        make_fiber();
    gridDim = (machine_index){blocks, 1, 1};
    blockDim = (machine_index){threads, 1, 1};
    m->before = m->paused ? 0 : m->launch;
    m->launch = ++launches;
    m->paused = false;
}

void machine_run(unsigned blocks, unsigned threads, bool early, void (*body)(void *),
                 void *arguments)
{
    if (!here)
        make_machine();
    if (blocks == 0 || threads == 0 || threads > MOST_THREADS)
        give_up("a grid has no threads, or blocks of too many");
    pthread_mutex_lock(&working);
    here->running = &here->home;
    here->body = body;
    here->arguments = arguments;
    begin_grid(blocks, threads, early);
    unsigned first, stride;
    choose_order(blocks, &first, &stride);
    for (unsigned n = 0; n < blocks; n++) {
        blockIdx.x = (unsigned)((first + (uint64_t)n * stride) % blocks);
        here->fences[blockIdx.x] = NO_FENCE;
        run_block();
    }
    here->running = &here->home;
    if (watch_end)
        watch_end();
    pthread_mutex_unlock(&working);
}

/* ---- Memory and time -------------------------------------------------------------------------- */

static atomic_size_t taken;

size_t machine_bytes_left(void)
{
    const size_t now = atomic_load(&taken);
    return now < MACHINE_BYTES ? MACHINE_BYTES - now : 0;
}

/* Where memory is watched, pages that are shared with nothing else. */
static size_t to_take(size_t bytes)
{
    return watch_allocate ? (bytes + WATCH_PAGE - 1) / WATCH_PAGE * WATCH_PAGE : bytes;
}

void *machine_allocate(size_t bytes)
{
    const size_t all = to_take(bytes);
    void *memory = NULL;
    if (all > machine_bytes_left() ||
        posix_memalign(&memory, watch_allocate ? WATCH_PAGE : sizeof(max_align_t), all))
        return NULL;
    atomic_fetch_add(&taken, malloc_usable_size(memory));
    memset(memory, 0xa7, all);
    if (watch_allocate) {
        pthread_mutex_lock(&working);
        watch_allocate(memory, all);
        pthread_mutex_unlock(&working);
    }
    return memory;
}

void machine_free(void *memory)
{
    const size_t bytes = malloc_usable_size(memory);
    atomic_fetch_sub(&taken, bytes);
    if (watch_free) {
        pthread_mutex_lock(&working);
        watch_free(memory, bytes / WATCH_PAGE * WATCH_PAGE);
        pthread_mutex_unlock(&working);
    }
    free(memory);
}

void machine_fill(void *memory, size_t bytes)
{
    if (here)
        here->paused = true;
    if (watch_fill) {
        pthread_mutex_lock(&working);
        watch_fill(memory, bytes);
        pthread_mutex_unlock(&working);
    }
}

double machine_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
