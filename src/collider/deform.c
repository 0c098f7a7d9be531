#include "collider/deform.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "shape/level_set_refine.h"
#include "status.h"

/* In cells: where distances are exact about the surface at any time, and how far a point may move from
 * key to key. */
static const double BAND = 1.5, TRAVEL = 2;

/* The widest band that level_set_refine makes, in voxels. */
static const double WIDEST = 9;

/* More keys than this from frame to frame, and the mistake is the scale. */
static const double MOST_PARTS = 4096;

enum { WINDOW = 4, LOOKS = 5 }; /* frames that a curve needs; looks at its speed */

typedef struct span {
    double speed; /* m/s, the largest of any vertex */
    size_t parts; /* keys from its frame to the next */
    size_t first; /* key at its frame */
} span;

typedef struct slot {
    size_t number;
    deform_key *key;
    double bytes;
    uint64_t used;
} slot;

typedef struct frame {
    size_t number;
    double (*x)[3]; /* owned; NULL: empty */
    uint64_t used;
} frame;

struct deform {
    int shares;
    mesh_sequence *sequence; /* owned */
    double voxel, band, travel, shell, budget;
    uint64_t fingerprint;
    span *spans; /* from each frame to the next; the last has only its key; owned */
    double (*low)[3], (*high)[3]; /* of each frame; owned */
    pthread_mutex_t lock;         /* of all below */
    slot *slots;                  /* keys in memory; owned */
    size_t slot_count;
    frame window[WINDOW];
    uint64_t clock;
};

static firn_status out_of_memory(void)
{
    return fail(FIRN_NO_MEMORY, "not enough memory for a body that deforms");
}

/* ---- Vertices in time ------------------------------------------------------------------------ */

/* A frame's vertices; borrowed until WINDOW others have been read. */
static firn_status read_frame(deform *d, size_t number, const double (**x)[3])
{
    frame *f = &d->window[0];
    for (int k = 0; k < WINDOW; k++) {
        if (d->window[k].x && d->window[k].number == number) {
            f = &d->window[k];
            break;
        }
        if (d->window[k].used < f->used)
            f = &d->window[k];
    }
    size_t count = d->sequence->mesh.vertex_count;
    if (!f->x || f->number != number) {
        if (!f->x && !(f->x = malloc((count + 1) * sizeof *f->x)))
            return out_of_memory();
        f->number = SIZE_MAX;
        firn_status status = mesh_sequence_read(d->sequence, number, f->x);
        if (status != FIRN_OK)
            return status;
        f->number = number;
    }
    f->used = ++d->clock;
    *x = (const double(*)[3])f->x;
    return FIRN_OK;
}

/* The four frames about a span, their times, and where the ends of the span are among them. */
typedef struct curve {
    const double (*x[WINDOW])[3]; /* the frame before, both ends, the frame after */
    double t[WINDOW];
} curve;

static firn_status curve_of(deform *d, size_t from, curve *c)
{
    size_t last = d->sequence->count - 1;
    const size_t number[WINDOW] = {from > 0 ? from - 1 : 0, from, from + 1,
                                   from + 2 <= last ? from + 2 : last};
    firn_status status = FIRN_OK;
    for (int k = 0; k < WINDOW && status == FIRN_OK; k++) {
        status = read_frame(d, number[k], &c->x[k]);
        c->t[k] = d->sequence->times[number[k]];
    }
    return status;
}

/* Place and velocity of a vertex at u in [0, 1] of the span: a cubic whose slopes at the ends are
 * those of the chord of the neighbours. */
