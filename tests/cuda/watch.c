/*
 * 1. A page of memory has a cell for each of its words, or for each of its bytes once some thread has touched less
 *    than a word there. A cell knows the last access of each kind.
 * 2. When an access is not behind the last one of its kind in the same grid, the cell keeps both as one by a group: of
 *    the warp, the block or the grid. Whoever is behind the group is behind both.
 * 3. Memory that was not allocated is shared memory, which is new for every block.
 * 4. One machine runs at a time (machine.c), so that nothing here needs a lock.
 */
#include "cuda/watch.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/machine.h"

enum { PAGES = 1 << 18, WORD = 4, LANES = 32 };
enum { MOST_FOUND = 32, LONGEST = 4096 };

enum { REWRITE = WATCH_KINDS, KINDS }; /* a write that leaves everything as it was */
static const char *const name_of[KINDS] = {"read", "write", "volatile read", "atomic",
                                           "write of what was there"};

/* Which kinds do not go with which. */
static const bool quarrel[KINDS][KINDS] = {
    [WATCH_READ] = {[WATCH_WRITE] = true, [WATCH_MARKED_WRITE] = true, [REWRITE] = true},
    [WATCH_WRITE] = {[WATCH_READ] = true,
                     [WATCH_WRITE] = true,
                     [WATCH_MARKED_READ] = true,
                     [WATCH_MARKED_WRITE] = true,
                     [REWRITE] = true},
    [WATCH_MARKED_READ] = {[WATCH_WRITE] = true},
    [WATCH_MARKED_WRITE] = {[WATCH_READ] = true, [WATCH_WRITE] = true},
    [REWRITE] = {[WATCH_READ] = true},
};

enum group { ALONE, OF_WARP, OF_BLOCK, OF_GRID };

typedef struct touch {
    uint32_t launch; /* 0: there was none */
    uint32_t block, turn, warp_turn;
    uint32_t place; /* in the program */
    uint16_t thread, group;
} touch;

typedef struct cell {
    touch last[KINDS];
    bool written;
    const char *from; /* of what it is a copy that nobody has read yet; NULL: of nothing */
    touch copied;
    uint32_t unfinished; /* as in arrival, when the copy began */
} cell;

typedef struct page {
    uintptr_t number;
    bool allocated, by_bytes;
    bool written; /* as its cells are when they are made */
    cell *cells;  /* NULL: none have been needed */
} page;

/* An access, and what its thread is behind. */
typedef struct arrival {
    touch mine;
    uint32_t unfinished; /* a launch that may still be at work; 0: none */
    enum watch_kind kind;
    const char *at; /* all of it */
    size_t bytes;
    const char *before; /* what was there; NULL: not known */
    const char *from;   /* of a copy that has arrived */
} arrival;

static page pages[PAGES];
static arrival begun; /* that is about to be done: what it changes is known at the next access */
static bool is_writing;
static char before_write[LONGEST];
static uint64_t found[MOST_FOUND];
static size_t found_count;
extern char __executable_start[];

/* ---- What is told ------------------------------------------------------------------------------ */

static void say_place(uint32_t place)
{
    char program[512], command[700], function[300], line[300];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return;
    program[length] = 0;
    snprintf(command, sizeof command, "addr2line -fiCe '%s' %#x 2>&1", program, place - 1);
    FILE *lines = popen(command, "r");
    if (!lines)
        return;
    while (fgets(function, sizeof function, lines) && fgets(line, sizeof line, lines)) {
        function[strcspn(function, "\n(<")] = 0;
        fprintf(stderr, "    %s  %s", function, line);
    }
    pclose(lines);
}

static void say_access(int kind, const touch *a)
{
    fprintf(stderr, "  %s in launch %u by block %u, thread %u%s\n", name_of[kind], a->launch,
            a->block, a->thread, a->group == ALONE ? "" : " and others");
    say_place(a->place);
}

/* Of each pair of places once. */
static bool is_news(uint32_t one, uint32_t other)
{
    const uint64_t pair = (uint64_t)one << 32 | other;
    for (size_t n = 0; n < found_count; n++)
        if (found[n] == pair)
            return false;
    if (found_count == MOST_FOUND)
        return false;
    found[found_count++] = pair;
    return true;
}

static void tell_race(const touch *mine, enum watch_kind kind, const touch *other,
                      enum watch_kind others)
{
    if (!is_news(mine->place, other->place))
        return;
    fprintf(stderr, "emulated GPU: nothing puts one of these before the other:\n");
    say_access(others, other);
    say_access(kind, mine);
}

static void tell_unwritten(const touch *mine, int kind)
{
    if (!is_news(mine->place, 0))
        return;
    fprintf(stderr, "emulated GPU: nobody has written what is read here:\n");
    say_access(kind, mine);
}

/* ---- Pages ------------------------------------------------------------------------------------- */

static _Noreturn void give_up(const char *why)
{
    fprintf(stderr, "emulated GPU: %s\n", why);
    abort();
}

