#include "render/light_set.h"

#include <stdlib.h>

#include "render/light_sky.h"
#include "render/light_table.h"
#include "render/phase.h"
#include "status.h"

enum { SKY_WIDTH = 512, SKY_HEIGHT = 256, MOST_LIGHTS = 64 };

/* A source made ready. */
typedef struct lamp {
    light_source source;
    vec3 radiance;     /* of the sun's disc; otherwise the colour */
    float cap;         /* of the sun: 1 - cos(half angle) */
    float effort;      /* worth of a shadow ray: the light it can bring to a point one metre away */
    light_table table; /* of sky and environment */
} lamp;

struct light_set {
    size_t count;
    bool has_near; /* any that stands in the scene */
    lamp lamps[MOST_LIGHTS];
};

static bool is_beyond(const lamp *l)
{
    return l->source.kind < LIGHT_SPHERE;
}

/* ---- Making ------------------------------------------------------------------------------------- */

static bool is_colour(vec3 c)
{
    return c.x >= 0 && c.y >= 0 && c.z >= 0 && isfinite(c.x) && isfinite(c.y) && isfinite(c.z);
}

static bool is_unit(vec3 d)
{
    return fabsf(vec_dot(d, d) - 1) < 1e-3f;
}

static firn_status check_map(const light_source *s, size_t index)
{
    if (!s->pixels || s->width < 1 || s->height < 1 || s->width > 32768 || s->height > 32768)
        return fail(FIRN_USAGE, "light %zu: an environment needs a map", index);
    for (size_t i = 0; i < (size_t)s->width * (size_t)s->height; i++) {
        vec3 c = {s->pixels[3 * i], s->pixels[3 * i + 1], s->pixels[3 * i + 2]};
        if (!is_colour(c))
            return fail(FIRN_BAD_SCENE,
                        "light %zu: pixel (%zu, %zu) of the environment is negative or not finite",
                        index, i % (size_t)s->width, i / (size_t)s->width);
    }
    return FIRN_OK;
}

static firn_status check_source(const light_source *s, size_t index)
{
    bool directed = s->kind == LIGHT_SUN || s->kind == LIGHT_SKY || s->kind == LIGHT_ENVIRONMENT;
    if (!is_colour(s->colour))
        return fail(FIRN_USAGE, "light %zu: its colour is negative or not finite", index);
    if (directed && !is_unit(s->direction))
        return fail(FIRN_USAGE, "light %zu: its direction is not of unit length", index);
    if (s->kind == LIGHT_SUN && !(s->angle > 0 && s->angle <= PI_F))
        return fail(FIRN_USAGE, "light %zu: a sun %g radians wide", index, (double)s->angle);
    if (s->kind == LIGHT_SKY && !(s->turbidity >= 1.7f && s->turbidity <= 10))
        return fail(FIRN_USAGE, "light %zu: a turbidity of %g; it must be 1.7 to 10", index,
                    (double)s->turbidity);
    if (s->kind == LIGHT_SPHERE && !(s->radius > 0 && isfinite(s->radius)))
        return fail(FIRN_USAGE, "light %zu: a sphere of radius %g", index, (double)s->radius);
    if (s->kind == LIGHT_RECTANGLE && !(vec_length(vec_cross(s->edge[0], s->edge[1])) > 0))
        return fail(FIRN_USAGE, "light %zu: a rectangle without area", index);
    return s->kind == LIGHT_ENVIRONMENT ? check_map(s, index) : FIRN_OK;
}

static firn_status bake_sky(lamp *l, vec3 up)
{
    sky_model sky = sky_create(l->source.direction, up, l->source.turbidity);
    light_table *t = &l->table;
    firn_status status = light_table_create(t, SKY_WIDTH, SKY_HEIGHT, l->source.direction, up);
    if (status != FIRN_OK)
        return status;
#pragma omp parallel for
    for (int y = 0; y < SKY_HEIGHT; y++)
        for (int x = 0; x < SKY_WIDTH; x++) {
            vec3 d = light_table_direction(t, ((float)x + 0.5f) / SKY_WIDTH,
                                           ((float)y + 0.5f) / SKY_HEIGHT);
            t->pixels[y * SKY_WIDTH + x] = vec_mul(sky_radiance(&sky, d), l->source.colour);
        }
    return light_table_finish(t);
}

