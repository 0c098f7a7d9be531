/* Step 9: particles meet bodies themselves. A plate that lies between two rows of nodes is felt
 * by no node at all, yet a particle goes no deeper into it than one step takes it. */
#include "physics.h"

static const double H = 0.02, SPEED = 3;

/* Single particles at many heights over the plate, whose top is at 0.7 H, out of each other's
 * reach. */
static cloud rain(int d)
{
    cloud c = cloud_make(d, 20);
    for (size_t r = 0; r < c.count; r++) {
        cloud_row(&c, FIRN_POSITION, r)[0] = 8.13 * H * (double)r;
        cloud_row(&c, FIRN_POSITION, r)[1] = H * (1.5 + 0.13 * (double)r);
        cloud_row(&c, FIRN_VELOCITY, r)[1] = -SPEED;
        *cloud_row(&c, FIRN_VOLUME, r) = pow(H, d) / 8;
        *cloud_row(&c, FIRN_MASS, r) = 400 * pow(H, d) / 8;
    }
    return c;
}

/* How far below `top` the deepest particle is. */
static double depth_below(const firn_sim *sim, double top)
{
    cloud c = cloud_of(sim);
    double depth = 0;
    for (size_t r = 0; r < c.count; r++)
        depth = fmax(depth, top - cloud_row(&c, FIRN_POSITION, r)[1]);
    cloud_free(&c);
    return depth;
}

static void fall(method m, const char *surface)
{
    cloud c = rain(m.dimensions);
    firn_sim *sim = make_sim_of(make_scene(m,
                                           "  cell_size: %g\n  fps: 1\n  rest_volume: sampled\n"
                                           "colliders:\n"
                                           "  - shape: {box: {center: [0, %g, 0], size: [900, %g, "
                                           "900]}}\n    %s\n",
                                           H, 0.5 * H, 0.4 * H, surface),
                                &c);
    double deepest = 0;
    while (firn_sim_time(sim) < 0.05) {
        step(sim);
        deepest = fmax(deepest, depth_below(sim, 0.7 * H));
    }
    double most = (SPEED + 0.05 * 9.81) * firn_sim_progress(sim).dt_max;
    at_most(deepest / H, most / H, "%s, %s: cells into the plate", method_name(m), surface);
    assert_true(deepest > 0); /* there was something to stop */
    firn_sim_destroy(&sim);
    cloud_free(&c);
}

static void test_thin_plate(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        fall(methods[k], "sticky: true");
        fall(methods[k], "friction: 0.4");
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thin_plate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
