/* `firn measure`: pieces, spread, packing and contact of the snow in frames. */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>

#include "console.h"
#include "json.h"
#include "render.h"
#include "tool.h"

typedef struct measure_options {
    bool json, csv;
    const char *scene, *box;
    argument_list sets;
    int64_t every;
    double fill, least;
    bool quiet;
} measure_options;

#define AT(field) .offset = offsetof(measure_options, field)
static const argument measure_arguments[] = {
    {ARGUMENT_FLAG, 0, "json", NULL, "one JSON object a frame", AT(json)},
    {ARGUMENT_FLAG, 0, "csv", NULL, "a table, one line a frame", AT(csv)},
    {ARGUMENT_TEXT, 0, "box", "X,Y,Z,X,Y,Z", "only the snow between these corners", AT(box)},
    {ARGUMENT_NUMBER, 0, "fill", "SHARE", "how full of snow a cell of a piece must be [0.35]",
     AT(fill), 1e-6, 1},
    {ARGUMENT_NUMBER, 0, "least", "SHARE", "the smallest piece, as a share of the mass [0.001]",
     AT(least), 1e-12, 1},
    {ARGUMENT_INTEGER, 0, "every", "N", "every n-th frame of a run", AT(every), 1, 1e9},
    {ARGUMENT_TEXT, 0, "scene", "SCENE", "whose colliders to look at [the run's own scene]",
     AT(scene)},
    {ARGUMENT_LIST, 0, "set", "KEY.PATH=VALUE", "override a value of the scene (repeatable)",
     AT(sets)},
    {ARGUMENT_FLAG, 'q', "quiet", NULL, "say nothing but errors", AT(quiet)},
};
#undef AT
static const command measure_command = {
    .name = "measure",
    .operands = "DIR|FRAME...|SCENE",
    .least = 1,
    .most = SIZE_MAX,
    .summary =
        "Measure what became of the snow in frames (.hdf, .h5), in all frames of a run, or at the\n"
        "start of a scene: the pieces it broke into, where it lies, how far it is packed, what\n"
        "touches it. Of several frames a table.",
    .arguments = measure_arguments,
    .count = sizeof measure_arguments / sizeof *measure_arguments,
};

/* ---- Numbers and their names ----------------------------------------------------------------- */

const char *const measure_names[MEASURES] = {
    "time",     "particles", "mass",    "pieces", "largest", "loose",    "low_x",
    "low_y",    "low_z",     "high_x",  "high_y", "high_z",  "center_x", "center_y",
    "center_z", "spread",    "density", "J_P",    "packed",  "torn",
};

void measure_values(const firn_measurement *m, double values[MEASURES])
{
    double whole = m->mass > 0 ? m->mass : 1;
    const double all[MEASURES] = {
        m->time,
        (double)m->particles,
        m->mass,
        (double)m->piece_count,
        m->piece_count ? m->pieces[0] / whole : 0,
        m->loose / whole,
        m->low[0],
        m->low[1],
        m->low[2],
        m->high[0],
        m->high[1],
        m->high[2],
        m->center[0],
        m->center[1],
        m->center[2],
        m->spread,
        m->density,
        m->J_P,
        m->packed / whole,
        m->torn / whole,
    };
    for (int k = 0; k < MEASURES; k++)
        values[k] = all[k];
}

/* ---- Ways to print --------------------------------------------------------------------------- */

