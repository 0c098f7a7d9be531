#include "shape/stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"

/* Mean distances between points: along a period, and cut off around a sampled block, where a maximal
 * set of points is denser than inside. */
enum { PERIOD_SPACINGS = 16, MARGIN_SPACINGS = 2 };

/* The frame of the flow: `axis[0]` along it, the others across; a block in it that the shape's shadow
 * fits into. */
typedef struct channel {
    int dimensions;
    double speed, spacing, axis[3][3];
    double low[3], high[3]; /* of the shape, along the axes */
    double length;          /* of a period */
} channel;

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Two directions across a unit vector; in 2D the first lies in the plane. */
static void fill_frame(double axis[3][3])
{
    const double *e = axis[0];
    const double side[3] = {0, fabs(e[2]) > 0.9, fabs(e[2]) <= 0.9};
    double *f = axis[1], *g = axis[2];
    for (int pass = 0; pass < 2; pass++) {
        const double *a = pass ? e : side, *b = pass ? f : e;
        double *out = pass ? g : f;
        out[0] = a[1] * b[2] - a[2] * b[1];
        out[1] = a[2] * b[0] - a[0] * b[2];
        out[2] = a[0] * b[1] - a[1] * b[0];
        double length = sqrt(dot(out, out));
        for (int i = 0; i < 3; i++)
            out[i] /= length;
    }
}

static channel channel_of(const sample_request *r, const double velocity[3])
{
    channel c = {.dimensions = r->dimensions, .speed = sqrt(dot(velocity, velocity))};
    double low[3] = {0}, high[3] = {0};
    shape_bounds(r->shape, r->dimensions, low, high);
    if (r->dimensions == 2)
        low[2] = high[2] = 0;
    for (int i = 0; i < 3; i++)
        c.axis[0][i] = c.speed > 0 ? velocity[i] / c.speed : i == 0;
    fill_frame(c.axis);
    c.spacing = pow(r->points_per_volume, -1.0 / r->dimensions);
    for (int a = 0; a < 3; a++) {
        double middle = 0, half = 0;
        for (int i = 0; i < 3; i++) {
            middle += c.axis[a][i] * (low[i] + high[i]) / 2;
            half += fabs(c.axis[a][i]) * (high[i] - low[i]) / 2;
        }
        c.low[a] = middle - half;
        c.high[a] = middle + half;
    }
    double reach = c.high[0] - c.low[0];
    c.length = c.speed > 0 ? PERIOD_SPACINGS * c.spacing : reach + c.spacing;
    return c;
}

static void to_world(const channel *c, const double u[3], double x[3])
{
    for (int i = 0; i < 3; i++)
        x[i] = u[0] * c->axis[0][i] + u[1] * c->axis[1][i] + u[2] * c->axis[2][i];
}

/* ---- The pattern ----------------------------------------------------------------------------- */

/* A block of points in the frame of the flow: one period long, as wide as the shape's shadow. */
typedef struct pattern {
    size_t count;
    double (*u)[3];
    double volume; /* to a point */
} pattern;

static firn_status lattice_pattern(channel *c, pattern *p)
{
    size_t n[3] = {1, 1, 1}, total = 1;
    for (int a = 0; a < c->dimensions; a++) {
        double extent = a == 0 ? c->length : c->high[a] - c->low[a];
        n[a] = (size_t)fmax(1, ceil(extent / c->spacing - 1e-9));
        total *= n[a];
    }
    c->length = (double)n[0] * c->spacing;
    p->u = malloc(total * sizeof *p->u);
    if (!p->u)
        return fail(FIRN_NO_MEMORY, "out of memory for %zu points of a stream", total);
    for (size_t k = 0; k < total; k++) {
        const size_t at[3] = {k % n[0], k / n[0] % n[1], k / (n[0] * n[1])};
        for (int a = 0; a < 3; a++) {
            double middle = (c->low[a] + c->high[a] - (double)n[a] * c->spacing) / 2;
            p->u[k][a] = a < c->dimensions
                             ? (a == 0 ? c->low[0] : middle) + ((double)at[a] + 0.5) * c->spacing
                             : 0;
        }
    }
    p->count = total;
    p->volume = pow(c->spacing, c->dimensions);
    return FIRN_OK;
}

