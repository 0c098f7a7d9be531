/* The tables of cameras, lights and looks: what a scene may say of its pictures. */
#include <stdlib.h>
#include <string.h>

#include "scene/options.h"
#include "scene/rows.h"

#define LENGTH POSITIVE_LENGTH
#define DEGREES .low = -36000, .high = 36000, .unit = "degrees"

/* ---- camera ---------------------------------------------------------------------------------- */

#define AT(member) .offset = offsetof(scene_camera, member)
static const option camera_rows[] = {
    {"position", OPTION_POINT, AT(position), COORDINATE,
     .help =
         "Where it stands. Default: far enough from `target` that the snow of every frame fits."},
    {"target", OPTION_POINT, AT(target), COORDINATE,
     .help = "What it looks at, and what is sharp. Default: the middle of the snow."},
    {"up", OPTION_POINT, AT(up), .low = -1e6, .high = 1e6,
     .help = "What is up in the picture; any length but zero. Default: against gravity."},
    {"azimuth", OPTION_REAL, AT(azimuth), DEGREES,
     .help = "Without a `position`: the side to look from. 0 is from +z, 90 from +x. Default: one "
             "from which no collider hides the snow."},
    {"elevation", OPTION_REAL, AT(elevation), .low = -89, .high = 89, .unit = "degrees",
     .help = "Without a `position`: how far above the horizon to look from. Default: 11."},
    {"zoom", OPTION_REAL, AT(zoom), .fallback = "1", .low = 0.01, .high = 100,
     .help = "Without a `position`: 2 stands half as far away as it takes to hold everything."},
    {"field_of_view", OPTION_REAL, AT(field_of_view), .fallback = "30", .low = 0, .open_low = true,
     .high = 170, .unit = "degrees", .help = "Across the shorter side of the picture."},
    {"aperture", OPTION_REAL, AT(aperture), .fallback = "0", .low = 0, .high = 1000, .unit = "m",
     .help = "Diameter of the lens: what is not at the distance `focus` blurs. 0: all is sharp."},
    {"focus", OPTION_REAL, AT(focus), .fallback = "target", .word = "target", LENGTH,
     .help = "Distance from the lens that is sharp."},
    {"shutter", OPTION_REAL, AT(shutter), .fallback = "0", .low = 0, .high = 2,
     .help = "Motion blur: the part of the time between two frames that the shutter is open, "
             "around the frame's time. Film cameras: 0.5."},
    {"shutter_steps", OPTION_INTEGER, AT(shutter_steps), .fallback = "16", .low = 2, .high = 256,
     .help = "Moments that motion blur is made of, each with a copy of the snow in memory."},
};

static firn_status check_camera(firn_scene *scene, const yaml_node *node, void *entry)
{
    (void)scene;
    scene_camera *c = entry;
    const yaml_node *position = yaml_find(node, "position"), *up = yaml_find(node, "up");
    c->has_position = position;
    c->has_target = yaml_find(node, "target");
    c->has_up = up;
    c->has_azimuth = yaml_find(node, "azimuth");
    c->has_elevation = yaml_find(node, "elevation");
    if (up && c->up[0] == 0 && c->up[1] == 0 && c->up[2] == 0)
        return fail_at(up->at, "up is zero; it needs a direction");
    if (c->has_position && c->has_target && memcmp(c->position, c->target, sizeof c->position) == 0)
        return fail_at(position->at, "position and target of the camera are the same point; move "
                                     "one of them, or leave one out");
    static const char *const orbit[] = {"azimuth", "elevation", "zoom"};
    for (size_t i = 0; i < sizeof orbit / sizeof *orbit; i++) {
        const yaml_node *given = yaml_find(node, orbit[i]);
        if (given && c->has_position)
            return fail_at(given->key_at,
                           "%s has no meaning with a position; remove one of the two", orbit[i]);
    }
    return FIRN_OK;
}
#undef AT
const option_table camera_table = {
    .title = "camera",
    ROWS(camera_rows),
    .check = check_camera,
    .help = "Who looks. Left out, one is placed that holds the snow of every frame."};

/* ---- lights ---------------------------------------------------------------------------------- */

