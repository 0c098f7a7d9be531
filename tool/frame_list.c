#include "frame_list.h"

#include <dirent.h>
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

static long number_of(const char *name)
{
    long frame;
    unsigned format;
    bool is_frame = frame_name_parse(name, &frame, &format) && format == FIRN_FORMAT_VTKHDF;
    return is_frame ? frame : -1;
}

static int is_frame(const struct dirent *entry)
{
    return number_of(entry->d_name) >= 0;
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
    long x = number_of((*a)->d_name), y = number_of((*b)->d_name);
    return (x > y) - (x < y);
}

static int add_folder(frame_list *list, const char *folder, long every)
{
    struct dirent **entries = NULL;
    int found = scandir(folder, &entries, is_frame, by_number);
    for (int k = 0; k < found; k++) {
        if (number_of(entries[k]->d_name) % every == 0)
            add(list, new_text("%s/%s", folder, entries[k]->d_name));
        free(entries[k]);
    }
    free(entries);
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
