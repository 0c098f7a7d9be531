/* Frames in memory: their arrays, copies of a simulation, and which writer makes which format. */
#include "io/frame.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/formats.h"
#include "status.h"

/* ---- Memory ---------------------------------------------------------------------------------- */

int firn_frame_components(firn_attribute attribute)
{
    return firn_attribute_components(attribute, 3);
}

void firn_frame_clear(firn_frame *frame)
{
    free(frame->id);
    free(frame->object);
    free(frame->place);
    for (firn_attribute a = 0; a < FIRN_ATTRIBUTES; a++)
        free(frame->values[a]);
    *frame = (firn_frame){0};
}

/* Keeps, makes or frees an array. */
static bool array_want(void *array, bool wanted, bool keep, size_t bytes)
{
    void *old;
    memcpy(&old, array, sizeof old);
    if (old && keep && wanted)
        return true;
    free(old);
    void *fresh = wanted ? malloc(bytes ? bytes : 1) : NULL;
    memcpy(array, &fresh, sizeof fresh);
    return fresh || !wanted;
}

firn_status frame_resize(firn_frame *frame, size_t count, unsigned attributes, bool with_place)
{
    bool keep = frame->count == count;
    attributes |= FIRN_BIT(FIRN_POSITION);
    bool good = array_want(&frame->id, true, keep, count * sizeof *frame->id) &&
                array_want(&frame->object, true, keep, count * sizeof *frame->object) &&
                array_want(&frame->place, with_place, keep, count * sizeof(double[3]));
    for (firn_attribute a = 0; a < FIRN_ATTRIBUTES && good; a++)
        good = array_want(&frame->values[a], attributes >> a & 1, keep,
                          count * (size_t)firn_frame_components(a) * sizeof(float));
    frame->count = count;
    if (good)
        return FIRN_OK;
    firn_frame_clear(frame);
    return fail(FIRN_NO_MEMORY, "no memory for %zu particles", count);
}

void frame_put(firn_frame *frame, firn_attribute attribute, size_t first, size_t count,
               const double *rows, size_t have)
{
    size_t want = (size_t)firn_frame_components(attribute);
    float *out = frame->values[attribute] + first * want;
    double *place = attribute == FIRN_POSITION && frame->place ? frame->place + first * want : NULL;
    if (have == want) {
        for (size_t k = 0; k < count * want; k++)
            out[k] = (float)rows[k];
        if (place)
            memcpy(place, rows, count * want * sizeof *place);
        return;
    }
    memset(out, 0, count * want * sizeof *out);
    for (size_t p = 0; p < count; p++) {
        for (size_t k = 0; k < have; k++) /* two columns become three */
            out[p * want + k / 2 * 3 + k % 2] = (float)rows[p * have + k];
        if (attribute == FIRN_F_E)
            out[p * want + 8] = 1;
        if (place)
            memcpy(place + 3 * p, (double[3]){rows[2 * p], rows[2 * p + 1], 0}, sizeof(double[3]));
    }
}

/* ---- Copies of a simulation ------------------------------------------------------------------ */

enum { BLOCK = 32768 }; /* rows at a time: from a GPU, each costs a wait */

static firn_status capture(const firn_sim *sim, firn_attribute attribute, double *block,
                           firn_frame *frame)
{
    size_t have = (size_t)firn_attribute_components(attribute, frame->dimensions);
    firn_status status = FIRN_OK;
    for (size_t at = 0, n; at < frame->count && !status; at += n) {
        n = frame->count - at < BLOCK ? frame->count - at : BLOCK;
        status = firn_sim_read(sim, attribute, at, n, block);
        if (!status)
            frame_put(frame, attribute, at, n, block, have);
    }
    return status;
}

firn_status firn_frame_capture(const firn_sim *sim, unsigned attributes, firn_frame *frame)
{
    double *block = malloc(sizeof(double[9]) * BLOCK);
    if (!block)
        return fail(FIRN_NO_MEMORY, "no memory to copy particles");
    firn_status status = frame_resize(frame, firn_sim_particle_count(sim), attributes, true);
    if (!status) {
        frame->dimensions = firn_sim_dimensions(sim);
        frame->time = firn_sim_time(sim);
        frame->cell_size = firn_sim_cell_size(sim);
        frame->frame = firn_sim_frame(sim);
        frame->step = firn_sim_steps(sim);
        frame->kernel = firn_sim_kernel(sim);
        memcpy(frame->id, firn_sim_ids(sim), frame->count * sizeof *frame->id);
        memcpy(frame->object, firn_sim_objects(sim), frame->count * sizeof *frame->object);
    }
    for (firn_attribute a = 0; a < FIRN_ATTRIBUTES && !status; a++)
        if (frame->values[a])
            status = capture(sim, a, block, frame);
    free(block);
    return status;
}

/* ---- Formats --------------------------------------------------------------------------------- */

typedef firn_status frame_writer(const firn_frame *frame, const char *path, const firn_export *how);