static void print_json(const firn_measurement *m)
{
    double values[MEASURES];
    measure_values(m, values);
    json j = {.out = stdout};
    json_open(&j, NULL, '{');
    json_integer(&j, "frame", (uint64_t)m->frame);
    for (int k = 0; k < MEASURES; k++)
        json_number(&j, measure_names[k], values[k]);
    json_numbers(&j, "velocity", m->velocity, 3);
    json_numbers(&j, "piece_masses", m->pieces, m->piece_count);
    json_open(&j, "colliders", '[');
    for (size_t i = 0; i < m->contact_count; i++) {
        json_open(&j, NULL, '{');
        json_text(&j, "name", m->contacts[i].name);
        json_number(&j, "touching", m->contacts[i].touching);
        json_number(&j, "deepest", m->contacts[i].deepest);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    printf("\n");
}

static void print_csv(const firn_measurement *m, bool first)
{
    double values[MEASURES];
    measure_values(m, values);
    if (first) {
        printf("frame");
        for (int k = 0; k < MEASURES; k++)
            printf(",%s", measure_names[k]);
        for (size_t i = 0; i < m->contact_count; i++)
            printf(",\"touching %s\",\"deepest %s\"", m->contacts[i].name, m->contacts[i].name);
        printf("\n");
    }
    printf("%d", m->frame);
    for (int k = 0; k < MEASURES; k++)
        printf(",%.9g", values[k]);
    for (size_t i = 0; i < m->contact_count; i++)
        printf(",%.9g,%.9g", m->contacts[i].touching, m->contacts[i].deepest);
    printf("\n");
}

static void print_row(const firn_measurement *m, bool first)
{
    double whole = m->mass > 0 ? m->mass : 1;
    if (first)
        printf("%6s %9s %10s %7s %9s %7s %9s %9s %9s %8s\n", "frame", "time s", "mass kg", "pieces",
               "largest", "loose", "top m", "spread m", "density", "J_P");
    printf("%6d %9.4f %10.5g %7zu %8.1f%% %6.1f%% %9.4f %9.4f %9.1f %8.4f\n", m->frame, m->time,
           m->mass, m->piece_count, m->piece_count ? 100 * m->pieces[0] / whole : 0,
           100 * m->loose / whole, m->high[1], m->spread, m->density, m->J_P);
}

static void print_whole(const firn_measurement *m)
{
    double whole = m->mass > 0 ? m->mass : 1;
    printf("frame           %d at %g s\n", m->frame, m->time);
    printf("snow            %zu particles, %.4g kg\n", m->particles, m->mass);
    printf("box             %.4g %.4g %.4g to %.4g %.4g %.4g m\n", m->low[0], m->low[1], m->low[2],
           m->high[0], m->high[1], m->high[2]);
    printf("centre          %.4g %.4g %.4g m, moving %.3g %.3g %.3g m/s\n", m->center[0],
           m->center[1], m->center[2], m->velocity[0], m->velocity[1], m->velocity[2]);
    printf("spread          %.4g m\n", m->spread);
    printf("density         %.4g, J_P %.4g in the mean; %.1f %% packed, %.1f %% torn\n", m->density,
           m->J_P, 100 * m->packed / whole, 100 * m->torn / whole);
    printf("pieces          %zu:", m->piece_count);
    enum { SHOWN = 8 };
    for (size_t i = 0; i < m->piece_count && i < SHOWN; i++)
        printf(" %.1f%%", 100 * m->pieces[i] / whole);
    printf("%s\nloose           %.1f %%\n", m->piece_count > SHOWN ? " ..." : "",
           100 * m->loose / whole);
    for (size_t i = 0; i < m->contact_count; i++)
        printf("%-15s touched by %.4g kg; deepest particle %.2g m inside\n", m->contacts[i].name,
               m->contacts[i].touching, m->contacts[i].deepest);
}

/* ---- The verb -------------------------------------------------------------------------------- */

static int parse_box(const char *text, double box[6])
{
    char rest;
    if (sscanf(text, "%lf,%lf,%lf,%lf,%lf,%lf%c", box, box + 1, box + 2, box + 3, box + 4, box + 5,
               &rest) != 6) {
        console_error("firn measure: --box takes two corners, X,Y,Z,X,Y,Z in metres, not '%s'\n"
                      "See: firn measure --help",
                      text);
        return 2;
    }
    for (int k = 0; k < 3; k++) {
        double a = box[k], b = box[k + 3];
        box[k] = a < b ? a : b;
        box[k + 3] = a < b ? b : a;
    }
    return 0;
}

static int measure_frame(const render_input *in, size_t index, const measure_options *o,
                         const double *box)
{
    firn_frame frame;
    int code = input_read(in, index, &frame);
    if (code)
        return code;
    firn_measurement m;
    firn_status status = firn_frame_measure(
        &frame, in->has_scene ? in->scene : NULL,
        &(firn_measure_options){.box = box, .fill = o->fill, .least = o->least}, &m);
    if (status != FIRN_OK)
        code = console_failure(status);
    else if (o->json)
        print_json(&m);
    else if (o->csv)
        print_csv(&m, index == 0);
    else if (in->count > 1)
        print_row(&m, index == 0);
    else
        print_whole(&m);
    firn_measurement_clear(&m);
    firn_frame_clear(&frame);
    return code;
}

static int measure_all(const argument_list *operands, const measure_options *o)
{
    double box[6];
    int code = o->box ? parse_box(o->box, box) : 0;
    render_options frames = {.scene = o->scene,
                             .sets = o->sets,
                             .frame = -1,
                             .first = -1,
                             .last = -1,
                             .every = o->every,
                             .samples = -1};
    render_input in = {0};
    if (!code)
        code = render_input_open(&in, operands, &frames);
    in.attributes = FIRN_BASIC_ATTRIBUTES; /* more than a picture looks at */
    if (!code)
        code = input_choose(&in, &frames, false);
    for (size_t k = 0; k < in.count && !code; k++)
        code = measure_frame(&in, k, o, o->box ? box : NULL);
    render_input_close(&in);
    return code;
}

int verb_measure(int argc, char **argv)
{
    measure_options options = {.every = 1};
    argument_list operands = {0};
    int code = arguments_parse(&measure_command, argc, argv, &options, &operands);
    if (code == ARGUMENTS_GO) {
        console_setup(options.quiet ? CONSOLE_QUIET : CONSOLE_NORMAL);
        code = measure_all(&operands, &options);
    }
    arguments_clear(&measure_command, &options, &operands);
    return code;
}
