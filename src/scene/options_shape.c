/* The tables of shapes. */
#include "scene/options.h"
#include "scene/rows.h"

#define AT(member) .offset = offsetof(shape_values, member)

/* ---- primitives ------------------------------------------------------------------------------ */

static const option sphere_rows[] = {
    {"center", OPTION_POINT, AT(center), .required = true, COORDINATE, .help = "Middle."},
    {"radius", OPTION_REAL, AT(radius), .required = true, POSITIVE_LENGTH, .help = "Radius."},
};
static const option box_rows[] = {
    {"center", OPTION_POINT, AT(center), .required = true, COORDINATE, .help = "Middle."},
    {"size", OPTION_SIZE, AT(size), .required = true, POSITIVE_LENGTH,
     .help = "Full lengths of the edges. In 2D the third may be left out."},
    {"round", OPTION_REAL, AT(round), .fallback = "0", .low = 0, .high = LENGTH_LIMIT, .unit = "m",
     .help = "Radius of the edges; at most half the shortest edge. The size stays."},
};
static const option capsule_rows[] = {
    {"from", OPTION_POINT, AT(from), .required = true, COORDINATE, .help = "Start of the axis."},
    {"to", OPTION_POINT, AT(to), .required = true, COORDINATE, .help = "End of the axis."},
    {"radius", OPTION_REAL, AT(radius), .required = true, POSITIVE_LENGTH, .help = "Radius."},
};
static const option cylinder_rows[] = {
    {"from", OPTION_POINT, AT(from), .required = true, COORDINATE, .help = "Start of the axis."},
    {"to", OPTION_POINT, AT(to), .required = true, COORDINATE, .help = "End of the axis."},
    {"radius", OPTION_REAL, AT(radius), .required = true, POSITIVE_LENGTH, .help = "Radius."},
    {"round", OPTION_REAL, AT(round), .fallback = "0", .low = 0, .high = LENGTH_LIMIT, .unit = "m",
     .help = "Radius of the edges; at most the radius and half the length. The size stays."},
};
static const option plane_rows[] = {
    {"point", OPTION_POINT, AT(point), .required = true, COORDINATE, .help = "Any of its points."},
    {"normal", OPTION_DIRECTION, AT(normal), .required = true, .low = -LENGTH_LIMIT,
     .high = LENGTH_LIMIT, .help = "Points out of the body; any length but zero."},
};

static const option_table sphere_table = {.title = "sphere", ROWS(sphere_rows), .help = "A ball."};
static const option_table box_table = {.title = "box", ROWS(box_rows), .help = "A block."};
static const option_table capsule_table = {.title = "capsule",
                                           ROWS(capsule_rows),
                                           .help = "A rod with round ends beyond `from` and `to`."};
static const option_table cylinder_table = {
    .title = "cylinder", ROWS(cylinder_rows), .help = "A rod with flat ends at `from` and `to`."};
static const option_table plane_table = {.title = "plane",
                                         ROWS(plane_rows),
                                         .help = "Everything below a plane. For colliders, and for "
                                                 "cutting other shapes."};

/* ---- bodies from files ----------------------------------------------------------------------- */

#define FILE_ROW(what)                                                                             \
    {                                                                                              \
        "file", OPTION_FILE, AT(file), .required = true,                                           \
                                       .help = what " A relative path starts at the scene file."   \
    }
#define SCALE_ROW                                                                                  \
    {                                                                                              \
        "scale", OPTION_REAL, AT(file_scale),                                                      \
            .fallback = "1", .low = 0, .open_low = true, .high = LENGTH_LIMIT,                     \
            .help = "Metres for one unit of the file: 0.01 for centimetres."                       \
    }
#define CENTER_ROW                                                                                 \
    {                                                                                              \
        "center", OPTION_POINT, AT(center), COORDINATE,                                            \
            .help = "Where the middle of its box goes. Default: it stays where the file has it."   \
    }
#define VOXEL_ROW                                                                                  \
    {                                                                                              \
        "voxel", OPTION_REAL, AT(voxel),                                                           \
            .fallback = "auto", .word = "auto", POSITIVE_LENGTH,                                   \
            .help = "Distance between the samples of its level set. `auto`: half a cell."          \
    }

