/*
 * A bar that rings. Along it u_tt = c^2 u_xx, so a free bar of length L swings at c/2L and one
 * whose end is held at c/4L. The modulus is E where the sides are free and nu = 0 (then nothing
 * happens across), and lambda + 2 mu where the sides cannot move; both times exp(xi (1 - J_P)).
 *
 * Rest volumes are as sampled: those of the grid (step 2) are too large in the outer cells, which
 * is most of a thin bar. Particles are a lattice aligned with the grid, so every row across moves
 * alike.
 */
#include "physics.h"

static const double H = 0.015625, DENSITY = 400, YOUNG = 1.6e5;
static const int CELLS = 40;

typedef struct bar {
    bool held;     /* the left end, by a sticky wall; else both are free */
    bool confined; /* across, by bodies that everything is in */
    double poisson;
    double J_P;
} bar;

/* Walls without friction that hold every place from both sides: nothing moves along y and z. */
static const char *const CONFINED =
    "  - shape: {plane: {point: [0, 900, 0], normal: [0, 1, 0]}}\n"
    "  - shape: {plane: {point: [0, -900, 0], normal: [0, -1, 0]}}\n"
    "  - shape: {plane: {point: [0, 0, 900], normal: [0, 0, 1]}}\n"
    "  - shape: {plane: {point: [0, 0, -900], normal: [0, 0, -1]}}\n";
static const char *const CONFINED_2D = "  - shape: {plane: {point: [0, 900], normal: [0, 1]}}\n"
                                       "  - shape: {plane: {point: [0, -900], normal: [0, -1]}}\n";

static firn_scene *scene_of(method m, bar b)
{
    return make_scene(
        m,
        "  cell_size: %g\n  fps: 1\n  gravity: [0, 0, 0]\n  rest_volume: sampled\n"
        "materials:\n  rubber: {young_modulus: %g, poisson_ratio: %g, density: %g, hardening: 10,\n"
        "    critical_compression: 0.5, critical_stretch: 0.5}\n"
        "snow:\n  - shape: {box: {center: [%g, %g, %g], size: [%g, %g, %g]}}\n"
        "    material: rubber\n    sampling: {particles_per_cell: %d, method: lattice}\n"
        "colliders:\n  - shape: {plane: {point: [%d, 0, 0], normal: [1, 0, 0]}}\n    sticky: "
        "true\n%s",
        H, YOUNG, b.poisson, DENSITY, CELLS * H / 2, H / 2, H / 2, CELLS * H, H, H,
        m.dimensions == 3 ? 8 : 4, b.held ? 0 : -900,
        !b.confined         ? ""
        : m.dimensions == 3 ? CONFINED
                            : CONFINED_2D);
}

/* The speed of the fundamental mode at x, of amplitude 1. */
static double mode(bar b, double x)
{
    double along = acos(-1) * x / (CELLS * H);
    return b.held ? sin(along / 2) : cos(along);
}

static double projection(const firn_sim *sim, const cloud *start, bar b)
{
    cloud now = cloud_of(sim);
    double sum = 0;
    for (size_t r = 0; r < now.count; r++)
        sum += cloud_row(&now, FIRN_VELOCITY, r)[0] * mode(b, *cloud_row(start, FIRN_POSITION, r));
    cloud_free(&now);
    return sum;
}

/* Let it go at full speed and time the zeros of its velocity: half a period apart. */
static double frequency(method m, bar b, double speed)
{
    firn_scene *scene = scene_of(m, b);
    cloud start = sample_scene(scene);
    for (size_t r = 0; r < start.count; r++) {
        cloud_row(&start, FIRN_VELOCITY, r)[0] =
            1e-3 * speed * mode(b, *cloud_row(&start, FIRN_POSITION, r));
        *cloud_row(&start, FIRN_J_P, r) = b.J_P;
    }
    firn_sim *sim = make_sim_of(scene, &start);
    const int halves = 4;
    double first = 0, last = 0, before = projection(sim, &start, b);
    for (int zeros = 0; zeros <= halves;) {
        double then = firn_sim_time(sim);
        step(sim);
        double now = projection(sim, &start, b);
        if ((before > 0) != (now > 0)) {
            last = then + (firn_sim_time(sim) - then) * before / (before - now);
            first = zeros++ == 0 ? last : first;
        }
        before = now;
    }
    firn_sim_destroy(&sim);
    cloud_free(&start);
    return halves / (last - first) / 2;
}

static void ring(method m, bar b, const char *name)
{
    double nu = b.poisson;
    double modulus = b.confined ? YOUNG * (1 - nu) / ((1 + nu) * (1 - 2 * nu)) : YOUNG;
    double speed = sqrt(modulus * exp(10 * (1 - b.J_P)) / DENSITY);
    /* Nodes hold the wall only in the mean: its place is uncertain by a part of a cell. */
    double tolerance = b.held ? 0.02 : 0.005;
    near_to(frequency(m, b, speed), speed / (b.held ? 4 : 2) / (CELLS * H), tolerance, "%s: %s",
            method_name(m), name);
}

static void test_free_bar(void **state)
{
    (void)state;
    for (int k = 0; k < FEW_METHODS; k++)
        ring(few_methods[k], (bar){.J_P = 1}, "free");
}

static void test_held_bar(void **state)
{
    (void)state;
    for (int k = 0; k < FEW_METHODS; k++)
        ring(few_methods[k], (bar){.held = true, .J_P = 1}, "held");
}

/* Here lambda counts. */
static void test_confined_bar(void **state)
{
    (void)state;
    for (int k = 0; k < FEW_METHODS; k++)
        ring(few_methods[k], (bar){.confined = true, .poisson = 0.3, .J_P = 1}, "confined");
}

/* Packed snow rings higher by exp(xi (1 - J_P) / 2), torn snow lower. */
static void test_hardened_bar(void **state)
{
    (void)state;
    ring((method){2, "cubic", APIC}, (bar){.J_P = 0.9}, "packed");
    ring((method){2, "cubic", APIC}, (bar){.J_P = 1.1}, "torn");
    ring((method){3, "cubic", FLIP_95}, (bar){.J_P = 0.9}, "packed");
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_free_bar),
        cmocka_unit_test(test_held_bar),
        cmocka_unit_test(test_confined_bar),
        cmocka_unit_test(test_hardened_bar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
