#include "scene/options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "scene/rows.h"

/* ---- simulation ------------------------------------------------------------------------------ */

#define AT(member) .offset = offsetof(firn_settings, member), .physics = true

static const option transfer_rows[] = {
    {"type", OPTION_CHOICE, AT(transfer), .fallback = "flip",
     .choices = WORDS("flip", "apic", "mls"),
     .help =
         "How velocity travels between particles and grid. `flip`: the paper's blend of FLIP and "
         "PIC. `apic`: affine, keeps rotation without noise. `mls`: the same, and gradients of "
         "velocity and forces come from that affine field too: with quadratic splines steps may "
         "be longer."},
    {"blend", OPTION_REAL, AT(blend), .fallback = "0.95", .low = 0, .high = 1,
     .help = "Part of FLIP in the `flip` transfer; 0 is pure PIC (sluggish), 1 pure FLIP (noisy). "
             "Without effect on `apic` and `mls`."},
};
const option_table transfer_table = {
    .title = "transfer",
    ROWS(transfer_rows),
    .shorthand = "type",
    .help = "Particles to grid and back (steps 1 and 8 of the method)."};

static const option integrator_rows[] = {
    {"type", OPTION_CHOICE, AT(integrator), .fallback = "explicit",
     .choices = WORDS("explicit", "semi_implicit", "auto"),
     .help =
         "`explicit`: velocities follow from the forces at the start of the step, which the "
         "speed of "
         "elastic waves keeps short. `semi_implicit`: forces at the end of the step too, by "
         "solving "
         "the paper's equation (9); steps may be as long as a particle takes to cross an eighth "
         "of `travel`. `auto`: for each step, the one that is expected to be cheaper."},
    {"beta", OPTION_REAL, AT(beta), .fallback = "1", .low = 0, .high = 1,
     .help = "Weight of the forces at the end of the step: 0 explicit, 1/2 trapezoidal, 1 backward "
             "Euler. Below 1/2 long steps are not stable."},
    {"tolerance", OPTION_REAL, AT(tolerance), .fallback = "1e-4", .low = 1e-14, .high = 0.5,
     .help = "The solve ends when its residual is this part of that of the explicit step."},
    {"max_iterations", OPTION_INTEGER, AT(max_iterations), .fallback = "200", .low = 1,
     .high = 1000000,
     .help = "A solve that needs more has failed, and is tried with half the step."},
    {"preconditioner", OPTION_CHOICE, AT(preconditioner), .fallback = "none",
     .choices = WORDS("none", "diagonal", "block"),
     .help =
         "Scales the system by the stiffness of each node, or of its directions together; fewer "
         "iterations where hard and soft snow meet."},
    {"hessian", OPTION_CHOICE, AT(hessian), .fallback = "projected",
     .choices = WORDS("exact", "projected"),
     .help =
         "`exact`: the derivative of the forces as it is, which may not be positive definite "
         "where snow is compressed. `projected`: the nearest one that is, particle by particle."},
    {"newton_iterations", OPTION_INTEGER, AT(newton_iterations), .fallback = "1", .low = 1,
     .high = 1000,
     .help =
         "1 solves equation (9) alone. More go on by Newton's method, with a line search, until "
         "the forces are those at the end of the step to `tolerance`: then energy does not grow, "
         "whatever the step. Needs `hessian: projected`."},
};

static firn_status check_integrator(firn_scene *scene, const yaml_node *node, void *entry)
{
    (void)scene;
    const firn_settings *s = entry;
    const yaml_node *newton = yaml_find(node, "newton_iterations");
    if (s->newton_iterations == 1 || s->hessian == FIRN_PROJECTED || !newton)
        return FIRN_OK;
    return fail_at(newton->at,
                   "newton_iterations is %d, which needs hessian: projected; an exact one need not "
                   "lead to lower energy",
                   s->newton_iterations);
}

const option_table integrator_table = {.title = "integrator",
                                       ROWS(integrator_rows),
                                       .shorthand = "type",
                                       .check = check_integrator,
                                       .help = "How velocities are advanced (step 6)."};

