/*
 * libFuzzer over the readers of shapes, points and paths, one program for each FUZZ_SUBJECT:
 *
 *     build-fuzz/fuzz/fuzz_obj -max_len=4096 tests/shape/corpus/obj
 *
 * Any bytes: no crash, no leak, no print; either something usable or a message.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "firn/scene.h"
#include "io/exr.h"
#include "io/font.h"
#include "io/point_cache.h"
#include "io/point_table.h"
#include "io/raster.h"
#include "io/vdb.h"
#include "shape/height.h"
#include "shape/mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7.12 loses a scratch buffer when a long quoted text is a syntax error, OpenVDB 10 its nodes
 * when reading them throws. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml\nleak:openvdb";
}

static void must_have_reason(firn_status status)
{
    if (status != FIRN_OK && !*firn_last_error())
        abort();
}

/* The bytes as a file, by its path. */
static const char *file_of(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0)
        fd = memfd_create("input", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    return path;
}

static void fuzz_mesh(const uint8_t *data, size_t size)
{
    triangle_mesh mesh;
    mesh_report report;
    firn_status status = mesh_parse("fuzz." FUZZ_SUBJECT, data, size, &mesh);
    must_have_reason(status);
    if (status == FIRN_OK && mesh_check(&mesh, &report)) {
        mesh_require_closed("fuzz", &report);
        mesh_repair(&mesh, true);
    }
    mesh_clear(&mesh);
}

static void fuzz_raster(const uint8_t *data, size_t size)
{
    raster r;
    firn_status status = raster_parse("fuzz." FUZZ_SUBJECT, data, size, &r);
    must_have_reason(status);
    if (status == FIRN_OK) {
        const height_map map = {r.columns, r.rows, {r.step[0], r.step[1]}, {0, 0}, r.values};
        const height_body body = {true, 0, -10, 1};
        height_field *h = height_create(&map, &body);
        const double x[3] = {r.step[0] / 2, 1, r.step[1] / 2};
        double gradient[3];
        if (h && isnan(height_distance(h, FIELD_EXACT, x, gradient)))
            abort();
        height_destroy(&h);
    }
    raster_clear(&r);
}

static void fuzz_points(const uint8_t *data, size_t size)
{
    point_table table;
    firn_status status = point_table_parse("fuzz.csv", data, size, &table);
    must_have_reason(status);
    if (status == FIRN_OK && !point_table_find(&table, "position"))
        abort();
    point_table_clear(&table);
}

static void fuzz_h5(const uint8_t *data, size_t size)
{
    point_table table;
    firn_status status = point_table_load(file_of(data, size), &table);
    must_have_reason(status);
    if (status == FIRN_OK && !point_table_find(&table, "position"))
        abort();
    point_table_clear(&table);
}

static void fuzz_cache(const uint8_t *data, size_t size)
{
    point_cache cache;
    firn_status status = point_cache_open(file_of(data, size), &cache);
    must_have_reason(status);
    if (status != FIRN_OK)
        return;
    double(*points)[3] = malloc(cache.point_count * sizeof *points);
    for (size_t k = 0; k < cache.sample_count && k < 8 && points; k++)
        must_have_reason(point_cache_read(&cache, k, points));
    free(points);
    point_cache_close(&cache);
}

static void fuzz_font(const uint8_t *data, size_t size)
{
    const font_request request = {"fuzz.ttf", data, size, 0, "Ag\n8", 1, 1.2, FONT_CENTER};
    outline *letters = NULL;
    firn_status status = font_outline(&request, &letters);
    must_have_reason(status);
    outline_destroy(&letters);
}

static void fuzz_path(const uint8_t *data, size_t size)
{
    char text[400];
    snprintf(text, sizeof text,
             "simulation: {cell_size: 0.1}\ncolliders:\n  - shape: {sphere: {center: [0, 0, 0], "
             "radius: 1}}\n    path: {file: %s}\n",
             file_of(data, size));
    firn_scene *scene;
    must_have_reason(firn_scene_parse(text, "fuzz.yaml", NULL, 0, &scene));
    firn_scene_destroy(&scene);
}

static void fuzz_exr(const uint8_t *data, size_t size)
{
    exr_image image;
    firn_status status = exr_read(file_of(data, size), &image);
    must_have_reason(status);
    if (status == FIRN_OK)
        exr_find(&image, "R");
    exr_clear(&image);
}

static void fuzz_vdb(const uint8_t *data, size_t size)
{
    vdb_source grid;
    firn_status status = vdb_read(file_of(data, size), NULL, 0.5, &grid);
    must_have_reason(status);
    level_set *set = NULL;
    if (status == FIRN_OK && grid.is_level_set)
        must_have_reason(level_set_build(&grid.blocks, &set));
    if (set && isnan(level_set_distance(set, (double[3]){0}, NULL)))
        abort();
    if (status == FIRN_OK && !grid.is_level_set)
        for (size_t n = 0; n < grid.mesh.triangle_count; n++)
            for (int k = 0; k < 3; k++)
                if (grid.mesh.triangles[n][k] >= grid.mesh.vertex_count)
                    abort();
    level_set_release(&set);
    vdb_source_clear(&grid);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char subject[] = FUZZ_SUBJECT;
    if (strcmp(subject, "asc") == 0 || strcmp(subject, "png") == 0)
        fuzz_raster(data, size);
    else if (strcmp(subject, "points") == 0)
        fuzz_points(data, size);
    else if (strcmp(subject, "h5") == 0)
        fuzz_h5(data, size);
    else if (strcmp(subject, "cache") == 0)
        fuzz_cache(data, size);
    else if (strcmp(subject, "font") == 0)
        fuzz_font(data, size);
    else if (strcmp(subject, "exr") == 0)
        fuzz_exr(data, size);
    else if (strcmp(subject, "vdb") == 0)
        fuzz_vdb(data, size);
    else if (strcmp(subject, "path") == 0)
        fuzz_path(data, size);
    else
        fuzz_mesh(data, size);
    return 0;
}
