#include "render/trace.h"

#include <stdatomic.h>

#include "render/phase.h"
#include "render/surface_scatter.h"
#include "render/volume_track.h"
#include "status.h"

/* The medium with its defaults filled in, and its reduced form for `similarity`. */
typedef struct snow_light {
    float extinction; /* per unit of density, m^2/kg */
    float g;
    vec3 albedo;
} snow_light;

/* What all paths share. */
typedef struct tracer {
    const trace_scene *scene;
    snow_light whole, reduced;
    int bounces, similarity;
    vec3 snow_colour; /* reflectance of deep snow, for the film's albedo */
    bool has_snow, has_surfaces;
    float (*flight)(const volume *v, const volume_ray *ray, float extinction, volume_spot *spot,
                    trace_random *random);
    float (*transmittance)(const volume *v, const volume_ray *ray, float extinction,
                           volume_spot spot, trace_random *random);
} tracer;

/* One path under way. */
typedef struct path {
    const tracer *tracer;
    trace_random random;
    vec3 start, direction;
    volume_spot spot; /* of the start, when that is in snow */
    float pdf;        /* of the direction, per shadow ray sent; INFINITY when there was no choice */
    vec3 throughput;  /* what of the light found from here reaches the camera */
    vec3 light;       /* found so far */
    int scatterings;  /* in snow */
    float asked;      /* share of the vertices in snow from which light is asked for */
    int dark;         /* of those asked, how many in a row got none */
    vec3 free_at;     /* around this point ... */
    float free;       /* ... so far there is no surface */
} path;

/* What a path met first. */
typedef struct first_sight {
    vec3 albedo, normal;
    float depth;
    bool met;
} first_sight;

/* ---- The medium --------------------------------------------------------------------------------- */

/* Reflectance of infinitely deep snow in even light (van de Hulst, after similarity). */
static float deep_reflectance(float albedo, float g)
{
    float s = sqrtf(greater(1 - albedo, 0) / greater(1 - albedo * g, 1e-6f));
    return (1 - s) * (1 - 0.139f * s) / (1 + 1.17f * s);
}

static float similar_albedo(float albedo, float g)
{
    return greater((albedo - g) / (1 - g), 0);
}

static firn_status make_tracer(const trace_scene *scene, tracer *t)
{
    const trace_medium *m = &scene->medium;
    snow_light snow = {.extinction = (m->extinction > 0 ? m->extinction : 724) /
                                     (m->reference > 0 ? m->reference : 400),
                       .g = m->custom ? m->mean_cosine : 0.5f,
                       .albedo = m->custom ? m->albedo : (vec3){0.9f, 0.95f, 1}};
    if (!(fabsf(snow.g) <= 0.99f))
        return fail(FIRN_USAGE, "a mean cosine of %g; it must be -0.99 to 0.99", (double)snow.g);
    if (!(snow.extinction > 0 && isfinite(snow.extinction)))
        return fail(FIRN_USAGE, "an extinction of %g per metre at %g kg/m^3; both must be positive",
                    (double)m->extinction, (double)m->reference);
    bool shares = snow.albedo.x >= 0 && snow.albedo.y >= 0 && snow.albedo.z >= 0 &&
                  snow.albedo.x <= 1 && snow.albedo.y <= 1 && snow.albedo.z <= 1;
    if (!shares)
        return fail(FIRN_USAGE, "an albedo of (%g, %g, %g); each must be 0 to 1",
                    (double)snow.albedo.x, (double)snow.albedo.y, (double)snow.albedo.z);
    *t = (tracer){.scene = scene, .whole = snow, .bounces = scene->options.bounces};
    t->bounces = t->bounces > 0 ? t->bounces : 1000000;
    t->similarity = scene->options.similarity;
    t->reduced = (snow_light){.extinction = snow.extinction * (1 - snow.g),
                              .albedo = {similar_albedo(snow.albedo.x, snow.g),
                                         similar_albedo(snow.albedo.y, snow.g),
                                         similar_albedo(snow.albedo.z, snow.g)}};
    t->snow_colour =
        (vec3){deep_reflectance(snow.albedo.x, snow.g), deep_reflectance(snow.albedo.y, snow.g),
               deep_reflectance(snow.albedo.z, snow.g)};
    t->has_snow = scene->snow && !volume_describe(scene->snow).empty;
    t->has_surfaces = scene->surfaces;
    t->flight = m->by_trial ? volume_try_flight : volume_flight;
    t->transmittance = m->by_trial ? volume_try_transmittance : volume_transmittance;
    return FIRN_OK;
}

static const snow_light *path_snow(const path *p)
{
    bool similar = p->tracer->similarity > 0 && p->scatterings >= p->tracer->similarity;
    return similar ? &p->tracer->reduced : &p->tracer->whole;
}

