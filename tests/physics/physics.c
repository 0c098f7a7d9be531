#include "physics.h"

#include <unistd.h>

#include "firn/advance.h"
#include "shape/sample.h"

static firn_sim_options options = {.backend = "ref"};

const method methods[METHODS] = {
    {2, "cubic", FLIP_95},     {2, "cubic", FLIP_100},     {2, "cubic", APIC},
    {2, "quadratic", FLIP_95}, {2, "quadratic", FLIP_100}, {2, "quadratic", APIC},
    {3, "cubic", FLIP_95},     {3, "cubic", FLIP_100},     {3, "cubic", APIC},
    {3, "quadratic", FLIP_95}, {3, "quadratic", FLIP_100}, {3, "quadratic", APIC},
    {2, "cubic", MLS},         {2, "quadratic", MLS},      {3, "cubic", MLS},
    {3, "quadratic", MLS},
};

const method few_methods[FEW_METHODS] = {
    {3, "cubic", FLIP_95},     {2, "cubic", FLIP_100},     {2, "cubic", APIC},
    {2, "quadratic", FLIP_95}, {2, "quadratic", FLIP_100}, {3, "quadratic", APIC},
    {2, "quadratic", MLS},
};

firn_transfer transfer_of(method m)
{
    return strcmp(m.transfer, APIC) == 0  ? FIRN_APIC
           : strcmp(m.transfer, MLS) == 0 ? FIRN_MLS
                                          : FIRN_FLIP;
}

bool is_affine(method m)
{
    return transfer_of(m) != FIRN_FLIP;
}

const char *method_name(method m)
{
    static char name[64];
    snprintf(name, sizeof name, "%dD %s %s", m.dimensions, m.kernel,
             strcmp(m.transfer, FLIP_95) == 0    ? "flip 0.95"
             : strcmp(m.transfer, FLIP_100) == 0 ? "flip 1"
                                                 : m.transfer);
    return name;
}

/* ---- Simulations ----------------------------------------------------------------------------- */

void use_backend(int argc, char **argv)
{
    if (argc > 1)
        options.backend = argv[1];
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    if (strcmp(options.backend, "cuda") == 0 && !strstr(firn_features(), "backends: cuda")) {
        printf("no GPU here: %s\n", firn_features());
        exit(77);
    }
}

static void must(firn_status status)
{
    if (status != FIRN_OK)
        fail_msg("status %d: %s", status, firn_last_error());
}

firn_scene *make_scene(method m, const char *format, ...)
{
    char text[4096];
    int head =
        snprintf(text, sizeof text, "simulation:\n  dimensions: %d\n  kernel: %s\n  transfer: %s\n",
                 m.dimensions, m.kernel, m.transfer);
    va_list arguments;
    va_start(arguments, format);
    int tail = vsnprintf(text + head, sizeof text - (size_t)head, format, arguments);
    va_end(arguments);
    assert_true((size_t)(head + tail) < sizeof text);
    firn_scene *scene;
    must(firn_scene_parse(text, "physics.yaml", NULL, 0, &scene));
    return scene;
}

firn_sim_options backend_options(void)
{
    return options;
}

void use_options(firn_sim_options chosen)
{
    options = chosen;
}

const char *own_file(const char *name)
{
    static char path[80];
    snprintf(path, sizeof path, "%ld_%s", (long)getpid(), name);
    return path;
}

bool has_solver(void)
{
    cloud c = cloud_make(2, 1);
    firn_scene *scene =
        make_scene((method){2, "cubic", APIC}, "  cell_size: 1\n  integrator: semi_implicit\n");
    firn_particles one = {.count = 1,
                          .position = c.values[FIRN_POSITION],
                          .mass = c.values[FIRN_MASS],
                          .volume = c.values[FIRN_VOLUME]};
    firn_sim *sim = NULL;
    firn_status status = firn_sim_create_from_particles(scene, &options, &one, &sim);
    if (status != FIRN_OK) {
        assert_int_equal(status, FIRN_USAGE);
        assert_non_null(strstr(firn_last_error(), "semi_implicit"));
        print_message("    skipped: %s\n", firn_last_error());
    }
    firn_sim_destroy(&sim);
    firn_scene_destroy(&scene);
    cloud_free(&c);
    return status == FIRN_OK;
}

firn_sim *make_sim(firn_scene *scene)
{
    firn_sim *sim;
    firn_sim_options chosen = backend_options();
    must(firn_sim_create(scene, &chosen, &sim));
    firn_scene_destroy(&scene);
    return sim;
}

static size_t width_of(const cloud *c, firn_attribute attribute)
{
    return (size_t)firn_attribute_components(attribute, c->dimensions);
}

double *cloud_row(const cloud *c, firn_attribute attribute, size_t row)
{
    return c->values[attribute] + row * width_of(c, attribute);
}

cloud cloud_make(int dimensions, size_t count)
{
    static const double fresh[FIRN_STATE_ATTRIBUTES] = {
        [FIRN_MASS] = 1,          [FIRN_VOLUME] = 1,     [FIRN_J_P] = 1,       [FIRN_MU0] = 58333.3,
        [FIRN_LAMBDA0] = 38888.9, [FIRN_HARDENING] = 10, [FIRN_THETA_C] = 0.9, [FIRN_THETA_S] = 0.9,
    };
    cloud c = {.dimensions = dimensions, .count = count};
    for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES; a++) {
        c.values[a] = malloc(count * width_of(&c, a) * sizeof(double));
        assert_non_null(c.values[a]);
        for (size_t k = 0; k < count * width_of(&c, a); k++)
            c.values[a][k] = fresh[a];
    }
    for (size_t r = 0; r < count; r++)
        for (int k = 0; k < dimensions; k++)
            cloud_row(&c, FIRN_F_E, r)[k * (dimensions + 1)] = 1;
    return c;
}