/* The points of a larger block that lie in the inner one. */
static bool cut_out(const channel *c, const sample_points *points, const double half[3],
                    double margin, pattern *p)
{
    size_t d = (size_t)c->dimensions;
    free(p->u);
    p->count = 0;
    p->u = malloc((points->count + 1) * sizeof *p->u);
    for (size_t k = 0; p->u && k < points->count; k++) {
        const double *at = points->position + k * d;
        double u[3] = {0};
        bool within = true;
        for (size_t a = 0; a < d; a++) {
            within = within && at[a] >= margin - half[a] && at[a] < half[a] - margin;
            u[a] = at[a] - (margin - half[a]) + c->low[a];
        }
        if (within)
            memcpy(p->u[p->count++], u, sizeof u);
    }
    return p->u != NULL;
}

/* Sampled in a larger block and cut out of it. The larger one has the density that was asked for, but
 * the crowd at its surface is not in the inner one: so again, denser, until that has it. */
static firn_status sampled_pattern(const sample_request *r, const channel *c, pattern *p)
{
    double margin = MARGIN_SPACINGS * c->spacing, half[4] = {0}, size = 1;
    for (int a = 0; a < c->dimensions; a++) {
        double extent = a == 0 ? c->length : c->high[a] - c->low[a];
        half[a] = extent / 2 + margin;
        size *= extent;
    }
    half[2] = c->dimensions == 2 ? INFINITY : half[2];
    shape *block = shape_primitive(SHAPE_BOX, half);
    if (!block)
        return fail(FIRN_NO_MEMORY, "out of memory for a stream");
    sample_request outer = *r;
    outer.shape = block;
    const double expected = r->points_per_volume * size, close_enough = 0.01;
    firn_status status = FIRN_OK;
    for (int round = 0; round < 4 && status == FIRN_OK; round++) {
        sample_points points;
        status = sample_shape(&outer, &points);
        if (status == FIRN_OK && !cut_out(c, &points, half, margin, p))
            status = fail(FIRN_NO_MEMORY, "out of memory for a stream");
        sample_points_clear(&points);
        double ratio = expected / fmax((double)p->count, expected / 2);
        if (fabs(ratio - 1) < close_enough)
            break;
        outer.points_per_volume *= ratio;
    }
    shape_destroy(&block);
    if (status == FIRN_OK && p->count == 0)
        status = fail(FIRN_BAD_SCENE, "the shape is too thin to hold a particle of a stream");
    p->volume = size / (double)p->count;
    return status;
}

/* ---- Entering the shape ---------------------------------------------------------------------- */

/* Follow the line of a pattern point through the shape: where it first enters, and is deepest. */
static bool enter(const shape *s, const channel *c, const double u[3], stream_point *out)
{
    double at[3] = {c->low[0], u[1], u[2]}, least = 1e-3 * c->spacing, deepest = INFINITY;
    bool entered = false;
    while (at[0] <= c->high[0] + least) {
        double x[3];
        to_world(c, at, x);
        double phi = shape_distance(s, x, NULL);
        if (phi <= 0 && !entered) {
            entered = true;
            memcpy(out->x, x, sizeof x);
            double period = c->length / c->speed, time = (at[0] - u[0]) / c->speed;
            out->time = time - period * (ceil(time / period) - 1); /* in (0, period] */
        }
        if (phi < deepest) {
            deepest = phi;
            memcpy(out->deep, x, sizeof x);
        }
        if (phi > 0 && entered)
            break;
        at[0] += entered ? fmax(-phi / 4, c->spacing / 16) : fmax(phi, least);
    }
    return entered;
}

