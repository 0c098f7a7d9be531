/*
 * A whole program on the library: drop a snowball and follow its centre of mass.
 *
 *     cc minimal.c -lfirn -o minimal && ./minimal
 */
#include <stdio.h>
#include <stdlib.h>

#include "firn/firn.h"
#include "firn/scene.h"

/* A scene is text: here in memory, usually a file (firn_scene_load). */
static const char *const ball =
    "simulation: {dimensions: 2, frames: 4, fps: 240, cell_size: 0.02, gravity: [0, -9.81]}\n"
    "materials: {packed: {preset: snow}}\n"
    "snow: [{name: ball, shape: {sphere: {center: [0, 0.11], radius: 0.1}}, material: packed,\n"
    "        velocity: [0, -2]}]\n"
    "colliders: [{name: ground, shape: {plane: {point: [0, 0], normal: [0, 1]}}, friction: 0.4}]\n";

/* Every fallible call gives a status; the message of the last failure is kept for us. */
static void check(firn_status status)
{
    if (status == FIRN_OK)
        return;
    fprintf(stderr, "%s\n", firn_last_error());
    exit((int)status);
}

/* Attributes are read in rows of doubles, in the order of particle ids. */
static void print_centre(const firn_sim *sim)
{
    size_t count = firn_sim_particle_count(sim);
    double *position = malloc(sizeof(double[2]) * count), *mass = malloc(sizeof(double) * count);
    if (!position || !mass)
        abort();
    check(firn_sim_read(sim, FIRN_POSITION, 0, count, position));
    check(firn_sim_read(sim, FIRN_MASS, 0, count, mass));
    double total = 0, x = 0, y = 0;
    for (size_t p = 0; p < count; p++) {
        total += mass[p];
        x += mass[p] * position[2 * p];
        y += mass[p] * position[2 * p + 1];
    }
    printf("frame %d  time %g s  centre of mass (%.4f, %.4f)\n", firn_sim_frame(sim),
           firn_sim_time(sim), x / total, y / total);
    free(position);
    free(mass);
}

int main(void)
{
    firn_scene *scene;
    firn_sim *sim;
    check(firn_scene_parse(ball, "ball", NULL, 0, &scene));
    check(firn_sim_create(scene, NULL, &sim)); /* NULL: the best backend, all threads */
    int frames = firn_scene_settings(scene)->frames;
    firn_scene_destroy(&scene); /* the simulation has its own copy */

    print_centre(sim);
    while (firn_sim_frame(sim) < frames) {
        check(firn_sim_advance_frame(sim, NULL, NULL)); /* as many steps as it takes */
        print_centre(sim);
    }
    firn_sim_destroy(&sim);
    return 0;
}