static const option sleep_rows[] = {
    {"speed", OPTION_REAL, AT(sleep_speed), .fallback = "0", .low = 0, .high = 1000, .unit = "m/s",
     .help = "Snow that is nowhere faster than this may sleep; 0: never. What moves more slowly is "
             "stopped, so it should be well below what can be seen; 0.01 is a good start."},
    {"after", OPTION_REAL, AT(sleep_after), .fallback = "0.2", .low = 0, .open_low = true,
     .high = 1e6, .unit = "s", .help = "For how long it must have been that slow."},
};

static const option_table sleep_table = {
    .title = "sleep",
    ROWS(sleep_rows),
    .shorthand = "speed",
    .help = "Settled snow that is not simulated until something moves near it. Off by default."};

static const option simulation_rows[] = {
    {"dimensions", OPTION_INTEGER, AT(dimensions), .fallback = "3", .low = 2, .high = 3,
     .help = "2 simulates the slice z = 0 (plane strain), 3 the whole space."},
    {"frames", OPTION_INTEGER, .offset = offsetof(firn_settings, frames), .fallback = "96",
     .low = 0, .high = 1000000, .help = "Frames to simulate. Frame 0, the start, is extra."},
    {"fps", OPTION_REAL, AT(fps), .fallback = "24", .low = 0, .open_low = true, .high = 1e6,
     .unit = "1/s", .help = "Frames per second. Steps land exactly on frame times."},
    {"cell_size", OPTION_REAL, AT(cell_size), .required = true, .low = 0, .open_low = true,
     .high = 1000, .unit = "m",
     .help = "Edge of a grid cell. Detail is about two cells wide; half the size costs about 16 "
             "times as much in 3D."},
    {"resolution", OPTION_REAL, .offset = offsetof(firn_settings, resolution), .fallback = "1",
     .low = 1e-3, .high = 1e3,
     .help =
         "Divides `cell_size`: 0.5 is a draft with cells twice as large, 2 a run twice as fine. "
         "Shapes, motion, materials and particles a cell stay, so the same thing happens in the "
         "same picture; particles follow with the cube, the work with about the fourth power."},
    {"gravity", OPTION_VECTOR, AT(gravity), .fallback = "[0, -9.81, 0]", .low = -1e4, .high = 1e4,
     .unit = "m/s^2", .help = "Acceleration of everything; y is up."},
    {"kernel", OPTION_CHOICE, AT(kernel), .fallback = "cubic",
     .choices = WORDS("cubic", "quadratic"),
     .help = "Weights between particles and nodes. `cubic` is the paper's; `quadratic` reaches "
             "fewer nodes, so it is faster and less smooth."},
    {"transfer", OPTION_GROUP, .physics = true, .table = &transfer_table,
     .help = "Particles to grid and back."},
    {"integrator", OPTION_GROUP, .physics = true, .table = &integrator_table,
     .help = "How velocities are advanced."},
    {"time_step", OPTION_REAL, AT(time_step), .fallback = "auto", .word = "auto", .low = 0,
     .open_low = true, .high = 1, .unit = "s",
     .help = "`auto` takes the largest step that `cfl` and `travel` allow; a number fixes it."},
    {"cfl", OPTION_REAL, AT(cfl), .fallback = "auto", .word = "auto", .low = 0, .open_low = true,
     .high = 1,
     .help = "Automatic step: the part of a cell that an elastic wave may cross in a step. `auto`: "
             "what is stable for this kernel and transfer and the snow's Poisson's ratio, 0.59 for "
             "cubic splines, FLIP and 0.2."},
    {"travel", OPTION_REAL, AT(travel), .fallback = "0.4", .low = 0, .open_low = true, .high = 1,
     .help = "Automatic step: the part of a cell that a particle may cross in a step."},
    {"retries", OPTION_INTEGER, AT(retries), .fallback = "10", .low = 0, .high = 40,
     .help =
         "How often a step that fails may be halved before the run ends: it is undone and tried "
         "again down to 2^-retries of the automatic step. 0 ends the run at the first failure."},
    {"sleep", OPTION_GROUP, .physics = true, .table = &sleep_table,
     .help = "Settled snow costs next to nothing: blocks of 4 x 4 x 4 cells that have been still, "
             "like all around them, are left as they are. They wake when snow or a body moves "
             "beside them. Backends `cpu` and `ref`."},
    {"rest_volume", OPTION_CHOICE, AT(rest_volume), .fallback = "grid",
     .choices = WORDS("grid", "sampled"),
     .help = "Volume of a particle at rest. `grid`: from the density that the grid sees at the "
             "first step (the paper's step 2). `sampled`: the object's volume, shared out evenly."},
};
#undef AT

