#include "frame_list.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "console.h"
#include "firn/io.h"
#include "run_folder.h"

static void add(frame_list *list, char *path)
{
    list->paths = realloc(list->paths, (list->count + 1) * sizeof *list->paths);
    if (!list->paths)
        abort();
    list->paths[list->count++] = path;
}

static int add_folder(frame_list *list, const char *folder, long every)
{
    long *frames;
    size_t found = folder_list_frames(folder, FIRN_FORMAT_VTKHDF, LONG_MAX, &frames);
    for (size_t k = 0; k < found; k++)
        if (frames[k] % every == 0)
            add(list, folder_frame_path(folder, (int)frames[k], FIRN_FORMAT_VTKHDF));
    free(frames);
    if (found > 0)
        return 0;
    console_error("%s: holds no frames (frame_0000.hdf, ...); name its checkpoint.h5 to take that",
                  folder);
    return FIRN_NO_INPUT;
}

int frame_list_create(const argument_list *operands, long every, frame_list *list)
{
    int code = 0;
    for (size_t k = 0; k < operands->count && !code; k++) {
        struct stat status;
        const char *path = operands->items[k];
        if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
            code = add_folder(list, path, every);
        else
            add(list, new_text("%s", path));
    }
    return code;
}

void frame_list_clear(frame_list *list)
{
    for (size_t k = 0; k < list->count; k++)
        free(list->paths[k]);
    free(list->paths);
    *list = (frame_list){0};
}
