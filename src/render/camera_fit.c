#include "render/camera_fit.h"

#include "render/surfaces.h"
#include "scene/model.h"
#include "status.h"

#define RADIANS (3.14159265f / 180)
static const float usual_view = 30 * RADIANS; /* of the shorter side */
static const float usual_elevation = 11 * RADIANS;
static const float border = 0.10f; /* share of the half picture kept free */
/* Turns about the vertical, in the order of preference: a wall may stand in the way of some. */
static const float turns[] = {-22 * RADIANS, 22 * RADIANS,  0,
                              158 * RADIANS, 202 * RADIANS, 90 * RADIANS};
enum { TURNS = sizeof turns / sizeof turns[0] };

/* Look from this side, so many radians above the horizon. */
static void aim(camera *c, const scene_camera *wish, float turn, float tilt)
{
    vec3 front = fabsf(c->sky.z) > 0.9f ? (vec3){0, -1, 0} : (vec3){0, 0, 1};
    vec3 side = vec_unit(vec_cross(c->sky, front));
    front = vec_cross(side, c->sky);
    vec3 level = vec_add(vec_scale(front, cosf(turn)), vec_scale(side, sinf(turn)));
    vec3 back = vec_add(vec_scale(level, cosf(tilt)), vec_scale(c->sky, sinf(tilt)));
    vec3 up = c->sky;
    if (wish && wish->has_up)
        up = vec_unit((vec3){(float)wish->up[0], (float)wish->up[1], (float)wish->up[2]});
    camera_turn(c, back, up);
}

/*
 * A point at (u, v, w) along right, up, back lies within the side planes of an eye at (U, V, W)
 * when +-(u - U) <= t (W - w), that is +-u + t w <= +-U + t W. So the largest +-u + t w over the
 * points give U and W in closed form; with t = 0 the same sums frame a flat picture.
 */
typedef struct frustum {
    float tx, ty;
    float right, left, top, bottom;
    float nearest, farthest; /* extremes of w */
} frustum;

static void frustum_hold(frustum *f, const camera *c, points_sample *sample)
{
    if (sample->count == 0)
        return;
    vec3 back_x = vec_scale(c->back, f->tx), back_y = vec_scale(c->back, f->ty);
    f->right = fmaxf(f->right, points_measure(sample, vec_add(c->right, back_x)).high);
    f->left = fmaxf(f->left, -points_measure(sample, vec_sub(c->right, back_x)).low);
    f->top = fmaxf(f->top, points_measure(sample, vec_add(c->up, back_y)).high);
    f->bottom = fmaxf(f->bottom, -points_measure(sample, vec_sub(c->up, back_y)).low);
    points_span w = points_measure(sample, c->back);
    f->nearest = fmaxf(f->nearest, w.high);
    f->farthest = fminf(f->farthest, w.low);
}

/* The snow of a frame, then the ground below its middle when that is not far. */
static void hold_frame(frustum *f, const camera *c, const firn_frame *frame,
                       const firn_scene *scene, points_sample *sample)
{
    points_choose(frame, c->origin, sample);
    frustum_hold(f, c, sample);
    if (sample->count == 0 || !scene)
        return;
    vec3 middle = points_bounds(sample).middle;
    points_span rise = points_measure(sample, c->sky);
    float reach = 2.5f * (rise.high - rise.low) + 4 * (float)frame->cell_size;
    surfaces s = {scene, frame->time, {c->origin[0], c->origin[1], c->origin[2]}, NULL};
    surfaces_ray down = {middle, vec_scale(c->sky, -1), 0, reach, 1e-3f};
    float fall = surfaces_trace(&s, &down);
    if (fall < reach) {
        sample->points[0] = vec_sub(middle, vec_scale(c->sky, fall));
        sample->count = 1;
        frustum_hold(f, c, sample);
    }
}

static frustum hold_all(const camera *c, float t, const firn_frame *frames, size_t count,
                        const firn_scene *scene, points_sample *sample)
{
    float shorter = fminf(c->width, c->height);
    frustum f = {.tx = t * c->width / shorter, .ty = t * c->height / shorter};
    f.right = f.left = f.top = f.bottom = f.nearest = -INFINITY;
    f.farthest = INFINITY;
    for (size_t i = 0; i < count; i++)
        hold_frame(&f, c, &frames[i], scene, sample);
    if (!isfinite(f.right))
        f.right = f.left = f.top = f.bottom = f.nearest = f.farthest = 0;
    return f;
}

static void place_flat(camera *c, const frustum *f, float margin)
{
    float half_x = (f->right + f->left) / 2 + margin, half_y = (f->top + f->bottom) / 2 + margin;
    c->focal = (1 - border) / fmaxf(2 * half_x / c->width, 2 * half_y / c->height);
    c->distance = fmaxf(half_x, half_y);
    c->eye = vec_combine(c->right, (f->right - f->left) / 2, c->up, (f->top - f->bottom) / 2,
                         c->back, 0);
}