static firn_status bake_environment(lamp *l, vec3 up)
{
    const light_source *s = &l->source;
    firn_status status = light_table_create(&l->table, s->width, s->height, s->direction, up);
    if (status != FIRN_OK)
        return status;
    for (size_t i = 0; i < (size_t)s->width * (size_t)s->height; i++) {
        vec3 c = {s->pixels[3 * i], s->pixels[3 * i + 1], s->pixels[3 * i + 2]};
        l->table.pixels[i] = vec_mul(c, s->colour);
    }
    return light_table_finish(&l->table);
}

static firn_status make_lamp(lamp *l)
{
    light_source *s = &l->source;
    vec3 up = vec_length(s->up) > 0 ? vec_unit(s->up) : (vec3){0, 1, 0};
    firn_status status = FIRN_OK;
    l->radiance = s->colour;
    float brightness = vec_luminance(s->colour);
    switch (s->kind) {
    case LIGHT_SUN: {
        float half = s->angle / 2, sine = sinf(half), quarter = sinf(half / 2);
        l->cap = 2 * quarter * quarter;
        l->radiance = vec_scale(s->colour, 1 / (PI_F * sine * sine));
        l->effort = brightness;
        break;
    }
    case LIGHT_SKY:
    case LIGHT_ENVIRONMENT:
        if (brightness > 0)
            status = s->kind == LIGHT_SKY ? bake_sky(l, up) : bake_environment(l, up);
        l->effort = PI_F * vec_luminance(l->table.mean) * (1 - l->table.spread);
        break;
    case LIGHT_CONSTANT:
        break; /* any path finds it by itself */
    case LIGHT_SPHERE:
        l->effort = PI_F * s->radius * s->radius * brightness;
        break;
    case LIGHT_RECTANGLE:
        l->effort = vec_length(vec_cross(s->edge[0], s->edge[1])) * brightness;
        break;
    }
    s->pixels = NULL;
    return status;
}

firn_status light_set_create(const light_source *sources, size_t count, light_set **out)
{
    *out = NULL;
    if (count > MOST_LIGHTS)
        return fail(FIRN_USAGE, "%zu lights; at most %d", count, MOST_LIGHTS);
    light_set *set = calloc(1, sizeof *set);
    if (!set)
        return fail(FIRN_NO_MEMORY, "no memory for lights");
    firn_status status = FIRN_OK;
    for (size_t i = 0; i < count && status == FIRN_OK; i++) {
        set->lamps[set->count].source = sources[i];
        status = check_source(&sources[i], i);
        if (status == FIRN_OK)
            status = make_lamp(&set->lamps[set->count++]);
        set->has_near |= sources[i].kind >= LIGHT_SPHERE;
    }
    if (status != FIRN_OK)
        light_set_destroy(&set);
    *out = set;
    return status;
}

void light_set_destroy(light_set **set)
{
    if (!*set)
        return;
    for (size_t i = 0; i < (*set)->count; i++)
        light_table_clear(&(*set)->lamps[i].table);
    free(*set);
    *set = NULL;
}

void light_daylight(vec3 toward, vec3 up, float turbidity, light_source out[2])
{
    out[0] = (light_source){.kind = LIGHT_SUN,
                            .colour = sky_sunlight(toward, up, turbidity),
                            .direction = toward,
                            .angle = 0.00925f};
    out[1] = (light_source){.kind = LIGHT_SKY,
                            .colour = {1, 1, 1},
                            .direction = toward,
                            .up = up,
                            .turbidity = turbidity};
}

/* ---- One lamp ----------------------------------------------------------------------------------- */

/* How much a lamp matters at x, roughly: what the choice among lamps goes by. */
static float lamp_weight(const lamp *l, vec3 x)
{
    if (is_beyond(l))
        return l->effort;
    vec3 to = vec_sub(l->source.position, x);
    float size = l->source.kind == LIGHT_SPHERE ? l->source.radius * l->source.radius
                                                : vec_dot(l->source.edge[0], l->source.edge[0]) +
                                                      vec_dot(l->source.edge[1], l->source.edge[1]);
    return l->effort / greater(vec_dot(to, to), 0.25f * size);
}

