/* Parts of shapes: the same bits as the whole within their ball, and fewer bodies to look at. */
#include "shape/cmocka_all.h"

#include "shape/make_shape.h"
#include "shape/shape_part.h"

#include <stdlib.h>
#include <string.h>

enum { SHAPES = 60, BODIES = 24, BALLS = 60, PLACES = 100 };

static shape *random_body(uint64_t seed)
{
    double x[3], a = 0.1 + random_unit(seed, 10), b = 0.1 + random_unit(seed, 11);
    random_place(seed, 0, 3, 4, x);
    shape *const bodies[] = {sphere(a),      box(a, b, 0.3), capsule(a, b),
                             cylinder(a, b), halfspace(),    box(a, b, INFINITY)};
    size_t count = sizeof bodies / sizeof *bodies, pick = (size_t)(random_unit(seed, 12) * 6);
    shape *body = bodies[pick];
    for (size_t k = 0; k < count; k++) {
        shape *other = bodies[k];
        if (k != pick)
            shape_destroy(&other);
    }
    return moved(pick < 5 ? tumbled(body) : body, x[0], x[1], x[2]);
}

/* Mostly unions, as people build them; now and then something is cut off or out. */
static shape *random_shape(uint64_t seed)
{
    shape *s = random_body(random_bits(seed, 0));
    for (uint64_t n = 1; n < BODIES; n++) {
        double pick = random_unit(seed, n);
        shape *body = random_body(random_bits(seed, 100 + n));
        if (n % 4 == 0)
            body = without(body, random_body(random_bits(seed, 200 + n)));
        s = pick < 0.7 ? joined(s, body) : pick < 0.9 ? without(s, body) : common(s, body);
    }
    shape_grow(s, 0.2 * (random_unit(seed, 300) - 0.5));
    return s;
}

static void a_part_has_the_bits_of_the_whole(void **state)
{
    (void)state;
    size_t looked = 0, all = 0;
    for (uint64_t seed = 0; seed < SHAPES; seed++) {
        shape *s = random_shape(seed);
        shape_part part;
        assert_true(shape_part_create(s, &part));
        for (uint64_t ball = 0; ball < BALLS; ball++) {
            double center[3], radius = exp(-6 * random_unit(seed + 1000, ball));
            random_place(seed, 1000 + ball, 3, 5, center);
            shape_part_narrow(&part, center, radius);
            looked += part.shape.count;
            all += s->count;
            for (uint64_t n = 0; n < PLACES; n++) {
                double x[3], g[3], h[3];
                random_place(seed, 9000 + ball * PLACES + n, 3, 1, x);
                double length = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
                for (int i = 0; i < 3; i++) /* on the ball, where it is hardest, or within */
                    x[i] = center[i] + radius * x[i] / (n % 2 ? length : fmax(length, 1));
                double a = shape_distance(s, x, g), b = shape_distance(&part.shape, x, h);
                assert_memory_equal(&a, &b, sizeof a);
                assert_memory_equal(g, h, sizeof g);
            }
        }
        shape_part_clear(&part);
        shape_destroy(&s);
    }
    assert_true(looked < all / 2);
}

/* Whole places first: a part is of the whole, not of the part before. */
static void a_part_widens_again(void **state)
{
    (void)state;
    shape *s = joined(joined(sphere(1), moved(box(1, 1, 1), 9, 0, 0)),
                      common(moved(sphere(1), 0, 9, 0), moved(halfspace(), 0, 9, 0)));
    shape_part part;
    assert_true(shape_part_create(s, &part));
    assert_int_equal(part.shape.count, s->count);
    shape_part_narrow(&part, (double[3]){8, 0, 0}, 0.5);
    assert_int_equal(part.shape.count, 1);
    assert_int_equal(part.shape.ops[0].kind, SHAPE_BOX);
    shape_part_narrow(&part, (double[3]){0, 9.8, 0}, 0.1);
    assert_int_equal(part.shape.count, 1);
    assert_int_equal(part.shape.ops[0].kind, SHAPE_HALFSPACE);
    shape_part_narrow(&part, (double[3]){0, 0, 0}, 20);
    assert_int_equal(part.shape.count, s->count);
    shape_part_clear(&part);
    shape_destroy(&s);
}

static void many_places_are_as_one_by_one(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    shape *s = random_shape(77);
    double(*x)[3] = malloc(COUNT * sizeof *x), *distances = malloc(COUNT * sizeof *distances);
    assert_true(x && distances);
    for (uint64_t n = 0; n < COUNT; n++) {
        random_place(5, n, 3, 0.1, x[n]);
        x[n][0] += (double)n / 500 - 5;
    }
    assert_true(shape_distances(s, COUNT, (const double(*)[3])x, distances));
    for (size_t n = 0; n < COUNT; n++) {
        double one = shape_distance(s, x[n], NULL);
        assert_memory_equal(&one, &distances[n], sizeof one);
    }
    free(x);
    free(distances);
    shape_destroy(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_has_the_bits_of_the_whole),
        cmocka_unit_test(a_part_widens_again),
        cmocka_unit_test(many_places_are_as_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
