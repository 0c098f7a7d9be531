/*
 * Frames as USD text. A frame's layer holds one time sample, of
 *
 *     /snow/volume      a UsdVol Volume of the grids in the VDB file of the same name, if there is one
 *     /snow/particles   UsdGeomPoints, if there are no more than `usda_points` particles
 *
 * The index, frames.usda, puts the layers of many frames together: VDB files as time samples, points
 * as value clips, so that it stays small and can be written anew with each frame. Time codes are frame
 * numbers.
 */
#include "io/usda.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file.h"
#include "io/formats.h"
#include "io/frame.h"
#include "status.h"

enum { USUAL_POINTS = 20000 };

static const struct {
    const char *name, *type, *class;
    unsigned grid;
} fields[] = {
    {"density", "float", "fogVolume", FIRN_GRID_DENSITY},
    {"velocity", "float3", "unknown", FIRN_GRID_VELOCITY},
    {"J_P", "float", "unknown", FIRN_GRID_J_P},
    {"stress", "float3", "unknown", FIRN_GRID_STRESS},
    {"shear", "float3", "unknown", FIRN_GRID_STRESS},
    {"surface", "float", "levelSet", FIRN_GRID_SURFACE},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static void put_head(FILE *out, const firn_export *how, int first, int last, double fps)
{
    fprintf(out,
            "#usda 1.0\n(\n    defaultPrim = \"snow\"\n    doc = \"Firn %s\"\n"
            "    startTimeCode = %d\n    endTimeCode = %d\n    timeCodesPerSecond = %.9g\n"
            "    framesPerSecond = %.9g\n    metersPerUnit = %.9g\n    upAxis = \"%c\"\n)\n\n",
            firn_version(), first, last, fps, fps, 1 / (how->scale > 0 ? how->scale : 1),
            how->up == FIRN_UP_Z ? 'Z' : 'Y');
}

/* ---- Volumes --------------------------------------------------------------------------------- */

static bool has_volume(const char *folder, const char *name)
{
    char *path = text_format("%s/%s.vdb", folder, name);
    bool found = access(path, F_OK) == 0;
    free(path);
    return found;
}

static void put_volume(FILE *out, const char *folder, const firn_export *how,
                       const firn_index_entry *entries, size_t count)
{
    unsigned grids = how->grids ? how->grids : FIRN_GRID_DENSITY | FIRN_GRID_VELOCITY;
    fprintf(out, "    def Volume \"volume\"\n    {\n");
    for (size_t k = 0; k < FIELDS; k++) {
        if (!(grids & fields[k].grid))
            continue;
        fprintf(out,
                "        rel field:%s = </snow/volume/%s>\n"
                "        def OpenVDBAsset \"%s\"\n        {\n"
                "            token fieldName = \"%s\"\n"
                "            token fieldDataType = \"%s\"\n"
                "            token fieldClass = \"%s\"\n"
                "            asset filePath.timeSamples = {\n",
                fields[k].name, fields[k].name, fields[k].name, fields[k].name, fields[k].type,
                fields[k].class);
        for (size_t e = 0; e < count; e++)
            if (has_volume(folder, entries[e].name))
                fprintf(out, "                %d: @./%s.vdb@,\n", entries[e].frame,
                        entries[e].name);
        fprintf(out, "            }\n        }\n");
    }
    fprintf(out, "    }\n\n");
}

/* ---- Points ---------------------------------------------------------------------------------- */

/* An attribute with one time sample: `values` has `width` numbers a row, printed by `format`. */
static void put_array(FILE *out, const char *declaration, const firn_frame *frame,
                      const double *values, size_t width, const char *format)
{
    fprintf(out, "        %s.timeSamples = {\n            %d: [", declaration, frame->frame);
    for (size_t k = 0; k < frame->count * width; k++) {
        bool is_first = k % width == 0, is_last = k % width == width - 1;
        fputs(k ? ", " : "", out);
        fputs(width > 1 && is_first ? "(" : "", out);
        fprintf(out, format, values[k]);
        fputs(width > 1 && is_last ? ")" : "", out);
    }
    fprintf(out, "],\n        }\n");
}

static void put_floats(FILE *out, const char *declaration, const firn_frame *frame,
                       firn_attribute attribute, double *values)
{
    size_t width = (size_t)firn_frame_components(attribute);
    for (size_t k = 0; k < frame->count * width; k++)
        values[k] = (double)frame->values[attribute][k];
    put_array(out, declaration, frame, values, width, "%.9g");
}

/* `values` has room for three numbers a particle. */
static void put_points(FILE *out, const firn_frame *frame, const firn_export *how,
                       unsigned selected, double *values)
{
    coordinate_format format = frame_coordinate_format(frame, how);
    fprintf(out, "    def Points \"particles\"\n    {\n");
    for (size_t k = 0; k < 3 * frame->count; k++)
        values[k] = frame_coordinate(frame, &format, k);
    put_array(out, "point3f[] points", frame, values, 3, format.text);
    for (size_t p = 0; p < frame->count; p++)
        values[p] = 2 * frame_radius(frame, how, p);
    put_array(out, "float[] widths", frame, values, 1, "%.6g");
    for (size_t p = 0; p < frame->count; p++)
        values[p] = (double)frame->id[p];
    put_array(out, "int64[] ids", frame, values, 1, "%.0f");
    if (selected & FIRN_BIT(FIRN_VELOCITY))
        put_floats(out, "vector3f[] velocities", frame, FIRN_VELOCITY, values);
    if (selected & FIRN_BIT(FIRN_DENSITY))
        put_floats(out, "float[] primvars:density", frame, FIRN_DENSITY, values);
    if (selected & FIRN_BIT(FIRN_J_P))
        put_floats(out, "float[] primvars:J_P", frame, FIRN_J_P, values);
    fprintf(out, "    }\n");
}

static bool carries_points(const firn_frame *frame, const firn_export *how)
{
    return frame->count <= (size_t)(how->usda_points > 0 ? how->usda_points : USUAL_POINTS);
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Frames land on frame / fps. */
static double fps_of(int frame, double time)
{
    return frame > 0 && time > 0 ? round(frame / time * 1e6) / 1e6 : 24;
}

/* The text that was printed into `out`, under its final name. */
static firn_status commit_text(const char *path, FILE *out, char **text, size_t *size)
{
    bool complete = fclose(out) == 0;
    file_draft draft;
    firn_status status =
        complete ? file_create(path, &draft) : fail(FIRN_NO_MEMORY, "no memory to write %s", path);
    if (!status) {
        file_append(&draft, *text, *size);
        status = file_commit(&draft);
    }
    free(*text);
    return status;
}

firn_status usda_write(const firn_frame *frame, const char *path, const firn_export *how)
{
    unsigned selected;
    firn_status status = frame_selection(frame, how, FIRN_BASIC_ATTRIBUTES, path, &selected);
    if (status)
        return status;
    const char *slash = strrchr(path, '/');
    char *folder = slash ? text_format("%.*s", (int)(slash - path), path) : text_copy(".");
    char *name = text_format("%s", slash ? slash + 1 : path), *dot = strrchr(name, '.');
    if (dot)
        *dot = 0;
    bool with_points = carries_points(frame, how);
    double *values = malloc(((with_points ? 3 * frame->count : 0) + 1) * sizeof *values);
    char *text = NULL;
    size_t size;
    FILE *out = values ? open_memstream(&text, &size) : NULL;
    if (out) {
        firn_index_entry entry = {name, frame->frame, frame->time};
        put_head(out, how, frame->frame, frame->frame, fps_of(frame->frame, frame->time));
        fprintf(out, "def Xform \"snow\"\n{\n");
        if (has_volume(folder, name))
            put_volume(out, folder, how, &entry, 1);
        if (with_points)
            put_points(out, frame, how, selected, values);
        fprintf(out, "}\n");
        status = commit_text(path, out, &text, &size);
    } else {
        status = fail(FIRN_NO_MEMORY, "no memory to write %s", path);
    }
    free(values);
    free(folder);
    free(name);
    return status;
}

/* The layers of all frames, each in force from its own time on. */
static void put_clips(FILE *out, const firn_index_entry *entries, size_t count)
{
    fprintf(out, "    clips = {\n        dictionary default = {\n"
                 "            string primPath = \"/snow\"\n            asset[] assetPaths = [");
    for (size_t e = 0; e < count; e++)
        fprintf(out, "%s@./%s.usda@", e ? ", " : "", entries[e].name);
    fprintf(out, "]\n            double2[] active = [");
    for (size_t e = 0; e < count; e++)
        fprintf(out, "%s(%d, %zu)", e ? ", " : "", entries[e].frame, e);
    fprintf(out, "]\n            double2[] times = [");
    for (size_t e = 0; e < count; e++)
        fprintf(out, "%s(%d, %d)", e ? ", " : "", entries[e].frame, entries[e].frame);
    fprintf(out, "]\n        }\n    }\n");
}

firn_status usda_write_index(const char *path, const char *folder, const firn_index_entry *entries,
                             size_t count, const firn_export *how)
{
    static const char *const attributes[] = {
        "point3f[] points",      "float[] widths",           "int64[] ids",
        "vector3f[] velocities", "float[] primvars:density", "float[] primvars:J_P"};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return fail(FIRN_NO_MEMORY, "no memory to write %s", path);
    const firn_index_entry none = {"", 0, 0};
    const firn_index_entry *first = count ? entries : &none,
                           *last = count ? entries + count - 1 : &none;
    put_head(out, how, first->frame, last->frame, fps_of(last->frame, last->time));
    fprintf(out, "def Xform \"snow\" (\n");
    put_clips(out, entries, count);
    fprintf(out, ")\n{\n");
    size_t volumes = 0;
    for (size_t e = 0; e < count; e++)
        volumes += has_volume(folder, entries[e].name);
    if (volumes)
        put_volume(out, folder, how, entries, count);
    fprintf(out, "    def Points \"particles\"\n    {\n");
    for (size_t k = 0; k < sizeof attributes / sizeof *attributes; k++)
        fprintf(out, "        %s\n", attributes[k]); /* their values come from the clips */
    fprintf(out, "    }\n}\n");
    return commit_text(path, out, &text, &size);
}