cloud cloud_of(const firn_sim *sim)
{
    cloud c = cloud_make(firn_sim_dimensions(sim), firn_sim_particle_count(sim));
    for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES; a++)
        must(firn_sim_read(sim, a, 0, c.count, c.values[a]));
    return c;
}

void cloud_free(cloud *c)
{
    for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES; a++)
        free(c->values[a]);
    *c = (cloud){0};
}

firn_sim *make_sim_of(firn_scene *scene, const cloud *c)
{
    firn_particles particles = {
        .count = c->count,
        .position = c->values[FIRN_POSITION],
        .velocity = c->values[FIRN_VELOCITY],
        .mass = c->values[FIRN_MASS],
        .volume = c->values[FIRN_VOLUME],
        .F_E = c->values[FIRN_F_E],
        .J_P = c->values[FIRN_J_P],
        .B = c->values[FIRN_B],
        .mu0 = c->values[FIRN_MU0],
        .lambda0 = c->values[FIRN_LAMBDA0],
        .hardening = c->values[FIRN_HARDENING],
        .theta_c = c->values[FIRN_THETA_C],
        .theta_s = c->values[FIRN_THETA_S],
    };
    firn_sim *sim;
    firn_sim_options chosen = backend_options();
    must(firn_sim_create_from_particles(scene, &chosen, &particles, &sim));
    firn_scene_destroy(&scene);
    return sim;
}

cloud sample_scene(const firn_scene *scene)
{
    firn_sim *sim;
    firn_sim_options chosen = backend_options();
    must(firn_sim_create(scene, &chosen, &sim));
    cloud c = cloud_of(sim);
    firn_sim_destroy(&sim);
    return c;
}

void step(firn_sim *sim)
{
    must(firn_sim_step(sim));
}

void steps(firn_sim *sim, int count)
{
    const uint64_t end = firn_sim_steps(sim) + (uint64_t)count;
    while (firn_sim_steps(sim) < end)
        must(firn_sim_advance(sim, end - firn_sim_steps(sim)));
}

void advance_to(firn_sim *sim, double time)
{
    do
        step(sim);
    while (firn_sim_time(sim) < time);
}

firn_stats stats_of(firn_sim *sim)
{
    firn_stats stats;
    must(firn_sim_stats(sim, &stats));
    return stats;
}

double mean_of(const firn_sim *sim, firn_attribute attribute, int component)
{
    const size_t count = firn_sim_particle_count(sim),
                 width = (size_t)firn_attribute_components(attribute, firn_sim_dimensions(sim));
    double *mass = malloc(count * sizeof *mass), *values = malloc(count * width * sizeof *values);
    assert_true(mass && values);
    must(firn_sim_read(sim, FIRN_MASS, 0, count, mass));
    must(firn_sim_read(sim, attribute, 0, count, values));
    double sum = 0, total = 0;
    for (size_t r = 0; r < count; r++) {
        sum += mass[r] * values[r * width + (size_t)component];
        total += mass[r];
    }
    free(mass);
    free(values);
    return sum / total;
}

double total_energy(firn_sim *sim, const double gravity[3])
{
    firn_stats stats = stats_of(sim);
    double energy = stats.kinetic_energy + stats.elastic_energy;
    for (int a = 0; a < firn_sim_dimensions(sim); a++)
        if (gravity[a] != 0)
            energy -= stats.mass * gravity[a] * mean_of(sim, FIRN_POSITION, a);
    return energy;
}

bool same_bits(const firn_sim *a, const firn_sim *b)
{
    cloud x = cloud_of(a), y = cloud_of(b);
    bool same = firn_sim_time(a) == firn_sim_time(b) && x.count == y.count;
    for (firn_attribute k = 0; same && k < FIRN_STATE_ATTRIBUTES; k++) {
        size_t width = (size_t)firn_attribute_components(k, x.dimensions);
        same = memcmp(x.values[k], y.values[k], x.count * width * sizeof(double)) == 0;
    }
    cloud_free(&x);
    cloud_free(&y);
    return same;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

precision precision_of(const firn_sim *sim)
{
    static const precision in_double = {.sum = 1e-12,
                                        .long_sum = 1e-11,
                                        .path = 1e-12,
                                        .energy = 1e-11,
                                        .impact = 1e-10,
                                        .formula = 1e-13};
    static const precision in_float = {.sum = 1e-5,
                                       .long_sum = 1e-3,
                                       .path = 1e-5,
                                       .energy = 2e-3,
                                       .impact = 0.05,
                                       .formula = 1e-5};
    return firn_sim_is_double(sim) ? in_double : in_float;
}

double noise(uint64_t n)
{
    return 2 * random_unit(1, n) - 1;
}

void at_most(double value, double limit, const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    print_message("    %s: %.3g (at most %.3g)\n", what, value, limit);
    if (!(value <= limit))
        fail_msg("%s: %.6g is more than %.3g", what, value, limit);
}

void near_to(double value, double expected, double tolerance, const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    double error = fabs(value / expected - 1);
    print_message("    %s: %.6g, expected %.6g, off by %.3g (at most %.3g)\n", what, value,
                  expected, error, tolerance);
    if (!(error <= tolerance))
        fail_msg("%s: %.9g is not %.9g", what, value, expected);
}
