/*
 * The layout is a contract with people's scripts: names, shapes and types stay as they are.
 * Positions and B are float64 whatever the backend: one that keeps floats keeps them in cells, and
 * together with the cell that is more than 24 bits.
 *
 * What can be written can be read: both ways go through check_values.
 */
#include "io/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/header.h"
#include "status.h"

enum { PATH_SIZE = 32 };

struct checkpoint_reader {
    h5_reader file;
    firn_checkpoint_info info;
    h5_rows id, object, rest;
    h5_rows values[FIRN_STATE_ATTRIBUTES];
    char paths[FIRN_STATE_ATTRIBUTES][PATH_SIZE];
};

static bool is_one_of(const char *text, const char *a, const char *b)
{
    return strcmp(text, a) == 0 || strcmp(text, b) == 0;
}

/* Whether particles of such a run carry B. */
static bool is_affine(const char *transfer)
{
    return is_one_of(transfer, "apic", "mls");
}

/* ---- Values ---------------------------------------------------------------------------------- */

static bool is_sane(firn_attribute attribute, double value)
{
    bool positive = attribute == FIRN_MASS || attribute == FIRN_VOLUME || attribute == FIRN_J_P;
    return isfinite(value) && (!positive || value > 0);
}

/* The index of the first value that no simulation can go on from, or `count`. */
static size_t check_values(firn_attribute attribute, size_t count, const double *values)
{
    size_t k = 0;
    while (k < count && is_sane(attribute, values[k]))
        k++;
    return k;
}

static size_t check_increasing(size_t count, const uint64_t *ids)
{
    size_t k = 1;
    while (k < count && ids[k - 1] < ids[k])
        k++;
    return k;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void write_attribute(h5_writer *w, hid_t group, const firn_sim *sim,
                            firn_attribute attribute, double *block)
{
    size_t rows = firn_sim_particle_count(sim);
    int d = firn_sim_dimensions(sim);
    int components = firn_attribute_components(attribute, d);
    const char *name = firn_attribute_name(attribute);
    bool wide = firn_sim_is_double(sim) || attribute == FIRN_POSITION || attribute == FIRN_B;
    H5_SCOPED data = h5_make_rows(w, group, name, wide ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT,
                                  h5_rows_of(rows, components, d), H5_PLAIN);
    for (size_t at = 0, n; (n = block_rows(at, rows)) && !w->status; at += n) {
        w->status = firn_sim_read(sim, attribute, at, n, block);
        if (w->status)
            return;
        size_t count = n * (size_t)components, bad = check_values(attribute, count, block);
        if (bad < count) {
            w->status = fail(
                FIRN_BLOWUP, "%s not written: %s of particle %llu is %g", w->draft.path, name,
                (unsigned long long)firn_sim_ids(sim)[at + bad / (size_t)components], block[bad]);
            return;
        }
        h5_write_rows(w, data, H5T_NATIVE_DOUBLE, at, n, block);
    }
}

static void write_particles(h5_writer *w, const firn_sim *sim, const double *rest, bool has_B,
                            double *block)
{
    size_t rows = firn_sim_particle_count(sim);
    h5_shape scalar = {1, {rows}};
    H5_SCOPED group = h5_make_group(w, w->file, "particles");
    H5_SCOPED id = h5_make_rows(w, group, "id", H5T_NATIVE_UINT64, scalar, H5_PLAIN);
    h5_write_rows(w, id, H5T_NATIVE_UINT64, 0, rows, firn_sim_ids(sim));
    H5_SCOPED object = h5_make_rows(w, group, "object", H5T_NATIVE_UINT32, scalar, H5_PLAIN);
    h5_write_rows(w, object, H5T_NATIVE_UINT32, 0, rows, firn_sim_objects(sim));
    if (rest) {
        H5_SCOPED data = h5_make_rows(w, group, "rest", H5T_NATIVE_DOUBLE, scalar, H5_PLAIN);
        h5_write_rows(w, data, H5T_NATIVE_DOUBLE, 0, rows, rest);
    }
    for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES; a++)
        if (a != FIRN_B || has_B)
            write_attribute(w, group, sim, a, block);
}

