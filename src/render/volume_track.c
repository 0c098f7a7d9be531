#include "render/volume_track.h"

/* What is less than this is not worth following: as often as it is nothing, it counts so much more. */
#define LEAST_TRANSMITTANCE 0.3f

/* A ray on its way through the cells of the grid; lengths in voxels. */
typedef struct walk {
    const volume *v;
    lanes direction, across; /* across: how far it goes in a cell along each axis */
    lanes unit;              /* 1 or -1 along each axis: to the next cell, ... */
    int_lanes stride;        /* ... in places */
    volume_spot spot;        /* where it last came into a block */
    float before;            /* from the ray's start to there */
    float left;              /* from there to its limit */
    float t;                 /* from there to where it is now */
    int place;               /* its cell: see place_of */
    lanes base;              /* spot.x relative to the cell */
    lanes walls;             /* t of the next wall along each axis */
} walk;

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

/* ---- Where there is no snow --------------------------------------------------------------------- */

/* A ray from a point of the grid, going from box to box. */
typedef struct search {
    float from[3], direction[3], inverse[3];
    float t;
    int at[3]; /* the block it is in */
} search;

static search search_from(const float from[3], lanes direction, const int at[3])
{
    search s = {.t = 0};
    for (int a = 0; a < 3; a++) {
        s.from[a] = from[a];
        s.direction[a] = direction[a];
        s.inverse[a] = invert(direction[a]);
        s.at[a] = at[a];
    }
    return s;
}

/* Where the ray leaves the box of `side` blocks that it is in, and through which axis. */
static float box_exit(const search *s, int side, int *axis)
{
    float nearest = INFINITY;
    for (int a = 0; a < 3; a++) {
        int first = s->at[a] / side * side, ahead = s->inverse[a] > 0 ? side : 0;
        float t = ((float)((first + ahead) * BLOCK_CELLS) - s->from[a]) * s->inverse[a];
        if (t < nearest)
            nearest = t, *axis = a;
    }
    return greater(nearest, s->t);
}

/* Into the next box of `side` blocks. The axis that is crossed moves by whole numbers, the others stay in
 * the box's range: rounding can neither skip a box nor turn back. False outside of the grid. */
static bool cross_box(search *s, const volume *v, int side)
{
    int axis = 0;
    s->t = box_exit(s, side, &axis);
    for (int a = 0; a < 3; a++) {
        int first = s->at[a] / side * side;
        float x = s->from[a] + s->t * s->direction[a];
        if (a == axis)
            s->at[a] = s->inverse[a] > 0 ? first + side : first - 1;
        else if (side > 1)
            s->at[a] = clamp_int((int)(x * (1.0f / BLOCK_CELLS)), first, first + side - 1);
    }
    return s->at[axis] >= 0 && s->at[axis] < v->size[axis] * REGION_SIDE;
}

/* To the next block with snow in it; NULL when there is none before `limit`. */
static const volume_block *find_block(search *s, const volume *v, float limit)
{
    const volume_block *block = NULL;
    while (!(block = volume_block_at(v, s->at))) {
        bool region = v->table[volume_table_of_block(v, s->at)];
        if (!cross_box(s, v, region ? 1 : REGION_SIDE) || !(s->t < limit))
            return NULL;
    }
    return block;
}

/* A cell as one number: the node at its corner, and its coordinates along z, y and x, five bits each, of
 * which the upper two tell on which side of the block it is. */
enum {
    PLACE_BITS = 10,
    PLACE_SPARE = 100, /* added to the node: steps out of the block must not make it negative */
    PLACE_Z = 1 + (1 << PLACE_BITS),
    PLACE_Y = BLOCK_SIDE + (1 << (PLACE_BITS + 5)),
    PLACE_X = BLOCK_SIDE * BLOCK_SIDE + (1 << (PLACE_BITS + 10)),
    PLACE_SIDES = 0x18 * ((1 << PLACE_BITS) + (1 << (PLACE_BITS + 5)) + (1 << (PLACE_BITS + 10))),
    PLACE_INSIDE = PLACE_SIDES / 3,
};

static inline int place_of(int_lanes cell)
{
    const int first = BLOCK_CELLS * (BLOCK_SIDE * BLOCK_SIDE + BLOCK_SIDE + 1) - PLACE_SPARE;
    return cell[0] * PLACE_X + cell[1] * PLACE_Y + cell[2] * PLACE_Z - first;
}

static inline bool place_is_inside(int place)
{
    return (place & PLACE_SIDES) == PLACE_INSIDE;
}

