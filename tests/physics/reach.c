/*
 * Which snow is asked whether it touches a body: all that does, and little more. The backend `cpu`
 * asks about blocks, octants and cells of snow before it asks about particles (src/cpu/reach.h).
 */
#include "physics.h"

#include "cpu/reach.h"
#include "io/vdb.h"
#include "shape/make_sequence.h"
#include "shape/sample.h"
#include "sim.h"

static const double H = 0.02;

/* Snow, and above it all kinds of bodies: meshes that turn and deform, a combination, a plane. */
static firn_sim *many_bodies(method m)
{
    const ball frames[2] = {{0.06, {-0.08, 0.05, 0}}, {0.07, {-0.08, 0.07, 0}}};
    write_balls("beating", frames, 2, 16);
    write_balls("still", frames, 1, 16);
    return make_sim(make_scene(
        m,
        "  cell_size: %g\n  fps: 100\n  gravity: [0, -9.81, 0]\n"
        "snow:\n  - shape: {box: {center: [0, 0.1, 0], size: [0.5, 0.2, 0.2]}}\n"
        "    sampling: {method: lattice, particles_per_cell: 1}\n"
        "colliders:\n"
        "  - {shape: {plane: {point: [0, 0.013, 0], normal: [0.1, 1, 0]}}, friction: 0.3}\n"
        "  - {deform: {file: %s, fps: 20}, angular_velocity: [0, 0, 200]}\n"
        "  - shape: {mesh: {file: %s, voxel: 0.015}, translate: [0.2, 0.03, 0]}\n"
        "    velocity: [1, 2, 0]\n"
        "  - shape:\n"
        "      subtract:\n"
        "        - {box: {center: [0.02, 0.15, 0], size: [0.11, 0.13, 0.3]}, rotate: {axis: [0, 0, "
        "1], angle: 20}}\n"
        "        - {mesh: {file: %s}, translate: [0.1, 0.1, 0]}\n"
        "        - {cylinder: {from: [0, 0.1, -1], to: [0, 0.1, 1], radius: 0.02}}\n",
        H, sequence_path("beating_####.obj"), sequence_path("still_0001.obj"),
        sequence_path("still_0001.obj")));
}

/* Snow among steep hills 0.1 m high, with a hole beside the middle. */
static firn_sim *hills(method m)
{
    const char *map = sequence_path("hills.asc");
    FILE *file = fopen(map, "w");
    assert_non_null(file);
    fprintf(file, "ncols 31\nnrows 31\nxllcorner 0\nyllcorner 0\ncellsize 0.025\n"
                  "NODATA_value -9999\n");
    for (int n = 0; n < 31 * 31; n++) {
        int column = n % 31, row = n / 31;
        bool is_hole = column >= 20 && column <= 22 && row >= 13 && row <= 16;
        fprintf(file, "%.5f ", is_hole ? -9999 : 0.05 * sin(0.7 * column) * cos(0.5 * row));
    }
    fclose(file);
    return make_sim(
        make_scene(m,
                   "  cell_size: %g\n  fps: 100\n"
                   "snow:\n  - shape: {box: {center: [0, 0.1, 0], size: [0.5, 0.2, 0.2]}}\n"
                   "    sampling: {method: lattice, particles_per_cell: 1}\n"
                   "colliders:\n  - shape: {terrain: {file: %s, smooth: %s}}\n"
                   "    velocity: [1, 0.5, 0]\n",
                   H, map, strcmp(m.kernel, "cubic") == 0 ? "true" : "false"));
}

static bool touches(const collider_set *set, const double x[3])
{
    double v[3] = {0};
    return collide_velocity(set, COLLIDER_ALL, x, v);
}

/* How many places in the cells of a block touch a body; each of them must be known to. */
static size_t check_cells(const firn_sim *sim, const cpu_block *block, uint64_t seed)
{
    size_t found = 0;
    int dimensions = sim->scene->settings.dimensions;
    double origin = pass_origin(&sim->scene->settings);
    for (uint64_t n = 0; n < 1000; n++) {
        double x[3] = {0};
        int cell = 0, part = 0;
        for (int a = 0; a < dimensions; a++) {
            int along = (int)(4 * random_unit(seed, 6 * n + (uint64_t)a));
            double in = random_unit(seed, 6 * n + 3 + (uint64_t)a);
            x[a] = (4 * block->at[a] + along + origin + in) * H;
            cell += along << cpu_cell_shift[a];
            part += (in >= 0.5) << a;
        }
        if (block->cell_count[cell] == 0 || !touches(&sim->colliders, x))
            continue;
        assert_true(block->near_bodies && (block->near_cells >> cell & 1));
        assert_true(block->near_parts[cell] >> part & 1);
        found++;
    }
    return found;
}