static const option mesh_rows[] = {
    FILE_ROW("OBJ, PLY, STL or OFF; text or binary."),
    SCALE_ROW,
    {"size", OPTION_REAL, AT(length), POSITIVE_LENGTH,
     .help = "Instead of `scale`: length of the longest side of its box."},
    {"up", OPTION_CHOICE, AT(up), .fallback = "y", .choices = WORDS("y", "z"),
     .help = "Which axis of the file points up. `z`: it is turned to stand up here."},
    CENTER_ROW,
    {"close", OPTION_BOOLEAN, AT(close), .fallback = "false",
     .help = "Fill holes with a fan around the middle of their rim, and take whatever the outside "
             "cannot reach as the inside."},
    {"shell", OPTION_REAL, AT(shell), .fallback = "0", .low = 0, .high = LENGTH_LIMIT, .unit = "m",
     .help = "Above 0: not the inside, but a wall of this thickness about the triangles, open or "
             "broken as they may be."},
    VOXEL_ROW,
};
static const option vdb_rows[] = {
    FILE_ROW("OpenVDB."),
    {"grid", OPTION_TEXT, AT(grid),
     .help = "Its name in the file. Default: the first level set, or else the first grid of "
             "numbers."},
    {"iso", OPTION_REAL, AT(iso), .fallback = "0.5", .low = -1e30, .high = 1e30,
     .help = "Of a fog volume: the density at its surface. Without effect on a level set."},
    SCALE_ROW,
    CENTER_ROW,
    VOXEL_ROW,
};

static const option text_rows[] = {
    {"text", OPTION_LINES, AT(text), .required = true,
     .help = "What is written; `|` and indented lines below it make several lines."},
    {"font", OPTION_TEXT, AT(font), .fallback = "sans:bold",
     .help = "An installed font by its family, with a style after a colon: `DejaVu Serif:bold`. "
             "`sans`, `serif` and `mono` are whatever the system has: for scenes that travel, give "
             "a `file`."},
    {"file", OPTION_FILE, AT(file),
     .help = "Instead of `font`: a font file (TTF, OTF, ...). A relative path starts at the scene "
             "file."},
    {"size", OPTION_REAL, AT(length), .required = true, POSITIVE_LENGTH,
     .help = "Height of a capital letter."},
    {"depth", OPTION_REAL, AT(depth), .fallback = "auto", .word = "auto", POSITIVE_LENGTH,
     .help = "Thickness along z. `auto`: a third of the size. In 2D it has no end."},
    {"bevel", OPTION_REAL, AT(bevel), .fallback = "0", .low = 0, .high = LENGTH_LIMIT, .unit = "m",
     .help = "Cut edges off at 45 degrees, this much along face and side; at most half the depth. "
             "For round edges shrink the text and grow it: `offset`."},
    {"align", OPTION_CHOICE, AT(align), .fallback = "left",
     .choices = WORDS("left", "center", "right"), .help = "What of every line is at x = 0."},
    {"line_height", OPTION_REAL, AT(line_height), .fallback = "1", .low = 0, .high = 100,
     .help = "From line to line, times the font's own."},
    {"center", OPTION_POINT, AT(center), COORDINATE,
     .help = "Where the middle of its box goes. Default: the first baseline is at y = 0, z = 0 is "
             "halfway through."},
    VOXEL_ROW,
};

static const option terrain_rows[] = {
    FILE_ROW("ESRI ASCII grid (.asc), or a grey PNG of 8 or 16 bits with north at the top."),
    {"scale", OPTION_REAL, AT(file_scale), .fallback = "1", .low = 0, .open_low = true,
     .high = LENGTH_LIMIT,
     .help = "Metres for one unit across: of a PNG, from pixel to pixel. A grid brings its own "
             "cellsize in metres."},
    {"height_scale", OPTION_REAL, AT(height_scale), .fallback = "1", .low = 0, .open_low = true,
     .high = LENGTH_LIMIT,
     .help = "Metres for one unit of height: of a PNG, the height of white; black is 0."},
    {"origin", OPTION_POINT, AT(origin), .low = -1e9, .high = 1e9,
     .help = "East, north and height, as the file has them, of the place that becomes [0, 0, 0]. "
             "Default: the middle of the map, at the height of its lowest place."},
    {"smooth", OPTION_BOOLEAN, AT(smooth), .fallback = "true",
     .help = "A cubic surface through the samples, whose slope does not jump; false: bilinear."},
    {"thickness", OPTION_REAL, AT(thickness), .fallback = "0", .low = 0, .high = LENGTH_LIMIT,
     .unit = "m", .help = "Above 0: not the ground, but a layer that lies so high on it."},
    {"base", OPTION_REAL, AT(base), .fallback = "auto", .word = "auto", POSITIVE_LENGTH,
     .help = "How far the ground reaches below its lowest place. `auto`: a tenth of the map's "
             "longer side."},
    {"center", OPTION_POINT, AT(center), COORDINATE,
     .help = "Where the middle of its box goes, after `origin`."},
};