/* From here on there is only the cell size that the grid has: what follows from it, the fingerprint
 * included, is the same however it was said. */
static firn_status check_simulation(firn_scene *scene, const yaml_node *node, void *entry)
{
    (void)scene;
    (void)node;
    firn_settings *s = entry;
    s->cell_size /= s->resolution;
    return FIRN_OK;
}

const option_table simulation_table = {.title = "simulation",
                                       ROWS(simulation_rows),
                                       .check = check_simulation,
                                       .help = "Time, grid and method."};

#define AT(member) .offset = offsetof(firn_settings, member)
static const option output_rows[] = {
    {"formats", OPTION_CHOICES, AT(formats), .fallback = "[vtkhdf]",
     .choices = WORDS("vtkhdf", "ply", "vdb", "bgeo", "obj", "usda", "npz"),
     .help = "Files to write for a frame. `vtkhdf` (.hdf) is for ParaView, `firn render` and "
             "`firn convert`; `vdb` is a volume on the simulation's grid, for Houdini and Blender; "
             "`ply`, `bgeo` (Houdini), `obj` and `npz` (numpy) are particles; `usda` is an index "
             "of the volumes that carries few particles. See formats.md."},
    {"every", OPTION_INTEGER, AT(every), .fallback = "1", .low = 1, .high = 1000000,
     .help = "Write every n-th frame."},
    {"attributes", OPTION_CHOICES, AT(output.attributes),
     .fallback = "[velocity, density, J_P, mass]",
     .choices = WORDS("position", "velocity", "mass", "volume", "F_E", "J_P", "B", "mu0", "lambda0",
                      "hardening", "theta_c", "theta_s", "density", "stress"),
     .help = "What particles carry besides `position`, `id` and `object`. `vtkhdf` holds velocity, "
             "density, J_P and mass in any case: firn reads them back."},
    {"grids", OPTION_CHOICES, AT(output.grids), .fallback = "[density, velocity]",
     .choices = WORDS("density", "velocity", "J_P", "stress", "surface"),
     .help =
         "Grids of `vdb` files: density (kg/m^3); the mean velocity (m/s), J_P and stress (Pa), "
         "by mass; the snow's surface as a level set."},
    {"grid_type", OPTION_CHOICE, AT(output.grid_type), .fallback = "float",
     .choices = WORDS("float", "half"),
     .help = "Numbers of `vdb` files; `half` keeps three digits in half the space."},
    {"compression", OPTION_CHOICE, AT(output.compression), .fallback = "blosc",
     .choices = WORDS("blosc", "zip", "none"),
     .help = "Of `vdb` files. `blosc` is fast, `zip` a little smaller."},
    {"up", OPTION_CHOICE, AT(output.up), .fallback = "y", .choices = WORDS("y", "z"),
     .help = "The axis that points up in other formats than `vtkhdf`; `z` turns y to z, and z to "
             "-y."},
    {"scale", OPTION_REAL, AT(output.scale), .fallback = "1", .low = 0, .open_low = true,
     .high = 1e6,
     .help = "Units in a metre in other formats than `vtkhdf`: 100 writes positions and velocities "
             "in centimetres. Masses, densities and stresses stay in SI units."},
    {"precision", OPTION_REAL, AT(output.precision), .fallback = "0", .low = 0, .high = 1000,
     .unit = "m",
     .help = "How far positions of particles may be off, to make files smaller; 0 keeps what there "
             "is."},
    {"usda_points", OPTION_INTEGER, AT(output.usda_points), .fallback = "20000", .low = 1,
     .high = 1000000000, .help = "The most particles that a `usda` file carries."},
};
const option_table output_table = {
    .title = "output", ROWS(output_rows), .help = "What is written. Without effect on the snow."};
#undef AT

/* ---- materials ------------------------------------------------------------------------------- */