/* -1, 0 or 1: on which side of the block. */
static inline int place_side(int place, int axis)
{
    return (place >> (PLACE_BITS + 5 * (2 - axis)) & 31) / BLOCK_CELLS - 1;
}

static inline void begin_block(walk *w)
{
    const lanes half = {0.5f, 0.5f, 0.5f, 0.5f};
    int_lanes cell = __builtin_convertvector(w->spot.x, int_lanes);
    w->place = place_of(cell);
    w->base = w->spot.x - __builtin_convertvector(cell, lanes);
    w->walls = (half + half * w->unit - w->base) * w->unit * w->across;
    w->t = 0;
}

/* The walk goes on in a block, `t` after it last came into one. */
static inline void enter_block(walk *w, float t)
{
    const float first = BLOCK_CELLS, last = 2 * BLOCK_CELLS - 0x1p-20f;
    for (int a = 0; a < 3; a++)
        w->spot.x[a] = lesser(greater(w->spot.x[a], first), last);
    w->before += t;
    w->left -= t;
    begin_block(w);
}

/* To the first block with snow on the way from a point of the grid, which is `t` ahead of the walk. */
__attribute__((noinline)) static bool seek_block(walk *w, const float from[3], const int at[3],
                                                 float t)
{
    search s = search_from(from, w->direction, at);
    w->spot.block = find_block(&s, w->v, w->left - t);
    if (!w->spot.block)
        return false;
    for (int a = 0; a < 3; a++) {
        w->spot.at[a] = s.at[a];
        w->spot.x[a] = s.from[a] + s.t * s.direction[a] - (float)((s.at[a] - 1) * BLOCK_CELLS);
    }
    enter_block(w, t + s.t);
    return true;
}

/* The ray has left the block: into the one beside it, or else the next with snow. */
__attribute__((noinline)) static bool leave_block(walk *w)
{
    int at[3];
    w->spot.x += w->direction * w->t;
    for (int a = 0; a < 3; a++) {
        int side = place_side(w->place, a);
        at[a] = w->spot.at[a] += side;
        w->spot.x[a] -= (float)(side * BLOCK_CELLS);
        if (at[a] < 0 || at[a] >= w->v->size[a] * REGION_SIDE)
            return false;
    }
    w->spot.block = volume_block_at(w->v, at);
    if (w->spot.block) {
        enter_block(w, w->t);
        return true;
    }
    float from[3];
    for (int a = 0; a < 3; a++)
        from[a] = w->spot.x[a] + (float)((at[a] - 1) * BLOCK_CELLS);
    return seek_block(w, from, at, w->t);
}

/* Where a ray whose place is not known comes into the grid: the point, its block and how far away it is.
 * False when it passes by. */
static bool reach_grid(const volume *v, const volume_ray *ray, float from[3], int at[3],
                       float *distance)
{
    const float per_voxel = 1 / v->voxel;
    const float start[3] = {ray->start.x - v->low.x, ray->start.y - v->low.y,
                            ray->start.z - v->low.z};
    const float direction[3] = {ray->direction.x, ray->direction.y, ray->direction.z};
    float enter = 0, exit = ray->limit * per_voxel;
    for (int a = 0; a < 3; a++) {
        from[a] = start[a] * per_voxel;
        float inverse = invert(direction[a]), near = -from[a] * inverse;
        float far = ((float)(v->size[a] * REGION_CELLS) - from[a]) * inverse;
        enter = greater(enter, lesser(near, far));
        exit = lesser(exit, greater(near, far));
    }
    for (int a = 0; a < 3; a++) {
        from[a] += enter * direction[a];
        at[a] = clamp_int((int)(from[a] * (1.0f / BLOCK_CELLS)), 0, v->size[a] * REGION_SIDE - 1);
    }
    *distance = enter;
    return enter < exit;
}

/* From a place that is not known: to the grid, then to the first block with snow. */
__attribute__((noinline)) static bool enter_grid(walk *w, const volume_ray *ray)
{
    float from[3], distance;
    int at[3];
    return reach_grid(w->v, ray, from, at, &distance) && seek_block(w, from, at, distance);
}

/* ---- Where there is ----------------------------------------------------------------------------- */

static inline void set_direction(walk *w, vec3 d)
{
    const int_lanes whole = {PLACE_X, PLACE_Y, PLACE_Z, 0};
    const int least = 0x2b8cbccc; /* 1e-12 */
    w->direction = (lanes){d.x, d.y, d.z, 0};
    int_lanes bits = (int_lanes)w->direction, back = bits >> 31, size = bits & INT32_MAX;
    int_lanes small =
        size < least; /* a ray along an axis meets the walls beside it very far away */
    size = (size & ~small) | (least & small);
    w->across = 1 / (lanes)size;
    w->unit = __builtin_convertvector(back | 1, lanes);
    w->stride = (whole ^ back) - back;
}