static const struct {
    const char *name, *extension;
    frame_writer *write;
    bool exact; /* takes positions as they are, whatever the precision that is asked for */
} formats[] = {
    {"vtkhdf", "hdf", vtkhdf_write, false}, {"ply", "ply", ply_write, false},
    {"vdb", "vdb", volume_write, true},     {"bgeo", "bgeo", bgeo_write, false},
    {"obj", "obj", obj_write, true},        {"usda", "usda", usda_write, true},
    {"npz", "npz", npz_write, false},
};

/* The row of a format, or -1. */
static int format_index(unsigned format)
{
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (format == 1u << k)
            return (int)k;
    return -1;
}

const char *firn_format_name(unsigned format)
{
    int k = format_index(format);
    return k < 0 ? NULL : formats[k].name;
}

const char *firn_format_extension(unsigned format)
{
    int k = format_index(format);
    return k < 0 ? NULL : formats[k].extension;
}

unsigned firn_export_attributes(unsigned asked, const firn_export *how)
{
    const firn_export usual = {0};
    how = how ? how : &usual;
    unsigned attributes = how->attributes ? how->attributes : FIRN_BASIC_ATTRIBUTES;
    if (asked & FIRN_FORMAT_VDB)
        attributes |= volume_attributes(how);
    if ((asked & FIRN_FORMAT_BGEO) && export_is_usual(how))
        attributes |= FIRN_BIT(FIRN_F_E);
    if (asked & (FIRN_FORMAT_BGEO | FIRN_FORMAT_USDA)) /* the size of particles */
        attributes |= FIRN_BIT(FIRN_MASS) | FIRN_BIT(FIRN_DENSITY);
    return attributes | FIRN_BIT(FIRN_POSITION);
}

firn_status firn_frame_export(const firn_frame *frame, const char *path, unsigned format,
                              const firn_export *how)
{
    const firn_export usual = {0};
    int k = format_index(format);
    if (k < 0)
        return fail(FIRN_USAGE, "cannot write %s: there is no format number %u", path, format);
    oriented_frame oriented;
    firn_status status = oriented_create(frame, how ? how : &usual, formats[k].exact, &oriented);
    if (!status)
        status = formats[k].write(&oriented.frame, path, how ? how : &usual);
    oriented_clear(&oriented);
    return status;
}

firn_status firn_frame_write(const firn_sim *sim, const char *path, unsigned format)
{
    firn_frame frame = {0};
    firn_status status = firn_frame_capture(sim, firn_export_attributes(format, NULL), &frame);
    if (!status)
        status = firn_frame_export(&frame, path, format, NULL);
    firn_frame_clear(&frame);
    return status;
}

firn_status frame_selection(const firn_frame *frame, const firn_export *how, unsigned usual,
                            const char *path, unsigned *selected)
{
    *selected = 0;
    unsigned asked = how->attributes ? how->attributes : usual;
    for (firn_attribute a = FIRN_POSITION + 1; a < FIRN_ATTRIBUTES; a++) {
        if (!(asked >> a & 1))
            continue;
        if (frame->values[a])
            *selected |= FIRN_BIT(a);
        else if (how->attributes)
            return fail(
                FIRN_BAD_SCENE,
                "cannot write %s: its source holds no %s; checkpoints do, and frames if the "
                "scene's output.attributes names it",
                path, firn_attribute_name(a));
    }
    return FIRN_OK;
}

bool frame_is_far(const firn_frame *frame, const firn_export *how)
{
    double farthest = 0, scale = how->scale > 0 ? how->scale : 1;
    for (size_t k = 0; frame->place && k < 3 * frame->count; k++)
        farthest = fmax(farthest, fabs(frame->place[k]));
    double fine = 1e-3 * frame->cell_size;
    if (how->precision > 0)
        fine = fmin(fine, how->precision * scale);
    return farthest * 0x1p-23 > fine;
}

double frame_radius(const firn_frame *frame, const firn_export *how, size_t p)
{
    double scale = how->scale > 0 ? how->scale : 1;
    double volume =
        frame->mass && frame->density ? (double)frame->mass[p] / (double)frame->density[p] : NAN;
    if (!(volume > 0 && isfinite(volume)))
        return frame->cell_size / 4;
    return scale * (frame->dimensions == 3 ? cbrt(volume * 3 / (4 * M_PI)) : sqrt(volume / M_PI));
}

coordinate_format frame_coordinate_format(const firn_frame *frame, const firn_export *how)
{
    bool far = frame_is_far(frame, how);
    coordinate_format format = {.full = far || how->precision > 0};
    double scale = how->scale > 0 ? how->scale : 1;
    if (how->precision > 0) { /* half a unit of the last place is at most the precision */
        double places = ceil(-log10(2 * how->precision * scale));
        snprintf(format.text, sizeof format.text, "%%.%df", (int)fmin(fmax(places, 0), 17));
    } else {
        snprintf(format.text, sizeof format.text, far ? "%%.17g" : "%%.9g");
    }
    return format;
}