/* ---- Light at a vertex -------------------------------------------------------------------------- */

/* Whether a lamp stands between x and a sample. */
static bool is_shaded(const light_set *lights, vec3 x, const light_sample *s)
{
    vec3 unused;
    float limit = s->distance * (1 - 1e-4f);
    return light_meet(lights, x, s->direction, limit, 0, &unused) < INFINITY;
}

/* What arrives of a sample's light. In snow the snow stops most of it and is asked first. */
static vec3 arriving(path *p, vec3 x, const light_sample *s, bool in_snow)
{
    const trace_scene *scene = p->tracer->scene;
    const volume_ray ray = {x, s->direction, s->distance};
    float extinction = path_snow(p)->extinction, passed = 1;
    vec3 through = {1, 1, 1};
    if (in_snow)
        passed = p->tracer->transmittance(scene->snow, &ray, extinction, p->spot, &p->random);
    if (passed > 0 && p->tracer->has_surfaces)
        through = surface_passes(scene->surfaces, x, s->direction, s->distance);
    if (!(passed > 0) || !(through.x + through.y + through.z > 0) || is_shaded(scene->lights, x, s))
        return (vec3){0, 0, 0};
    if (!in_snow && p->tracer->has_snow)
        passed =
            p->tracer->transmittance(scene->snow, &ray, extinction, (volume_spot){0}, &p->random);
    return vec_scale(vec_mul(light_sampled(scene->lights, s), through), passed);
}

static void gather(path *p, vec3 light)
{
    p->light = vec_add(p->light, vec_mul(p->throughput, light));
}

/* The two ways to the same light share it in proportion to their pdfs (balance heuristic), which turns
 * value / pdf_light * weight into value / (pdf_light + pdf_own). Deep in the snow shadow rays are in vain:
 * the longer a path has found none to get through, the fewer it sends, each standing for more. */
static void light_snow(path *p, vec3 x, const snow_light *snow)
{
    light_sample s;
    float asked = p->asked;
    if (random_float(&p->random) >= asked ||
        !light_choose(p->tracer->scene->lights, x, &p->random, &s))
        return;
    float value = phase_value(snow->g, vec_dot(p->direction, s.direction));
    vec3 light = arriving(p, x, &s, true);
    p->dark = light.x + light.y + light.z > 0 ? 0 : p->dark + 1;
    gather(p, vec_scale(light, value / (asked * s.pdf + value)));
}

static void light_surface(path *p, const surface_hit *hit)
{
    light_sample s;
    float pdf;
    vec3 x = vec_add(p->start, vec_scale(p->direction, hit->t));
    if (!light_choose(p->tracer->scene->lights, x, &p->random, &s))
        return;
    vec3 value = surface_value(hit, p->direction, s.direction, &pdf);
    if (!(pdf > 0))
        return;
    vec3 off = surface_leave(hit, p->start, p->direction, s.direction);
    vec3 light = vec_mul(arriving(p, off, &s, false), value);
    gather(p, vec_scale(light, 1 / (s.pdf + pdf)));
}

/* ---- The way of a path -------------------------------------------------------------------------- */

/* Whether the next stretch surely meets no surface. Inside snow stretches are short and surfaces far:
 * one distance serves many of them. */
static bool is_free(path *p, float t)
{
    if (!(t < INFINITY))
        return false;
    vec3 way = vec_sub(vec_add(p->start, vec_scale(p->direction, t)), p->free_at);
    if (vec_dot(way, way) < p->free * p->free)
        return true;
    p->free_at = p->start;
    p->free = 0.999f * surface_clearance(p->tracer->scene->surfaces, p->start);
    return t < p->free;
}

typedef enum meeting { MET_NOTHING, MET_SNOW, MET_SURFACE, MET_LAMP } meeting;

/* What is first on the way, and how far. */
static meeting find_first(path *p, float *t, surface_hit *hit, vec3 *lamp)
{
    const tracer *tr = p->tracer;
    const trace_scene *scene = tr->scene;
    bool in_snow = p->spot.block;
    float limit = light_meet(scene->lights, p->start, p->direction, INFINITY, p->pdf, lamp);
    meeting met = limit < INFINITY ? MET_LAMP : MET_NOTHING;
    *t = limit;
    if (!in_snow && tr->has_surfaces &&
        surface_meet(scene->surfaces, p->start, p->direction, limit, hit))
        met = MET_SURFACE, *t = hit->t;
    if (tr->has_snow) {
        const volume_ray ray = {p->start, p->direction, *t};
        float flight =
            tr->flight(scene->snow, &ray, path_snow(p)->extinction, &p->spot, &p->random);
        if (flight < INFINITY)
            met = MET_SNOW, *t = flight;
    }
    if (in_snow && tr->has_surfaces && !is_free(p, *t) &&
        surface_meet(scene->surfaces, p->start, p->direction, *t, hit))
        met = MET_SURFACE, *t = hit->t;
    return met;
}

