#include "scene/bodies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/font.h"
#include "io/input.h"
#include "io/raster.h"
#include "io/vdb.h"

/* Cells on either side of a surface in which a level set is exact. */
static const double BAND = 1.5;

static const double FARTHEST = 1e6; /* m: as for coordinates in the scene */

/* Where the bytes of a body come from. */
typedef struct source_file {
    char *path; /* owned */
    int face;   /* of a collection of fonts */
} source_file;

/* ---- Found again ----------------------------------------------------------------------------- */

static shape_field *find_body(const firn_scene *scene, uint64_t fingerprint)
{
    for (size_t n = 0; n < scene->body_count; n++)
        if (scene->bodies[n]->fingerprint == fingerprint)
            return field_share(scene->bodies[n]);
    return NULL;
}

static void keep_body(firn_scene *scene, shape_field *field)
{
    scene->bodies = realloc(scene->bodies, (scene->body_count + 1) * sizeof *scene->bodies);
    if (!scene->bodies)
        abort();
    scene->bodies[scene->body_count++] = field_share(field);
}

void bodies_forget(firn_scene *scene)
{
    for (size_t n = 0; n < scene->body_count; n++)
        field_release(&scene->bodies[n]);
    free(scene->bodies);
    scene->bodies = NULL;
    scene->body_count = 0;
}

/* What a body is: the bytes of its file and the numbers that say how they are read. */
static uint64_t body_fingerprint(const input *in, const char *kind, const double *how, size_t count)
{
    uint64_t parts[3] = {input_hash(in->data, in->size), input_hash(kind, strlen(kind)),
                         input_hash(how, count * sizeof *how)};
    return input_hash(parts, sizeof parts);
}

/* ---- Meshes ---------------------------------------------------------------------------------- */

static void turn_up(triangle_mesh *m)
{
    for (size_t v = 0; v < m->vertex_count; v++) {
        double y = m->vertices[v][1];
        m->vertices[v][1] = m->vertices[v][2];
        m->vertices[v][2] = -y;
    }
}

static double longest_side(const mesh_report *r)
{
    return fmax(r->high[0] - r->low[0], fmax(r->high[1] - r->low[1], r->high[2] - r->low[2]));
}

static firn_status check_extent(const char *file, const mesh_report *r)
{
    for (int i = 0; i < 3; i++)
        if (!(fabs(r->low[i]) <= FARTHEST && fabs(r->high[i]) <= FARTHEST))
            return fail(FIRN_BAD_SCENE,
                        "%s: reaches from %g to %g along %c, beyond %g m; use `scale` or `size`",
                        file, r->low[i], r->high[i], "xyz"[i], FARTHEST);
    return FIRN_OK;
}

/* To metres, upright, with an inside. */
static firn_status prepare_mesh(const shape_values *v, triangle_mesh *m)
{
    if (v->up)
        turn_up(m);
    mesh_report report;
    if (!mesh_check(m, &report))
        return fail(FIRN_NO_MEMORY, "%s: not enough memory", v->file);
    firn_status status = FIRN_OK;
    if (v->shell == 0) {
        status = v->close ? FIRN_OK : mesh_require_closed(v->file, &report);
        if (status == FIRN_OK)
            status = mesh_repair(m, v->close);
    }
    double scale = v->length > 0 ? v->length / longest_side(&report) : v->file_scale;
    for (size_t n = 0; n < m->vertex_count; n++)
        for (int i = 0; i < 3; i++)
            m->vertices[n][i] *= scale;
    for (int i = 0; i < 3; i++) {
        report.low[i] *= scale;
        report.high[i] *= scale;
    }
    if (status == FIRN_OK && report.flipped_edges)
        log_message(FIRN_LOG_INFO,
                    "%s: triangles disagreed on what is outside at %zu edges; turned", v->file,
                    report.flipped_edges);
    if (status == FIRN_OK && report.degenerate)
        log_message(FIRN_LOG_INFO, "%s: %zu triangles have no area", v->file, report.degenerate);
    return status == FIRN_OK ? check_extent(v->file, &report) : status;
}

static firn_status build_mesh(const shape_values *v, triangle_mesh *m, double voxel, double band,
                              shape_field **out)
{
    firn_status status = prepare_mesh(v, m);
    if (status == FIRN_OK) {
        status = field_from_mesh(m, voxel, band, v->shell, out);
        if (status != FIRN_OK)
            fail_within(status, "%s: ", v->file);
    }
    if (status == FIRN_OK && !((*out)->low[0] < (*out)->high[0])) {
        field_release(out);
        status = fail(FIRN_BAD_SCENE,
                      "%s: nothing is inside: the mesh is thinner than its voxels of %g m", v->file,
                      voxel);
    }
    return status;
}

