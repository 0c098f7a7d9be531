/*
 * Grids of threads on one processor: a thread of a block is a coroutine that gives way at barriers.
 *
 * Blocks, and the threads of each, begin in an order that is another one at every launch. Barriers are met by all
 * threads that have not ended: where some wait for what the others never come to, the program is aborted, as a GPU
 * would hang. Each thread of the program that launches has a machine of its own; one of them works at a time.
 *
 * Does NOT do: several blocks at once, or a thread that gives way elsewhere than at a barrier.
 */
#ifndef FIRN_TESTS_CUDA_MACHINE_H
#define FIRN_TESTS_CUDA_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct machine_index {
    unsigned x, y, z;
} machine_index;

/* Of the thread that runs. */
extern __thread machine_index threadIdx, blockIdx, blockDim, gridDim;

/* `body` with `arguments`, by every thread. When it comes `early`, close behind the grid before it, every thread has to
 * wait for the end of that. */
void machine_run(unsigned blocks, unsigned threads, bool early, void (*body)(void *),
                 void *arguments);
void machine_await(void);

/* The host writes to memory between two grids, so that the second cannot come early. */
void machine_fill(void *memory, size_t bytes);

/* What this thread has done, its block has done for all. */
void machine_fence(void);

/* Of a block: how many threads came with `yes`. */
int machine_block_barrier(bool yes);

/* Of a warp, whose lanes leave a value each: those of all, until the next barrier but one; 0 of lanes that have ended. */
const uint64_t *machine_warp_barrier(uint64_t value);

/* Copies that this thread has under way: they are done when they are waited for, not before, so that who reads too
 * early reads what was there. */
void machine_copy(void *to, const void *from, size_t bytes);
void machine_copies_commit(void);
void machine_copies_wait(size_t groups); /* for all but the last so many groups */

/* Where the thread that runs has got to: what it is behind (watch.h). */
typedef struct machine_moment {
    unsigned launch,
        before; /* the grid, and one that may be at work until it has waited for it; 0: none */
    unsigned block, thread;
    const unsigned *turn, *warp_turn; /* barriers of the block, and of the warp */
    bool awaited;
    const char *stack;
    size_t stack_bytes;
} machine_moment;

const machine_moment *machine_now(void); /* NULL: it is the host who runs */

/* Whether the thread that runs is behind what a block has done between two of its barriers, by fences of both; or
 * behind what all blocks that have run so far did until then. */
enum { MACHINE_ALL_BLOCKS = -1 };
bool machine_is_fenced(int64_t block, unsigned turn);

/* Memory of its own, full of rubbish at first. */
#define MACHINE_BYTES ((size_t)256 << 20)
void *machine_allocate(size_t bytes); /* NULL when less is left */
void machine_free(void *memory);
size_t machine_bytes_left(void);

/* Seconds. */
double machine_time(void);

#ifdef __cplusplus
}
#endif

#endif
