#include "render/light.h"

#include <stdlib.h>

#include "status.h"

#define PI 3.14159265f
enum { SUN_TEXELS = 1024, SKY_TEXELS = 128, SKY_PARTICLES = 30000, SUN_SAMPLES = 8 };
static const float sun_elevation = 48 * PI / 180, sun_turn = 0.30f; /* from the viewer's left */
static const float sun_blur = 0.035f;                               /* radians */
static const float golden_angle = 2.39996323f, golden_cos = -0.73736888f, golden_sin = 0.67549029f;
static const vec3 zenith = {0.42f, 0.60f, 1.00f}, horizon = {0.80f, 0.90f, 1.00f};

static void map_axes(light_map *m, vec3 toward)
{
    vec3 other = fabsf(toward.y) < 0.8f ? (vec3){0, 1, 0} : (vec3){1, 0, 0};
    m->toward = toward;
    m->right = vec_unit(vec_cross(other, toward));
    m->up = vec_cross(toward, m->right);
}

static points_span box_span(const points_box *box, vec3 direction)
{
    vec3 half = vec_scale(vec_sub(box->high, box->low), 0.5f);
    float middle = vec_dot(vec_add(box->low, half), direction);
    float reach =
        half.x * fabsf(direction.x) + half.y * fabsf(direction.y) + half.z * fabsf(direction.z);
    return (points_span){middle - reach, middle, middle + reach};
}

/* Fit the map to the box of the snow, with texels no finer than a good part of a grain. */
static void map_frame(light_map *m, const points_box *box, float radius, int most)
{
    points_span u = box_span(box, m->right), v = box_span(box, m->up);
    points_span w = box_span(box, m->toward);
    float room = 4 * radius;
    float wide = u.high - u.low + 2 * room, tall = v.high - v.low + 2 * room;
    m->texel = greater(greater(wide, tall) / (float)most, 0.5f * radius);
    m->per_texel = 1 / m->texel;
    m->left = u.low - room;
    m->bottom = v.low - room;
    m->top_plane = w.high + room + 0.5f * (w.high - w.low);
    m->middle = m->top_plane - w.middle;
    m->width = (int)(wide / m->texel) + 1;
    m->height = (int)(tall / m->texel) + 1;
}

/* Every stride-th particle; `hidden` (may be NULL) tells which cast no shadow that others do not. */
static firn_status map_draw(light_map *m, splat_buffer *scratch, const firn_frame *frame,
                            const double origin[3], float radius, size_t stride,
                            const field *hidden)
{
    firn_status status = splat_reset(scratch, m->width, m->height);
    if (status != FIRN_OK)
        return status;
#pragma omp parallel for schedule(dynamic, 4096)
    for (size_t i = 0; i < frame->count; i += stride) {
        vec3 p;
        if (!points_local(frame, i, origin, &p) || (hidden && field_hides(hidden, p)))
            continue;
        splat_sphere sphere = {(vec_dot(p, m->right) - m->left) / m->texel,
                               (vec_dot(p, m->up) - m->bottom) / m->texel, radius / m->texel,
                               m->top_plane - vec_dot(p, m->toward), radius};
        splat_draw(scratch, &sphere, 0);
    }
    size_t count = (size_t)m->width * (size_t)m->height;
    float *depth = realloc(m->depth, count * sizeof *depth);
    if (!depth)
        return fail(FIRN_NO_MEMORY, "no memory for the shadows of a picture");
    m->depth = depth;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++)
        depth[i] = splat_depth(scratch->pixels[i]);
    return FIRN_OK;
}

/* Evenly over the upper half sphere; consecutive directions lie far apart. */
static vec3 sky_direction(const camera *c, int i)
{
    float height = ((float)i + 0.5f) / SKY_DIRECTIONS, around = golden_angle * (float)i;
    float flat = sqrtf(1 - height * height);
    vec3 level = vec_cross(c->right, c->sky);
    return vec_combine(c->right, flat * cosf(around), level, flat * sinf(around), c->sky, height);
}

/* The sky needs less: fewer, larger grains that fill the same volume; a map a thread. */
static firn_status build_sky(lights *l, const firn_frame *frame, const camera *c,
                             const points_box *box)
{
    size_t stride = frame->count / SKY_PARTICLES + 1;
    float radius = l->grain * cbrtf((float)stride);
    bool failed = false;
#pragma omp parallel
    {
        splat_buffer scratch = {0};
#pragma omp for schedule(dynamic)
        for (int i = 0; i < SKY_DIRECTIONS; i++) {
            map_axes(&l->sky[i], sky_direction(c, i));
            l->sky[i].colour = vec_mix(horizon, zenith, vec_dot(l->sky[i].toward, c->sky));
            map_frame(&l->sky[i], box, radius, SKY_TEXELS);
            if (map_draw(&l->sky[i], &scratch, frame, c->origin, radius, stride, NULL) != FIRN_OK) {
#pragma omp atomic write
                failed = true;
            }
        }
        splat_clear(&scratch);
    }
    /* The message of another thread stays with that thread. */
    return failed ? fail(FIRN_NO_MEMORY, "no memory for the shadows of a picture") : FIRN_OK;
}