static page *page_of(uintptr_t at)
{
    static page *last = pages;
    const uintptr_t number = at / WATCH_PAGE;
    if (last->number == number)
        return last;
    uintptr_t n = (number * 0x9e3779b97f4a7c15u >> 40) % PAGES;
    for (size_t tries = 0; tries < PAGES; tries++, n = (n + 1) % PAGES)
        if (pages[n].number == number || pages[n].number == 0) {
            pages[n].number = number;
            return last = &pages[n];
        }
    give_up("more memory than can be watched");
}

static void give_cells(page *p, bool by_bytes)
{
    cell *old = p->cells;
    if (old && (p->by_bytes || !by_bytes))
        return;
    p->cells = calloc(by_bytes ? WATCH_PAGE : WATCH_PAGE / WORD, sizeof *p->cells);
    if (!p->cells)
        give_up("no memory to watch memory by");
    for (size_t n = 0; n < (by_bytes ? WATCH_PAGE : WATCH_PAGE / WORD); n++)
        p->cells[n] = old ? old[n / WORD] : (cell){.written = p->written};
    free(old);
    p->by_bytes = by_bytes;
}

/* Calls `visit` for the cells of some bytes. */
static inline __attribute__((always_inline)) void
each_cell(uintptr_t at, size_t bytes, void (*visit)(page *, cell *, const void *),
          const void *argument)
{
    const uintptr_t end = at + bytes;
    const bool whole = at % WORD == 0 && bytes % WORD == 0;
    while (at < end) {
        page *p = page_of(at);
        give_cells(p, !whole);
        const size_t step = p->by_bytes ? 1 : WORD;
        for (uintptr_t stop = (at / WATCH_PAGE + 1) * WATCH_PAGE; at < end && at < stop; at += step)
            visit(p, &p->cells[at % WATCH_PAGE / step], argument);
    }
}

/* ---- What threads do --------------------------------------------------------------------------- */

static bool is_behind(const arrival *b, const touch *a, bool shared)
{
    const touch *mine = &b->mine;
    if (a->launch != mine->launch)
        return shared || a->launch != b->unfinished;
    if (a->group == OF_GRID)
        return shared || machine_is_fenced(MACHINE_ALL_BLOCKS, a->turn);
    if (a->block != mine->block)
        return shared || machine_is_fenced(a->block, a->turn);
    if (a->group == ALONE && a->thread == mine->thread)
        return true;
    if (a->turn < mine->turn)
        return true;
    return a->group <= OF_WARP && a->thread / LANES == mine->thread / LANES &&
           a->warp_turn < mine->warp_turn;
}

static enum group group_of(const touch *a, const touch *b)
{
    if (a->block != b->block)
        return OF_GRID;
    return a->thread / LANES != b->thread / LANES ? OF_BLOCK : OF_WARP;
}

static void keep(const arrival *b, touch *last, bool shared)
{
    const touch before = *last;
    *last = b->mine;
    if (before.launch != last->launch || is_behind(b, &before, shared))
        return;
    const enum group both = group_of(&before, last);
    last->group = before.group > both ? before.group : both;
    last->turn = before.turn > last->turn ? before.turn : last->turn;
}

static void compare(const arrival *b, int kind, const cell *c, bool shared)
{
    for (int k = 0; k < KINDS; k++) {
        const touch *other = &c->last[k];
        if (quarrel[kind][k] && other->launch != 0 && !is_behind(b, other, shared))
            tell_race(&b->mine, kind, other, k);
    }
}

static void meet(page *p, cell *c, const void *argument);

/* Of the copy, at the time it was made. */
static void read_source(const arrival *b, cell *c, size_t bytes)
{
    arrival source = *b;
    source.mine = c->copied;
    source.unfinished = c->unfinished;
    source.at = c->from;
    c->from = NULL;
    if (source.mine.launch == b->mine.launch && source.mine.block == b->mine.block)
        each_cell((uintptr_t)source.at, bytes, meet, &source);
}

static void meet(page *p, cell *c, const void *argument)
{
    const arrival *b = argument;
    const bool shared = !p->allocated,
               writes = b->kind == WATCH_WRITE || b->kind == WATCH_MARKED_WRITE;
    const size_t bytes = p->by_bytes ? 1 : WORD;
    const char *at = (const char *)(p->number * WATCH_PAGE) + bytes * (size_t)(c - p->cells);
    const bool same = b->before && memcmp(at, b->before + (at - b->at), bytes) == 0;
    const int kind = same ? REWRITE : (int)b->kind;
    if (b->kind != WATCH_WRITE && !shared && !c->written)
        tell_unwritten(&b->mine, kind);
    compare(b, kind, c, shared);
    keep(b, &c->last[kind], shared);
    c->written = c->written || writes;
    if (b->kind == WATCH_READ && c->from)
        read_source(b, c, bytes);
    if (!writes)
        return;
    c->from = b->from ? b->from + (at - b->at) : NULL;
    c->copied = b->mine;
    if (!b->from)
        c->unfinished = b->unfinished;
}

static void finish_write(void)
{
    if (is_writing)
        each_cell((uintptr_t)begun.at, begun.bytes, meet, &begun);
    is_writing = false;
}

