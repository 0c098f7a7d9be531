/* Values of the particles in and out, by rows. */
#include <math.h>

#include "cpu/state.h"
#include "status.h"

/* Farther out a cell number and an offset of 2^-26 no longer fit a double's 53 bits. */
static const double FARTHEST_CELL = 0x1p24;

/* The memory slot of a row. */
uint32_t cpu_slot_of(const backend *s, size_t row)
{
    return s->sorted ? s->store.order[s->store.place[row]] : (uint32_t)row;
}

static void note_places(void *context, int thread, size_t begin, size_t end)
{
    backend *s = context;
    (void)thread;
    for (size_t k = begin; k < end; k++)
        s->store.place[s->store.row[s->store.order[k]]] = (uint32_t)k;
}

/* Where every row is, in memory that the next step takes back. */
void cpu_know_places(const backend *s)
{
    backend *cache = (backend *)s;
    if (!s->sorted || s->places_known)
        return;
    team_for(s->threads, s->store.count, 65536, note_places, cache);
    cache->places_known = true;
}

/* The block whose list holds this position of `order`. Lists follow each other in block order. */
static const cpu_block *block_of(const backend *s, uint32_t position)
{
    uint32_t low = 0, high = s->grid.count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (s->grid.blocks[middle].first <= position)
            low = middle;
        else
            high = middle;
    }
    return &s->grid.blocks[low];
}

/* The base node of a row. */
void cpu_base_of(const backend *s, size_t row, int64_t base[3])
{
    if (!s->sorted) {
        for (int a = 0; a < 3; a++)
            base[a] = s->base[row][a];
        return;
    }
    const cpu_block *block = block_of(s, s->store.place[row]);
    uint32_t end = block->first;
    int cell = 0;
    while ((end += block->cell_count[cell]) <= s->store.place[row])
        cell++;
    for (int a = 0; a < 3; a++)
        base[a] = 4 * (int64_t)block->at[a] + cpu_cell_at(cell, a);
}

static firn_status set_position(backend *s, size_t row, const double *x)
{
    for (int a = 0; a < s->settings->dimensions; a++) {
        double u = x[a] / s->settings->cell_size - pass_origin(s->settings);
        if (!(fabs(u) < FARTHEST_CELL))
            return fail(FIRN_BAD_SCENE,
                        "particle row %zu is at %g m: more than %g cells from the origin", row,
                        x[a], FARTHEST_CELL);
        double base = floor(u), offset = rint((u - base) * 0x1p26) * 0x1p-26;
        s->base[row][a] = (int32_t)base + (offset >= 1);
        s->store.hot[row].x[a] = offset >= 1 ? 0 : (float)offset;
    }
    if (s->settings->dimensions == 2) {
        s->base[row][2] = 0;
        s->store.hot[row].x[2] = 0;
    }
    return FIRN_OK;
}

static void get_position(const backend *s, size_t row, double *x)
{
    int64_t base[3];
    cpu_base_of(s, row, base);
    const cpu_hot *hot = &s->store.hot[cpu_slot_of(s, row)];
    for (int a = 0; a < s->settings->dimensions; a++)
        x[a] = ((double)base[a] + pass_origin(s->settings) + hot->x[a]) * s->settings->cell_size;
}

/* Where a row's value is in memory: its first float and the distances between rows and columns of it;
 * NULL for B with FLIP. What is stored is the value divided by `unit`. */
typedef struct field_view {
    float *first;
    int row_step, column_step;
    double unit;
} field_view;

static field_view view(const backend *s, firn_attribute attribute, uint32_t slot)
{
    cpu_hot *hot = &s->store.hot[slot];
    cpu_cold *cold = &s->store.cold[slot];
    switch (attribute) {
    case FIRN_VELOCITY:
        return (field_view){hot->v, 0, 1, 1};
    case FIRN_F_E:
        return (field_view){hot->F, 3, 1, 1};
    case FIRN_J_P:
        return (field_view){&hot->J_P, 0, 0, 1};
    case FIRN_B: /* stored by columns behind channel 0 */
        return (field_view){s->store.affine ? &s->store.affine[slot].column[0][1] : NULL, 1, 4,
                            s->settings->cell_size};
    case FIRN_MASS:
        return (field_view){&cold->m, 0, 0, 1};
    case FIRN_VOLUME:
        return (field_view){&cold->V0, 0, 0, 1};
    case FIRN_MU0:
        return (field_view){&cold->mu0, 0, 0, 1};
    case FIRN_LAMBDA0:
        return (field_view){&cold->lambda0, 0, 0, 1};
    case FIRN_HARDENING:
        return (field_view){&cold->xi, 0, 0, 1};
    case FIRN_THETA_C:
        return (field_view){&cold->theta_c, 0, 0, 1};
    case FIRN_THETA_S:
        return (field_view){&cold->theta_s, 0, 0, 1};
    default:
        return (field_view){NULL, 0, 0, 1};
    }
}

/* The float of component k of a value with `width` components. */
static float *component(field_view at, int k, int width, int dimensions)
{
    bool matrix = width == dimensions * dimensions;
    int i = matrix ? k / dimensions : 0, j = matrix ? k % dimensions : k;
    return at.first + i * at.row_step + j * at.column_step;
}

firn_status cpu_set(backend *s, firn_attribute attribute, size_t first, size_t count,
                    const double *values)
{
    int d = s->settings->dimensions, width = firn_attribute_components(attribute, d);
    if (s->sorted)
        return fail(FIRN_USAGE, "values can only be set before the first step");
    s->limits_known = false;
    firn_status status = FIRN_OK;
    for (size_t r = 0; r < count && status == FIRN_OK; r++) {
        const double *value = values + r * (size_t)width;
        if (attribute == FIRN_POSITION) {
            status = set_position(s, first + r, value);
            continue;
        }
        field_view at = view(s, attribute, (uint32_t)(first + r));
        for (int k = 0; at.first && k < width; k++)
            *component(at, k, width, d) = (float)(value[k] / at.unit);
    }
    return status;
}

typedef struct getting {
    const backend *state;
    firn_attribute attribute;
    size_t first;
    double *values;
} getting;

static void get_rows(void *context, int thread, size_t begin, size_t end)
{
    const getting *g = context;
    const backend *s = g->state;
    int d = s->settings->dimensions, width = firn_attribute_components(g->attribute, d);
    (void)thread;
    for (size_t r = begin; r < end; r++) {
        double *value = g->values + r * (size_t)width;
        if (g->attribute == FIRN_POSITION) {
            get_position(s, g->first + r, value);
            continue;
        }
        field_view at = view(s, g->attribute, cpu_slot_of(s, g->first + r));
        for (int k = 0; k < width; k++)
            value[k] = at.first ? *component(at, k, width, d) * at.unit : 0;
    }
}

firn_status cpu_get(const backend *s, firn_attribute attribute, size_t first, size_t count,
                    double *values)
{
    cpu_know_places(s);
    getting all = {s, attribute, first, values};
    team_for(s->threads, count, 2048, get_rows, &all);
    return FIRN_OK;
}