static void scatter_in_snow(path *p, float t)
{
    const snow_light *snow = path_snow(p);
    vec3 x = vec_add(p->start, vec_scale(p->direction, t));
    p->throughput = vec_mul(p->throughput, snow->albedo);
    p->scatterings++;
    p->asked = greater(1 / (1 + 0.1f * (float)p->dark), 0.1f);
    light_snow(p, x, snow);
    float u[2];
    random_pair(&p->random, u);
    float cosine = phase_cosine(snow->g, u[0]);
    p->start = x;
    p->direction = frame_direction(p->direction, cosine, u[1]);
    p->pdf = phase_value(snow->g, cosine) / p->asked;
}

static bool scatter_on_surface(path *p, const surface_hit *hit)
{
    surface_way way;
    p->spot = (volume_spot){0};
    light_surface(p, hit);
    if (!surface_scatter(hit, p->direction, &p->random, &way))
        return false;
    p->throughput = vec_mul(p->throughput, way.weight);
    p->start = surface_leave(hit, p->start, p->direction, way.direction);
    p->direction = way.direction;
    /* Behind glass, what scattered before has had its light by straight shadow rays. */
    bool clear = way.pdf == INFINITY;
    p->pdf = clear && p->pdf < INFINITY ? 0 : way.pdf;
    return true;
}

/* How likely a path should go on: surely while its light matters to the eye; then by what is left, of
 * which blue, that snow hardly absorbs, counts half. In deep snow, where the number of scatterings has a
 * tail like n^(-1/2), a second such tail makes long paths rare and keeps their weight below a few. */
static float survival(const path *p)
{
    enum { LONG = 512, STRIDE = 64 };
    vec3 w = p->throughput;
    float most = greater(w.x, greater(w.y, w.z)), n = (float)p->scatterings;
    float chance = lesser(greater(4 * vec_luminance(w), 0.5f * most), 1);
    if (p->scatterings > LONG && p->scatterings % STRIDE == 0)
        chance *= sqrtf(1 - STRIDE / n);
    return chance;
}

/* Russian roulette: paths that go on carry the weight of those that end. */
static bool survives(path *p)
{
    float chance = survival(p);
    if (chance < 1 && random_float(&p->random) >= chance)
        return false;
    p->throughput = vec_scale(p->throughput, 1 / chance);
    return true;
}

static void look(const path *p, meeting met, float t, const surface_hit *hit, first_sight *sight)
{
    const tracer *tr = p->tracer;
    sight->met = met != MET_NOTHING;
    sight->albedo = (vec3){1, 1, 1};
    if (!sight->met)
        return;
    sight->depth = t;
    vec3 outward = vec_scale(p->direction, -1);
    if (met == MET_SURFACE) {
        sight->albedo = hit->colour;
        outward = hit->normal;
    } else if (met == MET_SNOW) {
        sight->albedo = tr->snow_colour;
        outward = volume_outward(tr->scene->snow, vec_add(p->start, vec_scale(p->direction, t)));
    }
    float length = vec_length(outward);
    sight->normal = length > 0 ? vec_scale(outward, 1 / length) : vec_scale(p->direction, -1);
}

static vec3 follow(path *p, first_sight *sight)
{
    for (int bounce = 0; bounce < p->tracer->bounces; bounce++) {
        float t;
        surface_hit hit;
        vec3 lamp = {0, 0, 0};
        meeting met = find_first(p, &t, &hit, &lamp);
        if (bounce == 0 && sight)
            look(p, met, t, &hit, sight);
        if (met == MET_NOTHING)
            gather(p, light_beyond(p->tracer->scene->lights, p->start, p->direction, p->pdf));
        if (met == MET_LAMP)
            gather(p, lamp);
        if (met == MET_NOTHING || met == MET_LAMP)
            break;
        if (met == MET_SNOW)
            scatter_in_snow(p, t);
        else if (!scatter_on_surface(p, &hit))
            break;
        if (!survives(p))
            break;
    }
    return p->light;
}

/* ---- Pixels ------------------------------------------------------------------------------------- */

static path path_begin(const tracer *t, trace_ray ray, uint64_t pixel, uint32_t sample)
{
    return (path){.tracer = t,
                  .random = random_start(t->scene->options.seed, pixel, sample),
                  .start = ray.start,
                  .direction = ray.direction,
                  .pdf = INFINITY,
                  .throughput = {1, 1, 1}};
}

