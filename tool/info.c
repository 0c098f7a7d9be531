/* `firn info`: what frames and checkpoints hold. */
#include <sys/stat.h>

#include "arguments.h"
#include "console.h"
#include "firn/io.h"
#include "tool.h"

static const command info_command = {
    .name = "info",
    .operands = "FILE...",
    .least = 1,
    .most = SIZE_MAX,
    .summary =
        "Say what frames (.hdf) and checkpoints (.h5) hold: time, particles, and the range of\n"
        "every attribute. A file that cannot be read does not keep the others from being shown.",
};

static int describe(const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        console_error("%s: is a folder; name a file in it, such as %s/checkpoint.h5", path, path);
        return FIRN_NO_INPUT;
    }
    firn_status result = firn_file_describe(path, stdout);
    return result == FIRN_OK ? 0 : console_failure(result);
}

int verb_info(int argc, char **argv)
{
    argument_list files = {0};
    int code = arguments_parse(&info_command, argc, argv, NULL, &files);
    if (code == ARGUMENTS_GO) {
        code = 0;
        for (size_t k = 0; k < files.count; k++) {
            if (k > 0)
                printf("\n");
            int failure = describe(files.items[k]);
            if (failure && !code)
                code = failure;
        }
    }
    arguments_clear(&info_command, NULL, &files);
    return code;
}