#define AT(member) .offset = offsetof(scene_render, member)
static const option sun_rows[] = {
    {"elevation", OPTION_REAL, AT(sun_elevation), .fallback = "30", .low = -10, .high = 90,
     .unit = "degrees", .help = "Above the horizon. Low sun is warm and shows relief."},
    {"azimuth", OPTION_REAL, AT(sun_azimuth), DEGREES,
     .help = "Where it stands: 0 is towards +z, 90 towards +x. Default: to the left of the camera "
             "and a little behind the snow."},
    {"angle", OPTION_REAL, AT(sun_angle), .fallback = "0.53", .low = 0.01, .high = 90,
     .unit = "degrees", .help = "Of its disc, from edge to edge; larger softens shadows."},
    {"strength", OPTION_REAL, AT(sun_strength), .low = 0, .high = 1e6,
     .help = "Multiplies its light; 0 turns it off. Default: 1, or 0 if `lights` has a `constant` "
             "or an `environment`."},
};
static const option sky_rows[] = {
    {"strength", OPTION_REAL, AT(sky_strength), .low = 0, .high = 1e6,
     .help = "Multiplies its light; 0 turns it off. Default: as for the sun."},
    {"turbidity", OPTION_REAL, AT(turbidity), .fallback = "2.5", .low = 1.7, .high = 10,
     .help = "Of the air: 2 is clear, 5 hazy."},
};
static const option_table sun_table = {
    .title = "sun", ROWS(sun_rows), .help = "The sun of a clear day, coloured by the air."};
static const option_table sky_table = {
    .title = "sky", ROWS(sky_rows), .help = "The blue of a clear day, by an analytic model."};
#undef AT

#define AT(member) .offset = offsetof(scene_light, member)
static const option light_rows[] = {
    {"name", OPTION_TEXT, AT(name),
     .help = "For messages and `--set`; no two alike. Default: light1, light2, ..."},
    {"type", OPTION_CHOICE, AT(kind), .required = true,
     .choices = WORDS("sphere", "rectangle", "constant", "environment"),
     .help = "`sphere`: a glowing ball. `rectangle`: a panel that shines to one side. `constant`: "
             "the same light from everywhere. `environment`: a picture all around."},
    {"colour", OPTION_COLOUR, AT(colour), .fallback = "[1, 1, 1]", .low = 0, .high = 1e9,
     .help = "Radiance; a white surface in full sunshine has about 1."},
    {"strength", OPTION_REAL, AT(strength), .fallback = "1", .low = 0, .high = 1e9,
     .help = "Multiplies the colour."},
    {"position", OPTION_POINT, AT(position), COORDINATE,
     .help = "Middle of a sphere or rectangle; required for them."},
    {"radius", OPTION_REAL, AT(radius), LENGTH, .help = "Of a sphere; required for it."},
    {"normal", OPTION_POINT, AT(normal), .fallback = "[0, -1, 0]", .low = -1e6, .high = 1e6,
     .help = "Where a rectangle shines to; any length but zero."},
    {"width", OPTION_REAL, AT(width), .fallback = "1", LENGTH, .help = "Of a rectangle."},
    {"height", OPTION_REAL, AT(height), .fallback = "1", LENGTH, .help = "Of a rectangle."},
    {"turn", OPTION_REAL, AT(turn), .fallback = "0", DEGREES,
     .help = "Of a rectangle about its normal."},
    {"file", OPTION_TEXT, AT(file),
     .help = "Of an environment; required for it: a latitude-longitude map as EXR, sky at the top. "
             "Relative to the scene's folder."},
    {"azimuth", OPTION_REAL, AT(azimuth), .fallback = "0", DEGREES,
     .help = "Of an environment: where its middle is seen; 0 is towards -z."},
};

/* What the kind of a light needs must be said, and what it does not know must not. */
static firn_status check_light(firn_scene *scene, const yaml_node *node, void *entry)
{
    static const struct {
        const char *key;
        unsigned kinds, needed; /* bits of scene_light_kind */
    } rules[] = {{"position", 3, 3}, {"radius", 1, 1}, {"normal", 2, 0}, {"width", 2, 0},
                 {"height", 2, 0},   {"turn", 2, 0},   {"file", 8, 8},   {"azimuth", 8, 0}};
    scene_light *l = entry;
    const char *kind = option_find(&light_table, "type")->choices[l->kind];
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const yaml_node *given = yaml_find(node, rules[i].key);
        if (!given && rules[i].needed & 1u << l->kind)
            return fail_at(node->at, "%s is missing in light '%s' (a %s)", rules[i].key, l->name,
                           kind);
        if (given && !(rules[i].kinds & 1u << l->kind))
            return fail_at(given->key_at, "a %s light has no %s", kind, rules[i].key);
    }
    if (l->normal[0] == 0 && l->normal[1] == 0 && l->normal[2] == 0)
        return fail_at(yaml_find(node, "normal")->at, "normal is zero; it needs a direction");
    const char *slash = strrchr(scene->path, '/');
    if (l->file && l->file[0] != '/' && slash) {
        char *beside = text_format("%.*s/%s", (int)(slash - scene->path), scene->path, l->file);
        free(l->file);
        l->file = beside;
    }
    return FIRN_OK;
}
#undef AT
const option_table light_table = {.title = "lights",
                                  ROWS(light_rows),
                                  .size = sizeof(scene_light),
                                  .name_offset = offsetof(scene_light, name),
                                  .mark_offset = offsetof(scene_light, mark),
                                  .prefix = "light",
                                  .check = check_light,
                                  .help = "A list: light besides sun and sky."};

