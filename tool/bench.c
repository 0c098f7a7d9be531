/* `firn bench`: nanoseconds per particle and step on this machine, case by case. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "bench_case.h"
#include "bench_limits.h"
#include "console.h"
#include "json.h"
#include "machine.h"
#include "names.h"
#include "tool.h"

typedef struct bench_options {
    bool json, limits;
    const char *backend;
    const char *scene;
    argument_list sets;
    int64_t particles, steps, repeats, threads;
    int kernel, transfer, integrator; /* firn_kernel, ...; -1 = not given */
} bench_options;

#define AT(field) .offset = offsetof(bench_options, field)
static const argument bench_arguments[] = {
    {ARGUMENT_FLAG, 0, "json", NULL, "print one JSON object a case, each on a line", AT(json)},
    {ARGUMENT_FLAG, 0, "limits", NULL,
     "measure the machine instead: arithmetic and memory, a second", AT(limits)},
    {ARGUMENT_TEXT, 0, "backend", "auto|ref|cpu|cuda", "solver [auto]", AT(backend)},
    {ARGUMENT_TEXT, 0, "scene", "SCENE", "measure this scene [a cube that hits the ground]",
     AT(scene)},
    {ARGUMENT_LIST, 0, "set", "KEY.PATH=VALUE", "override a value of the scene (repeatable)",
     AT(sets)},
    {ARGUMENT_INTEGER, 0, "particles", "N", "particles of the cube, about [8000]", AT(particles),
     64, 1e12},
    {ARGUMENT_INTEGER, 0, "steps", "N", "timed steps of a repeat [50]", AT(steps), 1, 1e9},
    {ARGUMENT_INTEGER, 0, "repeats", "N", "repeats, of which the median counts [3]", AT(repeats), 1,
     1000},
    {ARGUMENT_INTEGER, 0, "threads", "N", "threads [all]", AT(threads), 1, 4096},
    {ARGUMENT_CHOICE, 0, "kernel", "cubic|quadratic", "only this kernel [both]", AT(kernel)},
    {ARGUMENT_CHOICE, 0, "transfer", "flip|apic|mls", "only this transfer [all]", AT(transfer)},
    {ARGUMENT_CHOICE, 0, "integrator", "explicit|semi_implicit|auto",
     "how steps are taken [explicit, or the scene's]", AT(integrator)},
};
#undef AT
static const command bench_command = {
    .name = "bench",
    .operands = "",
    .summary =
        "Measure nanoseconds per particle and step: one case for each kernel and transfer of a "
        "cube\n"
        "of snow that has hit the ground, or a scene as it is. Warm-up first; median of repeats.",
    .arguments = bench_arguments,
    .count = sizeof bench_arguments / sizeof *bench_arguments,
};

/* ---- Output ---------------------------------------------------------------------------------- */

static void print_json(const bench_request *q, const bench_result *r)
{
    char machine[256];
    machine_text(machine);
    json j = {.out = stdout};
    json_open(&j, NULL, '{');
    json_text(&j, "scene", q->scene ? q->scene : "block");
    json_text(&j, "backend", r->backend);
    json_text(&j, "kernel", kernel_name(r->settings.kernel));
    json_text(&j, "transfer", transfer_name(r->settings.transfer));
    json_text(&j, "integrator", integrator_name(r->settings.integrator));
    json_integer(&j, "particles", r->particles);
    json_number(&j, "particles_per_cell", r->particles_per_cell);
    json_integer(&j, "threads", (uint64_t)(q->threads ? q->threads : processor_count()));
    json_integer(&j, "steps", q->steps);
    json_integer(&j, "repeats", (uint64_t)q->repeats);
    json_number(&j, "dt", r->dt);
    json_number(&j, "ns_per_particle_step", r->ns_per_particle_step);
    json_open(&j, "stages", '{');
    for (int s = 0; s < FIRN_STAGES; s++)
        json_number(&j, stage_name(s), r->stage_ns[s]);
    json_close(&j, '}');
    json_number(&j, "bodies", r->bodies_ns);
    json_number(&j, "solver_iterations", r->solver_iterations);
    json_number(&j, "ns_per_particle_iteration", r->ns_per_particle_iteration);
    json_number(&j, "peak_bytes", r->peak_bytes);
    json_text(&j, "machine", machine);
    json_close(&j, '}');
    putchar('\n');
}

