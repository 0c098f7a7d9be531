#include "render/volume_drops.h"

#include <stdlib.h>

#include "render/points.h"
#include "render/trace_random.h"
#include "status.h"

void drops_clear(drop_list *list)
{
    free(list->items);
    *list = (drop_list){0};
}

static bool place_particle(const firn_frame *frame, size_t index, const double origin[3],
                           double shift, vec3 *at)
{
    if (!points_local(frame, index, origin, at))
        return false;
    if (shift != 0) {
        const float *v = frame->velocity + 3 * index, s = (float)shift;
        *at = vec_add(*at, (vec3){s * v[0], s * v[1], s * v[2]});
    }
    float mass = frame->mass[index];
    return mass > 0 && mass < INFINITY && points_within(*at);
}

/* Somewhere in a cube around the particle, the same place in every frame. */
static vec3 scatter_grain(const firn_frame *frame, size_t index, int grain, vec3 at, float side)
{
    uint64_t id = frame->id ? frame->id[index] : index;
    trace_random r = random_start(0, id, (uint64_t)grain);
    float u[4];
    random_pair(&r, u);
    random_pair(&r, u + 2);
    float depth = frame->dimensions == 2 ? 0 : u[2] - 0.5f;
    return vec_add(at, vec_scale((vec3){u[0] - 0.5f, u[1] - 0.5f, depth}, side));
}

static bool is_near(vec3 x, vec3 middle, float reach)
{
    return fabsf(x.x - middle.x) < reach && fabsf(x.y - middle.y) < reach &&
           fabsf(x.z - middle.z) < reach;
}

static void measure(drop_list *list)
{
    float lx = INFINITY, ly = INFINITY, lz = INFINITY, hx = -INFINITY, hy = -INFINITY,
          hz = -INFINITY;
#pragma omp parallel for reduction(min : lx, ly, lz) reduction(max : hx, hy, hz)
    for (size_t i = 0; i < list->count; i++) {
        vec3 x = list->items[i].at;
        lx = fminf(lx, x.x), ly = fminf(ly, x.y), lz = fminf(lz, x.z);
        hx = fmaxf(hx, x.x), hy = fmaxf(hy, x.y), hz = fmaxf(hz, x.z);
    }
    list->low = (vec3){lx, ly, lz};
    list->high = (vec3){hx, hy, hz};
}

/* Most drops are kept; those that are not leave gaps, which are closed in order. */
static void close_gaps(drop_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].mass > 0)
            list->items[kept++] = list->items[i];
    list->left_out = list->count - kept;
    list->count = kept;
}

firn_status drops_create(const firn_frame *frame, const double origin[3],
                         const volume_options *options, float reach, drop_list *list)
{
    size_t grains = (size_t)(options->grains > 1 ? options->grains : 1);
    points_sample *sample = malloc(sizeof *sample);
    *list = (drop_list){.count = frame->count * grains};
    list->items = malloc((list->count ? list->count : 1) * sizeof *list->items);
    if (!list->items || !sample) {
        free(sample);
        drops_clear(list);
        return fail(FIRN_NO_MEMORY, "no memory to draw %zu particles", frame->count);
    }
    points_choose(frame, origin, sample);
    vec3 middle = points_bounds(sample).middle;
    float spacing = points_spacing(frame, 1, sample);
    free(sample);
    size_t too_far = 0;
#pragma omp parallel for schedule(static) reduction(+ : too_far)
    for (size_t i = 0; i < frame->count; i++) {
        vec3 at;
        bool placed = place_particle(frame, i, origin, options->shift, &at);
        bool drawn = placed && is_near(at, middle, reach);
        too_far += placed && !drawn;
        for (size_t g = 0; g < grains; g++) {
            vec3 x = drawn && grains > 1 ? scatter_grain(frame, i, (int)g, at, spacing) : at;
            list->items[i * grains + g] = (drop){x, drawn ? frame->mass[i] / (float)grains : 0};
        }
    }
    close_gaps(list);
    list->left_out /= grains;
    list->too_far = too_far;
    measure(list);
    return FIRN_OK;
}