static bool sun_holds(const lamp *l, vec3 direction)
{
    vec3 off = vec_sub(direction, l->source.direction);
    return vec_dot(off, off) <= 2 * l->cap; /* |d - s|^2 = 2 (1 - cos) */
}

/* 1 - cos of the half angle under which a sphere is seen; 2 from inside: all directions. */
static float sphere_cap(const lamp *l, vec3 x)
{
    vec3 to = vec_sub(l->source.position, x);
    float far2 = vec_dot(to, to), r2 = l->source.radius * l->source.radius;
    if (far2 <= r2)
        return 2;
    float sine2 = r2 / far2;
    return sine2 / (1 + sqrtf(1 - sine2));
}

static float sphere_distance(const lamp *l, vec3 x, vec3 direction)
{
    vec3 to = vec_sub(l->source.position, x);
    float along = vec_dot(to, direction), r2 = l->source.radius * l->source.radius;
    vec3 side = vec_sub(to, vec_scale(direction, along));
    float room = r2 - vec_dot(side, side);
    if (room < 0)
        return INFINITY;
    float half = sqrtf(room), t = along - half > 0 ? along - half : along + half;
    return t > 0 ? t : INFINITY;
}

static vec3 rectangle_normal(const lamp *l)
{
    return vec_unit(vec_cross(l->source.edge[0], l->source.edge[1]));
}

static float rectangle_distance(const lamp *l, vec3 x, vec3 direction)
{
    vec3 n = rectangle_normal(l), to = vec_sub(l->source.position, x);
    float fall = vec_dot(direction, n), t = vec_dot(to, n) / fall;
    if (!(fall < 0) || !(t > 0))
        return INFINITY;
    vec3 at = vec_sub(vec_scale(direction, t), to);
    for (int i = 0; i < 2; i++) {
        vec3 e = l->source.edge[i];
        if (fabsf(vec_dot(at, e)) > 0.5f * vec_dot(e, e))
            return INFINITY;
    }
    return t;
}

static float rectangle_pdf(const lamp *l, vec3 direction, float distance)
{
    vec3 n = vec_cross(l->source.edge[0], l->source.edge[1]); /* its length is the area */
    float fall = -vec_dot(direction, n);
    return fall > 0 ? distance * distance / fall : 0;
}

/* Per steradian, of a direction in which the lamp is seen at that distance. */
static float lamp_pdf(const lamp *l, vec3 x, vec3 direction, float distance)
{
    switch (l->source.kind) {
    case LIGHT_SUN:
        return 1 / (2 * PI_F * l->cap);
    case LIGHT_SKY:
    case LIGHT_ENVIRONMENT:
        return light_table_pdf(&l->table, direction);
    case LIGHT_CONSTANT:
        return 1 / (4 * PI_F);
    case LIGHT_SPHERE:
        return 1 / (2 * PI_F * sphere_cap(l, x));
    case LIGHT_RECTANGLE:
        return rectangle_pdf(l, direction, distance);
    }
    return 0;
}

/* Direction within a cone around `axis`; exact for cones as narrow as the sun's. */
static vec3 cone_direction(vec3 axis, float cap, const float u[2])
{
    vec3 a, b;
    float h = cap * u[0], sine = sqrtf(h * (2 - h)), x, y;
    frame_around(axis, &a, &b);
    circle_point(u[1], &x, &y);
    return vec_combine(a, sine * x, b, sine * y, axis, 1 - h);
}

static void lamp_sample(const lamp *l, vec3 x, const float u[2], light_sample *out)
{
    const light_source *s = &l->source;
    out->distance = INFINITY;
    switch (s->kind) {
    case LIGHT_SUN:
        out->direction = cone_direction(s->direction, l->cap, u);
        break;
    case LIGHT_SKY:
    case LIGHT_ENVIRONMENT:
        out->direction = light_table_choose(&l->table, u, &out->pdf);
        return;
    case LIGHT_CONSTANT:
        out->direction = frame_direction((vec3){0, 0, 1}, 1 - 2 * u[0], u[1]);
        break;
    case LIGHT_SPHERE:
        out->direction = cone_direction(vec_unit(vec_sub(s->position, x)), sphere_cap(l, x), u);
        out->distance = sphere_distance(l, x, out->direction);
        break;
    case LIGHT_RECTANGLE: {
        vec3 at = vec_combine(s->position, 1, s->edge[0], u[0] - 0.5f, s->edge[1], u[1] - 0.5f);
        vec3 to = vec_sub(at, x);
        out->distance = vec_length(to);
        out->direction = vec_scale(to, 1 / out->distance);
        break;
    }
    }
    out->pdf = lamp_pdf(l, x, out->direction, out->distance);
}

