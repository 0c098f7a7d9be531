/*
 * The option tables as a JSON Schema (draft 2020-12), which editors use to complete and check
 * scenes. Tables that several places or messages share stand under $defs, one per table.
 */
#include "scene/options.h"

#include <stdlib.h>
#include <string.h>

static void indent(FILE *out, int depth)
{
    fprintf(out, "\n%*s", 2 * depth, "");
}

static void write_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    fputc('"', out);
}

static void write_words(FILE *out, const char *const *words)
{
    fputc('[', out);
    for (size_t i = 0; words[i]; i++)
        fprintf(out, "%s\"%s\"", i ? ", " : "", words[i]);
    fputc(']', out);
}

/* "type": ..., with the limits of one number. */
static void write_number(FILE *out, const option *o, const char *type)
{
    fprintf(out, "\"type\": \"%s\", \"%s\": %.16g, \"maximum\": %.16g", type,
            o->open_low ? "exclusiveMinimum" : "minimum", o->low, o->high);
}

static void write_vector(FILE *out, const option *o)
{
    fprintf(out, "\"type\": \"array\", \"minItems\": 2, \"maxItems\": 3, \"items\": {");
    write_number(out, o, "number");
    fputc('}', out);
}

static void write_list(FILE *out, const char *definition)
{
    fprintf(out, "\"type\": \"array\", \"minItems\": 1, \"items\": {\"$ref\": \"#/$defs/%s\"}",
            definition);
}

static void write_type(FILE *out, const option *o)
{
    switch (o->type) {
    case OPTION_INTEGER:
    case OPTION_SEED:
        write_number(out, o, "integer");
        break;
    case OPTION_REAL:
        if (o->word) {
            fprintf(out, "\"anyOf\": [{\"const\": \"%s\"}, {", o->word);
            write_number(out, o, "number");
            fprintf(out, "}]");
        } else {
            write_number(out, o, "number");
        }
        break;
    case OPTION_BOOLEAN:
        fprintf(out, "\"type\": \"boolean\"");
        break;
    case OPTION_TEXT:
    case OPTION_LINES:
    case OPTION_FILE:
    case OPTION_MATERIAL:
        fprintf(out, "\"type\": [\"string\", \"number\"]");
        break;
    case OPTION_CHOICE:
    case OPTION_PRESET:
        fprintf(out, "\"enum\": ");
        write_words(out, o->choices);
        break;
    case OPTION_CHOICES:
        fprintf(out, "\"type\": \"array\", \"minItems\": 1, \"items\": {\"enum\": ");
        write_words(out, o->choices);
        fputc('}', out);
        break;
    case OPTION_POINT:
    case OPTION_VECTOR:
    case OPTION_DIRECTION:
    case OPTION_SIZE:
        write_vector(out, o);
        break;
    case OPTION_COLOUR:
        fprintf(out, "\"anyOf\": [{");
        write_number(out, o, "number");
        fprintf(out, "}, {\"type\": \"array\", \"minItems\": 3, \"maxItems\": 3, \"items\": {");
        write_number(out, o, "number");
        fprintf(out, "}}]");
        break;
    case OPTION_GROUP:
    case OPTION_SHAPE:
        fprintf(out, "\"$ref\": \"#/$defs/%s\"", o->table->title);
        break;
    case OPTION_LIST:
    case OPTION_SHAPES:
        write_list(out, o->table->title);
        break;
    case OPTION_NAMED:
        fprintf(out,
                "\"type\": \"object\", \"minProperties\": 1, \"additionalProperties\": "
                "{\"$ref\": \"#/$defs/%s\"}",
                o->table->title);
        break;
    }
}

static bool is_plain_word(const option *o)
{
    return o->type == OPTION_CHOICE || (o->type == OPTION_REAL && o->word) ||
           o->type == OPTION_MATERIAL || o->type == OPTION_TEXT;
}