/* Along the view far enough to hold everything; sideways in the middle, or before the target. */
static void place(camera *c, const frustum *f, const vec3 *target, float zoom, float margin)
{
    float u = target ? vec_dot(*target, c->right) : (f->right - f->left) / 2;
    float v = target ? vec_dot(*target, c->up) : (f->top - f->bottom) / 2;
    float half_x = fmaxf(f->right - u, f->left + u), half_y = fmaxf(f->top - v, f->bottom + v);
    float w = fmaxf((half_x + margin) / f->tx, (half_y + margin) / f->ty);
    w = fmaxf(w, f->nearest + margin); /* never among the particles */
    float middle = target ? vec_dot(*target, c->back) : (f->nearest + f->farthest) / 2;
    c->distance = fmaxf(w - middle, margin) / zoom;
    c->eye = vec_combine(c->right, u, c->up, v, c->back, middle + c->distance);
}

/* How many frames have their middle hidden by a collider. */
static size_t hidden_frames(const camera *c, const firn_frame *frames, size_t count,
                            const firn_scene *scene, points_sample *sample)
{
    size_t hidden = 0;
    for (size_t i = 0; i < count; i++) {
        points_choose(&frames[i], c->origin, sample);
        if (sample->count == 0)
            continue;
        vec3 middle = points_bounds(sample).middle;
        vec3 sight = vec_sub(c->eye, middle);
        surfaces s = {scene, frames[i].time, {c->origin[0], c->origin[1], c->origin[2]}, NULL};
        float length = vec_length(sight);
        surfaces_ray ray = {middle, vec_scale(sight, 1 / length), 0, length, 1e-3f};
        hidden += surfaces_trace(&s, &ray) < length;
    }
    return hidden;
}

static vec3 local(const camera *c, const double world[3])
{
    return (vec3){(float)(world[0] - c->origin[0]), (float)(world[1] - c->origin[1]),
                  (float)(world[2] - c->origin[2])};
}

/* The middle of what all frames hold. */
static vec3 middle_of(const camera *c, const firn_frame *frames, size_t count,
                      points_sample *sample)
{
    vec3 low = {INFINITY, INFINITY, INFINITY}, high = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < count; i++) {
        points_choose(&frames[i], c->origin, sample);
        if (sample->count == 0)
            continue;
        points_box box = points_bounds(sample);
        low = (vec3){fminf(low.x, box.low.x), fminf(low.y, box.low.y), fminf(low.z, box.low.z)};
        high =
            (vec3){fmaxf(high.x, box.high.x), fmaxf(high.y, box.high.y), fmaxf(high.z, box.high.z)};
    }
    return low.x <= high.x ? vec_mix(low, high, 0.5f) : (vec3){0, 0, 0};
}

/* From where the scene says. */
static firn_status stand(camera *c, const scene_camera *wish, vec3 target)
{
    c->eye = local(c, wish->position);
    vec3 sight = vec_sub(c->eye, target), up = c->sky;
    c->distance = vec_length(sight);
    if (!(c->distance > 1e-6f))
        return fail(FIRN_BAD_SCENE,
                    "the camera stands in what it looks at, the middle of the snow; "
                    "give it a target or another position");
    if (wish->has_up)
        up = vec_unit((vec3){(float)wish->up[0], (float)wish->up[1], (float)wish->up[2]});
    camera_turn(c, vec_scale(sight, 1 / c->distance), up);
    return FIRN_OK;
}

/* Try the sides, or the one that was wished for, and keep the first that hides least. */
static void choose_side(camera *c, const scene_camera *wish, const vec3 *target, float half_view,
                        const firn_frame *frames, size_t count, const firn_scene *scene,
                        float margin, points_sample *sample)
{
    camera best = *c;
    size_t fewest = SIZE_MAX;
    bool one = wish && wish->has_azimuth;
    float t = tanf(half_view) * (1 - border);
    float tilt = wish && wish->has_elevation ? (float)wish->elevation * RADIANS : usual_elevation;
    for (int i = 0; i < (one ? 1 : TURNS) && fewest > 0; i++) {
        aim(c, wish, one ? (float)wish->azimuth * RADIANS : turns[i], tilt);
        frustum f = hold_all(c, t, frames, count, scene, sample);
        place(c, &f, target, wish ? (float)wish->zoom : 1, margin);
        size_t hidden = scene ? hidden_frames(c, frames, count, scene, sample) : 0;
        if (hidden < fewest) {
            fewest = hidden;
            best = *c;
        }
    }
    *c = best;
}

firn_status camera_fit(camera *c, const firn_frame *frames, size_t count, const firn_scene *scene,
                       bool flat, int width, int height, float margin, points_sample *sample)
{
    *c = (camera){.width = (float)width, .height = (float)height, .flat = flat};
    c->sky = flat ? (vec3){0, 1, 0} : camera_sky(scene);
    points_origin(frames, count, c->origin);
    if (flat) {
        aim(c, NULL, 0, 0);
        frustum f = hold_all(c, 0, frames, count, scene, sample);
        place_flat(c, &f, margin);
        return FIRN_OK;
    }
    const scene_camera *wish = scene ? &scene->camera : NULL;
    float half_view = wish ? (float)wish->field_of_view * RADIANS / 2 : usual_view / 2;
    c->focal = fminf(c->width, c->height) / (2 * tanf(half_view));
    vec3 target = wish && wish->has_target ? local(c, wish->target) : (vec3){0, 0, 0};
    if (wish && wish->has_position)
        return stand(c, wish, wish->has_target ? target : middle_of(c, frames, count, sample));
    choose_side(c, wish, wish && wish->has_target ? &target : NULL, half_view, frames, count, scene,
                margin, sample);
    return FIRN_OK;
}
