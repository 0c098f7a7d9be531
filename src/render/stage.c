#include "render/stage.h"

#include <stdlib.h>
#include <string.h>

#include "io/exr.h"
#include "render/legend.h"
#include "status.h"

#define RADIANS (3.14159265358979323846 / 180)
static const vec3 slate = {0.115f, 0.125f, 0.14f}, clear = {1, 1, 1};
static const double sun_turn = 20 * RADIANS; /* from the viewer's left, towards the viewer */

static vec3 vec_of(const double v[3])
{
    return (vec3){(float)v[0], (float)v[1], (float)v[2]};
}

static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t count)
{
    for (const unsigned char *b = bytes; count--; b++)
        h = (h ^ *b) * 0x100000001b3u;
    return h;
}

/* ---- lights ---------------------------------------------------------------------------------- */

/* A direction by its angles: 0 degrees is +z, 90 is +x, as the camera's azimuth. */
static vec3 by_angles(const camera *c, double azimuth, double elevation)
{
    vec3 front = fabsf(c->sky.z) > 0.9f ? (vec3){0, -1, 0} : (vec3){0, 0, 1};
    vec3 side = vec_unit(vec_cross(c->sky, front));
    front = vec_cross(side, c->sky);
    float level = (float)cos(elevation);
    return vec_combine(front, level * (float)cos(azimuth), side, level * (float)sin(azimuth),
                       c->sky, (float)sin(elevation));
}

static vec3 sun_direction(const scene_render *r, const camera *c)
{
    double elevation = r->sun_elevation * RADIANS;
    if (r->has_sun_azimuth)
        return by_angles(c, r->sun_azimuth * RADIANS, elevation);
    vec3 viewer = vec_cross(c->right, c->sky);
    vec3 left = vec_combine(c->right, -(float)cos(sun_turn), vec_unit(viewer), (float)sin(sun_turn),
                            c->sky, 0);
    return vec_combine(left, (float)cos(elevation), c->sky, (float)sin(elevation), left, 0);
}

static size_t add_daylight(const scene_render *r, const camera *c, light_source *sources)
{
    light_source day[2];
    size_t count = 0;
    light_daylight(sun_direction(r, c), c->sky, (float)r->turbidity, day);
    day[0].colour = vec_scale(day[0].colour, (float)r->sun_strength);
    day[0].angle = (float)(r->sun_angle * RADIANS);
    day[1].colour = vec_scale(day[1].colour, (float)r->sky_strength);
    if (r->sun_strength > 0 && r->sun_elevation > 0)
        sources[count++] = day[0];
    if (r->sky_strength > 0)
        sources[count++] = day[1];
    return count;
}

static void fill_rectangle(const scene_light *from, light_source *to)
{
    vec3 normal = vec_unit(vec_of(from->normal));
    vec3 other = fabsf(normal.y) < 0.9f ? (vec3){0, 1, 0} : (vec3){0, 0, 1};
    vec3 u = vec_unit(vec_cross(other, normal)), v = vec_cross(normal, u);
    float cs = (float)cos(from->turn * RADIANS), sn = (float)sin(from->turn * RADIANS);
    to->edge[0] = vec_scale(vec_combine(u, cs, v, sn, v, 0), (float)from->width);
    to->edge[1] = vec_scale(vec_combine(v, cs, u, -sn, u, 0), (float)from->height);
}

/* Three floats a pixel; a map of luminance alone is grey. */
static firn_status read_map(const char *path, light_source *to, float **pixels)
{
    exr_image map;
    firn_status status = exr_read(path, &map);
    if (status != FIRN_OK)
        return status;
    const float *from[3] = {exr_find(&map, "R"), exr_find(&map, "G"), exr_find(&map, "B")};
    const float *grey = exr_find(&map, "Y");
    size_t count = (size_t)map.width * (size_t)map.height;
    *pixels = malloc(3 * count * sizeof **pixels);
    if (!*pixels)
        status = fail(FIRN_NO_MEMORY, "no memory for the light of %s", path);
    else if (!grey && !(from[0] && from[1] && from[2]))
        status =
            fail(FIRN_BAD_SCENE, "%s: an environment needs the channels R, G and B, or Y", path);
    for (size_t i = 0; i < 3 * count && status == FIRN_OK; i++) {
        float value = from[i % 3] ? from[i % 3][i / 3] : grey[i / 3];
        (*pixels)[i] = value;
        if (!isfinite(value) || value < 0)
            status = fail(FIRN_BAD_SCENE, "%s: the light of pixel %zu, %zu is %g", path,
                          i / 3 % (size_t)map.width, i / 3 / (size_t)map.width, (double)value);
    }
    to->pixels = *pixels;
    to->width = map.width;
    to->height = map.height;
    exr_clear(&map);
    return status;
}

