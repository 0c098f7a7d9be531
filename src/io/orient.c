/* A frame in other axes and units: y up to z up is a quarter turn about x, (x, y, z) to (x, -z, y);
 * scale multiplies positions, velocities and the cell size. All else stays in SI units. */
#include <math.h>
#include <stdlib.h>

#include "io/frame.h"
#include "status.h"

/* Where a component comes from after the turn, and its sign. */
typedef struct component {
    int from;
    double sign;
} component;

static const component turned[3] = {{0, 1}, {2, -1}, {1, 1}};

/* The rows of a symmetric tensor: xx yy zz xy yz xz become xx zz yy -xz -yz xy. */
static const component turned_stress[6] = {{0, 1}, {2, 1}, {1, 1}, {5, -1}, {4, -1}, {3, 1}};

static component component_of(int width, int k, firn_up up)
{
    if (up == FIRN_UP_Y)
        return (component){k, 1};
    if (width == 3)
        return turned[k];
    if (width == 6)
        return turned_stress[k];
    component row = turned[k / 3], column = turned[k % 3];
    return (component){3 * row.from + column.from, row.sign * column.sign};
}

static bool is_length(firn_attribute a)
{
    return a == FIRN_POSITION || a == FIRN_VELOCITY;
}

static void turn_row(const component *map, size_t width, double scale, const float *in, float *out)
{
    for (size_t k = 0; k < width; k++)
        out[k] = (float)(map[k].sign * (double)in[map[k].from] * scale + 0.0); /* no -0 */
}

static void turn(const firn_frame *from, firn_attribute a, firn_up up, double scale, float *out)
{
    component map[9];
    int width = firn_frame_components(a);
    for (int k = 0; k < width; k++)
        map[k] = component_of(width, k, up);
    double factor = is_length(a) ? scale : a == FIRN_B ? scale * scale : 1;
    size_t step = (size_t)width;
    for (size_t p = 0; p < from->count; p++)
        turn_row(map, step, factor, from->values[a] + p * step, out + p * step);
}

static void turn_places(const firn_frame *from, firn_up up, double scale, firn_frame *to)
{
    for (size_t p = 0; p < from->count; p++)
        for (int k = 0; k < 3; k++) {
            component c = component_of(3, k, up);
            double x = c.sign * from->place[3 * p + (size_t)c.from] * scale + 0.0;
            to->place[3 * p + (size_t)k] = x;
            to->position[3 * p + (size_t)k] = (float)x;
        }
}

/* The largest power of two that keeps errors within the precision: its multiples end in zero bits,
 * which compress well. */
static double quantum(double precision)
{
    int exponent;
    double half =
        frexp(2 * precision, &exponent); /* 2 precision = half 2^exponent, half in [1/2, 1) */
    return ldexp(1, half < 1 ? exponent - 1 : exponent);
}

static void quantise(firn_frame *frame, double step)
{
    for (size_t k = 0; k < 3 * frame->count; k++) {
        double x = frame->place ? frame->place[k] : (double)frame->position[k];
        x = rint(x / step) * step;
        frame->position[k] = (float)x;
        if (frame->place)
            frame->place[k] = x;
    }
}

/* Its own copies of positions and, if the axes or units change, of whatever has a direction. */
static bool make_arrays(const firn_frame *frame, bool turns, oriented_frame *out)
{
    for (firn_attribute a = 0; a < FIRN_ATTRIBUTES; a++) {
        size_t width = (size_t)firn_frame_components(a);
        if (!frame->values[a] || width == 1 || !(turns || a == FIRN_POSITION))
            continue;
        out->frame.values[a] = malloc((frame->count * width + 1) * sizeof(float));
        out->owned |= FIRN_BIT(a);
        if (!out->frame.values[a])
            return false;
    }
    if (frame->place) {
        out->owns_place = true;
        out->frame.place = malloc((frame->count + 1) * sizeof(double[3]));
    }
    return !frame->place || out->frame.place;
}

firn_status oriented_create(const firn_frame *frame, const firn_export *how, bool exact,
                            oriented_frame *out)
{
    double scale = how->scale > 0 ? how->scale : 1;
    bool turns = scale != 1 || how->up != FIRN_UP_Y, rounds = !exact && how->precision > 0;
    *out = (oriented_frame){.frame = *frame};
    if (!turns && !rounds)
        return FIRN_OK;
    if (!make_arrays(frame, turns, out))
        return fail(FIRN_NO_MEMORY, "no memory to turn %zu particles", frame->count);
    out->frame.cell_size *= scale;
    for (firn_attribute a = 0; a < FIRN_ATTRIBUTES; a++)
        if (out->owned >> a & 1)
            turn(frame, a, how->up, scale, out->frame.values[a]);
    if (frame->place)
        turn_places(frame, how->up, scale, &out->frame);
    if (rounds)
        quantise(&out->frame, quantum(how->precision * scale));
    return FIRN_OK;
}

void oriented_clear(oriented_frame *out)
{
    for (firn_attribute a = 0; a < FIRN_ATTRIBUTES; a++)
        if (out->owned >> a & 1)
            free(out->frame.values[a]);
    if (out->owns_place)
        free(out->frame.place);
    *out = (oriented_frame){0};
}
