/* Colliders that change their shape: the table, and from files to a body. */
#include <stdlib.h>

#include "io/mesh_sequence.h"
#include "scene/options.h"
#include "scene/rows.h"

#define AT(member) .offset = offsetof(scene_deform, member)
static const option deform_rows[] = {
    {"file", OPTION_FILE, AT(file), .required = true,
     .help =
         "OBJ, PLY, STL or OFF. Of a sequence of files `####` stands for the number, with as many "
         "digits at least: `walk_####.obj`."},
    {"cache", OPTION_FILE, AT(cache),
     .help = "Instead of a sequence of files: a PC2 or MDD cache of the vertices of `file`."},
    {"first", OPTION_INTEGER, AT(first), .low = 0, .high = 999999999,
     .help = "Number of the first file. Default: the lowest there is."},
    {"last", OPTION_INTEGER, AT(last), .low = 0, .high = 999999999,
     .help = "Number of the last file. Default: the highest there is."},
    {"start", OPTION_REAL, AT(start), .fallback = "0", .low = -1e6, .high = 1e6, .unit = "s",
     .help = "Time of the first frame. Before it and after the last the body rests."},
    {"fps", OPTION_REAL, AT(fps), .fallback = "scene", .word = "scene", .low = 0, .open_low = true,
     .high = 1e6, .unit = "1/s",
     .help = "Frames of the sequence a second. `scene`: as many as simulation.fps. An MDD cache "
             "knows its own times."},
    {"scale", OPTION_REAL, AT(scale), .fallback = "1", .low = 0, .open_low = true,
     .high = LENGTH_LIMIT, .help = "Metres for one unit of the files: 0.01 for centimetres."},
    {"up", OPTION_CHOICE, AT(up), .fallback = "y", .choices = WORDS("y", "z"),
     .help = "Which axis of the files points up. `z`: it is turned to stand up here."},
    {"close", OPTION_BOOLEAN, AT(close), .fallback = "false",
     .help = "Fill holes, in every frame, with a fan around the middle of their rim."},
    {"shell", OPTION_REAL, AT(shell), .fallback = "0", .low = 0, .high = LENGTH_LIMIT, .unit = "m",
     .help = "Above 0: not the inside, but a wall of this thickness about the triangles, open or "
             "broken as they may be."},
    {"voxel", OPTION_REAL, AT(voxel), .fallback = "auto", .word = "auto", POSITIVE_LENGTH,
     .help = "Distance between the samples of its level sets. `auto`: half a cell."},
    {"memory", OPTION_REAL, AT(memory), .fallback = "500", .low = 0, .high = 1e9, .unit = "MB",
     .help = "For level sets that are not needed just now, so that they need not be made again."},
};
#undef AT

const option_table deform_table = {
    .title = "deform",
    ROWS(deform_rows),
    .help = "A collider whose shape changes: meshes with the same faces in the same order, and the "
            "vertices where they are at each frame."};

static firn_status build(const firn_scene *scene, const yaml_node *node, const scene_deform *d,
                         deform **out)
{
    double cell = scene->settings.cell_size;
    mesh_sequence_request files = {
        .file = d->file,
        .cache = d->cache,
        .has_first = yaml_find(node, "first"),
        .has_last = yaml_find(node, "last"),
        .first = d->first,
        .last = d->last,
        .start = d->start,
        .fps = d->fps > 0 ? d->fps : scene->settings.fps,
        .scale = d->scale,
        .z_up = d->up,
        .open = d->shell > 0,
        .close = d->close,
    };
    deform_request request = {
        .voxel = d->voxel > 0 ? d->voxel : cell / 2,
        .cell = cell,
        .shell = d->shell,
        .budget = 1e6 * d->memory,
    };
    mesh_sequence *sequence;
    firn_status status = mesh_sequence_open(&files, &sequence);
    return status == FIRN_OK ? deform_create(sequence, &request, out) : status;
}

firn_status read_deform(const firn_scene *scene, const yaml_node *node, scene_collider *c)
{
    firn_status status = build(scene, node, &c->deform, &c->body.deform);
    if (status == FIRN_OK)
        return FIRN_OK;
    char *where = mark_where(node->at);
    fail_within(status, "%s: collider '%s': ", where, c->name);
    free(where);
    return status;
}
