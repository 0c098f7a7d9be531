#include "render/volume_track.h"

#include "render/volume_grid.h"

/* A ray on its way through the grid; lengths in voxels. */
typedef struct walk {
    const volume *v;
    vec3 start, direction;
    float inverse[3]; /* of the direction; not needed before the first block is left */
    float t, end;
    volume_spot spot; /* the block that holds the point at t */
    vec3 local;       /* start, relative to the block's corner */
} walk;

static inline float axis_of(vec3 x, int axis)
{
    return axis == 0 ? x.x : axis == 1 ? x.y : x.z;
}

/* 1/d, finite: a ray along an axis meets the walls beside it very far away. */
static inline float invert(float d)
{
    const float least = 1e-12f;
    return 1 / (fabsf(d) < least ? copysignf(least, d) : d);
}

static inline int clamp_int(int x, int low, int high)
{
    return x < low ? low : x > high ? high : x;
}

static void place_axis(walk *w, int axis, int low, int high)
{
    float x = axis_of(w->start, axis) + w->t * axis_of(w->direction, axis);
    w->spot.at[axis] = clamp_int((int)(x * (1.0f / BLOCK_CELLS)), low, high);
}

static void set_inverse(walk *w)
{
    w->inverse[0] = invert(w->direction.x);
    w->inverse[1] = invert(w->direction.y);
    w->inverse[2] = invert(w->direction.z);
}

static inline void set_local(walk *w)
{
    const float side = BLOCK_CELLS;
    const int *at = w->spot.at;
    vec3 corner = {side * (float)at[0], side * (float)at[1], side * (float)at[2]};
    w->local = vec_sub(w->start, corner);
}

/* Where the ray leaves the box of `side` blocks that holds the spot, and through which axis. */
static float box_exit(const walk *w, int side, int *axis)
{
    float nearest = INFINITY;
    for (int a = 0; a < 3; a++) {
        int first = w->spot.at[a] / side * side, ahead = w->inverse[a] > 0 ? side : 0;
        float wall = (float)((first + ahead) * BLOCK_CELLS);
        float t = (wall - axis_of(w->start, a)) * w->inverse[a];
        if (t < nearest)
            nearest = t, *axis = a;
    }
    return greater(nearest, w->t);
}

/* Into the next box of `side` blocks; false at the end. The axis that is crossed moves by whole numbers,
 * the others stay in the box's range: rounding can neither skip a box nor turn back. */
static bool cross_box(walk *w, int side, int axis, float exit)
{
    w->t = exit;
    if (exit >= w->end)
        return false;
    for (int a = 0; a < 3; a++) {
        int first = w->spot.at[a] / side * side;
        if (a == axis)
            w->spot.at[a] = w->inverse[a] > 0 ? first + side : first - 1;
        else if (side > 1)
            place_axis(w, a, first, first + side - 1);
    }
    return w->spot.at[axis] >= 0 && w->spot.at[axis] < w->v->size[axis] * REGION_SIDE;
}

/* The next block with snow in it at or after t; false at the end. */
static bool find_block(walk *w)
{
    for (;;) {
        int axis = 0, side = REGION_SIDE;
        uint32_t number = w->v->table[volume_table_of_block(w->v, w->spot.at)];
        if (number) {
            const volume_region *region = &w->v->regions[number - 1];
            int slot = volume_slot_of_block(w->spot.at);
            w->spot.bound = region->bound[slot];
            if (w->spot.bound > 0) {
                w->spot.block = &w->v->blocks[region->block[slot] - 1];
                set_local(w);
                return true;
            }
            side = 1;
        }
        float exit = box_exit(w, side, &axis);
        if (!cross_box(w, side, axis, exit))
            return false;
    }
}

/* From a spot that is not known: to the grid, then to the first block with snow. */
static bool enter_grid(walk *w)
{
    const volume *v = w->v;
    set_inverse(w);
    for (int a = 0; a < 3; a++) {
        float x = axis_of(w->start, a), inverse = w->inverse[a];
        float near = -x * inverse, far = ((float)(v->size[a] * REGION_CELLS) - x) * inverse;
        w->t = greater(w->t, lesser(near, far));
        w->end = lesser(w->end, greater(near, far));
    }
    if (!(w->t < w->end))
        return false;
    for (int a = 0; a < 3; a++)
        place_axis(w, a, 0, v->size[a] * REGION_SIDE - 1);
    return find_block(w);
}

static inline bool walk_begin(walk *w, const volume *v, const volume_ray *ray,
                              const volume_spot *spot)
{
    float per_voxel = 1 / v->voxel;
    w->v = v;
    w->start = vec_scale(vec_sub(ray->start, v->low), per_voxel);
    w->direction = ray->direction;
    w->t = 0;
    w->end = ray->limit * per_voxel;
    if (!spot->block)
        return enter_grid(w);
    w->spot = *spot;
    w->inverse[0] = 0;
    set_local(w);
    return true;
}

/* Leaves the block, with what is left of the optical depth; false at the end. */
static bool leave_block(walk *w, float rate, float *depth)
{
    int axis = 0;
    if (w->inverse[0] == 0)
        set_inverse(w);
    float exit = box_exit(w, 1, &axis);
    *depth = greater(*depth - (exit - w->t) * rate, 0);
    return cross_box(w, 1, axis, exit) && find_block(w);
}

/* To the next place in the block where a collision is tried; false when there is none before its end. */
static inline bool advance(walk *w, float step, vec3 *x)
{
    const float side = BLOCK_CELLS;
    float t = w->t + step;
    *x = vec_add(w->local, vec_scale(w->direction, t));
    bool inside = x->x >= 0 && x->y >= 0 && x->z >= 0 && x->x <= side && x->y <= side &&
                  x->z <= side && t < w->end;
    w->t = inside ? t : w->t;
    return inside;
}

float volume_flight(const volume *v, const volume_ray *ray, float extinction, volume_spot *spot,
                    trace_random *random)
{
    walk w;
    float depth = -logf(random_float(random)), u[2];
    if (!walk_begin(&w, v, ray, spot))
        return INFINITY;
    do {
        const float rate = w.spot.bound * extinction * v->voxel, per_rate = 1 / rate;
        vec3 x;
        while (advance(&w, depth * per_rate, &x)) {
            random_pair(random, u);
            if (u[0] * w.spot.bound < block_density(w.spot.block, x)) {
                *spot = w.spot;
                return w.t * v->voxel;
            }
            depth = -logf(u[1]);
        }
        if (!leave_block(&w, rate, &depth))
            return INFINITY;
    } while (true);
}

float volume_transmittance(const volume *v, const volume_ray *ray, float extinction,
                           volume_spot spot, trace_random *random)
{
    const float doubtful = 0.3f; /* less is not worth following: a roulette decides */
    walk w;
    float depth = -logf(random_float(random)), passed = 1, u[2];
    if (!walk_begin(&w, v, ray, &spot))
        return 1;
    do {
        const float rate = w.spot.bound * extinction * v->voxel, per_rate = 1 / rate;
        vec3 x;
        while (advance(&w, depth * per_rate, &x)) {
            random_pair(random, u);
            passed *= 1 - block_density(w.spot.block, x) / w.spot.bound;
            if (passed < doubtful) {
                if (u[0] * doubtful >= passed)
                    return 0;
                passed = doubtful;
            }
            depth = -logf(u[1]);
        }
        if (!leave_block(&w, rate, &depth))
            return passed;
    } while (true);
}
