/* Streams through shapes: as dense as asked, wherever and whenever one looks. */
#include "shape/cmocka_all.h"

#include <string.h>

#include "shape/make_shape.h"
#include "shape/stream.h"

static stream stream_of(shape *s, int dimensions, sample_method method, const double velocity[3])
{
    stream out;
    sample_request request = {.shape = s,
                              .dimensions = dimensions,
                              .method = method,
                              .points_per_volume = 1000,
                              .seed = 4};
    assert_int_equal(stream_create(&request, velocity, &out), FIRN_OK);
    return out;
}

static void place_at(const stream *s, uint64_t n, double time, double x[3])
{
    stream_point p = stream_at(s, n);
    for (int i = 0; i < 3; i++)
        x[i] = p.x[i] + (time - p.time) * s->velocity[i];
}

/* What has come out of a box by a time fills the box and the way that its face has swept. */
static void streams_keep_their_density(void **state)
{
    (void)state;
    const sample_method methods[] = {SAMPLE_POISSON, SAMPLE_RANDOM, SAMPLE_LATTICE};
    const double velocity[3] = {3, 0, 0}, slanted[3] = {2, 1, -1};
    for (int k = 0; k < 3; k++) {
        shape *s = box(0.3, 0.4, 0.5);
        stream flow = stream_of(s, 3, methods[k], velocity);
        for (double time = 0; time < 4; time += 0.37) {
            double expected = 1000 * (0.6 + 3 * time) * 0.8 * 1.0;
            double found = (double)stream_count(&flow, time);
            if (!(fabs(found / expected - 1) < (methods[k] == SAMPLE_RANDOM ? 0.1 : 0.05)))
                fail_msg("method %d, %g s: %g points instead of %g", k, time, found, expected);
        }
        assert_true(fabs(flow.volume * 1000 - 1) < 0.1);
        stream_clear(&flow);
        shape_destroy(&s);
    }
    shape *s = sphere(0.5);
    stream flow = stream_of(s, 3, SAMPLE_POISSON, slanted);
    double swept = (double)(stream_count(&flow, 5) - stream_count(&flow, 2));
    assert_true(fabs(swept * flow.volume / (M_PI * 0.25 * sqrt(6) * 3) - 1) < 0.02);
    stream_clear(&flow);
    shape_destroy(&s);
    s = box(0.5, 0.5, INFINITY);
    flow = stream_of(s, 2, SAMPLE_POISSON, (double[3]){0, -2, 0});
    swept = (double)(stream_count(&flow, 5) - stream_count(&flow, 2));
    assert_true(fabs(swept * flow.volume / 6 - 1) < 0.02);
    stream_clear(&flow);
    shape_destroy(&s);
}

/* Points enter one after the other, inside the shape, and none twice. */
static void points_enter_in_order(void **state)
{
    (void)state;
    shape *s = without(sphere(0.5), moved(sphere(0.4), -0.3, 0, 0));
    stream flow = stream_of(s, 3, SAMPLE_POISSON, (double[3]){1, 0.2, 0});
    double last = 0;
    uint64_t end = stream_count(&flow, 3 * flow.period);
    assert_true(end > flow.start_count + 100);
    for (uint64_t n = 0; n < end; n++) {
        stream_point p = stream_at(&flow, n);
        assert_true(p.time >= last);
        assert_true(shape_distance(s, p.x, NULL) <= 1e-9);
        assert_true(stream_count(&flow, p.time) > n);
        assert_true(p.time == 0 || stream_count(&flow, p.time * (1 - 1e-9)) <= n);
        last = p.time;
    }
    /* At one time no two are in one place. */
    for (uint64_t n = 0; n < end; n += 7)
        for (uint64_t m = 0; m < end; m += 3) {
            double x[3], y[3], square = 0;
            place_at(&flow, n, 2, x);
            place_at(&flow, m, 2, y);
            for (int i = 0; i < 3; i++)
                square += (x[i] - y[i]) * (x[i] - y[i]);
            assert_true(m == n || square > 1e-8);
        }
    stream_clear(&flow);
    shape_destroy(&s);
}

static void still_streams_fill_once(void **state)
{
    (void)state;
    shape *s = sphere(0.5);
    stream flow = stream_of(s, 3, SAMPLE_POISSON, (double[3]){0, 0, 0});
    double expected = 1000 * M_PI / 6;
    assert_int_equal(stream_count(&flow, -1e-9), 0);
    assert_int_equal(stream_count(&flow, 0), flow.start_count);
    assert_int_equal(stream_count(&flow, 1e6), flow.start_count);
    assert_true(fabs((double)flow.start_count / expected - 1) < 0.1);
    stream_clear(&flow);
    shape_destroy(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_keep_their_density),
        cmocka_unit_test(points_enter_in_order),
        cmocka_unit_test(still_streams_fill_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
