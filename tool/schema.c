/* `firn schema` and `firn reference`: the table of scene options, for editors and for people. */
#include "arguments.h"
#include "firn/scene.h"
#include "tool.h"

static int print(const char *name, const char *summary, void (*write)(FILE *out), int argc,
                 char **argv)
{
    const command c = {.name = name, .operands = "", .summary = summary};
    argument_list operands = {0};
    int code = arguments_parse(&c, argc, argv, NULL, &operands);
    if (code == ARGUMENTS_GO) {
        write(stdout);
        code = 0;
    }
    arguments_clear(&c, NULL, &operands);
    return code;
}

int verb_schema(int argc, char **argv)
{
    return print("schema", "Print the JSON schema of scene files. Editors complete YAML with it.",
                 firn_scene_write_schema, argc, argv);
}

int verb_reference(int argc, char **argv)
{
    return print("reference", "Print every option of scene files as a Markdown page.",
                 firn_scene_write_reference, argc, argv);
}