#define AT(member) .offset = offsetof(scene_material, member), .physics = true
static const option material_rows[] = {
    {"preset", OPTION_PRESET, .choices = preset_names,
     .help = "Where the values that are not given come from. Default: the preset with the "
             "material's own name if there is one, else `snow`."},
    {"young_modulus", OPTION_REAL, AT(young_modulus), .low = 0, .open_low = true, .high = 1e12,
     .usual = {1.4e3, 1e6}, .unit = "Pa",
     .caution = "softer snow cannot carry itself, stiffer snow needs very small steps",
     .help = "Stiffness. Larger is icier, smaller muddier; the time step shrinks with its root."},
    {"poisson_ratio", OPTION_REAL, AT(poisson_ratio), .low = 0, .high = 0.49, .usual = {0.2, 0.35},
     .caution = "snow squeezes; near 0.5 it acts like water and needs very small steps",
     .help = "How much it widens sideways when pressed."},
    {"density", OPTION_REAL, AT(density), .low = 0, .open_low = true, .high = 1e5,
     .usual = {50, 500}, .unit = "kg/m^3",
     .caution = "snow weighs 50 (fresh) to 500 (old, wet); ice weighs 917",
     .help = "Mass per volume at rest."},
    {"hardening", OPTION_REAL, AT(hardening), .low = 0, .high = 100, .usual = {5, 15},
     .caution = "less never packs, more makes packed snow so stiff that steps get very small",
     .help = "How fast it stiffens when packed and weakens when torn (the paper's xi). Larger is "
             "brittle, smaller ductile."},
    {"critical_compression", OPTION_REAL, AT(critical_compression), .low = 0, .high = 0.9,
     .usual = {1.9e-2, 5e-2}, .caution = "less turns to dust at a touch, more acts like rubber",
     .help = "Compression at which it starts to break (theta_c). Larger is chunky and wet, smaller "
             "powdery and dry."},
    {"critical_stretch", OPTION_REAL, AT(critical_stretch), .low = 0, .high = 0.9,
     .usual = {5e-3, 1e-2}, .caution = "less turns to dust at a touch, more acts like rubber",
     .help = "Stretch at which it starts to break (theta_s); likewise."},
    {"vary", OPTION_LIST, AT(vary), .count_offset = offsetof(scene_material, vary_count),
     .table = &vary_table, .help = "How values differ from place to place; all entries multiply."},
};
#undef AT

#define AT(member) .offset = offsetof(scene_ramp, member), .physics = true
static const option ramp_rows[] = {
    {"at", OPTION_REAL, AT(at), .required = true, .low = -LENGTH_LIMIT, .high = LENGTH_LIMIT,
     .help = "Depth, cover, height or distance in m; -1 to 1 for noise; the attribute's own unit."},
    {"scale", OPTION_REAL, AT(scale), .required = true, .low = 0, .open_low = true, .high = 1e6,
     .help = "What the values are multiplied by there."},
};
#undef AT
const option_table ramp_table = {.title = "ramp",
                                 ROWS(ramp_rows),
                                 .size = sizeof(scene_ramp),
                                 .help = "A list: from what a material varies by to a factor. "
                                         "Beyond its ends it goes on level."};