/* [a, b] to ["a", "b"] */
static void write_default_words(FILE *out, const char *list)
{
    for (; *list; list++) {
        bool in_word = !strchr("[], ", *list);
        if (in_word && strchr("[ ", list[-1]))
            fputc('"', out);
        fputc(*list, out);
        if (in_word && strchr("],", list[1]))
            fputc('"', out);
    }
}

static void write_option(FILE *out, const option *o, int depth)
{
    indent(out, depth);
    fprintf(out, "\"%s\": {", o->name);
    indent(out, depth + 1);
    write_type(out, o);
    if (o->fallback) {
        fprintf(out, ", \"default\": ");
        if (is_plain_word(o))
            write_text(out, o->fallback);
        else if (o->type == OPTION_CHOICES)
            write_default_words(out, o->fallback);
        else
            fputs(o->fallback, out);
    }
    fputc(',', out);
    indent(out, depth + 1);
    fprintf(out, "\"description\": ");
    char *help = text_format("%s%s%s%s", option_help(o), o->unit ? " [" : "",
                             o->unit ? o->unit : "", o->unit ? "]" : "");
    write_text(out, help);
    free(help);
    indent(out, depth);
    fputc('}', out);
}

static void write_required(FILE *out, const option_table *table, int depth)
{
    const char *separator = "";
    for (size_t i = 0; i < table->count; i++) {
        if (!table->options[i].required)
            continue;
        if (!*separator) {
            fputc(',', out);
            indent(out, depth);
            fprintf(out, "\"required\": [");
        }
        fprintf(out, "%s\"%s\"", separator, table->options[i].name);
        separator = ", ";
    }
    if (*separator)
        fputc(']', out);
}

/* A shape is exactly one kind; snow has one source, a collider one body. */
static void write_one_kind(FILE *out, const option_table *table, int depth)
{
    const char *separator = "";
    for (size_t i = 0; i < table->count; i++) {
        const option *o = &table->options[i];
        if (!o->alternative && !(table == &shape_table && is_shape_kind(o)))
            continue;
        if (!*separator) {
            fputc(',', out);
            indent(out, depth);
            fprintf(out, "\"oneOf\": [");
        }
        fprintf(out, "%s{\"required\": [\"%s\"]}", separator, o->name);
        separator = ", ";
    }
    if (*separator)
        fputc(']', out);
}

static void write_object(FILE *out, const option_table *table, int depth)
{
    fprintf(out, "\"type\": \"object\", \"additionalProperties\": false");
    write_required(out, table, depth);
    write_one_kind(out, table, depth);
    fputc(',', out);
    indent(out, depth);
    fprintf(out, "\"properties\": {");
    for (size_t i = 0; i < table->count; i++) {
        fputs(i ? "," : "", out);
        write_option(out, &table->options[i], depth + 1);
    }
    indent(out, depth);
    fputc('}', out);
}

static void write_definition(FILE *out, const option_table *table)
{
    indent(out, 2);
    fprintf(out, "\"%s\": {", table->title);
    indent(out, 3);
    fprintf(out, "\"description\": ");
    write_text(out, table->help);
    fputc(',', out);
    indent(out, 3);
    if (table->shorthand) {
        fprintf(out, "\"anyOf\": [{");
        write_type(out, option_find(table, table->shorthand));
        fprintf(out, "}, {");
        indent(out, 4);
        write_object(out, table, 4);
        fprintf(out, "}]");
    } else {
        write_object(out, table, 3);
    }
    indent(out, 2);
    fputc('}', out);
}

void firn_scene_write_schema(FILE *out)
{
    fprintf(out, "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
                 "  \"title\": \"Firn scene\",\n  ");
    write_object(out, &scene_table, 1);
    fprintf(out, ",\n  \"$defs\": {");
    const option_table *tables[MOST_TABLES];
    size_t count = option_tables(tables);
    for (size_t i = 1; i < count; i++) { /* the first is the scene itself */
        fputs(i > 1 ? "," : "", out);
        write_definition(out, tables[i]);
    }
    fprintf(out, "\n  }\n}\n");
}