static firn_status fill_light(const stage *s, const scene_light *from, const camera *c,
                              light_source *to, float **pixels)
{
    static const light_kind kinds[] = {LIGHT_SPHERE, LIGHT_RECTANGLE, LIGHT_CONSTANT,
                                       LIGHT_ENVIRONMENT};
    *to = (light_source){.kind = kinds[from->kind], .up = c->sky, .radius = (float)from->radius};
    to->colour = vec_scale(vec_of(from->colour), (float)from->strength);
    to->position =
        (vec3){(float)(from->position[0] - s->origin[0]), (float)(from->position[1] - s->origin[1]),
               (float)(from->position[2] - s->origin[2])};
    if (from->kind == SCENE_LIGHT_RECTANGLE)
        fill_rectangle(from, to);
    if (from->kind != SCENE_LIGHT_ENVIRONMENT)
        return FIRN_OK;
    to->direction = by_angles(c, from->azimuth * RADIANS + 180 * RADIANS, 0);
    firn_status status = read_map(from->file, to, pixels);
    return status == FIRN_OK
               ? status
               : fail_within(status, "%s: light '%s': ", from->mark.where, from->name);
}

static firn_status make_lights(stage *s, const scene_render *r, const camera *c)
{
    light_source *sources = calloc(r->light_count + 2, sizeof *sources);
    float **maps = calloc(r->light_count + 1, sizeof *maps);
    if (!sources || !maps) {
        free(sources);
        free(maps);
        return fail(FIRN_NO_MEMORY, "no memory for the lights of a picture");
    }
    size_t count = add_daylight(r, c, sources);
    firn_status status = FIRN_OK;
    for (size_t i = 0; i < r->light_count && status == FIRN_OK; i++) {
        light_source *to = &sources[count++];
        status = fill_light(s, &r->lights[i], c, to, &maps[i]);
        if (status == FIRN_OK && maps[i])
            s->light_hash = hash_bytes(s->light_hash, maps[i],
                                       3 * sizeof(float) * (size_t)to->width * (size_t)to->height);
    }
    if (status == FIRN_OK && count == 0)
        status = fail(FIRN_BAD_SCENE, "the picture has no light: sun and sky are off and there are "
                                      "no lights");
    if (status == FIRN_OK)
        status = light_set_create(sources, count, &s->lights);
    for (size_t i = 0; i < r->light_count; i++)
        free(maps[i]);
    free(maps);
    free(sources);
    return status;
}

/* ---- surfaces -------------------------------------------------------------------------------- */

static surface_material material_of(const scene_surface *from, const camera *c)
{
    static const surface_kind kinds[] = {SURFACE_DIFFUSE, SURFACE_GLOSSY, SURFACE_GLASS};
    surface_material m = {
        .kind = kinds[from->kind], .roughness = (float)from->roughness, .ior = (float)from->ior};
    m.colour = from->has_colour ? vec_of(from->colour) : from->kind == SCENE_GLASS ? clear : slate;
    if (from->has_checker) {
        m.other = vec_of(from->checker);
        m.square = from->square > 0 ? (float)from->square
                                    : legend_round(c->distance * c->width / c->focal / 12);
    }
    return m;
}

static firn_status show_scene(stage *s, const firn_scene *scene, const camera *c)
{
    s->shown = *scene;
    s->shown.collider_count = 0;
    s->shown.colliders = calloc(scene->collider_count + 1, sizeof *s->shown.colliders);
    s->materials = calloc(scene->collider_count + 1, sizeof *s->materials);
    if (!s->shown.colliders || !s->materials)
        return fail(FIRN_NO_MEMORY, "no memory for the colliders of a picture");
    for (size_t i = 0; i < scene->collider_count; i++) {
        if (!scene->colliders[i].surface.visible)
            continue;
        s->materials[s->shown.collider_count] = material_of(&scene->colliders[i].surface, c);
        s->shown.colliders[s->shown.collider_count++] = scene->colliders[i];
    }
    return FIRN_OK;
}

static bool moves(const firn_scene *scene)
{
    for (size_t i = 0; i < scene->collider_count; i++)
        if (collider_moves(&scene->colliders[i].body))
            return true;
    return false;
}

/* ---- moments --------------------------------------------------------------------------------- */

static int usual_grains(size_t particles)
{
    return particles <= 1000000 ? 8 : particles <= 2000000 ? 4 : particles <= 4000000 ? 2 : 1;
}

