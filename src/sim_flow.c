#include "sim_flow.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "sim.h"
#include "status.h"

/* Steps between two looks at the kill regions, besides those at frames. */
enum { KILL_EVERY = 16 };

/* Rows that are not worth a team of threads. */
enum { FEW = 4096 };

/* Streams are let out in slices this thick, in cells: adding particles costs a pass over all. */
static const double SLICE = 0.5;

static double length(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/* ---- Emitters -------------------------------------------------------------------------------- */

firn_status flow_create(const firn_scene *scene, flow *f)
{
    *f = (flow){0};
    f->emitters = calloc(scene->snow_count + 1, sizeof *f->emitters);
    if (!f->emitters)
        return fail(FIRN_NO_MEMORY, "out of memory for %zu emitters", scene->snow_count);
    firn_status status = FIRN_OK;
    for (size_t o = 0; o < scene->snow_count && status == FIRN_OK; o++) {
        const scene_snow *snow = &scene->snow[o];
        if (!snow->emits)
            continue;
        flow_emitter *e = &f->emitters[f->emitter_count++];
        e->object = o;
        sample_request request = scene_sampling(scene, o);
        status = stream_create(&request, snow->velocity, &e->stream);
        if (status != FIRN_OK)
            fail_within(status, "%s: snow '%s': ", snow->mark.where, snow->name);
    }
    if (status != FIRN_OK)
        flow_clear(f);
    return status;
}

void flow_clear(flow *f)
{
    for (size_t e = 0; e < f->emitter_count; e++)
        stream_clear(&f->emitters[e].stream);
    free(f->emitters);
    *f = (flow){0};
}

/* Seconds between two slices of a stream; 0 for one that stands still and comes at once. */
static double slice_time(const firn_scene *scene, const flow_emitter *e)
{
    double speed = length(e->stream.velocity);
    return speed > 0 ? SLICE * scene->settings.cell_size / speed : 0;
}

uint64_t flow_count(const firn_scene *scene, const flow_emitter *e, double time)
{
    const scene_emit *emit = &scene->snow[e->object].emit;
    double slice = slice_time(scene, e), since = time - emit->start;
    if (emit->until > 0 && time >= emit->until)
        since = emit->until - emit->start;
    else if (slice > 0)
        since = slice * floor(since / slice);
    uint64_t count = stream_count(&e->stream, since);
    return emit->count > 0 && (double)count > emit->count ? (uint64_t)emit->count : count;
}

static bool is_over(const firn_scene *scene, const flow_emitter *e, double time)
{
    const scene_emit *emit = &scene->snow[e->object].emit;
    return (emit->until > 0 && time >= emit->until) ||
           (emit->count > 0 && (double)flow_count(scene, e, time) >= emit->count);
}

/* Whether anything is still to come before the next frame, which no step passes. */
static bool is_flowing(const firn_scene *scene, const flow_emitter *e, double time)
{
    return time + 1 / scene->settings.fps >= scene->snow[e->object].emit.start &&
           !is_over(scene, e, time);
}

double flow_speed(const firn_sim *sim)
{
    double speed = 0;
    for (size_t k = 0; k < sim->flow.emitter_count; k++)
        if (is_flowing(sim->scene, &sim->flow.emitters[k], sim->time))
            speed = fmax(speed, length(sim->flow.emitters[k].stream.velocity));
    return speed;
}

/* When an emitter next does something, or begins to have a say in steps. */
static double next_event(const firn_scene *scene, const flow_emitter *e, double time)
{
    const scene_emit *emit = &scene->snow[e->object].emit;
    const double slice = slice_time(scene, e), says = emit->start - 1 / scene->settings.fps;
    if (is_over(scene, e, time))
        return INFINITY;
    if (time < emit->start)
        return time < says ? says : emit->start;
    double next =
        slice > 0 ? emit->start + slice * (floor((time - emit->start) / slice) + 1) : INFINITY;
    return emit->until > 0 ? fmin(next, emit->until) : next;
}

double flow_pause(const firn_sim *sim)
{
    double next = INFINITY;
    for (size_t k = 0; k < sim->flow.emitter_count; k++)
        next = fmin(next, next_event(sim->scene, &sim->flow.emitters[k], sim->time));
    double early = 1e-9 * (next - sim->time) + 4 * DBL_EPSILON * fabs(next);
    return isfinite(next) ? next - early : next;
}

/* Particles number first, first + 1, ... of an emitter, where they are now. */
static firn_status let_out(firn_sim *sim, const flow_emitter *e, uint64_t first, size_t count,
                           size_t row)
{
    const scene_snow *snow = &sim->scene->snow[e->object];
    const scene_material *material = &sim->scene->materials[snow->material];
    size_t d = (size_t)sim->scene->settings.dimensions;
    sample_points points = {.count = count, .volume = e->stream.volume * (double)count};
    points.position = malloc(count * d * sizeof *points.position);
    scene_place *places = malloc(count * sizeof *places);
    firn_status status = FIRN_OK;
    if (!points.position || !places)
        status = fail(FIRN_NO_MEMORY, "out of memory for %zu particles", count);
    for (size_t k = 0; k < count && status == FIRN_OK; k++) {
        stream_point p = stream_at(&e->stream, first + k);
        double way = sim->time - snow->emit.start - p.time;
        for (size_t i = 0; i < d; i++)
            points.position[k * d + i] = p.x[i] + way * snow->velocity[i];
        places[k] = scene_place_of(material, snow->shape, p.deep);
        for (int i = 0; i < 3; i++) /* of the stream as one long body */
            places[k].x[i] = p.x[i] - p.time * snow->velocity[i];
    }
    if (status == FIRN_OK)
        status = sim_fill(sim, e->object, row, &points, places);
    free(places);
    free(points.position);
    return status;
}

/* ---- Kill regions ---------------------------------------------------------------------------- */

static bool is_killed(const firn_scene *scene, const double x[3])
{
    for (size_t k = 0; k < scene->kill_count; k++) {
        bool inside = shape_distance(scene->kill[k].shape, x, NULL) <= 0;
        if (inside == (scene->kill[k].where == SCENE_INSIDE))
            return true;
    }
    return false;
}

/* Which rows stay, of those that are looked at; how many go. */
typedef struct choice {
    const firn_scene *scene;
    bool *kept;
    size_t gone;
} choice;

/* Whether some of a ball may be killed. */
static bool may_be_killed(const firn_scene *scene, const double middle[3], double radius)
{
    for (size_t k = 0; k < scene->kill_count; k++) {
        double distance = shape_distance(scene->kill[k].shape, middle, NULL),
               reach = radius + shape_slack(scene->kill[k].shape);
        if (scene->kill[k].where == SCENE_INSIDE ? distance <= reach : distance >= -reach)
            return true;
    }
    return false;
}

static void want_killed(void *user, const double (*middle)[3], size_t count, double radius,
                        bool *wanted)
{
    const choice *c = user;
#pragma omp parallel for if (count > FEW)
    for (size_t n = 0; n < count; n++)
        wanted[n] = may_be_killed(c->scene, middle[n], radius);
}

static void choose_places(void *user, const uint32_t *row, const double (*x)[3], size_t count)
{
    choice *c = user;
    size_t killed = 0;
#pragma omp parallel for reduction(+ : killed) if (count > FEW)
    for (size_t n = 0; n < count; n++) {
        c->kept[row[n]] = !is_killed(c->scene, x[n]);
        killed += !c->kept[row[n]];
    }
    c->gone += killed;
}

/* Where a backend can search, only what is near the regions. */
static firn_status choose_near(const firn_sim *sim, bool *kept, size_t *gone)
{
    choice c = {.scene = sim->scene, .kept = kept};
    memset(kept, true, sim->count);
    firn_status status = search_of(sim->ops)(sim->state, want_killed, choose_places, &c);
    *gone = c.gone;
    return status;
}

/* Which rows stay; returns how many go. */
static firn_status choose_kept(const firn_sim *sim, bool *kept, size_t *gone)
{
    if (search_of(sim->ops) && sim->step > 0)
        return choose_near(sim, kept, gone);
    size_t d = (size_t)sim->scene->settings.dimensions, killed = 0;
    double *position = malloc(CHUNK * sizeof(double[3]));
    firn_status status =
        position ? FIRN_OK : fail(FIRN_NO_MEMORY, "out of memory for particle values");
    for (size_t done = 0; done < sim->count && status == FIRN_OK; done += CHUNK) {
        size_t rows = sim->count - done < CHUNK ? sim->count - done : CHUNK;
        status = sim->ops->get(sim->state, FIRN_POSITION, done, rows, position);
#pragma omp parallel for reduction(+ : killed) if (rows > FEW)
        for (size_t r = 0; r < rows; r++) {
            double x[3] = {0};
            memcpy(x, position + r * d, d * sizeof *x);
            kept[done + r] = !is_killed(sim->scene, x);
            killed += !kept[done + r];
        }
    }
    free(position);
    *gone = killed;
    return status;
}

/* ---- Both ------------------------------------------------------------------------------------ */

/* Give up the rows that are not kept (NULL: all are) and make room for `added` more, here and in the
 * backend. */
static firn_status reshape(firn_sim *sim, const bool *kept, size_t added)
{
    size_t room = sim->count + added + 1, stay = 0;
    uint64_t *ids = realloc(sim->ids, room * sizeof *ids);
    sim->ids = ids ? ids : sim->ids;
    uint32_t *objects = realloc(sim->objects, room * sizeof *objects);
    sim->objects = objects ? objects : sim->objects;
    if (!ids || !objects)
        return fail(FIRN_NO_MEMORY, "out of memory for %zu particles", room);
    firn_status status = sim->ops->reshape(sim->state, kept, added);
    if (status != FIRN_OK)
        return status;
    for (size_t r = 0; r < sim->count; r++)
        if (!kept || kept[r]) {
            ids[stay] = ids[r];
            objects[stay++] = objects[r];
        }
    for (size_t k = 0; k < added; k++)
        ids[stay + k] = sim->flow.next_id++;
    sim->count = stay + added;
    return FIRN_OK;
}

static firn_status emit(firn_sim *sim, double since)
{
    const flow *f = &sim->flow;
    size_t added = 0;
    for (size_t e = 0; e < f->emitter_count; e++)
        added += flow_count(sim->scene, &f->emitters[e], sim->time) -
                 flow_count(sim->scene, &f->emitters[e], since);
    firn_status status = added > 0 ? reshape(sim, NULL, added) : FIRN_OK;
    size_t row = sim->count - added;
    for (size_t e = 0; e < f->emitter_count && status == FIRN_OK; e++) {
        uint64_t first = flow_count(sim->scene, &f->emitters[e], since);
        size_t count = flow_count(sim->scene, &f->emitters[e], sim->time) - first;
        if (count > 0)
            status = let_out(sim, &f->emitters[e], first, count, row);
        row += count;
    }
    return status;
}

static firn_status kill(firn_sim *sim)
{
    size_t gone = 0;
    bool *kept = malloc(sim->count + 1);
    firn_status status = kept ? FIRN_OK : fail(FIRN_NO_MEMORY, "out of memory for a list of rows");
    if (status == FIRN_OK)
        status = choose_kept(sim, kept, &gone);
    if (status == FIRN_OK && gone > 0)
        status = reshape(sim, kept, 0);
    free(kept);
    return status;
}

uint64_t flow_steps(const firn_sim *sim)
{
    return sim->scene->kill_count > 0 ? KILL_EVERY - sim->step % KILL_EVERY : UINT64_MAX;
}

firn_status flow_update(firn_sim *sim, double since)
{
    bool on_frame = sim->time == sim->frame / sim->scene->settings.fps;
    bool looks = sim->scene->kill_count > 0 && (on_frame || sim->step % KILL_EVERY == 0);
    firn_status status = emit(sim, since);
    return status == FIRN_OK && looks ? kill(sim) : status;
}