firn_status checkpoint_write(const char *path, const firn_checkpoint_info *info,
                             const firn_sim *sim, const double *rest)
{
    H5_QUIET;
    double *block = block_create();
    if (!block)
        return FIRN_NO_MEMORY;
    h5_writer w;
    h5_writer_open(&w, path);
    header_put(&w, info);
    h5_put_text(&w, w.file, "kernel", info->kernel);
    h5_put_text(&w, w.file, "transfer", info->transfer);
    h5_put_text(&w, w.file, "backend", info->backend);
    h5_put_uint(&w, "fingerprint", info->fingerprint);
    h5_put_double(&w, "dt_limit", info->dt_limit);
    h5_put_uint(&w, "next_id", info->next_id);
    write_particles(&w, sim, rest, is_affine(info->transfer), block);
    free(block);
    return h5_writer_close(&w);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static firn_status open_header(checkpoint_reader *c)
{
    const h5_reader *r = &c->file;
    firn_checkpoint_info *info = &c->info;
    firn_status status = header_get(r, info);
    if (!status)
        status = h5_get_text(r, "kernel", info->kernel, sizeof info->kernel);
    if (!status)
        status = h5_get_text(r, "transfer", info->transfer, sizeof info->transfer);
    /* These are ours rather than the contract's: a file made by other hands may lack them. */
    if (!status && h5_has_attribute(r, "backend"))
        status = h5_get_text(r, "backend", info->backend, sizeof info->backend);
    if (!status && h5_has_attribute(r, "fingerprint"))
        status = h5_get_uint(r, "fingerprint", &info->fingerprint);
    if (!status && h5_has_attribute(r, "dt_limit"))
        status = h5_get_double(r, "dt_limit", &info->dt_limit);
    if (!status && h5_has_attribute(r, "next_id"))
        status = h5_get_uint(r, "next_id", &info->next_id);
    if (status)
        return status;
    if (!(info->dt_limit >= 0 && isfinite(info->dt_limit)))
        return h5_refuse(r, "dt_limit is %g", info->dt_limit);
    if (!is_one_of(info->kernel, "cubic", "quadratic"))
        return h5_refuse(r, "kernel is \"%s\", not cubic or quadratic", info->kernel);
    if (strcmp(info->transfer, "flip") != 0 && !is_affine(info->transfer))
        return h5_refuse(r, "transfer is \"%s\", not flip, apic or mls", info->transfer);
    return FIRN_OK;
}

static firn_status open_datasets(checkpoint_reader *c)
{
    const h5_reader *r = &c->file;
    int d = c->info.dimensions;
    firn_status status =
        h5_open_rows(r, "particles/id", H5T_INTEGER, (h5_shape){1, {H5_ANY_ROWS}}, &c->id);
    if (status)
        return status;
    c->info.particles = c->id.shape.size[0];
    c->info.is_double = true;
    if (h5_has(r, "particles/object"))
        status = h5_open_rows(r, "particles/object", H5T_INTEGER, c->id.shape, &c->object);
    if (!status && h5_has(r, "particles/rest"))
        status = h5_open_rows(r, "particles/rest", H5T_FLOAT, c->id.shape, &c->rest);
    for (firn_attribute a = 0; !status && a < FIRN_STATE_ATTRIBUTES; a++) {
        char *path = c->paths[a];
        snprintf(path, PATH_SIZE, "particles/%s", firn_attribute_name(a));
        if (a == FIRN_B && !is_affine(c->info.transfer) && !h5_has(r, path))
            continue;
        h5_shape shape = h5_rows_of(c->info.particles, firn_attribute_components(a, d), d);
        status = h5_open_rows(r, path, H5T_FLOAT, shape, &c->values[a]);
        c->info.is_double &= c->values[a].width >= sizeof(double);
    }
    return status;
}

firn_status checkpoint_open(const char *path, firn_checkpoint_info *info,
                            checkpoint_reader **reader)
{
    H5_QUIET;
    checkpoint_reader *c = calloc(1, sizeof *c);
    if (!c)
        return fail(FIRN_NO_MEMORY, "no memory to read %s", path);
    c->id.id = c->object.id = c->rest.id = -1;
    for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES; a++)
        c->values[a].id = -1;
    firn_status status = h5_reader_open(&c->file, path, "a Firn checkpoint",
                                        "take an earlier checkpoint or start again from the scene");
    if (!status)
        status = open_header(c);
    if (!status)
        status = open_datasets(c);
    if (status) {
        checkpoint_close(&c);
        return status;
    }
    *info = c->info;
    *reader = c;
    return FIRN_OK;
}

