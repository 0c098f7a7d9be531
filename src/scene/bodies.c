#include "scene/bodies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "io/vdb.h"

/* Cells on either side of a surface in which a level set is exact. */
static const double BAND = 1.5;

static const double FARTHEST = 1e6; /* m: as for coordinates in the scene */

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

/* ---- All ------------------------------------------------------------------------------------- */

static firn_status read_body(firn_scene *scene, const char *kind, const shape_values *v,
                             double scale, shape_field **out)
{
    double cell = scene->settings.cell_size;
    double voxel = (v->voxel > 0 ? v->voxel : cell / 2) / scale, band = BAND * cell / scale;
    const double how[] = {
        voxel, band, v->file_scale, v->length, v->shell, (double)v->close, (double)v->up, v->iso};
    input in;
    firn_status status = input_open(v->file, &in);
    if (status != FIRN_OK)
        return status;
    uint64_t fingerprint = body_fingerprint(&in, kind, how, sizeof how / sizeof *how);
    if (v->grid)
        fingerprint ^= input_hash(v->grid, strlen(v->grid));
    *out = find_body(scene, fingerprint);
    if (!*out) {
        status = strcmp(kind, "mesh") == 0 ? read_mesh(v, &in, voxel, band, out)
                                           : read_vdb(v, voxel, band, out);
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
    firn_status status = read_body(scene, kind->name, values, scale, &field);
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