static int by_time(const void *a, const void *b)
{
    const stream_point *p = a, *q = b;
    if (p->time != q->time)
        return p->time < q->time ? -1 : 1;
    return memcmp(p->x, q->x, sizeof p->x);
}

static bool append(stream *s, size_t *capacity, const stream_point *p)
{
    if (s->count == *capacity) {
        *capacity = 2 * *capacity + 1024;
        stream_point *points = realloc(s->points, *capacity * sizeof *points);
        if (!points)
            return false;
        s->points = points;
    }
    s->points[s->count++] = *p;
    return true;
}

/* The points that are inside at the start, wherever the pattern repeats. */
static bool add_start(const shape *body, const channel *c, const pattern *p, stream *s,
                      size_t *capacity)
{
    int copies = (int)ceil((c->high[0] - c->low[0]) / c->length);
    for (int copy = 0; copy < copies; copy++)
        for (size_t k = 0; k < p->count; k++) {
            const double u[3] = {p->u[k][0] + copy * c->length, p->u[k][1], p->u[k][2]};
            stream_point point = {0};
            to_world(c, u, point.x);
            memcpy(point.deep, point.x, sizeof point.deep);
            if (shape_distance(body, point.x, NULL) <= 0 && !append(s, capacity, &point))
                return false;
        }
    s->start_count = s->count;
    return true;
}

static firn_status fill(const sample_request *r, const channel *c, const pattern *p, stream *s)
{
    size_t capacity = 0;
    bool room = add_start(r->shape, c, p, s, &capacity);
    for (size_t k = 0; k < p->count && room && c->speed > 0; k++) {
        stream_point point = {0};
        if (enter(r->shape, c, p->u[k], &point))
            room = append(s, &capacity, &point);
    }
    if (!room)
        return fail(FIRN_NO_MEMORY, "out of memory for a stream of %zu points", s->count);
    if (s->count == 0)
        return fail(FIRN_BAD_SCENE, "the shape is too thin to hold a particle of a stream");
    qsort(s->points + s->start_count, s->count - s->start_count, sizeof *s->points, by_time);
    return FIRN_OK;
}

firn_status stream_create(const sample_request *request, const double velocity[3], stream *out)
{
    *out = (stream){.velocity = {velocity[0], velocity[1], velocity[2]}};
    channel c = channel_of(request, velocity);
    pattern p = {0};
    firn_status status = request->method == SAMPLE_LATTICE ? lattice_pattern(&c, &p)
                                                           : sampled_pattern(request, &c, &p);
    out->volume = p.volume;
    out->period = c.speed > 0 ? c.length / c.speed : INFINITY;
    if (status == FIRN_OK)
        status = fill(request, &c, &p, out);
    free(p.u);
    if (status != FIRN_OK)
        stream_clear(out);
    return status;
}

void stream_clear(stream *s)
{
    free(s->points);
    *s = (stream){0};
}

/* ---- Counting -------------------------------------------------------------------------------- */

stream_point stream_at(const stream *s, uint64_t n)
{
    if (n < s->start_count)
        return s->points[n];
    uint64_t in_period = s->count - s->start_count, k = n - s->start_count;
    stream_point p = s->points[s->start_count + k % in_period];
    p.time += (double)(k / in_period) * s->period;
    return p;
}

uint64_t stream_count(const stream *s, double time)
{
    uint64_t in_period = s->count - s->start_count;
    if (!(time >= 0))
        return 0;
    if (in_period == 0)
        return s->start_count;
    double periods = floor(time / s->period);
    uint64_t low = s->start_count + (uint64_t)fmax(periods - 1, 0) * in_period;
    uint64_t high = s->start_count + ((uint64_t)periods + 2) * in_period;
    while (high > low) { /* the first that comes later */
        uint64_t middle = low + (high - low) / 2;
        if (stream_at(s, middle).time <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
