/* Reports for people: what a file is, and the range of every attribute in it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/checkpoint.h"
#include "io/determinant.h"
#include "io/header.h"
#include "status.h"

/* ---- Ranges ---------------------------------------------------------------------------------- */

/* Of one scalar a row: the value itself, the length of a vector, the determinant of a matrix. */
typedef struct range {
    double low, high, sum;
    size_t finite, strange; /* strange: infinite or not a number */
} range;

static void range_add(range *r, double value)
{
    if (!isfinite(value)) {
        r->strange++;
        return;
    }
    r->low = r->finite && r->low < value ? r->low : value;
    r->high = r->finite && r->high > value ? r->high : value;
    r->sum += value;
    r->finite++;
}

static double measure(const double *row, h5_shape shape)
{
    if (shape.rank == 1)
        return row[0];
    if (shape.rank == 3)
        return determinant(row, (int)shape.size[1]);
    double square = 0;
    for (size_t k = 0; k < shape.size[1]; k++)
        square += row[k] * row[k];
    return sqrt(square);
}

typedef struct summary {
    range value;
    range axis[3]; /* of vectors */
    size_t width;
} summary;

static void summary_add(summary *s, const double *block, size_t count, h5_shape shape)
{
    size_t components = 1;
    for (int axis = 1; axis < shape.rank; axis++)
        components *= shape.size[axis];
    for (size_t p = 0; p < count; p++) {
        const double *row = block + p * components;
        range_add(&s->value, measure(row, shape));
        for (size_t k = 0; shape.rank == 2 && k < components; k++)
            range_add(&s->axis[k], row[k]);
    }
}

/* Reads a whole dataset in blocks, whatever its values. */
static firn_status summarize(const h5_reader *r, const char *path, h5_shape shape, summary *s)
{
    *s = (summary){0};
    double *block = block_create();
    if (!block)
        return FIRN_NO_MEMORY;
    h5_rows rows;
    firn_status status = h5_open_rows(r, path, H5T_FLOAT, shape, &rows);
    s->width = rows.width;
    for (size_t at = 0, n; !status && (n = block_rows(at, rows.shape.size[0])); at += n) {
        status = h5_read_rows(r, &rows, H5T_NATIVE_DOUBLE, at, n, block);
        if (!status)
            summary_add(s, block, n, rows.shape);
    }
    h5_rows_close(&rows);
    free(block);
    return status;
}

static void print_range(FILE *out, const char *name, const char *unit, const range *r)
{
    fprintf(out, "  %-12s", name);
    if (r->finite)
        fprintf(out, " %14.6g %14.6g %14.6g%s%s", r->low, r->sum / (double)r->finite, r->high,
                *unit ? "  " : "", unit);
    if (r->strange)
        fprintf(out, "  (%zu not finite)", r->strange);
    fputc('\n', out);
}

/* ---- HDF5 files ------------------------------------------------------------------------------ */

typedef struct line {
    firn_attribute attribute;
    const char *label;
    const char *unit[2]; /* in 2D and 3D */
} line;

static const line lines[] = {
    {FIRN_VELOCITY, "|velocity|", {"m/s", "m/s"}},
    {FIRN_DENSITY, "density", {"kg/m^2", "kg/m^3"}},
    {FIRN_J_P, "J_P", {"", ""}},
    {FIRN_F_E, "det F_E", {"", ""}},
    {FIRN_MASS, "mass", {"kg", "kg"}},
    {FIRN_VOLUME, "volume", {"m^2", "m^3"}},
    {FIRN_B, "det B", {"", ""}},
    {FIRN_MU0, "mu0", {"Pa", "Pa"}},
    {FIRN_LAMBDA0, "lambda0", {"Pa", "Pa"}},
    {FIRN_HARDENING, "hardening", {"", ""}},
    {FIRN_THETA_C, "theta_c", {"", ""}},
    {FIRN_THETA_S, "theta_s", {"", ""}},
};

/* Where things lie in the two layouts. */
typedef struct layout {
    const char *kind, *folder, *position;
    int dimensions; /* of stored vectors: frames have three even in 2D */
} layout;

static void print_header(FILE *out, const char *path, const layout *l,
                         const firn_checkpoint_info *info, size_t count)
{
    fprintf(out, "%s: %s, written by Firn %s\n", path, l->kind, info->version);
    fprintf(out, "  time         %.9g s (frame %d, step %llu)\n", info->time, info->frame,
            (unsigned long long)info->step);
    fprintf(out, "  grid         %dD, cell size %g m", info->dimensions, info->cell_size);
    if (*info->kernel)
        fprintf(out, ", %s kernel, %s transfer", info->kernel, info->transfer);
    if (*info->backend)
        fprintf(out, "\n  backend      %s, float%d", info->backend, info->is_double ? 64 : 32);
    fprintf(out, "\n  particles    %zu\n", count);
}

static void print_bounds(FILE *out, const summary *position, int dimensions)
{
    fprintf(out, "  positions    float%zu", position->width * 8);
    for (int axis = 0; axis < dimensions && position->value.finite; axis++)
        fprintf(out, ", %c %.9g to %.9g", "xyz"[axis], position -> axis[axis].low,
                position->axis[axis].high);
    fprintf(out, " m\n");
    if (position->value.strange)
        fprintf(out, "  warning      %zu positions are not finite\n", position->value.strange);
}

