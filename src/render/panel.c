#include "render/panel.h"

#include <stdlib.h>

#include "status.h"

enum { BLOCK = 8 }; /* parts along a side of a block */

typedef struct panel {
    const panel_style *style;
    const firn_frame *frame;
    surfaces surfaces;
    bool has_surfaces;
} panel;

static const vec3 sunlight = {1.36f, 1.22f, 1.02f};
static const vec3 skylight = {0.31f, 0.32f, 0.34f}; /* strength of the sky's own colours */
static const vec3 glow = {0.25f, 0.48f, 0.90f};     /* light that went through much snow */
static const vec3 ground = {0.165f, 0.215f, 0.295f};
static const vec3 air_top = {0.06f, 0.125f, 0.24f}, air_bottom = {0.30f, 0.42f, 0.58f};

/* A value in 0 .. 1 that differs between neighbouring parts of pixels. */
static float dither(int x, int y)
{
    uint32_t h = (uint32_t)x * 0x9e3779b1u ^ (uint32_t)y * 0x85ebca77u;
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    h = (h ^ h >> 12) * 0x297a2d39u;
    return (float)(h >> 8) / 16777216.0f;
}

static vec3 background(const panel *p, int y)
{
    const camera *c = &p->style->camera;
    float t = smoothstep(-0.1f, 0.9f, ((float)y + 0.5f) / c->height);
    return vec_mix(air_top, air_bottom, c->flat ? 0.4f * t : t);
}

static splat_sphere sphere_of(const panel *p, uint32_t index)
{
    vec3 at = {0, 0, 0};
    camera_point seen = {0};
    points_local(p->frame, index, p->style->camera.origin, &at);
    camera_project(&p->style->camera, at, &seen);
    return (splat_sphere){seen.x, seen.y, p->style->radius * seen.scale, seen.depth,
                          p->style->radius};
}

static float collider_shade(const panel *p, vec3 x)
{
    if (!p->has_surfaces)
        return 1;
    const camera *c = &p->style->camera;
    return surfaces_light(&p->surfaces, x, p->style->lights.sun.toward, 0.05f, c->distance);
}

/* Between the grain's own normal and that of the form it is part of. */
static vec3 soften(const panel *p, vec3 x, vec3 grain)
{
    vec3 out = field_outward(&p->style->field, x);
    float length = vec_length(out);
    vec3 form = length > 0 ? vec_scale(out, lesser(1.5f * length, 1) / length) : out;
    return vec_unit(vec_add(vec_scale(grain, 0.55f), form));
}

static vec3 shade_snow(const panel *p, uint32_t index, vec3 x, vec3 normal, int set, float noise)
{
    const lights *l = &p->style->lights;
    float fade = 2.2f * l->grain, freedom;
    vec3 albedo = colour_particle(&p->style->colour, p->frame, index);
    float facing = clamp01(0.18f + 0.82f * vec_dot(normal, l->sun.toward));
    float sun = facing > 0 ? facing * lights_sun(l, x, fade, noise) * collider_shade(p, x) : 0;
    vec3 sky = lights_sky(l, x, normal, 1.5f * fade, set, &freedom);
    float below = 0.5f - 0.5f * vec_dot(normal, l->sky_up);
    vec3 light = vec_add(vec_scale(sunlight, sun), vec_mul(skylight, sky));
    light = vec_add(light, vec_scale(ground, 0.35f * below * (0.3f + freedom)));
    light = vec_add(light, vec_scale(glow, 0.12f * (1 - 0.6f * freedom)));
    if (p->style->colour.mode != FIRN_COLOUR_SNOW)
        light = vec_mix(light, (vec3){1, 1, 1}, 0.35f); /* so that colours can be read off */
    return vec_mul(albedo, light);
}