bool checkpoint_has(const checkpoint_reader *reader, firn_attribute attribute)
{
    return attribute < FIRN_STATE_ATTRIBUTES && reader->values[attribute].id >= 0;
}

static firn_status check_range(const checkpoint_reader *c, size_t first, size_t count)
{
    if (first > c->info.particles || count > c->info.particles - first)
        return fail(FIRN_USAGE, "%s has no rows %zu to %zu", c->file.path, first, first + count);
    return FIRN_OK;
}

firn_status checkpoint_read(checkpoint_reader *reader, firn_attribute attribute, size_t first,
                            size_t count, double *values)
{
    H5_QUIET;
    if (!checkpoint_has(reader, attribute))
        return fail(FIRN_USAGE, "%s has no %s", reader->file.path, firn_attribute_name(attribute));
    firn_status status = check_range(reader, first, count);
    const h5_rows *rows = &reader->values[attribute];
    if (!status)
        status = h5_read_rows(&reader->file, rows, H5T_NATIVE_DOUBLE, first, count, values);
    if (status)
        return status;
    size_t components = (size_t)firn_attribute_components(attribute, reader->info.dimensions);
    size_t bad = check_values(attribute, count * components, values);
    if (bad < count * components)
        return h5_refuse(&reader->file, "/%s in row %zu is %g", rows->path,
                         first + bad / components, values[bad]);
    return FIRN_OK;
}

firn_status checkpoint_read_ids(checkpoint_reader *reader, uint64_t *ids)
{
    H5_QUIET;
    size_t count = reader->info.particles;
    firn_status status = h5_read_rows(&reader->file, &reader->id, H5T_NATIVE_UINT64, 0, count, ids);
    size_t bad = status ? count : check_increasing(count, ids);
    if (!status && bad < count)
        return h5_refuse(&reader->file,
                         "/particles/id must increase, but row %zu is %llu after %llu", bad,
                         (unsigned long long)ids[bad], (unsigned long long)ids[bad - 1]);
    return status;
}

firn_status checkpoint_read_objects(checkpoint_reader *reader, uint32_t *objects)
{
    H5_QUIET;
    size_t count = reader->info.particles;
    if (reader->object.id >= 0)
        return h5_read_rows(&reader->file, &reader->object, H5T_NATIVE_UINT32, 0, count, objects);
    memset(objects, 0, count * sizeof *objects);
    return FIRN_OK;
}

bool checkpoint_has_rest(const checkpoint_reader *reader)
{
    return reader->rest.id >= 0;
}

firn_status checkpoint_read_rest(checkpoint_reader *reader, double *rest)
{
    H5_QUIET;
    size_t count = reader->info.particles;
    firn_status status =
        h5_read_rows(&reader->file, &reader->rest, H5T_NATIVE_DOUBLE, 0, count, rest);
    for (size_t k = 0; k < count && !status; k++)
        if (!(rest[k] >= 0))
            return h5_refuse(&reader->file, "/particles/rest in row %zu is %g", k, rest[k]);
    return status;
}

void checkpoint_close(checkpoint_reader **reader)
{
    checkpoint_reader *c = *reader;
    if (!c)
        return;
    H5_QUIET;
    h5_rows_close(&c->id);
    h5_rows_close(&c->object);
    h5_rows_close(&c->rest);
    for (firn_attribute a = 0; a < FIRN_STATE_ATTRIBUTES; a++)
        h5_rows_close(&c->values[a]);
    h5_reader_close(&c->file);
    free(c);
    *reader = NULL;
}

firn_status firn_checkpoint_read_info(const char *path, firn_checkpoint_info *info)
{
    checkpoint_reader *reader = NULL;
    firn_status status = checkpoint_open(path, info, &reader);
    checkpoint_close(&reader);
    return status;
}