static void along(const curve *c, size_t vertex, double u, double x[3], double v[3])
{
    double T = c->t[2] - c->t[1];
    for (int i = 0; i < 3; i++) {
        const double p[WINDOW] = {c->x[0][vertex][i], c->x[1][vertex][i], c->x[2][vertex][i],
                                  c->x[3][vertex][i]};
        double m0 = (p[2] - p[0]) / (c->t[2] - c->t[0]), m1 = (p[3] - p[1]) / (c->t[3] - c->t[1]);
        double way = p[2] - p[1];
        x[i] = p[1] + u * u * (3 - 2 * u) * way + u * (1 - u) * T * ((1 - u) * m0 - u * m1);
        v[i] = 6 * u * (1 - u) * way / T + (1 - u) * (1 - 3 * u) * m0 + u * (3 * u - 2) * m1;
    }
}

/* ---- All frames once ------------------------------------------------------------------------- */

static double fastest(const curve *c, size_t vertex_count)
{
    double square = 0;
#pragma omp parallel for reduction(max : square)
    for (size_t n = 0; n < vertex_count; n++)
        for (int k = 0; k < LOOKS; k++) {
            double x[3], v[3];
            along(c, n, (double)k / (LOOKS - 1), x, v);
            square = fmax(square, v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        }
    return sqrt(square);
}

static firn_status survey_frame(deform *d, size_t number)
{
    const double(*x)[3] = NULL;
    firn_status status = read_frame(d, number, &x);
    size_t count = d->sequence->mesh.vertex_count;
    if (status != FIRN_OK)
        return status;
    for (int i = 0; i < 3; i++) {
        d->low[number][i] = INFINITY;
        d->high[number][i] = -INFINITY;
    }
    for (size_t n = 0; n < count; n++)
        for (int i = 0; i < 3; i++) {
            d->low[number][i] = fmin(d->low[number][i], x[n][i]);
            d->high[number][i] = fmax(d->high[number][i], x[n][i]);
        }
    const uint64_t parts[] = {d->fingerprint, input_hash(x, count * sizeof *x)};
    d->fingerprint = input_hash(parts, sizeof parts);
    return FIRN_OK;
}

static firn_status survey_span(deform *d, size_t number)
{
    curve c = {0};
    firn_status status = curve_of(d, number, &c);
    if (status != FIRN_OK)
        return status;
    span *s = &d->spans[number];
    s->speed = fastest(&c, d->sequence->mesh.vertex_count);
    double parts = fmax(1, ceil(s->speed * (c.t[2] - c.t[1]) / d->travel - 1e-6));
    if (!(parts <= MOST_PARTS)) {
        char *name = mesh_sequence_name(d->sequence, number);
        status = fail(FIRN_BAD_SCENE,
                      "%s: from here to the next frame a vertex moves at %g m/s, %.3g cells: use "
                      "more frames, or check `scale`, `fps` and the order of vertices",
                      name ? name : "", s->speed, parts * TRAVEL);
        free(name);
        return status;
    }
    s->parts = (size_t)parts;
    s[1].first = s->first + s->parts;
    return FIRN_OK;
}

static firn_status survey(deform *d)
{
    size_t count = d->sequence->count;
    const triangle_mesh *m = &d->sequence->mesh;
    const double how[] = {d->voxel, d->band, d->travel, d->shell};
    const uint64_t parts[] = {input_hash(m->triangles, m->triangle_count * sizeof *m->triangles),
                              input_hash(d->sequence->times, count * sizeof *d->sequence->times),
                              input_hash(how, sizeof how)};
    d->fingerprint = input_hash(parts, sizeof parts);
    firn_status status = FIRN_OK;
    for (size_t k = 0; k < count && status == FIRN_OK; k++) {
        status = survey_frame(d, k);
        if (status == FIRN_OK && k + 1 < count)
            status = survey_span(d, k);
    }
    return status;
}

firn_status deform_create(mesh_sequence *sequence, const deform_request *r, deform **out)
{
    deform *d = *out = calloc(1, sizeof *d);
    if (!d) {
        mesh_sequence_close(&sequence);
        return out_of_memory();
    }
    d->shares = 1;
    d->sequence = sequence;
    d->voxel = r->voxel;
    d->shell = r->shell;
    d->budget = r->budget;
    d->band = fmin((BAND + TRAVEL) * r->cell, WIDEST * r->voxel);
    d->travel = d->band * TRAVEL / (BAND + TRAVEL);
    pthread_mutex_init(&d->lock, NULL);
    d->spans = calloc(sequence->count, sizeof *d->spans);
    d->low = malloc(sequence->count * sizeof *d->low);
    d->high = malloc(sequence->count * sizeof *d->high);
    firn_status status = d->spans && d->low && d->high ? survey(d) : out_of_memory();
    if (status != FIRN_OK)
        deform_release(out);
    return status;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static void key_destroy(deform_key *key)
{
    level_set_release(&key->set);
    free(key->velocity);
    free(key);
}

typedef struct surface {
    const mesh_tree *tree;
    const triangle_mesh *mesh;
    const double (*speed)[3]; /* of its vertices */
    double reach;             /* how far it can be from a sample */
} surface;

/* The velocity of the surface at the point nearest to x. The distance that was found before, at
 * `last`, bounds the search. */
static void surface_velocity(const surface *s, const double x[3], double last[4], float v[3])
{
    double square = 0;
    for (int i = 0; i < 3; i++)
        square += (x[i] - last[i]) * (x[i] - last[i]);
    double reach = fmin(s->reach, (last[3] + sqrt(square)) * (1 + 1e-9));
    mesh_point p = mesh_tree_nearest(s->tree, x, reach);
    for (int i = 0; i < 3; i++) {
        double sum = 0;
        for (int k = 0; k < 3 && isfinite(p.distance); k++)
            sum += p.barycentric[k] * s->speed[s->mesh->triangles[p.triangle][k]][i];
        v[i] = (float)sum;
        last[i] = x[i];
    }
    last[3] = p.distance;
}

static bool fill_velocity(deform_key *key, const surface *s)
{
    const level_set *set = key->set;
    key->velocity = malloc((set->block_count * DEFORM_BLOCK + 1) * sizeof *key->velocity);
    if (!key->velocity)
        return false;
#pragma omp parallel for schedule(dynamic, 8)
    for (size_t b = 0; b < set->block_count; b++) {
        double last[4] = {0, 0, 0, INFINITY};
        for (int n = 0; n < DEFORM_BLOCK; n++) {
            /* There and back, so that one sample is beside the one before. */
            int z = n / DEFORM_WIDTH / DEFORM_WIDTH, y = n / DEFORM_WIDTH % DEFORM_WIDTH;
            int at[3] = {n % DEFORM_WIDTH, z % 2 ? DEFORM_WIDTH - 1 - y : y, z};
            at[0] = (y + z) % 2 ? DEFORM_WIDTH - 1 - at[0] : at[0];
            double x[3];
            for (int i = 0; i < 3; i++)
                x[i] = set->origin[i] +
                       set->voxel * (set->place[b][i] * LEVEL_SET_CELLS + DEFORM_STEP * at[i]);
            size_t sample = (size_t)((at[2] * DEFORM_WIDTH + at[1]) * DEFORM_WIDTH + at[0]);
            surface_velocity(s, x, last, key->velocity[b * DEFORM_BLOCK + sample]);
        }
    }
    return true;
}

static firn_status build_key(deform *d, const triangle_mesh *m, const double (*speed)[3],
                             deform_key **out)
{
    deform_key *key = *out = calloc(1, sizeof *key);
    mesh_tree *tree = mesh_tree_create(m);
    firn_status status = key && tree ? FIRN_OK : out_of_memory();
    if (status == FIRN_OK)
        status = level_set_from_tree(m, tree, d->voxel, d->band, d->shell, &key->set);
    if (status == FIRN_OK && !(key->set->low[0] < key->set->high[0]))
        status = fail(FIRN_BAD_SCENE,
                      "nothing is inside: the mesh is thinner than its voxels of %g m", d->voxel);
    double diagonal = sqrt(3) * LEVEL_SET_CELLS * d->voxel;
    surface all = {tree, m, speed, d->band + 2 * d->voxel + d->shell / 2 + diagonal};
    if (status == FIRN_OK && !fill_velocity(key, &all))
        status = out_of_memory();
    mesh_tree_destroy(&tree);
    if (status != FIRN_OK && key) {
        key_destroy(key);
        *out = NULL;
    }
    return status;
}

/* The span that a key begins, or for the last key the one that it ends. */
static size_t span_of_key(const deform *d, size_t number)
{
    size_t low = 0, high = d->sequence->count - 1;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        *(d->spans[middle].first <= number ? &low : &high) = middle;
    }
    return low;
}

static firn_status make_key(deform *d, size_t number, deform_key **out)
{
    const triangle_mesh *first = &d->sequence->mesh;
    size_t index = span_of_key(d, number), count = first->vertex_count;
    const span *s = &d->spans[index];
    double u = (double)(number - s->first) / (double)s->parts;
    curve c = {0};
    firn_status status = curve_of(d, index, &c);
    triangle_mesh now = *first;
    now.vertices = malloc((count + 1) * sizeof *now.vertices);
    double(*speed)[3] = malloc((count + 1) * sizeof *speed);
    if (status == FIRN_OK && (!now.vertices || !speed))
        status = out_of_memory();
    for (size_t n = 0; n < count && status == FIRN_OK; n++)
        along(&c, n, u, now.vertices[n], speed[n]);
    if (status == FIRN_OK) {
        status = build_key(d, &now, (const double(*)[3])speed, out);
        if (status != FIRN_OK) {
            char *name = mesh_sequence_name(d->sequence, u < 0.5 ? index : index + 1);
            fail_within(status, "%s: ", name ? name : "");
            free(name);
        }
    }
    free(now.vertices);
    free(speed);
    return status;
}

static double bytes_of(const deform_key *key)
{
    const level_set *s = key->set;
    double table = (double)s->size[0] * s->size[1] * s->size[2];
    return 12 * table +
           (double)s->block_count * (sizeof(int32_t[3]) + LEVEL_SET_BLOCK * sizeof(float) +
                                     DEFORM_BLOCK * sizeof(float[3]));
}

double deform_memory(deform *d)
{
    double sum = 0;
    pthread_mutex_lock(&d->lock);
    for (size_t k = 0; k < d->slot_count; k++)
        sum += d->slots[k].bytes;
    pthread_mutex_unlock(&d->lock);
    return sum;
}

/* Forget keys that nobody holds, the one that was wanted longest ago first, until the rest is within
 * the budget. Two may always stay: all that one time needs. */
static void tidy(deform *d)
{
    while (d->slot_count > 2) {
        double idle = 0;
        size_t oldest = SIZE_MAX;
        for (size_t k = 0; k < d->slot_count; k++)
            if (d->slots[k].key->shares == 0) {
                idle += d->slots[k].bytes;
                if (oldest == SIZE_MAX || d->slots[k].used < d->slots[oldest].used)
                    oldest = k;
            }
        if (oldest == SIZE_MAX || idle <= d->budget)
            return;
        key_destroy(d->slots[oldest].key);
        d->slots[oldest] = d->slots[--d->slot_count];
    }
}

/* A key, found or made, and held. */
static firn_status hold_key(deform *d, size_t number, deform_key **out)
{
    slot *found = NULL;
    for (size_t k = 0; k < d->slot_count && !found; k++)
        if (d->slots[k].number == number)
            found = &d->slots[k];
    if (!found) {
        slot *grown = realloc(d->slots, (d->slot_count + 1) * sizeof *grown);
        if (!grown)
            return out_of_memory();
        d->slots = grown;
        found = &grown[d->slot_count];
        *found = (slot){.number = number};
        firn_status status = make_key(d, number, &found->key);
        if (status != FIRN_OK)
            return status;
        found->bytes = bytes_of(found->key);
        d->slot_count++;
    }
    found->used = ++d->clock;
    found->key->shares++;
    *out = found->key;
    return FIRN_OK;
}

/* ---- At a time ------------------------------------------------------------------------------- */

/* The span of a time; 0 before the first frame, the last one after the last. */
static size_t span_of_time(const deform *d, double time)
{
    const double *t = d->sequence->times;
    size_t low = 0, high = d->sequence->count - 1;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        *(t[middle] <= time ? &low : &high) = middle;
    }
    return low;
}