firn_status lights_build(lights *l, const firn_frame *frame, const camera *c, const points_box *box,
                         float radius, const field *f)
{
    l->sky_up = c->sky;
    l->grain = radius;
    vec3 level = vec_cross(c->right, c->sky); /* towards the viewer */
    vec3 side = vec_combine(c->right, -cosf(sun_turn), level, sinf(sun_turn), c->sky, 0);
    map_axes(&l->sun, vec_combine(side, cosf(sun_elevation), c->sky, sinf(sun_elevation), side, 0));
    map_frame(&l->sun, box, radius, SUN_TEXELS);
    splat_buffer scratch = {0};
    firn_status status = map_draw(&l->sun, &scratch, frame, c->origin, radius, 1, f);
    splat_clear(&scratch);
    return status == FIRN_OK ? build_sky(l, frame, c, box) : status;
}

void lights_clear(lights *l)
{
    free(l->sun.depth);
    for (int i = 0; i < SKY_DIRECTIONS; i++)
        free(l->sky[i].depth);
    *l = (lights){0};
}

/* How deep below the lit snow a place of the map lies; <= 0 when nothing is above it. */
static float covered(const light_map *m, float u, float v, float depth)
{
    if (!(u >= 0 && v >= 0 && u < (float)m->width && v < (float)m->height))
        return -1;
    return depth - m->depth[(size_t)v * (size_t)m->width + (size_t)u];
}

/* About exp((bias - cover) / fade): (1 - x / 16)^16, which is 0 from x = 16 on. */
static float dimmed(float cover, float bias, float per_fade)
{
    float rest = 1 - (cover - bias) * per_fade * (1 / 16.0f);
    rest = lesser(greater(rest, 0), 1);
    rest *= rest, rest *= rest;
    rest *= rest, rest *= rest;
    return rest;
}

float lights_sun(const lights *l, vec3 x, float fade, float noise)
{
    const light_map *m = &l->sun;
    float u = (vec_dot(x, m->right) - m->left) / m->texel;
    float v = (vec_dot(x, m->up) - m->bottom) / m->texel;
    float depth = m->top_plane - vec_dot(x, m->toward), bias = 0.8f * l->grain + m->texel;
    float cs[SUN_SAMPLES], sn[SUN_SAMPLES]; /* a spiral of points that fill the unit disc */
    float a = cosf(2 * PI * noise), b = sinf(2 * PI * noise);
    for (int i = 0; i < SUN_SAMPLES; i++) {
        float radius = sqrtf(((float)i + 0.5f) / SUN_SAMPLES);
        cs[i] = radius * a, sn[i] = radius * b;
        float next = a * golden_cos - b * golden_sin;
        b = a * golden_sin + b * golden_cos;
        a = next;
    }
    /* The farther the snow that casts the shadow, the wider its edge. */
    float search = (6 * l->grain + sun_blur * greater(depth - m->middle, 0)) / m->texel;
    float height = 0, blockers = 0;
    for (int i = 0; i < SUN_SAMPLES; i++) {
        float cover = covered(m, u + search * cs[i], v + search * sn[i], depth);
        if (cover > bias)
            height += cover, blockers += 1;
    }
    float wide = 1.5f * l->grain + (blockers > 0 ? sun_blur * height / blockers : 0);
    float light = 0;
    for (int i = 0; i < SUN_SAMPLES; i++) {
        float cover = covered(m, u + wide / m->texel * cs[i], v + wide / m->texel * sn[i], depth);
        light += dimmed(cover, bias, 1 / fade);
    }
    return light / SUN_SAMPLES;
}

vec3 lights_sky(const lights *l, vec3 x, vec3 normal, float fade, int set, float *freedom)
{
    vec3 light = {0, 0, 0};
    float total = 0, open = 0, per_fade = 1 / fade;
    for (int i = set; i < SKY_DIRECTIONS; i += SKY_SETS) {
        const light_map *m = &l->sky[i];
        float facing = 0.15f + 0.85f * vec_dot(normal, m->toward);
        if (facing <= 0)
            continue;
        float u = (vec_dot(x, m->right) - m->left) * m->per_texel;
        float v = (vec_dot(x, m->up) - m->bottom) * m->per_texel;
        float depth = m->top_plane - vec_dot(x, m->toward), bias = 1.2f * l->grain + m->texel;
        float arriving = facing * dimmed(covered(m, u, v, depth), bias, per_fade);
        light = vec_add(light, vec_scale(m->colour, arriving));
        open += arriving;
        total += facing;
    }
    *freedom = total > 0 ? open / total : 0;
    return vec_scale(light, 2.0f * SKY_SETS / SKY_DIRECTIONS);
}