#define AT(member) .offset = offsetof(scene_vary, member), .physics = true
static const option vary_rows[] = {
    {"by", OPTION_CHOICE, AT(by), .required = true,
     .choices = WORDS("depth", "cover", "height", "noise", "attribute", "cells"),
     .help =
         "`depth`: distance under the nearest surface of the shape (a shell). `cover`: snow of "
         "the shape straight above (a crust on top). `height`: y (layers). `noise`: smooth and "
         "random (chunks). `attribute`: a column of `points` from a file. `cells`: distance from "
         "the walls of random cells (plates and blocks between thin seams)."},
    {"attribute", OPTION_TEXT, .offset = offsetof(scene_vary, attribute),
     .help = "The name of the column; required for `attribute`."},
    {"values", OPTION_CHOICES, AT(values), .fallback = "[young_modulus]",
     .choices = WORDS("young_modulus", "poisson_ratio", "density", "hardening",
                      "critical_compression", "critical_stretch"),
     .help = "What is multiplied. Values stay within their allowed range; `density` changes the "
             "mass of particles."},
    {"ramp", OPTION_LIST, AT(ramp), .count_offset = offsetof(scene_vary, ramp_count),
     .table = &ramp_table,
     .help = "The factor. Required, but for `attribute`, which is then the factor itself."},
    {"blend", OPTION_CHOICE, AT(blend), .fallback = "linear", .choices = WORDS("linear", "steps"),
     .help = "Between two entries of the ramp: `linear`, or `steps` that keep the lower one's."},
    {"size", OPTION_REAL, AT(size), .low = 0, .open_low = true, .high = LENGTH_LIMIT, .unit = "m",
     .help = "How wide the features of noise, or the cells, are; required for both."},
    {"octaves", OPTION_INTEGER, AT(octaves), .fallback = "2", .low = 1, .high = 16,
     .help = "Of noise: each adds features half as wide and half as strong."},
    {"seed", OPTION_SEED, AT(seed), .fallback = "1", .low = 0, .high = 9007199254740992.0,
     .help = "Of noise and cells: another seed, another pattern."},
};
#undef AT
const option_table vary_table = {.title = "vary",
                                 ROWS(vary_rows),
                                 .size = sizeof(scene_vary),
                                 .check = read_vary,
                                 .help = "A list: how a material differs from place to place, "
                                         "particle by particle. See materials.md for pictures."};

const option_table material_table = {.title = "materials",
                                     ROWS(material_rows),
                                     .shorthand = "preset",
                                     .size = sizeof(scene_material),
                                     .name_offset = offsetof(scene_material, name),
                                     .mark_offset = offsetof(scene_material, mark),
                                     .help = "Kinds of snow, by name: a preset with some values "
                                             "changed. Presets need no entry here."};

/* ---- snow ------------------------------------------------------------------------------------ */

#define AT(member) .offset = offsetof(scene_snow, member), .physics = true

static const option sampling_rows[] = {
    {"particles_per_cell", OPTION_REAL, AT(particles_per_cell), .fallback = "8", .low = 0,
     .open_low = true, .high = 1000, .usual = {4, 20},
     .caution = "fewer fall apart by themselves (numerical fracture), more only cost time",
     .help =
         "Mean number of particles in a full cell. Below about 4 the snow falls apart by itself "
         "(numerical fracture)."},
    {"method", OPTION_CHOICE, AT(method), .fallback = "poisson",
     .choices = WORDS("poisson", "random", "lattice"),
     .help = "`poisson`: irregular but even. `random`: clumpy. `lattice`: rows."},
    {"seed", OPTION_SEED, AT(seed), .fallback = "1", .low = 0, .high = 9007199254740992.0,
     .help = "Another seed, another arrangement."},
};
const option_table sampling_table = {
    .title = "sampling", ROWS(sampling_rows), .help = "How a shape is filled with particles."};

static const option snow_rows[] = {
    {"name", OPTION_TEXT, .offset = offsetof(scene_snow, name),
     .help = "For messages, `--set` and output; no two alike. Default: snow1, snow2, ..."},
    {"shape", OPTION_SHAPE, AT(shape), .alternative = true, .table = &shape_table,
     .help = "What is filled with snow; must have an end on every side. Or give `points`."},
    {"points", OPTION_GROUP, AT(points), .alternative = true,
     .count_offset = offsetof(scene_snow, has_points), .table = &points_table,
     .help = "Particles from a file, instead of a `shape`."},
    {"material", OPTION_MATERIAL, AT(material), .fallback = "snow", .table = &material_table,
     .help = "The name of an entry of materials or of a preset."},
    {"sampling", OPTION_GROUP, .physics = true, .table = &sampling_table,
     .help = "How the shape is filled."},
    {"velocity", OPTION_VECTOR, AT(velocity), .fallback = "[0, 0, 0]", .low = -1e5, .high = 1e5,
     .unit = "m/s", .help = "At the start."},
    {"angular_velocity", OPTION_POINT, AT(angular_velocity), .fallback = "[0, 0, 0]", .low = -1e7,
     .high = 1e7, .unit = "degrees/s",
     .help = "A turn at the start, about the middle of its particles: the axis, as long as the "
             "speed. In 2D `[0, 0, speed]`."},
    {"emit", OPTION_GROUP, AT(emit), .count_offset = offsetof(scene_snow, emits),
     .table = &emit_table, .help = "Keep producing snow. Left out: the shape is filled once."},
};
#undef AT

