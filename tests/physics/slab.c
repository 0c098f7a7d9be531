/*
 * A 2D run is a 3D run in which nothing moves along z. Two bodies without friction, one with its
 * outside up and one with its outside down, both holding every place, take all speed along z; a
 * stack of identical layers at uneven heights then differs from the 2D run only by a factor in z
 * that cancels in every velocity. So each layer must go where the 2D snow goes, to rounding,
 * through an impact with friction, tearing and packing: the 3D code against the 2D code, stress and
 * return map included.
 */
#include "physics.h"

static const double H = 0.02;
static const double LAYERS[] = {0.003, 0.0117, 0.034};
enum { LAYER_COUNT = sizeof LAYERS / sizeof *LAYERS };

/* An automatic cfl would depend on the number of dimensions. */
static firn_scene *scene_of(method m)
{
    return make_scene(m,
                      "  cell_size: %g\n  fps: 100\n  cfl: 0.4\n  rest_volume: sampled\n"
                      "snow:\n  - shape: {sphere: {center: [0, 0.07, 0], radius: 0.06}}\n"
                      "    material: snow\n    velocity: [1.5, -4, 0]\n"
                      "    sampling: {particles_per_cell: 6}\n"
                      "colliders:\n%s"
                      "  - shape: {plane: {point: [0, 0, 0], normal: [0.1, 1, 0]}}\n"
                      "    friction: 0.4\n",
                      H,
                      m.dimensions == 2
                          ? ""
                          : "  - shape: {plane: {point: [0, 0, 900], normal: [0, 0, 1]}}\n"
                            "  - shape: {plane: {point: [0, 0, -900], normal: [0, 0, -1]}}\n");
}

/* Copies of 2D particles, one layer after the other; each layer is `thickness` of z. */
static cloud stack(const cloud *flat, double thickness)
{
    cloud c = cloud_make(3, LAYER_COUNT * flat->count);
    for (size_t r = 0; r < c.count; r++) {
        size_t from = r % flat->count;
        for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES; a++)
            if (firn_attribute_components(a, 2) == 1)
                *cloud_row(&c, a, r) = *cloud_row(flat, a, from);
        for (int a = 0; a < 2; a++) {
            cloud_row(&c, FIRN_POSITION, r)[a] = cloud_row(flat, FIRN_POSITION, from)[a];
            cloud_row(&c, FIRN_VELOCITY, r)[a] = cloud_row(flat, FIRN_VELOCITY, from)[a];
        }
        cloud_row(&c, FIRN_POSITION, r)[2] = LAYERS[r / flat->count];
        *cloud_row(&c, FIRN_MASS, r) *= thickness;
        *cloud_row(&c, FIRN_VOLUME, r) *= thickness;
    }
    return c;
}

static void compare(method m, const firn_sim *flat_sim, const firn_sim *tall_sim)
{
    cloud flat = cloud_of(flat_sim), tall = cloud_of(tall_sim);
    double position = 0, J_P = 0, height = 0;
    for (size_t r = 0; r < tall.count; r++) {
        const double *x = cloud_row(&tall, FIRN_POSITION, r);
        const double *y = cloud_row(&flat, FIRN_POSITION, r % flat.count);
        position = fmax(position, hypot(x[0] - y[0], x[1] - y[1]));
        height = fmax(height, fabs(x[2] - LAYERS[r / flat.count]));
        J_P = fmax(J_P, fabs(*cloud_row(&tall, FIRN_J_P, r) -
                             *cloud_row(&flat, FIRN_J_P, r % flat.count)));
    }
    double limit = precision_of(flat_sim).impact;
    at_most(position / H, limit, "%s: cells apart", method_name(m));
    at_most(J_P, limit, "%s: J_P apart", method_name(m));
    at_most(height / H, firn_sim_is_double(flat_sim) ? 0 : 1e-6, "%s: cells along z",
            method_name(m));
    cloud_free(&flat);
    cloud_free(&tall);
}

static void test_impact(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        method m = {2, k / 2 ? "quadratic" : "cubic", k % 2 ? APIC : FLIP_95}, m3 = m;
        m3.dimensions = 3;
        firn_scene *scene = scene_of(m);
        cloud flat = sample_scene(scene), tall = stack(&flat, H / 2);
        firn_sim *flat_sim = make_sim_of(scene, &flat);
        firn_sim *tall_sim = make_sim_of(scene_of(m3), &tall);
        firn_stats start = stats_of(flat_sim);
        while (firn_sim_frame(flat_sim) < 3) {
            step(flat_sim);
            step(tall_sim);
        }
        assert_int_equal(firn_sim_frame(tall_sim), 3);
        compare(m, flat_sim, tall_sim);
        firn_stats end = stats_of(flat_sim); /* it was a real impact */
        assert_true(end.J_P_min < 0.97 && end.J_P_max > 1.03);
        assert_true(end.momentum[1] > 0.5 * start.momentum[1]);
        firn_sim_destroy(&flat_sim);
        firn_sim_destroy(&tall_sim);
        cloud_free(&flat);
        cloud_free(&tall);
    }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_impact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