static firn_status print_ranges(FILE *out, const h5_reader *r, const layout *l, int dimensions,
                                size_t count)
{
    char path[64];
    double total = 0;
    fprintf(out, "  %-12s %14s %14s %14s\n", "", "min", "mean", "max");
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        firn_attribute a = lines[k].attribute;
        snprintf(path, sizeof path, "%s/%s", l->folder, firn_attribute_name(a));
        if (!h5_has(r, path))
            continue;
        int components = firn_attribute_components(a, l->dimensions);
        summary s;
        firn_status status = summarize(r, path, h5_rows_of(count, components, l->dimensions), &s);
        if (status)
            return status;
        print_range(out, lines[k].label, lines[k].unit[dimensions - 2], &s.value);
        if (a == FIRN_MASS)
            total = s.value.sum;
    }
    fprintf(out, "  total mass   %.9g kg\n", total);
    return FIRN_OK;
}

static firn_status describe_layout(FILE *out, const h5_reader *r, const layout *l,
                                   const firn_checkpoint_info *info)
{
    summary position;
    int d = l->dimensions;
    firn_status status =
        summarize(r, l->position, h5_rows_of((size_t)H5_ANY_ROWS, d, d), &position);
    if (status)
        return status;
    size_t count = position.value.finite + position.value.strange;
    print_header(out, r->path, l, info, count);
    print_bounds(out, &position, info->dimensions);
    return print_ranges(out, r, l, info->dimensions, count);
}

static firn_status describe_h5(const char *path, FILE *out)
{
    H5_QUIET;
    h5_reader r;
    firn_checkpoint_info info = {0};
    firn_status status =
        h5_reader_open(&r, path, "a Firn frame (.hdf, .ply) or checkpoint (.h5)",
                       "only files that firn run and firn convert wrote can be described");
    if (status)
        return status;
    layout frame = {"VTKHDF frame", "VTKHDF/PointData", "VTKHDF/Points", 3};
    layout checkpoint = {"checkpoint", "particles", "particles/position", 3};
    if (h5_has(&r, "VTKHDF")) {
        status = header_get(&r, &info);
        if (!status)
            status = describe_layout(out, &r, &frame, &info);
    } else if (h5_has(&r, "particles")) {
        status = firn_checkpoint_read_info(path, &info);
        checkpoint.dimensions = info.dimensions;
        if (!status)
            status = describe_layout(out, &r, &checkpoint, &info);
    } else {
        status = h5_refuse(&r, "it has neither /VTKHDF nor /particles");
    }
    h5_reader_close(&r);
    return status;
}

/* ---- PLY files ------------------------------------------------------------------------------- */

static size_t property_bytes(const char *type)
{
    static const struct {
        const char *name;
        size_t bytes;
    } types[] = {{"float", 4}, {"uint", 4}, {"int", 4}, {"double", 8}, {"uchar", 1}};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        if (strcmp(type, types[k].name) == 0)
            return types[k].bytes;
    return 0;
}

/* Only the header: the values of a PLY are better looked at in the program it was made for. */
static firn_status describe_ply(const char *path, FILE *in, uint64_t bytes, FILE *out)
{
    char text[256], type[32], name[32], properties[512] = "", comments[1024] = "";
    unsigned long long count = 0;
    size_t row = 0;
    bool ended = false, ours = false;
    for (int k = 0; k < 100 && !ended && fgets(text, sizeof text, in); k++) {
        text[strcspn(text, "\r\n")] = '\0';
        if (sscanf(text, "property %31s %31s", type, name) == 2) {
            row += property_bytes(type);
            snprintf(properties + strlen(properties), sizeof properties - strlen(properties), " %s",
                     name);
        } else if (strncmp(text, "comment ", 8) == 0) {
            ours |= strncmp(text + 8, "Firn ", 5) == 0;
            snprintf(comments + strlen(comments), sizeof comments - strlen(comments), "  %s\n",
                     text + 8);
        }
        sscanf(text, "element vertex %llu", &count);
        ended = strcmp(text, "end_header") == 0;
    }
    long body = ended ? ftell(in) : -1;
    if (!ours || body < 0)
        return fail(FIRN_BAD_SCENE, "%s is a PLY file, but not one that Firn wrote", path);
    uint64_t rest = bytes - (uint64_t)body;
    if (row == 0 || rest / row != count || rest % row != 0)
        return fail(FIRN_BAD_SCENE,
                    "%s is damaged: its header promises %llu particles of %zu bytes, "
                    "but %llu bytes follow; write it again with firn convert",
                    path, count, row, (unsigned long long)rest);
    fprintf(out, "%s: PLY particles, binary\n%s  particles %llu, %zu bytes each\n  holds%s\n", path,
            comments, count, row, properties);
    return FIRN_OK;
}

firn_status firn_file_describe(const char *path, FILE *out)
{
    int fd;
    uint64_t bytes;
    firn_status status = file_open_input(path, &fd, &bytes);
    if (status)
        return status;
    FILE *in = fdopen(fd, "rb");
    if (!in) {
        close(fd);
        return fail(FIRN_NO_MEMORY, "no memory to read %s", path);
    }
    char magic[4] = "";
    bool is_ply = fread(magic, 1, sizeof magic, in) == sizeof magic && !memcmp(magic, "ply\n", 4);
    if (is_ply)
        status = describe_ply(path, in, bytes, out);
    fclose(in);
    if (!is_ply)
        status = describe_h5(path, out);
    if (!status && ferror(out))
        status = fail(FIRN_NO_OUTPUT, "cannot write the report on %s", path);
    return status;
}