vec3 trace_radiance(const trace_scene *scene, trace_ray ray, uint64_t pixel, uint32_t sample)
{
    tracer t;
    if (make_tracer(scene, &t) != FIRN_OK)
        return (vec3){0, 0, 0};
    path p = path_begin(&t, ray, pixel, sample);
    return follow(&p, NULL);
}

static bool is_finite(vec3 x)
{
    return isfinite(x.x) && isfinite(x.y) && isfinite(x.z);
}

/* Rays that the grids can follow: numbers, of unit direction, from within single precision's grip. */
static bool is_sane(trace_ray ray)
{
    const float farthest = 1e9f;
    float length2 = vec_dot(ray.direction, ray.direction);
    return is_finite(ray.start) && vec_dot(ray.start, ray.start) < farthest * farthest &&
           fabsf(length2 - 1) < 1e-3f;
}

/* The n-th of a sequence that fills the four-dimensional cube evenly (Roberts' generalised golden ratio),
 * turned by another amount in every pixel. */
static void spread(uint64_t seed, uint64_t pixel, uint32_t sample, float u[4])
{
    static const uint32_t step[4] = {0xdb4f9bc4u, 0xbbdb6aa1u, 0xa0e98cd7u, 0x89d6ea62u};
    trace_random turn = random_start(~seed, pixel, 0);
    for (int i = 0; i < 4; i++) {
        uint32_t offset = (uint32_t)(random_next(&turn) >> 32);
        u[i] = random_from_bits(offset + (sample + 1) * step[i]);
    }
}

static void add_sample(trace_pixel *pixel, vec3 light, const first_sight *sight)
{
    const float most = 1e12f; /* of light and depth: sums of squares must stay finite too */
    pixel->count++;
    float luminance = vec_luminance(light);
    bool whole = is_finite(light) && is_finite(sight->normal) && luminance < most &&
                 light.x < most && light.z < most && sight->depth < most;
    if (!whole)
        return;
    pixel->light = vec_add(pixel->light, light);
    pixel->albedo = vec_add(pixel->albedo, sight->albedo);
    pixel->normal = vec_add(pixel->normal, sight->normal);
    pixel->depth += sight->met ? sight->depth : 0;
    pixel->cover += sight->met;
    pixel->squares += luminance * luminance;
}

typedef struct picture {
    const tracer *tracer;
    trace_camera_fn *camera;
    const void *camera_data;
    trace_film *film;
    uint32_t first, end;
} picture;

static void render_pixel(const picture *pic, int x, int y)
{
    uint64_t index = (uint64_t)y * (uint64_t)pic->film->width + (uint64_t)x;
    uint64_t seed = pic->tracer->scene->options.seed;
    trace_pixel *pixel = &pic->film->pixels[index];
    uint32_t from = pixel->count > pic->first ? pixel->count : pic->first;
    for (uint32_t n = from; n < pic->end; n++) {
        float u[4];
        first_sight sight = {.met = false};
        spread(seed, index, n, u);
        trace_ray ray = pic->camera(pic->camera_data, x, y, u);
        path p = path_begin(pic->tracer, ray, index, n);
        vec3 light = is_sane(ray) ? follow(&p, &sight) : (vec3){0, 0, 0};
        add_sample(pixel, light, &sight);
    }
}

firn_status trace_render(const trace_scene *scene, trace_camera_fn *camera, const void *camera_data,
                         trace_tile tile, uint32_t first, uint32_t count, trace_film *film,
                         trace_stop_fn *stop, void *user)
{
    /* A thread does so many pixels each way before it looks up: the snow near one is near the others. */
    enum { PATCH = 16 };
    tracer t;
    firn_status status = make_tracer(scene, &t);
    if (status != FIRN_OK)
        return status;
    const picture pic = {&t, camera, camera_data, film, first, first + count};
    int across = (tile.x1 - tile.x0 + PATCH - 1) / PATCH;
    int down = (tile.y1 - tile.y0 + PATCH - 1) / PATCH;
    atomic_bool stopped = false;
#pragma omp parallel for schedule(dynamic, 1)
    for (int n = 0; n < across * down; n++) {
        if (!atomic_load(&stopped) && stop && stop(user))
            atomic_store(&stopped, true);
        if (atomic_load(&stopped))
            continue;
        int x0 = tile.x0 + n % across * PATCH, y0 = tile.y0 + n / across * PATCH;
        int x1 = x0 + PATCH < tile.x1 ? x0 + PATCH : tile.x1;
        int y1 = y0 + PATCH < tile.y1 ? y0 + PATCH : tile.y1;
        for (int y = y0; y < y1; y++)
            for (int x = x0; x < x1; x++)
                render_pixel(&pic, x, y);
    }
    return stopped ? fail(FIRN_STOPPED, "stopped while rendering") : FIRN_OK;
}