static const option_table mesh_table = {
    .title = "mesh",
    ROWS(mesh_rows),
    .shorthand = "file",
    .help = "The inside of a triangle mesh. Polygons are cut into triangles, corners at the same "
            "place are joined, and triangles may face either way. A part that faces inward within "
            "another is a cavity. Snow fills it exactly; a collider samples it."};
static const option_table vdb_table = {.title = "vdb",
                                       ROWS(vdb_rows),
                                       .shorthand = "file",
                                       .help = "A level set, or the denser part of a fog volume."};

static const option_table text_table = {
    .title = "text",
    ROWS(text_rows),
    .help = "Letters that stand in the plane z = 0 and read from the side of +z. Snow fills their "
            "outlines exactly; a collider samples them."};

static const option_table terrain_table = {
    .title = "terrain",
    ROWS(terrain_rows),
    .shorthand = "file",
    .help = "Ground from a map of heights: x is east, y up, z south. It ends in vertical walls "
            "where the map does and where it has no data."};

/* ---- placing --------------------------------------------------------------------------------- */

static const option rotate_rows[] = {
    {"axis", OPTION_POINT, AT(axis), .low = -LENGTH_LIMIT, .high = LENGTH_LIMIT,
     .help = "Direction to turn about; any length but zero. Required in 3D; in 2D it is z."},
    {"angle", OPTION_REAL, AT(angle), .required = true, .low = -36000, .high = 36000,
     .unit = "degrees", .help = "Counterclockwise when the axis points at you."},
    {"about", OPTION_POINT, AT(about), COORDINATE,
     .help =
         "A point that stays in place. Default: the shape's own middle (of `center`; halfway "
         "`from` and `to`; `point` of a plane; of the box around a body from a file; the middle of "
         "the first part of a combination)."},
};
const option_table rotate_table = {.title = "rotate",
                                   ROWS(rotate_rows),
                                   .shorthand = "angle",
                                   .help = "A turn, made before `translate`."};

static const option shape_rows[] = {
    {"sphere", OPTION_GROUP, .table = &sphere_table},
    {"box", OPTION_GROUP, .table = &box_table},
    {"capsule", OPTION_GROUP, .table = &capsule_table},
    {"cylinder", OPTION_GROUP, .table = &cylinder_table},
    {"plane", OPTION_GROUP, .table = &plane_table},
    {"mesh", OPTION_GROUP, .table = &mesh_table},
    {"vdb", OPTION_GROUP, .table = &vdb_table},
    {"text", OPTION_GROUP, .table = &text_table},
    {"terrain", OPTION_GROUP, .table = &terrain_table},
    {"union", OPTION_SHAPES, .table = &shape_table, .help = "All of the listed shapes."},
    {"intersect", OPTION_SHAPES, .table = &shape_table, .help = "Where all of them overlap."},
    {"subtract", OPTION_SHAPES, .table = &shape_table, .help = "The first without the others."},
    {"offset", OPTION_REAL, AT(offset), .fallback = "0", COORDINATE,
     .help = "Grow by this on all sides; below 0, shrink. Edges that stick out get round."},
    {"shell", OPTION_REAL, AT(shell), .fallback = "0", .low = 0, .high = LENGTH_LIMIT, .unit = "m",
     .help = "Above 0: only a wall of this thickness, half of it on either side of the surface."},
    {"scale", OPTION_REAL, AT(scale), .fallback = "1", .low = 0, .open_low = true,
     .high = LENGTH_LIMIT, .help = "Times as large, about its own middle; before `rotate`."},
    {"rotate", OPTION_GROUP, .table = &rotate_table},
    {"translate", OPTION_POINT, AT(translate), .fallback = "[0, 0, 0]", COORDINATE,
     .help = "A shift, made after `rotate`."},
};
#undef AT
const option_table shape_table = {
    .title = "shape",
    ROWS(shape_rows),
    .help = "A mapping with exactly one of the kinds below, and optionally `offset`, `shell`, "
            "`scale`, `rotate` and `translate`, made in this order. In 2D a shape is its slice at "
            "z = 0. Pictures are in [shapes.md](shapes.md)."};

bool is_shape_kind(const option *o)
{
    return o->type == OPTION_SHAPES || (o->type == OPTION_GROUP && o->table != &rotate_table);
}
