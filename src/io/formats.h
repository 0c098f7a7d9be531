/* Writers of frames, one a format: each leaves a whole file or none. The frame is already in the
 * axes and units that `how` asks for. */
#ifndef FIRN_IO_FORMATS_H
#define FIRN_IO_FORMATS_H

#include "firn/io.h"

firn_status vtkhdf_write(const firn_frame *frame, const char *path, const firn_export *how);
firn_status ply_write(const firn_frame *frame, const char *path, const firn_export *how);
firn_status volume_write(const firn_frame *frame, const char *path, const firn_export *how);
firn_status bgeo_write(const firn_frame *frame, const char *path, const firn_export *how);
firn_status obj_write(const firn_frame *frame, const char *path, const firn_export *how);
firn_status usda_write(const firn_frame *frame, const char *path, const firn_export *how);
firn_status npz_write(const firn_frame *frame, const char *path, const firn_export *how);

/* What the grids that `how` asks for are made of. */
unsigned volume_attributes(const firn_export *how);

#endif