/* A material that asks for what only points have. */
static firn_status check_attributes(const firn_scene *scene, const yaml_node *node,
                                    const scene_snow *snow)
{
    const scene_material *m = &scene->materials[snow->material];
    for (size_t k = 0; k < m->vary_count; k++)
        if (m->vary[k].by == SCENE_BY_ATTRIBUTE)
            return fail_at(node->at,
                           "material '%s' varies by the attribute '%s', which only `points` from a "
                           "file have; snow '%s' is a shape",
                           m->name, m->vary[k].attribute, snow->name);
    return FIRN_OK;
}

static firn_status check_points(firn_scene *scene, const yaml_node *node, scene_snow *snow)
{
    if (snow->shape)
        return fail_at(yaml_find(node, "points")->key_at,
                       "snow '%s' has both a shape and points; take one away", snow->name);
    if (snow->emits)
        return fail_at(yaml_find(node, "emit")->key_at,
                       "points from a file cannot emit; use a shape");
    return read_points(scene, yaml_find(node, "points"), snow);
}

static firn_status check_turn(const firn_scene *scene, const yaml_node *node,
                              const scene_snow *snow)
{
    const yaml_node *turn = yaml_find(node, "angular_velocity");
    const double *w = snow->angular_velocity;
    if (scene->settings.dimensions == 2 && (w[0] != 0 || w[1] != 0))
        return fail_at(turn->at, "angular_velocity must be [0, 0, speed] in 2D");
    if (snow->emits && (w[0] != 0 || w[1] != 0 || w[2] != 0))
        return fail_at(turn->key_at,
                       "snow that emits cannot turn; take `angular_velocity` or `emit` away");
    return FIRN_OK;
}

static firn_status check_snow(firn_scene *scene, const yaml_node *node, void *entry)
{
    scene_snow *snow = entry;
    double low[3], high[3];
    firn_status turn = check_turn(scene, node, snow);
    if (turn != FIRN_OK)
        return turn;
    if (snow->has_points)
        return check_points(scene, node, snow);
    if (!snow->shape)
        return fail_at(node->at, "shape is missing in snow; it needs one, or `points` from a file");
    firn_status status = check_attributes(scene, node, snow);
    if (status != FIRN_OK)
        return status;
    if (shape_bounds(snow->shape, scene->settings.dimensions, low, high))
        return snow->emits ? read_emit(yaml_find(node, "emit"), &snow->emit) : FIRN_OK;
    return fail_at(yaml_find(node, "shape")->at,
                   "the shape of snow '%s' has no end; intersect the plane with a box", snow->name);
}

#define AT(member) .offset = offsetof(scene_points, member), .physics = true
static const option points_rows[] = {
    {"file", OPTION_FILE, .offset = offsetof(scene_points, file), .required = true,
     .help = "PLY, VTKHDF (.hdf), a checkpoint (.h5), or text with a point a line and names of "
             "columns in the first. A relative path starts at the scene file."},
    {"scale", OPTION_REAL, AT(scale), .fallback = "1", .low = 0, .open_low = true,
     .high = LENGTH_LIMIT, .help = "Metres for one unit of the file."},
    {"up", OPTION_CHOICE, AT(up), .fallback = "y", .choices = WORDS("y", "z"),
     .help = "Which axis of the file points up. `z`: they are turned to stand up here."},
    {"translate", OPTION_POINT, AT(translate), .fallback = "[0, 0, 0]", COORDINATE,
     .help = "A shift, made last."},
};
#undef AT
const option_table points_table = {
    .title = "points",
    ROWS(points_rows),
    .shorthand = "file",
    .help =
        "Particles as a file has them. Columns `velocity` (or vx, vy, vz), `mass`, `volume`, "
        "`density`, `J_P`, `F_E`, and any value of a material by its name, hold for each "
        "particle; what the file does not say follows from the material, and the volume from "
        "`sampling.particles_per_cell`. The object's own `velocity` is added. Other columns can "
        "vary a material, `by: attribute`."};