/* ---- All of them -------------------------------------------------------------------------------- */

static float total_weight(const light_set *set, vec3 x)
{
    float total = 0;
    for (size_t i = 0; i < set->count; i++)
        total += lamp_weight(&set->lamps[i], x);
    return total;
}

bool light_choose(const light_set *set, vec3 x, trace_random *random, light_sample *out)
{
    float total = total_weight(set, x), u[2];
    float left = random_float(random) * total;
    size_t chosen = 0;
    if (!(total > 0))
        return false;
    while (chosen + 1 < set->count && left >= lamp_weight(&set->lamps[chosen], x))
        left -= lamp_weight(&set->lamps[chosen++], x);
    const lamp *l = &set->lamps[chosen];
    float weight = lamp_weight(l, x);
    if (!(weight > 0))
        return false;
    random_pair(random, u);
    lamp_sample(l, x, u, out);
    out->pdf *= weight / total;
    out->source = chosen;
    bool within = is_beyond(l) || out->distance < INFINITY;
    return within && out->pdf > 0 && out->pdf < INFINITY;
}

/* How likely the choice falls on this lamp. */
static float lamp_share(const lamp *l, vec3 x, float total)
{
    return total > 0 ? lamp_weight(l, x) / total : 0;
}

/* The share that is left to a direction of this pdf by a choice of the other. */
static float balance(float pdf, float other)
{
    return pdf == INFINITY ? 1 : pdf > 0 ? pdf / (pdf + other) : 0;
}

static vec3 lamp_beyond(const lamp *l, vec3 direction)
{
    if (l->source.kind == LIGHT_SUN)
        return sun_holds(l, direction) ? l->radiance : (vec3){0, 0, 0};
    if (l->source.kind == LIGHT_CONSTANT)
        return l->radiance;
    return l->table.pixels ? light_table_value(&l->table, direction) : (vec3){0, 0, 0};
}

vec3 light_sampled(const light_set *set, const light_sample *sample)
{
    const lamp *l = &set->lamps[sample->source];
    return l->table.pixels ? light_table_value(&l->table, sample->direction) : l->radiance;
}

vec3 light_beyond(const light_set *set, vec3 x, vec3 direction, float pdf)
{
    vec3 sum = {0, 0, 0};
    float total = pdf < INFINITY ? total_weight(set, x) : 0;
    for (size_t i = 0; i < set->count; i++) {
        const lamp *l = &set->lamps[i];
        vec3 light = is_beyond(l) ? lamp_beyond(l, direction) : (vec3){0, 0, 0};
        if (!(light.x + light.y + light.z > 0))
            continue;
        float chosen = lamp_share(l, x, total);
        float other = chosen > 0 ? chosen * lamp_pdf(l, x, direction, INFINITY) : 0;
        sum = vec_add(sum, vec_scale(light, balance(pdf, other)));
    }
    return sum;
}

float light_meet(const light_set *set, vec3 x, vec3 direction, float limit, float pdf, vec3 *light)
{
    float nearest = INFINITY;
    for (size_t i = 0; set->has_near && i < set->count; i++) {
        const lamp *l = &set->lamps[i];
        if (is_beyond(l))
            continue;
        float t = l->source.kind == LIGHT_SPHERE ? sphere_distance(l, x, direction)
                                                 : rectangle_distance(l, x, direction);
        if (!(t < nearest && t < limit))
            continue;
        nearest = t;
        float chosen = lamp_share(l, x, total_weight(set, x));
        *light = vec_scale(l->radiance, balance(pdf, chosen * lamp_pdf(l, x, direction, t)));
    }
    return nearest;
}