static firn_status read_mesh(const shape_values *v, const input *in, double voxel, double band,
                             shape_field **out)
{
    triangle_mesh mesh;
    firn_status status = mesh_parse(v->file, in->data, in->size, &mesh);
    if (status == FIRN_OK)
        status = build_mesh(v, &mesh, voxel, band, out);
    mesh_clear(&mesh);
    return status;
}

/* ---- VDB ------------------------------------------------------------------------------------- */

static firn_status read_vdb(const shape_values *v, double voxel, double band, shape_field **out)
{
    vdb_source grid;
    firn_status status = vdb_read(v->file, v->grid, v->iso, &grid);
    if (status != FIRN_OK)
        return status;
    if (grid.is_level_set) {
        for (int i = 0; i < 3; i++)
            grid.blocks.origin[i] *= v->file_scale;
        grid.blocks.voxel *= v->file_scale;
        grid.blocks.half_width *= v->file_scale;
        for (size_t n = 0; n < grid.blocks.leaf_count * LEAF_SAMPLES; n++)
            grid.blocks.values[n] = (float)(grid.blocks.values[n] * v->file_scale);
        level_set *set;
        status = level_set_build(&grid.blocks, &set);
        if (status == FIRN_OK && !(*out = field_from_level_set(set)))
            status = fail(FIRN_NO_MEMORY, "%s: not enough memory", v->file);
        if (status == FIRN_OK && !((*out)->low[0] < (*out)->high[0])) {
            field_release(out);
            status = fail(FIRN_BAD_SCENE, "%s: nothing is inside the level set", v->file);
        }
    } else {
        status = build_mesh(v, &grid.mesh, voxel, band, out);
    }
    vdb_source_clear(&grid);
    return status;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static extrusion text_depth(const shape_values *v, int dimensions)
{
    if (dimensions == 2)
        return (extrusion){INFINITY, 0};
    return (extrusion){(v->depth > 0 ? v->depth : v->length / 3) / 2, v->bevel};
}

static firn_status read_letters(const shape_values *v, const source_file *from, const input *in,
                                int dimensions, double voxel, double band, shape_field **out)
{
    const extrusion depth = text_depth(v, dimensions);
    if (depth.bevel > depth.half_depth)
        return fail(FIRN_BAD_SCENE, "bevel is %g m, more than half the depth allows: at most %g m",
                    depth.bevel, depth.half_depth);
    const font_request request = {.name = from->path,
                                  .data = in->data,
                                  .size = in->size,
                                  .face = from->face,
                                  .text = v->text,
                                  .height = v->length,
                                  .line_height = v->line_height,
                                  .align = (font_align)v->align};
    outline *letters;
    firn_status status = font_outline(&request, &letters);
    return status == FIRN_OK ? field_from_outline(letters, &depth, voxel, band, out) : status;
}

/* ---- Terrain --------------------------------------------------------------------------------- */

/* What becomes the scene's origin, where it was not said: the middle, at the lowest height. */
static void choose_origin(const raster *r, const double said[3], double origin[3])
{
    double low = INFINITY;
    for (size_t n = 0; n < (size_t)r->columns * (size_t)r->rows; n++)
        low = r->values[n] < low ? r->values[n] : low;
    const double middle[3] = {r->corner[0] + r->step[0] * (r->columns - 1) / 2,
                              r->corner[1] - r->step[1] * (r->rows - 1) / 2, low};
    for (int i = 0; i < 3; i++)
        origin[i] = isnan(said[i]) ? middle[i] : said[i];
}

/* North is -z; heights become metres above the origin. Takes the raster's values over. */
static height_map to_map(const shape_values *v, raster *r)
{
    double origin[3];
    choose_origin(r, v->origin, origin);
    height_map m = {.columns = r->columns, .rows = r->rows, .values = r->values};
    m.corner[0] = v->file_scale * (r->corner[0] - origin[0]);
    m.corner[1] = -v->file_scale * (r->corner[1] - origin[1]);
    for (int i = 0; i < 2; i++)
        m.step[i] = v->file_scale * r->step[i];
    for (size_t n = 0; n < (size_t)r->columns * (size_t)r->rows; n++)
        m.values[n] = (float)(v->height_scale * (r->values[n] - origin[2]));
    return m;
}

static firn_status check_map(const shape_values *v, const height_field *h)
{
    mesh_report box = {0};
    height_bounds(h, box.low, box.high);
    firn_status status = check_extent(v->file, &box);
    return status == FIRN_OK ? status : fail_within(status, "terrain, after `origin`: ");
}

static firn_status read_terrain(const shape_values *v, const input *in, double cell,
                                shape_field **out)
{
    raster r;
    firn_status status = raster_parse(v->file, in->data, in->size, &r);
    if (status != FIRN_OK)
        return status;
    height_map map = to_map(v, &r);
    double side = fmax(map.step[0] * (map.columns - 1), map.step[1] * (map.rows - 1)),
           low = INFINITY;
    for (size_t n = 0; n < (size_t)map.columns * (size_t)map.rows; n++)
        low = map.values[n] < low ? map.values[n] : low;
    const height_body body = {.smooth = v->smooth,
                              .thickness = v->thickness,
                              .base = low - (v->base > 0 ? v->base : side / 10),
                              .near = fmax(2 * fmin(map.step[0], map.step[1]), 6 * cell)};
    height_field *height = height_create(&map, &body);
    raster_clear(&r);
    if (!height)
        return fail(FIRN_NO_MEMORY, "%s: not enough memory", v->file);
    status = check_map(v, height);
    if (status != FIRN_OK)
        height_destroy(&height);
    else if (!(*out = field_from_height(height)))
        status = fail(FIRN_NO_MEMORY, "%s: not enough memory", v->file);
    return status;
}

/* ---- All ------------------------------------------------------------------------------------- */

static firn_status read_body(firn_scene *scene, const char *kind, const shape_values *v,
                             const source_file *from, double scale, shape_field **out)
{
    double cell = scene->settings.cell_size;
    double voxel = (v->voxel > 0 ? v->voxel : cell / 2) / scale, band = BAND * cell / scale;
    int dimensions = scene->settings.dimensions;
    const double how[] = {voxel,
                          band,
                          v->file_scale,
                          v->length,
                          v->shell,
                          (double)v->close,
                          (double)v->up,
                          v->iso,
                          v->depth,
                          v->bevel,
                          v->line_height,
                          (double)v->align,
                          (double)from->face,
                          v->height_scale,
                          v->thickness,
                          v->base,
                          v->origin[0],
                          v->origin[1],
                          v->origin[2],
                          (double)v->smooth,
                          (double)dimensions};
    input in;
    firn_status status = input_open(from->path, &in);
    if (status != FIRN_OK)
        return status;
    uint64_t fingerprint = body_fingerprint(&in, kind, how, sizeof how / sizeof *how);
    if (v->grid)
        fingerprint ^= input_hash(v->grid, strlen(v->grid));
    if (v->text)
        fingerprint ^= input_hash(v->text, strlen(v->text));
    *out = find_body(scene, fingerprint);
    if (!*out) {
        if (strcmp(kind, "mesh") == 0)
            status = read_mesh(v, &in, voxel, band, out);
        else if (strcmp(kind, "vdb") == 0)
            status = read_vdb(v, voxel, band, out);
        else if (strcmp(kind, "terrain") == 0)
            status = read_terrain(v, &in, cell / scale, out);
        else
            status = read_letters(v, from, &in, dimensions, voxel, band, out);
        if (status == FIRN_OK) {
            (*out)->fingerprint = fingerprint;
            keep_body(scene, *out);
        }
    }
    input_close(&in);
    return status;
}

firn_status body_read(firn_scene *scene, const option *kind, const yaml_node *node,
                      const shape_values *values, double scale, shape **out)
{
    shape_field *field = NULL;
    *out = NULL;
    source_file from = {0};
    firn_status status = FIRN_OK;
    if (values->file)
        from.path = text_copy(values->file);
    else
        status = font_find(values->font, &from.path, &from.face);
    if (status == FIRN_OK)
        status = read_body(scene, kind->name, values, &from, scale, &field);
    free(from.path);
    if (status != FIRN_OK) {
        char *where = mark_where(node->at);
        fail_within(status, "%s: ", where);
        free(where);
        return status;
    }
    *out = shape_from_field(field);
    if (!*out)
        abort();
    return FIRN_OK;
}
