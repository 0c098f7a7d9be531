/* Frames as binary little-endian PLY: points with velocity, density, J_P, mass, id and object. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "io/formats.h"
#include "io/header.h"
#include "status.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "rows are copied as they lie in memory");

enum { FLOATS = 9, BLOCK_ROWS = 16384, MAX_ROW = FLOATS * 4 + 8 + 4 };

/* PLY has no 64-bit integers: ids beyond 32 bits are written as doubles. */
static bool has_wide_ids(const firn_sim *sim)
{
    size_t count = firn_sim_particle_count(sim);
    return count > 0 && firn_sim_ids(sim)[count - 1] > UINT32_MAX;
}

static void write_header(file_draft *draft, const firn_sim *sim)
{
    char *text =
        text_format("ply\nformat binary_little_endian 1.0\n"
                    "comment Firn %s\ncomment time %.17g\ncomment step %llu\n"
                    "comment frame %d\ncomment cell_size %.17g\ncomment dimensions %d\n"
                    "element vertex %zu\n"
                    "property float x\nproperty float y\nproperty float z\n"
                    "property float vx\nproperty float vy\nproperty float vz\n"
                    "property float density\nproperty float J_P\nproperty float mass\n"
                    "property %s id\nproperty uint object\nend_header\n",
                    firn_version(), firn_sim_time(sim), (unsigned long long)firn_sim_steps(sim),
                    firn_sim_frame(sim), firn_sim_cell_size(sim), firn_sim_dimensions(sim),
                    firn_sim_particle_count(sim), has_wide_ids(sim) ? "double" : "uint");
    file_append(draft, text, strlen(text));
    free(text);
}

/* One attribute into its columns of the rows; a missing z stays 0. */
static firn_status fill_columns(const firn_sim *sim, firn_attribute attribute, size_t first,
                                size_t count, double *values, float (*columns)[FLOATS], int column)
{
    firn_status status = firn_sim_read(sim, attribute, first, count, values);
    size_t components = (size_t)firn_attribute_components(attribute, firn_sim_dimensions(sim));
    for (size_t p = 0; !status && p < count; p++)
        for (size_t k = 0; k < components; k++)
            columns[p][(size_t)column + k] = (float)values[p * components + k];
    return status;
}

/* Rows as they stand in the file; returns their bytes. */
static size_t pack_rows(const firn_sim *sim, size_t first, size_t count,
                        const float (*columns)[FLOATS], char *out)
{
    const uint64_t *ids = firn_sim_ids(sim) + first;
    const uint32_t *objects = firn_sim_objects(sim) + first;
    bool wide = has_wide_ids(sim);
    char *at = out;
    for (size_t p = 0; p < count; p++) {
        uint32_t narrow_id = (uint32_t)ids[p];
        double wide_id = (double)ids[p];
        at = mempcpy(at, columns[p], sizeof columns[p]);
        at = wide ? mempcpy(at, &wide_id, sizeof wide_id)
                  : mempcpy(at, &narrow_id, sizeof narrow_id);
        at = mempcpy(at, &objects[p], sizeof objects[p]);
    }
    return (size_t)(at - out);
}

typedef struct row_buffer {
    double values[BLOCK_ROWS * 3];
    float columns[BLOCK_ROWS][FLOATS];
    char packed[BLOCK_ROWS * MAX_ROW];
} row_buffer;

static firn_status write_rows(file_draft *draft, const firn_sim *sim, row_buffer *buffer)
{
    static const struct {
        firn_attribute attribute;
        int column;
    } layout[] = {
        {FIRN_POSITION, 0}, {FIRN_VELOCITY, 3}, {FIRN_DENSITY, 6}, {FIRN_J_P, 7}, {FIRN_MASS, 8}};
    size_t count = firn_sim_particle_count(sim);
    for (size_t at = 0; at < count && !draft->error; at += BLOCK_ROWS) {
        size_t n = count - at < BLOCK_ROWS ? count - at : BLOCK_ROWS;
        for (size_t k = 0; k < sizeof layout / sizeof *layout; k++) {
            firn_status status = fill_columns(sim, layout[k].attribute, at, n, buffer->values,
                                              buffer->columns, layout[k].column);
            if (status)
                return status;
        }
        file_append(draft, buffer->packed, pack_rows(sim, at, n, buffer->columns, buffer->packed));
    }
    return FIRN_OK;
}

firn_status ply_write(const firn_sim *sim, const char *path)
{
    row_buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        return fail(FIRN_NO_MEMORY, "no memory to write %s", path);
    file_draft draft;
    firn_status status = file_create(path, &draft);
    if (!status) {
        write_header(&draft, sim);
        status = write_rows(&draft, sim, buffer);
        if (status)
            file_discard(&draft);
        else
            status = file_commit(&draft);
    }
    free(buffer);
    return status;
}
