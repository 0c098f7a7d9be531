/* Public cameras: for frames that are there, and for those that a scene will give. */
#include <stdlib.h>
#include <string.h>

#include "render/camera_fit.h"
#include "scene/model.h"
#include "status.h"

enum { SIDE = 6, MOMENTS = 16, STEPS_A_MOMENT = 16 };

static firn_status check_size(int width, int height)
{
    bool is_good = width >= 16 && height >= 16 && width <= 16384 && height <= 16384;
    return is_good ? FIRN_OK
                   : fail(FIRN_USAGE, "a picture of %d x %d pixels; each side must be 16 to 16384",
                          width, height);
}

firn_status firn_camera_frame(const firn_frame *frames, size_t count, const firn_scene *scene,
                              int width, int height, firn_camera *out)
{
    firn_status status = check_size(width, height);
    if (status != FIRN_OK)
        return status;
    points_sample *sample = malloc(sizeof *sample);
    if (!sample)
        return fail(FIRN_NO_MEMORY, "no memory to place a camera");
    camera c;
    float margin = 4 * points_spacing(frames, count, sample);
    status = camera_fit(&c, frames, count, scene, false, width, height, margin, sample);
    if (status == FIRN_OK)
        camera_publish(&c, scene, out);
    free(sample);
    return status;
}

void firn_scene_picture_size(const firn_scene *scene, int *width, int *height, int *samples)
{
    *width = scene->render.width;
    *height = scene->render.height;
    *samples = scene->render.samples;
}

void firn_frame_thin(firn_frame *frame, size_t most)
{
    size_t stride = most > 0 ? (frame->count + most - 1) / most : frame->count + 1, kept = 0;
    if (stride <= 1)
        return;
    for (size_t i = 0; i < frame->count; i += stride, kept++) {
        if (frame->id)
            frame->id[kept] = frame->id[i];
        if (frame->object)
            frame->object[kept] = frame->object[i];
        if (frame->position)
            memmove(frame->position + 3 * kept, frame->position + 3 * i, 3 * sizeof(float));
        if (frame->place)
            memmove(frame->place + 3 * kept, frame->place + 3 * i, 3 * sizeof(double));
        if (frame->velocity)
            memmove(frame->velocity + 3 * kept, frame->velocity + 3 * i, 3 * sizeof(float));
        if (frame->mass)
            frame->mass[kept] = frame->mass[i];
        if (frame->density)
            frame->density[kept] = frame->density[i];
        if (frame->J_P)
            frame->J_P[kept] = frame->J_P[i];
    }
    frame->count = kept;
}

/* ---- what is to come ------------------------------------------------------------------------- */

/* A body of snow as a few points that fall, bounce off nothing and slide on colliders: not where the
 * snow will be, but about how far it will go. */
typedef struct scouts {
    size_t count;
    double (*position)[3], (*velocity)[3];
} scouts;

/* Some of the particles of a file, evenly by their order. */
static void add_points(scouts *s, const scene_snow *snow, int dimensions, size_t most)
{
    const point_set *set = snow->points.set;
    size_t d = (size_t)dimensions, stride = set->table.count / most + 1;
    for (size_t p = 0; p < set->table.count; p += stride) {
        memset(s->position[s->count], 0, sizeof *s->position);
        memcpy(s->position[s->count], set->state[FIRN_POSITION] + p * d, d * sizeof(double));
        memcpy(s->velocity[s->count], snow->velocity, sizeof *s->velocity);
        for (size_t i = 0; set->state[FIRN_VELOCITY] && i < d; i++)
            s->velocity[s->count][i] += set->state[FIRN_VELOCITY][p * d + i];
        s->count++;
    }
}

