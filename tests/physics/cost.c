/* What a step of the fast backend does not depend on: the heap, and the extent of empty space. */
#include <stdatomic.h>
#include <time.h>

#include "physics.h"

/* ---- Allocations -------------------------------------------------------------------------------- */

static atomic_int allocations;

/* The linker sends the library's calls here (CMakeLists.txt). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    allocations++;
    return __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    allocations++;
    return __real_aligned_alloc(alignment, size);
}

/* A ball in a bowl that it does not leave, shaken for 400 steps: sorts of memory and changes of blocks,
 * but no new memory. */
static void test_nothing_allocated(void **state)
{
    (void)state;
    for (int k = 0; k < FEW_METHODS; k++) {
        method m = few_methods[k];
        const char *z = m.dimensions == 3 ? ", 0" : "";
        firn_sim *sim = make_sim(make_scene(
            m,
            "  cell_size: 0.02\n  time_step: 1e-4\n  gravity: [0, -9.81%s]\n"
            "snow:\n  - shape: {sphere: {center: [0, 0%s], radius: 0.1}}\n    velocity: [1, -2%s]\n"
            "colliders:\n"
            "  - shape: {subtract: [{sphere: {center: [0, 0%s], radius: 1}},\n"
            "                       {sphere: {center: [0, 0%s], radius: 0.11}}]}\n",
            z, z, z, z, z));
        steps(sim, 400);
        int before = allocations;
        assert_true(before > 0); /* they are counted */
        steps(sim, 400);
        at_most(allocations - before, 0, "%s: allocations in 400 steps", method_name(m));
        firn_sim_destroy(&sim);
    }
}

/* ---- Empty space -------------------------------------------------------------------------------- */

/* Two balls, the second moved by `shift` from a metre away. */
static firn_sim *two_balls(method m, double shift)
{
    const char *z = m.dimensions == 3 ? ", 0" : "";
    firn_scene *scene = make_scene(m,
                                   "  cell_size: 0.02\n  time_step: 1e-4\n  gravity: [0, 0%s]\n"
                                   "snow:\n"
                                   "  - shape: {sphere: {center: [0, 0%s], radius: 0.16}}\n"
                                   "  - shape: {sphere: {center: [1, 0%s], radius: 0.16}}\n",
                                   z, z, z);
    cloud c = sample_scene(scene);
    for (size_t r = 0; r < c.count; r++)
        if (cloud_row(&c, FIRN_POSITION, r)[0] > 0.5)
            cloud_row(&c, FIRN_POSITION, r)[0] += shift;
    firn_sim *sim = make_sim_of(scene, &c);
    cloud_free(&c);
    return sim;
}

/* Processor time of one step, s. */
static double time_step(firn_sim *sim)
{
    struct timespec a, b;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    step(sim);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

/* A metre or a kilometre apart, a whole number of blocks: the same nodes, the same time. */
static void test_empty_space(void **state)
{
    (void)state;
    use_options((firn_sim_options){.backend = "cpu", .threads = 1});
    for (int k = 0; k < FEW_METHODS; k++) {
        firn_sim *near = two_balls(few_methods[k], 0);
        firn_sim *far = two_balls(few_methods[k], 0.08 * 12500);
        double near_time = INFINITY, far_time = INFINITY; /* of the quickest, taken in turn */
        for (int n = 0; n < 40; n++) {
            near_time = fmin(near_time, time_step(near));
            far_time = fmin(far_time, time_step(far));
        }
        assert_true(stats_of(near).active_nodes == stats_of(far).active_nodes);
        at_most(far_time / near_time, 2, "%s: time of a step, 1 km over 1 m",
                method_name(few_methods[k]));
        firn_sim_destroy(&near);
        firn_sim_destroy(&far);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_allocated),
        cmocka_unit_test(test_empty_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