static vec3 shade_collider(const panel *p, vec3 x, float travel, vec3 direction, vec3 air, int set,
                           float noise)
{
    const panel_style *s = p->style;
    const lights *l = &s->lights;
    float part = travel / s->camera.focal; /* size of a part of a pixel out there */
    vec3 normal = surfaces_normal(&p->surfaces, x, greater(part, 1e-4f * s->camera.distance));
    float slant = greater(-vec_dot(normal, direction), 0.05f);
    float square = surfaces_squares(&p->surfaces, x, normal, s->square, 1.5f * part / slant);
    float facing = clamp01(vec_dot(normal, l->sun.toward)), freedom;
    vec3 lifted = vec_add(x, vec_scale(normal, 0.5f * l->grain));
    float sun = facing > 0 ? facing * lights_sun(l, lifted, 0.2f * l->grain, noise) : 0;
    if (sun > 0)
        sun *= collider_shade(p, vec_add(x, vec_scale(normal, 2 * part)));
    vec3 sky = lights_sky(l, lifted, normal, 0.5f * l->grain, set, &freedom);
    vec3 light = vec_add(vec_scale(sunlight, sun), vec_mul(skylight, sky));
    vec3 seen = vec_mul(vec_scale(ground, 0.92f + 0.16f * square), light);
    float far = smoothstep(1.0f, 4.0f, travel / s->camera.distance);
    return vec_mix(seen, air, far);
}

static int blocks_across(const camera *c)
{
    return ((int)c->width + BLOCK - 1) / BLOCK;
}

/* Most of a ray's way is the same as its neighbours': go it once for a block. */
static firn_status find_free(panel_style *s, const panel *p)
{
    const camera *c = &s->camera;
    int across = blocks_across(c), down = ((int)c->height + BLOCK - 1) / BLOCK;
    float *room = realloc(s->free, (size_t)across * (size_t)down * sizeof *room);
    if (!room)
        return fail(FIRN_NO_MEMORY, "no memory for the rays of a picture");
    s->free = room;
    float spread = 0.75f * BLOCK / c->focal;
#pragma omp parallel for schedule(dynamic, 4)
    for (int y = 0; y < down; y++) {
        for (int x = 0; x < across; x++) {
            vec3 ray = camera_ray(c, BLOCK * ((float)x + 0.5f), BLOCK * ((float)y + 0.5f));
            room[y * across + x] =
                surfaces_free(&p->surfaces, c->eye, ray, spread, 4 * c->distance);
        }
    }
    return FIRN_OK;
}

/* One part of a pixel of a 3D frame: whatever is nearest. */
static vec3 shade_part(const panel *p, int x, int y)
{
    const panel_style *s = p->style;
    const camera *c = &s->camera;
    uint64_t pixel = s->buffer.pixels[(size_t)y * (size_t)s->buffer.width + (size_t)x];
    float px = (float)x + 0.5f, py = (float)y + 0.5f;
    vec3 ray = camera_ray(c, px, py), air = background(p, y);
    float along = -vec_dot(ray, c->back), snow = splat_depth(pixel) / along;
    int set = x % PANEL_PARTS + PANEL_PARTS * (y % PANEL_PARTS);
    if (p->has_surfaces) {
        float limit = lesser(4 * c->distance, snow);
        float from = s->free[(y / BLOCK) * blocks_across(c) + x / BLOCK];
        float hit = surfaces_trace(&p->surfaces,
                                   &(surfaces_ray){c->eye, ray, from, limit, 0.3f / c->focal});
        if (hit < limit) {
            vec3 at = vec_add(c->eye, vec_scale(ray, hit));
            return shade_collider(p, at, hit, ray, air, set, dither(x, y));
        }
    }
    if (pixel == SPLAT_EMPTY)
        return air;
    splat_sphere sphere = sphere_of(p, splat_index(pixel));
    vec3 n = splat_normal(&sphere, px, py);
    vec3 normal = vec_combine(c->right, n.x, c->up, n.y, c->back, n.z);
    vec3 at = vec_add(c->eye, vec_scale(ray, snow));
    normal = soften(p, at, normal);
    return shade_snow(p, splat_index(pixel), at, normal, set, dither(x, y));
}

