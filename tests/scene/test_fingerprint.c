/* The fingerprint changes with the physics and with nothing else. */
#include "scene_test.h"

static const char base[] = "name: a\n"
                           "simulation: {cell_size: 0.1, frames: 10}\n"
                           "snow:\n"
                           "  - name: ball\n"
                           "    shape: {sphere: {center: [0, 1, 0], radius: 0.5}}\n"
                           "colliders:\n"
                           "  - name: ground\n"
                           "    shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}\n"
                           "    friction: 0.4\n";

static uint64_t fingerprint(const char *text, const char *set)
{
    firn_scene *scene = parse(text, set);
    uint64_t value = firn_scene_fingerprint(scene);
    firn_scene_destroy(&scene);
    return value;
}

static void test_same_physics(void **state)
{
    (void)state;
    const char *const same[] = {
        "name=b", "simulation.frames=99", "output.formats=[ply]", "output.every=5", "snow.0.name=x",
        "colliders.0.name=x",
        /* defaults, written out */
        "simulation={cell_size: 0.2, resolution: 2}", "simulation.dimensions=3",
        "simulation.fps=24.0", "simulation.gravity=[0, -9.81, -0.0]", "simulation.kernel=cubic",
        "simulation.transfer={type: flip, blend: 0.95}", "simulation.transfer=flip",
        "simulation.integrator={type: explicit}", "simulation.time_step=auto",
        "simulation.cfl=auto", "simulation.travel=0.4", "simulation.rest_volume=grid",
        "snow.0.material=snow", "snow.0.sampling={particles_per_cell: 8, method: poisson, seed: 1}",
        "snow.0.velocity=[0, 0, 0]", "snow.0.shape.translate=[0, 0, 0]", "colliders.0.sticky=false",
        "colliders.0.velocity=[0, 0, 0]", "colliders.0.shape.plane.normal=[0, 3, 0]",
        /* a material that is not used, and the used one by its values */
        "materials.other=icy", "materials.snow={preset: snow, density: 400}"};
    uint64_t expected = fingerprint(base, NULL);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        if (fingerprint(base, same[i]) != expected)
            print_error("changed by %s\n", same[i]);
        assert_true(fingerprint(base, same[i]) == expected);
    }
}

static void test_order_and_comments(void **state)
{
    (void)state;
    static const char shuffled[] =
        "# the same\n"
        "colliders: [{friction: 0.4, shape: {plane: {normal: [0, 1, 0], point: [0, 0, 0]}}}]\n"
        "snow: [{shape: {sphere: {radius: 0.5, center: [0, 1, 0]}}, material: mine}]\n"
        "materials: {mine: {}}\n"
        "simulation: {cell_size: 0.1}\n";
    assert_true(fingerprint(base, NULL) == fingerprint(shuffled, NULL));
}

static void test_other_physics(void **state)
{
    (void)state;
    const char *const other[] = {"simulation.cell_size=0.11",
                                 "simulation.resolution=2",
                                 "simulation.fps=25",
                                 "simulation.gravity=[0, -9.8, 0]",
                                 "simulation.kernel=quadratic",
                                 "simulation.transfer=apic",
                                 "simulation.transfer=mls",
                                 "simulation.transfer.blend=0.9",
                                 "simulation.time_step=1e-4",
                                 "simulation.cfl=0.3",
                                 "simulation.travel=0.3",
                                 "simulation.rest_volume=sampled",
                                 "simulation.dimensions=2",
                                 "snow.0.material=wet",
                                 "materials.snow.density=401",
                                 "materials.snow.young_modulus=1e5",
                                 "materials.snow.poisson_ratio=0.3",
                                 "materials.snow.hardening=9",
                                 "materials.snow.critical_compression=2e-2",
                                 "materials.snow.critical_stretch=6e-3",
                                 "snow.0.sampling.seed=2",
                                 "snow.0.emit={}",
                                 "snow.0.emit={until: 2}",
                                 "kill=[{shape: {sphere: {center: [0, 9, 0], radius: 1}}}]",
                                 "snow.0.sampling.method=lattice",
                                 "snow.0.sampling.particles_per_cell=9",
                                 "snow.0.velocity=[1, 0, 0]",
                                 "snow.0.angular_velocity=[0, 0, 90]",
                                 "snow.0.shape.sphere.radius=0.6",
                                 "snow.0.shape.translate=[0, 0, 1]",
                                 "colliders.0.friction=0.5",
                                 "colliders.0.velocity=[0, 0, 1]",
                                 "colliders.0.shape.plane.normal=[1, 1, 0]",
                                 "colliders=null"};
    enum { COUNT = sizeof other / sizeof *other };
    uint64_t seen[COUNT + 1] = {fingerprint(base, NULL)};
    for (size_t i = 0; i < COUNT; i++) {
        seen[i + 1] = fingerprint(base, other[i]);
        for (size_t k = 0; k <= i; k++) {
            if (seen[k] == seen[i + 1])
                print_error("not noticed: %s\n", other[i]);
            assert_true(seen[k] != seen[i + 1]);
        }
    }
}

/* APIC and MLS have no blend to differ by. */
static void test_affine_blend(void **state)
{
    (void)state;
    assert_true(fingerprint(base, "simulation.transfer=apic") ==
                fingerprint(base, "simulation.transfer={type: apic, blend: 0.2}"));
    assert_true(fingerprint(base, "simulation.transfer=mls") ==
                fingerprint(base, "simulation.transfer={type: mls, blend: 0.2}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_physics),
        cmocka_unit_test(test_order_and_comments),
        cmocka_unit_test(test_other_physics),
        cmocka_unit_test(test_affine_blend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