firn_status deform_hold(deform *d, double time, deform_pose *pose)
{
    const double *t = d->sequence->times;
    size_t index = span_of_time(d, time), last = d->sequence->count - 1;
    const span *s = &d->spans[index];
    bool rests = time < t[0] || time >= t[last];
    double length = t[index + 1] - t[index], part = (time - t[index]) / length * (double)s->parts;
    size_t whole = rests ? (time < t[0] ? 0 : s->parts) : (size_t)fmin(part, (double)s->parts - 1);
    *pose = (deform_pose){.travel = d->travel};
    if (!rests) {
        pose->blend = part - (double)whole;
        pose->interval = length / (double)s->parts;
    }
    pthread_mutex_lock(&d->lock);
    firn_status status = hold_key(d, s->first + whole, &pose->from);
    if (status == FIRN_OK && !rests)
        status = hold_key(d, s->first + whole + 1, &pose->to);
    tidy(d);
    pthread_mutex_unlock(&d->lock);
    if (status != FIRN_OK)
        deform_let_go(d, pose);
    return status;
}

void deform_let_go(deform *d, deform_pose *pose)
{
    if (pose->from || pose->to) {
        pthread_mutex_lock(&d->lock);
        if (pose->from)
            pose->from->shares--;
        if (pose->to)
            pose->to->shares--;
        tidy(d);
        pthread_mutex_unlock(&d->lock);
    }
    *pose = (deform_pose){0};
}

