/* `firn check`: is the scene right, and what would a run of it take? */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "arguments.h"
#include "console.h"
#include "firn/scene.h"
#include "json.h"
#include "names.h"
#include "tool.h"

typedef struct check_options {
    bool json;
    const char *backend;
    int64_t threads;
    argument_list sets;
} check_options;

#define AT(field) .offset = offsetof(check_options, field)
static const argument check_arguments[] = {
    {ARGUMENT_FLAG, 0, "json", NULL, "print one JSON object", AT(json)},
    {ARGUMENT_LIST, 0, "set", "KEY.PATH=VALUE", "override a value of the scene (repeatable)",
     AT(sets)},
    {ARGUMENT_TEXT, 0, "backend", "auto|ref|cpu|cuda", "solver to estimate for [auto]",
     AT(backend)},
    {ARGUMENT_INTEGER, 0, "threads", "N", "threads to estimate for [all]", AT(threads), 1, 4096},
};
#undef AT
static const command check_command = {
    .name = "check",
    .operands = "SCENE",
    .least = 1,
    .most = 1,
    .summary = "Read and validate a scene without running it, and estimate what a run would take.",
    .arguments = check_arguments,
    .count = sizeof check_arguments / sizeof *check_arguments,
};

static void print_json(const char *path, const firn_scene *scene, const firn_estimate *e)
{
    const firn_settings *s = firn_scene_settings(scene);
    char fingerprint[24];
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, firn_scene_fingerprint(scene));
    json j = {.out = stdout};
    json_open(&j, NULL, '{');
    json_text(&j, "scene", path);
    json_text(&j, "name", firn_scene_name(scene));
    json_text(&j, "fingerprint", fingerprint);
    json_integer(&j, "dimensions", (uint64_t)s->dimensions);
    json_integer(&j, "frames", (uint64_t)s->frames);
    json_number(&j, "fps", s->fps);
    json_number(&j, "cell_size", s->cell_size);
    json_text(&j, "kernel", kernel_name(s->kernel));
    json_text(&j, "transfer", transfer_name(s->transfer));
    json_text(&j, "integrator", integrator_name(s->integrator));
    json_integer(&j, "particles", e->particles);
    json_number(&j, "particles_per_cell", e->particles_per_cell);
    json_integer(&j, "occupied_cells", e->occupied_cells);
    json_integer(&j, "active_nodes", e->active_nodes);
    json_number(&j, "mass", e->mass);
    json_number(&j, "memory_bytes", e->memory_bytes);
    json_number(&j, "frame_bytes", e->frame_bytes);
    json_number(&j, "wave_speed", e->wave_speed);
    json_number(&j, "stable_dt", e->stable_dt);
    json_number(&j, "steps", e->steps);
    json_number(&j, "seconds", e->seconds);
    json_open(&j, "warnings", '[');
    for (size_t k = 0; k < e->warning_count; k++)
        json_text(&j, NULL, e->warnings[k]);
    json_close(&j, ']');
    json_close(&j, '}');
    putchar('\n');
}

static void print_bytes(double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    int unit = 0;
    for (; bytes >= 1000 && unit < 4; unit++)
        bytes /= 1000;
    printf("%.3g %s", bytes, units[unit]);
}

static void print_duration(double seconds)
{
    if (seconds < 90)
        printf("about %.2g s", seconds);
    else if (seconds < 5400)
        printf("about %.0f min", seconds / 60);
    else
        printf("about %.1f h", seconds / 3600);
}

static void print_report(const firn_scene *scene, const firn_estimate *e)
{
    const firn_settings *s = firn_scene_settings(scene);
    printf("scene           %s\n", firn_scene_name(scene));
    printf("space           %dD, cells of %g m\n", s->dimensions, s->cell_size);
    printf("time            %d frames at %g a second: %g s\n", s->frames, s->fps,
           s->frames / s->fps);
    printf("method          %s splines, %s", kernel_name(s->kernel), transfer_name(s->transfer));
    if (s->transfer == FIRN_FLIP)
        printf(" %g", s->blend);
    printf(", %s", integrator_name(s->integrator));
    if (s->integrator != FIRN_EXPLICIT)
        printf(" (beta %g)", s->beta);
    printf("\nsnow            ");
    for (size_t k = 0; k < firn_scene_object_count(scene); k++)
        printf("%s%s", k ? ", " : "", firn_scene_object_name(scene, k));
    printf("\ncolliders       ");
    for (size_t k = 0; k < firn_scene_collider_count(scene); k++)
        printf("%s%s", k ? ", " : "", firn_scene_collider_name(scene, k));
    printf("%s\n", firn_scene_collider_count(scene) ? "" : "none");
    printf("particles       %zu (%.2f a cell), %.4g kg\n", e->particles, e->particles_per_cell,
           e->mass);
    printf("grid            %zu occupied cells, %zu active nodes\n", e->occupied_cells,
           e->active_nodes);
    printf("wave speed      %.4g m/s\n", e->wave_speed);
    if (s->time_step > 0)
        printf("time step       %.4g s as set; stable: %.4g s\n", s->time_step, e->stable_dt);
    else
        printf("time step       %.4g s\n", e->stable_dt);
    printf("memory          at most ");
    print_bytes(e->memory_bytes);
    printf(", of which ");
    print_bytes(e->frame_bytes);
    printf(" for frames on their way to disk\n");
    printf("expected        %.4g steps, ", e->steps);
    print_duration(e->seconds);
    printf("\n");
}

static int check(const char *path, const check_options *o)
{
    firn_scene *scene = NULL;
    firn_estimate estimate = {0};
    const firn_sim_options options = {.backend = o->backend, .threads = (int)o->threads};
    firn_status status = firn_scene_load(path, o->sets.items, o->sets.count, &scene);
    if (status == FIRN_OK)
        status = firn_scene_estimate(scene, &options, &estimate);
    if (status == FIRN_OK && o->json)
        print_json(path, scene, &estimate);
    else if (status == FIRN_OK)
        print_report(scene, &estimate);
    fflush(stdout);
    for (size_t k = 0; k < estimate.warning_count; k++)
        console_warning("%s", estimate.warnings[k]);
    firn_estimate_clear(&estimate);
    firn_scene_destroy(&scene);
    return status == FIRN_OK ? 0 : console_failure(status);
}

int verb_check(int argc, char **argv)
{
    check_options options = {0};
    argument_list operands = {0};
    int code = arguments_parse(&check_command, argc, argv, &options, &operands);
    if (code == ARGUMENTS_GO)
        code = check(operands.items[0], &options);
    arguments_clear(&check_command, &options, &operands);
    return code;
}