const option_table snow_table = {.title = "snow",
                                 ROWS(snow_rows),
                                 .size = sizeof(scene_snow),
                                 .name_offset = offsetof(scene_snow, name),
                                 .mark_offset = offsetof(scene_snow, mark),
                                 .prefix = "snow",
                                 .check = check_snow,
                                 .help = "A list: the snow at the start."};

/* ---- colliders ------------------------------------------------------------------------------- */

#define AT(member) .offset = offsetof(scene_collider, member), .physics = true
static const option collider_rows[] = {
    {"name", OPTION_TEXT, .offset = offsetof(scene_collider, name),
     .help = "For messages and `--set`; no two alike. Default: collider1, collider2, ..."},
    {"shape", OPTION_SHAPE, AT(body.shape), .alternative = true, .table = &shape_table,
     .help = "The body at time 0; a plane is allowed. Required, unless it deforms."},
    {"deform", OPTION_GROUP, .alternative = true, .offset = offsetof(scene_collider, deform),
     .count_offset = offsetof(scene_collider, deforms), .table = &deform_table,
     .help = "Instead of `shape`: a body that changes its shape."},
    {"friction", OPTION_REAL, AT(body.friction), .fallback = "0", .low = 0, .high = 1e6,
     .help = "Coulomb coefficient: 0 is slippery, 0.3 to 0.5 ground, above 1 very rough."},
    {"sticky", OPTION_BOOLEAN, AT(body.sticky), .fallback = "false",
     .help = "Snow that touches it stays on it. Not together with `friction`."},
    {"velocity", OPTION_VECTOR, AT(body.motion.velocity), .fallback = "[0, 0, 0]", .low = -1e5,
     .high = 1e5, .unit = "m/s", .help = "Constant; the body moves and pushes."},
    {"angular_velocity", OPTION_POINT, AT(angular_velocity), .fallback = "[0, 0, 0]", .low = -1e7,
     .high = 1e7, .unit = "degrees/s",
     .help = "Constant turn about `pivot`: the axis, as long as the speed. In 2D `[0, 0, speed]`."},
    {"pivot", OPTION_POINT, AT(body.motion.pivot), COORDINATE,
     .help = "The point about which it turns, where the shape stands; it moves along. Default: the "
             "middle of the box around the shape, or the origin for a plane."},
    {"path", OPTION_GROUP, AT(path), .count_offset = offsetof(scene_collider, has_path),
     .table = &path_table, .help = "Keyframes, added to the constant velocities."},
    {"surface", OPTION_GROUP, .offset = offsetof(scene_collider, surface), .table = &surface_table,
     .help = "What it looks like in pictures."},
};
#undef AT

#define AT(member) .offset = offsetof(motion_point, member), .physics = true
static const option key_rows[] = {
    {"time", OPTION_REAL, AT(time), .required = true, .low = -1e6, .high = 1e6, .unit = "s",
     .help = "Later than the key before."},
    {"translate", OPTION_VECTOR, AT(translate), .fallback = "[0, 0, 0]", COORDINATE,
     .help = "Shift from where the shape stands."},
    {"axis", OPTION_POINT, AT(axis), .fallback = "[0, 0, 1]", .low = -LENGTH_LIMIT,
     .high = LENGTH_LIMIT, .help = "Of the turn; any length but zero."},
    {"angle", OPTION_REAL, AT(angle), .fallback = "0", .low = -1e6, .high = 1e6, .unit = "degrees",
     .help = "Counterclockwise when the axis points at you. Between keys with one axis the angle "
             "grows from one to the other, so 720 is two turns; otherwise by the shortest way."},
};
#undef AT
const option_table key_table = {.title = "keys",
                                ROWS(key_rows),
                                .size = sizeof(motion_point),
                                .help = "A list: where the body is at some times."};