/* Between frames a cubic leaves the box of its ends by no more than 8/27 of its slopes. */
void deform_bounds(const deform *d, double time, double low[3], double high[3])
{
    size_t k = span_of_time(d, time);
    double out = d->shell / 2 +
                 d->spans[k].speed * 8 / 27 * (d->sequence->times[k + 1] - d->sequence->times[k]);
    for (int i = 0; i < 3; i++) {
        low[i] = fmin(d->low[k][i], d->low[k + 1][i]) - out;
        high[i] = fmax(d->high[k][i], d->high[k + 1][i]) + out;
    }
}

double deform_speed(const deform *d, double from, double to)
{
    const double *t = d->sequence->times;
    if (to < t[0] || from >= t[d->sequence->count - 1])
        return 0;
    double speed = 0;
    for (size_t k = span_of_time(d, from); k <= span_of_time(d, to); k++)
        speed = fmax(speed, d->spans[k].speed);
    return speed;
}

uint64_t deform_fingerprint(const deform *d)
{
    return d->fingerprint;
}

deform *deform_share(deform *d)
{
    if (d)
        __atomic_add_fetch(&d->shares, 1, __ATOMIC_RELAXED);
    return d;
}

void deform_release(deform **deform_)
{
    deform *d = *deform_;
    *deform_ = NULL;
    if (!d || __atomic_sub_fetch(&d->shares, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t k = 0; k < d->slot_count; k++)
        key_destroy(d->slots[k].key);
    for (int k = 0; k < WINDOW; k++)
        free(d->window[k].x);
    free(d->slots);
    free(d->spans);
    free(d->low);
    free(d->high);
    mesh_sequence_close(&d->sequence);
    pthread_mutex_destroy(&d->lock);
    free(d);
}
