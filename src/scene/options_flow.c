/* The tables of snow that comes and goes during a run: emitters and kill regions. */
#include "scene/options.h"

#include <math.h>

#include "scene/rows.h"

#define AT(member) .offset = offsetof(scene_emit, member), .physics = true
static const option emit_rows[] = {
    {"start", OPTION_REAL, AT(start), .fallback = "0", .low = 0, .high = 1e6, .unit = "s",
     .help = "When it begins: the shape is then full of snow that moves at `velocity`."},
    {"until", OPTION_REAL, AT(until), .fallback = "never", .word = "never", .low = 0,
     .open_low = true, .high = 1e6, .unit = "s", .help = "When it ends."},
    {"count", OPTION_REAL, AT(count), .fallback = "unlimited", .word = "unlimited", .low = 1,
     .high = 1e15, .help = "It also ends after so many particles."},
};
#undef AT
const option_table emit_table = {
    .title = "emit",
    ROWS(emit_rows),
    .help =
        "The shape keeps producing snow: as it moves on at `velocity`, more follows, as dense as "
        "`sampling` says. Without a velocity the shape is filled once."};

#define AT(member) .offset = offsetof(scene_kill, member), .physics = true
static const option kill_rows[] = {
    {"name", OPTION_TEXT, .offset = offsetof(scene_kill, name),
     .help = "For messages and `--set`; no two alike. Default: kill1, kill2, ..."},
    {"shape", OPTION_SHAPE, AT(shape), .required = true, .table = &shape_table,
     .help = "The region; a plane is everything below it."},
    {"where", OPTION_CHOICE, AT(where), .fallback = "inside", .choices = WORDS("inside", "outside"),
     .help = "Which snow is removed: what gets into the shape, or what leaves it."},
};
#undef AT
const option_table kill_table = {.title = "kill",
                                 ROWS(kill_rows),
                                 .size = sizeof(scene_kill),
                                 .name_offset = offsetof(scene_kill, name),
                                 .mark_offset = offsetof(scene_kill, mark),
                                 .prefix = "kill",
                                 .help =
                                     "A list: regions that remove snow, on every frame and every "
                                     "16 steps between (fewer than 7 cells of travel)."};

firn_status read_emit(const yaml_node *node, const scene_emit *e)
{
    if (e->count != floor(e->count))
        return fail_type(yaml_find(node, "count"), "count", "a whole number");
    if (e->until == 0 || e->until > e->start)
        return FIRN_OK;
    return fail_at(yaml_find(node, "until")->at, "until %g s is not after the start, %g s",
                   e->until, e->start);
}