static inline bool walk_begin(walk *w, const volume *v, const volume_ray *ray,
                              const volume_spot *spot)
{
    w->v = v;
    set_direction(w, ray->direction);
    w->spot = *spot;
    w->before = 0;
    w->left = ray->limit / v->voxel;
    if (!spot->block)
        return enter_grid(w, ray);
    begin_block(w);
    return true;
}

/* The way through one cell. Along it the density is a cubic. */
typedef struct stretch {
    float from, length;
    lanes low, rise, start,
        way;         /* of the cell's density; first place in it, and from there to the last */
    float near, far; /* density at Gauss's two places */
} stretch;

#define GAUSS_NEAR 0.21132487f
#define GAUSS_FAR 0.78867513f

/* The stretch in the cell at hand. */
static inline stretch walk_look(const walk *w)
{
    const float *node = w->spot.block->nodes + (w->place & ((1 << PLACE_BITS) - 1)) - PLACE_SPARE;
    float to = lesser(lesser(w->walls[0], w->walls[1]), lesser(w->walls[2], w->left));
    stretch s = {.from = w->t, .length = greater(to - w->t, 0), .low = block_face(node)};
    s.rise = block_face(node + BLOCK_SIDE * BLOCK_SIDE) - s.low;
    s.start = w->base + w->direction * w->t;
    s.way = w->direction * s.length;
    s.near = cell_density(s.low, s.rise, s.start + s.way * GAUSS_NEAR);
    s.far = cell_density(s.low, s.rise, s.start + s.way * GAUSS_FAR);
    return s;
}

/* To the end of the stretch and into the next cell; false when that was the last. */
static inline bool walk_on(walk *w, const stretch *s)
{
    float t = s->from + s->length;
    if (!(t < w->left))
        return false;
    int_lanes met = w->walls <= t, steps = met & w->stride;
    w->t = t;
    w->walls += (lanes)(met & (int_lanes)w->across);
    w->base -= (lanes)(met & (int_lanes)w->unit);
    w->place += steps[0] + steps[1] + steps[2];
    return place_is_inside(w->place) || leave_block(w);
}

static inline float mean_density(const stretch *s)
{
    return 0.5f * (s->near + s->far);
}

/* The share of the stretch after which the integral of the density c0 + c1 u + c2 u^2 + c3 u^3 has come to
 * `wanted` of it: that of a line between its ends, then two steps of Newton's. */
static inline float find_share(const stretch *s, float wanted)
{
    const lanes r = s->rise;
    float c0 = cell_density(s->low, r, s->start);
    float c3 = s->way[0] * s->way[1] * s->way[2] * (r[3] - r[2] - r[1] + r[0]);
    float r0 = (s->near - c0) * (1 / GAUSS_NEAR) - c3 * (GAUSS_NEAR * GAUSS_NEAR);
    float r1 = (s->far - c0) * (1 / GAUSS_FAR) - c3 * (GAUSS_FAR * GAUSS_FAR);
    float c2 = (r1 - r0) * (1 / (GAUSS_FAR - GAUSS_NEAR)), c1 = r0 - c2 * GAUSS_NEAR;
    float root = c0 * c0 + 2 * (c1 + c2 + c3) * wanted, even = 2e-3f * mean_density(s);
    float u = lesser(2 * wanted / (c0 + sqrtf(greater(root, 0))), 1);
    for (int k = 0; k < 2; k++) {
        float sum = u * (c0 + u * (c1 * 0.5f + u * (c2 * (1.0f / 3) + u * (c3 * 0.25f))));
        float density = c0 + u * (c1 + u * (c2 + u * c3));
        u = lesser(greater(u - (sum - wanted) / greater(density, even), 0), 1);
    }
    return u;
}

float volume_flight(const volume *v, const volume_ray *ray, float extinction, volume_spot *spot,
                    trace_random *random)
{
    walk w;
    stretch s;
    float depth = random_depth(random_float(random)) / (extinction * v->voxel);
    if (!walk_begin(&w, v, ray, spot))
        return INFINITY;
    do {
        s = walk_look(&w);
        float passed = s.length * mean_density(&s);
        if (depth < passed) {
            float t = s.from + s.length * find_share(&s, depth / s.length);
            *spot = w.spot;
            spot->x = w.spot.x + w.direction * t;
            return (w.before + t) * v->voxel;
        }
        depth -= passed;
    } while (walk_on(&w, &s));
    return INFINITY;
}

