/* Threads that share out loops: every index once, whoever comes, and nobody left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/team.h"

enum { MOST = 10000 };

typedef struct tally {
    atomic_int done[MOST];
    int threads;
    atomic_bool stray; /* a thread with a number that is none */
} tally;

static void count_up(void *context, int thread, size_t begin, size_t end)
{
    tally *t = context;
    if (thread < 0 || thread >= t->threads)
        atomic_store(&t->stray, true);
    for (size_t n = begin; n < end; n++)
        atomic_fetch_add(&t->done[n], 1);
}

/* Short loops one after the other, so that late threads meet the next loop instead. */
static void test_every_index_once(void **state)
{
    (void)state;
    const size_t counts[] = {0, 1, 2, 3, 17, 64, 1000, MOST}, grains[] = {1, 4, 64, 5000};
    tally *t = malloc(sizeof *t);
    for (int threads = 1; threads <= 9; threads += 4) {
        team *all = team_create(threads);
        assert_non_null(all);
        assert_int_equal(team_threads(all), threads);
        for (int round = 0; round < 50; round++)
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
                for (size_t g = 0; g < sizeof grains / sizeof *grains; g++) {
                    memset(t, 0, sizeof *t);
                    t->threads = threads;
                    team_for(all, counts[c], grains[g], count_up, t);
                    assert_false(atomic_load(&t->stray));
                    for (size_t n = 0; n < MOST; n++)
                        assert_int_equal(atomic_load(&t->done[n]), n < counts[c]);
                }
        team_destroy(&all);
        assert_null(all);
    }
    free(t);
}

typedef struct held {
    atomic_int inside;
    atomic_bool other_came;
} held;

/* The first to come waits until another has come too. */
static void wait_for_another(void *context, int thread, size_t begin, size_t end)
{
    (void)thread;
    (void)begin;
    (void)end;
    held *h = context;
    if (atomic_fetch_add(&h->inside, 1) > 0)
        atomic_store(&h->other_came, true);
    while (!atomic_load(&h->other_came))
        sched_yield();
}

/* Threads do come: a loop that needs two of them ends. And it ends only after both. */
static void test_threads_come(void **state)
{
    (void)state;
    team *all = team_create(2);
    for (int round = 0; round < 200; round++) {
        held h = {0};
        team_for(all, 2, 1, wait_for_another, &h);
        assert_int_equal(atomic_load(&h.inside), 2);
    }
    team_destroy(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_index_once),
        cmocka_unit_test(test_threads_come),
    };
    return cmocka_run_group_tests_name("team", tests, NULL, NULL);
}