/* ---- looks ----------------------------------------------------------------------------------- */

#define AT(member) .offset = offsetof(scene_surface, member)
static const option surface_rows[] = {
    {"type", OPTION_CHOICE, AT(kind), .fallback = "diffuse",
     .choices = WORDS("diffuse", "glossy", "glass"),
     .help = "`diffuse`: matt. `glossy`: matt under a clear coat. `glass`: clear and refracting."},
    {"colour", OPTION_COLOUR, AT(colour), .low = 0, .high = 1,
     .help = "Part of the light that it returns; of glass, that it lets pass. Default: a dark "
             "slate, clear for glass."},
    {"checker", OPTION_COLOUR, AT(checker), .low = 0, .high = 1,
     .help = "Second colour, of every other square. Default: one colour."},
    {"square", OPTION_REAL, AT(square), .fallback = "auto", .word = "auto", LENGTH,
     .help = "Side of the checker's squares."},
    {"roughness", OPTION_REAL, AT(roughness), .fallback = "0.3", .low = 0.02, .high = 1,
     .help = "Of glossy: 0.02 mirrors, 1 is dull."},
    {"ior", OPTION_REAL, AT(ior), .fallback = "1.5", .low = 1, .high = 4,
     .help = "Index of refraction of glass and of the coat of glossy; ice: 1.31."},
    {"visible", OPTION_BOOLEAN, AT(visible), .fallback = "true",
     .help = "`false` leaves it out of pictures."},
};

static firn_status check_surface(firn_scene *scene, const yaml_node *node, void *entry)
{
    (void)scene;
    scene_surface *s = entry;
    s->has_colour = yaml_find(node, "colour");
    s->has_checker = yaml_find(node, "checker");
    return FIRN_OK;
}
#undef AT
const option_table surface_table = {.title = "surface",
                                    ROWS(surface_rows),
                                    .shorthand = "type",
                                    .check = check_surface,
                                    .help = "What a collider looks like."};

#define AT(member) .offset = offsetof(scene_render, member)
static const option look_rows[] = {
    {"extinction", OPTION_REAL, AT(extinction), .fallback = "724", .low = 0, .open_low = true,
     .high = 1e7, .unit = "1/m",
     .help = "How soon light meets a grain, at `reference_density`; in proportion to the density "
             "elsewhere."},
    {"reference_density", OPTION_REAL, AT(reference_density), .fallback = "400", .low = 0,
     .open_low = true, .high = 1e5, .unit = "kg/m^3", .help = "See `extinction`."},
    {"albedo", OPTION_COLOUR, AT(albedo), .fallback = "[0.996, 0.9975, 0.9995]", .low = 0,
     .high = 1,
     .help = "Part of the light that a meeting scatters; the rest is lost. White, and blue in the "
             "depth. The paper's [0.9, 0.95, 1] is blue all over: it returns 0.30 of the red and "
             "0.42 of the green."},
    {"mean_cosine", OPTION_REAL, AT(mean_cosine), .fallback = "0.5", .low = -0.99, .high = 0.99,
     .help = "Of the scattering angle (Henyey-Greenstein's g): above 0 light goes on forward."},
    {"tracking", OPTION_CHOICE, AT(tracking), .fallback = "exact",
     .choices = WORDS("exact", "delta"),
     .help = "How light is followed to its next meeting. `exact` integrates the density cell by "
             "cell; `delta` tries at the rate of a bound for each block, and asks for light by "
             "ratio tracking. Both are right in the mean; `delta` is noisier, and slower in "
             "grainy snow."},
    {"voxel_size", OPTION_REAL, AT(voxel_size), .fallback = "auto", .word = "auto", LENGTH,
     .help =
         "Of the grid that the snow is drawn with. `auto`: a fifth of a cell of the simulation. "
         "The cell's own size draws the snow as the simulation sees it."},
    {"kernel_width", OPTION_REAL, AT(kernel_width), .fallback = "1", .low = 1, .high = 4,
     .help = "Of a particle, in voxels; larger is smoother."},
    {"grains", OPTION_INTEGER, AT(grains), .low = 1, .high = 64,
     .help = "Draw each particle as so many smaller ones around it: a finer rim. Default: 8, fewer "
             "when there are more than a million particles."},
    {"thickness", OPTION_REAL, AT(thickness), .fallback = "auto", .word = "auto", LENGTH,
     .help = "Of the slab that a 2D frame is drawn as."},
};
static const option_table look_table = {
    .title = "look",
    ROWS(look_rows),
    .help = "How light goes through the snow: the values of the paper's section 9."};

