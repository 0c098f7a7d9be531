/* The option tables as a page for people: docs/scene.md. */
#include "scene/options.h"

#include <stdlib.h>
#include <string.h>

static const char introduction[] =
    "# Scene files\n"
    "\n"
    "<!-- Generated from the option tables in src/scene/options.c: edit those. -->\n"
    "\n"
    "A scene is a YAML file (JSON works too). Everything is in SI units: metres, seconds, "
    "kilograms,\n"
    "pascals; angles are in degrees; y is up. Write numbers alone, without their unit. A key that "
    "is\n"
    "left out takes its default; a key that does not exist is an error.\n"
    "\n"
    "- `firn check SCENE` reads a scene, says what a run would take, and warns of likely "
    "mistakes.\n"
    "- `--set simulation.resolution=0.5` changes one value for one run; this one halves the detail "
    "of any\n"
    "  scene. List entries go by index or by\n"
    "  name: `--set 'snow.ball.velocity=[0, -1, 0]'`, `--set snow.0.material=powder`. The value "
    "`null`\n"
    "  takes a key away.\n"
    "- Editors with a YAML language server complete and check scenes by `docs/scene.schema.json`; "
    "put\n"
    "  `# yaml-language-server: $schema=../docs/scene.schema.json` in the first line.\n"
    "- Vectors have three entries. In 2D the third may be left out. Colours are linear [red, "
    "green, "
    "blue],\n"
    "  or one number for a grey.\n"
    "- YAML anchors (`&a`) and aliases (`*a`) work.\n"
    "\n"
    "## Example\n"
    "\n"
    "```yaml\n"
    "name: snowball drop\n"
    "simulation:\n"
    "  frames: 96\n"
    "  fps: 24\n"
    "  cell_size: 0.01                       # m\n"
    "  transfer: {type: flip, blend: 0.95}\n"
    "materials:\n"
    "  packed: {preset: snow, density: 450}  # the preset with one value changed\n"
    "snow:\n"
    "  - name: ball\n"
    "    shape: {sphere: {center: [0, 1, 0], radius: 0.15}}\n"
    "    material: packed\n"
    "    velocity: [0, -3, 0]\n"
    "  - name: block                         # a box with a hole, turned about its own middle\n"
    "    shape:\n"
    "      subtract:\n"
    "        - box: {center: [0.6, 0.2, 0], size: [0.4, 0.2, 0.4]}\n"
    "        - sphere: {center: [0.6, 0.3, 0], radius: 0.1}\n"
    "      rotate: {axis: [0, 1, 0], angle: 30}\n"
    "    material: powder                    # presets need no definition\n"
    "    sampling: {particles_per_cell: 8, method: poisson, seed: 7}\n"
    "colliders:\n"
    "  - name: ground\n"
    "    shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}\n"
    "    friction: 0.4                       # or sticky: true\n"
    "output:\n"
    "  formats: [vtkhdf, ply]\n"
    "```\n";

static const char *type_word(const option *o)
{
    switch (o->type) {
    case OPTION_INTEGER:
    case OPTION_SEED:
        return "whole number";
    case OPTION_REAL:
        return "number";
    case OPTION_BOOLEAN:
        return "true or false";
    case OPTION_TEXT:
    case OPTION_LINES:
        return "text";
    case OPTION_FILE:
        return "file";
    case OPTION_CHOICE:
    case OPTION_PRESET:
        return "word";
    case OPTION_CHOICES:
        return "list of words";
    case OPTION_POINT:
    case OPTION_VECTOR:
    case OPTION_DIRECTION:
    case OPTION_SIZE:
        return "vector";
    case OPTION_COLOUR:
        return "colour";
    case OPTION_MATERIAL:
        return "name";
    case OPTION_SHAPE:
        return "shape";
    case OPTION_SHAPES:
        return "list of shapes";
    case OPTION_LIST:
        return "list";
    case OPTION_GROUP:
    case OPTION_NAMED:
        return "mapping";
    }
    return "";
}

static bool is_numeric(const option *o)
{
    switch (o->type) {
    case OPTION_INTEGER:
    case OPTION_SEED:
    case OPTION_REAL:
    case OPTION_POINT:
    case OPTION_VECTOR:
    case OPTION_DIRECTION:
    case OPTION_SIZE:
    case OPTION_COLOUR:
        return true;
    default:
        return false;
    }
}

static void write_allowed(FILE *out, const option *o)
{
    if (o->choices)
        for (size_t i = 0; o->choices[i]; i++)
            fprintf(out, "%s`%s`", i ? ", " : "", o->choices[i]);
    if (!is_numeric(o))
        return;
    if (o->word)
        fprintf(out, "`%s`, or ", o->word);
    fprintf(out, "%s%.12g to %.12g", o->open_low ? "above " : "", o->low, o->high);
    if (o->usual[0] != 0 || o->usual[1] != 0)
        fprintf(out, "; usually %g to %g", o->usual[0], o->usual[1]);
}

static void write_row(FILE *out, const option_table *table, const option *o)
{
    fprintf(out, "| `%s` | %s%s%s | ", o->name, type_word(o), o->unit ? ", " : "",
            o->unit ? o->unit : "");
    if (o->required)
        fprintf(out, "**required**");
    else if (o->fallback)
        fprintf(out, "`%s`", o->fallback);
    else if (table == &material_table && o->type == OPTION_REAL)
        fprintf(out, "the preset's");
    fprintf(out, " | ");
    write_allowed(out, o);
    fprintf(out, " | %s", option_help(o));
    if (o->table)
        fprintf(out, " See [%s](#%s).", o->table->title, o->table->title);
    fprintf(out, " |\n");
}

static void write_presets(FILE *out)
{
    fprintf(out, "\n### Presets\n\n| name | kind |");
    for (size_t i = 0; i < material_table.count; i++)
        if (material_table.options[i].type == OPTION_REAL)
            fprintf(out, " %s |", material_table.options[i].name);
    fprintf(out, "\n|---|---|");
    for (size_t i = 0; i < material_table.count; i++)
        if (material_table.options[i].type == OPTION_REAL)
            fprintf(out, "---|");
    for (size_t p = 0; preset_names[p]; p++) {
        const preset *known = preset_find(preset_names[p]);
        fprintf(out, "\n| `%s` | %s |", preset_names[p], known->help);
        for (size_t i = 0; i < material_table.count; i++) {
            const option *o = &material_table.options[i];
            if (o->type == OPTION_REAL)
                fprintf(out, " %g |", *(const double *)((const char *)&known->values + o->offset));
        }
    }
    fprintf(out, "\n");
}

static void write_table(FILE *out, const option_table *table)
{
    fprintf(out, "\n## %s\n\n%s", table->title, table->help);
    if (table->shorthand)
        fprintf(out, " A bare value instead of the mapping is its `%s`.", table->shorthand);
    fprintf(out, "\n\n| key | value | default | allowed | meaning |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < table->count; i++)
        write_row(out, table, &table->options[i]);
    if (table == &material_table)
        write_presets(out);
}

void firn_scene_write_reference(FILE *out)
{
    fputs(introduction, out);
    const option_table *tables[MOST_TABLES];
    size_t count = option_tables(tables);
    for (size_t i = 0; i < count; i++)
        write_table(out, tables[i]);
}