/* One part of a pixel of a 2D frame: discs before filled colliders with an outline. */
static vec3 shade_flat_part(const panel *p, int x, int y)
{
    const panel_style *s = p->style;
    const camera *c = &s->camera;
    uint64_t pixel = s->buffer.pixels[(size_t)y * (size_t)s->buffer.width + (size_t)x];
    float px = (float)x + 0.5f, py = (float)y + 0.5f;
    vec3 seen = background(p, y);
    if (p->has_surfaces) {
        float u = (px - c->width / 2) / c->focal, v = (c->height / 2 - py) / c->focal;
        vec3 at = vec_combine(c->right, u, c->up, v, c->eye, 1);
        at.z = (float)-c->origin[2];
        float phi = surfaces_distance(&p->surfaces, at) * c->focal;
        vec3 front = {0, 0, 1};
        float square = surfaces_squares(&p->surfaces, at, front, s->square, 1 / c->focal);
        if (phi < 0)
            seen = vec_scale(ground, 0.36f + 0.06f * square);
        if (fabsf(phi + 1.5f) < 1.5f)
            seen = vec_scale(ground, 1.6f);
    }
    if (pixel == SPLAT_EMPTY)
        return seen;
    splat_sphere sphere = sphere_of(p, splat_index(pixel));
    vec3 normal = splat_normal(&sphere, px, py);
    float light = 0.15f + 0.80f * normal.z + 0.10f * (normal.y - normal.x);
    vec3 tint = vec_mix(glow, (vec3){1.15f, 1.13f, 1.10f}, clamp01(light));
    return vec_mul(colour_particle(&s->colour, p->frame, splat_index(pixel)), tint);
}

static vec3 shade_pixel(const panel *p, int x, int y)
{
    vec3 sum = {0, 0, 0};
    for (int j = 0; j < PANEL_PARTS; j++) {
        for (int i = 0; i < PANEL_PARTS; i++) {
            int px = PANEL_PARTS * x + i, py = PANEL_PARTS * y + j;
            bool flat = p->style->camera.flat;
            vec3 light = flat ? shade_flat_part(p, px, py) : shade_part(p, px, py);
            sum = vec_add(sum, image_tone(light));
        }
    }
    return vec_scale(sum, 1.0f / (PANEL_PARTS * PANEL_PARTS));
}

static firn_status prepare(panel_style *s, const panel *p)
{
    const camera *c = &s->camera;
    firn_status status = splat_reset(&s->buffer, (int)c->width, (int)c->height);
    if (status == FIRN_OK && c->flat)
        splat_frame(&s->buffer, p->frame, c, s->radius, NULL);
    if (status != FIRN_OK || c->flat)
        return status;
    points_choose(p->frame, c->origin, &s->sample);
    points_box box = points_bounds(&s->sample);
    status = field_build(&s->field, p->frame, c->origin, &box, s->spacing);
    if (status != FIRN_OK)
        return status;
    splat_frame(&s->buffer, p->frame, c, s->radius, &s->field);
    status = lights_build(&s->lights, p->frame, c, &box, s->radius, &s->field);
    if (status == FIRN_OK && p->has_surfaces)
        status = find_free(s, p);
    return status;
}

firn_status panel_draw(panel_style *style, const firn_frame *frame, const image_view *view)
{
    const double *origin = style->camera.origin;
    panel p = {.style = style,
               .frame = frame,
               .surfaces = {style->scene, frame->time, {origin[0], origin[1], origin[2]}, NULL}};
    p.has_surfaces = surfaces_present(&p.surfaces);
    firn_status status = surfaces_stand(&p.surfaces);
    if (status == FIRN_OK)
        status = prepare(style, &p);
    int height = status == FIRN_OK ? view->height : 0;
#pragma omp parallel for schedule(dynamic, 4)
    for (int y = 0; y < height; y++)
        for (int x = 0; x < view->width; x++)
            image_set(view, x, y, shade_pixel(&p, x, y));
    surfaces_leave(&p.surfaces);
    return status;
}

void panel_style_clear(panel_style *style)
{
    splat_clear(&style->buffer);
    lights_clear(&style->lights);
    field_clear(&style->field);
    free(style->free);
    style->free = NULL;
}