static void add_scouts(scouts *s, const scene_snow *snow, int dimensions)
{
    double low[3], high[3];
    int depth = dimensions == 2 ? 1 : SIDE;
    if (!snow->shape) {
        add_points(s, snow, dimensions, (size_t)(SIDE * SIDE * depth));
        return;
    }
    if (!shape_bounds(snow->shape, dimensions, low, high))
        return;
    for (int k = 0; k < SIDE * SIDE * depth; k++) {
        const int at[3] = {k % SIDE, k / SIDE % SIDE, k / (SIDE * SIDE)};
        double x[3] = {0, 0, 0};
        for (int a = 0; a < dimensions; a++)
            x[a] = low[a] + (high[a] - low[a]) * at[a] / (SIDE - 1);
        double outside = shape_distance(snow->shape, x, NULL);
        if (outside > 0.1 * (high[0] - low[0] + high[1] - low[1]))
            continue;
        memcpy(s->position[s->count], x, sizeof x);
        memcpy(s->velocity[s->count++], snow->velocity, sizeof x);
    }
}

static void push_out(const collider_set *set, double x[3])
{
    for (size_t i = 0; i < set->count; i++) {
        double normal[3], phi = collider_distance(&set->items[i], &set->poses[i], x, normal, NULL);
        for (int a = 0; a < 3 && phi < 0; a++)
            x[a] -= phi * normal[a];
    }
}

static void advance(scouts *s, const collider_set *set, const double gravity[3], double dt)
{
    for (size_t i = 0; i < s->count; i++) {
        double *x = s->position[i], *v = s->velocity[i];
        for (int a = 0; a < 3; a++)
            v[a] += dt * gravity[a];
        collide_velocity(set, COLLIDER_ALL, x, v);
        for (int a = 0; a < 3; a++)
            x[a] += dt * v[a];
        push_out(set, x);
    }
}

/* A frame that has nothing but where its particles are. */
static void take_frame(const scouts *s, const firn_scene *scene, double time, float *positions,
                       firn_frame *frame)
{
    *frame = (firn_frame){.dimensions = scene->settings.dimensions,
                          .count = s->count,
                          .time = time,
                          .cell_size = scene->settings.cell_size,
                          .position = positions};
    for (size_t i = 0; i < 3 * s->count; i++)
        positions[i] = (float)s->position[i / 3][i % 3];
}

static firn_status send(scouts *s, const firn_scene *scene, float *positions, int width, int height,
                        firn_camera *out)
{
    firn_frame frames[MOMENTS + 1];
    collider_set set;
    firn_status status = scene_colliders(scene, &set);
    if (status != FIRN_OK)
        return status;
    const firn_settings *settings = &scene->settings;
    double dt = settings->frames / settings->fps / (MOMENTS * STEPS_A_MOMENT), time = 0;
    for (int m = 0; m <= MOMENTS; m++) {
        take_frame(s, scene, time, positions + (size_t)m * 3 * s->count, &frames[m]);
        for (int k = 0; k < STEPS_A_MOMENT && m < MOMENTS; k++, time += dt)
            if ((status = collider_set_move(&set, time)) == FIRN_OK)
                advance(s, &set, settings->gravity, dt);
    }
    collider_set_clear(&set);
    return status != FIRN_OK ? status
                             : firn_camera_frame(frames, MOMENTS + 1, scene, width, height, out);
}

firn_status firn_camera_foresee(const firn_scene *scene, int width, int height, firn_camera *out)
{
    size_t most = scene->snow_count * SIDE * SIDE * SIDE + 1;
    scouts s = {.position = calloc(most, sizeof *s.position),
                .velocity = calloc(most, sizeof *s.velocity)};
    float *positions = calloc(3 * most * (MOMENTS + 1), sizeof *positions);
    firn_status status = FIRN_OK;
    if (!s.position || !s.velocity || !positions) {
        status = fail(FIRN_NO_MEMORY, "no memory to place a camera");
    } else {
        for (size_t i = 0; i < scene->snow_count; i++)
            add_scouts(&s, &scene->snow[i], scene->settings.dimensions);
        status = send(&s, scene, positions, width, height, out);
    }
    free(s.position);
    free(s.velocity);
    free(positions);
    return status;
}