static const option render_rows[] = {
    {"width", OPTION_INTEGER, AT(width), .fallback = "1280", .low = 16, .high = 16384,
     .unit = "pixels", .help = "Of a picture."},
    {"height", OPTION_INTEGER, AT(height), .fallback = "720", .low = 16, .high = 16384,
     .unit = "pixels", .help = "Of a picture."},
    {"samples", OPTION_INTEGER, AT(samples), .fallback = "64", .low = 1, .high = 1000000,
     .help = "Paths of light for each pixel. Four times as many, half the noise."},
    {"seed", OPTION_SEED, AT(seed), .fallback = "0", .low = 0, .high = 9007199254740992.0,
     .help = "Another seed, another noise. The same seed, the same picture on any number of "
             "threads."},
    {"exposure", OPTION_REAL, AT(exposure), .fallback = "0.5", .low = -30, .high = 30,
     .unit = "stops", .help = "1 is twice as bright. PNG and films; EXR keeps the light as it is."},
    {"tone", OPTION_CHOICE, AT(tone), .fallback = "filmic", .choices = WORDS("filmic", "plain"),
     .help = "From light to PNG. `filmic`: bright snow keeps its forms. `plain`: cut off at 1."},
    {"denoise", OPTION_CHOICE, AT(denoise), .fallback = "auto",
     .choices = WORDS("auto", "on", "off"),
     .help = "Smooth away what noise is left. `auto`: only for drafts."},
    {"precision", OPTION_CHOICE, AT(precision), .fallback = "half",
     .choices = WORDS("half", "float"), .help = "Of colours in EXR files."},
    {"bounces", OPTION_INTEGER, AT(bounces), .fallback = "4096", .low = 1, .high = 1000000,
     .help = "Most turns of a path; few darken the snow."},
    {"similarity", OPTION_INTEGER, AT(similarity), .fallback = "0", .low = 0, .high = 1000000,
     .help = "After so many turns follow light through an equivalent simpler medium: faster, "
             "slightly wrong near the rim. 0: never."},
    {"snow", OPTION_GROUP, .table = &look_table},
    {"sun", OPTION_GROUP, .table = &sun_table},
    {"sky", OPTION_GROUP, .table = &sky_table},
    {"lights", OPTION_LIST, AT(lights), .count_offset = offsetof(scene_render, light_count),
     .table = &light_table},
};

static firn_status check_render(firn_scene *scene, const yaml_node *node, void *entry)
{
    (void)scene;
    scene_render *r = entry;
    const yaml_node *sun = yaml_find(node, "sun"), *sky = yaml_find(node, "sky");
    r->has_sun_azimuth = sun && yaml_find(sun, "azimuth");
    bool surrounded = false;
    for (size_t i = 0; i < r->light_count; i++)
        surrounded |= r->lights[i].kind == SCENE_LIGHT_CONSTANT ||
                      r->lights[i].kind == SCENE_LIGHT_ENVIRONMENT;
    if (!sun || !yaml_find(sun, "strength"))
        r->sun_strength = !surrounded;
    if (!sky || !yaml_find(sky, "strength"))
        r->sky_strength = !surrounded;
    return FIRN_OK;
}
#undef AT
const option_table render_table = {
    .title = "render",
    ROWS(render_rows),
    .check = check_render,
    .help = "How pictures are drawn by `firn render`. Without effect on the snow."};