/* A copy is `from` somewhere once it has arrived. */
static void arrive(const void *at, size_t bytes, enum watch_kind kind, const void *place,
                   bool is_copy, const void *from)
{
    const machine_moment *now = machine_now();
    if (!now || (size_t)((const char *)at - now->stack) < now->stack_bytes)
        return; /* the host, or what the thread has for itself */
    finish_write();
    const arrival b = {.mine = {.launch = now->launch,
                                .block = now->block,
                                .turn = *now->turn,
                                .warp_turn = *now->warp_turn,
                                .place = (uint32_t)((const char *)place - __executable_start),
                                .thread = (uint16_t)now->thread},
                       .unfinished = now->awaited ? 0 : now->before,
                       .kind = kind,
                       .at = at,
                       .bytes = bytes,
                       .from = from};
    if (kind != WATCH_WRITE || is_copy || bytes > LONGEST) {
        each_cell((uintptr_t)at, bytes, meet, &b);
        return;
    }
    begun = b;
    begun.before = before_write;
    memcpy(before_write, at, bytes);
    is_writing = true;
}

void watch_access(const void *at, size_t bytes, enum watch_kind kind, const void *place)
{
    arrive(at, bytes, kind, place ? place : __builtin_return_address(0), false, NULL);
}

void watch_copy(const void *to, size_t bytes, const void *place)
{
    arrive(to, bytes, WATCH_WRITE, place, true, NULL);
}

void watch_copied(const void *to, const void *from, size_t bytes, const void *place)
{
    arrive(to, bytes, WATCH_WRITE, place, true, from);
}

void watch_move(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

/* ---- What the host does ------------------------------------------------------------------------ */

/* As if no thread had ever come to these pages. */
static void renew(const void *memory, size_t bytes, bool allocated)
{
    for (size_t n = 0; n < bytes; n += WATCH_PAGE) {
        page *p = page_of((uintptr_t)memory + n);
        free(p->cells);
        *p = (page){.number = p->number, .allocated = allocated};
    }
}

void watch_allocate(const void *memory, size_t bytes)
{
    renew(memory, bytes, true);
}

void watch_free(const void *memory, size_t bytes)
{
    renew(memory, bytes, false);
}

static void fill(page *p, cell *c, const void *nothing)
{
    (void)p;
    (void)nothing;
    *c = (cell){.written = true};
}

void watch_fill(const void *memory, size_t bytes)
{
    const uintptr_t end = (uintptr_t)memory + bytes;
    for (uintptr_t at = (uintptr_t)memory, next; at < end; at = next) {
        next = (at / WATCH_PAGE + 1) * WATCH_PAGE;
        page *p = page_of(at);
        if (!p->allocated)
            continue;
        if (at % WATCH_PAGE != 0 || next > end) {
            each_cell(at, (next < end ? next : end) - at, fill, NULL);
            continue;
        }
        free(p->cells);
        *p = (page){.number = p->number, .allocated = true, .written = true};
    }
}

void watch_end(void)
{
    finish_write();
}

static __attribute__((destructor)) void end(void)
{
    if (found_count == 0)
        return;
    fprintf(stderr, "emulated GPU: %zu places of this kind\n", found_count);
    fflush(NULL);
    _exit(WATCH_FOUND);
}

/* ---- What the compiler calls ------------------------------------------------------------------- */

#define CALLED(name, bytes, kind)                                                                  \
    void name(const void *at);                                                                     \
    void name(const void *at)                                                                      \
    {                                                                                              \
        watch_access(at, bytes, kind, __builtin_return_address(0));                                \
    }
#define CALLED_FOR(bytes)                                                                          \
    CALLED(__tsan_read##bytes, bytes, WATCH_READ)                                                  \
    CALLED(__tsan_write##bytes, bytes, WATCH_WRITE)                                                \
    CALLED(__tsan_unaligned_read##bytes, bytes, WATCH_READ)                                        \
    CALLED(__tsan_unaligned_write##bytes, bytes, WATCH_WRITE)                                      \
    CALLED(__tsan_volatile_read##bytes, bytes, WATCH_MARKED_READ)                                  \
    CALLED(__tsan_volatile_write##bytes, bytes, WATCH_MARKED_WRITE)                                \
    CALLED(__tsan_unaligned_volatile_read##bytes, bytes, WATCH_MARKED_READ)                        \
    CALLED(__tsan_unaligned_volatile_write##bytes, bytes, WATCH_MARKED_WRITE)

CALLED_FOR(1)
CALLED_FOR(2)
CALLED_FOR(4)
CALLED_FOR(8)
CALLED_FOR(16)

void __tsan_read_range(const void *at, size_t bytes);
void __tsan_read_range(const void *at, size_t bytes)
{
    watch_access(at, bytes, WATCH_READ, __builtin_return_address(0));
}

void __tsan_write_range(const void *at, size_t bytes);
void __tsan_write_range(const void *at, size_t bytes)
{
    watch_access(at, bytes, WATCH_WRITE, __builtin_return_address(0));
}

void __tsan_init(void);
void __tsan_init(void)
{
}
