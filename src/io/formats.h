/* Writers of frames, one a format. Each reads `sim` in blocks and leaves a whole file or none. */
#ifndef FIRN_IO_FORMATS_H
#define FIRN_IO_FORMATS_H

#include "firn/io.h"

firn_status vtkhdf_write(const firn_sim *sim, const char *path);
firn_status ply_write(const firn_sim *sim, const char *path);

#endif
