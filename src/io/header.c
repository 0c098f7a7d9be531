#include "io/header.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "status.h"

void header_put(h5_writer *w, const firn_checkpoint_info *info)
{
    h5_put_text(w, w->file, "firn_version", info->version);
    h5_put_double(w, "time", info->time);
    h5_put_uint(w, "step", info->step);
    h5_put_int(w, "frame", info->frame);
    h5_put_double(w, "cell_size", info->cell_size);
    h5_put_int(w, "dimensions", info->dimensions);
}

firn_status header_get(const h5_reader *r, firn_checkpoint_info *info)
{
    uint64_t frame = 0, dimensions = 0;
    firn_status status = h5_get_text(r, "firn_version", info->version, sizeof info->version);
    if (!status)
        status = h5_get_double(r, "time", &info->time);
    if (!status)
        status = h5_get_uint(r, "step", &info->step);
    if (!status)
        status = h5_get_uint(r, "frame", &frame);
    if (!status)
        status = h5_get_double(r, "cell_size", &info->cell_size);
    if (!status)
        status = h5_get_uint(r, "dimensions", &dimensions);
    if (status)
        return status;
    if (!isfinite(info->time) || info->time < 0)
        return h5_refuse(r, "time is %g", info->time);
    if (!isfinite(info->cell_size) || info->cell_size <= 0)
        return h5_refuse(r, "cell_size is %g", info->cell_size);
    if (frame > INT_MAX)
        return h5_refuse(r, "frame is %llu", (unsigned long long)frame);
    if (dimensions != 2 && dimensions != 3)
        return h5_refuse(r, "dimensions is %llu", (unsigned long long)dimensions);
    info->frame = (int)frame;
    info->dimensions = (int)dimensions;
    return FIRN_OK;
}

double *block_create(void)
{
    size_t bytes = (size_t)H5_BLOCK_ROWS * H5_MAX_COMPONENTS * sizeof(double);
    double *block = malloc(bytes);
    if (!block)
        fail(FIRN_NO_MEMORY, "no memory for a block of %zu bytes", bytes);
    return block;
}
