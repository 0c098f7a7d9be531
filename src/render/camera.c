#include "render/camera.h"

#define RADIANS (3.14159265f / 180)
static const float half_view = 15 * RADIANS; /* of the shorter side */
static const float elevation = 11 * RADIANS;
static const float border = 0.10f; /* share of the half picture kept free */
/* Turns about the vertical, in the order of preference: a wall may stand in the way of some. */
static const float turns[] = {-22 * RADIANS, 22 * RADIANS,  0,
                              158 * RADIANS, 202 * RADIANS, 90 * RADIANS};
enum { TURNS = sizeof turns / sizeof turns[0] };

static vec3 sky_direction(const firn_scene *scene)
{
    vec3 y = {0, 1, 0};
    if (!scene)
        return y;
    const double *g = firn_scene_settings(scene)->gravity;
    vec3 up = {(float)-g[0], (float)-g[1], (float)-g[2]};
    return vec_length(up) > 0 ? vec_unit(up) : y;
}

static void aim(camera *c, float turn, float tilt)
{
    vec3 front = fabsf(c->sky.z) > 0.9f ? (vec3){0, -1, 0} : (vec3){0, 0, 1};
    vec3 side = vec_unit(vec_cross(c->sky, front));
    front = vec_cross(side, c->sky);
    vec3 level = vec_add(vec_scale(front, cosf(turn)), vec_scale(side, sinf(turn)));
    c->right = vec_cross(c->sky, level);
    c->back = vec_add(vec_scale(level, cosf(tilt)), vec_scale(c->sky, sinf(tilt)));
    c->up = vec_cross(c->back, c->right);
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
    float reach = 6 * (rise.high - rise.low) + 20 * (float)frame->cell_size;
    surfaces s = {scene, frame->time, {c->origin[0], c->origin[1], c->origin[2]}};
    surfaces_ray down = {middle, vec_scale(c->sky, -1), 0, reach, 1e-3f};
    float fall = surfaces_trace(&s, &down);
    if (fall < reach) {
        sample->points[0] = vec_sub(middle, vec_scale(c->sky, fall));
        sample->count = 1;
        frustum_hold(f, c, sample);
    }
}

static void place(camera *c, const firn_frame *frames, size_t count, const firn_scene *scene,
                  float margin, points_sample *sample)
{
    float shorter = fminf(c->width, c->height);
    float t = c->flat ? 0 : tanf(half_view) * (1 - border);
    frustum f = {.tx = t * c->width / shorter, .ty = t * c->height / shorter};
    f.right = f.left = f.top = f.bottom = f.nearest = -INFINITY;
    f.farthest = INFINITY;
    for (size_t i = 0; i < count; i++)
        hold_frame(&f, c, &frames[i], scene, sample);
    if (!isfinite(f.right))
        f.right = f.left = f.top = f.bottom = f.nearest = f.farthest = 0;
    float half_x = (f.right + f.left) / 2 + margin, half_y = (f.top + f.bottom) / 2 + margin;
    float u = (f.right - f.left) / 2, v = (f.top - f.bottom) / 2, w = 0;
    if (c->flat) {
        c->focal = (1 - border) / fmaxf(2 * half_x / c->width, 2 * half_y / c->height);
        c->distance = fmaxf(half_x, half_y);
    } else {
        /* Never among the particles: at least a margin in front of the nearest. */
        w = fmaxf(fmaxf(half_x / f.tx, half_y / f.ty), f.nearest + margin);
        c->focal = shorter / (2 * tanf(half_view));
        c->distance = w - (f.nearest + f.farthest) / 2;
    }
    c->eye = vec_combine(c->right, u, c->up, v, c->back, w);
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
        surfaces s = {scene, frames[i].time, {c->origin[0], c->origin[1], c->origin[2]}};
        float length = vec_length(sight);
        surfaces_ray ray = {middle, vec_scale(sight, 1 / length), 0, length, 1e-3f};
        hidden += surfaces_trace(&s, &ray) < length;
    }
    return hidden;
}

camera camera_fit(const firn_frame *frames, size_t count, const firn_scene *scene, int width,
                  int height, float margin, points_sample *sample)
{
    camera c = {.width = (float)width, .height = (float)height};
    c.flat = count > 0 && frames[0].dimensions == 2;
    c.sky = c.flat ? (vec3){0, 1, 0} : sky_direction(scene);
    points_origin(frames, count, c.origin);
    if (c.flat) {
        aim(&c, 0, 0);
        place(&c, frames, count, scene, margin, sample);
        return c;
    }
    camera best = c;
    size_t fewest = SIZE_MAX;
    for (int i = 0; i < TURNS && fewest > 0; i++) {
        aim(&c, turns[i], elevation);
        place(&c, frames, count, scene, margin, sample);
        size_t hidden = scene ? hidden_frames(&c, frames, count, scene, sample) : 0;
        if (hidden < fewest) {
            fewest = hidden;
            best = c;
        }
    }
    return best;
}

bool camera_project(const camera *c, vec3 p, camera_point *out)
{
    vec3 q = vec_sub(p, c->eye);
    float depth = -vec_dot(q, c->back);
    if (c->flat)
        depth = c->distance; /* one plane */
    if (!(depth > 0.02f * c->distance) || !(depth < 1e9f * c->distance))
        return false;
    out->depth = depth;
    out->scale = c->flat ? c->focal : c->focal / depth;
    out->x = c->width / 2 + out->scale * vec_dot(q, c->right);
    out->y = c->height / 2 - out->scale * vec_dot(q, c->up);
    return true;
}

vec3 camera_ray(const camera *c, float x, float y)
{
    float u = (x - c->width / 2) / c->focal, v = (c->height / 2 - y) / c->focal;
    return vec_unit(vec_combine(c->right, u, c->up, v, c->back, -1));
}
