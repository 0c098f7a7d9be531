/* Density volumes of any program as frames whose rows are the nodes of a grid. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file.h"
#include "io/frame.h"
#include "io/vdb.h"
#include "status.h"

static const float packed_density = 400; /* kg/m^3: what a level set is filled with */

/* The last number in a file's name: 17 of smoke.17.vdb and of snow_0017.vdb; 0 without one. */
static int number_in_name(const char *path)
{
    const char *name = strrchr(path, '/'), *end = strrchr(path, '.');
    name = name ? name + 1 : path;
    end = end && end > name ? end : name + strlen(name);
    while (end > name && !isdigit((unsigned char)end[-1]))
        end--;
    const char *begin = end;
    while (begin > name && isdigit((unsigned char)begin[-1]) && end - begin < 9)
        begin--;
    return begin < end ? atoi(begin) : 0;
}

static void take_nodes(const vdb_density *from, firn_frame *frame)
{
    float scale = from->is_level_set ? packed_density : 1;
    double cell = from->voxel * from->voxel * from->voxel;
#pragma omp parallel for schedule(static)
    for (size_t n = 0; n < from->count; n++) {
        for (int a = 0; a < 3; a++) {
            frame->place[3 * n + (size_t)a] = from->origin[a] + from->voxel * from->node[n][a];
            frame->position[3 * n + (size_t)a] = (float)frame->place[3 * n + (size_t)a];
        }
        frame->density[n] = scale * from->value[n];
        frame->mass[n] = (float)(cell * frame->density[n]);
        frame->id[n] = n;
        frame->object[n] = 0;
    }
}

firn_status firn_frame_read_volume(const char *path, const char *grid, firn_frame *frame)
{
    firn_frame read = {0};
    vdb_density density = {0};
    int fd;
    uint64_t size;
    firn_status status = file_open_input(path, &fd, &size);
    if (status == FIRN_OK)
        close(fd);
    if (status == FIRN_OK)
        status = vdb_read_density(path, grid, &density);
    if (status == FIRN_OK)
        status =
            frame_resize(&read, density.count, FIRN_BIT(FIRN_MASS) | FIRN_BIT(FIRN_DENSITY), true);
    if (status == FIRN_OK) {
        read.dimensions = 3;
        read.is_grid = true;
        read.cell_size = density.voxel;
        read.time = density.time;
        read.frame = density.frame >= 0 ? density.frame : number_in_name(path);
        take_nodes(&density, &read);
        *frame = read;
    }
    vdb_density_clear(&density);
    return status;
}
