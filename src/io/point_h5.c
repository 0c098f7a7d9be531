/* Points from HDF5: every array of VTKHDF's PointData, or of a checkpoint's particles. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/h5.h"
#include "io/point_table.h"
#include "status.h"

typedef struct name_list {
    int count;
    char names[POINT_MOST_COLUMNS][POINT_NAME];
} name_list;

static herr_t note_name(hid_t group, const char *name, const H5L_info_t *info, void *user)
{
    (void)group;
    name_list *list = user;
    if (info->type != H5L_TYPE_HARD || list->count == POINT_MOST_COLUMNS ||
        strlen(name) >= POINT_NAME)
        return 0;
    strcpy(list->names[list->count++], name);
    return 0;
}

/* The class and shape of a dataset; false when it is none of numbers with few a row. */
static bool look_at(const h5_reader *r, const char *path, H5T_class_t *kind, h5_shape *shape)
{
    H5_SCOPED object = H5Oopen(r->file, path, H5P_DEFAULT);
    if (object < 0 || H5Iget_type(object) != H5I_DATASET)
        return false;
    H5_SCOPED space = H5Dget_space(object);
    H5_SCOPED type = H5Dget_type(object);
    *kind = H5Tget_class(type);
    shape->rank = H5Sget_simple_extent_ndims(space);
    bool plain = (*kind == H5T_FLOAT || *kind == H5T_INTEGER) && shape->rank >= 1 &&
                 shape->rank <= 3 && H5Sget_simple_extent_dims(space, shape->size, NULL) >= 1;
    hsize_t width = 1;
    for (int axis = 1; plain && axis < shape->rank; axis++) {
        plain = shape->size[axis] >= 1 && shape->size[axis] <= POINT_MOST_WIDTH;
        width *= plain ? shape->size[axis] : 1;
    }
    return plain && width <= POINT_MOST_WIDTH;
}

/* Arrays that are not one row a point are passed over, but for the positions. */
static firn_status read_column(const h5_reader *r, const char *path, const char *name,
                               point_table *t)
{
    H5T_class_t kind;
    h5_shape shape = {0};
    bool positions = strcmp(name, "position") == 0;
    if (!look_at(r, path, &kind, &shape) || (!positions && shape.size[0] != t->count))
        return positions ? h5_refuse(r, "/%s is not an array of positions", path) : FIRN_OK;
    h5_rows rows;
    firn_status status = h5_open_rows(r, path, kind, shape, &rows);
    if (status)
        return status;
    t->count = (size_t)shape.size[0];
    int width = 1;
    for (int axis = 1; axis < shape.rank; axis++)
        width *= (int)shape.size[axis];
    point_column *column = point_table_add(t, r->path, name, width);
    status = column ? h5_read_rows(r, &rows, H5T_NATIVE_DOUBLE, 0, t->count, column->values)
                    : FIRN_BAD_SCENE;
    h5_rows_close(&rows);
    return status;
}

static firn_status read_group(const h5_reader *r, const char *group, point_table *t)
{
    name_list *list = calloc(1, sizeof *list);
    if (!list)
        return fail(FIRN_NO_MEMORY, "%s: not enough memory", r->path);
    H5_SCOPED id = H5Gopen2(r->file, group, H5P_DEFAULT);
    firn_status status = FIRN_OK;
    if (id < 0 || H5Literate(id, H5_INDEX_NAME, H5_ITER_INC, NULL, note_name, list) < 0)
        status = h5_refuse(r, "/%s: %s", group, h5_last_reason().text);
    for (int k = 0; k < list->count && status == FIRN_OK; k++) {
        char path[POINT_NAME + 32];
        snprintf(path, sizeof path, "%s/%s", group, list->names[k]);
        if (strcmp(list->names[k], "position") != 0)
            status = read_column(r, path, list->names[k], t);
    }
    free(list);
    return status;
}

firn_status point_table_load_h5(const char *path, point_table *t)
{
    H5_QUIET;
    h5_reader r;
    firn_status status = h5_reader_open(&r, path, "points (VTKHDF or a Firn checkpoint)",
                                        "write them again, or as PLY or CSV");
    if (status)
        return status;
    bool frame = h5_has(&r, "VTKHDF"), checkpoint = h5_has(&r, "particles");
    if (!frame && !checkpoint)
        status = h5_refuse(&r, "it has neither /VTKHDF nor /particles");
    else
        status = read_column(&r, frame ? "VTKHDF/Points" : "particles/position", "position", t);
    if (status == FIRN_OK && (!frame || h5_has(&r, "VTKHDF/PointData")))
        status = read_group(&r, frame ? "VTKHDF/PointData" : "particles", t);
    h5_reader_close(&r);
    return status;
}
