#include "firn/measure.h"

#include <math.h>
#include <stdlib.h>

#include "pieces.h"
#include "status.h"

static const double default_fill = 0.35, default_least = 1e-3;

/* The particles that are measured: all, or those in the box. */
typedef struct selection {
    const firn_frame *frame;
    size_t count;
    size_t *rows;
} selection;

static bool is_in_box(const float *x, const double *box)
{
    for (int i = 0; i < 3 && box; i++)
        if (x[i] < box[i] || x[i] > box[i + 3])
            return false;
    return true;
}

static firn_status select_rows(const firn_frame *frame, const double *box, selection *s)
{
    *s = (selection){.frame = frame, .rows = malloc((frame->count + 1) * sizeof *s->rows)};
    if (!s->rows)
        return fail(FIRN_NO_MEMORY, "no memory to measure a frame");
    for (size_t i = 0; i < frame->count; i++)
        if (is_in_box(frame->position + 3 * i, box))
            s->rows[s->count++] = i;
    return FIRN_OK;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void add_particle(firn_measurement *m, const firn_frame *f, size_t i)
{
    double mass = f->mass[i], J_P = f->J_P[i];
    m->mass += mass;
    m->density += mass * f->density[i];
    m->J_P += mass * J_P;
    m->packed += J_P < 0.99 ? mass : 0;
    m->torn += J_P > 1.01 ? mass : 0;
    for (int k = 0; k < 3; k++) {
        double x = f->position[3 * i + k];
        m->low[k] = fmin(m->low[k], x);
        m->high[k] = fmax(m->high[k], x);
        m->center[k] += mass * x;
        m->velocity[k] += mass * f->velocity[3 * i + k];
    }
}

static void add_up(const selection *s, firn_measurement *m)
{
    const firn_frame *f = s->frame;
    for (int k = 0; k < 3 && s->count; k++)
        m->low[k] = INFINITY, m->high[k] = -INFINITY;
    for (size_t i = 0; i < s->count; i++)
        add_particle(m, f, s->rows[i]);
    if (m->mass <= 0)
        return;
    m->density /= m->mass;
    m->J_P /= m->mass;
    for (int k = 0; k < 3; k++) {
        m->center[k] /= m->mass;
        m->velocity[k] /= m->mass;
    }
    double squares = 0;
    for (size_t i = 0; i < s->count; i++)
        for (int k = 0; k < 3; k++) {
            double away = f->position[3 * s->rows[i] + k] - m->center[k];
            squares += f->mass[s->rows[i]] * away * away;
        }
    m->spread = sqrt(squares / m->mass);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* At rest a particle had the volume m / (density J_P), but for the few percent of det F_E. */
static piece_cell cell_of(const firn_frame *f, size_t i)
{
    double h = f->cell_size, rest = f->density[i] * f->J_P[i];
    double x[3] = {f->position[3 * i] / h, f->position[3 * i + 1] / h,
                   f->dimensions == 3 ? f->position[3 * i + 2] / h : 0};
    double volume = rest > 0 ? f->mass[i] / rest : 0;
    return (piece_cell){
        .key = piece_key(x), .mass = f->mass[i], .filled = volume / pow(h, f->dimensions)};
}

static firn_status find_pieces(const selection *s, double fill, double least, firn_measurement *m)
{
    piece_cell *cells = malloc((s->count + 1) * sizeof *cells);
    m->pieces = malloc((s->count + 1) * sizeof *m->pieces);
    if (!cells || !m->pieces) {
        free(cells);
        return fail(FIRN_NO_MEMORY, "no memory to find the pieces of a frame");
    }
    for (size_t i = 0; i < s->count; i++)
        cells[i] = cell_of(s->frame, s->rows[i]);
    size_t count = pieces_merge(cells, s->count);
    m->piece_count = pieces_join(cells, count, fill, least * m->mass, m->pieces);
    free(cells);
    m->loose = m->mass;
    for (size_t i = 0; i < m->piece_count; i++)
        m->loose -= m->pieces[i];
    m->loose = fmax(m->loose, 0);
    return FIRN_OK;
}

/* ---- contact --------------------------------------------------------------------------------- */

static firn_contact contact_of(const selection *s, const firn_scene *scene, size_t index,
                               double *distance)
{
    const firn_frame *f = s->frame;
#pragma omp parallel for
    for (size_t i = 0; i < s->count; i++) {
        const float *p = f->position + 3 * s->rows[i];
        distance[i] =
            firn_scene_collider_distance(scene, index, f->time, (double[3]){p[0], p[1], p[2]});
    }
    firn_contact c = {.name = firn_scene_collider_name(scene, index)};
    for (size_t i = 0; i < s->count; i++) {
        c.touching += distance[i] < f->cell_size ? f->mass[s->rows[i]] : 0;
        c.deepest = fmax(c.deepest, -distance[i]);
    }
    return c;
}

static firn_status find_contacts(const selection *s, const firn_scene *scene, firn_measurement *m)
{
    size_t count = scene ? firn_scene_collider_count(scene) : 0;
    double *distance = malloc((s->count + 1) * sizeof *distance);
    m->contacts = malloc((count + 1) * sizeof *m->contacts);
    if (!m->contacts || !distance) {
        free(distance);
        return fail(FIRN_NO_MEMORY, "no memory to measure a frame");
    }
    for (size_t i = 0; i < count; i++)
        m->contacts[i] = contact_of(s, scene, i, distance);
    m->contact_count = count;
    free(distance);
    return FIRN_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

firn_status firn_frame_measure(const firn_frame *frame, const firn_scene *scene,
                               const firn_measure_options *options, firn_measurement *out)
{
    const firn_measure_options defaults = {0};
    const firn_measure_options *o = options ? options : &defaults;
    *out = (firn_measurement){.frame = frame->frame, .time = frame->time};
    if (frame->count && !(frame->position && frame->velocity && frame->mass && frame->J_P &&
                          frame->density && frame->cell_size > 0))
        return fail(FIRN_USAGE,
                    "frame %d lacks an attribute to be measured: read it with "
                    "FIRN_BASIC_ATTRIBUTES",
                    frame->frame);
    selection s;
    firn_status status = select_rows(frame, o->box, &s);
    if (status == FIRN_OK) {
        out->particles = s.count;
        add_up(&s, out);
        status = find_pieces(&s, o->fill > 0 ? o->fill : default_fill,
                             o->least > 0 ? o->least : default_least, out);
    }
    if (status == FIRN_OK)
        status = find_contacts(&s, scene, out);
    free(s.rows);
    return status;
}

void firn_measurement_clear(firn_measurement *m)
{
    free(m->pieces);
    free(m->contacts);
    *m = (firn_measurement){0};
}