#define AT(member) .offset = offsetof(scene_path, member), .physics = true
static const option path_rows[] = {
    {"keys", OPTION_LIST, AT(points), .count_offset = offsetof(scene_path, point_count),
     .table = &key_table, .help = "Where the body is at some times. Or give a `file`."},
    {"file", OPTION_FILE, .offset = offsetof(scene_path, file),
     .help = "The same as a table: a CSV file whose first line names its columns: `time` (s) or "
             "`frame`; `x`, `y`, `z` (m); and for the turn either `qw`, `qx`, `qy`, `qz` (a "
             "quaternion) or `rx`, `ry`, `rz` (degrees about x, then y, then z)."},
    {"interpolation", OPTION_CHOICE, AT(interpolation), .fallback = "smooth",
     .choices = WORDS("smooth", "linear"),
     .help = "`smooth`: velocity does not jump, and the body rests at the first and the last key. "
             "`linear`: constant velocity from key to key."},
};
#undef AT
const option_table path_table = {.title = "path",
                                 ROWS(path_rows),
                                 .help = "Keyframes of a collider. Before the first key and after "
                                         "the last it rests there."};

const option_table collider_table = {.title = "colliders",
                                     ROWS(collider_rows),
                                     .size = sizeof(scene_collider),
                                     .name_offset = offsetof(scene_collider, name),
                                     .mark_offset = offsetof(scene_collider, mark),
                                     .prefix = "collider",
                                     .check = read_collider,
                                     .help = "A list: bodies that snow cannot enter."};

/* ---- the whole ------------------------------------------------------------------------------- */

static const option scene_rows[] = {
    {"name", OPTION_TEXT, .offset = offsetof(firn_scene, name),
     .help = "Title of the scene. Default: the name of the file."},
    {"simulation", OPTION_GROUP, .offset = offsetof(firn_scene, settings), .required = true,
     .physics = true, .table = &simulation_table},
    {"materials", OPTION_NAMED, .offset = offsetof(firn_scene, materials),
     .count_offset = offsetof(firn_scene, material_count), .table = &material_table},
    {"snow", OPTION_LIST, .offset = offsetof(firn_scene, snow),
     .count_offset = offsetof(firn_scene, snow_count), .physics = true, .table = &snow_table,
     .help = "The snow at the start. Left out only when a program brings its own particles."},
    {"colliders", OPTION_LIST, .offset = offsetof(firn_scene, colliders),
     .count_offset = offsetof(firn_scene, collider_count), .physics = true,
     .table = &collider_table},
    {"kill", OPTION_LIST, .offset = offsetof(firn_scene, kill),
     .count_offset = offsetof(firn_scene, kill_count), .physics = true, .table = &kill_table},
    {"output", OPTION_GROUP, .offset = offsetof(firn_scene, settings), .table = &output_table},
    {"camera", OPTION_GROUP, .offset = offsetof(firn_scene, camera), .table = &camera_table},
    {"render", OPTION_GROUP, .offset = offsetof(firn_scene, render), .table = &render_table},
};
const option_table scene_table = {.title = "scene", ROWS(scene_rows), .help = "The whole file."};

/* ---- looking at rows ------------------------------------------------------------------------- */

const option *option_find(const option_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->options[i].name, name) == 0)
            return &table->options[i];
    return NULL;
}

size_t choice_count(const option *o)
{
    size_t count = 0;
    while (o->choices && o->choices[count])
        count++;
    return count;
}

char *option_range(const option *o)
{
    return text_format("%s %.12g and at most %.12g%s%s", o->open_low ? "above" : "at least", o->low,
                       o->high, o->unit ? " " : "", o->unit ? o->unit : "");
}

const char **option_names(const option_table *table)
{
    const char **names = allocate(table->count, sizeof *names);
    for (size_t i = 0; i < table->count; i++)
        names[i] = table->options[i].name;
    return names;
}

static bool is_listed(const option_table *const *tables, size_t count, const option_table *table)
{
    for (size_t i = 0; i < count; i++)
        if (tables[i] == table)
            return true;
    return false;
}

static size_t add_tables(const option_table **tables, size_t count, const option_table *table)
{
    if (is_listed(tables, count, table))
        return count;
    assert(count < MOST_TABLES);
    tables[count++] = table;
    for (size_t i = 0; i < table->count; i++)
        if (table->options[i].table && table->options[i].table != &shape_table)
            count = add_tables(tables, count, table->options[i].table);
    return count;
}

/* Shapes last: they are a language of their own, used by two others. */
size_t option_tables(const option_table *tables[MOST_TABLES])
{
    return add_tables(tables, add_tables(tables, 0, &scene_table), &shape_table);
}

const char *option_help(const option *o)
{
    return o->help ? o->help : o->table->help;
}
