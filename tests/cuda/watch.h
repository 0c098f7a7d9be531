/*
 * Watches what threads of the emulated GPU do to its memory, and tells of
 *
 *   - two accesses to the same bytes, one of them a write, with nothing between them that puts one before the other,
 *   - reads of memory that nobody has written to.
 *
 * What puts one access before another is what does so on a GPU: a barrier of the block or of the warp; between
 * kernels the end of the one before, for which a kernel that is launched close behind it has to wait (launch.cuh); a
 * fence of the block of one and then one of the block of the other. Atomics, and what is declared volatile, may meet
 * each other; and threads may write what was there already.
 *
 * Sources that are to be watched are compiled with -fsanitize=thread, and this takes the place of ThreadSanitizer.
 * The program ends with WATCH_FOUND when there was anything to tell.
 *
 * Does NOT do: bounds of arrays (AddressSanitizer does), streams beside each other, who has to wait for which fence.
 */
#ifndef FIRN_TESTS_CUDA_WATCH_H
#define FIRN_TESTS_CUDA_WATCH_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { WATCH_FOUND = 86 };

enum watch_kind {
    WATCH_READ,
    WATCH_WRITE,
    WATCH_MARKED_READ,  /* volatile */
    WATCH_MARKED_WRITE, /* volatile, or an atomic, which reads as well */
    WATCH_KINDS
};

/* By the thread that runs, at `place` in the program (NULL: who calls). */
void watch_access(const void *at, size_t bytes, enum watch_kind kind, const void *place);

/* A copy is under way to memory that no one may touch meanwhile; then it arrives. What was copied counts as read when
 * the copy is: some is copied only because it lies beside the rest. */
void watch_copy(const void *to, size_t bytes, const void *place);
void watch_copied(const void *to, const void *from, size_t bytes, const void *place);

/* Nothing that is watched. */
void watch_move(void *to, const void *from, size_t bytes);

/* By the host, of whole pages while they are allocated. */
enum { WATCH_PAGE = 4096 };
void watch_allocate(const void *memory, size_t bytes);
void watch_free(const void *memory, size_t bytes);
void watch_fill(const void *memory, size_t bytes); /* of any memory */

/* A grid has ended. */
void watch_end(void);

#ifdef __cplusplus
}
#endif

#endif