static void print_table_head(const bench_request *q)
{
    char machine[256];
    machine_text(machine);
    printf("%s\n%s: median of %d x %llu steps; ns per particle and step\n\n", machine,
           q->scene ? q->scene : "block", q->repeats, (unsigned long long)q->steps);
    printf("%-8s%-10s%-9s%10s%11s%9s", "backend", "kernel", "transfer", "particles", "dt", "ns");
    for (int s = 0; s < FIRN_STAGES; s++)
        printf("%9s", stage_name(s));
    printf("%10s%10s%12s%10s\n", "bodies", "peak MB", "iterations", "ns each");
}

static void print_table_row(const bench_result *r)
{
    printf("%-8s%-10s%-9s%10zu%11.3g%9.4g", r->backend, kernel_name(r->settings.kernel),
           transfer_name(r->settings.transfer), r->particles, r->dt, r->ns_per_particle_step);
    for (int s = 0; s < FIRN_STAGES; s++)
        printf("%9.4g", r->stage_ns[s]);
    if (isnan(r->bodies_ns))
        printf("%10s", "-");
    else
        printf("%8.1f %%", 100 * r->bodies_ns / r->ns_per_particle_step);
    printf("%10.4g", r->peak_bytes / 1e6);
    if (r->solver_iterations > 0)
        printf("%12.3g%10.4g", r->solver_iterations, r->ns_per_particle_iteration);
    printf("\n");
}

static void print_limits(int threads, bool as_json)
{
    char machine[256];
    machine_text(machine);
    bench_limits limits = bench_limits_measure(threads);
    if (as_json) {
        json j = {.out = stdout};
        json_open(&j, NULL, '{');
        json_integer(&j, "threads", (uint64_t)threads);
        json_number(&j, "flops", limits.flops);
        json_number(&j, "copy_bytes", limits.copy_bytes);
        json_text(&j, "machine", machine);
        json_close(&j, '}');
        putchar('\n');
    } else {
        printf("%s, %d of them: %.3g GFLOP/s float32, %.3g GB/s copied (read and written)\n",
               machine, threads, 1e-9 * limits.flops, 1e-9 * limits.copy_bytes);
    }
}

/* ---- The cases ------------------------------------------------------------------------------- */

static int run_case(const bench_request *q, bool as_json)
{
    bench_result result;
    firn_status status = bench_measure(q, &result);
    if (status != FIRN_OK)
        return console_failure(status);
    if (as_json)
        print_json(q, &result);
    else
        print_table_row(&result);
    fflush(stdout);
    return 0;
}

static int bench(const bench_options *o)
{
    bench_request q = {.scene = o->scene,
                       .sets = o->sets.items,
                       .set_count = o->sets.count,
                       .backend = o->backend,
                       .threads = (int)o->threads,
                       .kernel = o->kernel < 0 ? NULL : kernel_name(o->kernel),
                       .transfer = o->transfer < 0 ? NULL : transfer_name(o->transfer),
                       .integrator = o->integrator < 0 ? NULL : integrator_name(o->integrator),
                       .particles = (size_t)o->particles,
                       .steps = (uint64_t)o->steps,
                       .repeats = (int)o->repeats};
    if (o->limits) {
        print_limits(o->threads ? (int)o->threads : processor_count(), o->json);
        return 0;
    }
    if (!o->json)
        print_table_head(&q);
    if (o->scene)
        return run_case(&q, o->json);
    for (int kernel = FIRN_CUBIC; kernel <= FIRN_QUADRATIC; kernel++)
        for (int transfer = FIRN_FLIP; transfer <= FIRN_MLS; transfer++) {
            if ((o->kernel >= 0 && kernel != o->kernel) ||
                (o->transfer >= 0 && transfer != o->transfer))
                continue;
            q.kernel = kernel_name(kernel);
            q.transfer = transfer_name(transfer);
            int code = run_case(&q, o->json);
            if (code)
                return code;
        }
    return 0;
}

int verb_bench(int argc, char **argv)
{
    bench_options options = {.particles = 8000,
                             .steps = 50,
                             .repeats = 3,
                             .kernel = -1,
                             .transfer = -1,
                             .integrator = -1};
    argument_list operands = {0};
    int code = arguments_parse(&bench_command, argc, argv, &options, &operands);
    if (code == ARGUMENTS_GO)
        code = bench(&options);
    arguments_clear(&bench_command, &options, &operands);
    return code;
}