float volume_transmittance(const volume *v, const volume_ray *ray, float extinction,
                           volume_spot spot, trace_random *random)
{
    const float least = LEAST_TRANSMITTANCE;
    const float rate = extinction * v->voxel;
    float limit = random_depth(least * random_float(random)) / rate, sum = 0;
    walk w;
    stretch s;
    if (!walk_begin(&w, v, ray, &spot))
        return 1;
    do {
        s = walk_look(&w);
        sum += s.length * mean_density(&s);
        if (!(sum < limit))
            return 0;
    } while (walk_on(&w, &s));
    return greater(expf(-rate * sum), least);
}

/* ---- By trial ----------------------------------------------------------------------------------- */

/* A ray that tries for collisions; lengths in voxels. */
typedef struct trial {
    const volume *v;
    search at;
    const volume_block *block; /* in which it is; NULL: it is through */
    float before;              /* from the ray's start to that of the search */
    float limit;               /* from there to the ray's */
    float rate;                /* tries per voxel and density */
} trial;

static trial trial_begin(const volume *v, const volume_ray *ray, float extinction,
                         const volume_spot *spot)
{
    trial t = {.v = v, .rate = extinction * v->voxel};
    float from[3];
    int at[3];
    for (int a = 0; a < 3; a++) {
        at[a] = spot->at[a];
        from[a] = spot->x[a] + (float)((at[a] - 1) * BLOCK_CELLS);
    }
    if (!spot->block && !reach_grid(v, ray, from, at, &t.before))
        return t;
    t.limit = ray->limit / v->voxel - t.before;
    t.at = search_from(from, (lanes){ray->direction.x, ray->direction.y, ray->direction.z}, at);
    t.block = find_block(&t.at, v, t.limit);
    return t;
}

/* Where it is in its block. */
static lanes trial_place(const trial *t)
{
    const float first = BLOCK_CELLS, last = 2 * BLOCK_CELLS - 0x1p-20f;
    lanes x = {0};
    for (int a = 0; a < 3; a++) {
        float place = t->at.from[a] + t->at.t * t->at.direction[a];
        place -= (float)((t->at.at[a] - 1) * BLOCK_CELLS);
        x[a] = lesser(greater(place, first), last);
    }
    return x;
}

/* On to the next try; returns the share of tries that collide there, -1 when the ray is through. What is
 * left of a way to a try at the end of a block is forgotten: tries have no memory. Snow so dense that
 * there would be thousands of tries in a voxel is no darker than that, so that absurd densities end too. */
static float trial_on(trial *t, trace_random *random)
{
    const float most = 1e4f;
    while (t->block) {
        int axis;
        float exit = lesser(box_exit(&t->at, 1, &axis), t->limit);
        float rate = lesser(t->rate * t->block->bound, most);
        float next = t->at.t + random_depth(random_float(random)) / rate;
        if (next < exit) {
            t->at.t = next;
            return lesser(t->rate * block_density(t->block, trial_place(t)) / rate, 1);
        }
        bool goes_on = exit < t->limit && cross_box(&t->at, t->v, 1);
        t->block = goes_on ? find_block(&t->at, t->v, t->limit) : NULL;
    }
    return -1;
}

float volume_try_flight(const volume *v, const volume_ray *ray, float extinction, volume_spot *spot,
                        trace_random *random)
{
    trial t = trial_begin(v, ray, extinction, spot);
    for (float share; (share = trial_on(&t, random)) >= 0;) {
        if (random_float(random) >= share)
            continue;
        spot->x = trial_place(&t);
        spot->block = t.block;
        memcpy(spot->at, t.at.at, sizeof spot->at);
        return (t.before + t.at.t) * v->voxel;
    }
    return INFINITY;
}

float volume_try_transmittance(const volume *v, const volume_ray *ray, float extinction,
                               volume_spot spot, trace_random *random)
{
    trial t = trial_begin(v, ray, extinction, &spot);
    float passed = 1;
    for (float share; (share = trial_on(&t, random)) >= 0;) {
        passed *= 1 - share;
        if (passed < LEAST_TRANSMITTANCE) {
            if (random_float(random) * LEAST_TRANSMITTANCE >= passed)
                return 0;
            passed = LEAST_TRANSMITTANCE;
        }
    }
    return passed;
}
