/*
 * What a run would take, found by really sampling the snow and counting, and what looks like a
 * mistake in a scene that is valid.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "cuda/cuda.h"
#include "firn/io.h"
#include "method/time_step.h"
#include "scene/occupancy.h"
#include "scene/options.h"
#include "sim_flow.h"

/* Objects expected to hold more particles than this are counted by volume instead. */
static const double most_sampled = 2e7;

/* Time of one step for one particle with cubic splines, in 2D and 3D, and what every step takes: the
 * reference on one core, the others on two and on an H200. For telling minutes from days. */
static const struct {
    const char *backend;
    double ns_per_particle_step[2], ns_per_step;
} costs[] = {{"ref", {800, 4000}, 0}, {"cpu", {20, 60}, 1e4}, {"cuda", {0.2, 0.3}, 1e5}};

static const double PROGRAM_BYTES = 45e6; /* with its libraries, before there is any snow */
static const double WRITING_BYTES = 250;  /* a row on its way into a frame: up to so many */
static const double WRITING_ROWS = 32768;

enum { BLOCK_WIDTH = 4 };  /* of backend_ops.memory */
enum { FRAME_COPIES = 2 }; /* that a run keeps at most, to be written */
enum { ID_BYTES = sizeof(uint64_t) + sizeof(uint32_t) }; /* of a particle: its id and object */

/* A particle in such a copy: id, object, place and what the output formats need. */
static double frame_bytes(const firn_settings *s)
{
    unsigned attributes = firn_export_attributes(s->formats, &s->output);
    double bytes = ID_BYTES + sizeof(double[3]);
    for (firn_attribute a = 0; a < FIRN_ATTRIBUTES; a++)
        if (attributes >> a & 1)
            bytes += sizeof(float) * (double)firn_frame_components(a);
    return bytes;
}

/* ---- counting -------------------------------------------------------------------------------- */

typedef struct census {
    const firn_scene *scene;
    firn_estimate *estimate;
    cell_set cells;         /* that hold particles */
    cell_set bases;         /* lowest corners of the particles' stencils */
    double uncounted_cells; /* of objects too large to sample */
} census;

sample_request scene_sampling(const firn_scene *scene, size_t index)
{
    const scene_snow *snow = &scene->snow[index];
    const firn_settings *s = &scene->settings;
    return (sample_request){.shape = snow->shape,
                            .dimensions = s->dimensions,
                            .method = snow->method,
                            .points_per_volume =
                                snow->particles_per_cell / pow(s->cell_size, s->dimensions),
                            .seed = snow->seed};
}

/* Points from a file, copied. */
static firn_status copy_points(const point_set *set, int dimensions, sample_points *points)
{
    size_t bytes = set->table.count * (size_t)dimensions * sizeof *points->position;
    *points = (sample_points){.count = set->table.count, .volume = set->volume};
    points->position = malloc(bytes + 1);
    if (!points->position)
        return fail(FIRN_NO_MEMORY, "not enough memory for %zu points", set->table.count);
    memcpy(points->position, set->state[FIRN_POSITION], bytes);
    return FIRN_OK;
}

firn_status scene_sample(const firn_scene *scene, size_t index, sample_points *points)
{
    const scene_snow *snow = &scene->snow[index];
    if (snow->points.set)
        return copy_points(snow->points.set, scene->settings.dimensions, points);
    sample_request request = scene_sampling(scene, index);
    firn_status status = sample_shape(&request, points);
    if (status == FIRN_OK)
        return FIRN_OK;
    return fail_within(status, "%s: snow '%s': ", snow->mark.where, snow->name);
}

static void warn(firn_estimate *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void warn(firn_estimate *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0)
        abort();
    va_end(args);
    e->warnings = realloc(e->warnings, (e->warning_count + 1) * sizeof *e->warnings);
    if (!e->warnings)
        abort();
    e->warnings[e->warning_count++] = text;
}

static void count_cells(census *c, const sample_points *points)
{
    const firn_settings *s = &c->scene->settings;
    bool cubic = s->kernel == FIRN_CUBIC;
    for (size_t p = 0; p < points->count; p++) {
        const double *x = points->position + p * (size_t)s->dimensions;
        cell_set_add(&c->cells, cell_at(x, s->dimensions, s->cell_size, 0));
        cell_set_add(&c->bases, cell_at(x, s->dimensions, s->cell_size, cubic ? 1 : 0.5));
    }
}