static firn_status make_snow(const stage *s, stage_moment *m)
{
    const scene_render *r = &s->shown.render;
    double voxel = r->voxel_size > 0 ? r->voxel_size : 0.2 * s->frame->cell_size;
    const volume_options options = {.voxel_size = voxel,
                                    .kernel_width = r->kernel_width,
                                    .shift = m->shift,
                                    .grains = r->grains ? r->grains : usual_grains(s->frame->count),
                                    .thickness = r->thickness};
    return volume_create(s->frame, s->origin, &options, &m->snow);
}

static firn_status make_surfaces(const stage *s, stage_moment *m)
{
    firn_status status = surface_set_create(s->origin, &m->surfaces);
    if (status == FIRN_OK)
        status = surface_add_scene(m->surfaces, &s->shown, s->frame->time + m->shift, s->materials);
    return status == FIRN_OK ? surface_commit(m->surfaces) : status;
}

static firn_status make_moment(stage *s, int index)
{
    stage_moment *m = &s->moments[index];
    firn_status status = m->snow ? FIRN_OK : make_snow(s, m);
    bool own = index == 0 || moves(&s->shown);
    if (status == FIRN_OK && own && s->shown.collider_count > 0 && !m->surfaces)
        status = make_surfaces(s, m);
    return status;
}

static firn_status check_snow(const stage *s)
{
    volume_info info = volume_describe(s->moments[0].snow);
    if (info.empty)
        return fail(FIRN_BAD_SCENE,
                    "frame %d has no snow to show: none of its %zu %s is finite and at a place "
                    "that is",
                    s->frame->frame, s->frame->count, s->frame->is_grid ? "voxels" : "particles");
    if (info.left_out > 0)
        log_message(FIRN_LOG_WARNING,
                    "frame %d: %zu of %zu %s are left out: they are not finite, or far away",
                    s->frame->frame, info.left_out, s->frame->count,
                    s->frame->is_grid ? "voxels" : "particles");
    return FIRN_OK;
}

firn_status stage_create(stage *s, const firn_frame *frame, const firn_scene *scene,
                         const camera *c, double shutter)
{
    const scene_render *r = &scene->render;
    *s = (stage){.frame = frame, .light_hash = 0xcbf29ce484222325u};
    memcpy(s->origin, c->origin, sizeof s->origin);
    s->medium = (trace_medium){.extinction = (float)r->extinction,
                               .reference = (float)r->reference_density,
                               .custom = true,
                               .albedo = vec_of(r->albedo),
                               .mean_cosine = (float)r->mean_cosine,
                               .by_trial = r->tracking == SCENE_TRACK_DELTA};
    s->options = (trace_options){r->seed, r->bounces, r->similarity};
    s->count = shutter > 0 ? scene->camera.shutter_steps : 1;
    s->moments = calloc((size_t)s->count, sizeof *s->moments);
    firn_status status = FIRN_OK;
    if (!s->moments)
        status = fail(FIRN_NO_MEMORY, "no memory for the moments of a picture");
    for (int i = 0; i < s->count && status == FIRN_OK; i++)
        s->moments[i].shift = shutter * ((i + 0.5) / s->count - 0.5);
    if (status == FIRN_OK)
        status = show_scene(s, scene, c);
    if (status == FIRN_OK)
        status = make_lights(s, r, c);
    if (status == FIRN_OK)
        status = make_moment(s, 0);
    if (status == FIRN_OK)
        status = check_snow(s);
    if (status != FIRN_OK)
        stage_clear(s);
    return status;
}

void stage_clear(stage *s)
{
    for (int i = 0; s->moments && i < s->count; i++) {
        volume_destroy(&s->moments[i].snow);
        surface_set_destroy(&s->moments[i].surfaces);
    }
    free(s->moments);
    light_set_destroy(&s->lights);
    free(s->shown.colliders);
    free(s->materials);
    *s = (stage){0};
}

/* By the golden ratio: any run of samples is spread evenly over the moments. */
static int moment_of(uint32_t sample, int count)
{
    double turn = 0.61803398874989485 * sample;
    return (int)(count * (turn - floor(turn)));
}

firn_status stage_scene(stage *s, uint32_t sample, trace_scene *out)
{
    int index = moment_of(sample, s->count);
    firn_status status = make_moment(s, index);
    const surface_set *own = s->moments[index].surfaces;
    *out = (trace_scene){.snow = s->moments[index].snow,
                         .lights = s->lights,
                         .surfaces = own ? own : s->moments[0].surfaces,
                         .medium = s->medium,
                         .options = s->options};
    return status;
}