static size_t check_nodes(const firn_sim *sim, const cpu_block *block)
{
    size_t found = 0;
    int dimensions = sim->scene->settings.dimensions;
    for (int node = 0; node < (dimensions == 3 ? 64 : 16); node++) {
        double x[3] = {0};
        for (int a = 0; a < dimensions; a++)
            x[a] = (4 * block->at[a] + (node >> 2 * a & 3)) * H;
        if (!touches(&sim->colliders, x))
            continue;
        assert_true(block->near_bodies && (block->near_nodes >> node & 1));
        found++;
    }
    return found;
}

/* Bodies go on for a while as they do from step to step; answers are asked for again when they must be. */
static void go_on(firn_sim *sim, double time, int moves)
{
    const double dt = 4e-5;
    cpu_grid *grid = &sim->state->grid;
    for (int k = 0; k < moves; k++) {
        assert_int_equal(collider_set_move(&sim->colliders, time + k * dt), FIRN_OK);
        for (uint32_t b = 0; b < grid->count; b++)
            reach_block(sim->state, &grid->blocks[b]);
    }
}

static void check_nothing_is_missed(firn_sim *(*make)(method))
{
    const method chosen[] = {
        {2, "cubic", FLIP_95}, {2, "quadratic", APIC}, {3, "cubic", APIC}, {3, "quadratic", APIC}};
    for (int k = 0; k < 4; k++) {
        firn_sim *sim = make(chosen[k]);
        size_t places = 0, nodes = 0, lasting = 0;
        for (int moment = 0; moment < 6; moment++) {
            step(sim);
            go_on(sim, 0.011 * moment, moment % 2 ? 1 : 30 + moment);
            const cpu_grid *grid = &sim->state->grid;
            for (uint32_t b = 0; b < grid->count; b++) {
                lasting += grid->blocks[b].reach_ends > sim->colliders.travel;
                if (grid->blocks[b].count > 0)
                    places += check_cells(sim, &grid->blocks[b], b);
                nodes += check_nodes(sim, &grid->blocks[b]);
            }
        }
        print_message("    %s: %zu places and %zu nodes that touch\n", method_name(chosen[k]),
                      places, nodes);
        assert_true(places > 1000 && nodes > 100 && lasting > 0);
        firn_sim_destroy(&sim);
    }
}

static void test_nothing_is_missed(void **state)
{
    (void)state;
    check_nothing_is_missed(many_bodies);
}

static void test_nothing_of_terrain_is_missed(void **state)
{
    (void)state;
    check_nothing_is_missed(hills);
}

/* Questions that a step asks of ten balls of triangles in a block of snow, for each particle, while what was
 * found about cells holds. A body looked at for every particle of the blocks around it would take ten times
 * as many. */
static void test_few_are_asked(void **state)
{
    (void)state;
    const ball one = {4 * H, {0}};
    write_balls("ball", &one, 1, 16);
    char bodies[4000] = "";
    for (int k = 0; k < 10; k++)
        snprintf(bodies + strlen(bodies), sizeof bodies - strlen(bodies),
                 "  - {shape: {mesh: %s, translate: [%g, 0.2, %g]}}\n",
                 sequence_path("ball_0001.obj"), 0.3 * (k % 5) - 0.6, k < 5 ? -0.15 : 0.15);
    firn_sim *sim = make_sim(
        make_scene((method){3, "cubic", FLIP_95},
                   "  cell_size: %g\n  fps: 100\n"
                   "snow:\n  - shape: {box: {center: [0, 0.2, 0], size: [1.5, 0.4, 0.6]}}\n"
                   "    sampling: {method: lattice, particles_per_cell: 8}\n"
                   "colliders:\n%s",
                   H, bodies));
    step(sim);
    const cpu_grid *grid = &sim->state->grid;
    double particles = 0, asked = 0, nodes = 0, near_blocks = 0;
    for (uint32_t b = 0; b < grid->count; b++) {
        const cpu_block *block = &grid->blocks[b];
        particles += block->count;
        near_blocks += block->near_bodies ? block->count : 0;
        nodes += __builtin_popcountll(block->near_nodes);
        for (int cell = 0; cell < CPU_CELLS; cell++)
            asked += __builtin_popcount(block->near_parts[cell]) / 8.0 * block->cell_count[cell];
    }
    print_message("    of %g particles %.3f are in blocks near a body\n", particles,
                  near_blocks / particles);
    at_most(asked / particles, 0.11, "particles that are asked");
    at_most((asked + nodes) / particles, 0.13, "questions for each particle");
    assert_true(near_blocks / particles > 0.3);
    firn_sim_destroy(&sim);
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    if (strcmp(vdb_version(), "none") == 0)
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_missed),
        cmocka_unit_test(test_nothing_of_terrain_is_missed),
        cmocka_unit_test(test_few_are_asked),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sequence_cleanup();
    return failed;
}