/* ---- warnings -------------------------------------------------------------------------------- */

static void warn_unusual(firn_estimate *e, const option_table *table, const void *values,
                         const char *where, const char *what, const char *name)
{
    for (size_t i = 0; i < table->count; i++) {
        const option *o = &table->options[i];
        if (o->usual[0] == 0 && o->usual[1] == 0)
            continue;
        double value = *(const double *)((const char *)values + o->offset);
        if (value < o->usual[0] || value > o->usual[1])
            warn(e, "%s: %s '%s': %s is %g%s%s, outside the usual %g to %g: %s", where, what, name,
                 o->name, value, o->unit ? " " : "", o->unit ? o->unit : "", o->usual[0],
                 o->usual[1], o->caution);
    }
}

/* How many points are inside a body at the start. */
static size_t count_inside(const collider *body, const sample_points *points, int dimensions)
{
    size_t inside = 0;
    collider_pose pose;
    if (collider_stand(body, 0, &pose) != FIRN_OK)
        return 0;
    for (size_t p = 0; p < points->count; p++) {
        double x[3] = {0};
        memcpy(x, points->position + p * (size_t)dimensions, (size_t)dimensions * sizeof *x);
        inside += collider_distance(body, &pose, x, NULL, NULL) <= 0;
    }
    collider_leave(body, &pose);
    return inside;
}

static void warn_overlaps(const census *c, size_t index, const sample_points *points)
{
    const firn_scene *scene = c->scene;
    const scene_snow *snow = &scene->snow[index];
    int d = scene->settings.dimensions;
    for (size_t k = 0; k < scene->collider_count; k++) {
        const scene_collider *body = &scene->colliders[k];
        size_t inside = count_inside(&body->body, points, d);
        if (inside)
            warn(c->estimate,
                 "%s: snow '%s': %zu of %zu particles start inside collider '%s' (%s); move one of "
                 "them apart",
                 snow->mark.where, snow->name, inside, points->count, body->name, body->mark.where);
    }
    for (size_t k = index + 1; k < scene->snow_count; k++) {
        const scene_snow *other = &scene->snow[k];
        if (!other->shape)
            continue;
        size_t inside = count_inside(&(collider){.shape = other->shape}, points, d);
        if (inside)
            warn(
                c->estimate,
                "%s: snow '%s': %zu of %zu particles lie inside snow '%s' (%s), which makes it too "
                "dense there; subtract one shape from the other",
                snow->mark.where, snow->name, inside, points->count, other->name,
                other->mark.where);
    }
}

/* The deepest particle lies half a thickness below the surface, give or take their spacing. */
static void warn_thin(const census *c, const scene_snow *snow, const sample_points *points)
{
    const firn_settings *s = &c->scene->settings;
    double depth = 0;
    for (size_t p = 0; p < points->count; p++) {
        double x[3] = {0};
        memcpy(x, points->position + p * (size_t)s->dimensions, (size_t)s->dimensions * sizeof *x);
        depth = fmax(depth, -shape_distance(snow->shape, x, NULL));
    }
    double spacing = pow(snow->particles_per_cell, -1.0 / s->dimensions);
    double thickness = 2 * depth / s->cell_size + spacing; /* in cells */
    if (thickness < 2.8)
        warn(c->estimate,
             "%s: snow '%s' is only about %.1f cells thick; below 3 it has no inside: make it "
             "thicker or simulation.cell_size smaller than %g m",
             snow->mark.where, snow->name, thickness, s->cell_size);
}

static double speed(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static void warn_still(const census *c)
{
    const firn_scene *scene = c->scene;
    double moving = speed(scene->settings.gravity);
    for (size_t i = 0; i < scene->snow_count; i++)
        moving += speed(scene->snow[i].velocity) + speed(scene->snow[i].angular_velocity);
    for (size_t i = 0; i < scene->collider_count; i++)
        moving += motion_moves(&scene->colliders[i].body.motion);
    if (moving == 0)
        warn(c->estimate, "%s: nothing will move: simulation.gravity and every velocity are zero",
             scene->simulation_mark.where);
}

static firn_status warn_colliders(const census *c)
{
    collider_set set;
    firn_status status = scene_colliders(c->scene, &set);
    if (status != FIRN_OK)
        return status;
    char **remarks;
    size_t count = collider_remarks(c->scene, &set, c->estimate->stable_dt, &remarks);
    for (size_t k = 0; k < count; k++) {
        warn(c->estimate, "%s", remarks[k]);
        free(remarks[k]);
    }
    free(remarks);
    collider_set_clear(&set);
    return FIRN_OK;
}

/* An emitter as it is at the end of the run. */
static void count_emitter(census *c, const flow_emitter *emitter)
{
    const firn_scene *scene = c->scene;
    const firn_settings *s = &scene->settings;
    const scene_snow *snow = &scene->snow[emitter->object];
    const scene_material *material = &scene->materials[snow->material];
    double count = (double)flow_count(scene, emitter, s->frames / s->fps);
    double volume = count * emitter->stream.volume;
    warn_unusual(c->estimate, &sampling_table, snow, snow->mark.where, "snow", snow->name);
    c->estimate->particles += (size_t)count;
    c->estimate->mass += material->density * volume;
    c->uncounted_cells += volume / pow(s->cell_size, s->dimensions);
}

static firn_status count_emitters(census *c)
{
    flow f;
    firn_status status = flow_create(c->scene, &f);
    for (size_t k = 0; k < f.emitter_count && status == FIRN_OK; k++)
        count_emitter(c, &f.emitters[k]);
    flow_clear(&f);
    return status;
}

/* ---- the estimate ---------------------------------------------------------------------------- */

static double wave_speed(const scene_material *m)
{
    double mu0, lambda0;
    scene_lame(m, &mu0, &lambda0);
    return sqrt((lambda0 + 2 * mu0) / m->density);
}

/* Mass and stiffness, particle by particle where the material varies. */
static void count_material(census *c, const scene_snow *snow, const sample_points *points)
{
    const scene_material *material = &c->scene->materials[snow->material];
    size_t d = (size_t)c->scene->settings.dimensions;
    double density = 0, wave = 0;
    if (material->vary_count == 0) {
        c->estimate->mass += material->density * points->volume;
        return;
    }
    for (size_t p = 0; p < points->count; p++) {
        double x[3] = {0};
        memcpy(x, points->position + p * d, d * sizeof *x);
        scene_place place = scene_place_in(c->scene, snow, x, p);
        scene_material here = scene_material_at(material, &place);
        density += here.density / (double)points->count;
        wave = fmax(wave, wave_speed(&here));
    }
    c->estimate->mass += density * points->volume;
    c->estimate->wave_speed = fmax(c->estimate->wave_speed, wave);
}

/* Mass and stiffness where the file says them. */
static void count_points(census *c, const scene_snow *snow, const sample_points *points)
{
    const scene_material *material = &c->scene->materials[snow->material];
    const point_set *set = snow->points.set;
    const double *mass = set->state[FIRN_MASS], *volume = set->state[FIRN_VOLUME];
    double total = 0, wave = 0, mu0, lambda0;
    scene_lame(material, &mu0, &lambda0);
    for (size_t p = 0; p < points->count; p++) {
        double each = volume ? volume[p] : points->volume / (double)points->count;
        double m = mass ? mass[p] : material->density * each;
        double mu = set->state[FIRN_MU0] ? set->state[FIRN_MU0][p] : mu0;
        double lambda = set->state[FIRN_LAMBDA0] ? set->state[FIRN_LAMBDA0][p] : lambda0;
        wave = fmax(wave, sqrt((lambda + 2 * mu) * each / m));
        total += m;
    }
    if (mass)
        c->estimate->mass += total;
    else
        count_material(c, snow, points);
    c->estimate->wave_speed = fmax(c->estimate->wave_speed, wave);
}

static firn_status count_object(census *c, size_t index)
{
    const firn_scene *scene = c->scene;
    const scene_snow *snow = &scene->snow[index];
    const scene_material *material = &scene->materials[snow->material];
    firn_estimate *e = c->estimate;
    int d = scene->settings.dimensions;
    double cell_volume = pow(scene->settings.cell_size, d);

    warn_unusual(e, &sampling_table, snow, snow->mark.where, "snow", snow->name);
    double volume = snow->shape ? shape_volume(snow->shape, d, 1e-2) : 0;
    if (volume / cell_volume * snow->particles_per_cell > most_sampled) {
        volume = shape_volume(snow->shape, d, 1e-3);
        e->particles += (size_t)fmin(volume / cell_volume * snow->particles_per_cell, 1e18);
        e->mass += material->density * volume;
        e->wave_speed = fmax(e->wave_speed, wave_speed(material));
        c->uncounted_cells += fmin(volume / cell_volume, 1e18);
        return FIRN_OK;
    }
    sample_points points = {0};
    firn_status status = scene_sample(scene, index, &points);
    if (status != FIRN_OK)
        return status;
    e->particles += points.count;
    if (snow->shape)
        count_material(c, snow, &points);
    else
        count_points(c, snow, &points);
    count_cells(c, &points);
    warn_overlaps(c, index, &points);
    if (snow->shape)
        warn_thin(c, snow, &points);
    sample_points_clear(&points);
    return FIRN_OK;
}

static void estimate_materials(const census *c)
{
    const firn_scene *scene = c->scene;
    for (size_t m = 0; m < scene->material_count; m++) {
        const scene_material *material = &scene->materials[m];
        bool used = false;
        for (size_t i = 0; i < scene->snow_count; i++)
            used |= scene->snow[i].material == m;
        if (!used)
            continue;
        if (material->vary_count > 0) /* then its values are what others are scaled from */
            continue;
        warn_unusual(c->estimate, &material_table, material, material->mark.where, "material",
                     material->name);
        c->estimate->wave_speed = fmax(c->estimate->wave_speed, wave_speed(material));
    }
}

/* At most, at the start: that of a corner of its box, where it turns. Points from a file are taken by the object's
 * own velocity. */
static double snow_speed(const firn_scene *scene, const scene_snow *snow)
{
    double low[3], high[3], size2 = 0;
    if (snow->shape && shape_bounds(snow->shape, scene->settings.dimensions, low, high))
        for (int i = 0; i < scene->settings.dimensions; i++)
            size2 += (high[i] - low[i]) * (high[i] - low[i]);
    return speed(snow->velocity) + speed(snow->angular_velocity) * acos(-1) / 180 * sqrt(size2) / 2;
}

static void estimate_time(const census *c, const backend_ops *ops)
{
    const firn_scene *scene = c->scene;
    const firn_settings *s = &scene->settings;
    firn_estimate *e = c->estimate;
    double fastest = 0;
    for (size_t i = 0; i < scene->snow_count; i++)
        fastest = fmax(fastest, snow_speed(scene, &scene->snow[i]));
    double explicit_dt =
        time_step_stable(s->cell_size, e->wave_speed, fastest, scene_cfl(scene), s->travel);
    double implicit_dt = time_step_travel(s->cell_size, fastest, speed(s->gravity), s->travel);
    double long_dt = s->time_step > 0 ? s->time_step : implicit_dt;
    bool implicit =
        s->integrator == FIRN_SEMI_IMPLICIT || (s->integrator == FIRN_CHEAPER && ops->has_solver &&
                                                time_step_implicit_pays(explicit_dt, long_dt));
    e->stable_dt = implicit ? implicit_dt : explicit_dt;
    if (s->time_step > e->stable_dt)
        warn(e, "%s: simulation.time_step is %g s, above the stable %g s; lower it or write auto",
             scene->simulation_mark.where, s->time_step, e->stable_dt);
    double dt = s->time_step > 0 ? s->time_step : e->stable_dt;
    e->steps = s->frames * ceil(1 / (s->fps * dt));
    double ns = 0;
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        if (strcmp(costs[i].backend, ops->name) == 0)
            ns = (double)e->particles * costs[i].ns_per_particle_step[s->dimensions - 2] +
                 costs[i].ns_per_step;
    if (implicit)
        ns *= time_step_implicit_cost(explicit_dt, dt);
    e->seconds = e->steps * ns * 1e-9;
}

/* Objects that were not sampled count like one compact block, so many cells long, and what its stencils reach. */
static double uncounted_side(const census *c)
{
    return pow(c->uncounted_cells, 1.0 / c->scene->settings.dimensions);
}

static int stencil_reach(const firn_settings *s)
{
    return s->kernel == FIRN_CUBIC ? 3 : 2;
}

/* Of nodes that particles touch. */
static double active_blocks(const census *c)
{
    const firn_settings *s = &c->scene->settings;
    double side = uncounted_side(c) + stencil_reach(s);
    return (double)cell_set_blocks(&c->bases, s->dimensions, BLOCK_WIDTH) +
           (c->uncounted_cells > 0 ? pow(side / BLOCK_WIDTH + 1, s->dimensions) : 0);
}

static void estimate_space(census *c, const backend_ops *ops)
{
    const firn_settings *s = &c->scene->settings;
    firn_estimate *e = c->estimate;
    int d = s->dimensions, reach = stencil_reach(s);
    cell_set_grow(&c->bases, d, 0, reach);
    e->occupied_cells = c->cells.count + (size_t)c->uncounted_cells;
    e->active_nodes =
        c->bases.count + (size_t)(c->uncounted_cells > 0 ? pow(uncounted_side(c) + reach, d) : 0);
    e->particles_per_cell = (double)e->particles / (double)e->occupied_cells;
    e->frame_bytes = FRAME_COPIES * (double)e->particles * frame_bytes(s);
    e->memory_bytes =
        PROGRAM_BYTES + e->frame_bytes + (double)e->particles * ID_BYTES +
        WRITING_BYTES * fmin((double)e->particles, WRITING_ROWS) +
        (ops == &cuda_backend ? backend_gpu_bytes(c->scene, e->particles, active_blocks(c))
                              : ops->memory(s, e->particles, (size_t)active_blocks(c)));
}

/* Whether the GPU has room, and for how many particles it has. */
static void warn_gpu(const census *c, const backend_ops *ops)
{
    firn_estimate *e = c->estimate;
    if (ops != &cuda_backend || e->particles == 0)
        return;
    const double count = (double)e->particles, room = cuda_free_memory();
    const double blocks = active_blocks(c);
    const double needed = backend_gpu_bytes(c->scene, e->particles, blocks);
    if (needed <= room)
        return;
    double fits = 0, too_many = count;
    while (too_many - fits > 1e-3 * count) {
        const double some = 0.5 * (fits + too_many),
                     bytes = backend_gpu_bytes(c->scene, (size_t)some, blocks * some / count);
        *(bytes <= room ? &fits : &too_many) = some;
    }
    warn(e,
         "the GPU has %.3g GB free, of the %.3g GB needed: at most about %.0f particles fit "
         "(simulation.resolution scales their number)",
         1e-9 * room, 1e-9 * needed, fits);
}

firn_status firn_scene_estimate(const firn_scene *scene, const firn_sim_options *options,
                                firn_estimate *estimate)
{
    *estimate = (firn_estimate){0};
    const char *name = options ? options->backend : NULL;
    const backend_ops *ops = backend_find(name, scene, 0);
    if (!ops)
        return FIRN_USAGE;
    if (scene->snow_count == 0)
        return fail(FIRN_BAD_SCENE, "%s: no snow: add an entry under `snow:`", scene->path);
    census c = {.scene = scene, .estimate = estimate};
    firn_status status = FIRN_OK;
    for (size_t i = 0; i < scene->snow_count && status == FIRN_OK; i++)
        if (!scene->snow[i].emits)
            status = count_object(&c, i);
    if (status == FIRN_OK)
        status = count_emitters(&c);
    if (status == FIRN_OK) {
        ops = backend_find(name, scene, estimate->particles); /* now that they are counted */
        estimate_materials(&c);
        warn_still(&c);
        estimate_time(&c, ops);
        estimate_space(&c, ops);
        warn_gpu(&c, ops);
        status = warn_colliders(&c);
    }
    if (status != FIRN_OK)
        firn_estimate_clear(estimate);
    cell_set_clear(&c.cells);
    cell_set_clear(&c.bases);
    return status;
}

void firn_estimate_clear(firn_estimate *estimate)
{
    for (size_t i = 0; i < estimate->warning_count; i++)
        free(estimate->warnings[i]);
    free(estimate->warnings);
    *estimate = (firn_estimate){0};
}
